// What operands of random problems can be like. A fit's families and the distributions of streams have these names;
// they make other problems of the same kind.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace tcnum {

struct OperandKind {
  std::string_view name;
  std::string_view older;  ///< a spelling that is taken too; empty if there is none
  std::string_view sentence;
};

/// The random ones first, in the order of Family and of Distribution.
inline constexpr std::array<OperandKind, 14> kOperandKinds = {{
    {"narrow", "close_sizes", "Exponents within a few of each other; of integers, a few bits."},
    {"wide", "any_sizes", "Exponents anywhere; of integers, any number of bits."},
    {"cancellation", "cancelling", "Large products that cancel, over a rest far below them."},
    {"uniform_bits", "any_codes", "Every finite code alike."},
    {"tiny", "smallest", "Around the smallest results: subnormals, underflow; of integers, -1, 0 and 1."},
    {"huge", "largest", "Around the largest results: overflow; of integers, the ends of the ranges."},
    {"sparse", "few_terms", "One to four products that are not zero, at related exponents."},
    {"edges", "limits",
     "A few terms at the smallest result and far below it; of integers, sums that pass the range's end."},
    {"signed_zeros", "zeros", "Zeros of both signs, with and without other terms."},
    {"specials", "special_codes", "Infinities and NaNs among narrow operands; of integers, patterns of bits."},
    {"gaussian", "bell_curve", "Normally distributed."},
    {"product_pairs", "", "A sweep: all pairs of two products of 8-bit operands, at places that the seed chooses."},
    {"product_and_accumulator", "", "A sweep: all products of 8-bit operands with every 16-bit c."},
    {"operand_pairs", "", "A sweep: all products of 16-bit operands, with a c that the seed chooses."},
}};
inline constexpr std::size_t kRandomKinds = 11;  ///< the others are sweeps

/// Which row has that name, or that older spelling.
constexpr std::optional<std::size_t> find_operand_kind(std::string_view text) {
  for (std::size_t i = 0; i < kOperandKinds.size(); ++i) {
    if (text == kOperandKinds[i].name || (!text.empty() && text == kOperandKinds[i].older)) return i;
  }
  return std::nullopt;
}

}  // namespace tcnum
