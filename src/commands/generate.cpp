// tcnum generate: dot problems with the answers of a datapath. tcnum convert: the same problems in another form.
#include <fmt/ranges.h>

#include "emu/parallel.hpp"
#include "output.hpp"
#include "src/questions/battery.hpp"
#include "src/questions/packing.hpp"
#include "src/questions/stream.hpp"
#include "src/report/layout.hpp"
#include "src/report/problem_text.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "vectors.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kBattery = "battery";
constexpr std::uint64_t kGenerated = 1000, kMostGenerated = 10'000'000;

std::vector<Problem> crafted_problems(const Instruction& in, std::size_t most) {
  std::vector<Problem> problems;
  for (CraftedProblem& each : battery(in)) {
    if (problems.size() == most) break;
    problems.push_back(std::move(each.problem));
  }
  return problems;
}

/// Those of a sweep by their indices in it; of a stream those on the diagonals of its tiles, as others share rows and
/// columns.
std::vector<Problem> stream_problems(const Instruction& in, Distribution distribution, std::uint64_t seed,
                                     std::uint64_t count) {
  if (is_sweep(distribution)) {
    const std::optional<std::uint64_t> size = sweep_size(in, distribution, seed);
    if (!size)
      throw InputError(fmt::format("--distribution: {} has no sweep of {}; expected one that is random, such as {}",
                                   in.name(), name(distribution), name(Distribution::gaussian)));
    count = std::min(count, *size);
  }
  std::vector<Problem> problems;
  const StreamShape shape = stream_shape(in);
  const std::uint64_t step = is_sweep(distribution) ? 1 : static_cast<std::uint64_t>(shape.n) + 1;
  for (std::uint64_t first = 0; problems.size() < count; ++first) {
    const Tiles tiles = make_stream_tiles(in, distribution, seed, first, 1);
    for (std::uint64_t i = 0; i < shape.problems() && problems.size() < count; i += step)
      problems.push_back(problem_at(tiles, i));
  }
  return problems;
}

Distribution named_distribution(const std::string& text) {
  if (const std::optional<Distribution> distribution = find_distribution(text)) return *distribution;
  throw InputError(fmt::format("--distribution: {} is unknown; expected one of {}, {}", text, kBattery,
                               fmt::join(distribution_names(), ", ")));
}

std::vector<Problem> problems_of(const GenerateOptions& options, const Instruction& in) {
  const std::uint64_t count = options.count.empty() ? kGenerated : parse_count("--count", options.count);
  if (count > kMostGenerated) throw InputError(fmt::format("--count: {}; expected at most {}", count, kMostGenerated));
  if (options.distribution == kBattery)
    return crafted_problems(in, options.count.empty() ? kMostGenerated : static_cast<std::size_t>(count));
  return stream_problems(in, named_distribution(options.distribution), options.seed, count);
}

}  // namespace

int run_generate(const GenerateOptions& options) {
  std::optional<VectorsInFile> made = named_subject(options.arch, options.instruction, options.datapath);
  if (!made) throw InputError("--arch: missing; expected it and --instr, or --datapath alone");
  const Instruction& in = *made->instruction;
  const NamedDatapath chosen = datapath_for(*made, options.instruction, options.datapath);
  require_vectors_writable(options.out, options.form);

  const ProgressLine progress("making dot products");
  const std::vector<Problem> problems = problems_of(options, in);
  progress.show(fmt::format("answering {}", plural(problems.size(), "dot product")));
  Tiles tiles = tiles_of(in, problems.size(), 1, 1, [&](std::size_t i) { return problems[i]; });
  if (options.exact)
    emulate_exact(chosen.datapath, tiles);
  else
    Emulator(chosen.datapath).run(tiles, all_threads());
  Codes results = tiles.d;
  made->vectors.tiles = scatter(in, std::move(tiles));
  made->vectors.tiles.d = std::move(results);
  attribute_to_emulator(made->vectors, fmt::format("{}: {}", chosen.account, chosen.origin));
  const bool crafted = options.distribution == kBattery;
  made->vectors.metadata["distribution"] = crafted ? kBattery : name(named_distribution(options.distribution));
  if (!crafted) made->vectors.metadata["seed"] = fmt::format("{}", options.seed);
  write_vectors_of(*made, options.out, made->vectors, options.form);
  return kAgreed;
}

int run_convert(const ConvertOptions& options) {
  require_vectors_writable(options.out, options.form);
  const ProgressLine progress(fmt::format("converting {}", options.in));
  // Results that are missing would come out as zeros: emulate adds them.
  const VectorsInFile file = read_vectors_in(options.in, {.arch = options.arch,
                                                          .instruction = options.instruction,
                                                          .datapath = options.datapath,
                                                          .form = options.in_form,
                                                          .results = true});
  write_vectors_of(file, options.out, file.vectors, options.form);
  return kAgreed;
}

}  // namespace tcnum
