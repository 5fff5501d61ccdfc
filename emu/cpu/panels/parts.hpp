// How the work of a product is divided.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "emu/cpu/matrix_codes.hpp"
#include "emu/parallel.hpp"
#include "operands.hpp"

namespace tcnum::panels {

/// Rows i … i + m − 1 and columns j … j + n − 1 of the result.
struct Part {
  std::size_t i, j, m, n;
};

/// Parts large enough that packing costs little, and enough of them for all threads.
inline std::vector<Part> parts_of(const ProductShape& shape, unsigned threads) {
  constexpr std::size_t kMostRows = 1024, kMostColumns = 1024, kLeastRows = 32, kPartsForEach = 3;
  // Where few products are added, the results' way to the memory and back takes longest: fewer stay in the cache.
  constexpr std::size_t kFewProducts = 16, kRowsOfFew = 64;
  const auto count = [&](std::size_t m, std::size_t n) {
    return rounded_up(shape.m, m) / m * (rounded_up(shape.n, n) / n);
  };
  std::size_t m = shape.k <= kFewProducts ? kRowsOfFew : kMostRows, n = kMostColumns;
  const std::size_t wanted = threads > 1 ? kPartsForEach * threads : 1;
  while (count(m, n) < wanted && (n > kColumns || m > kLeastRows)) {
    if (n > 2 * m || m == kLeastRows)
      n /= 2;
    else
      m /= 2;
  }
  std::vector<Part> parts;
  for (std::size_t i = 0; i < shape.m; i += m) {
    for (std::size_t j = 0; j < shape.n; j += n)
      parts.push_back({i, j, std::min(m, shape.m - i), std::min(n, shape.n - j)});
  }
  return parts;
}

/// Calls with each part of a product, of several at a time.
template <class With>
void each_part(const ProductShape& shape, unsigned threads, const With& with) {
  const std::vector<Part> parts = parts_of(shape, threads);
  in_parallel(parts.size(), std::min(threads, static_cast<unsigned>(parts.size())),
              [&](std::size_t at) { with(parts[at]); });
}

/// Numbers of a part of C or D: panel by panel, of which each has kColumns numbers of every row.
template <class Number>
class PartNumbers {
 public:
  PartNumbers(const Part& part, std::size_t rows)
      : part_(part), rows_(rows), panels_(rounded_up(part.n, kColumns) / kColumns) {
    numbers_.resize(rows_ * panels_ * kColumns);
    std::fill_n(numbers_.data(), numbers_.size(), Number{0});
  }

  std::size_t rows() const { return rows_; }
  std::size_t panels() const { return panels_; }
  Number* of(std::size_t row, std::size_t panel) { return &numbers_[(panel * rows_ + row) * kColumns]; }

  /// Calls with each stretch of a row of the matrix that lies in one panel: its numbers, how many, and its first code.
  template <class Byte, class With>
  void each_stretch(const MatrixCodes<Byte>& matrix, int bytes_of_code, const With& with) {
    for (std::size_t i = 0; i < part_.m; ++i) {
      for (std::size_t panel = 0; panel < panels_; ++panel) {
        const std::size_t j = panel * kColumns;
        const std::size_t at = (part_.i + i) * matrix.row_stride + (part_.j + j) * matrix.column_stride;
        with(of(i, panel), std::min(kColumns, part_.n - j),
             matrix.codes + at * static_cast<std::size_t>(bytes_of_code));
      }
    }
  }

 private:
  Part part_;
  std::size_t rows_, panels_;
  Buffer<Number> numbers_;
};

}  // namespace tcnum::panels
