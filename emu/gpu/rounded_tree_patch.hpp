// A patch of a tree of sums whose results are all numbers of fp32, such as Volta's blocks that are added up apart. A
// number's exponent is in its code, so that a result is four bytes and nothing else. Products are cut and added as in
// patch.hpp, sums of two others by additions to a grid (docs/patches.md). What is not ordinary is left to terms.hpp.
#pragma once

#include "accumulation_patch.hpp"

namespace tcnum::gpu {

using Singles = float[kPatchRows][kPatchColumns];

/// Calls with each row and column of a patch.
template <class Each>
TCNUM_HOST_DEVICE void each_of_singles(const Each& each) {
  TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) { TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) each(i, j); }
}

TCNUM_HOST_DEVICE inline bool is_negative(float x) { return (code_of(x) & kSignBit) != 0; }

/// Rounds sums as the node does; sum(i, j) gives one.
template <class Sum>
TCNUM_HOST_DEVICE void round_sums(const TreeNode& node, const Sum& sum, Singles& results) {
  if (node.rounding == TreeRounding::nearest)
    each_of_singles([&](int i, int j) { results[i][j] = static_cast<float>(sum(i, j)); });
  else
    each_of_singles([&](int i, int j) { results[i][j] = to_float_toward_zero(sum(i, j)); });
}

/// Gives zeros among a node's rounded sums their signs. A sum that is zero was positive until then; a negative zero is
/// what became of another. all_negative(i, j): whether all terms of an element are.
template <class AllNegative>
TCNUM_HOST_DEVICE void sign_zeros(const TreeNode& node, const AllNegative& all_negative, Singles& results) {
  bool any_zero = false;
  each_of_singles([&](int i, int j) { any_zero |= results[i][j] == 0; });
  if (!any_zero) return;  // most often
  each_of_singles([&](int i, int j) {
    float& result = results[i][j];
    if (result != 0) return;
    const bool negative = is_negative(result) ? !node.positive_underflow : !node.positive_zeros && all_negative(i, j);
    result = negative ? -0.0f : 0.0f;
  });
}

/// How a node of two others cuts them, as high words of doubles.
class CutsOfTwo {
 public:
  TCNUM_HOST_DEVICE CutsOfTwo(const GpuDatapath& d, const TreeNode& node)
      : floor_(high_of(node.floor + kBias)),
        drop_below_(high_of(node.drop_below < kFar ? node.drop_below : kFar)),
        first_grid_(below(node.fraction_bits[0])),
        second_grid_(below(node.fraction_bits[1])),
        sum_grid_(below(node.sum_bits)),
        toward_zero_(node.cuts_down ? 0 : kSignBit),
        sum_toward_zero_(node.cuts_sum_down ? 0 : kSignBit),
        cuts_sum_(node.cuts_sum) {
    constexpr int kMinimum = format(FormatId::fp32).min_exponent();
    if (d.c_rule.subnormal_exponent == SubnormalExponent::minimum) least_ = high_of(kMinimum + kBias);
    // A zero may count as the least number: it decides no alignment that matters to another.
    floor_ = larger(floor_, least_);
  }

  /// The sum of two numbers of fp32, cut, but not rounded yet.
  TCNUM_HOST_DEVICE double sum(float of_first, float of_second) const {
    const auto first = static_cast<double>(of_first), second = static_cast<double>(of_second);
    const std::int32_t its_exponent = exponent(second);
    const std::int32_t alignment = larger(larger(exponent(first), its_exponent), floor_);
    const bool is_dropped = larger(its_exponent, least_) < alignment - drop_below_;
    const double sum = cut(first, alignment + first_grid_, toward_zero_) +
                       (is_dropped ? 0.0 : cut(second, alignment + second_grid_, toward_zero_));
    if (!cuts_sum_) return sum;
    const double cut_sum = cut(sum, alignment + sum_grid_, sum_toward_zero_);
    return from_words(high_word(cut_sum) | (high_word(sum) & kSignBit), low_word(cut_sum));
  }

 private:
  static constexpr int kFar = 2000;  ///< nothing is further below than doubles go

