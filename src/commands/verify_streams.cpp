// tcnum verify --count and --campaign: streams by the trillion, and what is remembered of them.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "interrupt.hpp"
#include "src/campaign/campaign_run.hpp"
#include "src/fit/minimise.hpp"
#include "src/report/explain.hpp"
#include "src/report/report.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "verify.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// --- What the user asks for.

/// "1e8" and "100000000".
std::uint64_t parse_count(const std::string& option, const std::string& text) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  constexpr double kMost = 1e15;
  if (used != text.size() || !(value >= 1 && value <= kMost) || value != std::floor(value)) {
    throw InputError(fmt::format("{}: {}; right would be a whole number from 1 to 1e15, such as 1e8", option, text));
  }
  return static_cast<std::uint64_t>(value);
}

std::vector<Distribution> parse_distributions(const std::vector<std::string>& names) {
  std::vector<Distribution> chosen;
  for (const std::string& text : names) {
    const auto found = find_distribution(text);
    if (!found)
      throw InputError(
          fmt::format("--distribution: {} is unknown; right would be one that `tcnum verify --help` names", text));
    if (std::ranges::find(chosen, *found) == chosen.end()) chosen.push_back(*found);
  }
  for (std::size_t i = 0; names.empty() && i < kRandomDistributions; ++i)
    chosen.push_back(static_cast<Distribution>(i));
  return chosen;
}

/// "2/5".
std::pair<std::uint64_t, std::uint64_t> parse_shard(const std::string& text) {
  std::uint64_t shard = 0, shards = 0;
  char slash = 0, more = 0;
  std::istringstream in(text);
  const bool read = static_cast<bool>(in >> shard >> slash >> shards) && !(in >> more);
  if (!read || slash != '/' || text.find('-') != std::string::npos || shard < 1 || shard > shards) {
    throw InputError(fmt::format("--shard: {}; right would be i/n with i from 1 to n, such as 2/5", text));
  }
  return {shard, shards};
}

// --- What answers.

/// The hardware, or a datapath in its place.
class Backend {
 public:
  Backend(const VerifyOptions& options, ArchId id) {
    constexpr std::string_view kDatapath = "datapath:";
    if (options.from.starts_with(kDatapath)) {
      file_ = options.from.substr(kDatapath.size());
      other_ = read_datapath(file_);
      if (!options.devices.empty()) throw InputError("--devices: --from datapath:FILE takes no GPU");
      return;
    }
    if (!options.from.empty() && options.from != "gpu") {
      throw InputError(fmt::format("--from: {}; right would be gpu or datapath:FILE", options.from));
    }
    const GpuInfo gpu = gpu_info();
    if (!gpu.present) throw UnavailableError("verify --count: " + gpu.why_not);
    if (gpu.arch != arch(id).name) {
      throw UnavailableError(
          fmt::format("verify --count: the GPU ({}) is {}, not {}", gpu.device, gpu.arch, arch(id).name));
    }
    devices_ = parse_devices(options.devices, gpu_count());
  }

  void check_fits(const Instruction& in) const {
    if (other_) check_datapath_fits(*other_, in, file_);
  }
  std::size_t workers() const { return std::max<std::size_t>(1, devices_.size()); }

  std::unique_ptr<Oracle> oracle(const Instruction& in) const {
    if (other_) return std::make_unique<DatapathOracle>(*other_, in, file_, all_threads());
    return make_gpu_dot_oracle(in, /*check_positions=*/false);
  }
  /// The CUDA emulator's, where it holds the datapath; else the GPU answers and the CPU emulates.
  std::unique_ptr<StreamVerifier> verifier(const Instruction& in, const Datapath& datapath, std::size_t worker) const {
    if (other_ || !stream_runs_on_gpu(datapath)) {
      if (worker > 0) throw UnavailableError("--devices: several GPUs only where the CUDA emulator holds the datapath");
      return make_cpu_stream_verifier(in, datapath, oracle(in), all_threads());
    }
    return make_gpu_stream_verifier(in, datapath, devices_[worker]);
  }

 private:
  std::string file_;
  std::optional<Datapath> other_;
  std::vector<int> devices_;
};

// --- What is found.

/// A disagreement, made small.
struct Found {
  Disagreement at;
  Counterexample small;
};

