// tcnum verify: the emulator against recorded answers, against hardware, or against what is remembered of it.
#include "verify.hpp"

#include "emu/parallel.hpp"
#include "io/printable.hpp"
#include "records.hpp"
#include "src/campaign/launch.hpp"
#include "src/report/layout.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

/// That are shown, and that are kept of a file.
constexpr std::size_t kMostExamples = 3, kMostKept = 4096;

/// Answers against what the emulator says.
struct Comparison {
  std::size_t most_kept = kMostExamples;
  std::uint64_t count = 0, mismatches = 0;
  std::vector<Counterexample> kept = {};  ///< the first mismatches
  std::vector<std::string> places = {};   ///< of those that are shown

  /// `expected` holds the emulator's results, `observed` the hardware's, to the same problems.
  void add(const Tiles& expected, const Tiles& observed) {
    count += observed.size();
    if (expected.d == observed.d) return;
    for (std::size_t i = 0; i < observed.size(); ++i) {
      if (expected.d[i] == observed.d[i]) continue;
      ++mismatches;
      if (kept.size() < most_kept) kept.push_back({problem_at(expected, i), expected.d[i], observed.d[i]});
      if (places.size() >= kMostExamples) continue;
      const std::size_t per_tile = observed.m * observed.n;
      places.push_back(
          fmt::format("tile {}, row {}, column {}", i / per_tile, i % per_tile / observed.n, i % observed.n));
    }
  }

  /// `datapath` and `answerer`: what the two sides are called.
  std::string examples_text(const Instruction& instruction, const std::string& datapath,
                            const std::string& answerer) const {
    std::string text;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Counterexample& e = kept[i];
      text += fmt::format("\n  {}:\n\n{}", places[i],
                          problem_text(instruction, e.problem, {datapath, e.expected}, {answerer, e.observed}));
    }
    if (mismatches > places.size()) {
      text += fmt::format("\n  and {} more\n", count_text(mismatches - places.size()));
    }
    return text;
  }
  void put(ordered_json& json, const Instruction& instruction) const {
    json["count"] = count;
    json["mismatches"] = mismatches;
    json["examples"] = ordered_json::array();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Counterexample& e = kept[i];
      ordered_json one = json_problem(instruction, e.problem, e.expected, e.observed);
      one["where"] = places[i];
      json["examples"].push_back(std::move(one));
    }
  }
  std::string result_text() const {
    return fmt::format("{} dot products, {} mismatches", count_text(count), count_text(mismatches));
  }
};

}  // namespace

ordered_json new_verify_document() { return {{"schema", "tcnum.verify/1"}, {"version", TCNUM_VERSION}}; }

std::string datapath_text(const NamedDatapath& datapath) {
  return fmt::format("{} ({})", datapath.account, printable(datapath.origin));
}

ordered_json datapath_json(const NamedDatapath& datapath) {
  return {{"account", datapath.account}, {"origin", datapath.origin}};
}

std::vector<Distribution> parse_distributions(const std::vector<std::string>& names) {
  std::vector<Distribution> chosen;
  for (const std::string& text : names) {
    const auto found = find_distribution(text);
    if (!found)
      throw InputError(
          fmt::format("--distribution: {} is unknown; expected one that `tcnum verify --help` names", text));
    if (std::ranges::find(chosen, *found) == chosen.end()) chosen.push_back(*found);
  }
  if (names.empty()) chosen.assign(kAllRandom.begin(), kAllRandom.end());
  return chosen;
}

int verify_files(const VerifyOptions& options) {
  Attempts attempts;
  ordered_json document = new_verify_document();
  document["files"] = ordered_json::array();
  std::uint64_t mismatches = 0, count = 0;
  std::size_t verified = 0, disagreeing = 0;
  std::set<std::string> kept;  // names in the folder of disagreements
  const ProgressLine progress;
  const auto verify_file = [&](const std::string& file) {
    progress.show(fmt::format("{} of {} files verified; at {}", verified, options.vectors.size(), file));
    const VectorsInFile in =
        read_vectors_in(file, {.arch = options.arch, .instruction = options.instruction, .datapath = options.datapath});
    const NamedDatapath datapath = datapath_for(in, file, options.datapath);
    const Vectors& vectors = in.vectors;
    const Instruction& instruction = *in.instruction;
    Tiles expected = dot_problems(vectors.tiles, vectors.metadata);
    Emulator(datapath.datapath).run(expected, all_threads());
    progress.clear();
    Comparison comparison{.most_kept = options.disagreements.empty() ? kMostExamples : kMostKept};
    comparison.add(expected, vectors.tiles);
    mismatches += comparison.mismatches;
    count += comparison.count;
    ++verified;
    disagreeing += comparison.mismatches > 0 ? 1 : 0;
    std::string kept_in;
    if (!options.disagreements.empty() && comparison.mismatches > 0) {
      attempts.attempt([&] { kept_in = keep_recorded(options.disagreements, file, in, comparison.kept, kept); });
    }

    if (options.json != "-") {
      say(fmt::format("{}: {}\n", printable(file), comparison.result_text()));
      say(table_text({{"instruction", in.subject()},
                      {"device", vectors.device.empty() ? "not named" : shown(vectors.device, kMostOfName)},
                      {"datapath", datapath_text(datapath)}}) +
          comparison.examples_text(instruction, called(datapath),
                                   shown(vectors.device.empty() ? "the file" : vectors.device)));
      if (!kept_in.empty())
        say(fmt::format("  {} in {}\n", plural(comparison.kept.size(), "disagreement"), printable(kept_in)));
    }
    ordered_json one = {{"file", file},
                        {"instruction", instruction.name()},
                        {"arch", in.arch ? ordered_json(vectors.arch) : ordered_json(nullptr)},
                        {"device", vectors.device},
                        {"datapath", datapath_json(datapath)}};
    comparison.put(one, instruction);
    if (!kept_in.empty()) one["disagreements"] = kept_in;
    document["files"].push_back(std::move(one));
  };
  // A file that cannot be read keeps none from being verified.
  bool all = true;
  for (const std::string& file : options.vectors) all = attempts.attempt([&] { verify_file(file); }) && all;
  if (!all) document["interrupted"] = true;
  document["count"] = count;
  if (verified > 1 && options.json != "-") {
    say(fmt::format("\n{} files: {} dot products, {} mismatches{}\n", verified, count_text(count),
                    count_text(mismatches),
                    disagreeing == 0 ? "" : fmt::format(" in {}", plural(disagreeing, "file"))));
  }
  write_document(options, document, mismatches, attempts);
  return attempts.finish(earned_by(mismatches));
}

