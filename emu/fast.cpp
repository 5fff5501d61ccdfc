#include "tcnum/fast.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <thread>
#include <type_traits>

#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

/// Alignment exponent of what does not take part. Two of them still add up to an int, far below any real exponent.
constexpr std::int32_t kNoExponent = -(1 << 24);
/// Significands below which the quick path's sums fit 64 bits: 4 · 2^fraction_bits for each of 1024 terms.
constexpr int kQuickFractionBits = 44;
/// Widest cut sum of the general path: 2^fraction_bits · 4 · 1025 terms in 126 bits.
constexpr int kGeneralFractionBits = 110;

enum RowFlags : std::uint8_t { kHasSpecial = 1, kHasSubnormal = 2 };

int width(std::uint64_t x) { return static_cast<int>(std::bit_width(x)); }
int width(uint128 x) {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return high != 0 ? 64 + width(high) : width(static_cast<std::uint64_t>(x));
}
template <class U>
constexpr int kBits = static_cast<int>(sizeof(U) * 8);

/// magnitude / 2^shift rounded, shift ≥ 0.
template <class U>
U round_right(U magnitude, int shift, bool negative, Rounding mode) {
  if (shift == 0) return magnitude;
  if (mode == Rounding::toward_zero) return shift >= kBits<U> ? U{0} : static_cast<U>(magnitude >> shift);
  if (shift > kBits<U>) return rounds_away(mode, negative, false, false, magnitude != 0) ? 1 : 0;
  const U kept = shift == kBits<U> ? U{0} : static_cast<U>(magnitude >> shift);
  const bool half = (magnitude >> (shift - 1)) & 1;
  const bool rest = (magnitude & ((U{1} << (shift - 1)) - 1)) != 0;
  return static_cast<U>(kept + (rounds_away(mode, negative, kept & 1, half, rest) ? 1 : 0));
}

/// A finite number on its way through rounding steps: ±magnitude · 2^lsb.
template <class U>
struct Rounded {
  U magnitude;
  int lsb;
  int exponent;  // for alignment in a later sum
  bool negative;
  bool infinite = false;
};

bool to_infinity(const RoundStep& s, bool negative) {
  return s.overflow == Overflow::infinity ||
         (s.overflow == Overflow::ieee && s.rounding != Rounding::toward_zero &&
          s.rounding != (negative ? Rounding::up : Rounding::down));
}

/// Applies rounding steps to a number; the same rules as in exact.cpp.
template <bool kTrace, class U>
void apply_steps(Rounded<U>& v, const RoundSteps& steps, int alignment, UnderflowSign underflow_sign,
                 bool minimum_exponents, unsigned& consulted) {
  for (const RoundStep& s : steps) {
    if (v.infinite || v.magnitude == 0) break;
    int leading = width(v.magnitude) - 1 + v.lsb;
    const int q = (s.from_alignment ? alignment : std::max(leading, s.min_exponent)) - s.fraction_bits;
    if (q > v.lsb) {
      if constexpr (kTrace) {
        const int dropped = q - v.lsb;
        if (dropped >= kBits<U> || (v.magnitude & ((U{1} << dropped) - 1)) != 0) consulted |= kConsultedRounding;
      }
      v.magnitude = round_right(v.magnitude, q - v.lsb, v.negative, s.rounding);
      v.lsb = q;
    }
    leading = width(v.magnitude) - 1 + v.lsb;
    const bool tiny = v.magnitude == 0 || leading < s.min_exponent;
    if constexpr (kTrace) {
      if (tiny) consulted |= kConsultedTinyResult;
    }
    if (v.magnitude == 0 || (tiny && s.subnormals == Subnormals::flushed)) {
      v.magnitude = 0;
      if (underflow_sign == UnderflowSign::positive) v.negative = false;
    } else if (leading > s.max_exponent) {
      if constexpr (kTrace) consulted |= kConsultedOverflow;
      if (to_infinity(s, v.negative)) {
        v.infinite = true;
        break;
      }
      v.magnitude = (U{1} << (s.fraction_bits + 1)) - 1;
      v.lsb = s.max_exponent - s.fraction_bits;
      leading = s.max_exponent;
    }
    if (!s.from_alignment && v.magnitude != 0) {
      v.exponent = minimum_exponents ? std::max(leading, s.min_exponent) : leading;
    }
  }
  if (!v.infinite && v.magnitude == 0 && !steps.empty()) {
    const RoundStep& last = steps.step[static_cast<std::size_t>(steps.count - 1)];
    if (!last.from_alignment) v.exponent = last.min_exponent;
  }
}