Found shrink(const Disagreement& at, const Datapath& datapath, Oracle& oracle) {
  const Instruction& in = *at.instruction;
  const std::uint64_t problems = stream_shape(in).problems();
  Tiles tiles = make_stream_tiles(in, at.distribution, at.seed, at.index / problems, 1);
  const Emulator emulator(datapath);
  Tiles expected = tiles;
  oracle.answer(tiles);
  emulator.run(expected);
  const auto i = static_cast<std::size_t>(at.index % problems);
  const Counterexample found{problem_at(tiles, i), expected.d[i], tiles.d[i]};
  return {at, found.expected == found.observed ? found : minimise(in, oracle, emulator, found)};
}

std::string found_text(const Found& found, const Datapath& datapath) {
  return fmt::format(
             "\n  {} {} of seed {}, made small:\n\n{}", name(found.at.distribution), found.at.index, found.at.seed,
             problem_text(*found.at.instruction, found.small.problem, found.small.expected, found.small.observed)) +
         "\n  By the datapath:\n\n" + explain_text(datapath, *found.at.instruction, found.small.problem);
}

/// One problem a tile, with what the hardware answered.
Vectors vectors_of(const std::vector<Found>& all, ArchId id, const Source& source) {
  const Instruction& in = *all.front().at.instruction;
  Vectors vectors;
  vectors.tiles = make_tiles(in.a, in.b, in.c, in.d, all.size(), 1, 1, static_cast<std::size_t>(in.products()));
  for (std::size_t t = 0; t < all.size(); ++t) {
    const Problem& p = all[t].small.problem;
    for (std::size_t k = 0; k < p.a.size(); ++k) {
      vectors.tiles.a.set(vectors.tiles.a_index(t, 0, k), p.a[k]);
      vectors.tiles.b.set(vectors.tiles.b_index(t, k, 0), p.b[k]);
    }
    vectors.tiles.c.set(t, p.c);
    vectors.tiles.d.set(t, all[t].small.observed);
  }
  vectors.tiles = scatter(in, std::move(vectors.tiles));
  vectors.instruction = in.name();
  vectors.arch = arch(id).name;
  vectors.device = source.device;
  vectors.metadata = source.provenance;
  vectors.metadata["generator"] = "tcnum " TCNUM_VERSION;
  vectors.metadata["note"] = "disagreements with the datapath that was verified, made small";
  return vectors;
}

std::string provenance(const Source& source, const char* key) {
  const auto found = source.provenance.find(key);
  return found == source.provenance.end() ? "" : found->second;
}

/// Digests of what is done from a stream's beginning on.
std::optional<CampaignRecord> record_of(const StreamTask& task, const Source& source) {
  CampaignRecord r{task.instruction->name(),
                   task.distribution,
                   task.seed,
                   task.first,
                   0,
                   task.chunk,
                   {},
                   source.device,
                   provenance(source, "driver"),
                   provenance(source, "cuda"),
                   provenance(source, "date")};
  for (std::size_t i = 0; i < task.chunks.size() && task.chunks[i]; ++i) {
    r.digests.push_back(task.chunks[i]->digest);
    r.count += task.count_of(i);
  }
  if (r.count == 0) return std::nullopt;
  return r;
}

/// Adds records to those of a file, in place of those of the same problems on the same device.
void write_records(const std::string& path, const std::vector<CampaignRecord>& added) {
  std::vector<CampaignRecord> all;
  if (std::filesystem::exists(path)) all = read_campaigns(path);
  for (const CampaignRecord& r : added) {
    std::erase_if(all, [&](const CampaignRecord& old) {
      return old.instruction == r.instruction && old.distribution == r.distribution && old.seed == r.seed &&
             old.first == r.first && old.device == r.device;
    });
    all.push_back(r);
  }
  write_text(path, campaigns_text(std::move(all)));
}

std::string plural_text(std::uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count_text(static_cast<double>(count)), what, count == 1 ? "" : "s");
}

/// As the user says, or as the records' folder is called: vectors/ARCH/campaigns.json.
ArchId arch_of_campaign(const VerifyOptions& options) {
  if (!options.arch.empty()) return parse_arch(options.arch);
  const std::string folder = std::filesystem::absolute(options.campaign).parent_path().filename().string();
  if (const auto id = find_arch(folder)) return *id;
  throw InputError(
      fmt::format("--arch: missing; right would be that of {}, one of {}", options.campaign, arch_names()));
}

}  // namespace