void write_document(const VerifyOptions& options, ordered_json& document, std::uint64_t mismatches,
                    Attempts& attempts) {
  document["mismatches"] = mismatches;
  if (!options.json.empty()) attempts.attempt([&] { write_json(options.json, document); });
}

namespace {

/// What means nothing without streams is not left out in silence.
void refuse_options_of_streams(const VerifyOptions& options) {
  for (const auto& [option, value] : std::array<NamedFile, 6>{{{"--record", options.record},
                                                               {"--checkpoint", options.checkpoint},
                                                               {"--devices", options.devices},
                                                               {"--shard", options.shard},
                                                               {"--chunk", options.chunk},
                                                               {"--from", options.from}}}) {
    if (!value.empty())
      throw InputError(fmt::format("{}: is of streams of dot products; expected --count N with it", option));
  }
  if (!options.campaign.empty() && !options.disagreements.empty()) {
    throw InputError(
        "--disagreements: a digest does not tell which dot product differs; expected --vectors FILE… or --count "
        "N with it");
  }
}

/// What is compared where nothing is named to compare with: the recorded answers of the instructions.
VerifyOptions of_recorded(const VerifyOptions& options) {
  const ArchId id = parse_arch(options.arch);
  std::vector<const Instruction*> instructions = matching_instructions(options.instruction, id);
  if (!options.datapath.empty())
    instructions = fitting_instructions(named_datapath(options.datapath).datapath, instructions, options.datapath);
  VerifyOptions of = options;
  of.instruction.clear();  // each file says its own
  for (const Instruction* each : instructions) {
    const auto file = find_record(id, record_name(*each));
    if (file) of.vectors.push_back(shown_path(*file));
  }
  if (!of.vectors.empty()) return of;
  throw UnavailableError(fmt::format(
      "verify: there are no recorded answers of {} on {}; --count N compares with a GPU, --vectors with a file",
      instructions.size() == 1 ? instructions.front()->name() : "these instructions", arch(id).name));
}

/// Several processes that mpirun or srun started share the streams: each is a shard, with files of its own but for the
/// records, to which all of them add.
VerifyOptions share_of(const VerifyOptions& options, const Launch& launched) {
  VerifyOptions share = options;
  if (!options.shard.empty()) return share;
  share.shard = fmt::format("{}/{}", launched.rank + 1, launched.size);
  for (std::string* file : {&share.checkpoint, &share.json, &share.disagreements}) {
    if (file->empty() || *file == "-") continue;
    const std::filesystem::path path = *file;
    const std::string name =
        fmt::format("{}.{}-of-{}{}", path.stem().string(), launched.rank + 1, launched.size, path.extension().string());
    *file = (path.parent_path() / name).string();
  }
  return share;
}

/// What is asked for.
int verify(const VerifyOptions& options) {
  const bool streams = !options.count.empty() || (options.campaign.empty() && !options.distributions.empty());
  const bool names_answers = !options.vectors.empty() || !options.campaign.empty() || streams || !options.from.empty();
  if (!names_answers && !options.arch.empty()) return verify(of_recorded(options));
  if ((options.vectors.empty() ? 0 : 1) + (options.campaign.empty() ? 0 : 1) + (streams ? 1 : 0) != 1) {
    throw InputError(
        "verify: expected one of --vectors FILE… (recorded answers), --count N (the GPU) and --campaign FILE (digests "
        "of hardware's results), or --arch, whose recorded answers are taken then");
  }
  if (names_program(options.from, options.program) && !streams)
    throw InputError("--from: exec:COMMAND answers streams; expected --count N with it");
  if (!streams) refuse_options_of_streams(options);
  require_writable(options.json);
  require_no_stdout({"--disagreements", options.disagreements});
  if (!options.disagreements.empty()) require_folder(options.disagreements);
  if (!options.vectors.empty()) return verify_files(options);
  return streams ? verify_streams(options) : verify_campaign(options);
}

}  // namespace

int run_verify(const VerifyOptions& options) {
  const std::optional<Launch> launched = launch();
  if (!launched) return verify(options);
  if (options.count.empty()) {
    throw InputError(
        fmt::format("verify: {} is {}, and processes share streams alone; expected --count N, or one process",
                    launched->size_variable, launched->size));
  }
  return verify(share_of(options, *launched));
}

}  // namespace tcnum
