// The definition of every datapath, in whole numbers of arbitrary size: a value is ±significand · 2^lsb.
#include "tcnum/exact.hpp"

#include <algorithm>
#include <boost/multiprecision/gmp.hpp>
#include <stdexcept>

#include "emu/check_tiles.hpp"
#include "evaluate.hpp"

namespace tcnum {
namespace {

using Integer = boost::multiprecision::mpz_int;

enum class Kind { finite, infinity, nan };

/// A term of a sum: an operand, a product, or the result of a node.
struct ExactValue {
  Kind kind = Kind::finite;
  bool negative = false;
  Integer significand = 0;  // never negative
  int lsb = 0;              // exponent of the significand's last bit
  int exponent = 0;         // with which the value takes part in alignment; for a zero, the `natural` one
  std::uint64_t nan_payload = 0;
  int nan_rank = 0;             // of the operand that the payload is from, in NanRule::order
  bool aligns_as_zero = false;  // a sum that cancelled, and takes part in the alignment all the same

  bool is_zero() const { return kind == Kind::finite && significand == 0; }
  int leading_exponent() const { return static_cast<int>(msb(significand)) + lsb; }
  Integer scaled_to(int to_lsb) const { return significand << (lsb - to_lsb); }  // to_lsb ≤ lsb
};

ExactValue make_nan(std::uint64_t payload, int rank) {
  ExactValue v;
  v.kind = Kind::nan;
  v.nan_payload = payload;
  v.nan_rank = rank;
  return v;
}

/// The multiple of 2^q that the magnitude is rounded to, counted in units of 2^q.
Integer round_to_multiple(const ExactValue& v, int q, Rounding mode) {
  if (v.lsb >= q) return v.scaled_to(q);
  const int dropped = q - v.lsb;
  const Integer kept = v.significand >> dropped;
  const bool half = bit_test(v.significand, static_cast<unsigned>(dropped - 1));
  const Integer below_half = v.significand - ((v.significand >> (dropped - 1)) << (dropped - 1));
  const bool odd = bit_test(kept, 0);
  return rounds_away(mode, v.negative, odd, half, below_half != 0) ? Integer(kept + 1) : kept;
}

class Evaluation {
 public:
  Evaluation(const Numerics& numerics, const Tree& tree, std::span<const std::uint64_t> a,
             std::span<const std::uint64_t> b, std::uint64_t c, std::span<const std::uint64_t> sa,
             std::span<const std::uint64_t> sb)
      : n_(numerics), tree_(tree), a_(a), b_(b), c_(c), sa_(sa), sb_(sb) {}

  std::uint64_t run(std::vector<TracedNode>* trace = nullptr) {
    std::vector<ExactValue> results;
    results.reserve(tree_.nodes.size());
    for (const Node& node : tree_.nodes) {
      TracedNode traced;
      results.push_back(sum(node, results, trace == nullptr ? nullptr : &traced));
      if (trace == nullptr) continue;
      traced.result = traced_number(results.back());
      trace->push_back(std::move(traced));
    }
    return to_code(results.back());
  }

 private:
  int nan_rank(NanOperand which) const {
    return static_cast<int>(std::find(n_.nan.order.begin(), n_.nan.order.end(), which) - n_.nan.order.begin());
  }

  ExactValue operand(const OperandRule& rule, std::uint64_t code, NanOperand which) const {
    const Format& f = format(rule.format);
    const Decoded d = decode(f, code);
    ExactValue v;
    v.negative = d.negative;
    v.exponent = d.exponent;
    if (d.number_class == NumberClass::nan) return make_nan(payload(rule.format, code), nan_rank(which));
    if (d.number_class == NumberClass::infinity) {
      v.kind = Kind::infinity;
      return v;
    }
    if (d.number_class == NumberClass::subnormal && rule.subnormals == Subnormals::flushed) return v;
    v.significand = d.significand;
    v.lsb = d.exponent - f.fraction_bits;
    if (d.number_class == NumberClass::subnormal && rule.subnormal_exponent == SubnormalExponent::normalised) {
      v.exponent = v.leading_exponent();
    }
    return v;
  }

