// The plans that a product of some formats and some k may follow.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "plan.hpp"
#include "tcnum/gemm_fit.hpp"

namespace tcnum {

/// A plan with what follows from it.
struct Candidate {
  GemmPlan plan;
  std::shared_ptr<const Performer> performer;
  Reduction reduction;
};

/// Those that divide k into a number of parts, whose sums are of fp32, and are else as a plan that does not.
std::vector<GemmPlan> equal_parts(const GemmPlan& plain, FormatId operand, std::size_t k);

/// All of them, no two the same for this k: instructions of one datapath stand for each other, and so do plans that go
/// through k alike. Throws InputError if no instruction takes the formats.
std::vector<Candidate> plan_space(const GemmSubject& subject);

/// Fields in which plans differ, with the values of each.
std::vector<OpenProperty> differences(const std::vector<const GemmPlan*>& plans);

}  // namespace tcnum
