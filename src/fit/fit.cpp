#include "fit.hpp"

#include <array>

#include <fmt/format.h>

#include "steps.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

constexpr std::array<std::string_view, 3> kVerdictNames = {"identified", "ambiguous", "unexplained"};

/// In the words of tcnum/fit.hpp.
FittedDatapath in_public(FitResult result, const Fit& fit) {
  FittedDatapath found;
  found.verdict = result.verdict;
  found.datapath = std::move(result.datapath);
  found.considered = result.considered;
  found.surviving = result.surviving;
  found.mismatches = result.mismatches;
  found.counterexample = std::move(result.counterexample);
  found.answers = fit.evidence().all();
  for (const Rejection& r : result.rejected) {
    found.refuted.push_back(
        {std::string(name(r.property)), fit.space().value_text(r.property, r.value), r.probe, r.expected, r.observed});
  }
  for (const Undetermined& u : result.undetermined) {
    found.open.push_back({std::string(name(u.property)), fit.space().value_texts(u.property, u.values)});
  }
  return found;
}

void require_problems_of(const Instruction& in, const Tiles& tiles) {
  const std::array wanted = {in.a, in.b, in.c, in.d};
  const std::array given = {tiles.a_format, tiles.b_format, tiles.c_format, tiles.d_format};
  constexpr std::array kNames = {"a", "b", "c", "d"};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (given[i] == wanted[i]) continue;
    throw InputError(fmt::format("fit_datapath: tiles.{}_format: is {}; expected {}, as {} has it", kNames[i],
                                 format(given[i]).name, format(wanted[i]).name, in.name()));
  }
  if (tiles.sparse_group != 0) {
    throw InputError("fit_datapath: tiles.sparse_group: is not 0; expected dense problems, as gather() makes them");
  }
  if (tiles.k != static_cast<std::size_t>(in.products())) {
    throw InputError(fmt::format("fit_datapath: tiles.k: is {}; expected {}, the products of {}", tiles.k,
                                 in.products(), in.name()));
  }
  if (const int wanted_block = in.scaled() ? in.products_per_scale() : 0; tiles.scale_block != wanted_block) {
    throw InputError(fmt::format("fit_datapath: tiles.scale_block: is {}; expected {}, as {} has it", tiles.scale_block,
                                 wanted_block, in.name()));
  }
  if (tiles.size() == 0) throw InputError("fit_datapath: tiles.count: is 0; expected at least one answer");
}

}  // namespace

std::string_view name(Verdict verdict) { return kVerdictNames[static_cast<std::size_t>(verdict)]; }

Fit::Fit(const Instruction& instruction, Oracle* live, FitOptions options)
    : options_(options), space_(instruction), evidence_(instruction) {
  if (live != nullptr) live_.emplace(*live);
}

FitResult Fit::run() { return eliminate(space_, evidence_, live_ ? &*live_ : nullptr, options_); }

FittedDatapath fit_datapath(const Instruction& instruction, Oracle& oracle, const FitOptions& options) {
  Fit fit(instruction, &oracle, options);
  FitResult result = fit.run();
  return in_public(std::move(result), fit);
}

FittedDatapath fit_datapath(const Instruction& instruction, Tiles recorded, const FitOptions& options) {
  require_problems_of(instruction, recorded);
  Fit fit(instruction, nullptr, options);
  fit.add_recorded(std::move(recorded));
  FitResult result = fit.run();
  return in_public(std::move(result), fit);
}

}  // namespace tcnum
