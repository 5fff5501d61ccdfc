// Products with their answers, and what a plan makes of their operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan.hpp"
#include "plan_space.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum {

/// A product with its answer.
struct Answered {
  Matrix a, b, d;
};

/// Some rows, or columns.
Matrix rows_of(const Matrix& from, const std::vector<std::size_t>& rows);
Matrix columns_of(const Matrix& from, const std::vector<std::size_t>& columns);

/// D = A · B by the plan.
Matrix product_by(const Candidate& candidate, const Matrix& a, const Matrix& b, unsigned threads,
                  KnownAccumulations* known = nullptr);
/// Whether two codes are the same result: all NaNs are one.
bool is_same_result(const Format& f, std::uint64_t x, std::uint64_t y);

}  // namespace tcnum
