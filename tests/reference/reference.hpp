// A second implementation of what a datapath means, made from docs/datapath.md alone: a check on the exact emulator,
// which defines the meaning and would otherwise be its own witness.
//
// It is made of other material, so that the two are unlikely to have the same fault: numbers are rationals, not
// integers with an exponent; a code's value comes from the formats' own specifications; a rounding chooses between the
// two neighbours on a grid; a result's code is searched for among the values of all codes. Slow, and meant to be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tcnum/datapath.hpp"

namespace tcnum::reference {

/// What a dot product went through, so that a test can tell whether its operands reached every corner.
// clang-format off
enum class Event : std::uint8_t {
  subnormal_operand, flushed_operand, nan_operand, infinite_operand, infinity_times_zero, infinities_cancelled,
  nan_propagated, nan_of_several, product_rounded, product_infinite, product_exclusive_or, product_scaled,
  sum_scaled, sum_aligned_by_scales, scale_nan, scale_zero, scale_subnormal, term_cut, first_term_cut_elsewhere, term_dropped,
  alignment_floored, alignment_of_natural_zero, alignment_of_given_zero, subnormal_aligned_by_leading_bit,
  nothing_aligned, cancelled, cut_to_zero, zero_sum_negative, zero_sum_negative_by_rounding,
  zero_sum_made_positive, tie, carried, rounded_at_alignment, rounded_again, sum_left_exact, subnormal_result,
  subnormal_flushed, underflow, underflow_made_positive, overflow_to_infinity, overflow_to_largest,
  overflow_clamped_to_least, wrapped, least_integer,
};
inline constexpr std::array kEventNames = std::to_array<std::string_view>({
    "subnormal_operand", "flushed_operand", "nan_operand", "infinite_operand", "infinity_times_zero",
    "infinities_cancelled", "nan_propagated", "nan_of_several", "product_rounded", "product_infinite",
    "product_exclusive_or", "product_scaled", "sum_scaled", "sum_aligned_by_scales", "scale_nan", "scale_zero", "scale_subnormal",
    "term_cut", "first_term_cut_elsewhere", "term_dropped", "alignment_floored", "alignment_of_natural_zero",
    "alignment_of_given_zero", "subnormal_aligned_by_leading_bit", "nothing_aligned", "cancelled", "cut_to_zero",
    "zero_sum_negative", "zero_sum_negative_by_rounding", "zero_sum_made_positive", "tie", "carried",
    "rounded_at_alignment", "rounded_again", "sum_left_exact", "subnormal_result", "subnormal_flushed", "underflow",
    "underflow_made_positive", "overflow_to_infinity", "overflow_to_largest", "overflow_clamped_to_least",
    "wrapped", "least_integer"});
// clang-format on
static_assert(kEventNames.size() == static_cast<std::size_t>(Event::least_integer) + 1);

/// How often each event came about.
struct Tally {
  std::array<std::uint64_t, kEventNames.size()> count{};
  std::array<std::uint64_t, kRoundingNames.size()> inexact{};  ///< steps that changed a number, by rounding
  void add(Event event) { ++count[static_cast<std::size_t>(event)]; }
};

/// The result's code for one dot problem: `a` and `b` hold the datapath's k codes each, `sa` and `sb` one scale code
/// for each block (empty where it has no scales). The datapath is valid (see validate()).
std::uint64_t dot(const Datapath& datapath, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                  std::uint64_t c, std::span<const std::uint64_t> sa, std::span<const std::uint64_t> sb, Tally& tally);

}  // namespace tcnum::reference