/// Encodes a number that the format can hold.
template <class U>
std::uint64_t pack(const Format& f, const Rounded<U>& v) {
  const std::uint64_t sign = v.negative ? std::uint64_t{1} << (f.storage_bits - 1) : 0;
  if (v.infinite) return infinity_code(f, v.negative);
  if (v.magnitude == 0) return sign;
  const int leading = width(v.magnitude) - 1 + v.lsb;
  const int q = std::max(leading, f.min_exponent()) - f.fraction_bits;
  const auto units = static_cast<std::uint64_t>(v.lsb >= q ? v.magnitude << (v.lsb - q) : v.magnitude >> (q - v.lsb));
  const std::uint64_t hidden = std::uint64_t{1} << f.fraction_bits;
  const std::uint64_t field = leading < f.min_exponent() ? 0 : static_cast<std::uint64_t>(leading + f.bias);
  return sign | (((field << f.fraction_bits) | (units & (hidden - 1))) << f.padding_bits);
}

/// An exact signed sum of any span: two's complement in units of 2^lsb.
class WideSum {
 public:
  WideSum(int lsb, int span) : lsb_(lsb), limbs_(static_cast<std::size_t>(span / 64 + 4), 0) {}

  void add(bool negative, uint128 magnitude, int lsb) {
    const auto at = static_cast<std::size_t>((lsb - lsb_) / 64);
    const int shift = (lsb - lsb_) % 64;
    std::uint64_t part[3] = {static_cast<std::uint64_t>(magnitude << shift),
                             static_cast<std::uint64_t>((magnitude << shift) >> 64),
                             shift == 0 ? 0 : static_cast<std::uint64_t>(magnitude >> (128 - shift))};
    std::uint64_t carry = 0;
    for (std::size_t i = at; i < limbs_.size(); ++i) {
      const std::uint64_t x = i - at < 3 ? part[i - at] : 0;
      if (i - at >= 3 && carry == 0) break;
      const uint128 r = negative ? static_cast<uint128>(limbs_[i]) - x - carry : static_cast<uint128>(limbs_[i]) + x + carry;
      limbs_[i] = static_cast<std::uint64_t>(r);
      carry = static_cast<std::uint64_t>(r >> 64) & 1;
    }
  }

  /// The leading 127 bits or so; whatever is below them only sets the last bit.
  Rounded<uint128> value() {
    const bool negative = (limbs_.back() >> 63) != 0;
    if (negative) {
      std::uint64_t carry = 1;
      for (std::uint64_t& limb : limbs_) {
        limb = ~limb + carry;
        carry = carry != 0 && limb == 0 ? 1 : 0;
      }
    }
    std::size_t top = limbs_.size();
    while (top > 0 && limbs_[top - 1] == 0) --top;
    if (top == 0) return {0, lsb_, 0, false};
    const std::size_t low = top >= 2 ? top - 2 : 0;
    uint128 magnitude = limbs_[low];
    if (top - low == 2) magnitude |= static_cast<uint128>(limbs_[low + 1]) << 64;
    int lsb = lsb_ + static_cast<int>(low) * 64;
    bool rest = false;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < low; ++i) {
      if (i + 1 == low) below = limbs_[i];
      else rest = rest || limbs_[i] != 0;
    }
    // Fill up from the limb below so that at least 120 bits are significant, then fold the rest into the last bit.
    const int room = 127 - width(magnitude);
    if (room > 0 && low > 0) {
      const int take = std::min(room, 63);
      magnitude = (magnitude << take) | (below >> (64 - take));
      lsb -= take;
      below <<= take;
    }
    if (rest || below != 0) magnitude |= 1;
    return {magnitude, lsb, 0, negative};
  }

 private:
  int lsb_;
  std::vector<std::uint64_t> limbs_;
};

}  // namespace

// ---------------------------------------------------------------------------------------------------------------------
// Operands

struct DecodedTiles::Number {
  std::int64_t significand = 0;
  std::int32_t exponent = kNoExponent;
  std::int32_t natural = 0;
  bool negative = false;
  std::uint8_t flags = 0;
};

DecodedTiles::Number DecodedTiles::read(const OperandRule& rule, std::uint64_t code) {
  const Format& f = format(rule.format);
  const Decoded d = decode(f, code);
  Number number;
  number.negative = d.negative;
  number.natural = d.exponent;
  switch (d.number_class) {
    case NumberClass::zero: return number;
    case NumberClass::infinity:
    case NumberClass::nan: number.flags = kHasSpecial; return number;
    case NumberClass::subnormal: number.flags = kHasSubnormal; break;
    case NumberClass::normal: break;
  }
  auto significand = static_cast<std::int64_t>(d.significand);
  if (d.number_class == NumberClass::subnormal) {
    if (rule.subnormals == Subnormals::flushed) return number;
    if (rule.subnormal_exponent == SubnormalExponent::normalised) {
      const int up = f.fraction_bits + 1 - width(d.significand);
      significand <<= up;
      number.natural -= up;
    }
  }
  number.exponent = number.natural;
  number.significand = d.negative ? -significand : significand;
  return number;
}

