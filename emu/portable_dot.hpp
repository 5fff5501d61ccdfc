// Evaluation of a PortableDatapath, one dot problem at a time. The rules are those of exact.cpp; rounding is
// rounding_steps.hpp's. What is ordinary goes many at a time in portable_patch.hpp.
#pragma once

#include <bit>
#include <cmath>

#include "portable_datapath.hpp"
#include "rounding_steps.hpp"
#include "tcnum/host_device.hpp"
#include "tcnum/integers.hpp"

namespace tcnum::portable {

/// Exponent of a zero, which takes part in no alignment: with any other, even the largest, it is below all products.
/// 16 bits hold two of them.
inline constexpr std::int32_t kNoExponent = -1000;

/// An accumulator taken apart: sign · magnitude · 2^(exponent − fraction bits of its format). Infinities have magnitude
/// 1 and NaNs 0, with `special`.
struct Number {
  std::int32_t magnitude, sign, exponent;
  bool special;
};

/// c, whose format has infinities.
TCNUM_HOST_DEVICE inline Number read_accumulator(const PortableFields& fields, const OperandRule& rule,
                                                 std::uint32_t code) {
  const std::uint32_t significand = code >> fields.padding_bits, hidden = 1u << fields.fraction_bits;
  const std::uint32_t field = significand >> fields.fraction_bits & fields.top;
  std::uint32_t magnitude = significand & (hidden - 1);
  Number x{0, (code >> (fields.storage_bits - 1) & 1) != 0 ? -1 : 1, static_cast<std::int32_t>(field) - fields.bias,
           false};
  if (field == fields.top) {
    x.special = true;
    magnitude = magnitude == 0 ? 1 : 0;
  } else if (field != 0) {
    magnitude |= hidden;
  } else {
    if (rule.subnormals == Subnormals::flushed) magnitude = 0;
    x.exponent = magnitude == 0 ? kNoExponent : 1 - fields.bias;
    if (magnitude != 0 && rule.subnormal_exponent == SubnormalExponent::normalised) {
      const int up = fields.fraction_bits + 1 - width(magnitude);
      magnitude <<= up;
      x.exponent -= up;
    }
  }
  x.magnitude = static_cast<std::int32_t>(magnitude);
  return x;
}

/// 2^exponent, a normal double.
TCNUM_HOST_DEVICE inline double power_of_two(int exponent) {
#ifdef __CUDA_ARCH__
  return __hiloint2double((exponent + 1023) << 20, 0);
#else
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
#endif
}

TCNUM_HOST_DEVICE inline std::uint32_t low_word(double x) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__double2loint(x));
#else
  return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x));
#endif
}
TCNUM_HOST_DEVICE inline std::uint32_t high_word(double x) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__double2hiint(x));
#else
  return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(x) >> 32);
#endif
}
TCNUM_HOST_DEVICE inline double from_words(std::uint32_t high, std::uint32_t low) {
#ifdef __CUDA_ARCH__
  return __hiloint2double(static_cast<int>(high), static_cast<int>(low));
#else
  return std::bit_cast<double>(static_cast<std::uint64_t>(high) << 32 | low);
#endif
}
inline constexpr std::uint32_t kSignBit = 1u << 31;
inline constexpr int kBias = 1023, kHighFraction = 20;  ///< of a double, and of its high word

/// Numbers of the rows of A, or the columns of B, place by place (PortableDatapath::place): what is of row r's number
/// at place p is element p · pitch + r.
struct Side {
  const double* value;           ///< magnitudes; of an infinity 1, of a NaN 0
  const std::uint32_t* sign;     ///< 0, or all ones of a negative number
  const std::int16_t* exponent;  ///< `copies` of each
  const std::uint32_t* signs;    ///< of each row: the signs at the first 32 places, as bits
  /// Of each row: whether any of its numbers is an infinity or a NaN, which has kSpecial as its exponent.
  const std::uint8_t* special;
  int pitch, copies, fraction_bits;
  static constexpr std::int16_t kSpecial = 8000;

