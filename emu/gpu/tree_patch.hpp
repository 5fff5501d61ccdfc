// A patch of dot problems by a tree of sums whose results are fp32 numbers or go on as they are, such as blocks that
// are added up in other orders than one after the other. Products are cut and added as in patch.hpp; results are
// doubles, each with the exponent that it takes part in an alignment with. What is not ordinary is left to terms.hpp.
#pragma once

#include "accumulation_patch.hpp"

namespace tcnum::gpu {

/// A node's result, or c.
struct TreeValue {
  static constexpr int kNone = 2 * kNotAligned16;  ///< the exponent of a zero, which takes part in no alignment
  double value = 0;
  int exponent = kNone;
};

TCNUM_HOST_DEVICE inline bool is_negative(double x) { return (high_word(x) & kSignBit) != 0; }

/// A number of fp32.
TCNUM_HOST_DEVICE inline TreeValue tree_value(const GpuDatapath& d, float x) {
  constexpr int kMinimum = format(FormatId::fp32).min_exponent();
  TreeValue v{static_cast<double>(x), TreeValue::kNone};
  if (x == 0) return v;
  v.exponent = static_cast<int>(high_word(v.value) >> kHighFraction & 0x7ff) - kBias;
  if (d.c_rule.subnormal_exponent == SubnormalExponent::minimum && v.exponent < kMinimum) v.exponent = kMinimum;
  return v;
}

/// Cut to a multiple of 2^lsb: down, or toward zero. The number is below 2^(lsb + 51).
TCNUM_HOST_DEVICE inline double cut_to(double x, int lsb, bool down) {
  const double grid = from_words((static_cast<std::uint32_t>(52 + lsb + kBias) << kHighFraction) | 1u << 19, 0);
  if (down) return add_down(grid, x) - grid;
  const double magnitude = add_down(grid, std::fabs(x)) - grid;
  return is_negative(x) ? -magnitude : magnitude;
}

/// A node's sum that is zero.
TCNUM_HOST_DEVICE inline TreeValue tree_zero(const TreeNode& node, bool all_negative) {
  return {!node.positive_zeros && all_negative ? -0.0 : 0.0, TreeValue::kNone};
}

/// What becomes of a node's sum. Sets `large` if only term by term can say.
TCNUM_HOST_DEVICE inline TreeValue tree_result(const GpuDatapath& d, const TreeNode& node, double sum, int alignment,
                                               bool all_negative, bool& large) {
  constexpr double kLarge = 0x1p127;
  if (sum == 0) return tree_zero(node, all_negative);
  if (node.rounding == TreeRounding::none) return {sum, alignment};
  if (!(std::fabs(sum) < kLarge)) {
    large = true;
    return {};
  }
  const float x = node.rounding == TreeRounding::nearest ? static_cast<float>(sum) : to_float_toward_zero(sum);
  return tree_value(d, x == 0 && node.positive_underflow ? 0.0f : x);
}

/// The sum of two others.
TCNUM_HOST_DEVICE inline TreeValue tree_sum(const GpuDatapath& d, const TreeNode& node, const TreeValue& x,
                                            const TreeValue& y, bool& large) {
  const bool all_negative = is_negative(x.value) && is_negative(y.value);
  if (node.kind == TreeNode::Kind::addition) {
    const float sum = static_cast<float>(x.value) + static_cast<float>(y.value);
    if (!(std::fabs(sum) < 0x1p127f)) large = true;
    return tree_value(d, node.positive_zeros ? sum + 0.0f : sum);
  }
  int alignment = x.exponent > y.exponent ? x.exponent : y.exponent;
  if (alignment < node.floor) alignment = node.floor;
  const double first = cut_to(x.value, alignment - node.fraction_bits[0], node.cuts_down);
  const double second = y.exponent < alignment - node.drop_below
                            ? 0.0
                            : cut_to(y.value, alignment - node.fraction_bits[1], node.cuts_down);
  double sum = first + second;
  if (sum == 0) return tree_zero(node, all_negative);
  if (node.cuts_sum) {
    const bool negative = sum < 0;
    sum = cut_to(sum, alignment - node.sum_bits, node.cuts_sum_down);
    if (sum == 0) return {negative && !node.positive_underflow ? -0.0 : 0.0, TreeValue::kNone};
  }
  return tree_result(d, node, sum, alignment, all_negative, large);
}

using TreeValues = TreeValue[kPatchRows][kPatchColumns];

/// Room for results that are taken later: of a node at a time, which may stay in registers (GpuDatapath::keeps_one),
/// or of all.
class OneKept {
 public:
  TCNUM_HOST_DEVICE void put(int, int i, int j, const TreeValue& value) { values_[i][j] = value; }
  TCNUM_HOST_DEVICE const TreeValue& get(int, int i, int j) const { return values_[i][j]; }

