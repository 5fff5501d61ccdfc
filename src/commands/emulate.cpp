// tcnum emulate: fills the results of a vector file.
#include <fmt/format.h>

#include "emu/parallel.hpp"
#include "emulate.hpp"
#include "names.hpp"
#include "output.hpp"
#include "src/report/source.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {

int run_emulate(const EmulateOptions& options) {
  if (options.serve) return serve_datapath(options);
  if (options.in.empty()) throw InputError("--in: missing; right would be a vector file with A, B and C, or --serve");
  if (options.out.empty()) throw InputError("--out: missing; right would be a file to write");
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

  attribute_to_emulator(vectors, fmt::format("{}: {}", chosen.account, chosen.origin));
  write_vectors(options.out, vectors);
  return kAgreed;
}

}  // namespace tcnum
