// How far a matrix product is from the exact one. docs/plans.md, "How far a product is off", defines every figure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tcnum/gemm.hpp"

namespace tcnum {

/// Elements whose error lies above 2^(exponent − 1) ulps, and not above 2^exponent.
struct ErrorBin {
  int exponent = 0;
  std::uint64_t elements = 0;
  friend bool operator==(const ErrorBin&, const ErrorBin&) = default;
};
/// The least of all bins also has what is smaller.
inline constexpr int kLeastErrorBin = -20;

/// How large the errors of all measured elements are, in one unit.
struct ErrorMeasure {
  std::vector<double> ascending;  ///< one for each element
  double mean = 0;

  double max() const { return ascending.empty() ? 0 : ascending.back(); }
  /// The least of them that so many percent of the elements do not exceed (the nearest rank): 50 is the median.
  double percentile(double percent) const;
};

/// The same errors in both units.
struct ErrorMeasures {
  ErrorMeasure ulps;      ///< in ulps of the exact result, in D's format
  ErrorMeasure relative;  ///< divided by Σ|alpha·a·b| + |beta·c| + |bias| of the exact result
};

/// alpha · a · b of one k, with the scales.
struct ErrorTerm {
  std::size_t k = 0;
  std::uint64_t a = 0, b = 0;  ///< codes, of the exact operands where there are some
  double product = 0;          ///< to nearest
};

/// An element of D beside what it should be.
struct ErrorElement {
  std::size_t batch = 0, row = 0, column = 0;
  std::uint64_t given = 0, nearest = 0;  ///< codes: what D has, and the exact result rounded to nearest, ties to even
  double exact = 0;                      ///< the exact result, to nearest
  /// Where there are exact operands: what the operands that were multiplied give exactly, to nearest; NaN where one of
  /// them is an infinity or NaN.
  std::optional<double> quantised = {};
  double magnitudes = 0;  ///< Σ|alpha·a·b| + |beta·c| + |bias|
  double ulps = 0;
  double relative = 0;  ///< the error divided by `magnitudes`
  /// The largest of the products, beginning with the largest.
  std::vector<ErrorTerm> largest;

  /// How much of the magnitudes is left when the signs have done their work: 1 where nothing cancels.
  double left() const { return magnitudes == 0 ? 1 : (exact < 0 ? -exact : exact) / magnitudes; }
};

struct ErrorReport {
  FormatId a = FormatId::fp16, b = FormatId::fp16, d = FormatId::fp32;
  std::optional<FormatId> exact_a, exact_b;                 ///< of those that were given
  std::optional<std::size_t> a_scale_block, b_scale_block;  ///< products along k that share a scale; none: no scales
  std::size_t rows = 0;                                     ///< that are finished

  // Every element of these rows is one of four kinds.
  std::uint64_t measured = 0;
  std::uint64_t beyond = 0;      ///< the exact result, rounded to nearest, is beyond the largest number
  std::uint64_t not_finite = 0;  ///< the exact result is an infinity or NaN, as operands are
  std::uint64_t lost = 0;        ///< D has an infinity or NaN, and the exact result is a number of the format's range

  std::uint64_t not_finite_differ = 0;  ///< of `not_finite`: D is another infinity, or not of that class

  // Of the measured.
  std::uint64_t exact = 0;    ///< without any error
  std::uint64_t nearest = 0;  ///< within half an ulp, as rounded to nearest; the exact ones too
  ErrorMeasures error;        ///< |D − exact|
  /// The mean of the errors in ulps with their signs, positive away from zero: of what is cut, negative.
  double drift_ulps = 0;
  std::vector<ErrorBin> bins;  ///< ascending, those without elements left out, and the exact elements
  /// Where there are exact operands, the same elements' errors in two steps, each in the units of `error`, which is at
  /// most their sum. Infinite where an operand that was multiplied is an infinity or NaN.
  std::optional<ErrorMeasures> quantisation;  ///< |exact product of the operands that were multiplied − exact|
  std::optional<ErrorMeasures> arithmetic;    ///< |D − exact product of the operands that were multiplied|

  std::optional<ErrorElement> worst;           ///< in ulps; the first of several in row-major order
  std::optional<ErrorElement> worst_relative;  ///< to the magnitudes; likewise

  std::uint64_t elements() const { return measured + beyond + not_finite + lost; }
  /// Makes it the report of both: that of one matrix more, as batch number `batch`.
  void add(const ErrorReport& other, std::size_t batch);
};

/// What is known of a product's operands, beside what GemmInputs has.
struct ErrorReference {
  /// The numbers that A and B were before they were quantised, of the same shapes and any formats; null: those that A
  /// and B are, with their scales.
  const MatrixView* exact_a = nullptr;
  const MatrixView* exact_b = nullptr;
  /// Products along k that share a scale, where scales are for parts of k; 0: the power of two that makes so many
  /// parts.
  std::size_t scale_block = 0;
};

/// Compares every element of D with alpha · A · B + beta · C + bias, which is computed exactly; alpha and beta are the
/// numbers that they are. A is M × K, B is K × N, D is M × N, all of any format, C and bias too. Scales are as
/// GemmInputs has them, or block scales of ue8m0 or ue4m3, whose products with A and B are exact too: A and B are then
/// of at most 29 bits of precision. Throws InputError that says what is expected if shapes are wrong, or beta is not
/// 0 and there is no C. `progress` counts rows; where it says to stop, the report is that of the rows that are
/// finished. Each measure of an element takes 8 bytes: two of them, six where there are exact operands.
ErrorReport error_of(const MatrixView& d, const MatrixView& a, const MatrixView& b, const GemmInputs& inputs = {},
                     const GemmOptions& options = {}, const ErrorReference& reference = {});

}  // namespace tcnum
