// tcnum emulate: fills the results of a vector file.
#include <memory>

#include "command.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

struct Options {
  std::string arch, instruction, in, out, datapath;
  bool exact = false;
};

int emulate(const Options& options) {
  Vectors vectors = read_vectors(options.in, false);
  const auto [id, instruction] = identity_of(options.in, vectors, options.arch, options.instruction);
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
  vectors.metadata["datapath"] = fmt::format("{}: {}", chosen.account, chosen.origin);
  write_vectors(options.out, vectors);
  return kAgreed;
}

}  // namespace

void add_emulate(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("emulate", "Fill the results of a vector file without the hardware");
  const auto options = std::make_shared<Options>();
  sub->add_option("--arch", options->arch, "Architecture (default: what the file says)");
  sub->add_option("--instr", options->instruction, "Instruction (default: what the file says)");
  sub->add_option("--in", options->in, "Vector file with A, B and C")->required();
  sub->add_option("--out", options->out, "Vector file to write: the same with D")->required();
  sub->add_option("--datapath", options->datapath, "Datapath of your own (default: the catalogue's)");
  sub->add_flag("--exact", options->exact, "Use the slow emulator that defines the meaning");
  sub->callback([options, &action] { action = [options] { return emulate(*options); }; });
}

}  // namespace tcnum
