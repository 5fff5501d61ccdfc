// How patches cut (docs/patches.md): terms grown by less than any bit that is kept, and sums that begin with as many
// units as they have negative terms, give the sum of the terms cut toward zero.
// Labels: speed sanitized
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "emu/gpu/patch.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum {
namespace {

constexpr int kMostProducts = 32, kMostFractionBits = 40;  // of patches

/// Datapaths of patches, one for each pair of operand formats.
const std::vector<GpuDatapath>& datapaths_of_patches() {
  static const std::vector<GpuDatapath> all = [] {
    std::vector<GpuDatapath> found;
    for (const CatalogueEntry& entry : catalogue(ArchId::sm_90)) {
      const GpuDatapath d = make_gpu_datapath(entry.datapath).datapath.value();
      const auto has_these = [&](const GpuDatapath& other) { return other.a.id == d.a.id && other.b.id == d.b.id; };
      if (d.takes_patches() && std::ranges::none_of(found, has_these)) found.push_back(d);
    }
    return found;
  }();
  return all;
}

/// Any finite code, often a zero, a power of two, nearly the next one, or the smallest number.
std::uint32_t any_code(const Format& f) {
  const std::uint32_t fraction = ((1u << f.fraction_bits) - 1) << f.padding_bits, sign = 1u << (f.storage_bits - 1);
  for (;;) {
    std::uint32_t code = *rc::gen::arbitrary<std::uint32_t>() & static_cast<std::uint32_t>(f.code_mask());
    const int kind = *rc::gen::inRange(0, 8);
    if (kind == 0) code &= sign;
    if (kind == 1) code &= ~fraction;
    if (kind == 2) code |= fraction;
    if (kind == 3) code = (code & sign) | 1u << f.padding_bits;
    if (decode(f, code).is_finite()) return code;
  }
}

/// ±significand · 2^lsb. The exponent is the leading bit's; a zero has none.
struct Term {
  bool negative;
  std::uint64_t significand;
  int lsb;
  int exponent() const { return lsb + static_cast<int>(std::bit_width(significand)) - 1; }
  /// Units of 2^unit, cut toward zero.
  std::int64_t cut(int unit) const {
    if (significand == 0) return 0;
    const int down = unit - lsb;
    const std::uint64_t kept = down <= 0 ? significand << -down : down > 63 ? 0 : significand >> down;
    return negative ? -static_cast<std::int64_t>(kept) : static_cast<std::int64_t>(kept);
  }
};
Term term_of(const Format& f, std::uint32_t code) {
  const Decoded d = decode(f, code);
  return {d.negative, d.significand, d.exponent - f.fraction_bits};
}

RC_GTEST_PROP(PatchCut, SumsOfGrownTermsAreThoseOfTermsCutTowardZero, ()) {
  const GpuDatapath& d = *rc::gen::elementOf(datapaths_of_patches());
  const int products = *rc::gen::inRange(1, kMostProducts + 1);
  constexpr int kLines = gpu::SideA::kLines;
  std::vector<double> a_values(kMostProducts * kLines), b_values(a_values.size());
  std::vector<std::uint32_t> a_exponents(a_values.size());
  std::vector<std::int16_t> b_exponents(b_values.size());
  const gpu::SideA a{a_values.data(), a_exponents.data(), nullptr, nullptr, nullptr};
  const gpu::SideB b{b_values.data(), b_exponents.data(), nullptr, nullptr, nullptr};

  std::vector<Term> terms;
  int alignment = PatchNode::kLowest;
  for (int p = 0; p < products; ++p) {
    const std::uint32_t a_code[] = {any_code(d.a)}, b_code[] = {any_code(d.b)};
    a.put(d.a_fields, 0, p, a_code);
    b.put(d.b_fields, 0, p, b_code);
    const Term x = term_of(d.a, a_code[0]), y = term_of(d.b, b_code[0]);
    terms.push_back({x.negative != y.negative, x.significand * y.significand, x.lsb + y.lsb});
    if (x.significand != 0 && y.significand != 0) alignment = std::max(alignment, x.exponent() + y.exponent());
  }
  std::vector<float> others;
  for (int n = *rc::gen::inRange(0, 3); n > 0; --n) {
    const std::uint32_t code = any_code(format(FormatId::fp32));
    others.push_back(gpu::value_of<std::uint32_t>(code));
    terms.push_back(term_of(format(FormatId::fp32), code));
    if (terms.back().significand != 0) alignment = std::max(alignment, terms.back().exponent());
  }
  alignment += *rc::gen::element(0, *rc::gen::inRange(0, 80));  // a floor
  const int unit = alignment - *rc::gen::inRange(0, kMostFractionBits + 1);

  const double origin = std::ldexp(1.5, unit + 52);
  std::int64_t negatives = 0, expected = 0;
  for (const Term& term : terms) {
    negatives += term.negative ? 1 : 0;
    expected += term.cut(unit);
  }
  double sum = origin + std::ldexp(static_cast<double>(negatives), unit);
  for (const float other : others) sum = gpu::add_toward_zero(sum, gpu::PatchTerm(other).to_be_cut());
  for (int p = 0; p < products; ++p) {
    sum = gpu::multiply_add_toward_zero(a.value[gpu::SideA::value_at(p, 0)], b.value[gpu::SideB::value_at(p, 0)], sum);
  }
  RC_ASSERT(sum - origin == std::ldexp(static_cast<double>(expected), unit));
}

}  // namespace
}  // namespace tcnum
