// One dot problem in machine integers: the quick path for what is common, the general path for the rest.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <type_traits>

#include "cpu_emulator.hpp"
#include "emu/rounding_steps.hpp"
#include "product_sums.hpp"
#include "spread_sum.hpp"

namespace tcnum {

struct CpuEmulator::Value {
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
class CpuEmulator::Scratch {
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
struct CpuEmulator::Problem {
  const DecodedTiles& decoded;
  std::size_t a_row, b_row;  // of the decoded rows and columns
  std::size_t a, b, c;       // first element of the row, of the column; index of the decoded c
  std::size_t tile, row, column, code_of_c;
};

template <bool kTrace>
struct CpuEmulator::Run {
  static constexpr std::size_t kMaxProducts = 64, kMaxOthers = 8;  // of a sum
  static constexpr int kPairSpareBits = 8;

  const CpuEmulator& self;
  Problem p;
  int watch_exponent;
  unsigned consulted = 0;
  bool special = false;

  const Numerics& n() const { return self.numerics_; }
  bool minimum_exponents() const { return n().c.subnormal_exponent == SubnormalExponent::minimum; }

  std::uint64_t operator()() {
    begin();
    const std::size_t nodes = self.tree_->nodes.size();
    Scratch<40> results(nodes);
    for (std::size_t i = 0; i < nodes; ++i) evaluate(i, results.data());
    return to_code(results[nodes - 1]);
  }

  /// Looks at the operands.
  void begin() {
    const DecodedTiles& d = p.decoded;
    const unsigned flags = d.a_.flags[p.a_row] | d.b_.flags[p.b_row] | d.c_.flags[p.c];
    special = (flags & kHasSpecial) != 0;
    if constexpr (kTrace) {
      if (flags & kHasSubnormal) consulted |= kConsultedSubnormalInput;
    }
  }

  std::uint64_t to_code(const Value& v) {
    if (v.kind == Value::Kind::nan) {
      if constexpr (kTrace) consulted |= kConsultedNan;
      return v.payload;
    }
    // The sign of a zero on the way shows only in the sign of a zero at the end.
    if (v.magnitude != 0) consulted &= ~static_cast<unsigned>(kConsultedZeroSum);
    const bool infinite = v.kind == Value::Kind::infinity;
    const auto low = static_cast<std::uint64_t>(v.magnitude);
    const Format& f = format(n().result);
    return low == v.magnitude ? pack(f, Rounded<std::uint64_t>{low, v.lsb, v.exponent, v.negative, infinite})
                              : pack(f, Rounded<uint128>{v.magnitude, v.lsb, v.exponent, v.negative, infinite});
  }

  /// Sets the node's result.
  void evaluate(std::size_t number, Value* results) {
    const CompiledNode& node = self.tree_->nodes[number];
    Value& result = results[number];
    const Path path = is_finite(node, results) ? self.paths_[number] : Path::general;
    switch (path) {
      case Path::sum:
        return self.quick32_ ? sum<std::int32_t>(node, results, result) : sum<std::int64_t>(node, results, result);
      case Path::pair:
        return pair<std::uint64_t>(node, results, result);
      case Path::wide_pair:
        return pair<uint128>(node, results, result);
      case Path::general:
        result = general(node, results);
    }
  }

  bool is_finite(const CompiledNode& node, const Value* results) const {
    return !special && std::all_of(node.others.begin(), node.others.end(), [&](const Term& t) {
      return t.kind != Term::Kind::node || results[t.index].kind == Value::Kind::finite;
    });
  }

  /// Rounds the sum of a node's terms. Values are written where they stay, member by member: a copy would have to wait
  /// for the members.
  template <class U>
  void round(const Unit& unit, Rounded<U>& r, int alignment, Value& result) {
    if constexpr (kTrace) {
      if (r.magnitude == 0) consulted |= kConsultedZeroSum;
    }
    apply_steps<kTrace>(r, unit.result, alignment, unit.underflow_sign, minimum_exponents(), consulted);
    result.kind = r.infinite ? Value::Kind::infinity : Value::Kind::finite;
    result.negative = r.negative;
    result.magnitude = r.magnitude;
    result.lsb = r.lsb;
    result.exponent = r.exponent;
  }

  // --- Sums with finite fraction_bits, of finite terms, in 64 bits.