  TCNUM_HOST_DEVICE static std::int32_t high_of(int exponent) { return exponent * (1 << kHighFraction); }
  /// From an alignment to 1.5 · 2^52 units of so many bits below it.
  TCNUM_HOST_DEVICE static std::uint32_t below(int fraction_bits) {
    return static_cast<std::uint32_t>(high_of(52 - fraction_bits)) + (1u << (kHighFraction - 1));
  }
  TCNUM_HOST_DEVICE static std::int32_t exponent(double x) {
    return static_cast<std::int32_t>(high_word(x) & PatchTerm::kTop);
  }
  /// Down, or toward zero by way of a grid that has the number's sign. What is cut to zero is positive.
  TCNUM_HOST_DEVICE static double cut(double x, std::uint32_t grid, std::uint32_t toward_zero) {
    const double at = from_words(grid | (high_word(x) & toward_zero), 0);
    return add_toward_zero(at, x) - at;
  }

  std::int32_t floor_, drop_below_, least_ = 0;
  std::uint32_t first_grid_, second_grid_, sum_grid_, toward_zero_, sum_toward_zero_;
  bool cuts_sum_;
};

/// Rows from `row` on with columns from `column` on. codes: those of c, and then of results. Returns the elements, as
/// bits, that it left as they were: an operand is an infinity or a NaN, or a sum is nearly too large.
TCNUM_HOST_DEVICE inline std::uint32_t rounded_tree_patch(const GpuDatapath& d, const SideA& a, int row, const SideB& b,
                                                          int column, PatchCodes& codes) {
  const PatchProducts products{a, row, b, column};
  std::uint32_t left = 0;
  Singles last;
  alignas(16) Singles kept[GpuDatapath::kMostKept];  // in memory, as nodes are chosen at run time
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
  for (int number = 0; number < d.nodes; ++number) {
    const TreeNode& node = d.tree[number];
    if (node.kind == TreeNode::Kind::products) {
      const PatchNode& of_products = d.patch[number];
      double sum[kPatchRows][kPatchColumns];
      sum_on_grids(products, of_products, sum);
      round_sums(
          node, [&](int i, int j) { return sum[i][j] - from_words(SumOnGrid{sum[i][j]}.grid(), 0); }, last);
      sign_zeros(
          node,
          [&](int i, int j) {
            return products.negatives(of_products, i, j) == static_cast<std::uint32_t>(of_products.count);
          },
          last);
    } else {
      Singles first, second;
      const auto read = [&](int from, Singles& to) {
        if (from == GpuNode::kAccumulator)
          each_of_singles([&](int i, int j) { to[i][j] = float_of(codes.code[i][j]); });
        else if (from == number - 1)
          each_of_singles([&](int i, int j) { to[i][j] = last[i][j]; });
        else
          each_of_singles([&](int i, int j) { to[i][j] = kept[d.tree[from].kept_in][i][j]; });
      };
      read(d.node[number].others[0], first);
      read(d.node[number].others[1], second);
      if (node.kind == TreeNode::Kind::addition) {
        each_of_singles([&](int i, int j) { last[i][j] = first[i][j] + second[i][j]; });
        if (node.positive_zeros)
          each_of_singles([&](int i, int j) { last[i][j] = last[i][j] == 0 ? 0.0f : last[i][j]; });
      } else {
        const CutsOfTwo cuts(d, node);
        round_sums(
            node, [&](int i, int j) { return cuts.sum(first[i][j], second[i][j]); }, last);
        sign_zeros(
            node, [&](int i, int j) { return is_negative(first[i][j]) && is_negative(second[i][j]); }, last);
      }
      const auto is_large = [&](int i, int j) { return !(std::fabs(last[i][j]) < 0x1p127f); };
      bool any_large = false;
      each_of_singles([&](int i, int j) { any_large |= is_large(i, j); });
      if (any_large) each_of_singles([&](int i, int j) { left |= is_large(i, j) ? PatchCodes::bit(i, j) : 0; });
    }
    if (node.kept_in >= 0) each_of_singles([&](int i, int j) { kept[node.kept_in][i][j] = last[i][j]; });
  }
  // Of an infinity or a NaN as c, the sum that takes it is too large, or is none.
  if (products.any_special()) left |= products.specials<std::uint32_t>(codes);
  each_of_singles([&](int i, int j) {
    if ((left & PatchCodes::bit(i, j)) == 0) codes.code[i][j] = code_of(last[i][j]);
  });
  return left;
}

}  // namespace tcnum::gpu
