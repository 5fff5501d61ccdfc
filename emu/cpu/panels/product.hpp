// Whole matrix products by panels.
#pragma once

#include "emu/cpu/matrix_codes.hpp"
#include "plan.hpp"

namespace tcnum::panels {

/// Whether this machine can.
bool are_here();

/// D = A·B + C by a chain of the plan's k-steps along k, the last of them filled up with zeros; without C (a null
/// pointer) it is +0. The matrices are of the plan's formats and as large as the shape says. Blocks that fill up the
/// last k-step have scales of 1.
void multiply(const Plan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads, const BlockScales& scales = {});

}  // namespace tcnum::panels
