#include "tcnum/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "io/memory.hpp"
#include "sums.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

FormatId format_named(std::string_view name) {
  if (const auto id = find_format_or_own(name)) return *id;
  std::string known;
  for (const Format& f : kFormats) known += (known.empty() ? "" : ", ") + std::string(f.name);
  throw InputError(fmt::format("matrix: format {} is unknown; expected one of {}", name, known));
}

/// rows · columns · bytes_each; throws InputError where that is beyond a std::size_t.
std::size_t size_in_bytes(std::size_t rows, std::size_t columns, std::size_t bytes_each) {
  std::size_t count = 0, bytes = 0;
  if (__builtin_mul_overflow(rows, columns, &count) || __builtin_mul_overflow(count, bytes_each, &bytes)) {
    throw InputError(fmt::format("matrix: {} × {} is more than a memory can hold", rows, columns));
  }
  return bytes;
}

std::uint64_t rounded_code(const Format& f, double number) {
  if (std::isnan(number) && f.non_finite == NonFinite::none) {
    throw InputError(fmt::format("matrix: a number is NaN; expected a format that has one, which {} has not", f.name));
  }
  return code_of({.format = f.id, .nan = f.non_finite == NonFinite::none ? 0 : nan_code(f)}, number);
}

template <class Number>
Matrix rounded(std::span<const Number> numbers, std::size_t rows, std::size_t columns, std::string_view name) {
  Matrix matrix(format_named(name), rows, columns);
  if (numbers.size() != rows * columns) {
    throw InputError(
        fmt::format("matrix: {} numbers; expected {}, as {} × {} has", numbers.size(), rows * columns, rows, columns));
  }
  const Format& f = format(matrix.format());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) matrix.set(i, j, rounded_code(f, numbers[i * columns + j]));
  }
  return matrix;
}

}  // namespace

Matrix::Matrix(FormatId format, std::size_t rows, std::size_t columns)
    : format_(format), rows_(rows), columns_(columns) {
  const std::size_t bytes_each = bytes_of(format), bytes = size_in_bytes(rows, columns, bytes_each);
  require_memory(fmt::format("matrix: {} × {} of {}", rows, columns, tcnum::format(format).name),
                 static_cast<double>(bytes));
  codes_ = Codes(static_cast<int>(bytes_each), bytes / bytes_each);
}

Matrix::Matrix(const MatrixView& view) : Matrix(view.format(), view.rows(), view.columns()) {
  if (view.layout() == Layout::row_major) {
    std::ranges::copy(view.bytes(), bytes().begin());
    return;
  }
  const std::size_t bytes_each = bytes_of(format_);
  for (std::size_t i = 0; i < rows_; ++i) {
    for (std::size_t j = 0; j < columns_; ++j)
      std::memcpy(&bytes()[(i * columns_ + j) * bytes_each], &view.bytes()[(j * rows_ + i) * bytes_each], bytes_each);
  }
}

Matrix Matrix::from(std::span<const float> numbers, std::size_t rows, std::size_t columns, std::string_view format) {
  return rounded(numbers, rows, columns, format);
}

Matrix Matrix::from(std::span<const double> numbers, std::size_t rows, std::size_t columns, std::string_view format) {
  return rounded(numbers, rows, columns, format);
}

std::vector<double> Matrix::to_doubles() const {
  std::vector<double> numbers(codes_.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_of(tcnum::format(format_), codes_[i]);
  return numbers;
}

std::vector<float> Matrix::to_floats() const {
  const std::vector<double> numbers = to_doubles();
  std::vector<float> floats(numbers.size());
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(numbers[i]);
  return floats;
}

MatrixView::MatrixView(std::span<const std::byte> bytes, std::size_t rows, std::size_t columns, FormatId format,
                       Layout layout)
    : MatrixView(bytes, 1, rows, columns, format, layout) {}

MatrixView::MatrixView(std::span<const std::byte> bytes, std::size_t bytes_each, std::size_t rows, std::size_t columns,
                       std::string_view format, Layout layout)
    : MatrixView(bytes, bytes_each, rows, columns, format_named(format), layout) {}

MatrixView::MatrixView(std::span<const std::byte> bytes, std::size_t bytes_each, std::size_t rows, std::size_t columns,
                       FormatId format, Layout layout)
    : format_(format), rows_(rows), columns_(columns), layout_(layout), bytes_(bytes) {
  const Format& f = tcnum::format(format_);
  const auto right = static_cast<std::size_t>(f.storage_bytes());
  if (bytes_each != 1 && bytes_each != right) {
    throw InputError(fmt::format("matrix: codes of {} bytes; expected {}, as {} has", bytes_each, right, f.name));
  }
  if (bytes.size() != size_in_bytes(rows, columns, right)) {
    throw InputError(fmt::format("matrix: {} bytes; expected {}, as {} × {} of {} has", bytes.size(),
                                 size_in_bytes(rows, columns, right), rows, columns, f.name));
  }
}

}  // namespace tcnum
