// tcnum emulate: fills the results of a vector file.
#include <fmt/format.h>

#include "emu/parallel.hpp"
#include "emulate.hpp"
#include "names.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "src/report/layout.hpp"
#include "src/report/source.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "vectors.hpp"

namespace tcnum {

unsigned threads_of(const EmulateOptions& options) {
  return options.threads == 0 ? all_threads() : static_cast<unsigned>(options.threads);
}

int run_emulate(const EmulateOptions& options) {
  if (options.serve) return serve_datapath(options);
  if (options.in.empty()) throw InputError("--in: missing; expected a vector file with A, B and C, or --serve");
  if (options.out.empty()) throw InputError("--out: missing; expected a file to write");
  require_vectors_writable(options.out, options.form);
  VectorsInFile file = read_vectors_in(options.in, {.arch = options.arch,
                                                    .instruction = options.instruction,
                                                    .datapath = options.datapath,
                                                    .form = options.in_form,
                                                    .results = false});
  const NamedDatapath chosen = datapath_for(file, options.in, options.datapath, options.account);
  Vectors& vectors = file.vectors;
  Tiles problems = dot_problems(vectors.tiles, vectors.metadata);
  const ProgressLine progress(fmt::format("emulating {}", plural(problems.size(), "dot product")));
  if (options.exact)
    emulate_exact(chosen.datapath, problems);
  else
    Emulator(chosen.datapath).run(problems, threads_of(options));
  vectors.tiles.d = std::move(problems.d);

  attribute_to_emulator(vectors, fmt::format("{}: {}", chosen.account, chosen.origin));
  write_vectors_of(file, options.out, vectors, options.form);
  return kAgreed;
}

}  // namespace tcnum
