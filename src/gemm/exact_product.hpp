// Σ a·b of all elements of a matrix product, without any rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/cpu/matrix_product.hpp"
#include "fixed_point.hpp"
#include "scaled_operand.hpp"

namespace tcnum {

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
  MatrixProduct doubles_;
};

}  // namespace tcnum
