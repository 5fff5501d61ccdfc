#include "plan_search.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "emu/parallel.hpp"

namespace tcnum {
namespace {

/// Blocks of clusters are made of tiles, whose rows and columns are multiples of it.
constexpr std::size_t kCell = 64;

/// Which cells of D have an element that is not as it should be.
class Cells {
 public:
  Cells(std::size_t m, std::size_t n)
      : columns_((n + kCell - 1) / kCell), marked_((m + kCell - 1) / kCell * columns_, false) {}

  void mark(std::size_t row, std::size_t column) { marked_[row / kCell * columns_ + column / kCell] = true; }
  std::size_t count() const { return marked_.size(); }
  bool operator[](std::size_t cell) const { return marked_[cell]; }
  /// The first element of a cell.
  BlockPlace corner(std::size_t cell) const { return {cell / columns_ * kCell, cell % columns_ * kCell}; }
  bool any() const { return std::ranges::find(marked_, true) != marked_.end(); }

 private:
  std::size_t columns_;
  std::vector<bool> marked_;
};

/// Rows, or columns, that blocks may have: those of one to sixteen tiles of 64, 128 or 256. Of those that are as large
/// as D, it is one.
std::vector<std::size_t> block_extents(std::size_t of_d) {
  std::set<std::size_t> extents;
  for (const std::size_t tile : {64, 128, 256}) {
    for (std::size_t tiles = 1; tiles <= 16; ++tiles)
      extents.insert(std::min(tiles * tile, (of_d + kCell - 1) / kCell * kCell));
  }
  return {extents.begin(), extents.end()};
}

class TailSearch {
 public:
  TailSearch(const GemmSubject& subject, const std::vector<Candidate>& candidates,
             const std::vector<Answered>& products, unsigned threads, FitWatch& watch)
      : subject_(subject), candidates_(candidates), products_(products), threads_(threads), watch_(watch) {}

  std::vector<Candidate> find() {
    std::vector<Candidate> whole;
    for (const Candidate& candidate : candidates_) {
      const GemmPlan& plan = candidate.plan;
      if (!plan.split_k && plan.slices == 1 && candidate.performer->formats.d == FormatId::fp32)
        whole.push_back(candidate);
    }
    // The blocks that are left over are the last ones: the first element is of a whole k.
    for (const Candidate& plain : explaining({0, 0}, std::move(whole))) {
      const Cells wrong = wrong_of(plain);
      if (!wrong.any()) continue;
      std::size_t first = 0, last = wrong.count() - 1;
      while (!wrong[first]) ++first;
      while (!wrong[last]) --last;
      std::vector<Candidate> divided;
      for (const GemmPlan& plan : equal_parts(plain.plan, plain.performer->formats.a, subject_.k))
        divided.push_back({plan, plain.performer, reduction_of(plan, plain.performer->depth(), subject_.k)});
      divided = explaining(wrong.corner(last), explaining(wrong.corner(first), std::move(divided)));
      for (const Candidate& candidate : divided) add_tails(candidate, wrong, wrong_of(candidate));
    }
    return std::move(found_);
  }

 private:
  /// The candidates that explain a few elements from that one on, in all products.
  std::vector<Candidate> explaining(const BlockPlace& at, std::vector<Candidate> candidates) {
    constexpr std::size_t kFew = 8;
    const auto from = [](std::size_t first, std::size_t end) {
      std::vector<std::size_t> some;
      for (std::size_t i = first; i < std::min(end, first + kFew); ++i) some.push_back(i);
      return some;
    };
    const std::vector<std::size_t> rows = from(at.row, subject_.m), columns = from(at.column, subject_.n);
    for (const Answered& product : products_) {
      const Matrix a = rows_of(product.a, rows), b = columns_of(product.b, columns),
                   d = columns_of(rows_of(product.d, rows), columns);
      std::vector<char> explains(candidates.size());
      watch_.begin("comparing plans for some of D", candidates.size(), candidates.size());
      in_parallel(candidates.size(), threads_, [&](std::size_t i) {
        explains[i] = count_differences(product_by(candidates[i], a, b, 1), d) == 0;
        watch_.step();
      });
      std::vector<Candidate> left;
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (explains[i] != 0) left.push_back(std::move(candidates[i]));
      }
      candidates = std::move(left);
    }
    return candidates;
  }
  Cells wrong_of(const Candidate& candidate) const {
    Cells wrong(subject_.m, subject_.n);
    for (const Answered& product : products_) {
      each_difference(product_by(candidate, product.a, product.b, threads_), product.d,
                      [&](std::size_t i, std::size_t j) { wrong.mark(i, j); });
    }
    return wrong;
  }

