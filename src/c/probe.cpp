// Finds the datapath behind an oracle of the caller, or behind answers.
#include "arguments.hpp"
#include "emu/parallel.hpp"
#include "handles.hpp"
#include "src/fit/fit.hpp"
#include "src/report/probe_report.hpp"
#include "tcnum/program_oracle.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

/// The subject of a probe: an instruction, or, without an architecture, a dot product that a program computes.
struct Probed {
  Instruction instruction;
  const Instruction* row = nullptr;  ///< of the table of instructions; null: the dot product of a program
  std::optional<ArchId> arch;
};

/// Asks a function of the caller.
class CallbackOracle final : public Oracle {
 public:
  CallbackOracle(const Probed& probed, tcnum_oracle ask, void* user, const tcnum_probe_options& options)
      : probed_(probed),
        ask_(ask),
        user_(user),
        device_(options.device == nullptr ? "a program" : options.device),
        nans_(options.any_nan != 0 ? NanBits::any : NanBits::as_they_are) {}

  void answer(Tiles& tiles) override {
    tcnum_tiles asked;
    asked.instruction = probed_.row;
    asked.vectors.instruction = probed_.instruction.name();
    if (probed_.arch) asked.vectors.arch = arch(*probed_.arch).name;
    asked.vectors.tiles = std::move(tiles);
    const int stop = ask_(user_, &asked);
    tiles = std::move(asked.vectors.tiles);
    if (stop != 0) throw Stopped();
    if (nans_ == NanBits::any) make_nans_alike(tiles);
  }
  OracleKind kind() const override { return OracleKind::program; }
  std::string device() const override { return device_; }
  std::map<std::string, std::string> provenance() const override { return provenance_of(nans_); }

 private:
  const Probed& probed_;
  tcnum_oracle ask_;
  void* user_;
  std::string device_;
  NanBits nans_;
};

tcnum_probe_options probe_options_of(const tcnum_probe_options* options) {
  const tcnum_probe_options given = options_of(options, "options");
  if (given.device != nullptr && !is_utf8(given.device))
    throw InputError("options->device: is not UTF-8; expected text in UTF-8");
  return given;
}

FitOptions fit_options_of(const tcnum_probe_options& given) {
  FitOptions options;
  if (given.seed != 0) options.seed = given.seed;
  options.threads = given.threads == 0 ? all_threads() : given.threads;
  options.progress = fit_progress_of(given);
  return options;
}

/// The JSON that `tcnum probe` writes for one instruction.
std::string document_of(Fit& fit, std::optional<ArchId> id, Source source) {
  const Instruction& in = fit.space().instruction();
  const FitResult result = fit.run();
  const std::string name(id ? arch(*id).name : "");
  ProbeReport report{fit, result, name, std::move(source), {}, {}, {}, {}};
  if (id) {
    report.accounts = judge_accounts(fit.evidence(), catalogue(*id, in),
                                     result.verdict == Verdict::identified ? &result.datapath : nullptr);
    report.relatives = check_relatives(fit, *id);
  }
  ProbeDocument document(name, format(in.a).name);
  document.add(json_report(report), report.source);
  return document.json().dump(2);
}

std::string probe(const Probed& probed, tcnum_oracle oracle, void* user, const tcnum_probe_options* options) {
  if (oracle == nullptr) throw InputError("oracle: is NULL; expected a function that fills D of tiles");
  const auto given = probe_options_of(options);
  CallbackOracle live(probed, oracle, user, given);
  Fit fit(probed.instruction, &live, fit_options_of(given));
  return document_of(fit, probed.arch, {live.kind(), live.device(), "", live.provenance()});
}

}  // namespace
}  // namespace tcnum

using namespace tcnum;

tcnum_status tcnum_probe(const char* arch_name, const char* instruction, tcnum_oracle oracle, void* user,
                         const tcnum_probe_options* options, char** json) {
  return handed_back(json, "json", [&] {
    const ArchId id = arch_of(arch_name);
    const Instruction& in = instruction_of(id, instruction);
    return new_text(probe({in, &in, id}, oracle, user, options));
  });
}

tcnum_status tcnum_probe_dot(const tcnum_dot* dot, tcnum_oracle oracle, void* user, const tcnum_probe_options* options,
                             char** json) {
  return handed_back(json, "json", [&] {
    const auto given = options_of(&required(dot, "dot", "the dot product to be probed"), "dot");
    const auto id_of = [](const char* name, std::string_view argument) { return format_of(name, argument).id; };
    const FormatId a = id_of(given.a, "dot->a"), d = id_of(given.d, "dot->d");
    const FormatId b = given.b == nullptr ? a : id_of(given.b, "dot->b");
    const FormatId c = given.c == nullptr ? d : id_of(given.c, "dot->c");
    const auto as_int = [](std::string_view what, std::size_t n) {
      if (n > kMostDotProducts)
        throw InputError(fmt::format("{}: {}; expected 1 to {} products", what, n, kMostDotProducts));
      return static_cast<int>(n);
    };
    Scaling scales;
    if (given.scale_block != 0) {
      const FormatId format =
          given.scale_format == nullptr ? FormatId::ue8m0 : id_of(given.scale_format, "dot->scale_format");
      scales = {ScaleKind::dot, format, as_int("scale-block", given.scale_block)};
    } else if (given.scale_format != nullptr) {
      throw InputError("dot->scale_block: is 0; expected the number of products that share a scale, such as 32");
    }
    return new_text(probe({make_dot(d, a, b, c, as_int("k", given.k), scales), nullptr, {}}, oracle, user, options));
  });
}

tcnum_status tcnum_probe_tiles(const tcnum_tiles* tiles, const tcnum_probe_options* options, char** json) {
  return handed_back(json, "json", [&] {
    const tcnum_tiles& of = required(tiles, "tiles", "tiles with results");
    if (of.instruction == nullptr) throw InputError("tiles: are of a datapath alone; expected tiles of an instruction");
    check_written(of);
    const auto given = probe_options_of(options);
    const Vectors& vectors = of.vectors;
    Source source = source_of(vectors, "");
    if (given.device != nullptr) source.device = given.device;
    Fit fit(*of.instruction, nullptr, fit_options_of(given));
    fit.add_recorded(dot_problems(vectors.tiles, vectors.metadata));
    return new_text(document_of(fit, *find_arch(vectors.arch), std::move(source)));
  });
}
