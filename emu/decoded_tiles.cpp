#include "decoded_tiles.hpp"

#include <bit>

namespace tcnum {

DecodedTiles::Number DecodedTiles::read(const OperandRule& rule, std::uint64_t code) {
  const Format& f = format(rule.format);
  const Decoded d = decode(f, code);
  Number number;
  number.negative = d.negative;
  number.natural = d.exponent;
  switch (d.number_class) {
    case NumberClass::zero:
      return number;
    case NumberClass::infinity:
    case NumberClass::nan:
      number.flags = kHasSpecial;
      return number;
    case NumberClass::subnormal:
      number.flags = kHasSubnormal;
      break;
    case NumberClass::normal:
      break;
  }
  auto significand = static_cast<std::int64_t>(d.significand);
  if (d.number_class == NumberClass::subnormal) {
    if (rule.subnormals == Subnormals::flushed) return number;
    if (rule.subnormal_exponent == SubnormalExponent::normalised) {
      const int up = f.fraction_bits + 1 - static_cast<int>(std::bit_width(d.significand));
      significand <<= up;
      number.natural -= up;
    }
  }
  number.exponent = number.natural;
  number.significand = d.negative ? -significand : significand;
  return number;
}

void DecodedTiles::Numbers::put(std::size_t at, std::size_t row, const Number& number) {
  if (wide)
    wide_significand[at] = number.significand;
  else
    significand[at] = static_cast<std::int32_t>(number.significand);
  exponent[at] = number.exponent;
  natural[at] = number.natural;
  negative[at] = number.negative;
  flags[row] |= number.flags;
}

DecodedTiles::DecodedTiles(const Tiles& tiles, const OperandRule& a, const OperandRule& b, const OperandRule& c,
                           std::size_t first, std::size_t count)
    : tiles_(&tiles), first_(first) {
  const auto prepare = [](Numbers& numbers, const OperandRule& rule, std::size_t rows, std::size_t length) {
    const std::size_t size = rows * length;
    numbers.fraction_bits = format(rule.format).fraction_bits;
    numbers.wide = numbers.fraction_bits > 30;
    if (numbers.wide)
      numbers.wide_significand.resize(size);
    else
      numbers.significand.resize(size);
    numbers.exponent.resize(size);
    numbers.natural.resize(size);
    numbers.negative.resize(size);
    numbers.flags.resize(rows);
  };
  const std::size_t k = tiles.k;
  prepare(a_, a, count * tiles.m, k);
  prepare(b_, b, count * tiles.n, k);
  prepare(c_, c, count * tiles.m * tiles.n, 1);
  // Narrow formats are read through a table, where there is enough to read.
  const auto reader = [](const OperandRule& rule, std::size_t size) {
    std::vector<Number> table;
    const int bits = format(rule.format).storage_bits;
    if (bits <= 8 && size >= 1024) {
      for (std::uint64_t code = 0; code < std::uint64_t{1} << bits; ++code) table.push_back(read(rule, code));
    }
    return [table = std::move(table), rule](std::uint64_t code) {
      return table.empty() ? read(rule, code) : table[code & (table.size() - 1)];
    };
  };
  const auto read_a = reader(a, count * tiles.m * k), read_b = reader(b, count * tiles.n * k), read_c = reader(c, 0);
  const std::size_t a_first = tiles.a_index(first, 0, 0), c_first = tiles.c_index(first, 0, 0);
  for (std::size_t row = 0, at = 0; row < count * tiles.m; ++row) {
    for (std::size_t kk = 0; kk < k; ++kk, ++at) a_.put(at, row, read_a(tiles.a[a_first + at]));
  }
  for (std::size_t t = 0; t < count; ++t) {
    for (std::size_t j = 0; j < tiles.n; ++j) {
      const std::size_t row = t * tiles.n + j;
      for (std::size_t kk = 0; kk < k; ++kk)
        b_.put(row * k + kk, row, read_b(tiles.b[tiles.b_index(first + t, kk, j)]));
    }
  }
  for (std::size_t at = 0; at < count * tiles.m * tiles.n; ++at) c_.put(at, at, read_c(tiles.c[c_first + at]));
}
}  // namespace tcnum
