#include "decoded_tiles.hpp"

#include <bit>
#include <cstring>

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

namespace {

template <class Code>
Code load(const std::byte* codes, std::size_t i) {
  Code code;
  std::memcpy(&code, codes + i * sizeof(Code), sizeof(Code));
  return code;
}

}  // namespace

/// Reads operands of one rule.
class DecodedTiles::Reader {
 public:
  /// A reader of about `size` numbers.
  Reader(const OperandRule& rule, std::size_t size) : rule_(rule), format_(format(rule.format)) {
    const int bits = format_.storage_bits;
    if (bits > 8 || size < 1024) return;
    table_.reserve(std::size_t{1} << bits);
    for (std::uint64_t code = 0; code < std::uint64_t{1} << bits; ++code) table_.push_back(number(code));
  }

  /// Reads row `row` of `to`: the codes from `first` on, `stride` apart.
  void read_row(const Codes& codes, std::size_t first, std::size_t stride, Numbers& to, std::size_t row,
                std::size_t length) const {
    const auto read = [&]<class Code>(Code) {
      const std::byte* from = codes.bytes().data();
      if (to.wide)
        read_row<Code>(from, first, stride, to, to.wide_significand.data(), row, length);
      else
        read_row<Code>(from, first, stride, to, to.significand.data(), row, length);
    };
    switch (codes.bytes_each()) {
      case 1:
        return read(std::uint8_t{});
      case 2:
        return read(std::uint16_t{});
      case 4:
        return read(std::uint32_t{});
      default:
        return read(std::uint64_t{});
    }
  }

 private:
  template <class Code, class Significand>
  void read_row(const std::byte* codes, std::size_t first, std::size_t stride, Numbers& to, Significand* significand,
                std::size_t row, std::size_t length) const {
    std::int32_t *exponent = to.exponent.data(), *natural = to.natural.data();
    std::uint8_t* negative = to.negative.data();
    const Number* table = table_.empty() ? nullptr : table_.data();
    const std::size_t mask = table_.size() - 1;
    std::uint8_t flags = 0;
    for (std::size_t i = 0, at = row * length; i < length; ++i, ++at) {
      const Code code = load<Code>(codes, first + i * stride);
      const Number x = table != nullptr ? table[code & mask] : number(code);
      significand[at] = static_cast<Significand>(x.significand);
      exponent[at] = x.exponent;
      natural[at] = x.natural;
      negative[at] = x.negative;
      flags |= x.flags;
    }
    to.flags[row] = flags;
  }

  /// Takes the short way for what is a normal number in every floating-point format.
  Number number(std::uint64_t code) const {
    const std::uint64_t top = (std::uint64_t{1} << format_.exponent_bits) - 1;
    const std::uint64_t shifted = (code & format_.code_mask()) >> format_.padding_bits;
    const std::uint64_t field = shifted >> format_.fraction_bits & top;
    if (field == 0 || field == top) return read(rule_, code);
    const std::uint64_t hidden = std::uint64_t{1} << format_.fraction_bits;
    const auto magnitude = static_cast<std::int64_t>((shifted & (hidden - 1)) | hidden);
    const bool negative = format_.has_sign && (code >> (format_.storage_bits - 1) & 1) != 0;
    const std::int32_t exponent = static_cast<std::int32_t>(field) - format_.bias;
    return {negative ? -magnitude : magnitude, exponent, exponent, negative, 0};
  }

  OperandRule rule_;
  Format format_;
  std::vector<Number> table_;  // of narrow formats' codes, where there is enough to read
};

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
  const std::size_t k = tiles.k, a_rows = count * tiles.m, b_rows = count * tiles.n, size = count * tiles.m * tiles.n;
  prepare(a_, a, a_rows, k);
  prepare(b_, b, b_rows, k);
  prepare(c_, c, size, 1);
  const Reader read_a(a, a_rows * k), read_b(b, b_rows * k), read_c(c, size);
  for (std::size_t row = 0; row < a_rows; ++row) {
    read_a.read_row(tiles.a, tiles.a_index(first, row, 0), 1, a_, row, k);
  }
  for (std::size_t row = 0; row < b_rows; ++row) {
    const std::size_t t = first + row / tiles.n;
    read_b.read_row(tiles.b, tiles.b_index(t, 0, row % tiles.n), tiles.n, b_, row, k);
  }
  for (std::size_t at = 0; at < size; ++at) {
    read_c.read_row(tiles.c, tiles.c_index(first, 0, at), 1, c_, at, 1);
  }
}

}  // namespace tcnum
