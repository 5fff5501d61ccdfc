// Products with their answers, and what a plan makes of their operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan.hpp"
#include "plan_space.hpp"
#include "tcnum/gemm_fit.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum {

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

}  // namespace tcnum
