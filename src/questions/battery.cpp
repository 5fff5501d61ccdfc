#include "battery.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "numbers.hpp"
#include "packing.hpp"

namespace tcnum {
namespace {

/// ±significand · 2^exponent, of which the format may cut bits.
std::uint64_t code(const Format& f, bool negative, uint128 significand, int exponent) {
  return encode(f, negative, significand, exponent, false, Rounding::toward_zero);
}

/// The battery of an instruction that sums floating-point products, group by group.
class FloatBattery {
 public:
  explicit FloatBattery(const Instruction& instruction)
      : in_(instruction),
        make_(instruction),
        a_(format(instruction.a)),
        b_(format(instruction.b)),
        c_(format(instruction.c)),
        d_(format(instruction.d)),
        one_a_(code(a_, false, 1, 0)),
        one_b_(code(b_, false, 1, 0)),
        one_c_(code(c_, false, 1, 0)) {
    // The largest power of two that products, accumulator and result can all hold with room for a few carries.
    big_ = std::min({make_.highest(), c_.max_exponent() - 6, d_.max_exponent() - 6});
  }

  std::vector<CraftedProblem> build() {
    width_of_the_sum();
    output_rounding();
    carries_and_normalisation();
    blocks();
    subnormals();
    alignment_of_subnormal_products();
    smallest_results();
    zeros();
    overflow();
    infinities_and_nans();
    padding();
    return std::move(problems_);
  }

  std::vector<CraftedProblem> build_rare() {
    const int half = std::max(1, in_.products() / 2);
    std::vector<std::array<int, 2>> pairs;
    for (const std::array<int, 2> pair : {std::array{0, 1}, std::array{0, 2}, std::array{0, half}}) {
      if (pair[1] <= last() && std::ranges::find(pairs, pair) == pairs.end()) pairs.push_back(pair);
    }
    negative_zeros();
    for (const auto& [one, other] : pairs) {
      sums_without_c(one, other);
      sums_beside_c(one, other);
      sums_below_c(one, other);
    }
    ties_of_small_products(1);
    if (in_.products() >= 8) ties_of_small_products(in_.products() / 4);
    return std::move(problems_);
  }

 private:
  int last() const { return in_.products() - 1; }

  /// A product in a slot: ±2^exponent.
  struct Power {
    int slot;
    bool negative;
    int exponent;
  };

  void ask(std::string name, Problem p) { problems_.push_back({std::move(name), std::move(p), purpose_}); }
  Problem zero() const { return zero_problem(in_); }
  /// Of these products, one after the other, and c.
  Problem of(std::initializer_list<Power> products, std::optional<std::uint64_t> c = std::nullopt) const {
    Problem p = zero();
    for (const auto& [slot, negative, exponent] : products) make_.put(p, slot, negative, exponent);
    if (c) p.c = *c;
    return p;
  }
  static const char* minus(bool negative) { return negative ? "-" : ""; }
  bool can(int exponent) const { return exponent >= make_.lowest_subnormal() && exponent <= make_.highest(); }

  void width_of_the_sum() {
    purpose_ = ProblemPurpose::alignment;
    // 2^e − 2^e + 2^(e−n): n is walked down until the small term disappears. The small term is a product, or c; the
    // large ones are products, or c and a product.
    // Where products exceed the result's range, also with the largest products: only so is what is left a normal
    // number.
    std::vector<int> tops = {big_};
    if (make_.highest() > d_.max_exponent()) tops.push_back(make_.highest());
    for (int n = 6; n <= 56; n += 1) {
      for (const bool negative : {false, true}) {
        for (const int top : tops) {
          if (in_.products() < 3 || !can(top - n) || top - n > d_.max_exponent()) continue;
          for (const int third : {2, last()}) {
            ask(fmt::format("width: {0}2^{1} {2} 2^{1} + 2^{3} in slot {4}", minus(negative), top, negative ? "+" : "-",
                            top - n, third),
                of({{0, negative, top}, {1, !negative, top}, {third, false, top - n}}));
            if (last() == 2) break;
          }
        }
        ask(fmt::format("width: 2^{0} - 2^{0}, c = {1}2^{2}", big_, minus(negative), big_ - n),
            of({{0, negative, big_}, {last(), !negative, big_}}, make_.accumulator(negative, big_ - n)));
      }
    }
    purpose_ = ProblemPurpose::rounding;
    // 1·1 + c = −(1 − 2^−24): extra bits below the result's.
    for (int n = 20; n <= 28; ++n) {
      ask(fmt::format("extra bits: 1 - (1 - 2^-{})", n),
          of({{0, false, 0}}, code(c_, true, (uint128{1} << n) - 1, -n)));
    }
  }