void DecodedTiles::Numbers::put(std::size_t at, std::size_t row, const Number& number) {
  if (wide) wide_significand[at] = number.significand;
  else significand[at] = static_cast<std::int32_t>(number.significand);
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
    if (numbers.wide) numbers.wide_significand.resize(size);
    else numbers.significand.resize(size);
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
      for (std::size_t kk = 0; kk < k; ++kk) b_.put(row * k + kk, row, read_b(tiles.b[tiles.b_index(first + t, kk, j)]));
    }
  }
  for (std::size_t at = 0; at < count * tiles.m * tiles.n; ++at) c_.put(at, at, read_c(tiles.c[c_first + at]));
}

// ---------------------------------------------------------------------------------------------------------------------
// Evaluation

struct FastEmulator::Value {
  enum class Kind : std::uint8_t { finite, infinity, nan };
  Kind kind = Kind::finite;
  bool negative = false;
  int rank = 0;
  uint128 magnitude = 0;
  int lsb = 0;
  int exponent = 0;
  std::uint64_t payload = 0;
  bool is_zero() const { return kind == Kind::finite && magnitude == 0; }
};

/// `count` values, not yet written: on the stack up to N.
template <std::size_t N>
class FastEmulator::Scratch {
 public:
  explicit Scratch(std::size_t count) {
    if (count > N) heap_ = std::make_unique_for_overwrite<Value[]>(count);
  }
  Value* data() { return heap_ ? heap_.get() : reinterpret_cast<Value*>(stack_); }
  Value& operator[](std::size_t i) { return data()[i]; }

 private:
  static_assert(std::is_trivially_copyable_v<Value>);
  alignas(Value) std::byte stack_[N * sizeof(Value)];
  std::unique_ptr<Value[]> heap_;
};

/// One dot problem: where its row, its column and its c lie in the decoded tiles.
struct FastEmulator::Problem {
  const DecodedTiles& decoded;
  std::size_t a, b, c;  // first element of the decoded row, of the column; index of the decoded c
  std::size_t tile, row, column, code_of_c;
};

template <bool kTrace>
struct FastEmulator::Run {
  const FastEmulator& self;
  const Problem& p;
  int watch_exponent;
  unsigned consulted = 0;
  bool special = false;

  const Numerics& n() const { return self.numerics_; }
  bool minimum_exponents() const { return n().c.subnormal_exponent == SubnormalExponent::minimum; }

  std::uint64_t operator()() {
    const DecodedTiles& d = p.decoded;
    const unsigned flags = d.a_.flags[p.a / d.tiles().k] | d.b_.flags[p.b / d.tiles().k] | d.c_.flags[p.c];
    special = (flags & kHasSpecial) != 0;
    if constexpr (kTrace) {
      if (flags & kHasSubnormal) consulted |= kConsultedSubnormalInput;
    }
    const std::vector<CompiledNode>& nodes = self.tree_->nodes;
    Scratch<40> results(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) results[i] = evaluate(nodes[i], results.data());
    return to_code(results[nodes.size() - 1]);
  }

  std::uint64_t to_code(const Value& v) {
    if (v.kind == Value::Kind::nan) {
      if constexpr (kTrace) consulted |= kConsultedNan;
      return v.payload;
    }
    // The sign of a zero on the way shows only in the sign of a zero at the end.
    if (v.magnitude != 0) consulted &= ~static_cast<unsigned>(kConsultedZeroSum);
    return pack(format(n().result),
                Rounded<uint128>{v.magnitude, v.lsb, v.exponent, v.negative, v.kind == Value::Kind::infinity});
  }

  Value evaluate(const CompiledNode& node, const Value* results) {
    const auto u = static_cast<std::size_t>(node.unit);
    if (!special && self.quick_[u] && std::all_of(node.others.begin(), node.others.end(), [&](const Term& t) {
          return t.kind != Term::Kind::node || results[t.index].kind == Value::Kind::finite;
        })) {
      return self.quick32_ ? quick<std::int32_t>(node, results) : quick<std::int64_t>(node, results);
    }
    return general(node, results);
  }

  // --- The quick path: finite terms, finite fraction_bits, everything in 64 bits.

  template <class P>
  static P cut(P x, int shift, Rounding mode) {  // x · 2^-shift, for |x| < 2^(bits − 1)
    using U = std::make_unsigned_t<P>;
    constexpr int kMost = kBits<P> - 1;
    if (mode == Rounding::down) return x >> std::min(shift, kMost);
    const U sign = static_cast<U>(x >> kMost);
    const U magnitude = (static_cast<U>(x) ^ sign) - sign;
    U kept;
    if (mode == Rounding::toward_zero) kept = magnitude >> std::min(shift, kMost);
    else kept = round_right<U>(magnitude, shift, sign != 0, mode);
    return static_cast<P>((kept ^ sign) - sign);
  }

