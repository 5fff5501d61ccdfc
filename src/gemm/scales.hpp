// Scales of a product's operands, as kernels for narrow formats have them beside the matrices.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tcnum/gemm.hpp"

namespace tcnum {

/// Of one operand: what belongs to a row of A, or a column of B, in a block of k.
class LineScales {
 public:
  LineScales() = default;
  /// `per_scale` lines have one together.
  LineScales(std::vector<float> scales, std::size_t blocks, std::size_t per_scale)
      : scales_(std::move(scales)), blocks_(blocks), per_scale_(per_scale) {}
  float operator()(std::size_t line, std::size_t block) const {
    return scales_.empty() ? 1 : scales_[line / per_scale_ * blocks_ + block];
  }
  bool empty() const { return scales_.empty(); }
  std::size_t blocks() const { return blocks_; }
  std::span<const float> numbers() const { return scales_; }

 private:
  std::vector<float> scales_;  ///< those of a line's blocks side by side
  std::size_t blocks_ = 1, per_scale_ = 1;
};

/// Columns of B that may share a scale.
inline constexpr std::size_t kColumnsOfScale = 128;
/// Whose scales a matrix holds: of A it is lines × blocks of k, of B blocks of k × lines.
enum class ScalesOf : std::uint8_t { a, b };
/// Scales of fp32, ue8m0 or ue4m3 for so many rows of A, or columns of B: one for all of them, one for each, or of B
/// one for every 128. Throws InputError that says what is expected.
LineScales line_scales(const MatrixView& scales, ScalesOf of, std::size_t lines, std::string_view where);

/// Of both, in the order in which a plan multiplies them.
class Scales {
 public:
  Scales() = default;
  /// Throws InputError that says what is expected if they do not fit the product or the plan.
  Scales(const GemmPlan& plan, FormatId sums, std::size_t m, std::size_t n, std::size_t k, const GemmInputs& inputs,
         std::string_view where);

  /// One for all of k.
  bool are_last() const { return are_there_ && blocks_ == 1 && !are_in_alpha(); }
  bool are_in_alpha() const { return are_there_ && order_ == ScaleOrder::in_alpha; }
  /// One for each promotion.
  bool are_in_promotions() const { return are_there_ && blocks_ > 1; }

  float scaled(float sum, std::size_t row, std::size_t column) const {
    const Factors factors = of(sum, row, column, 0);
    return factors.last * factors.sum;
  }
  /// What alpha is.
  float alpha(float alpha, std::size_t row, std::size_t column) const {
    const float scaled = alpha * a_(row, 0);
    return scaled * b_(column, 0);
  }
  /// Added to a total.
  float added(float total, float sum, std::size_t row, std::size_t column, std::size_t block) const {
    const Factors factors = of(sum, row, column, block);
    return std::fma(factors.last, factors.sum, total);
  }

 private:
  struct Factors {
    float last, sum;
  };
  Factors of(float sum, std::size_t row, std::size_t column, std::size_t block) const {
    const float a = a_(row, block), b = b_(column, block);
    switch (order_) {
      case ScaleOrder::a_first:
        return {b, a * sum};
      case ScaleOrder::b_first:
        return {a, b * sum};
      default:
        return {a * b, sum};
    }
  }

  LineScales a_, b_;
  std::size_t blocks_ = 1;
  ScaleOrder order_ = ScaleOrder::product;
  bool are_there_ = false;
};

}  // namespace tcnum