  /// Negative zeros as products of numbers: a format may have none of its own.
  void negative_zeros() {
    purpose_ = ProblemPurpose::edges;
    for (int positive = 0; positive <= 2; ++positive) {
      Problem p = zero();
      for (int k = 0; k < in_.products(); ++k) {
        p.a[static_cast<std::size_t>(k)] = code(a_, k >= positive, 1, 0);
      }
      p.c = code(c_, true, 0, 0);
      ask(fmt::format("apart: {} zeros of -1 times zero, c = -0", in_.products() - positive), p);
    }
  }

  /// The exponent of large products in what follows: in the middle, so that there is room above and below.
  int middle() const { return std::clamp((make_.highest() + make_.lowest()) / 2 + 12, make_.lowest(), big_); }

  void put_largest_below(Problem& p, int k, bool negative, int exponent) const {
    // (2 − 2^−f) · 2^(exponent − 1), f the fraction bits of a.
    make_.put(p, k, negative, exponent - 1);
    const auto i = static_cast<std::size_t>(k);
    p.a[i] |= (std::uint64_t{1} << a_.fraction_bits) - 1;
  }

  void sums_without_c(int one, int other) {
    purpose_ = ProblemPurpose::alignment;
    const int top = middle();
    for (int n = 1; n <= 40; ++n) {
      for (const bool negative : {false, true}) {
        if (!can(top - n)) continue;
        ask(fmt::format("apart: {}(2^{} - 2^{}) in slots {} and {}", minus(negative), top, top - n, one, other),
            of({{one, negative, top}, {other, !negative, top - n}}));
        for (const int third : {last() / 2 + 1, last()}) {
          if (third == one || third == other || third > last()) continue;
          ask(fmt::format("apart: {}(2^{} - 2^{} + 2^{}) in slots {}, {} and {}", minus(negative), top, top, top - n,
                          one, other, third),
              of({{one, negative, top}, {other, !negative, top}, {third, negative, top - n}}));
        }
      }
    }
  }

  /// What is left of two products is far less than what they are aligned to.
  void sums_beside_c(int one, int other) {
    purpose_ = ProblemPurpose::alignment;
    const int top = middle();
    if (!can(top - 1)) return;
    for (int n = 1; n <= 48; ++n) {
      for (const bool negative : {false, true}) {
        for (const bool c_negative : {false, true}) {
          for (const std::uint64_t quarters : {4u, 5u, 7u}) {
            Problem p = of({{one, negative, top}}, code(c_, c_negative, quarters, top - n - 2));
            put_largest_below(p, other, !negative, top);
            ask(fmt::format("apart: {}(2^{} less a little) in slots {} and {}, c = {}{} * 2^{}", minus(negative), top,
                            one, other, minus(c_negative), quarters, top - n - 2),
                p);
          }
        }
      }
    }
  }

