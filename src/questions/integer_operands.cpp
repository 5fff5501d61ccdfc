#include "integer_operands.hpp"

#include <algorithm>

#include "factors.hpp"

namespace tcnum {
namespace {

class Filler {
 public:
  Filler(const Instruction& in, RandomNumbers random)
      : in_(in), a_(format(in.a)), b_(format(in.b)), c_(format(in.c)), random_(random) {}

  Problem family(Family family) {
    switch (family) {
      case Family::narrow:
        fill_with_bits(random_.between(1, 3), random_.between(1, 8));
        break;
      case Family::wide:
        fill([&](const Format& f) { return any_size(f); });
        break;
      case Family::cancellation:
        cancellation();
        break;
      case Family::uniform_bits:
        fill([&](const Format& f) { return any(f); });
        break;
      case Family::tiny:
        fill_with_bits(1, 1);
        break;
      case Family::huge:
        fill([&](const Format& f) { return near_an_end(f); });
        break;
      case Family::sparse:
        sparse();
        break;
      case Family::edges:
        return boundary();
      case Family::signed_zeros:
        zeros();
        break;
      case Family::specials:
        fill([&](const Format& f) { return pattern(f); });
        break;
      case Family::gaussian:
        fill([&](const Format& f) { return gaussian(f); });
        break;
    }
    return problem_;
  }

  Problem boundary() {
    const IntegerRange range = range_of(c_);
    const bool high = coin();
    switch (random_.between(0, 2)) {
      case 0:
        place_few();
        break;
      case 1:
        place_runs();
        break;
      default:
        fill([&](const Format& f) { return coin() ? any_size(f) : near_an_end(f); });
        break;
    }
    // Where the sum is that far from the end, it passes it at some product, or would if all were of one sign.
    const std::int64_t distance = coin() ? random_.between(0, 3) : reach();
    problem_.c = code_of(c_, high ? range.highest - distance : range.lowest + distance);
    return problem_;
  }

 private:
  std::size_t slot() { return static_cast<std::size_t>(random_.between(0, in_.products() - 1)); }
  bool coin() { return random_.chance(50); }

  // Integers of a format.

  std::int64_t any(const Format& f) { return integer_of(f, random_.next64()); }
  /// Of that many bits, or as many as the format has.
  std::int64_t of_bits(const Format& f, int bits) {
    const auto magnitude =
        static_cast<std::int64_t>(random_.next64() & ((std::uint64_t{1} << std::min(bits, f.fraction_bits)) - 1));
    return f.has_sign && coin() ? -magnitude : magnitude;
  }
  std::int64_t any_size(const Format& f) { return of_bits(f, random_.between(0, f.fraction_bits)); }
  std::int64_t near_an_end(const Format& f) {
    const auto [lowest, highest] = range_of(f);
    const std::int64_t inside = std::min<std::int64_t>(random_.chance(60) ? 0 : random_.between(0, 3), highest);
    return coin() ? highest - inside : lowest + inside;
  }
  std::int64_t pattern(const Format& f) {
    const auto [lowest, highest] = range_of(f);
    switch (random_.between(0, 6)) {
      case 0:
        return 0;
      case 1:
        return std::min<std::int64_t>(1, highest);
      case 2:
        return lowest;
      case 3:
        return highest;
      case 4:
        return integer_of(f, 0x5555555555555555);
      case 5:
        return integer_of(f, 0xaaaaaaaaaaaaaaaa);
      default:
        return integer_of(f, ~std::uint64_t{0});
    }
  }
  /// The mean of some, around the middle of the range.
  std::int64_t gaussian(const Format& f) {
    constexpr int kTerms = 8;
    std::int64_t sum = 0;
    for (int n = 0; n < kTerms; ++n) sum += any(f);
    return sum / kTerms;
  }

  // Problems.