  /// P holds a product, and a product shifted left as far as alignment can ask (see choose_paths).
  template <class P>
  Value quick(const CompiledNode& node, const Value* results) {
    const Unit& unit = n().units[static_cast<std::size_t>(node.unit)];
    const DecodedTiles& d = p.decoded;
    const bool natural = unit.zero_exponent.kind == ZeroExponentKind::natural;
    const std::size_t count = node.products.size();
    constexpr std::size_t kMostProducts = 64;
    P product[kMostProducts];
    std::int32_t exponent[kMostProducts];

    const std::int32_t* ea = (natural ? d.a_.natural : d.a_.exponent).data() + p.a;
    const std::int32_t* eb = (natural ? d.b_.natural : d.b_.exponent).data() + p.b;
    const auto multiply = [&](auto* sa, auto* sb) {
      if (node.contiguous) {
        const auto first = static_cast<std::size_t>(count == 0 ? 0 : node.products[0]);
        sa += first, sb += first;
        const std::int32_t* xa = ea + first;
        const std::int32_t* xb = eb + first;
        for (std::size_t i = 0; i < count; ++i) product[i] = static_cast<P>(sa[i]) * static_cast<P>(sb[i]);
        for (std::size_t i = 0; i < count; ++i) exponent[i] = xa[i] + xb[i];
      } else {
        for (std::size_t i = 0; i < count; ++i) {
          const auto kk = static_cast<std::size_t>(node.products[i]);
          product[i] = static_cast<P>(sa[kk]) * static_cast<P>(sb[kk]);
          exponent[i] = ea[kk] + eb[kk];
        }
      }
    };
    multiply(d.a_.significand.data() + p.a, d.b_.significand.data() + p.b);
    const int product_fraction = d.a_.fraction_bits + d.b_.fraction_bits;
    std::int32_t alignment = 2 * kNoExponent;
    if (n().product.exponent == ProductExponent::normalised) {
      for (std::size_t i = 0; i < count; ++i) {
        if (product[i] == 0) {
          alignment = std::max(alignment, exponent[i]);
          continue;
        }
        const auto magnitude = static_cast<std::uint64_t>(std::abs(static_cast<std::int64_t>(product[i])));
        const int above_one = width(magnitude) - 1 - product_fraction;
        alignment = std::max(alignment, exponent[i] + above_one);
        if (above_one < 0) {
          product[i] = static_cast<P>(product[i] * (P{1} << -above_one));
          exponent[i] += above_one;
        }
      }
    } else {
      for (std::size_t i = 0; i < count; ++i) alignment = std::max(alignment, exponent[i]);
    }

    // The other terms: the accumulator and the results of nodes.
    std::int64_t other[kMaxOthers];
    std::int32_t other_exponent[kMaxOthers];
    int other_fraction[kMaxOthers];
    bool other_negative = true, other_any_negative = false;
    std::size_t others = 0;
    for (const Term& t : node.others) {
      bool negative;
      if (t.kind == Term::Kind::accumulator) {
        other[others] = d.c_.significand_at(p.c);
        other_exponent[others] = (natural ? d.c_.natural : d.c_.exponent)[p.c];
        other_fraction[others] = d.c_.fraction_bits;
        negative = d.c_.negative[p.c] != 0;
      } else {
        const Value& v = results[t.index];
        const auto magnitude = static_cast<std::int64_t>(v.magnitude);
        negative = v.negative;
        other[others] = negative ? -magnitude : magnitude;
        other_exponent[others] = v.magnitude == 0 && !natural ? kNoExponent : v.exponent;
        other_fraction[others] = v.exponent - v.lsb;
      }
      other_negative = other_negative && negative;
      other_any_negative = other_any_negative || negative;
      ++others;
    }

    for (std::size_t i = 0; i < others; ++i) alignment = std::max(alignment, other_exponent[i]);
    if constexpr (kTrace) {
      if (alignment <= watch_exponent) {
        const int cut = watch_exponent - unit.fraction_bits;
        const auto loses = [&](std::int64_t significand, int lsb) {
          return significand != 0 && lsb + std::countr_zero(static_cast<std::uint64_t>(significand)) < cut;
        };
        for (std::size_t i = 0; i < count; ++i) {
          if (loses(product[i], exponent[i] - product_fraction)) consulted |= kConsultedZeroExponent;
        }
        for (std::size_t i = 0; i < others; ++i) {
          if (loses(other[i], other_exponent[i] - other_fraction[i])) consulted |= kConsultedZeroExponent;
        }
      }
    }
    if (unit.zero_exponent.kind == ZeroExponentKind::floor) {
      alignment = std::max(alignment, unit.zero_exponent.value);
    } else if (unit.zero_exponent.kind == ZeroExponentKind::zeros && unit.zero_exponent.value > alignment) {
      bool any_zero = false;
      for (std::size_t i = 0; i < count; ++i) any_zero |= product[i] == 0;
      for (std::size_t i = 0; i < others; ++i) any_zero |= other[i] == 0;
      if (any_zero) alignment = unit.zero_exponent.value;
    }

    // value = significand · 2^(exponent − fraction) = (significand · 2^up >> (up − …)) in units of 2^(alignment − F).
    const int bits = unit.fraction_bits;
    std::int64_t sum = 0;
    const int up = std::max(0, bits - product_fraction);
    const int down = bits - product_fraction - up;  // ≤ 0
    if (unit.align_rounding == Rounding::toward_zero) {
      using U = std::make_unsigned_t<P>;
      constexpr int kMost = kBits<P> - 1;
      for (std::size_t i = 0; i < count; ++i) {
        const int shift = std::min(alignment - exponent[i] - down, kMost);
        const P x = product[i];
        const U sign = static_cast<U>(x >> kMost);
        const U magnitude = (((static_cast<U>(x) ^ sign) - sign) << up) >> shift;
        sum += static_cast<P>((magnitude ^ sign) - sign);
      }
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        const int shift = alignment - exponent[i] - down;
        sum += cut(static_cast<P>(static_cast<std::make_unsigned_t<P>>(product[i]) << up), shift, unit.align_rounding);
      }
    }
    for (std::size_t i = 0; i < others; ++i) {
      if (other[i] == 0) continue;  // a zero's exponent says nothing about its bits
      const int shift = alignment - other_exponent[i] - bits + other_fraction[i];
      sum += shift >= 0 ? cut(other[i], shift, unit.align_rounding)
                        : static_cast<std::int64_t>(static_cast<std::uint64_t>(other[i]) << -shift);
    }

