// Evaluation of a PortableDatapath: one dot problem at a time, or a patch of rows × columns of those that are out of
// the ordinary in nothing. The rules are those of exact.cpp; rounding is rounding_steps.hpp's.
#pragma once

#include <bit>
#include <cmath>

#include "portable_datapath.hpp"
#include "rounding_steps.hpp"
#include "tcnum/host_device.hpp"
#include "tcnum/integers.hpp"

namespace tcnum::portable {

/// Exponent of a zero, which takes part in no alignment; two of them are still below any other.
inline constexpr std::int32_t kNoExponent = -(1 << 20);

/// An operand taken apart: sign · magnitude · 2^(exponent − fraction bits of its format). Infinities have magnitude 1
/// and NaNs 0, with `special`.
struct Number {
  std::int32_t magnitude, sign, exponent;
  bool special;
};

TCNUM_HOST_DEVICE TCNUM_NOINLINE inline Number read_any(const Format& f, const OperandRule& rule, std::uint32_t code) {
  const Decoded d = decode(f, code);
  Number x{0, d.negative ? -1 : 1, kNoExponent, false};
  if (!d.is_finite()) {
    x.magnitude = d.number_class == NumberClass::infinity ? 1 : 0;
    x.special = true;
    return x;
  }
  const bool subnormal = d.number_class == NumberClass::subnormal;
  if (d.significand == 0 || (subnormal && rule.subnormals == Subnormals::flushed)) return x;
  x.magnitude = static_cast<std::int32_t>(d.significand);
  x.exponent = d.exponent;
  if (subnormal && rule.subnormal_exponent == SubnormalExponent::normalised) {
    const int up = f.fraction_bits + 1 - width(d.significand);
    x.magnitude <<= up;
    x.exponent -= up;
  }
  return x;
}

/// `fields` are the format's.
TCNUM_HOST_DEVICE inline Number read(const PortableFields& fields, const Format& f, const OperandRule& rule,
                                     std::uint32_t code) {
  const std::uint32_t significand = code >> fields.padding_bits, hidden = 1u << fields.fraction_bits;
  const std::uint32_t field = significand >> fields.fraction_bits & fields.top;
  if (field - 1 >= fields.top - 1) return read_any(f, rule, code);  // the first or the last field
  const bool negative = (code >> (fields.storage_bits - 1) & 1) != 0;
  return {static_cast<std::int32_t>((significand & (hidden - 1)) | hidden), negative ? -1 : 1,
          static_cast<std::int32_t>(field) - fields.bias, false};
}

/// The same for c, whose format has infinities, without a call: there are many.
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

/// Numbers of the rows of A, or the columns of B, place by place of PortableDatapath::order: row r's number at place p
/// is element p · pitch + r.
struct Side {
  const std::int32_t *magnitude, *sign, *exponent;
  int pitch;
  /// Of each row: whether any of its numbers is an infinity or a NaN, which has kSpecial as its exponent.
  const std::uint8_t* special;
  static constexpr std::int32_t kSpecial = 1 << 20;
};

TCNUM_HOST_DEVICE inline std::uint32_t shift_right(std::uint32_t x, int shift) {
#ifdef __CUDA_ARCH__
  std::uint32_t y;
  asm("shr.u32 %0, %1, %2;" : "=r"(y) : "r"(x), "r"(shift));  // by 32 and more: 0
  return y;
#else
  return shift > 31 ? 0 : x >> shift;
#endif
}

/// max(a + b, c).
TCNUM_HOST_DEVICE inline std::int32_t add_max(std::int32_t a, std::int32_t b, std::int32_t c) {
#ifdef __CUDA_ARCH__
  return __viaddmax_s32(a, b, c);
#else
  return a + b > c ? a + b : c;
#endif
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

/// A significand of at most fraction_bits + 1 bits, or the next power of two; 0: none.
struct Normal {
  std::uint32_t significand;
  int leading;  ///< exponent of the first of fraction_bits + 1 bits
};

/// What rounded() gives magnitude · 2^lsb, if `r` is usable and the result normal and surely finite.
TCNUM_HOST_DEVICE inline Normal round_normal(const PortableRounding& r, std::uint64_t magnitude, int lsb) {
  const auto high = static_cast<std::uint32_t>(magnitude >> 32);
  auto low = static_cast<std::uint32_t>(magnitude);
  if (high != 0) {  // what is below the upper 32 bits is folded into their last
    const int shift = width(high);
    const bool rest = shift == 32 ? low != 0 : (low & ((1u << shift) - 1)) != 0;
    low = static_cast<std::uint32_t>(magnitude >> shift) | (rest ? 1 : 0);
    lsb += shift;
  }
  const int leading = width(low) - 1 + lsb;
  if (low == 0 || !r.usable || leading < r.min_exponent || leading >= r.max_exponent) return {0, 0};
  const std::uint32_t top = low << (32 - width(low)), rest = top << (r.fraction_bits + 1);
  const std::uint32_t kept = top >> (31 - r.fraction_bits), half = 1u << 31;
  return {kept + (r.to_nearest && (rest > half || (rest == half && (kept & 1) != 0)) ? 1 : 0), leading};
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
    const bool negative = a.sign[p * a.pitch + row] != b.sign[p * b.pitch + column];
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
  const bool a_special = a.exponent[at_a] == Side::kSpecial, b_special = b.exponent[at_b] == Side::kSpecial;
  if (!a_special && !b_special) return;
  // A special operand of magnitude 0 is a NaN; an ordinary one is a zero, of which infinity makes a NaN too.
  if (a.magnitude[at_a] == 0 || b.magnitude[at_b] == 0)
    specials.nan = true;
  else
    specials.add_infinity(a.sign[at_a] != b.sign[at_b]);
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
      highest = add_max(a.exponent[p * a.pitch + row], b.exponent[p * b.pitch + column], highest);
    }
    const int alignment = alignment_of(unit, highest);
    const Shift shift = shift_of(d, unit);
    std::int64_t sum = 0;
    for (int p = node.first; p < end; ++p) {
      const int at_a = p * a.pitch + row, at_b = p * b.pitch + column;
      const auto magnitude = static_cast<std::uint32_t>(a.magnitude[at_a] * b.magnitude[at_b]) << shift.up;
      const int down = alignment + shift.down - a.exponent[at_a] - b.exponent[at_b];
      const bool negative = a.sign[at_a] != b.sign[at_b];
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

/// Products whose sum 32 bits hold, if each is below 2^(fraction_bits + 2).
TCNUM_HOST_DEVICE inline int most_products(const Unit& unit) { return 1 << (29 - unit.fraction_bits); }

/// Whether patches of this datapath give every result that is ordinary.
inline bool takes_patches(const PortableDatapath& d) {
  if (d.kind != PortableDatapath::Kind::sums || !d.in_sequence) return false;
  for (int i = 0; i < d.nodes; ++i) {
    if (!d.node[i].is_pair && d.node[i].count > most_products(d.units[d.node[i].unit])) return false;
  }
  return true;
}

/// `count` numbers in one load; as aligned as they are long.
template <int kCount>
struct alignas(kCount * 4) Pack {
  std::int32_t x[kCount];
};
template <int kCount>
TCNUM_HOST_DEVICE Pack<kCount> load(const std::int32_t* from) {
  return *reinterpret_cast<const Pack<kCount>*>(from);
}

/// A term of a patch that is no product, in units of 2^lsb: cut toward zero, and of no more bits than the sum.
TCNUM_HOST_DEVICE inline std::int32_t aligned_in_patch(std::uint32_t magnitude, int its_lsb, bool negative, int lsb) {
  const int shift = lsb - its_lsb;
  const std::uint32_t kept = magnitude == 0 ? 0 : shift <= 0 ? magnitude << -shift : shift_right(magnitude, shift);
  return negative ? -static_cast<std::int32_t>(kept) : static_cast<std::int32_t>(kept);
}

/// A node of a dot problem of a patch whose result is not simply a normal number.
struct Unusual {
  std::int64_t sum;
  std::int32_t alignment;
  std::uint32_t c;
  Value before;
};
TCNUM_HOST_DEVICE TCNUM_NOINLINE inline Value evaluate(const PortableDatapath& d, const PortableNode& node,
                                                       const Side& a, int row, const Side& b, int column,
                                                       const Unusual& of) {
  const Unit& unit = d.units[node.unit];
  const Value c = accumulator(d, of.c);
  if (node.is_pair) return rounded(d, unit, sum_of_two(unit, c, of.before), 0);
  const bool takes_c = node.others[0] == PortableNode::kAccumulator || node.others[1] == PortableNode::kAccumulator;
  const bool takes_before = node.others[0] >= 0 || node.others[1] >= 0;
  return total(d, node, a, row, b, column, of.alignment, of.sum, takes_c ? &c : nullptr,
               takes_before ? &of.before : nullptr);
}

/// Rows row … row + kRows − 1 with columns column … column + kColumns − 1, all without infinities and NaNs, by a
/// datapath that takes_patches(). Returns, as bits, the elements (kColumns to a row) that it did not evaluate, because
/// something on their way overflowed or c is no number: those are dot()'s. kSeveral: whether the datapath has several
/// nodes.
template <int kRows, int kColumns, bool kSeveral>
TCNUM_HOST_DEVICE std::uint32_t patch(const PortableDatapath& d, const Side& a, int row, const Side& b, int column,
                                      const std::uint32_t (&c_code)[kRows][kColumns],
                                      std::uint32_t (&result)[kRows][kColumns]) {
  static_assert(kRows * kColumns <= 32);
  Value before[kRows][kColumns] = {};
  std::uint32_t left = 0;
  Unusual unusual[kRows * kColumns];
  const int nodes = kSeveral ? d.nodes : 1;
  for (int number = 0; number < nodes; ++number) {
    const PortableNode& node = d.node[number];
    const Unit& unit = d.units[node.unit];
    const bool takes_c = node.others[0] == PortableNode::kAccumulator || node.others[1] == PortableNode::kAccumulator;
    const bool takes_before = kSeveral && (node.others[0] >= 0 || node.others[1] >= 0);
    const bool last = number + 1 == nodes;

    std::int32_t alignment[kRows][kColumns], sum[kRows][kColumns];
    TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
      TCNUM_UNROLL for (int j = 0; j < kColumns; ++j) {
        sum[i][j] = 0;
        alignment[i][j] = alignment_of(unit, 2 * kNoExponent);
        if (takes_c) {
          const Number c = read_accumulator(d.c_fields, d.c_rule, c_code[i][j]);
          if (c.special) left |= 1u << (i * kColumns + j);
          if (c.exponent > alignment[i][j]) alignment[i][j] = c.exponent;
        }
        if (takes_before && exponent_of(before[i][j]) > alignment[i][j]) alignment[i][j] = before[i][j].exponent;
      }
    }
    const int end = node.first + node.count;
    for (int p = node.first; p < end; ++p) {
      const auto ea = load<kRows>(a.exponent + p * a.pitch + row);
      const auto eb = load<kColumns>(b.exponent + p * b.pitch + column);
      TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
        TCNUM_UNROLL for (int j = 0; j < kColumns; ++j) alignment[i][j] = add_max(ea.x[i], eb.x[j], alignment[i][j]);
      }
    }
    const Shift shift = shift_of(d, unit);
    for (int p = node.first; p < end; ++p) {
      const int at_a = p * a.pitch + row, at_b = p * b.pitch + column;
      auto ma = load<kRows>(a.magnitude + at_a);
      const auto mb = load<kColumns>(b.magnitude + at_b);
      const auto sa = load<kRows>(a.sign + at_a);
      const auto sb = load<kColumns>(b.sign + at_b);
      auto ea = load<kRows>(a.exponent + at_a);
      const auto eb = load<kColumns>(b.exponent + at_b);
      TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
        ma.x[i] <<= shift.up;
        ea.x[i] -= shift.down;
      }
      TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
        TCNUM_UNROLL for (int j = 0; j < kColumns; ++j) {
          const auto magnitude = static_cast<std::uint32_t>(ma.x[i] * mb.x[j]);
          const auto kept = static_cast<std::int32_t>(shift_right(magnitude, alignment[i][j] - ea.x[i] - eb.x[j]));
          sum[i][j] += kept * (sa.x[i] * sb.x[j]);
        }
      }
    }