  /// The code with which a NaN operand comes back: itself, made quiet, where it has the result's format.
  std::uint64_t payload(FormatId from, std::uint64_t code) const {
    if (!n_.nan.propagate || from != n_.result) return n_.nan.code;
    return code | nan_code(format(from));
  }

  ExactValue better_nan(const ExactValue& x, const ExactValue& y) const {
    if (x.kind != Kind::nan) return y;
    if (y.kind != Kind::nan) return x;
    return y.nan_rank < x.nan_rank ? y : x;
  }

  ExactValue product(int k) const {
    const auto i = static_cast<std::size_t>(k);
    const ExactValue x = operand(n_.a, a_[i], NanOperand::a);
    const ExactValue y = operand(n_.b, b_[i], NanOperand::b);
    if (x.kind == Kind::nan || y.kind == Kind::nan) return better_nan(x, y);
    ExactValue v = n_.product.operation == ProductOperation::exclusive_or ? exclusive_or(x, y) : multiply(x, y);
    if (n_.scales && !any_unit_scaled()) v = scale(v, k);
    if (v.kind == Kind::finite && v.significand != 0 && n_.product.exponent == ProductExponent::normalised) {
      v.exponent = v.leading_exponent();
    }
    if (n_.product.infinite_from && v.kind == Kind::finite && v.significand != 0 &&
        v.leading_exponent() >= *n_.product.infinite_from) {
      v.kind = Kind::infinity;
    }
    return rounded(v, n_.product.round, 0, UnderflowSign::kept);
  }

  ExactValue multiply(const ExactValue& x, const ExactValue& y) const {
    if (x.kind == Kind::nan || y.kind == Kind::nan) return better_nan(x, y);
    ExactValue v;
    v.negative = x.negative != y.negative;
    v.exponent = x.exponent + y.exponent;
    if (x.kind == Kind::infinity || y.kind == Kind::infinity) {
      if (x.is_zero() || y.is_zero()) return generated_nan();
      v.kind = Kind::infinity;
      return v;
    }
    v.significand = x.significand * y.significand;
    v.lsb = x.lsb + y.lsb;
    return v;
  }

  /// Of single bits.
  static ExactValue exclusive_or(const ExactValue& x, const ExactValue& y) {
    ExactValue v;
    v.exponent = x.exponent + y.exponent;
    v.significand = x.significand == y.significand ? 0 : 1;
    return v;
  }

  bool any_unit_scaled() const {
    return std::any_of(n_.units.begin(), n_.units.end(), [](const Unit& u) { return u.scaled; });
  }

  ExactValue scale(ExactValue v, int k) const {
    const OperandRule rule{n_.scales->format, Subnormals::kept, SubnormalExponent::minimum};
    const auto block = static_cast<std::size_t>(k / n_.scales->block_k);
    for (const std::uint64_t code : {sa_[block], sb_[block]}) {
      if (v.kind == Kind::nan) return v;
      const ExactValue scale = operand(rule, code, NanOperand::a);
      const bool aligns_as_zero = v.aligns_as_zero && !scale.is_zero();
      v = scale.kind == Kind::nan ? generated_nan() : multiply(v, scale);
      v.aligns_as_zero = aligns_as_zero;
    }
    return v;
  }

  /// A NaN that no operand of a, b or c brought: ranks behind all that one did.
  ExactValue generated_nan() const { return make_nan(n_.nan.code, 3); }

  ExactValue term(const Term& t, const std::vector<ExactValue>& results) const {
    switch (t.kind) {
      case Term::Kind::accumulator:
        return operand(n_.c, c_, NanOperand::c);
      case Term::Kind::product:
        return product(t.index);
      case Term::Kind::node:
        return results[static_cast<std::size_t>(t.index)];
    }
    throw std::logic_error("term: no such kind");
  }