  /// All tails that have the cells that are wrong where k is whole, and none of those that are wrong where it is
  /// divided.
  void add_tails(const Candidate& divided, const Cells& inside, const Cells& outside) {
    for (std::size_t cell = 0; cell < inside.count(); ++cell) {
      if (inside[cell] && outside[cell]) return;
    }
    // Single lines and the largest blocks first: of the same cells they are the fewest.
    std::set<std::vector<bool>> seen;
    const std::vector<std::size_t> heights = block_extents(subject_.m), widths = block_extents(subject_.n);
    for (const std::size_t band : {1, 2, 4}) {
      for (auto rows = heights.rbegin(); rows != heights.rend(); ++rows) {
        for (auto columns = widths.rbegin(); columns != widths.rend(); ++columns) {
          for (const BlockLines lines : {BlockLines::rows, BlockLines::columns})
            add_tails_of({*rows, *columns, lines, band, 0}, divided, inside, outside, seen);
        }
      }
    }
  }
  /// Those with blocks of one shape and order, but for those whose cells were seen.
  void add_tails_of(const Tail& shape, const Candidate& divided, const Cells& inside, const Cells& outside,
                    std::set<std::vector<bool>>& seen) {
    const std::size_t rows = (subject_.m + shape.rows - 1) / shape.rows,
                      columns = (subject_.n + shape.columns - 1) / shape.columns;
    const std::vector<BlockPlace> order = blocks_in_order(rows, columns, shape.lines, shape.band);
    std::vector<std::size_t> turn(order.size());  // of each block
    for (std::size_t i = 0; i < order.size(); ++i) turn[order[i].row * columns + order[i].column] = i;
    std::vector<std::size_t> turn_of_cell(inside.count());
    std::size_t least = 0, most = order.size();  // of turns with which the tail may begin
    for (std::size_t cell = 0; cell < inside.count(); ++cell) {
      const BlockPlace corner = inside.corner(cell);
      turn_of_cell[cell] = turn[corner.row / shape.rows * columns + corner.column / shape.columns];
      if (inside[cell]) most = std::min(most, turn_of_cell[cell]);
      if (outside[cell]) least = std::max(least, turn_of_cell[cell] + 1);
    }
    for (std::size_t first = least; first <= most; ++first) {
      std::vector<bool> cells(inside.count());
      for (std::size_t cell = 0; cell < inside.count(); ++cell) cells[cell] = turn_of_cell[cell] >= first;
      if (!seen.insert(cells).second) continue;
      Candidate& found = found_.emplace_back(divided);
      found.plan.split_k->tail = shape;
      found.plan.split_k->tail->blocks = order.size() - first;
    }
  }

  const GemmSubject& subject_;
  const std::vector<Candidate>& candidates_;
  const std::vector<Answered>& products_;
  unsigned threads_;
  FitWatch& watch_;
  std::vector<Candidate> found_;
};

}  // namespace

std::vector<Candidate> fit_tails(const GemmSubject& subject, const std::vector<Candidate>& candidates,
                                 const std::vector<Answered>& products, unsigned threads, FitWatch& watch) {
  return TailSearch(subject, candidates, products, threads, watch).find();
}

}  // namespace tcnum