  TCNUM_HOST_DEVICE int exponent_at(int at) const { return exponent[at * copies]; }
  TCNUM_HOST_DEVICE bool is_special(int at) const { return exponent_at(at) == kSpecial; }
  TCNUM_HOST_DEVICE bool negative(int at) const { return sign[at] != 0; }
  /// The significand, in units of its last place.
  TCNUM_HOST_DEVICE std::uint32_t magnitude(int at) const {
    return static_cast<std::uint32_t>(value[at] * power_of_two(fraction_bits - exponent_at(at)));
  }
};

/// What a Side has of a number.
struct SideNumber {
  double value;
  std::uint32_t sign;
  std::int16_t exponent;
  TCNUM_HOST_DEVICE bool special() const { return exponent == Side::kSpecial; }
};
TCNUM_HOST_DEVICE inline SideNumber read(const PortableFields& fields, std::uint32_t code) {
  const std::uint32_t negative = code >> (fields.storage_bits - 1);
  const std::uint32_t magnitude = (code ^ negative << (fields.storage_bits - 1)) >> fields.padding_bits;
  const std::uint32_t sign = 0 - negative;
  if (magnitude >= fields.first_special) return {magnitude == fields.infinity ? 1.0 : 0.0, sign, Side::kSpecial};
  if (magnitude < fields.smallest) return {0, sign, static_cast<std::int16_t>(kNoExponent)};
  // The fields, where a double has its own, are the number divided by 2^(1023 − bias), even if it is subnormal.
  const double value =
      from_words(magnitude << (kHighFraction - fields.fraction_bits), 0) * power_of_two(kBias - fields.bias);
  const int exponent = static_cast<int>(high_word(value) >> kHighFraction) - kBias;
  return {value, sign, static_cast<std::int16_t>(exponent < fields.floor ? fields.floor : exponent)};
}

/// A node's result: ±magnitude · 2^lsb, or one that is not finite.
struct Value {
  enum class Kind : std::uint8_t { finite, infinity, nan };
  std::uint32_t magnitude;
  std::int16_t lsb, exponent;
  bool negative;
  Kind kind;
};

/// The operand c.
TCNUM_HOST_DEVICE inline Value accumulator(const PortableDatapath& d, std::uint32_t code) {
  const Number x = read_accumulator(d.c_fields, d.c_rule, code);
  Value v;
  v.magnitude = static_cast<std::uint32_t>(x.magnitude);
  v.exponent = static_cast<std::int16_t>(x.magnitude == 0 ? 0 : x.exponent);
  v.lsb = static_cast<std::int16_t>(v.exponent - d.c.fraction_bits);
  v.negative = x.sign < 0;
  v.kind = !x.special ? Value::Kind::finite : x.magnitude != 0 ? Value::Kind::infinity : Value::Kind::nan;
  return v;
}

/// What a value asks of an alignment.
TCNUM_HOST_DEVICE inline std::int32_t exponent_of(const Value& v) {
  return v.magnitude == 0 ? 2 * kNoExponent : v.exponent;
}

TCNUM_HOST_DEVICE inline std::int32_t alignment_of(const Unit& unit, std::int32_t highest) {
  return unit.zero_exponent.kind == ZeroExponentKind::floor && unit.zero_exponent.value > highest
             ? unit.zero_exponent.value
             : highest;
}

TCNUM_HOST_DEVICE inline bool zero_is_negative(const Unit& unit, bool all_negative, bool any_negative) {
  if (unit.zero_sign == ZeroSign::positive) return false;
  const bool down = !unit.result.empty() && unit.result.step[unit.result.count - 1].rounding == Rounding::down;
  return all_negative || (any_negative && down);
}

TCNUM_HOST_DEVICE TCNUM_NOINLINE inline Value rounded(const PortableDatapath& d, const Unit& unit,
                                                      Rounded<std::uint64_t> r, int alignment) {
  unsigned consulted = 0;
  apply_steps<false>(r, unit.result, alignment, unit.underflow_sign,
                     d.c_rule.subnormal_exponent == SubnormalExponent::minimum, consulted);
  Value v;
  v.magnitude = static_cast<std::uint32_t>(r.magnitude);
  v.lsb = static_cast<std::int16_t>(r.lsb);
  v.exponent = static_cast<std::int16_t>(r.exponent);
  v.negative = r.negative;
  v.kind = r.infinite ? Value::Kind::infinity : Value::Kind::finite;
  return v;
}

