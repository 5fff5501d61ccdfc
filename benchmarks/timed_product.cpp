#include "timed_product.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "io/replacement_file.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

/// Some thousand numbers that come again and again: there may be many to make.
Matrix normal_numbers(FormatId id, std::size_t rows, std::size_t columns, std::mt19937_64& random) {
  constexpr std::size_t kDifferent = 65521;
  constexpr int kBits = 53;
  constexpr double kIntegers = 30;
  const Format& f = format(id);
  std::normal_distribution<double> normal(0, f.floating ? 1 : kIntegers);
  std::vector<std::uint64_t> codes(std::min(kDifferent, rows * columns));
  for (std::uint64_t& code : codes) {
    int exponent = 0;
    const double x = normal(random), fraction = std::frexp(std::abs(x), &exponent);
    const auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, kBits));
    code = encode(f, x < 0 && f.has_sign, significand, exponent - kBits, false, Rounding::nearest_even);
  }
  Matrix all(id, rows, columns);
  for (std::size_t i = 0; i < rows * columns; ++i) all.set(i / columns, i % columns, codes[i % codes.size()]);
  return all;
}

/// As of numbers that are about as large as their blocks' others.
Matrix scales_around_one(FormatId id, std::size_t rows, std::size_t columns, std::mt19937_64& random) {
  const Format& f = format(id);
  Matrix scales(id, rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j)
      scales.set(i, j, (static_cast<std::uint64_t>(f.bias - 2) << f.fraction_bits) + random() % 5);
  }
  return scales;
}

/// The rows × columns of a matrix that begin there, as a tile's codes.
void take(const Matrix& from, std::size_t row, std::size_t column, std::size_t rows, std::size_t columns, Codes& to) {
  for (std::size_t i = 0; i < rows * columns; ++i) to.set(i, from(row + i / columns, column + i % columns));
}

}  // namespace

ProductOperands::ProductOperands(const Datapath& datapath, const ProductShape& wanted)
    : shape(wanted),
      a(datapath.numerics.a.format, wanted.m, wanted.k),
      b(datapath.numerics.b.format, wanted.k, wanted.n) {
  const Numerics& n = datapath.numerics;
  std::mt19937_64 random(1);
  a = normal_numbers(n.a.format, shape.m, shape.k, random);
  b = normal_numbers(n.b.format, shape.k, shape.n, random);
  if (!n.scales) return;
  const std::size_t blocks = shape.k / static_cast<std::size_t>(n.scales->block_k);
  a_scales = scales_around_one(n.scales->format, shape.m, blocks, random);
  b_scales = scales_around_one(n.scales->format, blocks, shape.n, random);
}

BlockScales ProductOperands::scales() const {
  if (!a_scales) return {};
  return {codes_of(*a_scales), codes_of(*b_scales)};
}

MatrixCodes<const std::byte> codes_of(const Matrix& matrix) {
  return codes_from(matrix.bytes().data(), matrix.columns());
}

Codes exact_corner(const Datapath& datapath, const ProductOperands& of) {
  const Numerics& n = datapath.numerics;
  const auto depth = static_cast<std::size_t>(datapath.tree.k);
  Tiles tile = make_tiles(n.a.format, n.b.format, n.c.format, n.result, 1, kExactSide, kExactSide, depth);
  for (std::size_t k = 0; k < of.shape.k; k += depth) {
    if (k > 0) std::swap(tile.c, tile.d);
    take(of.a, 0, k, kExactSide, depth, tile.a);
    take(of.b, k, 0, depth, kExactSide, tile.b);
    if (n.scales) {
      tile.scale_block = n.scales->block_k;
      const auto block_k = static_cast<std::size_t>(n.scales->block_k), blocks = depth / block_k;
      tile.sa = tile.sb = Codes(format(n.scales->format).storage_bytes(), kExactSide * blocks);
      take(*of.a_scales, 0, k / block_k, kExactSide, blocks, tile.sa);
      take(*of.b_scales, k / block_k, 0, blocks, kExactSide, tile.sb);
    }
    emulate_exact(datapath, tile);
  }
  return tile.d;
}

std::string_view evaluator_of(const Datapath& datapath, Processor processor) {
  for (const EvaluatorAnswer& answer : evaluators_of(datapath)) {
    if (answer.processor == processor && answer.nodes > 0) return answer.name;
  }
  return "";
}

void write_rows(const std::string& path, const nlohmann::ordered_json& rows) {
  if (path.empty()) return;
  ReplacementFile file(path);
  file.write(nlohmann::ordered_json{{"schema", "tcnum.benchmark/1"}, {"rows", rows}}.dump(2) + "\n");
  file.commit();
}

}  // namespace tcnum