  void put(std::size_t k, Factors factors) {
    problem_.a[k] = code_of(a_, factors.a);
    problem_.b[k] = code_of(b_, factors.b);
  }
  template <class Value>
  void fill(const Value& value) {
    for (std::size_t k = 0; k < problem_.a.size(); ++k) put(k, {value(a_), value(b_)});
    problem_.c = code_of(c_, value(c_));
  }
  void fill_with_bits(int operand_bits, int c_bits) {
    fill([&](const Format& f) { return of_bits(f, &f == &c_ ? c_bits : operand_bits); });
  }

  /// A product of that sign, where the formats have one; the largest there is, a small one, or any.
  Factors product(bool negative) {
    const ExtremeProducts ends = extreme_products(a_, b_);
    if (random_.chance(30)) return negative ? ends.least : ends.largest;
    const bool small = coin();
    Factors f{small ? 1 : any(a_),
              small ? std::min<std::int64_t>(random_.between(1, 3), range_of(b_).highest) : any(b_)};
    if ((f.product() < 0) == negative) return f;
    if (a_.has_sign && f.a != range_of(a_).lowest)
      f.a = -f.a;
    else if (b_.has_sign && f.b != range_of(b_).lowest)
      f.b = -f.b;
    return f;
  }

  /// A few products of either sign.
  void place_few() {
    for (int n = random_.between(1, 4); n > 0; --n) put(slot(), product(coin()));
  }
  /// Products of one sign up to some slot, and of the other from there on.
  void place_runs() {
    const std::size_t turn = slot(), step = std::size_t{1} << random_.between(0, 4);
    const bool first_negative = coin();
    for (std::size_t k = 0; k < problem_.a.size(); k += step) put(k, product(first_negative == (k < turn)));
  }
  /// Up to the magnitude of what the products add up to.
  std::int64_t reach() {
    std::int64_t total = 0;
    for (std::size_t k = 0; k < problem_.a.size(); ++k) {
      total += std::abs(integer_of(a_, problem_.a[k]) * integer_of(b_, problem_.b[k]));
    }
    return static_cast<std::int64_t>(random_.next64() % static_cast<std::uint64_t>(total + 1));
  }

  void cancellation() {
    fill_with_bits(2, 4);
    for (int n = random_.between(1, std::max(1, in_.products() / 2)); n > 0; --n) {
      const std::size_t i = slot(), j = slot();
      const Factors f = product(false);
      put(i, f);
      if (a_.has_sign && f.a != range_of(a_).lowest)
        put(j, {-f.a, f.b});
      else if (b_.has_sign && f.b != range_of(b_).lowest)
        put(j, {f.a, -f.b});
    }
    std::int64_t total = 0;
    for (std::size_t k = 0; k < problem_.a.size(); ++k) {
      total += integer_of(a_, problem_.a[k]) * integer_of(b_, problem_.b[k]);
    }
    if (coin()) problem_.c = code_of(c_, random_.between(-1, 1) - total);
  }
  void sparse() {
    for (int n = random_.between(1, 4); n > 0; --n) put(slot(), {any(a_), any(b_)});
    if (coin()) problem_.c = code_of(c_, any_size(c_));
  }
  /// Products that are all zero, of one operand or the other.
  void zeros() {
    for (std::size_t k = 0; k < problem_.a.size(); ++k) {
      if (coin())
        put(k, {0, any(b_)});
      else
        put(k, {any(a_), 0});
    }
    if (coin()) problem_.c = code_of(c_, coin() ? any(c_) : pattern(c_));
  }

  const Instruction& in_;
  const Format &a_, &b_, &c_;
  RandomNumbers random_;
  Problem problem_ = zero_problem(in_);
};

}  // namespace

Problem make_integer_problem(const Instruction& instruction, Family family, RandomNumbers random) {
  return Filler(instruction, random).family(family);
}

Problem make_integer_boundary_problem(const Instruction& instruction, RandomNumbers random) {
  return Filler(instruction, random).boundary();
}

}  // namespace tcnum
