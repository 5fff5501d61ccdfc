// Compiled once for each CPU by Highway. Only CPUs with fused multiply-adds evaluate panels: another rounding between
// product and sum would cut twice.
#include "targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include <cmath>

#include "kernels.hpp"
#include "ordinary_sums-inl.hpp"
#include "packing-inl.hpp"
#include "sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

// --- Sums of scaled sums, in doubles.

using Double = V<double>;

/// One term beside the products: raises the alignment, and tells whether it is negative.
HWY_INLINE VU<double> take_term(Double term, int floor, Double& alignment) {
  const DU<double> du;
  const Double own = hn::Max(hn::And(term, from_bits<double>(Lane<double>::kExponent)),
                             from_bits<double>(Lane<double>::power_of_two(floor)));
  alignment = hn::Max(alignment, hn::IfThenElseZero(hn::Ne(term, hn::Zero(D<double>())), own));
  return hn::ShiftRight<63>(hn::BitCast(du, term));
}

/// Exponents as they are in the lanes' own numbers: the bits of 2^e.
HWY_INLINE Double powers_of_two(const std::int16_t* exponents) {
  const D<double> d;
  const hn::RebindToSigned<D<double>> di;
  const hn::Rebind<std::int16_t, D<double>> d16;
  const hn::Rebind<std::int32_t, D<double>> d32;
  const auto e = hn::PromoteTo(di, hn::PromoteTo(d32, hn::LoadU(d16, exponents)));
  return hn::BitCast(d, hn::ShiftLeft<Lane<double>::kFraction>(hn::Add(e, hn::Set(di, Lane<double>::kBias))));
}

void round_results(const NodePlan& node, Rows<double>& results) {
  const D<double> d;
  const NumberRounding first = node.rounding[0], second = node.rounding[1];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
      Double x = round_once<double>(first, hn::Load(d, results.of[r] + j));
      if (node.roundings == 2) x = round_once<double>(second, x);
      if (node.drops_sign_of_zero) x = hn::Add(x, hn::Zero(d));
      hn::Store(x, d, results.of[r] + j);
    }
  }
}

/// An exact sum of products times its two scales, for a panel's columns. Raises the alignments by it.
void add_scaled_sum(const Work<double>& w, std::size_t link, std::size_t number, Rows<double>& sums,
                    Rows<double>& alignments) {
  const D<double> d;
  const DU<double> du;
  const Plan& plan = *w.plan;
  const NodePlan& node = plan.nodes[number];
  const NodeOperands x = operands_of(w, link, number);
  const auto in_link = static_cast<std::size_t>(plan.depth / plan.scales->block_k);
  const std::size_t block = link * in_link + static_cast<std::size_t>(node.block), blocks = w.links * in_link;
  const double* const b_scale = w.b->scale.data() + block * kColumns;
  const std::int16_t* const b_exponent = w.b->scale_exponent.data() + block * kColumns;
  const auto bias = hn::Set(du, Lane<double>::power_of_two(0));
  const Double least = from_bits<double>(Lane<double>::power_of_two(kNoExponent16 / 2));
  Rows<std::int16_t> exponents;
  align_in_16_bits(x, node.count, kNoExponent16, exponents);
  each_chunk<double>([&](std::size_t row, std::size_t column) HWY_ATTR {
    Sums<double> sum;
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
    }
    add_products<double>(x.a, x.b, row, column, node.count, sum);
    for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
      const std::size_t of_a = (w.row + row + r) * blocks + block;
      const Double a_scale = hn::Set(d, w.a->scale[of_a]);
      const auto a_exponent =
          hn::Set(du, static_cast<std::uint64_t>(std::int64_t{w.a->scale_exponent[of_a]}) << Lane<double>::kFraction);
      for (std::size_t v = 0; v < kVectors; ++v) {
        const std::size_t at = column + v * kLanes<double>;
        const Double scales = hn::Mul(a_scale, hn::Load(d, b_scale + at)), scaled = hn::Mul(sum[r][v], scales);
        const Double of_products = powers_of_two(exponents.of[row + r] + at);
        auto own = hn::Add(a_exponent, hn::BitCast(du, powers_of_two(b_exponent + at)));
        auto counts = hn::Ne(scaled, hn::Zero(d));
        if (node.by_scales_alone)  // one that cancels to zero takes part too
          counts = hn::And(hn::Ne(scales, hn::Zero(d)), hn::Lt(least, of_products));
        else
          own = hn::Sub(hn::Add(own, hn::BitCast(du, of_products)), bias);
        const Double alignment = hn::IfThenElseZero(counts, hn::BitCast(d, own));
        hn::Store(hn::Max(hn::Load(d, alignments.of[row + r] + at), alignment), d, alignments.of[row + r] + at);
        hn::Store(scaled, d, sums.of[row + r] + at);
      }
    }
  });
}

