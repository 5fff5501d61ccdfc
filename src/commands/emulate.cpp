// tcnum emulate: fills the results of a vector file.
#include <fmt/format.h>

#include "commands.hpp"
#include "emu/parallel.hpp"
#include "io/printable.hpp"
#include "names.hpp"
#include "output.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {

int run_emulate(const EmulateOptions& options) {
  require_different({{"--out", options.out}}, {{"--datapath", options.datapath}});  // it may be the same as --in
  Vectors vectors = read_vectors(options.in, false);
  const auto [id, instruction] = instruction_of_file(options.in, vectors, options.arch, options.instruction);
  const NamedDatapath chosen = choose_datapath(options.datapath, id, *instruction, options.in);
  Tiles problems = dot_problems(vectors.tiles, vectors.metadata);
  if (options.exact)
    emulate_exact(chosen.datapath, problems);
  else
    Emulator(chosen.datapath).run(problems, all_threads());
  vectors.tiles.d = std::move(problems.d);

  // What the metadata said of the results that were there no longer holds.
  for (const char* key : {"driver", "cuda", "date"}) vectors.metadata.erase(key);
  vectors.device = "tcnum's emulator";
  vectors.metadata["generator"] = "tcnum " TCNUM_VERSION;
  vectors.metadata["datapath"] = printable(fmt::format("{}: {}", chosen.account, chosen.origin));
  write_vectors(options.out, vectors);
  return kAgreed;
}

}  // namespace tcnum
