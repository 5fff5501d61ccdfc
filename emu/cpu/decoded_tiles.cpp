#include "decoded_tiles.hpp"

#include <bit>
#include <cstring>

#include "emu/alignment.hpp"
#include "emu/bit_width.hpp"

namespace tcnum {

/// A code taken apart.
struct DecodedNumber {
  std::int64_t significand = 0;
  std::int32_t exponent = kNotAligned32;
  std::int32_t natural = 0;
  bool negative = false;
  std::uint8_t flags = 0;
};

DecodedNumber read_number(const OperandRule& rule, std::uint64_t code) {
  const Format& f = format(rule.format);
  const Decoded d = decode(f, code);
  DecodedNumber number;
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
      const int up = f.fraction_bits + 1 - bit_width(d.significand);
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
class Reader {
 public:
  /// A reader of about `size` numbers.
  Reader(const OperandRule& rule, std::size_t size) : fields_(rule) {
    const int bits = format(rule.format).storage_bits;
    if (bits > 8 || size < 1024) return;
    table_.reserve(std::size_t{1} << bits);
    for (std::uint64_t code = 0; code < std::uint64_t{1} << bits; ++code) table_.push_back(fields_.number(code));
  }

  /// Where rows of codes lie: from `first` on, `row_stride` from row to row, `stride` within a row of `length`.
  struct Rows {
    std::size_t first, row_stride, stride, length;
  };

  /// Reads rows row … row + count − 1 of `to`.
  void read_rows(const Codes& codes, const Rows& from, DecodedNumbers& to, std::size_t row, std::size_t count) const {
    switch (codes.bytes_each()) {
      case 1:
        return read_rows<std::uint8_t>(codes.bytes().data(), from, to, row, count);
      case 2:
        return read_rows<std::uint16_t>(codes.bytes().data(), from, to, row, count);
      case 4:
        return read_rows<std::uint32_t>(codes.bytes().data(), from, to, row, count);
      default:
        return read_rows<std::uint64_t>(codes.bytes().data(), from, to, row, count);
    }
  }

 private:
  /// How to take a normal number of any floating-point format apart; what else there is takes the long way.
  struct Fields {
    explicit Fields(const OperandRule& operand) : rule(operand) {
      const Format& f = format(rule.format);
      mask = f.code_mask();
      padding = f.padding_bits;
      fraction = f.fraction_bits;
      top = (std::uint64_t{1} << f.exponent_bits) - 1;
      bias = f.bias;
      sign = f.has_sign ? std::uint64_t{1} << (f.storage_bits - 1) : 0;
    }
    DecodedNumber number(std::uint64_t code) const {
      const std::uint64_t field = (code & mask & ~sign) >> padding >> fraction;
      if (field == 0 || field >= top) return read_number(rule, code);
      const std::uint64_t hidden = std::uint64_t{1} << fraction;
      const auto magnitude = static_cast<std::int64_t>((code >> padding & (hidden - 1)) | hidden);
      const std::int32_t exponent = static_cast<std::int32_t>(field) - bias;
      const bool negative = (code & sign) != 0;
      return {negative ? -magnitude : magnitude, exponent, exponent, negative, 0};
    }

    OperandRule rule;
    std::uint64_t mask, sign, top;
    int padding, fraction, bias;
  };

  template <class Code>
  void read_rows(const std::byte* codes, const Rows& from, DecodedNumbers& to, std::size_t row,
                 std::size_t count) const {
    if (to.wide)
      read_rows<Code>(codes, from, to, to.wide_significand.data(), row, count);
    else
      read_rows<Code>(codes, from, to, to.significand.data(), row, count);
  }

  template <class Code, class Significand>
  void read_rows(const std::byte* codes, const Rows& rows, DecodedNumbers& to, Significand* significand,
                 std::size_t first, std::size_t count) const {
    // All that the loop reads is local: for all that the compiler knows, the flags are written over anything else.
    const Fields fields = fields_;
    const Rows from = rows;
    const DecodedNumber* table = table_.empty() ? nullptr : table_.data();
    const std::size_t mask = table_.size() - 1;
    std::int32_t *exponent = to.exponent.data(), *natural = to.natural.data();
    std::uint8_t *negative = to.negative.data(), *row_flags = to.flags.data();
    std::size_t at = first * from.length;
    for (std::size_t row = 0; row < count; ++row) {
      std::uint8_t flags = 0;
      for (std::size_t i = 0; i < from.length; ++i, ++at) {
        const Code code = load<Code>(codes, from.first + row * from.row_stride + i * from.stride);
        const DecodedNumber x = table != nullptr ? table[code & mask] : fields.number(code);
        significand[at] = static_cast<Significand>(x.significand);
        exponent[at] = x.exponent;
        natural[at] = x.natural;
        negative[at] = x.negative;
        flags |= x.flags;
      }
      row_flags[first + row] = flags;
    }
  }

  Fields fields_;
  std::vector<DecodedNumber> table_;  // of narrow formats' codes, where there is enough to read
};

DecodedTiles::DecodedTiles(const Tiles& tiles, const OperandRule& a, const OperandRule& b, const OperandRule& c,
                           std::size_t first, std::size_t count)
    : tiles_(&tiles), first_(first) {
  const auto prepare = [](DecodedNumbers& numbers, const OperandRule& rule, std::size_t rows, std::size_t length) {
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
  const std::size_t m = tiles.m, n = tiles.n, k = tiles.k;
  prepare(a_, a, count * m, k);
  prepare(b_, b, count * n, k);
  prepare(c_, c, count * m * n, 1);
  Reader(a, count * m * k).read_rows(tiles.a, {tiles.a_index(first, 0, 0), k, 1, k}, a_, 0, count * m);
  const Reader read_b(b, count * n * k);
  for (std::size_t t = 0; t < count; ++t) {
    read_b.read_rows(tiles.b, {tiles.b_index(first + t, 0, 0), 1, n, k}, b_, t * n, n);
  }
  Reader(c, count * m * n).read_rows(tiles.c, {tiles.c_index(first, 0, 0), 1, 1, 1}, c_, 0, count * m * n);
}

}  // namespace tcnum