/// Adds c and scaled sums, as if they were finite, to numbers that are yet to be rounded.
void add_scaled_sums(const NodePlan& node, const Rows<double>* sums, std::size_t count, const Rows<double>& c,
                     const Rows<double>& alignments, Rows<double>& results) {
  const D<double> d;
  const DU<double> du;
  const Double zero = hn::Zero(d), growth = hn::Set(d, kGrowth<double>);
  const auto grid = hn::Set(du, Lane<double>::grid(node.fraction_bits));
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
      const Double x = hn::Add(hn::Load(d, c.of[r] + j), zero);
      Double alignment = hn::Load(d, alignments.of[r] + j);
      VU<double> negatives = take_term(x, node.c_floor, alignment);
      for (std::size_t i = 0; i < count; ++i)
        negatives = hn::Add(negatives, hn::ShiftRight<63>(hn::BitCast(du, hn::Load(d, sums[i].of[r] + j))));
      Double sum = hn::BitCast(d, hn::Add(hn::Add(hn::BitCast(du, alignment), grid), negatives));
      sum = hn::MulAdd(x, growth, sum);
      for (std::size_t i = 0; i < count; ++i) {
        // A negative zero takes off the unit that it was counted with.
        const Double term = hn::Load(d, sums[i].of[r] + j);
        sum = hn::Add(sum, hn::Or(term, from_bits<double>(1)));
      }
      hn::Store(without_beginning<double>(sum), d, results.of[r] + j);
    }
  }
}

/// Where c or a scale is none, results are what is left of them.
void put_specials(const Rows<double>* sums, std::size_t count, const Rows<double>& c, Rows<double>& results) {
  const D<double> d;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
      const Double x = hn::Load(d, c.of[r] + j);
      Double result = hn::Load(d, results.of[r] + j);
      result = hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, HUGE_VAL)), result, x);
      for (std::size_t i = 0; i < count; ++i) {
        const Double term = hn::Load(d, sums[i].of[r] + j);
        result = hn::IfThenElse(hn::Eq(term, term), result, term);
      }
      hn::Store(result, d, results.of[r] + j);
    }
  }
}

void scaled_sums(const Work<double>& w) {
  const Plan& plan = *w.plan;
  const NodePlan& last = plan.nodes.back();
  const std::size_t count = plan.nodes.size() - 1;
  const D<double> d;
  Rows<double> c, results, alignments, sums[kMostScaledSums];
  take_results(w, c);
  for (std::size_t link = 0; link < w.links; ++link) {
    const Double lowest = from_bits<double>(Lane<double>::power_of_two(last.lowest_alignment));
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t j = 0; j < kColumns; j += kLanes<double>) hn::Store(lowest, d, alignments.of[r] + j);
    }
    for (std::size_t number = 0; number < count; ++number) add_scaled_sum(w, link, number, sums[number], alignments);
    add_scaled_sums(last, sums, count, c, alignments, results);
    round_results(last, results);
    put_specials(sums, count, c, results);
    c = results;
  }
  put_results(c, w.sums);
}

const Kernels* kernels_of_target() {
  static const Kernels kKernels = {hwy::TargetName(HWY_TARGET),
                                   {pack_a<double>, pack_b<double>, ordinary<double>},
                                   {pack_a<float>, pack_b<float>, ordinary<float>},
                                   scaled_sums};
  return &kKernels;
}

#else

const Kernels* kernels_of_target() { return nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcnum::panels {

HWY_EXPORT(kernels_of_target);

const Kernels* kernels() { return HWY_DYNAMIC_DISPATCH(kernels_of_target)(); }
std::int64_t compiled_targets() { return HWY_TARGETS; }

}  // namespace tcnum::panels
#endif
