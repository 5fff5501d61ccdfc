// The codes of matrices and of their block scales, whoever they belong to, and how they are walked and copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tcnum {

/// Codes of a matrix: element (row, column) is code number row · row_stride + column · column_stride.
template <class Byte>
struct MatrixCodes {
  Byte* codes = nullptr;
  std::size_t row_stride = 0, column_stride = 1;
};

/// Codes of block scales: of A, element (row, block), and of B, (block, column). The last block may be shorter.
struct BlockScales {
  MatrixCodes<const std::byte> a, b;
};

struct ProductShape {
  std::size_t m = 0, n = 0, k = 0;
};

/// Codes of a matrix whose rows lie one behind the other.
template <class Byte>
MatrixCodes<Byte> codes_from(Byte* codes, std::size_t columns) {
  return {codes, columns, 1};
}

/// The matrix that begins at an element of another. `bytes`: of a code.
template <class Byte>
MatrixCodes<Byte> part_from(const MatrixCodes<Byte>& matrix, std::size_t row, std::size_t column, std::size_t bytes) {
  const std::size_t at = row * matrix.row_stride + column * matrix.column_stride;
  return {matrix.codes + at * bytes, matrix.row_stride, matrix.column_stride};
}

/// Calls with a number of a code's type, of so many bytes: of a constant size, which the compiler loads and stores
/// plainly.
template <class With>
decltype(auto) with_code_of(std::size_t bytes, const With& with) {
  switch (bytes) {
    case 1:
      return with(std::uint8_t{});
    case 2:
      return with(std::uint16_t{});
    case 4:
      return with(std::uint32_t{});
    default:
      return with(std::uint64_t{});
  }
}

/// One element.
inline std::uint64_t code_at(const MatrixCodes<const std::byte>& matrix, std::size_t row, std::size_t column,
                             std::size_t bytes) {
  const std::byte* const from = part_from(matrix, row, column, bytes).codes;
  return with_code_of(bytes, [&](auto code) {
    std::memcpy(&code, from, sizeof(code));
    return std::uint64_t{code};
  });
}

/// Copies rows × columns codes.
inline void copy_codes(const MatrixCodes<std::byte>& to, const MatrixCodes<const std::byte>& from, std::size_t rows,
                       std::size_t columns, std::size_t bytes) {
  for (std::size_t i = 0; i < rows; ++i) {
    std::byte* const to_row = to.codes + i * to.row_stride * bytes;
    const std::byte* const from_row = from.codes + i * from.row_stride * bytes;
    if (to.column_stride == 1 && from.column_stride == 1) {
      std::memcpy(to_row, from_row, columns * bytes);
      continue;
    }
    for (std::size_t j = 0; j < columns; ++j)
      std::memcpy(to_row + j * to.column_stride * bytes, from_row + j * from.column_stride * bytes, bytes);
  }
}

}  // namespace tcnum