/// A term that is no product, in units of 2^lsb.
TCNUM_HOST_DEVICE inline std::int64_t aligned(const Unit& unit, const Value& v, int lsb) {
  if (v.magnitude == 0) return 0;
  const int shift = lsb - v.lsb;
  const std::uint64_t kept = shift <= 0
                                 ? std::uint64_t{v.magnitude} << -shift
                                 : round_right<std::uint64_t>(v.magnitude, shift, v.negative, unit.align_rounding);
  return v.negative ? -static_cast<std::int64_t>(kept) : static_cast<std::int64_t>(kept);
}

/// The sign of a sum that is zero.
TCNUM_HOST_DEVICE inline bool zero_sum_is_negative(const PortableNode& node, const Unit& unit, const Side& a, int row,
                                                   const Side& b, int column, const Value* first, const Value* second) {
  if (unit.zero_sign == ZeroSign::positive) return false;
  bool all = true, any = false;
  for (int p = node.first; p < node.first + node.count; ++p) {
    const bool negative = a.negative(p * a.pitch + row) != b.negative(p * b.pitch + column);
    all = all && negative;
    any = any || negative;
  }
  for (const Value* v : {first, second}) {
    if (v == nullptr) continue;
    all = all && v->negative;
    any = any || v->negative;
  }
  return zero_is_negative(unit, all, any);
}

/// The sum of a node's finite terms, which is in units of 2^(alignment − fraction_bits), rounded.
TCNUM_HOST_DEVICE inline Value total(const PortableDatapath& d, const PortableNode& node, const Side& a, int row,
                                     const Side& b, int column, int alignment, std::int64_t sum, const Value* first,
                                     const Value* second) {
  const Unit& unit = d.units[node.unit];
  const int lsb = alignment - unit.fraction_bits;
  const std::uint64_t magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  if (magnitude == 0) {
    const bool negative = zero_sum_is_negative(node, unit, a, row, b, column, first, second);
    return rounded(d, unit, Rounded<std::uint64_t>{0, 0, alignment <= kNoExponent / 2 ? 0 : alignment, negative},
                   alignment);
  }
  return rounded(d, unit, Rounded<std::uint64_t>{magnitude, lsb, alignment, sum < 0}, alignment);
}

/// The exact sum of two finite numbers. What the smaller one has below the last of 64 bits is folded into that bit,
/// which lies far below all bits that decide a rounding.
TCNUM_HOST_DEVICE inline Rounded<std::uint64_t> sum_of_two(const Unit& unit, const Value& x, const Value& y) {
  const auto end = [](const Value& v) { return v.magnitude == 0 ? kNoExponent : width(v.magnitude) + v.lsb; };
  const bool second = end(x) < end(y);
  const Value &large = second ? y : x, &small = second ? x : y;
  Rounded<std::uint64_t> r{0, 0, 0, zero_is_negative(unit, x.negative && y.negative, x.negative || y.negative)};
  if (large.magnitude == 0) return r;
  const int up = 62 - width(large.magnitude);
  const std::uint64_t top = std::uint64_t{large.magnitude} << up, magnitude = small.magnitude;
  const int lsb = large.lsb - up, down = lsb - small.lsb;
  std::uint64_t rest = 0;
  if (magnitude == 0)
    rest = 0;
  else if (down <= 0)
    rest = magnitude << -down;
  else if (down >= 64)
    rest = 1;
  else
    rest = (magnitude >> down) | ((magnitude & ((std::uint64_t{1} << down) - 1)) != 0 ? 1 : 0);
  const bool turned = large.negative != small.negative && rest > top;
  const std::uint64_t sum = large.negative == small.negative ? top + rest : turned ? rest - top : top - rest;
  if (sum != 0) r = {sum, lsb, 0, large.negative != turned};
  return r;
}