    Rounded<std::uint64_t> r{static_cast<std::uint64_t>(std::abs(sum)), alignment - bits, alignment, sum < 0};
    if (sum == 0) {
      if constexpr (kTrace) consulted |= kConsultedZeroSum;
      r.lsb = 0;
      if (alignment <= kNoExponent / 2) r.exponent = 0;  // nothing took part
      r.negative = zero_is_negative(unit, node, other_negative, other_any_negative);
    }
    apply_steps<kTrace>(r, unit.result, alignment, unit.underflow_sign, minimum_exponents(), consulted);
    return {r.infinite ? Value::Kind::infinity : Value::Kind::finite, r.negative, 0, r.magnitude, r.lsb, r.exponent, 0};
  }

  bool zero_is_negative(const Unit& unit, const CompiledNode& node, bool all_others, bool any_other) const {
    if (unit.zero_sign == ZeroSign::positive) return false;
    bool all = all_others, any = any_other;
    for (int kk : node.products) {
      const bool negative = p.decoded.a_.negative[p.a + static_cast<std::size_t>(kk)] !=
                            p.decoded.b_.negative[p.b + static_cast<std::size_t>(kk)];
      all = all && negative;
      any = any || negative;
    }
    return all || (any && rounds_down(unit));
  }

  static bool rounds_down(const Unit& unit) {
    return !unit.result.empty() &&
           unit.result.step[static_cast<std::size_t>(unit.result.count - 1)].rounding == Rounding::down;
  }

  // --- The general path: anything.

  int rank(NanOperand which) const {
    const auto& order = n().nan.order;
    return static_cast<int>(std::find(order.begin(), order.end(), which) - order.begin());
  }

  Value nan(const OperandRule& rule, std::uint64_t code, NanOperand which) const {
    Value v;
    v.kind = Value::Kind::nan;
    const bool keeps = n().nan.propagate && rule.format == n().result;
    v.payload = keeps ? code | nan_code(format(rule.format)) : n().nan.code;
    v.rank = rank(which);
    return v;
  }
  Value generated_nan() const {
    Value v;
    v.kind = Value::Kind::nan;
    v.payload = n().nan.code;
    v.rank = 3;
    return v;
  }

  Value operand(const DecodedTiles::Numbers& numbers, std::size_t at, const OperandRule& rule, std::uint64_t code,
                NanOperand which) const {
    Value v;
    v.negative = numbers.negative[at] != 0;
    v.magnitude = static_cast<uint128>(std::abs(numbers.significand_at(at)));
    v.exponent = numbers.natural[at];
    v.lsb = v.exponent - numbers.fraction_bits;
    if (!special) return v;
    const NumberClass number_class = decode(format(rule.format), code).number_class;
    if (number_class == NumberClass::nan) return nan(rule, code, which);
    if (number_class == NumberClass::infinity) v.kind = Value::Kind::infinity;
    return v;
  }

  Value product(int k) {
    const auto kk = static_cast<std::size_t>(k);
    const DecodedTiles& d = p.decoded;
    const Tiles& tiles = d.tiles();
    const std::uint64_t a_code = special ? tiles.a[tiles.a_index(p.tile, p.row, kk)] : 0;
    const std::uint64_t b_code = special ? tiles.b[tiles.b_index(p.tile, kk, p.column)] : 0;
    const Value x = operand(d.a_, p.a + kk, n().a, a_code, NanOperand::a);
    const Value y = operand(d.b_, p.b + kk, n().b, b_code, NanOperand::b);
    if (x.kind == Value::Kind::nan || y.kind == Value::Kind::nan) {
      if (x.kind != Value::Kind::nan) return y;
      return y.kind == Value::Kind::nan && y.rank < x.rank ? y : x;
    }
    Value v;
    v.negative = x.negative != y.negative;
    v.exponent = x.exponent + y.exponent;
    v.lsb = x.lsb + y.lsb;
    if (x.kind == Value::Kind::infinity || y.kind == Value::Kind::infinity) {
      if (x.is_zero() || y.is_zero()) return generated_nan();
      v.kind = Value::Kind::infinity;
      return v;
    }
    v.magnitude = x.magnitude * y.magnitude;
    if (v.magnitude == 0) v.lsb = 0;
    if (v.magnitude != 0) {
      const int leading = width(v.magnitude) - 1 + v.lsb;
      if (n().product.exponent == ProductExponent::normalised) v.exponent = leading;
      if (n().product.infinite_from && leading >= *n().product.infinite_from) v.kind = Value::Kind::infinity;
    }
    if (v.kind == Value::Kind::finite && !n().product.round.empty()) {
      Rounded<uint128> r{v.magnitude, v.lsb, v.exponent, v.negative};
      apply_steps<kTrace>(r, n().product.round, 0, UnderflowSign::kept, minimum_exponents(), consulted);
      v = {r.infinite ? Value::Kind::infinity : Value::Kind::finite, r.negative, 0, r.magnitude, r.lsb, r.exponent, 0};
    }
    return v;
  }

  Value general(const CompiledNode& node, const Value* results) {
    const Unit& unit = n().units[static_cast<std::size_t>(node.unit)];
    const std::size_t count = node.terms.size();
    Scratch<72> scratch(count);
    Value* terms = scratch.data();
    for (std::size_t i = 0; i < count; ++i) {
      const Term& t = node.terms[i];
      switch (t.kind) {
        case Term::Kind::accumulator: {
          const std::uint64_t code = special ? p.decoded.tiles().c[p.code_of_c] : 0;
          terms[i] = operand(p.decoded.c_, p.c, n().c, code, NanOperand::c);
          break;
        }
        case Term::Kind::product: terms[i] = product(t.index); break;
        case Term::Kind::node:
          terms[i] = results[t.index];
          if (terms[i].kind == Value::Kind::nan) terms[i].rank = rank(NanOperand::c);
          break;
      }
    }

    const Value* nan_term = nullptr;
    const Value* positive = nullptr;
    const Value* negative = nullptr;
    bool all_negative = true, any_negative = false;
    int alignment = 2 * kNoExponent;
    bool any_zero = false, any_nonzero = false;
    for (std::size_t i = 0; i < count; ++i) {
      const Value& v = terms[i];
      if (v.kind == Value::Kind::nan) {
        if (nan_term == nullptr || v.rank < nan_term->rank) nan_term = &v;
        continue;
      }
      if (v.kind == Value::Kind::infinity) {
        (v.negative ? negative : positive) = &v;
        continue;
      }
      all_negative = all_negative && v.negative;
      any_negative = any_negative || v.negative;
      if (v.magnitude == 0) {
        any_zero = true;
        if (unit.zero_exponent.kind == ZeroExponentKind::natural) alignment = std::max(alignment, v.exponent);
        continue;
      }
      alignment = std::max(alignment, v.exponent);
      any_nonzero = true;
    }
    if (nan_term != nullptr) return *nan_term;
    if (positive != nullptr && negative != nullptr) return generated_nan();
    if (positive != nullptr) return *positive;
    if (negative != nullptr) return *negative;
    if constexpr (kTrace) {
      if (alignment <= watch_exponent && unit.fraction_bits != kExact) {
        for (std::size_t i = 0; i < count; ++i) {
          if (terms[i].magnitude != 0 && lowest_bit(terms[i]) < watch_exponent - unit.fraction_bits) consulted |= kConsultedZeroExponent;
        }
      }
    }
    if (unit.zero_exponent.kind == ZeroExponentKind::floor ||
        (unit.zero_exponent.kind == ZeroExponentKind::zeros && any_zero)) {
      alignment = std::max(alignment, unit.zero_exponent.value);
    }

    Rounded<uint128> r{0, 0, alignment, false};
    if (any_nonzero) r = cut_and_add(unit, terms, count, alignment);
    r.exponent = alignment;
    if (r.magnitude == 0) {
      if constexpr (kTrace) consulted |= kConsultedZeroSum;
      r.lsb = 0;
      if (alignment <= kNoExponent / 2) r.exponent = 0;
      r.negative = unit.zero_sign == ZeroSign::ieee && (all_negative || (any_negative && rounds_down(unit)));
    }
    apply_steps<kTrace>(r, unit.result, alignment, unit.underflow_sign, minimum_exponents(), consulted);
    return {r.infinite ? Value::Kind::infinity : Value::Kind::finite, r.negative, 0, r.magnitude, r.lsb, r.exponent, 0};
  }

  static int lowest_bit(const Value& v) {
    const auto low = static_cast<std::uint64_t>(v.magnitude);
    return v.lsb + (low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(static_cast<std::uint64_t>(v.magnitude >> 64)));
  }

  static Rounded<uint128> cut_and_add(const Unit& unit, Value* terms, std::size_t count, int alignment) {
    const int first_bits = unit.first_fraction_bits.value_or(unit.fraction_bits);
    if (unit.fraction_bits != kExact && first_bits != kExact) {
      const int lsb = alignment - std::max(unit.fraction_bits, first_bits);
      int128 sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const Value& v = terms[i];
        if (v.magnitude == 0) continue;
        const int q = alignment - (i == 0 ? first_bits : unit.fraction_bits);
        uint128 kept = v.lsb >= q ? v.magnitude << (v.lsb - q)
                                  : round_right(v.magnitude, q - v.lsb, v.negative, unit.align_rounding);
        kept <<= q - lsb;
        sum += v.negative ? -static_cast<int128>(kept) : static_cast<int128>(kept);
      }
      return {static_cast<uint128>(sum < 0 ? -sum : sum), lsb, alignment, sum < 0};
    }
    // Exact, but for a first term that is cut, or a cut of all but the first.
    int lowest = 1 << 28, highest = -(1 << 28);
    for (std::size_t i = 0; i < count; ++i) {
      Value& v = terms[i];
      if (v.magnitude == 0) continue;
      const int bits = i == 0 ? first_bits : unit.fraction_bits;
      if (bits != kExact && v.lsb < alignment - bits) {
        v.magnitude = round_right(v.magnitude, alignment - bits - v.lsb, v.negative, unit.align_rounding);
        v.lsb = alignment - bits;
      }
      if (v.magnitude == 0) continue;
      lowest = std::min(lowest, v.lsb);
      highest = std::max(highest, v.lsb + width(v.magnitude));
    }
    if (highest < lowest) return {0, 0, alignment, false};
    constexpr int kCarryBits = 12;
    if (highest - lowest + kCarryBits < 126) {
      int128 sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const Value& v = terms[i];
        if (v.magnitude == 0) continue;
        const auto x = static_cast<int128>(v.magnitude << (v.lsb - lowest));
        sum += v.negative ? -x : x;
      }
      return {static_cast<uint128>(sum < 0 ? -sum : sum), lowest, alignment, sum < 0};
    }
    WideSum sum(lowest, highest - lowest + kCarryBits);
    for (std::size_t i = 0; i < count; ++i) {
      if (terms[i].magnitude != 0) sum.add(terms[i].negative, terms[i].magnitude, terms[i].lsb);
    }
    return sum.value();
  }

  static constexpr std::size_t kMaxOthers = 8;
};

