// Products of whole matrices of integers: chains of sums of products that end in 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "emu/cpu/matrix_codes.hpp"
#include "emu/evaluators.hpp"

namespace tcnum::panels {

struct IntegerPlan {
  FormatId a = FormatId::s8, b = FormatId::s8;
  std::size_t depth = 0;
  std::vector<std::vector<int>> nodes;  ///< k of the products of each sum
  bool wraps = false;                   ///< sums are taken modulo 2^32; else they are clamped to 32 bits
};

/// Why integer panels cannot evaluate a datapath; empty if they can.
WhyNot why_no_integer_panels(const Numerics& numerics, const SortedTree& tree);
/// Of a datapath that they can.
IntegerPlan make_integer_plan(const Numerics& numerics, const SortedTree& tree);

/// As multiply() of sums of floating-point numbers; c and d are s32.
void multiply(const IntegerPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads);

}  // namespace tcnum::panels
