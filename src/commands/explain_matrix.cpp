#include "explain_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "gemm.hpp"
#include "io/printable.hpp"
#include "names.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "src/files/product_matrices.hpp"
#include "tcnum/error.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {
namespace {

struct Place {
  std::size_t batch = 0, row = 0, column = 0;
};

/// "row,column", or "batch,row,column".
Place place_of(const ExplainOptions& options, const ProductMatrices& matrices) {
  if (!matrices.batched) {
    const auto at = parse_place("--at", options.at, {matrices.m, matrices.n}, "row,column");
    return {0, at[0], at[1]};
  }
  const auto at = parse_place("--at", options.at, {matrices.batches, matrices.m, matrices.n}, "batch,row,column");
  return {at[0], at[1], at[2]};
}

/// What a plan makes of the element at a place.
struct AskedElement {
  const BatchInputs& of;
  GemmInputs others;
  Place at;

  ExplainedElement by(const std::string& name, const GemmPlan& plan) const {
    return {name, trace_element(plan, of.a(), of.b(), others, at.row, at.column)};
  }
};

/// The first of the named plans whose D has that code there.
std::optional<ExplainedElement> named_plan_that_gives(std::uint64_t code, FormatId output, const AskedElement& asked) {
  const FormatId operands = asked.of.a().format();
  for (const NamedPlan& named : named_plans()) {
    if (std::ranges::find(named.operands, operands) == named.operands.end()) continue;
    try {
      ExplainedElement found = asked.by(std::string(named.name), named_plan(named.name, operands, output));
      if (found.trace.d == code) return found;
    } catch (const InputError&) {  // it takes no such scales
    }
  }
  return std::nullopt;
}

/// The plan's instruction, from +0 on.
ExplainedSide chain_of(const ExplainedElement& element) {
  const GemmPlan& plan = element.trace.plan;
  const Problem& problem = element.trace.chains.at(0);
  const bool is_instruction = !plan.datapath && find_instruction(plan.instruction) != nullptr;
  if (!is_instruction) {
    return make_side({"", printable(plan.datapath ? element.name : plan.instruction), "", ""}, element.trace.datapath,
                     problem);
  }
  const ArchId id = parse_arch(plan.arch);
  NamedDatapath named = choose_datapath({}, id, parse_instruction(plan.instruction, id), element.name, plan.account);
  return make_side({plan.arch, plan.instruction, named.account, named.origin}, std::move(named.datapath), problem);
}

}  // namespace

ElementOfProduct element_of_product(const ExplainOptions& options) {
  constexpr std::size_t kMostPlans = 2;
  if (options.plans.size() > kMostPlans) throw InputError("--plan: expected one plan, or two to compare");
  const ProductMatrices matrices = read_product(MatrixFile(options.in), {.optional = {"C", "bias", "D", "SA", "SB"}});
  const Place place = place_of(options, matrices);
  const BatchInputs inputs(matrices, place.batch);
  const AskedElement asked{inputs, inputs.others(options.alpha, options.beta), place};
  ElementOfProduct found;
  for (const std::string& name : options.plans)
    found.plans.push_back(asked.by(name, parse_plan(name, inputs.a().format())));
  found.chain = chain_of(found.plans.front());
  const StoredTensor* const d = matrices.find("D");
  const bool is_theirs = d != nullptr && std::ranges::all_of(found.plans, [&](const auto& each) {
                           return each.trace.plan.output == d->format;
                         });
  if (!is_theirs) return found;
  found.observed = Matrix(view_of(*d, place.batch))(place.row, place.column);
  if (found.plans.size() == 1 && *found.observed != found.plans.front().trace.d) {
    if (auto other = named_plan_that_gives(*found.observed, found.plans.front().trace.plan.output, asked))
      found.plans.push_back(*std::move(other));
  }
  return found;
}

}  // namespace tcnum
