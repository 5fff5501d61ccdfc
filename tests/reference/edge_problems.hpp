// Dot problems at the edges of a datapath: terms at its cuts and limits, zeros, subnormals, specials, cancellation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::test {

/// An endless sequence of problems for a datapath.
class EdgeProblems {
 public:
  EdgeProblems(const Datapath& datapath, std::uint64_t seed) : datapath_(datapath), random_(seed) {
    const Numerics& n = datapath.numerics;
    const auto bits = [&](int count) {
      if (count < 300) distances_.push_back(count);
    };
    const auto exponent = [&](int e) {
      if (std::abs(e) < kUnbounded) exponents_.push_back(e);
    };
    const auto steps = [&](const RoundSteps& all) {
      for (const RoundStep& s : all) {
        bits(s.fraction_bits);
        exponent(s.min_exponent);
        exponent(s.min_exponent - s.fraction_bits);
        exponent(s.max_exponent);
      }
    };
    exponents_ = {0, 0};
    for (std::size_t u = 0; u < datapath.unit_names.size(); ++u) {
      const Unit& unit = n.units[u];
      bits(unit.fraction_bits);
      if (unit.first_fraction_bits) bits(*unit.first_fraction_bits);
      if (unit.drop_below) bits(*unit.drop_below);
      if (unit.zero_exponent.kind == ZeroExponentKind::floor || unit.zero_exponent.kind == ZeroExponentKind::zeros) {
        exponent(unit.zero_exponent.value);
        exponent(unit.zero_exponent.value - std::min(unit.fraction_bits, 200));
      }
      steps(unit.result);
    }
    steps(n.product.round);
    if (n.product.infinite_from) exponent(*n.product.infinite_from);
    if (distances_.empty()) distances_ = {0};
  }

  Problem next() {
    const Numerics& n = datapath_.numerics;
    const auto k = static_cast<std::size_t>(datapath_.tree.k);
    Problem p;
    anchor_ = pick(exponents_) + below(5) - 2 + (once_in(3) ? below(12) - 6 : 0);
    spread_ = pick({1, 1, 4, 12, 50});
    zeros_ = pick({0, 0, 10, 50, 90});
    specials_ = once_in(6) ? pick({1, 5, 30}) : 0;
    negatives_ = pick({0, 10, 50, 50, 90, 100});
    cancels_ = pick({0, 0, 20, 90});
    p.a.resize(k);
    p.b.resize(k);
    for (std::size_t i = 0; i < k; ++i) {
      const Format &a = format(n.a.format), &b = format(n.b.format);
      if (i > 0 && percent(cancels_)) {
        const auto other = static_cast<std::size_t>(below(static_cast<int>(i)));
        p.a[i] = negated(a, p.a[other]);
        p.b[i] = p.b[other];
        continue;
      }
      const int target = exponent_of_term();
      const int low = std::max(lowest(a), target - highest(b)), high = std::min(highest(a), target - lowest(b));
      const int ea = low <= high ? low + below(high - low + 1) : target / 2;
      p.a[i] = code(a, ea);
      p.b[i] = code(b, target - ea);
    }
    const Format& c = format(n.c.format);
    p.c = code(c, exponent_of_term());
    if (percent(cancels_)) {  // of a product, as well as c's format has it
      const auto i = static_cast<std::size_t>(below(static_cast<int>(k)));
      const Decoded x = decode(format(n.a.format), p.a[i]), y = decode(format(n.b.format), p.b[i]);
      if (x.is_finite() && y.is_finite()) {
        p.c = encode(c, x.negative == y.negative, uint128{x.significand} * y.significand,
                     x.exponent + y.exponent - format(n.a.format).fraction_bits - format(n.b.format).fraction_bits,
                     false, Rounding::toward_zero, Overflow::max_finite);
      }
    }
    if (n.scales) {
      const std::size_t blocks = k / static_cast<std::size_t>(n.scales->block_k);
      const int width = pick({1, 3, 12, 60});
      for (auto* scales : {&p.sa, &p.sb}) {
        for (std::size_t i = 0; i < blocks; ++i) {
          const Format& f = format(n.scales->format);
          const bool any = once_in(12);
          scales->push_back(any ? random_() & f.code_mask()
                                : encode(f, false, 8 + random_() % 8, below(width) - width / 2 - 3, false,
                                         Rounding::toward_zero, Overflow::max_finite));
        }
      }
    }
    return p;
  }

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<std::uint64_t>(end)); }
  bool once_in(int times) { return below(times) == 0; }
  bool percent(int chance) { return below(100) < chance; }
  int pick(const std::vector<int>& values) {
    return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))];
  }

  static int lowest(const Format& f) { return f.min_exponent() - f.fraction_bits; }
  static int highest(const Format& f) { return f.max_exponent(); }

  /// At the anchor, somewhat below it, or where the datapath does something else than there.
  int exponent_of_term() {
    if (once_in(3)) return anchor_;
    if (once_in(2)) return anchor_ - below(spread_);
    return anchor_ - pick(distances_) + below(6) - 3;
  }

  std::uint64_t negated(const Format& f, std::uint64_t code) const {
    if (!f.floating) return f.has_sign ? (~code + 1) & f.code_mask() : code;
    if (f.non_finite == NonFinite::nan_negative_zero && code == 0) return code;
    return code ^ std::uint64_t{1} << (f.storage_bits - 1);
  }

  std::uint64_t code(const Format& f, int exponent) {
    const bool negative = percent(negatives_);
    if (percent(specials_)) {
      if (f.has_infinity() && once_in(2)) return infinity_code(f, negative);
      if (f.floating && once_in(2)) {  // of the top codes, most are NaNs
        const std::uint64_t payload = random_() & detail::low_mask(f.fraction_bits + f.padding_bits);
        return ((negative ? ~std::uint64_t{0} : 0) << (f.storage_bits - 1) | f.first_non_finite() << f.padding_bits |
                payload) &
               f.code_mask();
      }
      return random_() & f.code_mask();
    }
    if (percent(zeros_)) return zero_code(f, negative);
    const int width = f.fraction_bits;
    const std::uint64_t one = std::uint64_t{1} << width, fraction = random_() & (one - 1);
    std::uint64_t significand = one;
    switch (below(6)) {
      case 0:
        break;
      case 1:
        significand |= one - 1;
        break;  // all ones
      case 2:
        significand |= 1;
        break;  // the last bit
      case 3:
        significand |= fraction & ~detail::low_mask(std::max(0, width - 3));
        break;  // few bits
      case 4:
        significand |= std::uint64_t{1} << below(width + 1);
        break;
      default:
        significand |= fraction;
    }
    return encode(f, negative, significand, exponent - width, false, Rounding::toward_zero, Overflow::max_finite);
  }

  const Datapath& datapath_;
  std::mt19937_64 random_;
  std::vector<int> exponents_, distances_;
  int anchor_ = 0, spread_ = 1, zeros_ = 0, specials_ = 0, negatives_ = 50, cancels_ = 0;  // of the problem at hand
};

}  // namespace tcnum::test