  static TracedNumber traced_number(const ExactValue& v) {
    TracedNumber n{v.kind == Kind::finite     ? TracedNumber::Kind::finite
                   : v.kind == Kind::infinity ? TracedNumber::Kind::infinity
                                              : TracedNumber::Kind::nan,
                   v.negative, "", v.lsb, v.exponent};
    for (Integer rest = v.significand; rest != 0; rest >>= 1)
      n.bits.insert(n.bits.begin(), bit_test(rest, 0) ? '1' : '0');
    if (n.bits.empty()) n.bits = "0";
    return n;
  }

  /// `traced`, if not null, is told of everything but the result.
  ExactValue sum(const Node& node, const std::vector<ExactValue>& results, TracedNode* traced) const {
    const Unit& unit = n_.units[static_cast<std::size_t>(node.unit)];
    std::vector<ExactValue> terms;
    for (const Term& t : node.terms) {
      terms.push_back(term(t, results));
      // A NaN that a node passes on competes as the accumulator does.
      if (t.kind == Term::Kind::node && terms.back().kind == Kind::nan) terms.back().nan_rank = nan_rank(NanOperand::c);
    }

    if (traced != nullptr) {
      for (std::size_t i = 0; i < terms.size(); ++i) {
        traced->terms.push_back({node.terms[i], traced_number(terms[i]), traced_number(terms[i])});
      }
    }
    if (const auto special = special_sum(terms)) {
      return unit.scaled ? scale(*special, node.terms.front().index) : *special;
    }

    ExactValue total;
    bool aligned_any = false;
    int alignment = 0;
    const auto align = [&](int exponent) {
      alignment = aligned_any ? std::max(alignment, exponent) : exponent;
      aligned_any = true;
    };
    for (const ExactValue& v : terms) {
      if (!v.is_zero() || v.aligns_as_zero || unit.zero_exponent.kind == ZeroExponentKind::natural) {
        align(v.exponent);
      } else if (unit.zero_exponent.kind == ZeroExponentKind::zeros) {
        align(unit.zero_exponent.value);
      }
    }
    if (unit.zero_exponent.kind == ZeroExponentKind::floor) align(unit.zero_exponent.value);

    // The signed sum, in units of 2^lsb with lsb low enough for every term.
    std::vector<ExactValue> cut_terms;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const int bits = i == 0 && unit.first_fraction_bits ? *unit.first_fraction_bits : unit.fraction_bits;
      ExactValue v = terms[i];
      if (i > 0 && unit.drop_below && v.exponent < alignment - *unit.drop_below) v.significand = 0;
      if (bits != kExact && v.significand != 0) {
        const int q = alignment - bits;
        v.significand = round_to_multiple(v, q, unit.align_rounding);
        v.lsb = q;
      }
      cut_terms.push_back(v);
    }
    int lsb = 0;
    for (const ExactValue& v : cut_terms) lsb = std::min(lsb, v.lsb);
    Integer signed_sum = 0;
    for (const ExactValue& v : cut_terms) signed_sum += v.negative ? Integer(-v.scaled_to(lsb)) : v.scaled_to(lsb);

    total.significand = abs(signed_sum);
    total.lsb = lsb;
    total.exponent = alignment;
    total.negative = signed_sum < 0 || (signed_sum == 0 && zero_is_negative(unit, terms));
    if (traced != nullptr) {
      for (std::size_t i = 0; i < terms.size(); ++i) traced->terms[i].kept = traced_number(cut_terms[i]);
      traced->alignment = alignment;
      traced->sum = traced_number(total);
    }
    if (unit.scale_exponents_alone) {
      total.exponent = 0;
      total.aligns_as_zero =
          total.is_zero() && !std::all_of(terms.begin(), terms.end(), [](const ExactValue& v) { return v.is_zero(); });
    }
    if (unit.scaled) total = scale(total, node.terms.front().index);
    if (total.kind != Kind::finite) return total;
    return rounded(total, unit.result, total.exponent, unit.underflow_sign);
  }