int verify_streams(const VerifyOptions& options) {
  if (options.arch.empty()) throw InputError(fmt::format("--arch: missing; right would be one of {}", arch_names()));
  const ArchId id = parse_arch(options.arch);
  CampaignPlan wanted;
  wanted.seed = options.seed;
  wanted.distributions = parse_distributions(options.distributions);
  const bool all_sweeps = std::ranges::all_of(wanted.distributions, is_sweep);
  if (options.count.empty() && !all_sweeps)
    throw InputError("--count: missing; right would be a number of dot products, such as 1e8");
  if (!options.count.empty()) wanted.count = parse_count("--count", options.count);
  if (!options.chunk.empty()) wanted.chunk = parse_count("--chunk", options.chunk);
  if (!options.shard.empty()) std::tie(wanted.shard, wanted.shards) = parse_shard(options.shard);
  wanted.instructions = matching_instructions(options.instruction, id);
  if (!options.datapath.empty()) {
    wanted.instructions = fitting_instructions(read_datapath(options.datapath), wanted.instructions, options.datapath);
  }
  // Everything that can be wrong with the input is found before the work starts.
  std::map<const Instruction*, NamedDatapath> datapaths;
  for (const Instruction* in : wanted.instructions)
    datapaths.emplace(in, choose_datapath(options.datapath, id, *in, "--instr"));
  for (const std::string& path : {options.checkpoint, options.record}) require_writable(path);
  if (!options.record.empty() && std::filesystem::exists(options.record))
    static_cast<void>(read_campaigns(options.record));
  const Backend backend(options, id);
  for (const Instruction* in : wanted.instructions) backend.check_fits(*in);

  CampaignRun run(plan(wanted));
  if (run.tasks().empty()) throw InputError("--distribution: none of the instructions has any of them, with this seed");
  ordered_json identity = {{"arch", arch(id).name}, {"from", options.from.empty() ? "gpu" : options.from}};
  for (const auto& [in, datapath] : datapaths) identity["datapaths"][in->name()] = to_json(datapath.datapath);
  run.set_identity(identity);
  if (!options.checkpoint.empty()) run.resume(options.checkpoint);

  const InterruptGuard guard;
  interrupted = false;
  const ProgressLine line;
  const auto start = Clock::now();
  auto saved = start;
  double save_seconds = 0;  // that the last checkpoint took
  std::uint64_t total = 0, before = 0;
  for (const StreamTask& task : run.tasks()) {
    total += task.count;
    before += task.done();
  }
  const auto save = [&] {
    const auto begun = Clock::now();
    if (!options.checkpoint.empty()) write_text(options.checkpoint, run.checkpoint());
    saved = Clock::now();
    save_seconds = seconds_since(begun);
  };
  constexpr double kWorkToSaving = 50;  // so that checkpoints take 2 % of the time, at most
  run.run([&](const Instruction& in,
              std::size_t worker) { return backend.verifier(in, datapaths.at(&in).datapath, worker); },
          backend.workers(), interrupted,
          [&] {
            if (seconds_since(saved) >= kWorkToSaving * save_seconds) save();
            const double seconds = std::max(seconds_since(start), 1e-9);
            const auto now = static_cast<double>(run.done_now());
            line.show(fmt::format("{} of {} dot products, {:.3g} a second, {:.0f} s left, {}",
                                  count_text(static_cast<double>(before) + now), count_text(static_cast<double>(total)),
                                  now / seconds, (static_cast<double>(total - before) - now) / now * seconds,
                                  plural_text(run.disagreements().size(), "disagreement")));
          });
  line.clear();
  save();
  const double seconds = std::max(seconds_since(start), 1e-9);

  // What was found, instruction by instruction.
  ordered_json document = new_verify_document();
  document["seed"] = options.seed;
  document["instructions"] = ordered_json::array();
  std::vector<CampaignRecord> records;
  std::uint64_t mismatches = 0;
  for (const Instruction* in : wanted.instructions) {
    std::vector<StreamTask> tasks;
    std::ranges::copy_if(run.tasks(), std::back_inserter(tasks),
                         [&](const StreamTask& t) { return t.instruction == in; });
    std::uint64_t count = 0, wrong = 0;
    for (const StreamTask& task : tasks) {
      count += task.done();
      wrong += task.mismatches();
    }
    if (count == 0) continue;  // interrupted before its turn
    mismatches += wrong;
    const NamedDatapath& datapath = datapaths.at(in);
    const auto oracle = backend.oracle(*in);
    const Source source{oracle->kind(), oracle->device(), "", oracle->provenance()};
    std::vector<Found> found;
    constexpr std::size_t kMostShown = 3;
    for (const Disagreement& each : run.disagreements()) {
      if (each.instruction == in) found.push_back(shrink(each, datapath.datapath, *oracle));
    }
    for (const StreamTask& task : tasks) {
      if (auto record = record_of(task, source)) records.push_back(*std::move(record));
    }
    ordered_json one = {{"name", in->name()},
                        {"arch", arch(id).name},
                        {"datapath", datapath_json(datapath)},
                        {"count", count},
                        {"mismatches", wrong},
                        {"distributions", ordered_json::object()},
                        {"examples", ordered_json::array()}};
    std::vector<std::vector<std::string>> rows = {{"distribution", "dot products", "mismatches"}};
    for (const StreamTask& task : tasks) {
      rows.push_back({std::string(name(task.distribution)), count_text(static_cast<double>(task.done())),
                      count_text(static_cast<double>(task.mismatches()))});
      one["distributions"][std::string(name(task.distribution))] = {{"count", task.done()},
                                                                    {"mismatches", task.mismatches()}};
    }
    for (const Found& each : found) {
      ordered_json example = json_problem(*in, each.small.problem, each.small.expected, each.small.observed);
      example["distribution"] = name(each.at.distribution);
      example["index"] = each.at.index;
      one["examples"].push_back(std::move(example));
    }
    if (options.json != "-") {
      std::string text = fmt::format("{} on {}: {} dot products, {} mismatches{}\n", in->name(), arch(id).name,
                                     count_text(static_cast<double>(count)), count_text(static_cast<double>(wrong)),
                                     interrupted ? " (interrupted)" : "");
      text += table_text({{"source", source_text(source)},
                          {"datapath", datapath_text(datapath)},
                          {"seed", std::to_string(options.seed)}});
      text += "\n" + table_text(rows);
      for (std::size_t i = 0; i < std::min(found.size(), kMostShown); ++i)
        text += found_text(found[i], datapath.datapath);
      say(text + "\n");
    }
    if (!options.disagreements.empty() && !found.empty()) {
      std::error_code error;
      std::filesystem::create_directories(options.disagreements, error);
      if (error) throw InputError(fmt::format("--disagreements: {}: {}", options.disagreements, error.message()));
      write_vectors((std::filesystem::path(options.disagreements) / (in->name() + ".safetensors")).string(),
                    vectors_of(found, id, source));
    }
    document["source"] = json_source(source);
    document["instructions"].push_back(std::move(one));
  }
  if (!options.record.empty()) write_records(options.record, records);
  const double dots = static_cast<double>(run.done_now()) / seconds, multiply_adds = run.multiply_adds_now() / seconds;
  if (options.json != "-") {
    say(fmt::format("{:.3g} dot products a second, {:.3g} multiply-adds emulated a second{}\n", dots, multiply_adds,
                    before == 0 ? "" : fmt::format("; {} were done before", count_text(static_cast<double>(before)))));
  }
  document["dot_products_per_second"] = dots;
  document["multiply_adds_per_second"] = multiply_adds;
  document["interrupted"] = interrupted.load();
  return finish_verification(options, document, mismatches);
}

