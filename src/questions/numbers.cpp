#include "numbers.hpp"

namespace tcnum {
namespace {

const Format& scale_format(const Instruction& in) { return format(in.scales.format); }

/// The exponents of one scale that is a power of two.
Interval powers_of_two(const Format& f) {
  if (f.id == FormatId::ue8m0) return {-f.bias, f.max_exponent()};
  return {smallest_exponent(f), f.max_exponent()};
}

std::uint64_t power_of_two(const Format& f, int exponent) {
  if (f.id == FormatId::ue8m0) return static_cast<std::uint64_t>(exponent + f.bias);
  return encode(f, false, 1, exponent, false, Rounding::toward_zero);
}

std::uint64_t finite_scale(const Format& f, std::uint64_t code) {
  code &= f.code_mask();
  return decode(f, code).is_finite() ? code : code - 1;
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

Interval scale_exponents(const Instruction& in) {
  const Interval one = powers_of_two(scale_format(in));
  return {2 * one.low, 2 * one.high};
}

void put_scales(const Instruction& in, Problem& p, std::size_t block, int exponent) {
  const Format& f = scale_format(in);
  const Interval one = powers_of_two(f);
  exponent = std::clamp(exponent, 2 * one.low, 2 * one.high);
  const int of_a = std::clamp(exponent / 2, one.low, one.high);
  p.sa[block] = power_of_two(f, of_a);
  p.sb[block] = power_of_two(f, exponent - of_a);
}

void scale_accumulator(const Instruction& in, Problem& p, int exponent) {
  const Format& f = format(in.c);
  const Decoded c = decode(f, p.c);
  if (!c.is_finite() || c.significand == 0) return;
  p.c = cut_code(f, c.negative, c.significand, c.exponent + exponent - f.fraction_bits);
}

void draw_scale_significands(const Instruction& in, Problem& p, RandomNumbers& random) {
  const Format& f = scale_format(in);
  for (auto* scales : {&p.sa, &p.sb}) {
    for (std::uint64_t& code : *scales) {
      code = finite_scale(f, code | (random.next() & ((std::uint64_t{1} << f.fraction_bits) - 1)));
    }
  }
}

}  // namespace tcnum