  template <class P>
  static P cut(P x, int shift, Rounding mode) {  // x · 2^-shift, for |x| < 2^(bits − 1)
    using U = std::make_unsigned_t<P>;
    constexpr int kMost = kBits<P> - 1;
    if (mode == Rounding::down) return x >> std::min(shift, kMost);
    const U sign = static_cast<U>(x >> kMost);
    const U magnitude = (static_cast<U>(x) ^ sign) - sign;
    U kept;
    if (mode == Rounding::toward_zero)
      kept = magnitude >> std::min(shift, kMost);
    else
      kept = round_right<U>(magnitude, shift, sign != 0, mode);
    return static_cast<P>((kept ^ sign) - sign);
  }

  /// The terms that are no products: the accumulator and the results of nodes.
  struct Others {
    std::size_t count = 0;
    std::int64_t significand[kMaxOthers];
    std::int32_t lsb[kMaxOthers];
    std::int32_t highest_exponent = 2 * kNoExponent;
    bool any_zero = false, all_negative = true, any_negative = false;

    void add(std::int64_t x, std::int32_t x_lsb, std::int32_t exponent, bool negative) {
      significand[count] = x;
      lsb[count] = x_lsb;
      highest_exponent = std::max(highest_exponent, exponent);
      any_zero = any_zero || x == 0;
      all_negative = all_negative && negative;
      any_negative = any_negative || negative;
      ++count;
    }
  };

  void find_others(const CompiledNode& node, const Unit& unit, const Value* results, Others& others) const {
    const bool natural = unit.zero_exponent.kind == ZeroExponentKind::natural;
    for (const Term& t : node.others) {
      if (t.kind == Term::Kind::accumulator) {
        const DecodedTiles::Numbers& c = p.decoded.c_;
        others.add(c.significand_at(p.c), c.natural[p.c] - c.fraction_bits, (natural ? c.natural : c.exponent)[p.c],
                   c.negative[p.c] != 0);
      } else {
        const Value& v = results[t.index];
        const auto magnitude = static_cast<std::int64_t>(v.magnitude);
        others.add(v.negative ? -magnitude : magnitude, v.lsb, magnitude == 0 && !natural ? kNoExponent : v.exponent,
                   v.negative);
      }
    }
  }

  /// The alignment exponent, where `highest` is the highest of all terms' exponents.
  static int alignment(const Unit& unit, int highest, bool any_zero) {
    const bool bounded = unit.zero_exponent.kind == ZeroExponentKind::floor ||
                         (unit.zero_exponent.kind == ZeroExponentKind::zeros && any_zero);
    return bounded ? std::max(highest, unit.zero_exponent.value) : highest;
  }

  /// The node's result, given the sum of its products in units of 2^(alignment − fraction_bits).
  void total(const CompiledNode& node, const Unit& unit, const Others& others, int alignment, std::int64_t sum,
             Value& result) {
    const int lsb = alignment - unit.fraction_bits;
    for (std::size_t i = 0; i < others.count; ++i) {
      if (others.significand[i] == 0) continue;  // a zero's exponent says nothing about its bits
      const int shift = lsb - others.lsb[i];
      sum += shift >= 0 ? cut(others.significand[i], shift, unit.align_rounding)
                        : static_cast<std::int64_t>(static_cast<std::uint64_t>(others.significand[i]) << -shift);
    }
    Rounded<std::uint64_t> r{static_cast<std::uint64_t>(std::abs(sum)), lsb, alignment, sum < 0};
    if (sum == 0) {
      r.lsb = 0;
      if (alignment <= kNoExponent / 2) r.exponent = 0;  // nothing took part
      r.negative = zero_is_negative(unit, node, others.all_negative, others.any_negative);
    }
    round(unit, r, alignment, result);
  }

  /// value = significand · 2^(exponent − product fraction), in units of 2^(alignment − fraction_bits).
  ProductCut product_cut(const Unit& unit) const {
    const int up = unit.fraction_bits - p.decoded.a_.fraction_bits - p.decoded.b_.fraction_bits;
    return {unit.align_rounding, std::max(0, up), std::max(0, -up), unit.fraction_bits};
  }

