// tcnum verify: the emulator against recorded answers, or against the GPU.
#include <fnmatch.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "command.hpp"
#include "report.hpp"
#include "tcnum/fast.hpp"
#include "tcnum/operands.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::vector<std::string> vectors;
  std::string datapath, json, arch, instruction;
  std::uint64_t count = 0, seed = 1;
};

constexpr std::size_t kMostExamples = 3;

/// Answers against what the emulator says.
struct Comparison {
  std::uint64_t count = 0, mismatches = 0;
  struct Example {
    std::string where;
    Problem problem;
    std::uint64_t expected, observed;
  };
  std::vector<Example> examples;  ///< the first few mismatches

  /// `expected` holds the emulator's results, `observed` the hardware's, to the same problems.
  void add(const Tiles& expected, const Tiles& observed, const std::string& where) {
    count += observed.size();
    if (expected.d == observed.d) return;
    for (std::size_t i = 0; i < observed.size(); ++i) {
      if (expected.d[i] == observed.d[i]) continue;
      ++mismatches;
      if (examples.size() >= kMostExamples) continue;
      const std::size_t per_tile = observed.m * observed.n;
      examples.push_back(
          {fmt::format("{}tile {}, row {}, column {}", where, i / per_tile, i % per_tile / observed.n, i % observed.n),
           problem_at(observed, i), expected.d[i], observed.d[i]});
    }
  }

  std::string examples_text(const Instruction& instruction) const {
    std::string text;
    for (const Example& e : examples) {
      text += fmt::format("\n  {}:\n\n{}", e.where, problem_text(instruction, e.problem, e.expected, e.observed));
    }
    if (mismatches > examples.size()) {
      text += fmt::format("\n  and {} more\n", count_text(static_cast<double>(mismatches - examples.size())));
    }
    return text;
  }
  void put(ordered_json& json, const Instruction& instruction) const {
    json["count"] = count;
    json["mismatches"] = mismatches;
    json["examples"] = ordered_json::array();
    for (const Example& e : examples) {
      ordered_json one = json_problem(instruction, e.problem, e.expected, e.observed);
      one["where"] = e.where;
      json["examples"].push_back(std::move(one));
    }
  }
  std::string result_text() const {
    return fmt::format("{} dot products, {} mismatches", count_text(static_cast<double>(count)),
                       count_text(static_cast<double>(mismatches)));
  }
};

ordered_json new_document() { return {{"schema", "tcnum.verify/1"}, {"version", TCNUM_VERSION}}; }

std::string datapath_text(const NamedDatapath& datapath) {
  return fmt::format("{} ({})", datapath.account, datapath.origin);
}

ordered_json datapath_json(const NamedDatapath& datapath) {
  return {{"account", datapath.account}, {"origin", datapath.origin}};
}

// --- Against recorded answers -----------------------------------------------------------------------------------

int verify_files(const Options& options) {
  ordered_json document = new_document();
  document["files"] = ordered_json::array();
  std::uint64_t mismatches = 0;
  for (const std::string& file : options.vectors) {
    const Vectors vectors = read_vectors(file);
    const auto [id, instruction] = identity_of(file, vectors, options.arch, options.instruction);
    const NamedDatapath datapath = choose_datapath(options.datapath, id, *instruction, file);
    Tiles expected = vectors.tiles;
    FastEmulator(datapath.datapath).run(expected, all_threads());
    Comparison comparison;
    comparison.add(expected, vectors.tiles, "");
    mismatches += comparison.mismatches;

    if (options.json != "-") {
      say(fmt::format("{}: {}\n", file, comparison.result_text()));
      say(table_text({{"instruction", fmt::format("{} on {}", instruction->name(), vectors.arch)},
                      {"device", vectors.device.empty() ? "not named" : vectors.device},
                      {"datapath", datapath_text(datapath)}}) +
          comparison.examples_text(*instruction));
    }
    ordered_json one = {{"file", file},
                        {"instruction", instruction->name()},
                        {"arch", vectors.arch},
                        {"device", vectors.device},
                        {"datapath", datapath_json(datapath)}};
    comparison.put(one, *instruction);
    document["files"].push_back(std::move(one));
  }
  document["mismatches"] = mismatches;
  if (!options.json.empty()) write_json(options.json, document);
  return mismatches == 0 ? kAgreed : kDisagreed;
}

// --- Against the GPU --------------------------------------------------------------------------------------------

/// A row of A meets every column of B, so that few operands make many problems.
constexpr std::size_t kSide = 64;
constexpr std::uint64_t kProblemsPerTile = kSide * kSide;
constexpr std::uint64_t kTilesPerFamily = 16;  ///< of one batch, at most

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

