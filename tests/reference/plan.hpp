// A second implementation of what a plan of matrix products means, made from docs/plans.md alone, an element at a time:
// numbers are rationals, products are taken by the exact emulator one instruction after the other, zeros and all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/gemm.hpp"
#include "values.hpp"

namespace tcnum::reference {

/// What an element of D is made of.
struct ElementOperands {
  std::vector<std::uint64_t> a, b;  ///< codes of a row of A and a column of B; of fp32 where the plan converts them
  std::optional<Value> c, bias;     ///< none: not there
  double alpha = 1, beta = 0;
  std::size_t m = 1, n = 1, row = 0, column = 0;  ///< of D, and where in it the element is
};

/// An element of D. `datapath` is the plan's own or its instruction's; the plan is valid (see validate()). What is no
/// number is a NaN also where the plan's output has none.
Value element(const GemmPlan& plan, const Datapath& datapath, const ElementOperands& operands);

}  // namespace tcnum::reference
