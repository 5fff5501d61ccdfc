#include "numbers.hpp"

#include <algorithm>
#include <array>

namespace tcnum {
namespace {

/// Significands between 1 and 2.
enum class Significand : std::uint8_t { one, one_and_ulp, one_and_half, nearly_two, any };
constexpr std::array<Weighted<Significand>, 5> kSignificands = {{{Significand::one, 1},
                                                                 {Significand::one_and_ulp, 1},
                                                                 {Significand::one_and_half, 1},
                                                                 {Significand::nearly_two, 1},
                                                                 {Significand::any, 4}}};
constexpr int kBothNormal = 80;  // percent of products whose operands are both normal, if that is possible

std::uint64_t draw_significand(RandomNumbers& random, std::uint64_t one) {
  switch (random.pick(kSignificands)) {
    case Significand::one:
      return one;
    case Significand::one_and_ulp:
      return one + 1;
    case Significand::one_and_half:
      return one + one / 2;
    case Significand::nearly_two:
      return 2 * one - 1;
    case Significand::any:
      break;
  }
  return one + (random.next64() & (one - 1));
}

}  // namespace

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

std::uint64_t draw_number(const Format& f, RandomNumbers& random, bool negative, int exponent) {
  exponent = std::clamp(exponent, f.min_exponent(), f.max_exponent());
  const std::uint64_t significand = draw_significand(random, std::uint64_t{1} << f.fraction_bits);
  std::uint64_t code = cut_code(f, negative, significand, exponent - f.fraction_bits);
  // Bits that the format does not have are given to the hardware all the same.
  if (f.padding_bits > 0) code |= random.next64() & ((std::uint64_t{1} << f.padding_bits) - 1);
  return code;
}

std::uint64_t draw_small_number(const Format& f, RandomNumbers& random, bool negative, int exponent) {
  if (exponent >= f.min_exponent()) return draw_number(f, random, negative, exponent);
  const int bits = exponent - smallest_exponent(f);  // below the leading one
  if (bits < 0) return zero_code(f, negative);
  const std::uint64_t leading = std::uint64_t{1} << bits;
  const std::uint64_t significand = leading | (random.next64() & (leading - 1));
  return encode(f, negative, significand, smallest_exponent(f), false, Rounding::toward_zero);
}

void draw_product(const Instruction& in, Problem& p, std::size_t k, RandomNumbers& random, bool negative,
                  int exponent) {
  const Format& a = format(in.a);
  const Format& b = format(in.b);
  const int low = std::max(smallest_exponent(a), exponent - b.max_exponent());
  const int high = std::min(a.max_exponent(), exponent - smallest_exponent(b));
  int ea = low <= high ? random.between(low, high) : (exponent < 0 ? smallest_exponent(a) : a.max_exponent());
  const int normal_low = std::max(a.min_exponent(), exponent - b.max_exponent());
  const int normal_high = std::min(a.max_exponent(), exponent - b.min_exponent());
  if (normal_low <= normal_high && random.chance(kBothNormal)) ea = random.between(normal_low, normal_high);
  const bool a_negative = random.coin();
  p.a[k] = draw_small_number(a, random, a_negative, ea);
  p.b[k] = draw_small_number(b, random, a_negative != negative, exponent - ea);
}

}  // namespace tcnum
