// tcnum verify: the emulator against recorded answers, against hardware, or against what is remembered of it.
#include "verify.hpp"

#include <fnmatch.h>

#include <memory>

#include "src/campaign/distribution.hpp"
#include "src/report/report.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

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
  void add(const Tiles& expected, const Tiles& observed) {
    count += observed.size();
    if (expected.d == observed.d) return;
    for (std::size_t i = 0; i < observed.size(); ++i) {
      if (expected.d[i] == observed.d[i]) continue;
      ++mismatches;
      if (examples.size() >= kMostExamples) continue;
      const std::size_t per_tile = observed.m * observed.n;
      examples.push_back(
          {fmt::format("tile {}, row {}, column {}", i / per_tile, i % per_tile / observed.n, i % observed.n),
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

}  // namespace

ordered_json new_verify_document() { return {{"schema", "tcnum.verify/1"}, {"version", TCNUM_VERSION}}; }

std::string datapath_text(const NamedDatapath& datapath) {
  return fmt::format("{} ({})", datapath.account, datapath.origin);
}

ordered_json datapath_json(const NamedDatapath& datapath) {
  return {{"account", datapath.account}, {"origin", datapath.origin}};
}

std::vector<const Instruction*> matching_instructions(const std::string& pattern, ArchId id) {
  std::vector<const Instruction*> all = instructions_of(id);
  if (pattern.empty()) return all;
  if (pattern.find_first_of("*?[") == std::string::npos) return {&parse_instruction(pattern, id)};
  if (pattern.find("m64n") != std::string::npos) {  // it speaks of the width of a wgmma, so it may mean others than 8
    all.clear();
    for (const Instruction& i : instructions()) {
      if (i.archs.contains(id)) all.push_back(&i);
    }
  }
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

int verify_files(const VerifyOptions& options) {
  ordered_json document = new_verify_document();
  document["files"] = ordered_json::array();
  std::uint64_t mismatches = 0;
  for (const std::string& file : options.vectors) {
    const Vectors vectors = read_vectors(file);
    const auto [id, instruction] = identity_of(file, vectors, options.arch, options.instruction);
    const NamedDatapath datapath = choose_datapath(options.datapath, id, *instruction, file);
    Tiles expected = dot_problems(vectors.tiles, vectors.metadata);
    Emulator(datapath.datapath).run(expected, all_threads());
    Comparison comparison;
    comparison.add(expected, vectors.tiles);
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
  return finish_verification(options, document, mismatches);
}

int finish_verification(const VerifyOptions& options, ordered_json& document, std::uint64_t mismatches) {
  document["mismatches"] = mismatches;
  if (!options.json.empty()) write_json(options.json, document);
  return mismatches == 0 ? kAgreed : kDisagreed;
}

namespace {

int verify(const VerifyOptions& options) {
  const bool streams = !options.count.empty() || (options.campaign.empty() && !options.distributions.empty());
  if ((options.vectors.empty() ? 0 : 1) + (options.campaign.empty() ? 0 : 1) + (streams ? 1 : 0) != 1) {
    throw InputError(
        "verify: right would be one of --vectors FILE… (recorded answers), --count N (the GPU) and --campaign FILE "
        "(digests of hardware's results)");
  }
  require_writable(options.json);
  if (!options.vectors.empty()) return verify_files(options);
  return streams ? verify_streams(options) : verify_campaign(options);
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("verify", "Compare the emulator with recorded answers or with the GPU");
  const auto options = std::make_shared<VerifyOptions>();
  std::string distributions;
  for (std::size_t i = 0; i < kDistributions; ++i) {
    distributions += fmt::format("{}{}", i == 0 ? "" : ", ", name(static_cast<Distribution>(i)));
  }
  sub->add_option("--vectors", options->vectors, "Vector files with recorded answers");
  sub->add_option("--count", options->count, "Dot products of each instruction to compare with the GPU (1e12 will do)");
  sub->add_option("--campaign", options->campaign, "Campaign records to check the emulator against");
  sub->add_option("--arch", options->arch, "Architecture: " + arch_names());
  sub->add_option("--instr", options->instruction,
                  "Instruction, or a pattern such as 'mma.*' (default: all); 'wgmma.m64n*' takes every N of a wgmma, "
                  "'wgmma.*' N = 8");
  sub->add_option("--datapath", options->datapath, "Datapath of your own (default: the catalogue's)");
  sub->add_option("--seed", options->seed, "Seed of the operands")->capture_default_str();
  sub->add_option("--distribution", options->distributions,
                  "What operands are like (default: all that are random): " + distributions);
  sub->add_option("--from", options->from, "What answers: gpu (default), or datapath:FILE");
  sub->add_option("--devices", options->devices, "GPUs, such as 0 (default), 0,1 or all");
  sub->add_option("--shard", options->shard, "i/n: the i-th of n parts of the work");
  sub->add_option("--chunk", options->chunk, "Dot products to a digest (default: 16 digests for each distribution)");
  sub->add_option("--checkpoint", options->checkpoint, "File to go on from, and to keep up to date");
  sub->add_option("--record", options->record, "Campaign records to add the digests to");
  sub->add_option("--disagreements", options->disagreements, "Folder for vector files with the disagreements found");
  sub->add_flag("--all", options->all, "With --campaign: check every chunk, not a small one of each record");
  sub->add_option("--json", options->json, "Write the results as JSON (- for standard output)");
  sub->callback([options, &action] { action = [options] { return verify(*options); }; });
}

}  // namespace tcnum
