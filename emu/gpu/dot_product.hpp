// Evaluation of a GpuDatapath, one dot problem at a time. The rules are those of exact.cpp; rounding is
// rounding_steps.hpp's. What is ordinary goes many at a time in emu/gpu/patch.hpp.
#pragma once

#include <cmath>
#include <type_traits>

#include "conversions.hpp"
#include "emu/alignment.hpp"
#include "emu/host_device.hpp"
#include "emu/integers.hpp"
#include "emu/rounding_steps.hpp"
#include "gpu_datapath.hpp"

namespace tcnum::gpu {

/// An exponent side by side, twice.
TCNUM_HOST_DEVICE inline std::uint32_t twice(int exponent) {
  return static_cast<std::uint32_t>(static_cast<std::uint16_t>(exponent)) * 0x10001u;
}

/// Calls with how many of a datapath's products have places side by side.
template <class With>
TCNUM_HOST_DEVICE void with_adjacent(const GpuDatapath& d, const With& with) {
  if (d.adjacent == 4)
    with.template operator()<4>();
  else if (d.adjacent == 2)
    with.template operator()<2>();
  else
    with.template operator()<1>();
}

/// Places of a line, as bits: place p of the first 32 is bit p, and others fall on them too.
struct Places {
  std::uint32_t negative = 0;
  std::uint32_t zero = 0;     ///< zeros and NaNs
  std::uint32_t special = 0;  ///< infinities and NaNs
};

/// Numbers of 64 lines, which are rows of A or columns of B, place by place (GpuDatapath::place). An infinity is a
/// 1 and a NaN a 0 that are marked. All are a little larger than they are, zeros too, which is what patches cut them by
/// (emu/gpu/patch.hpp): a double's last bits are not zero.
template <bool kIsA>
struct Side {
  static constexpr int kLines = 64;
  static constexpr std::uint32_t kOrdinary = 1, kSpecial = 3;              ///< low words of values
  using Exponent = std::conditional_t<kIsA, std::uint32_t, std::int16_t>;  ///< two copies side by side, or one

  double* value;  ///< with signs
  Exponent* exponent;
  std::uint32_t *negative, *zero, *special;  ///< of each line: Places
  int fraction_bits;

  /// Where the value at a place of a line is. Of every four of B, the first two are in one half of the lines and the
  /// others in the other: neighbouring threads, which load four each, then load from neighbouring memory.
  TCNUM_HOST_DEVICE static int value_at(int place, int line) {
    constexpr int kHalf = kLines / 2;
    return place * kLines + (kIsA ? line : (line & 2) * (kHalf / 2) + (line >> 2) * 2 + (line & 1));
  }
  TCNUM_HOST_DEVICE int exponent_at(int place, int line) const {
    return static_cast<std::int16_t>(exponent[place * kLines + line]);
  }
  TCNUM_HOST_DEVICE bool is_special(int place, int line) const {
    return low_word(value[value_at(place, line)]) == kSpecial;
  }
  TCNUM_HOST_DEVICE bool is_zero(int place, int line) const {
    return (high_word(value[value_at(place, line)]) & ~kSignBit) == 0;
  }
  TCNUM_HOST_DEVICE bool is_negative(int place, int line) const {
    return (high_word(value[value_at(place, line)]) & kSignBit) != 0;
  }
  /// The significand, in units of its last place.
  TCNUM_HOST_DEVICE std::uint32_t magnitude(int place, int line) const {
    const double x = value[value_at(place, line)] * power_of_two(fraction_bits - exponent_at(place, line));
    return static_cast<std::uint32_t>(x < 0 ? -x : x);
  }

