// The DPX functions of the CUDA math API: what they compute, bit for bit, and what they are checked with.
#pragma once

#include <vector>

#include "bench/device/dpx_functions.hpp"

namespace tcnum::bench {

struct DpxResult {
  std::uint32_t value = 0;
  unsigned predicates = 0;  ///< bit 0: of the low part; bit 1: of the high one
  friend bool operator==(const DpxResult&, const DpxResult&) = default;
};
/// Functions of two arguments do not look at c.
DpxResult evaluate(const DpxFunction& function, std::uint32_t a, std::uint32_t b, std::uint32_t c);

/// Operands of 32 bits that the functions are checked with: every three of some at the edges of words and halves, and
/// as many random ones.
struct DpxOperands {
  std::vector<std::uint32_t> a, b, c;
};
DpxOperands dpx_check_operands(std::uint64_t seed);

}  // namespace tcnum::bench