TCNUM_HOST_DEVICE inline std::uint64_t to_code(const PortableDatapath& d, const Value& v) {
  if (v.kind == Value::Kind::nan) return d.nan.code;
  return pack(d.result,
              Rounded<std::uint32_t>{v.magnitude, v.lsb, v.exponent, v.negative, v.kind == Value::Kind::infinity});
}

/// How products are brought to units of 2^(alignment − fraction_bits): shifted up, then down by the distance of their
/// exponent from the alignment, and `down`.
struct Shift {
  int up, down;
};
TCNUM_HOST_DEVICE inline Shift shift_of(const PortableDatapath& d, const Unit& unit) {
  const int up = unit.fraction_bits - d.a.fraction_bits - d.b.fraction_bits;
  return {up > 0 ? up : 0, up < 0 ? -up : 0};
}

/// Infinities and NaNs among a node's terms.
struct Specials {
  bool nan = false, positive = false, negative = false;
  TCNUM_HOST_DEVICE void add_infinity(bool is_negative) { (is_negative ? negative : positive) = true; }
  TCNUM_HOST_DEVICE void add(const Value& v) {
    if (v.kind == Value::Kind::nan) nan = true;
    if (v.kind == Value::Kind::infinity) add_infinity(v.negative);
  }
  TCNUM_HOST_DEVICE bool any() const { return nan || positive || negative; }
  TCNUM_HOST_DEVICE Value result() const {
    const bool is_nan = nan || (positive && negative);
    return {0, 0, 0, negative, is_nan ? Value::Kind::nan : Value::Kind::infinity};
  }
};

/// A product of which one operand at least is an infinity or a NaN.
TCNUM_HOST_DEVICE inline void add_special_product(const Side& a, int at_a, const Side& b, int at_b,
                                                  Specials& specials) {
  if (!a.is_special(at_a) && !b.is_special(at_b)) return;
  // A special operand of value 0 is a NaN; an ordinary one is a zero, of which infinity makes a NaN too.
  if (a.value[at_a] == 0 || b.value[at_b] == 0)
    specials.nan = true;
  else
    specials.add_infinity(a.negative(at_a) != b.negative(at_b));
}

/// Any dot problem of a datapath of sums.
TCNUM_HOST_DEVICE inline std::uint64_t dot(const PortableDatapath& d, const Side& a, int row, const Side& b, int column,
                                           std::uint32_t c_code) {
  const Value c = accumulator(d, c_code);
  const bool special = a.special[row] != 0 || b.special[column] != 0;
  Value results[PortableDatapath::kMostNodes];
  for (int number = 0; number < d.nodes; ++number) {
    const PortableNode& node = d.node[number];
    const Unit& unit = d.units[node.unit];
    const auto other = [&](int which) -> const Value* {
      const int n = node.others[which];
      return n == PortableNode::kNone ? nullptr : n == PortableNode::kAccumulator ? &c : &results[n];
    };
    const Value *first = other(0), *second = other(1);
    const int end = node.first + node.count;

    Specials specials;
    if (first != nullptr) specials.add(*first);
    if (second != nullptr) specials.add(*second);
    for (int p = node.first; special && p < end; ++p) {
      add_special_product(a, p * a.pitch + row, b, p * b.pitch + column, specials);
    }
    if (specials.any()) {
      results[number] = specials.result();
      continue;
    }
    if (node.is_pair) {
      results[number] = rounded(d, unit, sum_of_two(unit, *first, *second), 0);
      continue;
    }
    std::int32_t highest = 2 * kNoExponent;
    if (first != nullptr) highest = exponent_of(*first);
    if (second != nullptr && exponent_of(*second) > highest) highest = exponent_of(*second);
    for (int p = node.first; p < end; ++p) {
      const int exponent = a.exponent_at(p * a.pitch + row) + b.exponent_at(p * b.pitch + column);
      if (exponent > highest) highest = exponent;
    }
    const int alignment = alignment_of(unit, highest);
    const Shift shift = shift_of(d, unit);
    std::int64_t sum = 0;
    for (int p = node.first; p < end; ++p) {
      const int at_a = p * a.pitch + row, at_b = p * b.pitch + column;
      const std::uint32_t magnitude = a.magnitude(at_a) * b.magnitude(at_b) << shift.up;
      const int down = alignment + shift.down - a.exponent_at(at_a) - b.exponent_at(at_b);
      const bool negative = a.negative(at_a) != b.negative(at_b);
      const std::int64_t kept = magnitude == 0 ? 0 : round_right(magnitude, down, negative, unit.align_rounding);
      sum += negative ? -kept : kept;
    }
    const int lsb = alignment - unit.fraction_bits;
    if (first != nullptr) sum += aligned(unit, *first, lsb);
    if (second != nullptr) sum += aligned(unit, *second, lsb);
    results[number] = total(d, node, a, row, b, column, alignment, sum, first, second);
  }
  return to_code(d, results[d.nodes - 1]);
}