  /// Half of the last bit of what is about c, and something far below: c is a power of two or a little more, or a bit
  /// less than the next, from which the sum is a carry away.
  void sums_below_c(int one, int other) {
    purpose_ = ProblemPurpose::rounding;
    const int last_bit = c_.fraction_bits, top = std::clamp(middle(), make_.lowest() + last_bit + 2, big_);
    struct Case {
      std::uint64_t c_fraction;
      int half;  ///< of the last bit, below c
    };
    const std::array<Case, 4> cases = {
        {{0, last_bit + 1}, {1, last_bit + 1}, {(std::uint64_t{1} << last_bit) - 1, last_bit - 1}, {0, last_bit + 2}}};
    for (int n = last_bit + 3; n <= last_bit + 20; ++n) {
      for (int signs = 0; signs < 8; ++signs) {
        for (const auto& [fraction, half] : cases) {
          if (!can(top - half) || !can(top - n)) continue;
          const bool first = (signs & 1) != 0, second = (signs & 2) != 0;
          ask(fmt::format("apart: c about 2^{}, {}2^{} and {}2^{} in slots {} and {}", top, minus(first), top - half,
                          minus(second), top - n, one, other),
              of({{one, first, top - half}, {other, second, top - n}},
                 make_.accumulator((signs & 4) != 0, top) | fraction));
        }
      }
    }
  }

  /// Half of the smallest result, made of products that are as small as that many can be, and another far below: what
  /// a floor cuts of it decides where it is rounded.
  void ties_of_small_products(int stride) {
    purpose_ = ProblemPurpose::edges;
    struct Sum {
      int products, exponent;  ///< of what so many products of about 2^0 add up to
    };
    static constexpr std::array<Sum, 4> kSums = {{{1, 0}, {2, 1}, {3, 3}, {6, 4}}};
    // 1.75 · 1.75 + 1.75 · 1.75 + 1.25 · 1.5 = 8: of three products none is larger than 4.
    static constexpr std::array<std::array<unsigned, 2>, 3> kEighths = {{{14, 14}, {14, 14}, {10, 12}}};
    const int half = d_.min_exponent() - d_.fraction_bits - 1;
    if (a_.fraction_bits < 3 || b_.fraction_bits < 3) return;
    for (const auto& [products, exponent] : kSums) {
      const int top = half - exponent;
      if (products * stride > last() || top < make_.lowest()) continue;
      for (int n = 1; n <= 40; ++n) {
        for (const bool negative : {false, true}) {
          if (!can(top - n)) continue;
          Problem p = zero();
          for (int i = 0; i < products; ++i) {
            make_.put(p, i * stride, negative, top);
            if (products >= 3) multiply_by_eighths(p, i * stride, kEighths[static_cast<std::size_t>(i % 3)]);
          }
          make_.put(p, products * stride, negative, top - n);
          ask(fmt::format("apart: {}(2^{} as {} products, and 2^{}), slots {} apart", minus(negative), half, products,
                          top - n, stride),
              p);
        }
      }
    }
  }

  /// The factors of a product, which are normal powers of two, by so many eighths, 8 to 15.
  void multiply_by_eighths(Problem& p, int k, const std::array<unsigned, 2>& eighths) const {
    const auto i = static_cast<std::size_t>(k);
    p.a[i] |= static_cast<std::uint64_t>(eighths[0] - 8) << (a_.fraction_bits - 3 + a_.padding_bits);
    p.b[i] |= static_cast<std::uint64_t>(eighths[1] - 8) << (b_.fraction_bits - 3 + b_.padding_bits);
  }

  void output_rounding() {
    purpose_ = ProblemPurpose::rounding;
    // Bits just below the last one of the result, with both signs: L, R and S in every combination.
    for (const int fraction : {d_.fraction_bits, 13, 10}) {
      for (int pattern = 0; pattern < 8; ++pattern) {
        for (const bool negative : {false, true}) {
          for (int sticky = 1; sticky <= 4; ++sticky) {
            Problem p = zero();
            const int top = std::clamp(fraction - 8, 0, big_);
            int slot = 0;
            const auto put = [&](int exponent) {
              if (slot <= last() && can(exponent)) make_.put(p, slot++, negative, exponent);
            };
            if (pattern & 4) put(top - fraction);
            if (pattern & 2) put(top - fraction - 1);
            if (pattern & 1) put(top - fraction - 1 - sticky);
            p.c = make_.accumulator(negative, top);
            if ((pattern & 1) == 0 && sticky > 1) continue;
            ask(fmt::format("rounding: {}(2^{} + {:03b} below bit {}, sticky {} lower)", minus(negative), top, pattern,
                            fraction, sticky),
                p);
          }
        }
      }
    }
  }