FastEmulator::FastEmulator(const Datapath& datapath) : numerics_(datapath.numerics) {
  auto compiled = std::make_shared<CompiledTree>();
  compiled->tree = datapath.tree;
  for (const Node& node : datapath.tree.nodes) {
    CompiledNode c;
    c.unit = node.unit;
    c.terms = node.terms;
    for (const Term& t : node.terms) {
      if (t.kind == Term::Kind::product) c.products.push_back(t.index);
      else c.others.push_back(t);
    }
    c.contiguous = true;
    for (std::size_t i = 1; i < c.products.size(); ++i) {
      if (c.products[i] != c.products[0] + static_cast<int>(i)) c.contiguous = false;
    }
    compiled->nodes.push_back(std::move(c));
  }
  tree_ = std::move(compiled);
  choose_paths();
}

void FastEmulator::set_numerics(const Numerics& numerics) {
  numerics_ = numerics;
  choose_paths();
}

void FastEmulator::choose_paths() {
  const int fa = format(numerics_.a.format).fraction_bits;
  const int fb = format(numerics_.b.format).fraction_bits;
  const int fc = format(numerics_.c.format).fraction_bits;
  int widest = 0;  // of the finite fraction_bits
  falls_back_ = numerics_.scales.has_value();
  unsigned used = 0, rounded_narrow = 0;
  for (const CompiledNode& node : tree_->nodes) used |= 1u << node.unit;
  for (std::size_t u = 0; u < kMaxUnits; ++u) {
    if ((used >> u & 1u) == 0) continue;
    const Unit& unit = numerics_.units[u];
    const bool cuts = unit.fraction_bits != kExact;
    if (cuts) widest = std::max(widest, unit.fraction_bits);
    const int general = std::max(cuts ? unit.fraction_bits : 0, unit.first_fraction_bits.value_or(0) == kExact
                                                                   ? 0
                                                                   : unit.first_fraction_bits.value_or(0));
    if (general > kGeneralFractionBits) falls_back_ = true;
    if (unit.result.empty() && (!cuts || general > kQuickFractionBits)) falls_back_ = true;
    bool steps_fit_64_bits = true;
    for (const RoundStep& s : unit.result) {
      if (s.fraction_bits > kGeneralFractionBits - 2) falls_back_ = true;
      if (s.fraction_bits > 60) steps_fit_64_bits = false;
    }
    // What a node hands on: a number of at most 56 bits.
    const bool narrow = unit.result.empty() ? cuts && unit.fraction_bits <= 36
                                            : std::any_of(unit.result.begin(), unit.result.end(), [](const RoundStep& s) {
                                                return !s.from_alignment && s.fraction_bits <= 52;
                                              }) || (cuts && unit.fraction_bits <= 36);
    if (narrow && steps_fit_64_bits) rounded_narrow |= 1u << u;
  }
  for (const RoundStep& s : numerics_.product.round) {
    if (s.fraction_bits > kGeneralFractionBits - 2) falls_back_ = true;
  }
  for (std::size_t u = 0; u < kMaxUnits; ++u) {
    if ((used >> u & 1u) == 0) continue;
    const Unit& unit = numerics_.units[u];
    quick_[u] = !falls_back_ && unit.fraction_bits != kExact && unit.fraction_bits <= kQuickFractionBits &&
                !unit.first_fraction_bits && numerics_.product.round.empty() && !numerics_.product.infinite_from &&
                fa <= 30 && fb <= 30 && fa + fb <= 48 && fc <= 48 && (rounded_narrow & used) == used;
    for (const CompiledNode& node : tree_->nodes) {
      if (static_cast<std::size_t>(node.unit) != u) continue;
      if (node.products.size() > 64 || node.others.size() > Run<false>::kMaxOthers) quick_[u] = false;
    }
  }
  quick32_ = fa < 30 && fb < 30 && std::max(widest, fa + fb) + 2 <= 30;
}

