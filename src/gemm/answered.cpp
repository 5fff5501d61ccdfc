#include "answered.hpp"

#include <fmt/format.h>

#include "tcnum/error.hpp"

namespace tcnum {

Matrix product_by(const Candidate& candidate, const Matrix& a, const Matrix& b, unsigned threads,
                  KnownAccumulations* known) {
  Matrix d(candidate.plan.output, a.rows(), b.columns());
  multiply_by({candidate.plan, *candidate.performer, candidate.reduction, known}, d, a, b, {}, {.threads = threads});
  return d;
}

void check_answer(const Matrix& d, const GemmSubject& subject) {
  if (d.format() == subject.d && d.rows() == subject.m && d.columns() == subject.n) return;
  throw InputError(fmt::format("gemm: the callable gave {} × {} of {}; expected {} × {} of {}", d.rows(),
                               d.columns(), format(d.format()).name, subject.m, subject.n, format(subject.d).name));
}

bool is_same_result(const Format& f, std::uint64_t x, std::uint64_t y) {
  const auto is_nan = [&](std::uint64_t code) {
    return f.floating && decode(f, code).number_class == NumberClass::nan;
  };
  return x == y || (is_nan(x) && is_nan(y));
}

std::size_t count_differences(const Matrix& x, const Matrix& y) {
  std::size_t count = 0;
  each_difference(x, y, [&](std::size_t, std::size_t) { ++count; });
  return count;
}

Matrix rows_of(const Matrix& from, const std::vector<std::size_t>& rows) {
  Matrix some(from.format(), rows.size(), from.columns());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < from.columns(); ++j) some.set(i, j, from(rows[i], j));
  }
  return some;
}

Matrix columns_of(const Matrix& from, const std::vector<std::size_t>& columns) {
  Matrix some(from.format(), from.rows(), columns.size());
  for (std::size_t i = 0; i < from.rows(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) some.set(i, j, from(i, columns[j]));
  }
  return some;
}

}  // namespace tcnum
