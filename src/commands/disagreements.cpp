#include "verify.hpp"

#include <system_error>

#include "io/failures.hpp"
#include "io/printable.hpp"
#include "src/questions/packing.hpp"
#include "src/report/explain.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

namespace fs = std::filesystem;

Counterexample ask_again(const Disagreement& at, const Emulator& emulator, Oracle& oracle) {
  const std::uint64_t problems = stream_shape(*at.instruction).problems();
  Tiles tiles = make_stream_tiles(*at.instruction, at.distribution, at.seed, at.index / problems, 1);
  Tiles expected = tiles;
  oracle.answer(tiles);
  emulator.run(expected);
  const auto i = static_cast<std::size_t>(at.index % problems);
  return {problem_at(tiles, i), expected.d[i], tiles.d[i]};
}

/// Of a problem longer than any instruction's, fewer terms that still disagree: parts of it are left out, ever smaller
/// ones. minimise() looks at every term that there is in each of its steps.
Counterexample thinned(const Instruction& in, const Emulator& emulator, Oracle& oracle, Counterexample found) {
  constexpr std::size_t kLongest = 256;
  const std::size_t k = found.problem.a.size();
  for (std::size_t part = k > kLongest ? k / 2 : 0; part > 0; part /= 2) {
    for (std::size_t at = 0; at < k; at += part) {
      Problem fewer = found.problem;
      for (std::size_t i = at; i < std::min(at + part, k); ++i) fewer.a[i] = fewer.b[i] = 0;
      if (fewer == found.problem) continue;
      Tiles theirs = tiles_of(in, 1, 1, 1, [&](std::size_t) { return fewer; }), mine = theirs;
      oracle.answer(theirs);
      emulator.run(mine);
      if (theirs.d[0] != mine.d[0]) found = {std::move(fewer), mine.d[0], theirs.d[0]};
    }
  }
  return found;
}

/// One problem a tile, with what the hardware answered.
Tiles observed_tiles(const Instruction& in, const std::vector<Counterexample>& all) {
  Tiles tiles = tiles_of(in, all.size(), 1, 1, [&](std::size_t t) { return all[t].problem; });
  for (std::size_t t = 0; t < all.size(); ++t) tiles.d.set(t, all[t].observed);
  return scatter(in, std::move(tiles));
}

Vectors vectors_of(const std::vector<Found>& all, ArchId id, const Source& source) {
  const Instruction& in = *all.front().at.instruction;
  std::vector<Counterexample> small;
  for (const Found& each : all) small.push_back(each.small);
  Vectors vectors;
  vectors.tiles = observed_tiles(in, small);
  vectors.instruction = in.name();
  vectors.arch = arch(id).name;
  vectors.device = source.device;
  vectors.metadata = source.provenance;
  vectors.metadata["generator"] = "tcnum " TCNUM_VERSION;
  vectors.metadata["note"] = "disagreements with the datapath that was verified, made small";
  return vectors;
}

constexpr const char* kExtension = ".safetensors";

/// Of a file in the folder, which is made if it is not there.
std::string path_in(const std::string& folder, const std::string& file) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail_system(folder, "cannot be made a folder", error.value());
  return (fs::path(folder) / file).string();
}

}  // namespace

Found shrink(const Disagreement& at, const Datapath& datapath, Oracle& oracle) {
  const Emulator emulator(datapath);
  Found found{at, ask_again(at, emulator, oracle)};
  if (found.repeated()) {
    found.small =
        minimise(*at.instruction, oracle, emulator, thinned(*at.instruction, emulator, oracle, std::move(found.small)));
  }
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
        "{}: disagreements[{}]: {} {} of {} is none: asked again, {} gives {}, as the datapath does; expected "
        "another file, from the beginning",
        checkpoint, i, name(at.distribution), at.index, instruction.name(), oracle.device(),
        hex(format(instruction.d), answer.observed)));
  }
}

std::string found_text(const Found& found, const Datapath& of, const std::string& datapath,
                       const std::string& answerer) {
  const Instruction& in = *found.at.instruction;
  const std::string where =
      fmt::format("\n  {} {} of seed {}", name(found.at.distribution), found.at.index, found.at.seed);
  if (!found.repeated()) {
    return fmt::format("{}: asked again, it was {}, as the datapath has it; what answers does not repeat itself\n",
                       where, hex(format(in.d), found.small.observed));
  }
  return where + ", made small:\n\n" +
         problem_text(in, found.small.problem, {datapath, found.small.expected}, {answerer, found.small.observed}) +
         fmt::format("\n  By {}:\n\n{}", datapath, explain_text(of, found.small.problem));
}

void keep_disagreements(const std::string& folder, const std::vector<Found>& all, ArchId id, const Source& source) {
  const std::string file = all.front().at.instruction->name() + kExtension;
  write_vectors(path_in(folder, file), vectors_of(all, id, source));
}

std::string keep_recorded(const std::string& folder, const std::string& recorded_in, const VectorsInFile& recorded,
                          const std::vector<Counterexample>& all, std::set<std::string>& taken) {
  Vectors vectors;
  vectors.tiles = observed_tiles(*recorded.instruction, all);
  vectors.instruction = recorded.vectors.instruction;
  vectors.arch = recorded.vectors.arch;
  vectors.device = recorded.vectors.device;
  vectors.metadata = recorded.vectors.metadata;
  // The problems are what these made of the file's operands.
  for (const char* key : {"scale_a", "scale_b", "scale_d"}) vectors.metadata.erase(key);
  vectors.metadata["note"] = printable(fmt::format("disagreements of {} with the datapath that was verified",
                                                   fs::path(recorded_in).filename().string()));
  const std::string stem = fs::path(recorded_in).stem().string();
  std::string file = stem + kExtension;
  for (int number = 2; !taken.insert(file).second; ++number) file = fmt::format("{}-{}{}", stem, number, kExtension);
  std::string path = path_in(folder, file);
  write_vectors_of(recorded, path, vectors);
  return path;
}

}  // namespace tcnum