  /// Takes codes of a line apart, which go to `first` and the places behind it; the bits of those lie in one word. What
  /// it returns is to be added to the line's.
  template <int kCount>
  TCNUM_HOST_DEVICE Places put(const GpuFields& fields, int line, int first,
                               const std::uint32_t (&code)[kCount]) const {
    const int up = 32 - fields.storage_bits, down = up + fields.padding_bits;
    const double scale = power_of_two(kBias - fields.bias);
    double* const values = value + value_at(first, line);
    Exponent* const exponents = exponent + first * kLines + line;
    Places places;
    bool any_special = false;
    TCNUM_UNROLL for (int i = 0; i < kCount; ++i) {
      const std::uint32_t top = code[i] << up, magnitude = (top & ~kSignBit) >> down;
      any_special |= magnitude >= fields.first_special;
      // The fields, where a double has its own, are the number divided by 2^(1023 − bias), even if it is subnormal.
      const std::uint32_t fraction = magnitude << (kHighFraction - fields.fraction_bits);
      const std::uint32_t high = magnitude < fields.smallest ? 0 : high_word(from_words(fraction, 0) * scale);
      const int own = static_cast<int>(high >> kHighFraction) - kBias, raised = own < fields.floor ? fields.floor : own;
      values[i * kLines] = from_words(high | (top & kSignBit), kOrdinary);
      exponents[i * kLines] = copies(high == 0 ? kNotAligned16 : raised);
      places.negative |= top >> 31 << i;
      places.zero |= high == 0 ? 1u << i : 0;
    }
    places.negative <<= first % 32;
    places.zero <<= first % 32;
    if (any_special) put_special(fields, line, first, code, places);
    return places;
  }

  /// Multiplies what put() took apart by a scale, as decode() takes one apart. What it returns is to be added to the
  /// line's. A NaN makes NaNs, and so does zero of infinities.
  template <int kCount>
  TCNUM_HOST_DEVICE Places scale(int line, int first, double by, int its_exponent) const {
    Places places;
    TCNUM_UNROLL for (int i = 0; i < kCount; ++i) {
      const int place = first + i;
      double& its_value = value[value_at(place, line)];
      const bool was_special = is_special(place, line), was_zero = is_zero(place, line);
      const std::uint32_t sign = high_word(its_value) & kSignBit, bit = 1u << place % 32;
      if (by != by || (was_special && (was_zero || by == 0))) {
        its_value = from_words(sign, kSpecial);
        places.special |= bit;
      } else if (was_special) {
        continue;
      } else if (by == 0) {
        its_value = from_words(sign, kOrdinary);
      } else if (!was_zero) {
        const double exact = from_words(high_word(its_value), 0) * by;
        its_value = from_words(high_word(exact), low_word(exact) | kOrdinary);
        exponent[place * kLines + line] = copies(exponent_at(place, line) + its_exponent);
        continue;
      }
      places.zero |= bit;
      exponent[place * kLines + line] = copies(kNotAligned16);
    }
    return places;
  }