  void carries_and_normalisation() {
    purpose_ = ProblemPurpose::rounding;
    // Carries: many terms of the same size push the sum's leading bit up.
    for (int terms = 1; terms <= in_.products(); terms = terms < 4 ? terms + 1 : terms * 2) {
      for (const std::uint64_t eighths : {8u, 12u, 14u, 15u}) {
        Problem p = zero();
        for (int k = 0; k < terms; ++k) make_.put(p, k, false, 0);
        p.c = code(c_, false, eighths, -3);
        ask(fmt::format("carries: {} ones and c = {}/8", terms, eighths), p);
      }
    }
    purpose_ = ProblemPurpose::alignment;
    // No normalisation inside: four products just below the last bit of c = 1 − 2^−24.
    for (int n = 10; n <= 26; ++n) {
      Problem p = zero();
      for (int k = 0; k < std::min(4, in_.products()); ++k) {
        if (can(-n)) make_.put(p, k, false, -n);
      }
      p.c = cut_code(c_, false, (uint128{1} << n) - 1, -n);
      ask(fmt::format("normalisation: four of 2^-{0} and c = 1 - 2^-{0}", n), p);
    }
    // Products in [2, 4): 1.5 · 1.5 against the same value as 2.25 · 1 (where the format has it).
    for (int n = 8; n <= 40; ++n) {
      if (!can(-n) || in_.products() < 3) continue;
      for (const bool split : {true, false}) {
        Problem p = of({{1, true, 1}, {2, true, -n}});
        p.a[0] = code(a_, false, split ? 3 : 9, split ? -1 : -2);
        p.b[0] = code(b_, false, split ? 3 : 1, split ? -1 : 0);
        ask(fmt::format("product exponent: {} - 2 - 2^-{}", split ? "1.5 * 1.5" : "2.25 * 1", n), p);
      }
    }
  }

  void blocks() {
    purpose_ = ProblemPurpose::alignment;
    // A small product in every slot, with a value on the edge in c.
    for (int k = 0; k < in_.products(); ++k) {
      for (const int n : {d_.fraction_bits, d_.fraction_bits + 1, d_.fraction_bits + 2}) {
        const int other = (k + 1) % in_.products();
        if (!can(-n)) continue;
        ask(fmt::format("block: 1 + 2^-{0} in slots {1} and {2}", n, k, other),
            of({{k, false, -n}, {other, false, -n}}, make_.accumulator(false, 0)));
      }
    }
  }

  void subnormals() {
    purpose_ = ProblemPurpose::edges;
    const auto smallest = [](const Format& f) { return std::uint64_t{1} << f.padding_bits; };
    const auto largest_subnormal = [](const Format& f) {
      return ((std::uint64_t{1} << f.fraction_bits) - 1) << f.padding_bits;
    };
    for (const bool large : {false, true}) {
      Problem p = zero();
      p.a[0] = large ? largest_subnormal(a_) : smallest(a_);
      p.b[0] = one_b_;
      ask("subnormal a", p);
      p = zero();
      p.a[0] = one_a_;
      p.b[0] = large ? largest_subnormal(b_) : smallest(b_);
      ask("subnormal b", p);
      p = zero();
      p.c = large ? largest_subnormal(c_) : smallest(c_);
      ask("subnormal c alone", p);
      p.a[0] = zero_code(a_, false);
      p.b[0] = one_b_;
      p.c |= std::uint64_t{1} << (c_.storage_bits - 1);
      ask("negative subnormal c alone", p);
    }
    // How a subnormal operand is aligned: subnormal · largest against ever smaller c.
    for (int n = 4; n <= 60; n += 2) {
      Problem p = zero();
      p.a[0] = smallest(a_);
      p.b[0] = cut_code(b_, false, 1, b_.max_exponent());
      p.c = make_.accumulator(true, a_.min_exponent() - a_.fraction_bits + b_.max_exponent() - n);
      ask(fmt::format("alignment of a subnormal a, c 2^{} below", n), p);
    }
  }