// --- Integers.

TCNUM_HOST_DEVICE inline std::uint64_t integer_dot(const PortableDatapath& d, const std::int32_t* a, int a_pitch,
                                                   const std::int32_t* b, int b_pitch, std::uint64_t c_code) {
  const bool differ = d.integers.operation == ProductOperation::exclusive_or;
  std::int64_t results[PortableDatapath::kMostNodes];
  bool overflowed = false;
  for (int number = 0; number < d.nodes; ++number) {
    const PortableNode& node = d.node[number];
    std::int32_t products = 0;
    for (int p = node.first; p < node.first + node.count; ++p) {
      const std::int32_t x = a[p * a_pitch], y = b[p * b_pitch];
      products += differ ? x ^ y : x * y;
    }
    std::int64_t sum = products;
    for (const int other : node.others) {
      if (other == PortableNode::kAccumulator) sum += integer_of(d.c, c_code);
      if (other >= 0) sum += results[other];
    }
    results[number] = apply_steps(d.integers.unit[static_cast<std::size_t>(node.unit)], sum, overflowed);
  }
  return static_cast<std::uint64_t>(results[d.nodes - 1]) & d.result.code_mask();
}

// --- Chains of the machine's FMAs.

TCNUM_HOST_DEVICE inline bool is_nan(std::uint64_t code) {
  return (code & ~(std::uint64_t{1} << 63)) > std::uint64_t{0x7ff} << 52;
}
TCNUM_HOST_DEVICE inline std::uint64_t fused_multiply_add(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint64_t>(__double_as_longlong(__fma_rn(__longlong_as_double(static_cast<long long>(a)),
                                                                  __longlong_as_double(static_cast<long long>(b)),
                                                                  __longlong_as_double(static_cast<long long>(c)))));
#else
  return std::bit_cast<std::uint64_t>(
      std::fma(std::bit_cast<double>(a), std::bit_cast<double>(b), std::bit_cast<double>(c)));
#endif
}
/// Operand i of the chain is a[i · a_pitch] and b[i · b_pitch], in the chain's order. Which NaN a NaN is, is the
/// datapath's own affair: of the operands of a step the first in the rule's order, made quiet, where the rule keeps
/// them.
TCNUM_HOST_DEVICE inline std::uint64_t fma_chain_dot(const PortableDatapath& d, const std::uint64_t* a, int a_pitch,
                                                     const std::uint64_t* b, int b_pitch, std::uint64_t c) {
  constexpr std::uint64_t kQuiet = std::uint64_t{1} << 51;
  const auto payload = [&](std::uint64_t operand) { return d.nan.propagate ? operand | kQuiet : d.nan.code; };
  std::uint64_t sum = is_nan(c) ? payload(c) : c;
  for (int p = 0; p < d.k; ++p) {
    const std::uint64_t x = a[p * a_pitch], y = b[p * b_pitch], next = fused_multiply_add(x, y, sum);
    if (!is_nan(next)) {
      sum = next;
      continue;
    }
    std::uint64_t code = d.nan.code;
    for (int i = 2; i >= 0; --i) {
      const NanOperand which = d.nan.order[static_cast<std::size_t>(i)];
      if (which == NanOperand::a && is_nan(x)) code = payload(x);
      if (which == NanOperand::b && is_nan(y)) code = payload(y);
      if (which == NanOperand::c && is_nan(sum)) code = sum;
    }
    sum = code;
  }
  return sum;
}

}  // namespace tcnum::portable
