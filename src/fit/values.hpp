// The values that the properties of a datapath can have, typed, and in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "properties.hpp"
#include "structure.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

enum class ZeroTerms : std::uint8_t {
  ignored,
  natural,  ///< a zero takes part in the alignment like a subnormal
};

/// How the sum of a block is rounded.
struct SumRounding {
  std::optional<Rounding> to_c_first;  ///< where c is wider than the result: to its format, before
  Rounding to_result = Rounding::toward_zero;
  friend constexpr bool operator==(const SumRounding&, const SumRounding&) = default;
};

/// How many bits the sum of a block keeps.
enum class SumWidth : std::uint8_t {
  of_the_format,
  of_its_terms,  ///< no more than fraction_bits
};

/// What intermediate results are rounded to, or, of integers, become beyond their range.
enum class InnerResult : std::uint8_t {
  as_output,
  fp32_toward_zero,
  fp32_nearest_even,
  other_overflow,  ///< of integers: they wrap and the output is clamped, or the reverse
};

/// How floating-point adds apart from the block sums are rounded.
struct AddRounding {
  Rounding rounding = Rounding::nearest_even;
  bool through_fp32 = false;  ///< to fp32 first, then to a narrower result
  friend constexpr bool operator==(const AddRounding&, const AddRounding&) = default;
};

/// Which subnormals are aligned with the exponent of their leading bit; others are with their format's smallest.
enum class NormalisedSubnormals : std::uint8_t {
  none,
  all,
  c_alone,  ///< as if c were converted to the wider format of the result before
};

/// The signs of sums that are exactly zero.
enum class ZeroSums : std::uint8_t {
  positive,
  ieee,
  ieee_but_positive_with_c,  ///< as if c had lost the sign of its zeros; only where c is added before other sums
};

/// What is kept of a block's sum and c together, before that is rounded to the result.
struct TotalBits {
  enum class From : std::uint8_t { all, alignment, leading_bit };
  From from = From::all;
  int bits = 0;  ///< below the exponent that both were aligned to, or below the leading bit
  friend constexpr bool operator==(const TotalBits&, const TotalBits&) = default;
};

enum class InfiniteProducts : std::uint8_t { no, yes };

/// By what the sum of a scaled group is aligned.
enum class GroupExponent : std::uint8_t {
  scales_alone,   ///< by the exponents of its scales, even if it cancels to zero
  with_products,  ///< by these and by the largest exponent of its products
};

/// The values of every property, in the order of Property: what is in a space is a list for each.
using ValueLists = std::tuple<std::vector<Structure>,             // structure
                              std::vector<FormatId>,              // operand_format
                              std::vector<ProductOperation>,      // product_operation
                              std::vector<int>,                   // fraction_bits; kExact: all
                              std::vector<Rounding>,              // align_rounding
                              std::vector<ProductExponent>,       // product_exponent
                              std::vector<ZeroTerms>,             // zero_terms
                              std::vector<int>,                   // group_bits; kExact: all
                              std::vector<GroupExponent>,         // group_exponent
                              std::vector<SumRounding>,           // output_rounding
                              std::vector<SumWidth>,              // output_fraction_bits
                              std::vector<InnerResult>,           // inner_result
                              std::vector<AddRounding>,           // add_rounding
                              std::vector<int>,                   // c_bits; kExact: all
                              std::vector<Rounding>,              // join_rounding
                              std::vector<std::optional<int>>,    // c_dropped
                              std::vector<TotalBits>,             // total_bits
                              std::vector<int>,                   // sum_bits; kExact: all
                              std::vector<InfiniteProducts>,      // infinite_products
                              std::vector<ZeroExponent>,          // zero_exponent
                              std::vector<Subnormals>,            // subnormal_inputs
                              std::vector<NormalisedSubnormals>,  // subnormal_exponent
                              std::vector<Subnormals>,            // subnormal_outputs
                              std::vector<ZeroSums>,              // zero_sign
                              std::vector<UnderflowSign>,         // underflow_sign
                              std::vector<Overflow>,              // overflow
                              std::vector<NanRule>>;              // nan
static_assert(std::tuple_size_v<ValueLists> == kProperties, "each property needs a type of value");

template <Property P>
using Value = typename std::tuple_element_t<static_cast<std::size_t>(P), ValueLists>::value_type;

/// A value of some property but the structure.
using AnyValue =
    std::variant<FormatId, ProductOperation, int, Rounding, ProductExponent, ZeroTerms, SumRounding, SumWidth,
                 InnerResult, AddRounding, std::optional<int>, TotalBits, InfiniteProducts, GroupExponent, ZeroExponent,
                 Subnormals, NormalisedSubnormals, ZeroSums, UnderflowSign, Overflow, NanRule>;

/// A value as reports and JSON show it. What it is called may depend on the instruction: the conjunction of two bits is
/// "and", but "multiply" of numbers.
std::string text_of(const Instruction& instruction, const AnyValue& value);

}  // namespace tcnum