  void alignment_of_subnormal_products() {
    purpose_ = ProblemPurpose::edges;
    // subnormal · largest, a tie half a unit below its last bit in the result, and something far below that breaks the
    // tie only if it survives the cut: where the cut is tells the exponent that the subnormal product was aligned with.
    if (in_.products() < 3) return;
    for (const bool swapped : {false, true}) {
      const Format& x = swapped ? b_ : a_;
      const Format& y = swapped ? a_ : b_;
      const int value = x.min_exponent() - x.fraction_bits + y.max_exponent();
      const std::uint64_t small = std::uint64_t{1} << x.padding_bits;
      const std::uint64_t large = cut_code(y, false, 1, y.max_exponent());
      for (int n = d_.fraction_bits + 2; n <= d_.fraction_bits + 24; ++n) {
        if (!can(value - d_.fraction_bits - 1) || !can(value - n)) continue;
        for (const bool negative : {false, true}) {
          for (const int apart : {1, 4}) {  // slots of one block, whichever way blocks interleave
            if (2 * apart >= in_.products()) continue;
            Problem p = of({{apart, false, value - d_.fraction_bits - 1}, {2 * apart, negative, value - n}});
            p.a[0] = swapped ? large : small;
            p.b[0] = swapped ? small : large;
            ask(fmt::format("subnormal {}: 2^{}, a tie, and {}2^{}", swapped ? "b" : "a", value, minus(negative),
                            value - n),
                p);
            // The same with an odd last bit, so that the tie goes the other way.
            if (3 * apart < in_.products() && can(value - d_.fraction_bits)) {
              make_.put(p, 3 * apart, false, value - d_.fraction_bits);
              ask(fmt::format("subnormal {}: 2^{}, an odd tie, and {}2^{}", swapped ? "b" : "a", value, minus(negative),
                              value - n),
                  p);
            }
          }
        }
      }
    }
  }

  void smallest_results() {
    purpose_ = ProblemPurpose::edges;
    // Two products (or c and a product) around the smallest result: is what lies far below it still there?
    const int quantum = d_.min_exponent() - d_.fraction_bits;
    for (const int base : {quantum - 1, quantum, quantum + 1, d_.min_exponent()}) {
      for (int n = 1; n <= 48; ++n) {
        if (!can(base - n)) continue;
        for (const bool negative : {false, true}) {
          if (can(base) && in_.products() >= 2) {
            ask(fmt::format("zero exponent: {}(2^{} - 2^{})", minus(negative), base, base - n),
                of({{0, negative, base}, {1, !negative, base - n}}));
          }
          ask(fmt::format("zero exponent: c = {}2^{}, product 2^{}", minus(negative), base, base - n),
              of({{0, !negative, base - n}}, make_.accumulator(negative, base)));
        }
      }
    }
    // A tie between two of the smallest results, broken by a product far below: half a quantum past an odd multiple.
    for (int n = 2; n <= 48 && in_.products() >= 3; ++n) {
      if (!can(quantum - 1) || !can(quantum - n)) continue;
      for (const bool negative : {false, true}) {
        for (const bool above : {false, true}) {
          ask(fmt::format("zero exponent: {0}(2^{1} + 2^{2} {3} 2^{4})", minus(negative), quantum, quantum - 1,
                          above ? "-" : "+", quantum - n),
              of({{0, negative, quantum}, {1, negative, quantum - 1}, {2, negative != above, quantum - n}}));
        }
      }
    }
    // c alone, of every size: is it cut?
    for (int e = c_.min_exponent() - c_.fraction_bits; e <= c_.min_exponent() + 12; ++e) {
      for (const bool negative : {false, true}) {
        const int bits = std::min(c_.fraction_bits, e - (c_.min_exponent() - c_.fraction_bits));
        ask(fmt::format("c alone: {}(2^{} - 1 ulp)", minus(negative), e + 1),
            of({}, code(c_, negative, (uint128{2} << bits) - 1, e - bits)));
      }
    }
  }