// --- Against what is remembered.

namespace {

/// Some consecutive problems of a stream.
struct StreamPart {
  Distribution distribution;
  std::uint64_t seed, first, count;
  friend auto operator<=>(const StreamPart&, const StreamPart&) = default;
};

}  // namespace

int verify_campaign(const VerifyOptions& options) {
  const ArchId id = arch_of_campaign(options);
  const std::vector<CampaignRecord> records = read_campaigns(options.campaign);
  const std::vector<const Instruction*> wanted = matching_instructions(options.instruction, id);
  const std::vector<Distribution> distributions = parse_distributions(options.distributions);
  // Without --all: what a core does in a fraction of a second.
  constexpr std::uint64_t kSmall = 1u << 17;

  const InterruptGuard guard;
  interrupted = false;
  const ProgressLine line;
  ordered_json document = new_verify_document();
  document["campaign"] = options.campaign;
  document["records"] = ordered_json::array();
  std::uint64_t checked = 0, problems = 0, wrong = 0;
  std::string text;
  const Instruction* verified = nullptr;
  std::unique_ptr<StreamVerifier> verifier;
  std::map<StreamPart, std::uint64_t> emulated;  // of the instruction at hand: several devices may have done the same
  for (const CampaignRecord& r : records) {
    const Instruction& in = *find_instruction(r.instruction);  // read_campaigns checked it
    const bool sweep = is_sweep(r.distribution);
    if (interrupted || (!options.instruction.empty() && std::ranges::find(wanted, &in) == wanted.end())) continue;
    if (!(options.distributions.empty() && sweep) &&
        std::ranges::find(distributions, r.distribution) == distributions.end())
      continue;
    if (!options.all && r.chunk > kSmall) continue;
    if (verified != &in) {  // records of an instruction mostly follow each other
      const NamedDatapath datapath = choose_datapath(options.datapath, id, in, options.campaign);
      verifier = make_cpu_stream_verifier(in, datapath.datapath, nullptr, all_threads());
      verified = &in;
      emulated.clear();
    }
    const std::uint64_t tile = stream_shape(in).problems();
    // One chunk, which the seed chooses; or all.
    const std::size_t from = options.all ? 0 : options.seed % r.digests.size();
    const std::size_t to = options.all ? r.digests.size() : from + 1;
    for (std::size_t i = from; i < to && !interrupted; ++i) {
      const std::uint64_t first = r.first + i * r.chunk, count = std::min(r.chunk, r.count - i * r.chunk);
      const auto [known, is_new] = emulated.try_emplace({r.distribution, r.seed, first, count});
      if (is_new) known->second = verifier->verify(r.distribution, r.seed, first / tile, count / tile).digest;
      const std::uint64_t digest = known->second;
      ++checked;
      problems += count;
      line.show(fmt::format("{} chunks, {} dot products", checked, count_text(static_cast<double>(problems))));
      const bool same = digest == r.digests[i];
      document["records"].push_back({{"instruction", r.instruction},
                                     {"distribution", name(r.distribution)},
                                     {"seed", r.seed},
                                     {"first", first},
                                     {"count", count},
                                     {"expected", fmt::format("{:#018x}", digest)},
                                     {"observed", fmt::format("{:#018x}", r.digests[i])},
                                     {"agrees", same}});
      if (same) continue;
      ++wrong;
      text += fmt::format(
          "  {} {}, seed {}, {} problems from {} on: the emulator's digest is {:#018x}, the hardware's {:#018x}\n",
          r.instruction, name(r.distribution), r.seed, count, first, digest, r.digests[i]);
    }
  }
  line.clear();
  std::set<std::string> instructions;
  std::map<std::string, std::set<std::string>> dates;  // by device and software
  std::uint64_t remembered = 0;
  for (const CampaignRecord& r : records) {
    instructions.insert(r.instruction);
    dates[fmt::format("{} (driver {}, CUDA {}, ", r.device, r.driver, r.cuda)].insert(r.date);
    remembered += r.count;
  }
  std::vector<std::string> sources;
  for (const auto& [source, days] : dates) {
    sources.push_back(source + *days.begin() + (days.size() > 1 ? " to " + *days.rbegin() : "") + ")");
  }
  if (checked == 0 && !interrupted) {
    throw InputError(fmt::format("{}: holds no chunk that was asked for{}", options.campaign,
                                 options.all ? "" : "; right would be --all where all chunks are large"));
  }
  if (options.json != "-") {
    say(fmt::format("{}: {} of {} dot products checked, {} {}{}\n{}", options.campaign, plural_text(checked, "chunk"),
                    count_text(static_cast<double>(problems)), count_text(static_cast<double>(wrong)),
                    wrong == 1 ? "disagrees" : "disagree", interrupted ? " (interrupted)" : "", text));
    say(table_text({{"records", fmt::format("{} dot products of {}, compared on the hardware",
                                            count_text(static_cast<double>(remembered)),
                                            plural_text(instructions.size(), "instruction"))},
                    {"source", fmt::format("{}", fmt::join(sources, "; "))}}));
  }
  document["chunks"] = checked;
  document["dot_products"] = problems;
  document["interrupted"] = interrupted.load();
  return finish_verification(options, document, wrong);
}

}  // namespace tcnum
