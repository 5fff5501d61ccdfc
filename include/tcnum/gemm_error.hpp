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

/// alpha · a · b of one k.
struct ErrorTerm {
  std::size_t k = 0;
  std::uint64_t a = 0, b = 0;  ///< codes
  double product = 0;          ///< to nearest
};

/// An element of D beside what it should be.
struct ErrorElement {
  std::size_t batch = 0, row = 0, column = 0;
  std::uint64_t given = 0, nearest = 0;  ///< codes: what D has, and the exact result rounded to nearest, ties to even
  double exact = 0;                      ///< the exact result, to nearest
  double magnitudes = 0;                 ///< Σ|alpha·a·b| + |beta·c| + |bias|
  double ulps = 0;
  double relative = 0;  ///< the error divided by `magnitudes`
  /// The largest of the products, beginning with the largest.
  std::vector<ErrorTerm> largest;

  /// How much of the magnitudes is left when the signs have done their work: 1 where nothing cancels.
  double left() const { return magnitudes == 0 ? 1 : (exact < 0 ? -exact : exact) / magnitudes; }
};

struct ErrorReport {
  FormatId a = FormatId::fp16, b = FormatId::fp16, d = FormatId::fp32;
  std::size_t rows = 0;  ///< that are finished

  // Every element of these rows is one of four kinds.
  std::uint64_t measured = 0;
  std::uint64_t beyond = 0;      ///< the exact result, rounded to nearest, is beyond the largest number
  std::uint64_t not_finite = 0;  ///< the exact result is an infinity or NaN, as operands are
  std::uint64_t lost = 0;        ///< D has an infinity or NaN, and the exact result is a number of the format's range

  std::uint64_t not_finite_differ = 0;  ///< of `not_finite`: D is another infinity, or not of that class

  // Of the measured.
  std::uint64_t exact = 0;    ///< without any error
  std::uint64_t nearest = 0;  ///< within half an ulp, as rounded to nearest; the exact ones too
  double max_ulps = 0, mean_ulps = 0;
  double drift_ulps =
      0;  ///< the mean of the errors with their signs, positive away from zero: of what is cut, negative
  double max_relative = 0, mean_relative = 0;
  std::vector<ErrorBin> bins;  ///< ascending, those without elements left out, and the exact elements

  std::optional<ErrorElement> worst;           ///< in ulps; the first of several in row-major order
  std::optional<ErrorElement> worst_relative;  ///< to the magnitudes; likewise

  std::uint64_t elements() const { return measured + beyond + not_finite + lost; }
  /// Makes it the report of both: that of one matrix more, as batch number `batch`.
  void add(const ErrorReport& other, std::size_t batch);
};

/// Compares every element of D with alpha · A · B + beta · C + bias, which is computed exactly; alpha and beta are the
/// numbers that they are. A is M × K, B is K × N, D is M × N, all of any format, C and bias too. Throws InputError that
/// says what would be right if shapes are wrong, or beta is not 0 and there is no C. `progress` counts rows; where it
/// says to stop, the report is that of the rows that are finished.
ErrorReport error_of(const MatrixView& d, const MatrixView& a, const MatrixView& b, const GemmInputs& inputs = {},
                     const GemmOptions& options = {});

}  // namespace tcnum
