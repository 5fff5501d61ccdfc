// A patch of dot problems by a chain of accumulations: a sum of products, or of two such sums, goes on unrounded to its
// sum with c, and that is the c of the next. CDNA3's instructions do that. Products are cut and added as in patch.hpp;
// everything after that is cut down (docs/patches.md). What is not ordinary is left to terms.hpp.
#pragma once

#include "patch.hpp"

namespace tcnum::gpu {

/// x + y, rounded down.
TCNUM_HOST_DEVICE inline double add_down(double x, double y) {
#ifdef __CUDA_ARCH__
  return __dadd_rd(x, y);
#else
  return fused_multiply_add(x, 1, y, Rounding::down);
#endif
}

/// A sum T of products in units of its grid, 1.5 · 2^52 of them above zero. An int has T, which is the low word.
struct SumOnGrid {
  double sum;
  TCNUM_HOST_DEVICE std::uint32_t grid() const {
    return (high_word(sum) & PatchTerm::kTop) | 1u << (kHighFraction - 1);
  }
  TCNUM_HOST_DEVICE std::int32_t units() const { return static_cast<std::int32_t>(low_word(sum)); }
  /// As a high word.
  TCNUM_HOST_DEVICE std::int32_t alignment(const Accumulations& of) const {
    return static_cast<std::int32_t>(grid() - of.grid);
  }
  /// The same, but least of all if the sum is zero, which takes part in no later alignment.
  TCNUM_HOST_DEVICE std::int32_t exponent(const Accumulations& of) const { return units() == 0 ? 0 : alignment(of); }
};

TCNUM_HOST_DEVICE inline std::int32_t larger(std::int32_t x, std::int32_t y) { return x > y ? x : y; }

/// T · 2^−distance, cut down; the distance as high words have it.
TCNUM_HOST_DEVICE inline std::int32_t shifted_down(std::int32_t units, std::int32_t distance) {
  constexpr std::uint32_t kMost = 31;
  const std::uint32_t by = static_cast<std::uint32_t>(distance) >> kHighFraction;
  return units >> (by < kMost ? by : kMost);
}

/// The sum of two sums of products, cut down to units of the larger.
TCNUM_HOST_DEVICE inline SumOnGrid pair_on_grid(const Accumulations& of, SumOnGrid x, SumOnGrid y) {
  const std::int32_t alignment =
      larger(larger(x.exponent(of), y.exponent(of)), static_cast<std::int32_t>(of.pair_floor));
  // A zero's own alignment may be above: whatever its distance is, zero remains.
  const std::int32_t sum =
      shifted_down(x.units(), alignment - x.alignment(of)) + shifted_down(y.units(), alignment - y.alignment(of));
  const std::uint32_t grid = static_cast<std::uint32_t>(alignment) + of.grid;
  return {from_words(grid - (sum < 0 ? 1 : 0), static_cast<std::uint32_t>(sum))};
}

/// The exponent of a number of fp32 as a high word; 0 of zero, and above all others of what is no number.
TCNUM_HOST_DEVICE inline std::int32_t fp32_exponent(double x) {
  constexpr auto kLeast = static_cast<std::int32_t>(
      static_cast<std::uint32_t>(format(FormatId::fp32).min_exponent() + kBias) << kHighFraction);
  const auto own = static_cast<std::int32_t>(high_word(x) & PatchTerm::kTop);
  return own == 0 ? 0 : larger(own, kLeast);
}

/// The sum with c, or with the result before. kBelowLeading: Accumulations::cuts_below_leading.
template <bool kBelowLeading>
TCNUM_HOST_DEVICE float accumulated(const Accumulations& of, SumOnGrid products, double before,
                                    std::int32_t before_exponent) {
  const auto alignment = static_cast<std::uint32_t>(
      larger(larger(products.exponent(of), before_exponent), static_cast<std::int32_t>(of.floor)));
  const double first_grid = from_words(alignment + of.first_grid, 0);
  const double second_grid = from_words(alignment + of.second_grid, 0);
  const double first = add_down(first_grid, products.sum - from_words(products.grid(), 0));
  const bool is_dropped = before_exponent < static_cast<std::int32_t>(alignment - of.drop_below);
  const double second = add_down(second_grid, is_dropped ? 0.0 : before) - second_grid;
  const double sum = first + second;  // whole units of the first grid, as the second's are larger
  if constexpr (!kBelowLeading)
    return static_cast<float>(from_words(high_word(sum), low_word(sum) & of.kept_bits) - first_grid);
  const double exact = sum - first_grid;
  const std::int32_t leading =
      larger(static_cast<std::int32_t>(high_word(exact) & PatchTerm::kTop), static_cast<std::int32_t>(of.least));
  const double cut_grid = from_words(static_cast<std::uint32_t>(leading) + of.cut_grid, 0);
  return static_cast<float>(add_down(cut_grid, exact) - cut_grid);
}

/// Sums of a node's products.
TCNUM_HOST_DEVICE inline void sum_on_grids(const PatchProducts& products, const PatchNode& node,
                                           double (&sum)[kPatchRows][kPatchColumns]) {
  std::uint32_t alignments[kPatchRows][kPatchColumns / 2];
  products.align(node, alignments);
  TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
    TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
      const auto alignment = static_cast<std::uint32_t>(high_word_of(alignments[i][j / 2], j % 2));
      sum[i][j] = from_words(alignment + node.grid, products.negatives(node, i, j));
    }
  }
  products.add_to(node, sum);
}