  /// The sum of terms that are not all finite.
  std::optional<ExactValue> special_sum(const std::vector<ExactValue>& terms) const {
    const ExactValue* nan = nullptr;
    const ExactValue* positive = nullptr;
    const ExactValue* negative = nullptr;
    for (const ExactValue& v : terms) {
      if (v.kind == Kind::nan && (nan == nullptr || v.nan_rank < nan->nan_rank)) nan = &v;
      if (v.kind == Kind::infinity) (v.negative ? negative : positive) = &v;
    }
    if (nan != nullptr) return *nan;
    if (positive != nullptr && negative != nullptr) return generated_nan();
    if (positive != nullptr) return *positive;
    if (negative != nullptr) return *negative;
    return std::nullopt;
  }

  static bool zero_is_negative(const Unit& unit, const std::vector<ExactValue>& terms) {
    if (unit.zero_sign == ZeroSign::positive) return false;
    const auto is_negative = [](const ExactValue& v) { return v.negative; };
    if (std::all_of(terms.begin(), terms.end(), is_negative)) return true;
    const bool downward = !unit.result.empty() &&
                          unit.result.step[static_cast<std::size_t>(unit.result.count - 1)].rounding == Rounding::down;
    return downward && std::any_of(terms.begin(), terms.end(), is_negative);
  }

  /// Applies the steps. A value that no step has normalised keeps its alignment exponent.
  ExactValue rounded(ExactValue v, const RoundSteps& steps, int alignment, UnderflowSign underflow_sign) const {
    for (const RoundStep& s : steps) {
      if (v.kind != Kind::finite || v.significand == 0) break;
      const int leading = std::min(v.leading_exponent(), s.max_exponent);
      const int q = (s.from_alignment ? alignment : std::max(leading, s.min_exponent)) - s.fraction_bits;
      v.significand = round_to_multiple(v, q, s.rounding);
      v.lsb = q;
      const bool tiny = v.significand == 0 || v.leading_exponent() < s.min_exponent;
      if (v.significand == 0 || (tiny && s.subnormals == Subnormals::flushed)) {
        v.significand = 0;
        if (underflow_sign == UnderflowSign::positive) v.negative = false;
      } else if (v.leading_exponent() > s.max_exponent && !is_lowest(v, s)) {
        v = overflowed(v, s);
      }
      if (!s.from_alignment && v.kind == Kind::finite) {
        // What follows sees a number of the step's format: subnormals and zeros with its smallest exponent.
        v.exponent = v.significand == 0 ? s.min_exponent : v.leading_exponent();
        if (n_.c.subnormal_exponent == SubnormalExponent::minimum) v.exponent = std::max(v.exponent, s.min_exponent);
      }
    }
    if (v.kind == Kind::finite && v.significand == 0 && !steps.empty()) {
      const RoundStep& last = steps.step[static_cast<std::size_t>(steps.count - 1)];
      if (!last.from_alignment) v.exponent = last.min_exponent;
    }
    return v;
  }

  /// Whether it is the one negative number of a two's complement step whose opposite is none.
  static bool is_lowest(const ExactValue& v, const RoundStep& s) {
    return s.twos_complement && v.negative && v.leading_exponent() == s.max_exponent + 1 &&
           msb(v.significand) == lsb(v.significand);
  }

  static ExactValue overflowed(ExactValue v, const RoundStep& s) {
    if (s.overflow == Overflow::wrap) {
      const Integer half = Integer(1) << (s.max_exponent + 1 - v.lsb), count = 2 * half;
      Integer residue = (v.negative ? Integer(-v.significand) : v.significand) % count;  // with the dividend's sign
      if (residue >= half) residue -= count;
      if (residue < -half) residue += count;
      v.negative = residue < 0;
      v.significand = abs(residue);
      return v;
    }
    const bool to_infinity =
        s.overflow == Overflow::infinity || (s.overflow == Overflow::ieee && s.rounding != Rounding::toward_zero &&
                                             s.rounding != (v.negative ? Rounding::up : Rounding::down));
    if (to_infinity) {
      v.kind = Kind::infinity;
    } else {
      v.lsb = std::max(s.max_exponent, s.min_exponent) - s.fraction_bits;
      const Integer beyond = Integer(1) << (s.max_exponent + 1 - v.lsb);
      v.significand = s.twos_complement && v.negative ? beyond : Integer(beyond - 1);
    }
    return v;
  }