/// While this lives, Ctrl-C ends the work after the batch at hand; a second one ends the program.
class InterruptGuard {
 public:
  InterruptGuard() {
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = true; };
    action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
    sigaction(SIGINT, &action, &before_);
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

/// Calls body(0) … body(count − 1) on all threads, and throws what the first that failed threw.
template <class Body>
void in_parallel(std::size_t count, const Body& body) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> pool;
    for (std::size_t i = 1; i < std::min<std::size_t>(count, all_threads()); ++i) pool.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

struct Campaign {
  Comparison total;
  std::array<Comparison, kFamilies> by_family;
  double seconds = 0;
};

/// Tiles first … first + count − 1 of every family, generated side by side: one task a tile.
std::vector<Tiles> generate(const Instruction& instruction, std::uint64_t seed, std::uint64_t first,
                            std::size_t count) {
  std::vector<Tiles> parts(kFamilies * count);
  in_parallel(parts.size(), [&](std::size_t i) {
    parts[i] = make_family_tiles(instruction, static_cast<Family>(i / count), seed, first + i % count, 1, kSide, kSide);
  });
  std::vector<Tiles> families;
  for (std::size_t f = 0; f < kFamilies; ++f) {
    Tiles all = std::move(parts[f * count]);
    for (std::size_t i = 1; i < count; ++i) {
      const Tiles& part = parts[f * count + i];
      all.count += part.count;
      all.a.append(part.a);
      all.b.append(part.b);
      all.c.append(part.c);
      all.d.append(part.d);
    }
    families.push_back(std::move(all));
  }
  return families;
}

Campaign run_campaign(const Options& options, const Instruction& instruction, Oracle& oracle,
                      const FastEmulator& emulator) {
  using Clock = std::chrono::steady_clock;
  Campaign campaign;
  const ProgressLine progress;
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  const std::uint64_t per_round = kFamilies * kProblemsPerTile;
  const std::uint64_t tiles_in_all = (options.count + per_round - 1) / per_round;  // of each family
  for (std::uint64_t first = 0; first < tiles_in_all && !interrupted;) {
    const auto count = static_cast<std::size_t>(std::min(kTilesPerFamily, tiles_in_all - first));
    std::vector<Tiles> families = generate(instruction, options.seed, first, count);
    for (std::size_t f = 0; f < kFamilies; ++f) {
      Tiles& observed = families[f];
      Tiles expected = observed;
      oracle.answer(observed);
      emulator.run(expected, all_threads());
      const std::string where = fmt::format("family {}, from tile {}: ", name(static_cast<Family>(f)), first);
      campaign.by_family[f].add(expected, observed, where);
      campaign.total.add(expected, observed, where);
    }
    first += count;
    const double rate = static_cast<double>(campaign.total.count) / std::max(seconds(), 1e-9);
    progress.show(fmt::format("{}: {} of {}, {} a second, {:.0f} s left", instruction.name(),
                              count_text(static_cast<double>(campaign.total.count)),
                              count_text(static_cast<double>(tiles_in_all * per_round)), count_text(rate),
                              static_cast<double>((tiles_in_all - first) * per_round) / rate));
  }
  campaign.seconds = seconds();
  return campaign;
}

std::vector<const Instruction*> matching_instructions(const std::string& pattern, ArchId id) {
  const std::vector<const Instruction*> all = instructions_of(id);
  if (pattern.empty()) return all;
  if (pattern.find_first_of("*?[") == std::string::npos) return {&parse_instruction(pattern, id)};
  std::vector<const Instruction*> matching;
  for (const Instruction* i : all) {
    if (fnmatch(pattern.c_str(), i->name().c_str(), 0) == 0) matching.push_back(i);
  }
  if (matching.empty()) {
    throw InputError(fmt::format(
        "--instr: {} matches no instruction of {}; right would be a pattern of names that `tcnum list --arch {}` shows",
        pattern, arch(id).name, arch(id).name));
  }
  return matching;
}

std::string families_text(const Campaign& campaign) {
  std::vector<std::vector<std::string>> rows = {{"family", "dot products", "mismatches"}};
  for (std::size_t f = 0; f < kFamilies; ++f) {
    const Comparison& c = campaign.by_family[f];
    rows.push_back({std::string(name(static_cast<Family>(f))), count_text(static_cast<double>(c.count)),
                    count_text(static_cast<double>(c.mismatches))});
  }
  return table_text(rows);
}

int verify_gpu(const Options& options) {
  if (options.arch.empty()) throw InputError(fmt::format("--arch: missing; right would be one of {}", arch_names()));
  const ArchId id = parse_arch(options.arch);
  std::vector<const Instruction*> instructions = matching_instructions(options.instruction, id);
  if (!options.datapath.empty()) {
    instructions = fitting_instructions(read_datapath(options.datapath), instructions, options.datapath);
  }
  // Everything that can be wrong with the input is found before the work starts.
  std::vector<NamedDatapath> datapaths;
  for (const Instruction* i : instructions) datapaths.push_back(choose_datapath(options.datapath, id, *i, "--instr"));
  const GpuInfo gpu = gpu_info();
  if (!gpu.present) throw UnavailableError("verify --count: " + gpu.why_not);
  if (gpu.arch != arch(id).name) {
    throw UnavailableError(
        fmt::format("verify --count: the GPU ({}) is {}, not {}", gpu.device, gpu.arch, arch(id).name));
  }

  const InterruptGuard guard;
  ordered_json document = new_document();
  document["seed"] = options.seed;
  document["instructions"] = ordered_json::array();
  std::uint64_t mismatches = 0;
  for (std::size_t i = 0; i < instructions.size() && !interrupted; ++i) {
    const Instruction& instruction = *instructions[i];
    const auto oracle = make_gpu_oracle(instruction, /*check_positions=*/false);
    const Source source{oracle->kind(), oracle->device(), "", oracle->provenance()};
    const Campaign campaign = run_campaign(options, instruction, *oracle, FastEmulator(datapaths[i].datapath));
    mismatches += campaign.total.mismatches;
    const double rate = static_cast<double>(campaign.total.count) / std::max(campaign.seconds, 1e-9);
    if (options.json != "-") {
      say(fmt::format("{} on {}: {}{}\n", instruction.name(), arch(id).name, campaign.total.result_text(),
                      interrupted ? " (interrupted)" : ""));
      say(table_text({{"device", source_text(source)},
                      {"datapath", datapath_text(datapaths[i])},
                      {"seed", std::to_string(options.seed)},
                      {"rate", fmt::format("{} a second", count_text(rate))}}) +
          "\n" + families_text(campaign) + campaign.total.examples_text(instruction) + "\n");
    }
    ordered_json one = {{"name", instruction.name()},
                        {"arch", arch(id).name},
                        {"datapath", datapath_json(datapaths[i])},
                        {"rate_per_second", rate}};
    campaign.total.put(one, instruction);
    for (std::size_t f = 0; f < kFamilies; ++f) {
      const Comparison& c = campaign.by_family[f];
      one["families"][std::string(name(static_cast<Family>(f)))] = {{"count", c.count}, {"mismatches", c.mismatches}};
    }
    document["source"] = json_source(source);
    document["instructions"].push_back(std::move(one));
  }
  document["mismatches"] = mismatches;
  document["interrupted"] = interrupted.load();
  if (!options.json.empty()) write_json(options.json, document);
  return mismatches == 0 ? kAgreed : kDisagreed;
}

/// "1e8" and "100000000".
std::uint64_t parse_count(const std::string& text) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  constexpr double kMost = 1e15;
  if (used != text.size() || !(value >= 1 && value <= kMost) || value != std::floor(value)) {
    throw InputError(fmt::format("--count: {}; right would be a whole number from 1 to 1e15, such as 1e8", text));
  }
  return static_cast<std::uint64_t>(value);
}