    const PortableRounding& rounding = d.roundings[node.unit];
    const int result_bits = d.result.fraction_bits;
    std::uint32_t slow = 0;
    TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
      TCNUM_UNROLL for (int j = 0; j < kColumns; ++j) {
        const int lsb = alignment[i][j] - unit.fraction_bits;
        std::int64_t all = sum[i][j];
        Rounded<std::uint64_t> exact{0, lsb, 0, false};
        if (kSeveral && node.is_pair) {
          exact = sum_of_two(unit, accumulator(d, c_code[i][j]), before[i][j]);
        } else {
          if (takes_c) {
            const Number c = read_accumulator(d.c_fields, d.c_rule, c_code[i][j]);
            all += aligned_in_patch(static_cast<std::uint32_t>(c.magnitude), c.exponent - d.c.fraction_bits, c.sign < 0,
                                    lsb);
          }
          if (takes_before)
            all += aligned_in_patch(before[i][j].magnitude, before[i][j].lsb, before[i][j].negative, lsb);
          exact.negative = all < 0;
          exact.magnitude = static_cast<std::uint64_t>(all < 0 ? -all : all);
        }
        const Normal normal = round_normal(rounding, exact.magnitude, exact.lsb);
        if (normal.significand == 0) {
          slow |= 1u << (i * kColumns + j);
          unusual[i * kColumns + j] = {all, alignment[i][j], c_code[i][j], before[i][j]};
        } else if (last) {  // a significand that was rounded up to the next power of two carries into the exponent
          const std::uint32_t above = static_cast<std::uint32_t>(normal.leading + d.result.bias - 1) << result_bits;
          const std::uint32_t code = above + (normal.significand << (result_bits - rounding.fraction_bits));
          result[i][j] = code << d.result.padding_bits | (exact.negative ? 1u << (d.result.storage_bits - 1) : 0);
        } else {
          before[i][j] = {normal.significand, static_cast<std::int16_t>(normal.leading - rounding.fraction_bits),
                          static_cast<std::int16_t>(
                              normal.leading + static_cast<int>(normal.significand >> (rounding.fraction_bits + 1))),
                          exact.negative, Value::Kind::finite};
        }
      }
    }
    // One copy of the code that is long, for the few that need it; registers cannot be indexed, so it has its own
    // memory.
    for (std::uint32_t rest = slow; rest != 0; rest &= rest - 1) {
      const int e = width(rest & (~rest + 1)) - 1;
      unusual[e].before = evaluate(d, node, a, row + e / kColumns, b, column + e % kColumns, unusual[e]);
    }
    if (slow == 0) continue;
    TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
      TCNUM_UNROLL for (int j = 0; j < kColumns; ++j) {
        const int e = i * kColumns + j;
        if ((slow >> e & 1) == 0) continue;
        const Value v = unusual[e].before;
        if (last) {
          result[i][j] = static_cast<std::uint32_t>(to_code(d, v));
        } else {
          if (v.kind != Value::Kind::finite) left |= 1u << e;
          before[i][j] = v;
        }
      }
    }
  }
  return left;
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