  std::uint64_t to_code(const ExactValue& v) const {
    const Format& f = format(n_.result);
    if (v.kind == Kind::nan) return v.nan_payload;
    if (v.kind == Kind::infinity) return infinity_code(f, v.negative);
    Integer significand = v.significand;
    int lsb = v.lsb;
    while (significand != 0 && !bit_test(significand, 0)) {  // at most the format's precision is left
      significand >>= 1;
      ++lsb;
    }
    return encode(f, v.negative, static_cast<std::uint64_t>(significand), lsb, false, Rounding::toward_zero);
  }

  const Numerics& n_;
  const Tree& tree_;
  std::span<const std::uint64_t> a_, b_;
  std::uint64_t c_;
  std::span<const std::uint64_t> sa_, sb_;
};

}  // namespace

std::uint64_t evaluate_exactly(const Numerics& numerics, const Tree& tree, const Tiles& tiles, std::size_t t,
                               std::size_t i, std::size_t j) {
  std::vector<std::uint64_t> a(tiles.k), b(tiles.k);
  for (std::size_t kk = 0; kk < tiles.k; ++kk) {
    a[kk] = tiles.a[tiles.a_index(t, i, kk)];
    b[kk] = tiles.b[tiles.b_index(t, kk, j)];
  }
  const std::size_t blocks = tiles.scale_block == 0 ? 0 : tiles.k / static_cast<std::size_t>(tiles.scale_block);
  std::vector<std::uint64_t> sa(blocks), sb(blocks);
  for (std::size_t block = 0; block < blocks; ++block) {
    sa[block] = tiles.sa[(t * tiles.m + i) * blocks + block];
    sb[block] = tiles.sb[(t * blocks + block) * tiles.n + j];
  }
  return Evaluation(numerics, tree, a, b, tiles.c[tiles.c_index(t, i, j)], sa, sb).run();
}

std::uint64_t emulate_exact(const Datapath& datapath, std::span<const std::uint64_t> a,
                            std::span<const std::uint64_t> b, std::uint64_t c, std::span<const std::uint64_t> sa,
                            std::span<const std::uint64_t> sb) {
  validate(datapath);
  check_operands(datapath.numerics, datapath.tree.k, a, b, sa, sb);
  return Evaluation(datapath.numerics, datapath.tree, a, b, c, sa, sb).run();
}

std::uint64_t trace_exact(const Datapath& datapath, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                          std::uint64_t c, std::vector<TracedNode>& trace, std::span<const std::uint64_t> sa,
                          std::span<const std::uint64_t> sb) {
  validate(datapath);
  check_operands(datapath.numerics, datapath.tree.k, a, b, sa, sb);
  trace.clear();
  return Evaluation(datapath.numerics, datapath.tree, a, b, c, sa, sb).run(&trace);
}

void emulate_exact(const Datapath& datapath, Tiles& tiles) {
  validate(datapath);
  check_tiles(datapath.numerics, datapath.tree.k, tiles);
  if (tiles.m == 0 || tiles.n == 0) return;
  for (std::size_t t = 0; t < tiles.count; ++t) {
    for (std::size_t i = 0; i < tiles.m; ++i) {
      for (std::size_t j = 0; j < tiles.n; ++j) {
        tiles.d.set(tiles.c_index(t, i, j), evaluate_exactly(datapath.numerics, datapath.tree, tiles, t, i, j));
      }
    }
  }
}

}  // namespace tcnum
