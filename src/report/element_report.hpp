// One element of a product by a plan, or by two, for people and programs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "explain_sides.hpp"
#include "src/gemm/element.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {

/// What a plan, which is called so, makes of the element.
struct ExplainedElement {
  std::string name;
  ElementTrace trace;

  /// Whether one accumulator takes all products.
  bool is_one_chain() const { return trace.chains.size() == 1; }
};

/// What each plan does; its steps; and how its result becomes D's code. Of two plans, from the first step on that
/// differs. `observed`: another result, in the format of D. `chain_is_shown`: of a plan that is one chain, its k-steps
/// are left out, as explain_text() has shown them.
std::string element_text(const std::vector<ExplainedElement>& plans, const std::optional<std::uint64_t>& observed = {},
                         bool chain_is_shown = false);

/// tcnum.explain/1. `chain`: the first accumulator of the first plan.
nlohmann::ordered_json element_document(const std::vector<ExplainedElement>& plans, const ExplainedSide& chain,
                                        const std::optional<std::uint64_t>& observed = {});

}  // namespace tcnum
