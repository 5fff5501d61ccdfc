// What the fits of plans have in common: operands that let plans show, the plans that a product may follow, and
// products with their answers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plan.hpp"
#include "src/fit/watch.hpp"
#include "tcnum/gemm_fit.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum {

struct GemmOperands {
  Matrix a, b;
};
/// Always the same for the same seed.
GemmOperands make_operands(const GemmSubject& subject, OperandFamily family, std::uint64_t seed);

// --- Some rows and columns of a product, for those who have many plans to try.

struct Sample {
  std::vector<std::size_t> rows, columns;
};

/// As many as these, evenly from the first to the last.
inline std::vector<std::size_t> evenly(std::size_t count, std::size_t most) {
  std::vector<std::size_t> chosen;
  const std::size_t here = std::min(count, most);
  for (std::size_t i = 0; i < here; ++i) chosen.push_back(here == 1 ? 0 : i * (count - 1) / (here - 1));
  return chosen;
}
inline Sample sample_of(std::size_t m, std::size_t n, std::size_t rows, std::size_t columns) {
  return {evenly(m, rows), evenly(n, columns)};
}

// --- The plans that a product of some formats and some k may follow.

/// A plan with what follows from it.
struct Candidate {
  GemmPlan plan;
  std::shared_ptr<const Performer> performer;
  Reduction reduction;
};

/// Those that divide k into a number of parts, whose sums are of fp32, and are else as a plan that does not.
std::vector<GemmPlan> equal_parts(const GemmPlan& plain, FormatId operand, std::size_t k);

/// All of them, no two the same for this k: instructions of one datapath stand for each other, and so do plans that go
/// through k alike. Throws InputError if no instruction takes the formats.
std::vector<Candidate> plan_space(const GemmSubject& subject);

/// Fields in which plans differ, with the values of each.
std::vector<OpenProperty> differences(const std::vector<const GemmPlan*>& plans);

// --- Products with their answers, and what a plan makes of their operands.

/// A product with its answer.
struct Answered {
  Matrix a, b, d;
};

/// Throws InputError unless a callable's D is what the subject says.
void check_answer(const Matrix& d, const GemmSubject& subject);

/// Some rows, or columns.
Matrix rows_of(const Matrix& from, const std::vector<std::size_t>& rows);
Matrix columns_of(const Matrix& from, const std::vector<std::size_t>& columns);

/// D = A · B by the plan.
Matrix product_by(const Candidate& candidate, const Matrix& a, const Matrix& b, unsigned threads,
                  KnownAccumulations* known = nullptr);
/// Whether two codes are the same result: all NaNs are one.
bool is_same_result(const Format& f, std::uint64_t x, std::uint64_t y);
/// Calls with(row, column) for each element that is another result, of two matrices of one shape and format.
template <class With>
void each_difference(const Matrix& x, const Matrix& y, const With& with) {
  if (x == y) return;
  const Format& f = format(x.format());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t j = 0; j < x.columns(); ++j) {
      if (!is_same_result(f, x(i, j), y(i, j))) with(i, j);
    }
  }
}
/// Of how many elements that is so.
std::size_t count_differences(const Matrix& x, const Matrix& y);

// --- Plans that divide k for some blocks of D alone, found from products that no plan for all of D explains.

/// Of the plans for all of D, one that divides k and one that does not, and the blocks that the first is for: all such
/// that explain every element of the products. Of those that are the same for D, it is one, with as few blocks as can
/// be: what is beyond D's edges shows nowhere.
std::vector<Candidate> fit_tails(const GemmSubject& subject, const std::vector<Candidate>& candidates,
                                 const std::vector<Answered>& products, unsigned threads, FitWatch& watch);

}  // namespace tcnum