  void zeros() {
    purpose_ = ProblemPurpose::edges;
    for (int pattern = 0; pattern < 8; ++pattern) {
      Problem p = zero();
      for (int k = 0; k < in_.products(); ++k) {
        const bool negative = (pattern & 1) != 0 && (k != last() || (pattern & 2) == 0);
        p.a[static_cast<std::size_t>(k)] = zero_code(a_, negative);
        p.b[static_cast<std::size_t>(k)] = one_b_;
      }
      p.c = zero_code(c_, (pattern & 4) != 0);
      ask(fmt::format("zeros: products {}, c {}0", (pattern & 1) ? ((pattern & 2) ? "-0 and a +0" : "-0") : "+0",
                      (pattern & 4) ? "-" : "+"),
          p);
    }
    for (const bool negative : {false, true}) {
      ask("zeros: x - x with c = -0", of({{0, negative, 0}, {last(), !negative, 0}}, zero_code(c_, true)));
      ask("zeros: x - c", of({{0, negative, 0}}, make_.accumulator(!negative, 0)));
    }
    // Do zeros take part in the alignment? A zero times something large beside something small.
    for (int n = 0; n <= 60; n += 2) {
      Problem p = zero();
      p.a[0] = zero_code(a_, false);
      p.b[0] = cut_code(b_, false, 1, b_.max_exponent());
      const int e = std::max(make_.lowest_subnormal(), a_.min_exponent() + b_.max_exponent() - n);
      if (can(e)) make_.put(p, 1, false, e);
      p.c = make_.accumulator(false, e - 3);
      ask(fmt::format("0 * 2^{} beside 2^{}", b_.max_exponent(), e), p);
    }
  }

  void overflow() {
    purpose_ = ProblemPurpose::edges;
    for (const bool negative : {false, true}) {
      for (int n = 0; n <= d_.fraction_bits + 4; ++n) {
        Problem p = zero();
        const int e = std::min(d_.max_exponent() - n, make_.highest());
        if (can(e)) make_.put(p, 0, negative, e);
        p.c = max_finite_code(c_, negative);
        ask(fmt::format("overflow: largest c and 2^{}", e), p);
      }
      if (make_.highest() >= d_.max_exponent()) {
        Problem p = zero();
        for (int k = 0; k < in_.products(); ++k) make_.put(p, k, negative, d_.max_exponent());
        ask("overflow: products", p);
        // Is the overflow of an early product undone by a later one?
        for (int k = 1; k < in_.products(); ++k) {
          ask(fmt::format("overflow: undone in slot {}", k),
              of({{0, negative, d_.max_exponent()}, {k, !negative, d_.max_exponent()}}, max_finite_code(c_, negative)));
        }
      }
    }
  }

