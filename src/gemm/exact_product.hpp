// Σ a·b of all elements of a matrix product, without any rounding.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fixed_point.hpp"
#include "performer.hpp"
#include "scales.hpp"
#include "sums.hpp"

namespace tcnum {

/// What runs along k.
enum class OperandLines : std::uint8_t { rows, columns };

/// A by its rows, or B by its columns: number (line, k). The view's codes must outlive it.
class ScaledOperand {
 public:
  ScaledOperand(const MatrixView& matrix, OperandLines lines)
      : view_(matrix), codes_(codes_of(matrix)), lines_(matrix.rows()), depth_(matrix.columns()) {
    if (lines == OperandLines::rows) return;
    std::swap(codes_.row_stride, codes_.column_stride);
    std::swap(lines_, depth_);
  }
  /// So many products along k share a scale. A scaled number must be one of fp64's: see holds_scales_of().
  ScaledOperand(const MatrixView& matrix, OperandLines lines, LineScales scales, std::size_t block)
      : ScaledOperand(matrix, lines) {
    scales_ = std::move(scales);
    block_ = block;
  }

  const Format& number_format() const { return format(view_.format()); }
  std::size_t lines() const { return lines_; }
  std::size_t depth() const { return depth_; }
  std::uint64_t code(std::size_t line, std::size_t k) const {
    return code_at(codes_, line, k, bytes_of(view_.format()));
  }
  /// Exact; an infinity or NaN where the element is one, or its scale.
  double number(std::size_t line, std::size_t k) const {
    const double x = number_of(number_format(), code(line, k));
    return scales_.empty() ? x : x * scales_(line, k / block_);
  }
  /// That of all numbers of the format with any of the scales.
  FixedRange range() const {
    const FixedRange of_format = fixed_range_of(number_format());
    if (scales_.empty()) return of_format;
    FixedRange of_scales = {0, 1};
    bool is_first = true;
    for (const float scale : scales_.numbers()) {
      if (scale == 0 || !std::isfinite(scale)) continue;
      const FixedRange of_scale = dyadic_of(scale).range();
      of_scales = std::exchange(is_first, false) ? of_scale : both(of_scales, of_scale);
    }
    return product(of_format, of_scales);
  }

 private:
  MatrixView view_;
  MatrixCodes<const std::byte> codes_;
  std::size_t lines_, depth_;
  LineScales scales_;
  std::size_t block_ = 1;
};

/// Whether fp64 has every product of a number of the format and one of fp32.
inline bool holds_scales_of(const Format& f) {
  const Format &wide = format(FormatId::fp64), &scale = format(FormatId::fp32);
  const FixedRange products = product(fixed_range_of(f), fixed_range_of(scale)), doubles = fixed_range_of(wide);
  const int bits = f.fraction_bits + 1 + scale.fraction_bits + 1;
  return bits <= wide.fraction_bits + 1 && products.lowest >= doubles.lowest && products.highest <= doubles.highest;
}

/// Rows i … i + m − 1 and columns j … j + n − 1.
struct ExactBlock {
  std::size_t i, j, m, n;
};

/// The exact sums of a block.
struct ExactSums {
  FixedRange range;
  std::size_t columns = 0;
  std::vector<std::uint64_t> words;     ///< of sum after sum, row by row
  std::vector<long double> magnitudes;  ///< Σ |a·b|, to within 2^-40 of itself
  /// Whether a row of A or column of B has an infinity or NaN, which is a zero in the sums.
  std::vector<bool> row_not_finite, column_not_finite;

  FixedPoint sum(std::size_t i, std::size_t j) {
    const std::size_t each = range.words();
    return {std::span(words).subspan((i * columns + j) * each, each), range.lowest};
  }
};

/// How sums are computed; all give the same.
enum class ExactBy : std::uint8_t {
  whichever,  ///< is faster
  slices,     ///< as products of matrices of integers of few bits, where a double's range allows
  words,      ///< product by product
};

class ExactProduct {
 public:
  /// Of A by its rows and B by its columns, whose codes must outlive it.
  ExactProduct(const ScaledOperand& a, const ScaledOperand& b, ExactBy by = ExactBy::whichever);
  FixedRange range() const { return range_; }
  ExactSums sums(const ExactBlock& block) const;

 private:
  ScaledOperand a_, b_;
  ExactBy by_;
  FixedRange range_;
};

}  // namespace tcnum
