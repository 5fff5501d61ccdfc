// What follows from a plan.
#pragma once

#include <string_view>
#include <vector>

#include "performer.hpp"
#include "tcnum/gemm.hpp"
#include "walk.hpp"

namespace tcnum {

/// Whose instructions it is made of. Throws InputError.
Performer performer_of(const GemmPlan& plan, std::string_view where);

/// A plan with what follows from it for some k.
struct PlanToFollow {
  const GemmPlan& plan;
  const Performer& performer;
  const std::vector<PartWalk>& walk;
};
/// gemm_into() without its checks.
std::size_t multiply_by(const PlanToFollow& plan, Matrix& d, const MatrixView& a, const MatrixView& b,
                        const GemmInputs& inputs, const GemmOptions& options);

/// Of its output.
inline Overflow overflow_of(const GemmPlan& plan) {
  return plan.output_overflow.value_or(format(plan.output).has_infinity() ? Overflow::ieee : Overflow::max_finite);
}

}  // namespace tcnum