  /// P holds a product, and a product shifted left as far as alignment can ask (see choose_paths).
  template <class P>
  void sum(const CompiledNode& node, const Value* results, Value& result) {
    const Unit& unit = n().units[static_cast<std::size_t>(node.unit)];
    const DecodedTiles& d = p.decoded;
    const bool natural = unit.zero_exponent.kind == ZeroExponentKind::natural;
    const std::size_t count = node.products.size();
    P product[kMaxProducts];
    std::int32_t exponent[kMaxProducts];

    const std::int32_t* ea = (natural ? d.a_.natural : d.a_.exponent).data() + p.a;
    const std::int32_t* eb = (natural ? d.b_.natural : d.b_.exponent).data() + p.b;
    const std::int32_t* sa = d.a_.significand.data() + p.a;
    const std::int32_t* sb = d.b_.significand.data() + p.b;
    if (node.contiguous) {
      const auto first = static_cast<std::size_t>(count == 0 ? 0 : node.products[0]);
      ea += first, eb += first, sa += first, sb += first;
      for (std::size_t i = 0; i < count; ++i) product[i] = static_cast<P>(sa[i]) * static_cast<P>(sb[i]);
      for (std::size_t i = 0; i < count; ++i) exponent[i] = ea[i] + eb[i];
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        const auto kk = static_cast<std::size_t>(node.products[i]);
        product[i] = static_cast<P>(sa[kk]) * static_cast<P>(sb[kk]);
        exponent[i] = ea[kk] + eb[kk];
      }
    }
    const int product_fraction = d.a_.fraction_bits + d.b_.fraction_bits;
    Others others;
    find_others(node, unit, results, others);
    std::int32_t highest = others.highest_exponent;
    if (n().product.exponent == ProductExponent::normalised) {
      for (std::size_t i = 0; i < count; ++i) {
        if (product[i] == 0) {
          highest = std::max(highest, exponent[i]);
          continue;
        }
        const auto magnitude = static_cast<std::uint64_t>(std::abs(static_cast<std::int64_t>(product[i])));
        const int above_one = width(magnitude) - 1 - product_fraction;
        highest = std::max(highest, exponent[i] + above_one);
        if (above_one < 0) {
          product[i] = static_cast<P>(product[i] * (P{1} << -above_one));
          exponent[i] += above_one;
        }
      }
    } else {
      for (std::size_t i = 0; i < count; ++i) highest = std::max(highest, exponent[i]);
    }
    if constexpr (kTrace) {
      if (highest <= watch_exponent) {
        const int cut = watch_exponent - unit.fraction_bits;
        const auto loses = [&](std::int64_t significand, int lsb) {
          return significand != 0 && lsb + std::countr_zero(static_cast<std::uint64_t>(significand)) < cut;
        };
        for (std::size_t i = 0; i < count; ++i) {
          if (loses(product[i], exponent[i] - product_fraction)) consulted |= kConsultedZeroExponent;
        }
        for (std::size_t i = 0; i < others.count; ++i) {
          if (loses(others.significand[i], others.lsb[i])) consulted |= kConsultedZeroExponent;
        }
      }
    }
    bool any_zero = others.any_zero;
    if (unit.zero_exponent.kind == ZeroExponentKind::zeros) {
      for (std::size_t i = 0; i < count; ++i) any_zero |= product[i] == 0;
    }
    const int alignment = this->alignment(unit, highest, any_zero);

    const ProductCut how = product_cut(unit);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      sum += cut(static_cast<P>(product[i] << how.up), alignment - exponent[i] + how.down, how.rounding);
    }
    total(node, unit, others, alignment, sum, result);
  }

  bool zero_is_negative(const Unit& unit, const CompiledNode& node, bool all_others, bool any_other) const {
    bool all = all_others, any = any_other;
    for (int kk : node.products) {
      const bool negative = p.decoded.a_.negative[p.a + static_cast<std::size_t>(kk)] !=
                            p.decoded.b_.negative[p.b + static_cast<std::size_t>(kk)];
      all = all && negative;
      any = any || negative;
    }
    return zero_is_negative(unit, all, any);
  }

  static bool zero_is_negative(const Unit& unit, bool all_negative, bool any_negative) {
    if (unit.zero_sign == ZeroSign::positive) return false;
    const bool rounds_down =
        !unit.result.empty() &&
        unit.result.step[static_cast<std::size_t>(unit.result.count - 1)].rounding == Rounding::down;
    return all_negative || (any_negative && rounds_down);
  }

  // --- Exact sums of two finite terms, such as FMAs.

  template <class U>
  struct Part {
    U magnitude;
    int lsb;
    bool negative;
    int end() const { return magnitude == 0 ? kNoExponent : width(magnitude) + lsb; }
  };

  template <class U>
  static Part<U> part(const DecodedTiles::Numbers& numbers, std::size_t at) {
    return {static_cast<U>(std::abs(numbers.significand_at(at))), numbers.natural[at] - numbers.fraction_bits,
            numbers.negative[at] != 0};
  }