 private:
  TCNUM_HOST_DEVICE static Exponent copies(int its_exponent) {
    return static_cast<Exponent>(kIsA ? twice(its_exponent) : its_exponent);
  }
  template <int kCount>
  TCNUM_HOST_DEVICE void put_special(const GpuFields& fields, int line, int first, const std::uint32_t (&code)[kCount],
                                     Places& places) const {
    for (int i = 0; i < kCount; ++i) {
      const int place = first + i;
      const std::uint32_t top = code[i] << (32 - fields.storage_bits), bit = 1u << place % 32;
      const std::uint32_t magnitude = (top & ~kSignBit) >> (32 - fields.storage_bits + fields.padding_bits);
      if (magnitude < fields.first_special) continue;
      const bool is_infinity = magnitude == fields.infinity;
      const std::uint32_t high = is_infinity ? static_cast<std::uint32_t>(kBias) << kHighFraction : 0;
      value[value_at(place, line)] = from_words(high | (top & kSignBit), kSpecial);
      exponent[place * kLines + line] = copies(is_infinity ? 0 : kNotAligned16);
      places.special |= bit;
      places.zero |= is_infinity ? 0 : bit;
    }
  }
};
using SideA = Side<true>;
using SideB = Side<false>;

/// A node's result, or c: ±magnitude · 2^lsb, or one that is not finite.
struct Value32 {
  enum class Kind : std::uint8_t { finite, infinity, nan };
  std::uint32_t magnitude;
  std::int16_t lsb, exponent;  ///< a zero's exponent takes part in no alignment, whatever it is
  bool negative;
  Kind kind;
};

/// The operand c, whose format has infinities.
TCNUM_HOST_DEVICE inline Value32 accumulator(const GpuDatapath& d, std::uint32_t code) {
  const GpuFields& fields = d.c_fields;
  const std::uint32_t significand = code >> fields.padding_bits, hidden = 1u << fields.fraction_bits;
  const std::uint32_t field = significand >> fields.fraction_bits & fields.top, fraction = significand & (hidden - 1);
  Value32 c{fraction, 0, 0, (code >> (fields.storage_bits - 1) & 1) != 0, Value32::Kind::finite};
  int exponent = 0;
  if (field == fields.top) {
    c.kind = fraction == 0 ? Value32::Kind::infinity : Value32::Kind::nan;
  } else if (field != 0) {
    c.magnitude |= hidden;
    exponent = static_cast<int>(field) - fields.bias;
  } else {
    if (d.c_rule.subnormals == Subnormals::flushed) c.magnitude = 0;
    if (c.magnitude != 0) exponent = 1 - fields.bias;
    if (c.magnitude != 0 && d.c_rule.subnormal_exponent == SubnormalExponent::normalised) {
      const int up = fields.fraction_bits + 1 - bit_width(c.magnitude);
      c.magnitude <<= up;
      exponent -= up;
    }
  }
  c.exponent = static_cast<std::int16_t>(exponent);
  c.lsb = static_cast<std::int16_t>(exponent - fields.fraction_bits);
  return c;
}

/// What a value asks of an alignment.
TCNUM_HOST_DEVICE inline std::int32_t exponent_of(const Value32& v) {
  return v.magnitude == 0 ? 2 * kNotAligned16 : v.exponent;
}

TCNUM_HOST_DEVICE TCNUM_NOINLINE inline Value32 rounded(const GpuDatapath& d, const Unit& unit,
                                                        Rounded<std::uint64_t> r, int alignment) {
  unsigned consulted = 0;
  apply_steps<false>(r, unit.result, alignment, unit.underflow_sign,
                     d.c_rule.subnormal_exponent == SubnormalExponent::minimum, consulted);
  Value32 v;
  v.magnitude = static_cast<std::uint32_t>(r.magnitude);
  v.lsb = static_cast<std::int16_t>(r.lsb);
  v.exponent = static_cast<std::int16_t>(r.exponent);
  v.negative = r.negative;
  v.kind = r.infinite ? Value32::Kind::infinity : Value32::Kind::finite;
  return v;
}

/// A term that is no product, in units of 2^lsb.
TCNUM_HOST_DEVICE inline std::int64_t aligned(const Unit& unit, const Value32& v, int lsb) {
  if (v.magnitude == 0) return 0;
  const int shift = lsb - v.lsb;
  const std::uint64_t kept = shift <= 0
                                 ? std::uint64_t{v.magnitude} << -shift
                                 : round_right<std::uint64_t>(v.magnitude, shift, v.negative, unit.align_rounding);
  return v.negative ? -static_cast<std::int64_t>(kept) : static_cast<std::int64_t>(kept);
}

/// The sign of a sum that is zero.
TCNUM_HOST_DEVICE inline bool zero_sum_is_negative(const GpuNode& node, const Unit& unit, const SideA& a, int row,
                                                   const SideB& b, int column, const Value32* first,
                                                   const Value32* second) {
  if (unit.zero_sign == ZeroSign::positive) return false;
  bool all = true, any = false;
  for (int p = node.first; p < node.first + node.count; ++p) {
    const bool negative = a.is_negative(p, row) != b.is_negative(p, column);
    all = all && negative;
    any = any || negative;
  }
  for (const Value32* v : {first, second}) {
    if (v == nullptr) continue;
    all = all && v->negative;
    any = any || v->negative;
  }
  return zero_is_negative(unit, all, any);
}

/// The sum of a node's finite terms, which is in units of 2^(alignment − fraction_bits), rounded.
TCNUM_HOST_DEVICE inline Value32 total(const GpuDatapath& d, const GpuNode& node, const SideA& a, int row,
                                       const SideB& b, int column, int alignment, std::int64_t sum,
                                       const Value32* first, const Value32* second) {
  const Unit& unit = d.units[node.unit];
  const int lsb = alignment - unit.fraction_bits;
  const std::uint64_t magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  if (magnitude == 0) {
    const bool negative = zero_sum_is_negative(node, unit, a, row, b, column, first, second);
    return rounded(d, unit, Rounded<std::uint64_t>{0, 0, alignment <= kNotAligned16 / 2 ? 0 : alignment, negative},
                   alignment);
  }
  return rounded(d, unit, Rounded<std::uint64_t>{magnitude, lsb, alignment, sum < 0}, alignment);
}

/// The exact sum of two finite numbers. What the smaller one has below the last of 64 bits is folded into that bit,
/// which lies far below all bits that decide a rounding.
TCNUM_HOST_DEVICE inline Rounded<std::uint64_t> sum_of_two(const Unit& unit, const Value32& x, const Value32& y) {
  const auto end = [](const Value32& v) { return v.magnitude == 0 ? kNotAligned16 : bit_width(v.magnitude) + v.lsb; };
  const bool second = end(x) < end(y);
  const Value32 &large = second ? y : x, &small = second ? x : y;
  Rounded<std::uint64_t> r{0, 0, 0, zero_is_negative(unit, x.negative && y.negative, x.negative || y.negative)};
  if (large.magnitude == 0) return r;
  const int up = 62 - bit_width(large.magnitude);
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

TCNUM_HOST_DEVICE inline std::uint64_t to_code(const GpuDatapath& d, const Value32& v) {
  if (v.kind == Value32::Kind::nan) return d.nan.code;
  return pack(d.result,
              Rounded<std::uint32_t>{v.magnitude, v.lsb, v.exponent, v.negative, v.kind == Value32::Kind::infinity});
}

/// How products are brought to units of 2^(alignment − fraction_bits): shifted up, then down by the distance of their
/// exponent from the alignment, and `down`.
struct Shift {
  int up, down;
};
TCNUM_HOST_DEVICE inline Shift shift_of(const GpuDatapath& d, const Unit& unit) {
  const int up = unit.fraction_bits - d.a.fraction_bits - d.b.fraction_bits;
  return {up > 0 ? up : 0, up < 0 ? -up : 0};
}

/// Infinities and NaNs among a node's terms.
struct Specials {
  bool nan = false, positive = false, negative = false;
  TCNUM_HOST_DEVICE void add_infinity(bool is_negative) { (is_negative ? negative : positive) = true; }
  TCNUM_HOST_DEVICE void add(const Value32& v) {
    if (v.kind == Value32::Kind::nan) nan = true;
    if (v.kind == Value32::Kind::infinity) add_infinity(v.negative);
  }
  TCNUM_HOST_DEVICE bool any() const { return nan || positive || negative; }
  TCNUM_HOST_DEVICE Value32 result() const {
    const bool is_nan = nan || (positive && negative);
    return {0, 0, 0, negative, is_nan ? Value32::Kind::nan : Value32::Kind::infinity};
  }
};

/// A product of which one operand at least is an infinity or a NaN.
TCNUM_HOST_DEVICE inline void add_special_product(const SideA& a, int row, const SideB& b, int column, int place,
                                                  Specials& specials) {
  if (!a.is_special(place, row) && !b.is_special(place, column)) return;
  // A special operand of value 0 is a NaN; an ordinary one is a zero, of which infinity makes a NaN too.
  if (a.is_zero(place, row) || b.is_zero(place, column))
    specials.nan = true;
  else
    specials.add_infinity(a.is_negative(place, row) != b.is_negative(place, column));
}

/// Any dot problem of a datapath of sums.
TCNUM_HOST_DEVICE inline std::uint64_t dot(const GpuDatapath& d, const SideA& a, int row, const SideB& b, int column,
                                           std::uint32_t c_code) {
  const Value32 c = accumulator(d, c_code);
  const bool special = a.special[row] != 0 || b.special[column] != 0;
  Value32 results[GpuDatapath::kMostNodes];
  for (int number = 0; number < d.nodes; ++number) {
    const GpuNode& node = d.node[number];
    const Unit& unit = d.units[node.unit];
    const auto other = [&](int which) -> const Value32* {
      const int n = node.others[which];
      return n == GpuNode::kNone ? nullptr : n == GpuNode::kAccumulator ? &c : &results[n];
    };
    const Value32 *first = other(0), *second = other(1);
    const int end = node.first + node.count;

    Specials specials;
    if (first != nullptr) specials.add(*first);
    if (second != nullptr) specials.add(*second);
    for (int p = node.first; special && p < end; ++p) {
      add_special_product(a, row, b, column, p, specials);
    }
    if (specials.any()) {
      results[number] = specials.result();
      continue;
    }
    if (node.is_pair) {
      results[number] = rounded(d, unit, sum_of_two(unit, *first, *second), 0);
      continue;
    }
    std::int32_t highest = 2 * kNotAligned16;
    if (first != nullptr) highest = exponent_of(*first);
    if (second != nullptr && exponent_of(*second) > highest) highest = exponent_of(*second);
    for (int p = node.first; p < end; ++p) {
      const int exponent = a.exponent_at(p, row) + b.exponent_at(p, column);
      if (exponent > highest) highest = exponent;
    }
    const int alignment = alignment_of(unit, highest, false);
    const Shift shift = shift_of(d, unit);
    std::int64_t sum = 0;
    for (int p = node.first; p < end; ++p) {
      const std::uint32_t magnitude = a.magnitude(p, row) * b.magnitude(p, column) << shift.up;
      const int down = alignment + shift.down - a.exponent_at(p, row) - b.exponent_at(p, column);
      const bool negative = a.is_negative(p, row) != b.is_negative(p, column);
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

TCNUM_HOST_DEVICE inline std::uint64_t integer_dot(const GpuDatapath& d, const std::int32_t* a, int a_pitch,
                                                   const std::int32_t* b, int b_pitch, std::uint64_t c_code) {
  const bool differ = d.integers.operation == ProductOperation::exclusive_or;
  std::int64_t results[GpuDatapath::kMostNodes];
  bool overflowed = false;
  for (int number = 0; number < d.nodes; ++number) {
    const GpuNode& node = d.node[number];
    std::int32_t products = 0;
    for (int p = node.first; p < node.first + node.count; ++p) {
      const std::int32_t x = a[p * a_pitch], y = b[p * b_pitch];
      products += differ ? x ^ y : x * y;
    }
    std::int64_t sum = products;
    for (const int other : node.others) {
      if (other == GpuNode::kAccumulator) sum += integer_of(d.c, c_code);
      if (other >= 0) sum += results[other];
    }
    results[number] = apply_steps(d.integers.unit[static_cast<std::size_t>(node.unit)], sum, overflowed);
  }
  return static_cast<std::uint64_t>(results[d.nodes - 1]) & d.result.code_mask();
}

// --- The machine's own operations in single precision.

/// a · b, rounded to nearest: never a part of an FMA.
TCNUM_HOST_DEVICE inline float multiply(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b));  // exact until then
#endif
}
TCNUM_HOST_DEVICE inline float flushed(float x) {
  constexpr std::uint32_t kSmallestNormal = 0x00800000;
  return (code_of(x) & ~kSignBit) < kSmallestNormal ? float_of(code_of(x) & kSignBit) : x;
}
/// The number of a code of fp32, tf32, bf16 or fp16.
TCNUM_HOST_DEVICE inline float single_of(const Format& f, const GpuFields& fields, std::uint32_t code) {
  const std::uint32_t sign_bit = 1u << (f.storage_bits - 1);
  if ((code & (sign_bit - 1)) >> f.padding_bits < fields.smallest) return (code & sign_bit) != 0 ? -0.0f : 0.0f;
  if (f.id == FormatId::fp16) return value_of<std::uint16_t>(code);
  return float_of(code << (32 - f.storage_bits) >> f.padding_bits << f.padding_bits);
}
TCNUM_HOST_DEVICE inline std::uint64_t code_of_single(const GpuDatapath& d, float x) {
  if (x != x) return d.nan.code;
  return d.result.id == FormatId::fp16 ? to_half(static_cast<double>(x)) : code_of(x);
}

/// What a node adds: products, and others, which are c, results, or the zero of absent_term().
enum class SingleSum : std::uint8_t { two_products, two_products_and_zero, product_and_other, fma, two_others };

TCNUM_HOST_DEVICE inline bool makes_zeros_positive(const GpuDatapath& d, const GpuNode& node) {
  return d.units[node.unit].zero_sign == ZeroSign::positive;
}
/// What stands for a term that a node does not have: the zero that leaves its sum's sign as it should be.
TCNUM_HOST_DEVICE inline float absent_term(bool zeros_are_positive) { return zeros_are_positive ? 0.0f : -0.0f; }
/// What stands for one of a node's terms if its sums of zero are positive. As it is not −0, no sum is −0 unless it is
/// a negative number that underflows, which an addition to the sum would make positive too.
TCNUM_HOST_DEVICE inline float with_positive_zero(float x) { return x + 0.0f; }

/// Calls with that, and whether products are flushed.
template <class With>
TCNUM_HOST_DEVICE void with_single_sum(const GpuDatapath& d, const GpuNode& node, const With& with) {
  const auto of_products = [&]<SingleSum kSum>() {
    if (d.singles.flushes_products)
      with.template operator()<kSum, true>();
    else
      with.template operator()<kSum, false>();
  };
  if (node.count == 2 && makes_zeros_positive(d, node))
    of_products.template operator()<SingleSum::two_products_and_zero>();
  else if (node.count == 2)
    of_products.template operator()<SingleSum::two_products>();
  else if (node.count == 1 && d.singles.rounds_products)
    of_products.template operator()<SingleSum::product_and_other>();
  else if (node.count == 1)
    with.template operator()<SingleSum::fma, false>();
  else
    with.template operator()<SingleSum::two_others, false>();
}
/// The sum of products x · y and others, but for what becomes of small numbers.
template <SingleSum kSum, bool kFlushesProducts>
TCNUM_HOST_DEVICE float single_sum(const float (&x)[2], const float (&y)[2], const float (&others)[2]) {
  const auto product = [&](int i) {
    const float rounded = multiply(x[i], y[i]);
    return kFlushesProducts ? flushed(rounded) : rounded;
  };
  switch (kSum) {
    case SingleSum::two_products:
      return product(0) + product(1);
    case SingleSum::two_products_and_zero:
      return product(0) + product(1) + 0.0f;  // which does not underflow
    case SingleSum::product_and_other:
      return product(0) + others[0];
    case SingleSum::fma:
      return fused_multiply_add(x[0], y[0], others[0]);
    case SingleSum::two_others:
      break;
  }
  return others[0] + others[1];
}

/// Numbers a[i · a_pitch] and b[i · b_pitch] are at place i.
TCNUM_HOST_DEVICE inline std::uint64_t single_precision_dot(const GpuDatapath& d, const float* a, int a_pitch,
                                                            const float* b, int b_pitch, std::uint64_t c_code) {
  const float c = single_of(d.c, d.c_fields, static_cast<std::uint32_t>(c_code));
  float results[GpuDatapath::kMostNodes];
  for (int number = 0; number < d.nodes; ++number) {
    const GpuNode& node = d.node[number];
    const bool zeros_are_positive = makes_zeros_positive(d, node);
    const float absent = absent_term(zeros_are_positive);
    float x[2] = {}, y[2] = {}, others[2] = {absent, absent};
    for (int p = 0; p < node.count; ++p) {
      x[p] = a[(node.first + p) * a_pitch];
      y[p] = b[(node.first + p) * b_pitch];
    }
    for (int i = 0; i < GpuNode::kMostOthers; ++i) {
      const int other = node.others[i];
      if (other != GpuNode::kNone) others[i] = other == GpuNode::kAccumulator ? c : results[other];
    }
    if (zeros_are_positive) others[0] = with_positive_zero(others[0]);
    float& sum = results[number];
    with_single_sum(d, node, [&]<SingleSum kSum, bool kFlushesProducts>() {
      sum = single_sum<kSum, kFlushesProducts>(x, y, others);
    });
    if (d.singles.flushes[node.unit]) sum = flushed(sum);
  }
  return code_of_single(d, results[d.nodes - 1]);
}

// --- Chains of the machine's FMAs.

TCNUM_HOST_DEVICE inline bool is_nan(std::uint64_t code) {
  return (code & ~(std::uint64_t{1} << 63)) > std::uint64_t{0x7ff} << 52;
}
/// `count` steps of a chain from c on: operand i is a[i · a_pitch] and b[i · b_pitch], in the chain's order. Which NaN
/// a NaN is, is the datapath's own affair: of the operands of a step the first in the rule's order, made quiet, where
/// the rule keeps them.
TCNUM_HOST_DEVICE inline std::uint64_t fma_chain_steps(const GpuDatapath& d, int count, const std::uint64_t* a,
                                                       int a_pitch, const std::uint64_t* b, int b_pitch,
                                                       std::uint64_t c) {
  constexpr std::uint64_t kQuiet = std::uint64_t{1} << 51;
  const auto payload = [&](std::uint64_t operand) { return d.nan.propagate ? operand | kQuiet : d.nan.code; };
  std::uint64_t sum = is_nan(c) ? payload(c) : c;
  for (int p = 0; p < count; ++p) {
    const std::uint64_t x = a[p * a_pitch], y = b[p * b_pitch];
    const std::uint64_t next = code_of(fused_multiply_add(double_of(x), double_of(y), double_of(sum), d.fma_rounding));
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

}  // namespace tcnum::gpu