FastEmulator::Problem FastEmulator::problem(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j) {
  const Tiles& tiles = decoded.tiles();
  const std::size_t local = t - decoded.first_;
  return {decoded, (local * tiles.m + i) * tiles.k, (local * tiles.n + j) * tiles.k, tiles.c_index(local, i, j), t, i, j,
          tiles.c_index(t, i, j)};
}

std::uint64_t FastEmulator::dot_exactly(const Tiles& tiles, std::size_t t, std::size_t i, std::size_t j) const {
  Tiles one = make_tiles(tiles.a_format, tiles.b_format, tiles.c_format, tiles.d_format, 1, 1, 1, tiles.k);
  for (std::size_t kk = 0; kk < tiles.k; ++kk) {
    one.a.set(kk, tiles.a[tiles.a_index(t, i, kk)]);
    one.b.set(kk, tiles.b[tiles.b_index(t, kk, j)]);
  }
  one.c.set(0, tiles.c[tiles.c_index(t, i, j)]);
  if (tiles.scale_block != 0) {
    const std::size_t blocks = tiles.k / static_cast<std::size_t>(tiles.scale_block);
    one.scale_block = tiles.scale_block;
    one.sa = Codes(1, blocks);
    one.sb = Codes(1, blocks);
    for (std::size_t s = 0; s < blocks; ++s) {
      one.sa.set(s, tiles.sa[(t * tiles.m + i) * blocks + s]);
      one.sb.set(s, tiles.sb[(t * blocks + s) * tiles.n + j]);
    }
  }
  Datapath datapath;
  datapath.numerics = numerics_;
  datapath.tree = tree_->tree;
  emulate_exact(datapath, one);
  return one.d[0];
}