  template <class U>
  Part<U> part(const Term& t, const Value* results) const {
    switch (t.kind) {
      case Term::Kind::accumulator:
        return part<U>(p.decoded.c_, p.c);
      case Term::Kind::product: {
        const Part<U> x = part<U>(p.decoded.a_, p.a + static_cast<std::size_t>(t.index));
        const Part<U> y = part<U>(p.decoded.b_, p.b + static_cast<std::size_t>(t.index));
        return {x.magnitude * y.magnitude, x.lsb + y.lsb, x.negative != y.negative};
      }
      case Term::Kind::node:
        break;
    }
    const Value& v = results[t.index];
    return {static_cast<U>(v.magnitude), v.lsb, v.negative};
  }

  /// The larger term is shifted to the top of a U. What the smaller one has below U's last bit is folded into that
  /// bit: the terms, and what the first rounding keeps, have at least kPairSpareBits fewer bits than a U
  /// (see choose_paths), so that the last bit lies below all bits that decide a rounding.
  template <class U>
  void pair(const CompiledNode& node, const Value* results, Value& result) {
    static_assert(kPairSpareBits >= 6);
    const Unit& unit = n().units[static_cast<std::size_t>(node.unit)];
    const Part<U> parts[2] = {part<U>(node.terms[0], results), part<U>(node.terms[1], results)};
    const bool all_negative = parts[0].negative && parts[1].negative;
    const bool any_negative = parts[0].negative || parts[1].negative;
    // Which term is larger, and the signs, are as good as random: no branches on them.
    const bool second = parts[0].end() < parts[1].end();
    const Part<U>&large = parts[second], &small = parts[!second];
    Rounded<U> r{0, 0, 0, false};
    if (large.magnitude != 0) {
      const int up = kBits<U> - 2 - width(large.magnitude);
      r.lsb = large.lsb - up;
      U aligned = 0;
      if (small.magnitude != 0) {
        const int down = r.lsb - small.lsb;
        if (down <= 0)
          aligned = small.magnitude << -down;
        else if (down >= kBits<U>)
          aligned = 1;
        else
          aligned = (small.magnitude >> down) | ((small.magnitude & ((U{1} << down) - 1)) != 0 ? 1 : 0);
      }
      const U signs = U{0} - U{large.negative != small.negative};
      const U difference = (large.magnitude << up) + ((aligned ^ signs) - signs);  // in two's complement
      const bool turned = (difference >> (kBits<U> - 1)) != 0;
      r.magnitude = turned ? U{0} - difference : difference;
      r.negative = large.negative != turned;
    }
    if (r.magnitude == 0) r = {0, 0, 0, zero_is_negative(unit, all_negative, any_negative)};
    round(unit, r, 0, result);
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
    v.magnitude =
        n().product.operation == ProductOperation::exclusive_or ? x.magnitude ^ y.magnitude : x.magnitude * y.magnitude;
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
        case Term::Kind::product:
          terms[i] = product(t.index);
          break;
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
          if (terms[i].magnitude != 0 && lowest_bit(terms[i]) < watch_exponent - unit.fraction_bits)
            consulted |= kConsultedZeroExponent;
        }
      }
    }
    alignment = this->alignment(unit, alignment, any_zero);
    for (std::size_t i = 1; unit.drop_below && i < count; ++i) {
      if (terms[i].exponent < alignment - *unit.drop_below) terms[i].magnitude = 0;
    }

    Rounded<uint128> r{0, 0, alignment, false};
    if (any_nonzero) r = cut_and_add(unit, terms, count, alignment);
    r.exponent = alignment;
    if (r.magnitude == 0) {
      r.lsb = 0;
      if (alignment <= kNoExponent / 2) r.exponent = 0;
      r.negative = zero_is_negative(unit, all_negative, any_negative);
    }
    Value result;
    round(unit, r, alignment, result);
    return result;
  }

  static int lowest_bit(const Value& v) {
    const auto low = static_cast<std::uint64_t>(v.magnitude);
    return v.lsb +
           (low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(static_cast<std::uint64_t>(v.magnitude >> 64)));
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
    SpreadSum sum(lowest, highest - lowest + kCarryBits);
    for (std::size_t i = 0; i < count; ++i) {
      if (terms[i].magnitude != 0) sum.add(terms[i].negative, terms[i].magnitude, terms[i].lsb);
    }
    return sum.value();
  }
};

}  // namespace tcnum
