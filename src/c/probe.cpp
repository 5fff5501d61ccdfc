// Finding the datapath behind a caller's oracle, or behind answers.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "arguments.hpp"
#include "emu/parallel.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "src/fit/fit.hpp"
#include "src/report/probe_report.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

/// What a caller's function answers.
class CallbackOracle final : public Oracle {
 public:
  CallbackOracle(ArchId id, const Instruction& instruction, tcnum_oracle ask, void* user, std::string device)
      : arch_(id), instruction_(instruction), ask_(ask), user_(user), device_(std::move(device)) {}

  void answer(Tiles& tiles) override {
    tcnum_tiles asked;
    asked.instruction = &instruction_;
    asked.vectors.instruction = instruction_.name();
    asked.vectors.arch = arch(arch_).name;
    asked.vectors.tiles = std::move(tiles);
    const int stop = ask_(user_, &asked);
    tiles = std::move(asked.vectors.tiles);
    if (stop != 0) throw Stopped();
  }
  OracleKind kind() const override { return OracleKind::program; }
  std::string device() const override { return device_; }

 private:
  ArchId arch_;
  const Instruction& instruction_;
  tcnum_oracle ask_;
  void* user_;
  std::string device_;
};

FitOptions fit_options_of(const tcnum_probe_options& given) {
  FitOptions options;
  if (given.seed != 0) options.seed = given.seed;
  options.threads = given.threads == 0 ? all_threads() : given.threads;
  return options;
}

/// What `tcnum probe` writes of one instruction.
std::string document_of(Fit& fit, ArchId id, Source source) {
  const Instruction& in = fit.space().instruction();
  const FitResult result = fit.run();
  const std::string name(arch(id).name);
  const ProbeReport report{
      fit, result, name, std::move(source), check_accounts(fit, catalogue(id, in)), check_relatives(fit, id), {}, {}};
  ProbeDocument document(name, format(in.a).name);
  document.add(report);
  return document.json().dump(2);
}

}  // namespace
}  // namespace tcnum

using namespace tcnum;

tcnum_status tcnum_probe(const char* arch_name, const char* instruction, tcnum_oracle oracle, void* user,
                         const tcnum_probe_options* options, char** json) {
  return guarded([&] {
    char*& result = result_of(json, "json");
    const ArchId id = arch_of(arch_name);
    const Instruction& in = instruction_of(id, instruction);
    if (oracle == nullptr) throw InputError("oracle: is NULL; right would be a function that fills D of tiles");
    const auto given = options_of(options, "options");
    CallbackOracle live(id, in, oracle, user, given.device == nullptr ? "a program" : given.device);
    Fit fit(in, &live, fit_options_of(given));
    result = new_text(document_of(fit, id, {live.kind(), live.device(), "", {}}));
  });
}

tcnum_status tcnum_probe_tiles(const tcnum_tiles* tiles, const tcnum_probe_options* options, char** json) {
  return guarded([&] {
    char*& result = result_of(json, "json");
    const tcnum_tiles& of = required(tiles, "tiles", "tiles with results");
    if (of.instruction == nullptr)
      throw InputError("tiles: are of a datapath alone; right would be tiles of an instruction");
    check_written(of);
    const auto given = options_of(options, "options");
    const Vectors& vectors = of.vectors;
    Source source{OracleKind::recorded, given.device == nullptr ? vectors.device : given.device, "", {}};
    for (const char* key : {"driver", "cuda", "date"}) {
      if (const auto found = vectors.metadata.find(key); found != vectors.metadata.end())
        source.provenance.insert(*found);
    }
    Fit fit(*of.instruction, nullptr, fit_options_of(given));
    fit.add_recorded(dot_problems(vectors.tiles, vectors.metadata));
    result = new_text(document_of(fit, *find_arch(vectors.arch), std::move(source)));
  });
}