 private:
  TreeValues values_;
};
class AllKept {
 public:
  TCNUM_HOST_DEVICE void put(int node, int i, int j, const TreeValue& value) { values_[node][i][j] = value; }
  TCNUM_HOST_DEVICE const TreeValue& get(int node, int i, int j) const { return values_[node][i][j]; }

 private:
  TreeValues values_[GpuDatapath::kMostPatchNodes];
};

/// Rows from `row` on with columns from `column` on. codes: those of c, and then of results. Returns the elements, as
/// bits, that it left as they were: an operand is an infinity or a NaN, or a sum is nearly too large. Kept: OneKept or
/// AllKept.
template <class Kept>
TCNUM_HOST_DEVICE std::uint32_t tree_patch(const GpuDatapath& d, const SideA& a, int row, const SideB& b, int column,
                                           PatchCodes& codes, Kept& kept) {
  const PatchProducts products{a, row, b, column};
  std::uint32_t left = 0;
  TreeValues last;
  for (int number = 0; number < d.nodes; ++number) {
    const TreeNode& node = d.tree[number];
    if (node.kind == TreeNode::Kind::products) {
      const PatchNode& of_products = d.patch[number];
      std::uint32_t alignments[kPatchRows][kPatchColumns / 2];
      double sum[kPatchRows][kPatchColumns];
      products.align(of_products, alignments);
      TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
        TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
          const auto alignment = static_cast<std::uint32_t>(high_word_of(alignments[i][j / 2], j % 2));
          sum[i][j] = from_words(alignment + of_products.grid, products.negatives(of_products, i, j));
        }
      }
      products.add_to(of_products, sum);
      TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
        TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
          const std::uint32_t grid = (high_word(sum[i][j]) & PatchTerm::kTop) | 1u << (kHighFraction - 1);
          const int alignment = static_cast<std::int16_t>(alignments[i][j / 2] >> (16 * (j % 2)));
          last[i][j] = {sum[i][j] - from_words(grid, 0), alignment};
        }
      }
      const auto all_negative = [&](int i, int j) {
        return products.negatives(of_products, i, j) == static_cast<unsigned>(of_products.count);
      };
      if (node.rounding == TreeRounding::none) {
        TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
          TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
            if (last[i][j].value == 0) last[i][j] = tree_zero(node, all_negative(i, j));
          }
        }
      } else {
        TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
          TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
            bool large = false;
            last[i][j] = tree_result(d, node, last[i][j].value, last[i][j].exponent, all_negative(i, j), large);
            if (large) left |= PatchCodes::bit(i, j);
          }
        }
      }
    } else {
      const int from[2] = {d.node[number].others[0], d.node[number].others[1]};
      TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
        TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
          const auto other = [&](int which) {
            if (from[which] == GpuNode::kAccumulator) return tree_value(d, float_of(codes.code[i][j]));
            return from[which] == number - 1 ? last[i][j] : kept.get(from[which], i, j);
          };
          bool large = false;
          last[i][j] = tree_sum(d, node, other(0), other(1), large);
          if (large) left |= PatchCodes::bit(i, j);
        }
      }
    }
    if ((d.kept >> number & 1u) != 0) {
      TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
        TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) kept.put(number, i, j, last[i][j]);
      }
    }
  }
  TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
    TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
      if (is_special<std::uint32_t>(a, row + i, b, column + j, codes.code[i][j])) left |= PatchCodes::bit(i, j);
      if ((left & PatchCodes::bit(i, j)) == 0) codes.code[i][j] = code_of(static_cast<float>(last[i][j].value));
    }
  }
  return left;
}

}  // namespace tcnum::gpu