int verify(Options options, const std::string& count) {
  if (options.vectors.empty() == count.empty()) {
    throw InputError("verify: right would be either --vectors FILE… (recorded answers) or --count N (the GPU)");
  }
  require_writable(options.json);
  if (!options.vectors.empty()) return verify_files(options);
  options.count = parse_count(count);
  return verify_gpu(options);
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("verify", "Compare the emulator with recorded answers or with the GPU");
  const auto options = std::make_shared<Options>();
  const auto count = std::make_shared<std::string>();
  sub->add_option("--vectors", options->vectors, "Vector files with recorded answers");
  sub->add_option("--count", *count, "Dot products of each instruction to compare with the GPU (1e8 will do)");
  sub->add_option("--seed", options->seed, "Seed of the operands")->capture_default_str();
  sub->add_option("--arch", options->arch, "Architecture: " + arch_names());
  sub->add_option("--instr", options->instruction, "Instruction, or a pattern such as 'mma.*' (default: all)");
  sub->add_option("--datapath", options->datapath, "Datapath of your own (default: the catalogue's)");
  sub->add_option("--json", options->json, "Write the results as JSON (- for standard output)");
  sub->callback([options, count, &action] { action = [options, count] { return verify(*options, *count); }; });
}

}  // namespace tcnum