  void infinities_and_nans() {
    purpose_ = ProblemPurpose::edges;
    const auto with = [&](std::uint64_t a0, std::uint64_t b0, std::uint64_t c0) {
      Problem p = zero();
      p.a[0] = a0;
      p.b[0] = b0;
      p.c = c0;
      return p;
    };
    for (const bool negative : {false, true}) {
      ask("inf: c", with(one_a_, one_b_, infinity_code(c_, negative)));
      if (a_.has_infinity()) {
        ask("inf: a", with(infinity_code(a_, negative), one_b_, one_c_));
        ask("inf: a * 0", with(infinity_code(a_, negative), 0, one_c_));
        ask("inf: a - c", with(infinity_code(a_, negative), one_b_, infinity_code(c_, !negative)));
        Problem p = with(infinity_code(a_, negative), one_b_, one_c_);
        p.a[static_cast<std::size_t>(last())] = infinity_code(a_, !negative);
        p.b[static_cast<std::size_t>(last())] = one_b_;
        ask("inf: product - product", p);
      }
      if (b_.has_infinity()) ask("inf: b", with(one_a_, infinity_code(b_, negative), one_c_));
    }
    const auto nans = [](const Format& f) {
      if (f.non_finite == NonFinite::none) return std::vector<std::uint64_t>();
      std::vector<std::uint64_t> codes = {nan_code(f)};
      const std::uint64_t sign = std::uint64_t{1} << (f.storage_bits - 1);
      codes.push_back(codes[0] | sign);
      if (f.has_infinity()) {
        const std::uint64_t low = std::uint64_t{1} << f.padding_bits;
        for (const std::uint64_t payload :
             {low, 5 * low % (std::uint64_t{1} << (f.fraction_bits + f.padding_bits - 1))}) {
          if (payload == 0) continue;
          codes.push_back(infinity_code(f, false) | payload);  // signalling
          codes.push_back(infinity_code(f, true) | payload);
          codes.push_back(nan_code(f) | payload);
        }
      }
      return codes;
    };
    for (const std::uint64_t x : nans(a_)) {
      ask("nan: a", with(x, one_b_, one_c_));
      ask("nan: a * 0", with(x, 0, one_c_));
      ask("nan: a with c infinite", with(x, one_b_, infinity_code(c_, true)));
      for (const std::uint64_t y : nans(b_)) ask("nan: a and b", with(x, y, one_c_));
      for (const std::uint64_t y : nans(c_)) ask("nan: a and c", with(x, one_b_, y));
    }
    for (const std::uint64_t x : nans(b_)) {
      ask("nan: b", with(one_a_, x, one_c_));
      for (const std::uint64_t y : nans(c_)) ask("nan: b and c", with(one_a_, x, y));
    }
    for (const std::uint64_t x : nans(c_)) {
      ask("nan: c", with(one_a_, one_b_, x));
      if (a_.has_infinity()) ask("nan: c with inf * 0", with(infinity_code(a_, false), 0, x));
    }
    if (in_.products() > 1) {
      const auto first = nans(a_), second = nans(a_);
      for (std::size_t i = 0; i < first.size(); ++i) {
        Problem p = with(first[i], one_b_, one_c_);
        p.a[static_cast<std::size_t>(last())] = second[(i + 3) % second.size()];
        p.b[static_cast<std::size_t>(last())] = one_b_;
        ask("nan: two products", p);
      }
    }
  }

  void padding() {
    purpose_ = ProblemPurpose::operands;
    // Bits of the storage that the format does not have.
    if (a_.padding_bits == 0) return;
    for (int bit = 0; bit < a_.padding_bits; ++bit) {
      Problem p = zero();
      p.a[0] = one_a_ | (std::uint64_t{1} << bit);
      p.b[0] = one_a_;
      ask(fmt::format("tf32: bit {} of a", bit), p);
      std::swap(p.a[0], p.b[0]);
      ask(fmt::format("tf32: bit {} of b", bit), p);
      p.a[0] = infinity_code(a_, false) | (std::uint64_t{1} << bit);
      ask(fmt::format("tf32: an infinity with bit {} set", bit), p);
      p.a[0] = std::uint64_t{1} << bit;
      p.b[0] = code(b_, false, 1, 100);
      ask(fmt::format("tf32: a zero with bit {} set", bit), p);
    }
  }

  const Instruction& in_;
  ProductMaker make_;
  const Format &a_, &b_, &c_, &d_;
  const std::uint64_t one_a_, one_b_, one_c_;
  int big_;
  ProblemPurpose purpose_ = ProblemPurpose::operands;  // of the problems that come next
  std::vector<CraftedProblem> problems_;
};

}  // namespace

std::vector<CraftedProblem> battery(const Instruction& instruction) {
  if (!format(instruction.d).floating) return integer_battery(instruction);
  std::vector<CraftedProblem> problems = FloatBattery(instruction).build();
  if (instruction.scaled()) {
    std::ranges::move(scale_battery(instruction), std::back_inserter(problems));
  }
  return problems;
}

std::vector<CraftedProblem> rare_battery(const Instruction& instruction) {
  if (!format(instruction.d).floating || instruction.products() < 2) return {};
  return FloatBattery(instruction).build_rare();
}

}  // namespace tcnum
