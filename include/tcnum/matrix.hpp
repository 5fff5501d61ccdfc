// Matrices of codes of a number format. A code takes as many bytes as its format needs, a byte at least (s4, b1, fp6
// and fp4 are one a byte), least significant byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tcnum/format.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// Of a code.
constexpr std::size_t bytes_of(FormatId id) { return static_cast<std::size_t>(format(id).storage_bytes()); }

/// What a code may be given as: an unsigned integer of the format's size, or its bytes.
template <class T>
concept CodeStorage = std::unsigned_integral<T> || std::same_as<T, std::byte>;

/// Which code is element (i, j).
enum class Layout : std::uint8_t {
  row_major,     ///< number i · columns + j
  column_major,  ///< number j · rows + i
};

class MatrixView;

/// Codes of its own, row-major.
class Matrix {
 public:
  Matrix() = default;
  /// All codes zero.
  Matrix(FormatId format, std::size_t rows, std::size_t columns);
  /// A copy.
  explicit Matrix(const MatrixView& view);

  /// Numbers rounded to the format, to nearest with ties to even; those beyond its largest become infinity, or NaN in a
  /// format without infinity, or the largest in one without NaN and in integer formats. `format` is a name, tcnum's or
  /// PTX's. Throws InputError if there is no such format, or not rows · columns numbers, or for a NaN that the format
  /// does not have.
  static Matrix from(std::span<const float> numbers, std::size_t rows, std::size_t columns, std::string_view format);
  static Matrix from(std::span<const double> numbers, std::size_t rows, std::size_t columns, std::string_view format);

  FormatId format() const { return format_; }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }

  std::uint64_t operator()(std::size_t row, std::size_t column) const { return codes_[row * columns_ + column]; }
  void set(std::size_t row, std::size_t column, std::uint64_t code) { codes_.set(row * columns_ + column, code); }
  /// All codes, row by row.
  const Codes& codes() const& { return codes_; }
  Codes codes() && { return std::move(codes_); }
  std::span<std::byte> bytes() { return codes_.bytes(); }
  std::span<const std::byte> bytes() const { return codes_.bytes(); }

  /// The numbers. Every format's are doubles; floats are rounded to nearest where they must be.
  std::vector<double> to_doubles() const;
  std::vector<float> to_floats() const;

  friend bool operator==(const Matrix&, const Matrix&) = default;

 private:
  FormatId format_ = FormatId::fp32;
  std::size_t rows_ = 0, columns_ = 0;
  Codes codes_;
};

/// Somebody else's codes, which must outlive it.
class MatrixView {
 public:
  MatrixView(const Matrix& matrix)  // NOLINT(google-explicit-constructor): a matrix can be viewed anywhere
      : format_(matrix.format()), rows_(matrix.rows()), columns_(matrix.columns()), bytes_(matrix.bytes()) {}

  /// `codes`: a vector or span of the format's codes, or of their bytes. Throws InputError if there is no such format,
  /// or if there are not rows · columns codes of its size.
  template <std::ranges::contiguous_range Range>
  requires CodeStorage<std::ranges::range_value_t<Range>> MatrixView(const Range& codes, std::size_t rows,
                                                                     std::size_t columns, std::string_view format,
                                                                     Layout layout = Layout::row_major)
      : MatrixView(std::as_bytes(std::span(codes)), sizeof(std::ranges::range_value_t<Range>), rows, columns, format,
                   layout) {}

  /// The same of a format that is known, from the bytes of its codes.
  MatrixView(std::span<const std::byte> bytes, std::size_t rows, std::size_t columns, FormatId format,
             Layout layout = Layout::row_major);

  FormatId format() const { return format_; }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  Layout layout() const { return layout_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  MatrixView(std::span<const std::byte> bytes, std::size_t bytes_each, std::size_t rows, std::size_t columns,
             std::string_view format, Layout layout);
  MatrixView(std::span<const std::byte> bytes, std::size_t bytes_each, std::size_t rows, std::size_t columns,
             FormatId format, Layout layout);

  FormatId format_;
  std::size_t rows_, columns_;
  Layout layout_ = Layout::row_major;
  std::span<const std::byte> bytes_;
};

}  // namespace tcnum
