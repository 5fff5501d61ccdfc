// Which elements of D are those whose k a plan divides: all, or the blocks that whole rounds leave over.
#pragma once

#include <compare>
#include <cstddef>
#include <vector>

#include "tcnum/gemm.hpp"

namespace tcnum {

/// The row and the column of a block among the blocks of D.
struct BlockPlace {
  std::size_t row = 0, column = 0;
  friend auto operator<=>(const BlockPlace&, const BlockPlace&) = default;
};
/// So many rows and columns of blocks, in the order in which clusters take them.
std::vector<BlockPlace> blocks_in_order(std::size_t rows, std::size_t columns, BlockLines lines, std::size_t band);

class DividedElements {
 public:
  DividedElements(const GemmPlan& plan, std::size_t m, std::size_t n);

  /// Columns side by side that are divided alike.
  struct Run {
    std::size_t first = 0, count = 0;
    bool divided = false;
  };
  /// All columns of that row, from the first on.
  std::vector<Run> runs(std::size_t row) const;
  /// So many rows from that one on have the same runs.
  std::size_t rows_alike(std::size_t row) const;
  bool at(std::size_t row, std::size_t column) const { return divided_[row / rows_][column / columns_]; }

 private:
  std::size_t m_, n_;
  std::size_t rows_, columns_;              ///< of a block
  std::vector<std::vector<bool>> divided_;  ///< by rows of blocks
};

}  // namespace tcnum
