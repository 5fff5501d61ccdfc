#include "divided.hpp"

#include <algorithm>

namespace tcnum {

std::vector<BlockPlace> blocks_in_order(std::size_t rows, std::size_t columns, BlockLines lines, std::size_t band) {
  const bool by_rows = lines == BlockLines::rows;
  const std::size_t across = by_rows ? rows : columns, along = by_rows ? columns : rows;
  std::vector<BlockPlace> order;
  order.reserve(rows * columns);
  bool back = false;
  for (std::size_t first = 0; first < across; first += band, back = !back) {
    for (std::size_t i = 0; i < along; ++i) {
      const std::size_t at = back ? along - 1 - i : i;
      for (std::size_t line = first; line < std::min(across, first + band); ++line)
        order.push_back(by_rows ? BlockPlace{line, at} : BlockPlace{at, line});
    }
  }
  return order;
}

DividedElements::DividedElements(const GemmPlan& plan, std::size_t m, std::size_t n)
    : m_(m), n_(n), rows_(m), columns_(n) {
  if (!plan.split_k || !plan.split_k->tail) {
    divided_ = {{plan.split_k.has_value()}};
    return;
  }
  const Tail& tail = *plan.split_k->tail;
  rows_ = tail.rows;
  columns_ = tail.columns;
  const std::size_t rows = (m + rows_ - 1) / rows_, columns = (n + columns_ - 1) / columns_;
  divided_.assign(rows, std::vector<bool>(columns));
  const std::vector<BlockPlace> order = blocks_in_order(rows, columns, tail.lines, tail.band);
  for (std::size_t i = order.size() - std::min(order.size(), tail.blocks); i < order.size(); ++i)
    divided_[order[i].row][order[i].column] = true;
}

std::vector<DividedElements::Run> DividedElements::runs(std::size_t row) const {
  const std::vector<bool>& line = divided_[row / rows_];
  std::vector<Run> runs;
  for (std::size_t block = 0; block < line.size(); ++block) {
    const std::size_t first = block * columns_, count = std::min(columns_, n_ - first);
    if (!runs.empty() && runs.back().divided == line[block])
      runs.back().count += count;
    else
      runs.push_back({first, count, line[block]});
  }
  return runs;
}

std::size_t DividedElements::rows_alike(std::size_t row) const {
  std::size_t line = row / rows_;
  while (line + 1 < divided_.size() && divided_[line + 1] == divided_[row / rows_]) ++line;
  return std::min(m_, (line + 1) * rows_) - row;
}

bool divides_k(const GemmPlan& plan, std::size_t m, std::size_t n, std::size_t row, std::size_t column) {
  return DividedElements(plan, m, n).at(row, column);
}

}  // namespace tcnum
