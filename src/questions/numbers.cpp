#include "numbers.hpp"

#include <algorithm>

namespace tcnum {
std::uint64_t cut_code(const Format& f, bool negative, uint128 significand, int exponent) {
  return encode(f, negative, significand, exponent, false, Rounding::toward_zero, Overflow::max_finite);
}

ProductMaker::ProductMaker(const Instruction& instruction) : instruction_(&instruction) {
  const Format& a = format(instruction.a);
  const Format& b = format(instruction.b);
  lowest_ = a.min_exponent() + b.min_exponent();
  highest_ = a.max_exponent() + b.max_exponent();
  lowest_subnormal_ = smallest_exponent(a) + smallest_exponent(b);
}

void ProductMaker::put(Problem& problem, int k, bool negative, int exponent) const {
  const Format& a = format(instruction_->a);
  const Format& b = format(instruction_->b);
  // As even a split as the ranges allow; subnormals only if there is no other way.
  int ea = exponent / 2;
  ea = std::clamp(ea, std::max(a.min_exponent(), exponent - b.max_exponent()), a.max_exponent());
  if (exponent - ea < b.min_exponent()) ea = std::max(exponent - b.min_exponent(), smallest_exponent(a));
  const auto i = static_cast<std::size_t>(k);
  problem.a[i] = encode(a, negative, 1, ea, false, Rounding::toward_zero);
  problem.b[i] = encode(b, false, 1, exponent - ea, false, Rounding::toward_zero);
}

std::uint64_t ProductMaker::accumulator(bool negative, int exponent) const {
  const Format& c = format(instruction_->c);
  return encode(c, negative, 1, std::clamp(exponent, smallest_exponent(c), c.max_exponent()), false,
                Rounding::toward_zero);
}

}  // namespace tcnum
