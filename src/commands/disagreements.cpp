#include "disagreements.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "io/failures.hpp"
#include "src/report/explain.hpp"
#include "src/report/problem_text.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

Counterexample ask_again(const Disagreement& at, const Emulator& emulator, Oracle& oracle) {
  const std::uint64_t problems = stream_shape(*at.instruction).problems();
  Tiles tiles = make_stream_tiles(*at.instruction, at.distribution, at.seed, at.index / problems, 1);
  Tiles expected = tiles;
  oracle.answer(tiles);
  emulator.run(expected);
  const auto i = static_cast<std::size_t>(at.index % problems);
  return {problem_at(tiles, i), expected.d[i], tiles.d[i]};
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

}  // namespace

Found shrink(const Disagreement& at, const Datapath& datapath, Oracle& oracle) {
  const Emulator emulator(datapath);
  Found found{at, ask_again(at, emulator, oracle)};
  if (found.repeated()) found.small = minimise(*at.instruction, oracle, emulator, found.small);
  return found;
}

void check_again(const std::string& checkpoint, const std::vector<Disagreement>& disagreements,
                 const Instruction& instruction, const Datapath& datapath, Oracle& oracle) {
  const Emulator emulator(datapath);
  for (std::size_t i = 0; i < disagreements.size(); ++i) {
    const Disagreement& at = disagreements[i];
    if (at.instruction != &instruction) continue;
    const Counterexample answer = ask_again(at, emulator, oracle);
    if (answer.expected != answer.observed) continue;
    throw InputError(fmt::format(
        "{}: disagreements[{}]: {} {} of {} is none: asked again, {} gives {}, as the datapath does; right would be "
        "another file, from the beginning",
        checkpoint, i, name(at.distribution), at.index, instruction.name(), oracle.device(),
        hex(format(instruction.d), answer.observed)));
  }
}

std::string found_text(const Found& found, const Datapath& datapath) {
  const Instruction& in = *found.at.instruction;
  const std::string where =
      fmt::format("\n  {} {} of seed {}", name(found.at.distribution), found.at.index, found.at.seed);
  if (!found.repeated()) {
    return fmt::format("{}: asked again, it was {}, as the datapath has it; what answers does not repeat itself\n",
                       where, hex(format(in.d), found.small.observed));
  }
  return where + ", made small:\n\n" +
         problem_text(in, found.small.problem, found.small.expected, found.small.observed) +
         "\n  By the datapath:\n\n" + explain_text(datapath, found.small.problem);
}

void keep_disagreements(const std::string& folder, const std::vector<Found>& all, ArchId id, const Source& source) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_system(folder, "cannot be made a folder", error.value());
  const std::string file = all.front().at.instruction->name() + ".safetensors";
  write_vectors((std::filesystem::path(folder) / file).string(), vectors_of(all, id, source));
}

}  // namespace tcnum
