// Whole matrix products by panels.
#pragma once

#include <cstddef>

#include "plan.hpp"

namespace tcnum::panels {

/// Codes of a matrix: element (row, column) is code number row · row_stride + column · column_stride.
template <class Byte>
struct MatrixCodes {
  Byte* codes = nullptr;
  std::size_t row_stride = 0, column_stride = 1;
};

/// Codes of block scales: of A, element (row, block), and of B, (block, column). The last block may be shorter.
struct BlockScales {
  MatrixCodes<const std::byte> a, b;
};

struct ProductShape {
  std::size_t m = 0, n = 0, k = 0;
};

/// Whether this machine can.
bool are_here();

/// D = A·B + C by a chain of the plan's links along k, the last of them filled up with zeros; without C (a null
/// pointer) it is +0. The matrices are of the plan's formats and as large as the shape says. Blocks that fill up the
/// last link have scales of 1.
void multiply(const Plan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads, const BlockScales& scales = {});

}  // namespace tcnum::panels
