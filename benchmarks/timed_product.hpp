// What the benchmarks of products share: operands, the exact emulator beside a product, and the table that is written.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "emu/cpu/matrix_product.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum {

/// Normally distributed numbers, of integers with a deviation of 30, and scales around 1; the same in every run. k is a
/// multiple of the datapath's.
struct ProductOperands {
  ProductOperands(const Datapath& datapath, const ProductShape& shape);
  BlockScales scales() const;

  ProductShape shape;
  Matrix a, b;
  std::optional<Matrix> a_scales, b_scales;
};

MatrixCodes<const std::byte> codes_of(const Matrix& matrix);

/// Rows and columns of D that the exact emulator evaluates.
inline constexpr std::size_t kExactSide = 8;
/// The first rows and columns of a product without C, link after link: [row][column].
Codes exact_corner(const Datapath& datapath, const ProductOperands& operands);

/// The name of the first evaluator that takes a datapath; empty: none does.
std::string_view evaluator_of(const Datapath& datapath, Processor processor);

/// Replaces a file by rows as tcnum.benchmark/1; an empty path: writes nothing.
void write_rows(const std::string& path, const nlohmann::ordered_json& rows);

}  // namespace tcnum
