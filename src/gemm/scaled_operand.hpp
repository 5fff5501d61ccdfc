// One operand of a matrix product as exact numbers: each element times its scale.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

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

}  // namespace tcnum