std::uint64_t FastEmulator::dot(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j) const {
  if (falls_back_) return dot_exactly(decoded.tiles(), t, i, j);
  const Problem p = problem(decoded, t, i, j);
  return Run<false>{*this, p, 0}();
}

std::uint64_t FastEmulator::dot(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j,
                                int watch_exponent, unsigned& consulted) const {
  if (falls_back_) {
    consulted = ~0u;
    return dot_exactly(decoded.tiles(), t, i, j);
  }
  const Problem p = problem(decoded, t, i, j);
  Run<true> run{*this, p, watch_exponent};
  const std::uint64_t code = run();
  consulted = run.consulted;
  return code;
}

void FastEmulator::run(Tiles& tiles, unsigned threads) const {
  std::atomic<std::size_t> next{0};
  // A few thousand decoded numbers at a time stay in the cache.
  const std::size_t chunk = std::max<std::size_t>(1, 8192 / ((tiles.m + tiles.n) * tiles.k));
  const auto work = [&] {
    for (std::size_t first = next.fetch_add(chunk); first < tiles.count; first = next.fetch_add(chunk)) {
      const std::size_t count = std::min(chunk, tiles.count - first);
      const DecodedTiles decoded(tiles, numerics_.a, numerics_.b, numerics_.c, first, count);
      for (std::size_t t = first; t < first + count; ++t) {
        for (std::size_t i = 0; i < tiles.m; ++i) {
          for (std::size_t j = 0; j < tiles.n; ++j) tiles.d.set(tiles.c_index(t, i, j), dot(decoded, t, i, j));
        }
      }
    }
  };
  std::vector<std::jthread> pool;
  for (unsigned i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
}

}  // namespace tcnum
