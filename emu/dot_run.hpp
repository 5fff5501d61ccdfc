// One dot problem in machine integers: the quick path for what is common, the general path for the rest.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <type_traits>

#include "decoded_tiles.hpp"
#include "rounding_steps.hpp"
#include "wide_sum.hpp"

namespace tcnum {

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

}  // namespace tcnum