/// Whether c or a product of an element, infinities apart, is too large for accumulations.
TCNUM_HOST_DEVICE inline bool has_large_term(const GpuDatapath& d, const SideA& a, int row, const SideB& b, int column,
                                             std::uint32_t c) {
  const float own = float_of(c);
  bool any = finite(own) && std::fabs(own) >= std::ldexp(1.0f, Accumulations::kMostExponent + 1);
  for (int place = 0; place < d.k; ++place)
    any |= a.exponent_at(place, row) + b.exponent_at(place, column) > Accumulations::kMostExponent;
  return any;
}

/// Rows from `row` on with columns from `column` on. codes: those of c, and then of results. Returns the elements, as
/// bits, whose results mean nothing: an operand is an infinity or a NaN, or c or a product is too large. (Of the
/// former that have no large term, special_code() is the result.)
template <bool kInPairs, bool kBelowLeading>
TCNUM_HOST_DEVICE std::uint32_t accumulation_patch(const GpuDatapath& d, const SideA& a, int row, const SideB& b,
                                                   int column, PatchCodes& codes) {
  constexpr std::int32_t kMost = (Accumulations::kMostExponent + kBias) << kHighFraction;
  const PatchProducts products{a, row, b, column};
  const Accumulations& of = d.accumulations;
  std::uint32_t left = 0;
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
  for (int number = 0; number < of.steps; ++number) {
    const Accumulations::Step& step = of.step[number];
    double sum[kPatchRows][kPatchColumns], second[kPatchRows][kPatchColumns];
    sum_on_grids(products, d.patch[step.products[0]], sum);
    if constexpr (kInPairs) sum_on_grids(products, d.patch[step.products[1]], second);
    TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
      std::int32_t most[kPatchColumns];
      bool any_large = false, any_negative_zero = false;
      std::uint32_t result[kPatchColumns];
      TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
        SumOnGrid of_products{sum[i][j]};
        most[j] = of_products.alignment(of);
        if constexpr (kInPairs) {
          most[j] = larger(most[j], SumOnGrid{second[i][j]}.alignment(of));
          of_products = pair_on_grid(of, of_products, {second[i][j]});
        }
        const std::uint32_t code = codes.code[i][j];
        const auto before = static_cast<double>(float_of(code));
        const std::int32_t exponent = fp32_exponent(before);
        most[j] = larger(most[j], exponent);
        any_large |= most[j] > kMost;
        result[j] = code_of(accumulated<kBelowLeading>(of, of_products, before, exponent));
        any_negative_zero |= result[j] == 0 && (code & kSignBit) != 0;
      }
      if (any_negative_zero && of.negative_zeros) {
        TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
          const std::uint32_t negatives = count_bits((a.negative[row + i] ^ b.negative[column + j]) & step.places);
          const bool all_negative =
              (codes.code[i][j] & kSignBit) != 0 && negatives == static_cast<unsigned>(step.count);
          if (result[j] == 0 && all_negative) result[j] = kSignBit;
        }
      }
      TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
        if (any_large && most[j] > kMost) left |= PatchCodes::bit(i, j);
        codes.code[i][j] = result[j];
      }
    }
  }
  if (products.any_special()) {
    TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
      TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
        if ((a.special[row + i] | b.special[column + j]) != 0) left |= PatchCodes::bit(i, j);
      }
    }
  }
  return left;
}

/// Calls with what the datapath is compiled for.
template <class With>
auto with_accumulations_of(const GpuDatapath& d, const With& with) {
  const Accumulations& of = d.accumulations;
  if (of.in_pairs)
    return of.cuts_below_leading ? with.template operator()<true, true>() : with.template operator()<true, false>();
  return of.cuts_below_leading ? with.template operator()<false, true>() : with.template operator()<false, false>();
}

}  // namespace tcnum::gpu
