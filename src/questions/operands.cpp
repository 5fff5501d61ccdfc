#include "operands.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "integer_operands.hpp"

namespace tcnum {
namespace {

constexpr std::array<std::string_view, kFamilies> kFamilyNames = {
    "narrow", "wide",  "cancellation", "uniform_bits", "tiny",    "huge",
    "sparse", "edges", "signed_zeros", "specials",     "gaussian"};

/// A number of the format with that exponent (clamped to the format's normal range) and a random significand drawn
/// from the patterns that matter: one, one and an ulp, one and a half, nearly two, anything.
std::uint64_t number(const Format& f, RandomNumbers& random, bool negative, int exponent) {
  exponent = std::clamp(exponent, f.min_exponent(), f.max_exponent());
  const std::uint64_t one = std::uint64_t{1} << f.fraction_bits;
  std::uint64_t significand = one;
  switch (random.between(0, 7)) {
    case 0:
      break;
    case 1:
      significand = one + 1;
      break;
    case 2:
      significand = one + one / 2;
      break;
    case 3:
      significand = 2 * one - 1;
      break;
    default:
      significand = one + (random.next64() & (one - 1));
      break;
  }
  std::uint64_t code =
      encode(f, negative, significand, exponent - f.fraction_bits, false, Rounding::toward_zero, Overflow::max_finite);
  // Bits that the format does not have are given to the hardware all the same.
  if (f.padding_bits > 0) code |= random.next64() & ((std::uint64_t{1} << f.padding_bits) - 1);
  return code;
}

/// A number that may be subnormal: ±significand · 2^(smallest) for small exponents.
std::uint64_t small_number(const Format& f, RandomNumbers& random, bool negative, int exponent) {
  if (exponent >= f.min_exponent()) return number(f, random, negative, exponent);
  const int bits = exponent - (f.min_exponent() - f.fraction_bits);  // of the leading bit
  if (bits < 0) return zero_code(f, negative);
  const std::uint64_t leading = std::uint64_t{1} << bits;
  const std::uint64_t significand = leading | (random.next64() & (leading - 1));
  return encode(f, negative, significand, f.min_exponent() - f.fraction_bits, false, Rounding::toward_zero);
}

/// Sets a[k]·b[k] to something of about that exponent, split at random between the two.
void put_product(const Instruction& in, Problem& p, std::size_t k, RandomNumbers& random, bool negative, int exponent) {
  const Format& a = format(in.a);
  const Format& b = format(in.b);
  const int a_low = a.min_exponent() - a.fraction_bits, b_low = b.min_exponent() - b.fraction_bits;
  const int low = std::max(a_low, exponent - b.max_exponent()), high = std::min(a.max_exponent(), exponent - b_low);
  int ea = low <= high ? random.between(low, high) : (exponent < 0 ? a_low : a.max_exponent());
  // Mostly both normal, if that is possible.
  const int normal_low = std::max(a.min_exponent(), exponent - b.max_exponent());
  const int normal_high = std::min(a.max_exponent(), exponent - b.min_exponent());
  if (normal_low <= normal_high && random.chance(80)) ea = random.between(normal_low, normal_high);
  const bool a_negative = random.chance(50);
  p.a[k] = small_number(a, random, a_negative, ea);
  p.b[k] = small_number(b, random, a_negative != negative, exponent - ea);
}

std::uint64_t special(const Format& f, RandomNumbers& random) {
  const bool negative = random.chance(50);
  switch (random.between(0, 5)) {
    case 0:
    case 1:
      return f.has_infinity() ? infinity_code(f, negative) : max_finite_code(f, negative);
    case 2:
      return nan_code(f);
    case 3: {  // any NaN: quiet or signalling, any payload
      const std::uint64_t sign = std::uint64_t{negative} << (f.storage_bits - 1);
      if (!f.has_infinity()) return nan_code(f) | (f.non_finite == NonFinite::nan_all_ones ? sign : 0);
      const std::uint64_t fraction = random.next64() & ((std::uint64_t{1} << (f.fraction_bits + f.padding_bits)) - 1);
      return infinity_code(f, negative) | std::max<std::uint64_t>(fraction, 1);
    }
    case 4:
      return zero_code(f, negative);
    default:
      return max_finite_code(f, negative);
  }
}

/// Values of a row, a column or an accumulator; the same family for all three gives the family's problems.
class Filler {
 public:
  Filler(const Instruction& in, Family family, std::uint64_t seed, std::uint64_t index)
      : in_(in), family_(family), random_(seed, static_cast<std::uint32_t>(family), index) {}

  Problem operator()() {
    Problem p = zero_problem(in_);
    switch (family_) {
      case Family::narrow:
        narrow(p);
        break;
      case Family::wide:
        wide(p);
        break;
      case Family::cancellation:
        cancellation(p);
        break;
      case Family::uniform_bits:
        uniform_bits(p);
        break;
      case Family::tiny:
        tiny(p);
        break;
      case Family::huge:
        huge(p);
        break;
      case Family::sparse:
        sparse(p);
        break;
      case Family::edges:
        edges(p);
        break;
      case Family::signed_zeros:
        signed_zeros(p);
        break;
      case Family::specials:
        specials(p);
        break;
      case Family::gaussian:
        gaussian(p);
        break;
    }
    return p;
  }

 private:
  const Format& a() const { return format(in_.a); }
  const Format& b() const { return format(in_.b); }
  const Format& c() const { return format(in_.c); }
  const Format& d() const { return format(in_.d); }
  std::size_t k() const { return static_cast<std::size_t>(in_.products()); }
  int slot() { return random_.between(0, in_.products() - 1); }
  bool coin() { return random_.chance(50); }

  void narrow(Problem& p) {
    const int spread = random_.between(0, 4);
    const auto centre = [&](const Format& f) {
      const int margin = std::min(spread + 1, (f.max_exponent() - f.min_exponent()) / 2);
      const int most = std::min(f.max_exponent() - margin, 12), least = std::max(f.min_exponent() + margin, -12);
      return random_.between(std::min(least, most), most);
    };
    // The products must suit the result's range too.
    const int ea = centre(a());
    const int least = d().min_exponent() + 4, most = d().max_exponent() - 8;
    const int eb = std::clamp(std::clamp(ea + centre(b()), least, most) - ea, b().min_exponent(), b().max_exponent());
    for (std::size_t i = 0; i < k(); ++i) {
      p.a[i] = number(a(), random_, coin(), ea + random_.between(-spread, spread));
      p.b[i] = number(b(), random_, coin(), eb + random_.between(-spread, spread));
    }
    p.c = number(c(), random_, coin(), ea + eb + random_.between(-spread - 2, spread + 4));
  }

  void wide(Problem& p) {
    // A product's exponent is at most twice the reach.
    const int reach = random_.between(3, std::min(60, d().max_exponent() / 2 - 2));
    for (std::size_t i = 0; i < k(); ++i) {
      p.a[i] = number(a(), random_, coin(),
                      random_.between(std::max(a().min_exponent(), -reach), std::min(a().max_exponent(), reach)));
      p.b[i] = number(b(), random_, coin(),
                      random_.between(std::max(b().min_exponent(), -reach), std::min(b().max_exponent(), reach)));
    }
    p.c = number(c(), random_, coin(), random_.between(-reach, reach));
  }

  void cancellation(Problem& p) {
    int top = std::min({a().max_exponent() + b().max_exponent(), d().max_exponent() - 6, 40});
    // Products beyond the result's range, as long as they cancel.
    if (coin()) top = std::min(a().max_exponent() + b().max_exponent(), 40);
    const int high = random_.between(std::max(top - 30, a().min_exponent() + b().min_exponent()), top);
    const int most_left = std::min(high, d().max_exponent() - 4);
    const int pairs = random_.between(1, std::max(1, in_.products() / 2));
    // Small terms everywhere, at distances from the large ones that straddle the widths that matter.
    const int depth = random_.between(0, 45);
    for (std::size_t i = 0; i < k(); ++i)
      put_product(in_, p, i, random_, coin(), std::min(most_left, high - depth) - random_.between(0, 4));
    p.c = small_number(c(), random_, coin(), most_left - random_.between(0, 45));
    for (int n = 0; n < pairs; ++n) {
      const auto i = static_cast<std::size_t>(slot()), j = static_cast<std::size_t>(slot());
      if (i == j) continue;
      put_product(in_, p, i, random_, coin(), high - random_.between(0, 2));
      const std::uint64_t sign = std::uint64_t{1} << (b().storage_bits - 1);
      p.a[j] = p.a[i];
      p.b[j] = p.b[i] ^ sign;
    }
    if (random_.chance(30)) p.c = small_number(c(), random_, coin(), most_left);
  }

  void uniform_bits(Problem& p) {
    for (std::size_t i = 0; i < k(); ++i) {
      p.a[i] = finite(a(), random_.next64());
      p.b[i] = finite(b(), random_.next64());
    }
    p.c = finite(c(), random_.next64());
  }
  static std::uint64_t finite(const Format& f, std::uint64_t code) {
    code &= f.code_mask();
    return decode(f, code).is_finite() ? code : code & ~(std::uint64_t{1} << (f.fraction_bits + f.padding_bits));
  }

  /// Exponent of the smallest positive result.
  int quantum() const { return d().min_exponent() - d().fraction_bits; }

  void tiny(Problem& p) {
    const int product_low = a().min_exponent() - a().fraction_bits + b().min_exponent() - b().fraction_bits;
    const int centre = std::max(product_low + random_.between(0, 12), quantum() + random_.between(-30, 30));
    const int used = random_.between(1, in_.products());
    for (int n = 0; n < used; ++n) {
      put_product(in_, p, static_cast<std::size_t>(slot()), random_, coin(), centre + random_.between(-12, 12));
    }
    p.c = random_.chance(25)
              ? zero_code(c(), coin())
              : small_number(c(), random_, coin(),
                             std::max(centre, c().min_exponent() - c().fraction_bits) + random_.between(-4, 12));
    if (random_.chance(25))
      p.c = small_number(c(), random_, coin(), c().min_exponent() - random_.between(-3, c().fraction_bits));
  }

  void huge(Problem& p) {
    const int top = std::min(a().max_exponent() + b().max_exponent(), d().max_exponent());
    for (std::size_t i = 0; i < k(); ++i) {
      if (random_.chance(60)) put_product(in_, p, i, random_, random_.chance(30), top + random_.between(-6, 1));
    }
    p.c = random_.chance(50) ? max_finite_code(c(), coin())
                             : number(c(), random_, coin(), c().max_exponent() - random_.between(0, 6));
  }

  void sparse(Problem& p) {
    const int top = a().max_exponent() + b().max_exponent(), low = a().min_exponent() + b().min_exponent();
    const int high = random_.between(std::max(low, -80), std::min(top, 80));
    const int used = random_.between(1, 4);
    for (int n = 0; n < used; ++n) {
      put_product(in_, p, static_cast<std::size_t>(slot()), random_, coin(),
                  std::max(low, high - random_.between(0, 44)));
    }
    if (random_.chance(70))
      p.c = small_number(c(), random_, coin(), high - random_.between(-4, 44));
    else
      p.c = zero_code(c(), coin());
  }

  void edges(Problem& p) {
    // A value at or near the smallest result, another far below it and of the other sign; sometimes more of each.
    const ProductMaker make(in_);
    const int product_low = make.lowest_subnormal();
    const int base = quantum() + random_.between(-3, 4);
    // Terms must meet in one sum to show anything: mostly within a few slots of each other.
    const int home = slot(), reach = 1 << random_.between(0, 5);
    const auto place = [&](bool negative, int exponent) {
      if (exponent < product_low || random_.chance(15)) {
        p.c = small_number(c(), random_, negative, exponent);
        return;
      }
      const auto i = static_cast<std::size_t>(home ^ random_.between(0, std::min(reach, in_.products() - 1))) % k();
      if (coin())
        put_product(in_, p, i, random_, negative, std::min(exponent, make.highest()));
      else
        make.put(p, static_cast<int>(i), negative, std::min(exponent, make.highest()));
    };
    const bool negative = coin();
    const int large = random_.between(1, 4), small = random_.between(1, 3);
    for (int n = 0; n < large; ++n) place(negative, base - random_.between(0, 2));
    const int depth = random_.between(1, 60);
    for (int n = 0; n < small; ++n) place(random_.chance(80) != negative, base - depth - random_.between(0, 2));
    if (random_.chance(10)) {  // and all of it scaled up, away from the smallest result
      p.c = small_number(c(), random_, coin(), c().min_exponent() + random_.between(-c().fraction_bits, 8));
    }
  }

  void signed_zeros(Problem& p) {
    for (std::size_t i = 0; i < k(); ++i) {
      p.a[i] = zero_code(a(), coin());
      p.b[i] = number(b(), random_, coin(), random_.between(b().min_exponent(), b().max_exponent()));
      if (coin()) std::swap(p.a[i], p.b[i]);
      if (in_.a != in_.b) {  // each must stay in its own format
        p.a[i] = zero_code(a(), coin());
        p.b[i] = number(b(), random_, coin(), random_.between(b().min_exponent(), b().max_exponent()));
      }
    }
    p.c = zero_code(c(), coin());
    const int kind = random_.between(0, 5);
    if (kind == 0) {  // all negative
      for (std::size_t i = 0; i < k(); ++i) {
        p.a[i] = zero_code(a(), true);
        p.b[i] = number(b(), random_, false, 0);
      }
      p.c = zero_code(c(), true);
    } else if (kind == 1) {
      p.c = small_number(c(), random_, coin(), random_.between(c().min_exponent() - c().fraction_bits, 20));
    } else if (kind == 2) {  // x − x
      const ProductMaker make(in_);
      const int e = random_.between(make.lowest(), std::min(make.highest(), d().max_exponent() - 1));
      make.put(p, 0, false, e);
      make.put(p, in_.products() - 1, true, e);
    } else if (kind == 3) {
      put_product(in_, p, static_cast<std::size_t>(slot()), random_, coin(), random_.between(-20, 10));
    }
  }

  void specials(Problem& p) {
    narrow(p);
    if (random_.chance(30)) {
      for (std::size_t i = 0; i < k(); ++i) p.a[i] = zero_code(a(), coin());
    }
    const int used = random_.between(1, 3);
    for (int n = 0; n < used; ++n) {
      switch (random_.between(0, 2)) {
        case 0:
          p.a[static_cast<std::size_t>(slot())] = special(a(), random_);
          break;
        case 1:
          p.b[static_cast<std::size_t>(slot())] = special(b(), random_);
          break;
        default:
          p.c = special(c(), random_);
          break;
      }
    }
  }

  void gaussian(Problem& p) {
    const auto draw = [&](const Format& f) {
      // Sum of uniforms: integers only, so the same bits on every machine.
      std::int64_t sum = 0;
      for (int n = 0; n < 12; ++n) sum += random_.next() >> 8;
      sum -= std::int64_t{6} << 24;
      return encode(f, sum < 0, static_cast<uint128>(std::abs(sum)), -24, false, Rounding::nearest_even);
    };
    for (std::size_t i = 0; i < k(); ++i) {
      p.a[i] = draw(a());
      p.b[i] = draw(b());
    }
    p.c = draw(c());
  }

  const Instruction& in_;
  Family family_;
  RandomNumbers random_;
};

constexpr std::uint32_t kBoundaryStream = 1000;  // apart from those of the families

/// Problems of few terms, each at a boundary or at a given distance from another term.
class BoundaryFiller {
 public:
  BoundaryFiller(const Instruction& in, const Boundaries& boundaries, std::uint64_t seed, std::uint64_t index)
      : in_(in), boundaries_(boundaries), random_(seed, kBoundaryStream, index) {
    if (boundaries.blocks.empty()) {
      blocks_.emplace_back();
      for (int k = 0; k < in.k; ++k) blocks_.back().push_back(k);
    } else {
      blocks_ =
          boundaries
              .blocks[static_cast<std::size_t>(random_.between(0, static_cast<int>(boundaries.blocks.size()) - 1))];
    }
  }

  Problem operator()() {
    Problem p = zero_problem(in_);
    background(p);
    const int base = boundary() + nudge();
    const bool negative = random_.chance(50);
    if (random_.chance(10)) {
      fill_up(p, negative, base);
      return p;
    }
    if (random_.chance(40)) {
      solve(p, negative, base);
      return p;
    }
    const int terms = random_.chance(85) ? random_.between(1, 4) : random_.between(1, in_.products() + 1);
    const int c_share = random_.between(0, 2) * 40;  // percent: never, sometimes, mostly
    for (int n = 0; n < terms; ++n) {
      int exponent = base;
      switch (random_.between(0, 5)) {
        case 0:
          break;
        case 1:
          exponent = base - random_.between(0, 3);
          break;
        case 2:
          exponent = boundary() + nudge();
          break;
        default:
          exponent = base - pick(boundaries_.distances) + nudge();
          break;
      }
      const bool sign = random_.chance(60) ? negative : !negative;
      if (n == 0 ? random_.chance(c_share) : random_.chance(20))
        p.c = value(format(in_.c), sign, exponent);
      else if (random_.chance(20))
        put_neighbours(p, sign, exponent);
      else if (random_.chance(10))
        put_complements(p, sign, exponent);
      else
        put(p, slot(), sign, exponent);
    }
    if (random_.chance(5)) cancel(p);
    return p;
  }

 private:
  std::size_t slot() { return static_cast<std::size_t>(random_.between(0, in_.products() - 1)); }
  int pick(const std::vector<int>& from) {
    return from[static_cast<std::size_t>(random_.between(0, static_cast<int>(from.size()) - 1))];
  }

  int boundary() { return pick(random_.chance(50) ? boundaries_.focus : boundaries_.exponents); }
  int nudge() { return random_.chance(50) ? 0 : random_.between(-2, 2); }

  /// The terms of one block, or of all, as large as that exponent allows, or nearly: a sum has the most bits it can
  /// have.
  void fill_up(Problem& p, bool negative, int base) {
    large_ = random_.chance(50) ? 50 : 95;
    if (random_.chance(40)) base -= random_.between(0, 12);
    const bool all = random_.chance(40);
    const int full = random_.chance(70) ? static_cast<int>(blocks_.size()) - 1
                                        : random_.between(0, static_cast<int>(blocks_.size()) - 1);
    for (int i = 0; i < static_cast<int>(blocks_.size()); ++i) {
      const int below = all || i == full ? 0 : random_.between(0, 10);
      for (int k : blocks_[static_cast<std::size_t>(i)]) {
        put(p, static_cast<std::size_t>(k), negative, base - below - (random_.chance(20) ? 1 : 0));
      }
    }
    if (random_.chance(70))
      p.c = value(format(in_.c), negative, base - (random_.chance(50) ? 0 : random_.between(0, 30)));
    if (random_.chance(40)) cancel(p);
  }

  /// Block by block, a few terms, and one that is worked out so that it takes the sum to a multiple of a power of two,
  /// or as close to that as a product can: there cuts and roundings go one way or the other by the last bits of the
  /// terms.
  void solve(Problem& p, bool negative, int base) {
    wide_ = random_.chance(50);
    Sum sum{base - kBelow, 0};
    const auto set_c = [&](int128 value) {
      p.c = encode(format(in_.c), value < 0, magnitude(value), sum.lowest, false, any_rounding(), Overflow::max_finite);
      add_c(p, sum);
    };
    if (random_.chance(30)) {
      p.c = value(format(in_.c), random_.chance(60) ? negative : !negative, term(base));
      add_c(p, sum);
    } else if (random_.chance(25)) {
      set_c(beside_boundary(sum.lowest, negative, base));
      if (random_.chance(40)) return;
    }
    for (const std::vector<int>& block : blocks_) {
      if (random_.chance(30)) continue;
      if (random_.chance(30)) sum.value = 0;  // blocks may be summed apart
      if (random_.chance(35)) base = std::min(boundary() + nudge(), sum.lowest + kBelow + 4);
      std::vector<int> slots = block;
      for (std::size_t n = slots.size() - 1; n > 0; --n)
        std::swap(slots[n], slots[static_cast<std::size_t>(random_.between(0, static_cast<int>(n)))]);
      const bool crowded = random_.chance(40);  // all terms alike, as many as there can be
      large_ = crowded && random_.chance(50) ? (random_.chance(50) ? 50 : 95) : 0;
      const int most = static_cast<int>(slots.size()) - 1;
      const int terms =
          crowded ? std::max(0, most - (random_.chance(20) ? 1 : 0)) : random_.between(0, std::min(most, 2));
      for (int n = 0; n < terms; ++n) {
        const auto k = static_cast<std::size_t>(slots[static_cast<std::size_t>(n)]);
        if (crowded)
          put(p, k, negative, base - (random_.chance(80) ? 0 : random_.between(0, 3)));
        else if (random_.chance(30))
          put_near(p, k, beside_boundary(sum.lowest, negative, base), sum.lowest);
        else
          put(p, k, random_.chance(60) ? negative : !negative, term(base));
        add_product(p, sum, k);
      }
      const auto k = static_cast<std::size_t>(slots[static_cast<std::size_t>(terms)]);
      if (sum.value == 0)
        put(p, k, negative, base);
      else
        put_near(p, k, missing(sum, base), sum.lowest);
      add_product(p, sum, k);
      if (random_.chance(15)) set_c(missing(sum, base));
    }
  }

  /// value · 2^lowest
  struct Sum {
    int lowest;
    int128 value;
    void add(bool negative, uint128 significand, int exponent) {
      const int shift = exponent - lowest;
      int128 term = 0;
      if (shift >= 0 && bits_of(significand) + shift < 120)
        term = static_cast<int128>(significand << shift);
      else if (shift < 0 && shift > -128)
        term = static_cast<int128>(significand >> -shift);
      value += negative ? -term : term;
    }
  };
  static constexpr int kBelow = 96;  // bits of a sum below its base that count
  static uint128 magnitude(int128 value) { return static_cast<uint128>(value < 0 ? -value : value); }
  static int bits_of(uint128 value) {
    const auto high = static_cast<std::uint64_t>(value >> 64);
    return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value)));
  }

  int term(int base) {
    switch (random_.between(0, 3)) {
      case 0:
        return base - random_.between(0, 3);
      case 1:
        return std::min(boundary() + nudge(), base + 4);
      case 2:
        return base - pick(boundaries_.distances) + nudge();
      default:
        return base;
    }
  }

  Rounding any_rounding() {
    return random_.chance(50) ? Rounding::nearest_even : random_.chance(50) ? Rounding::down : Rounding::up;
  }

  /// ± a number a little above or below 2^base, or one near it.
  int128 beside_boundary(int lowest, bool negative, int base) {
    const int shift = std::min(term(base), base + 4) - lowest;
    if (shift < 0) return 0;
    int128 number = (static_cast<int128>(1) << shift) + little(shift, base - lowest);
    if (random_.chance(50)) number += little(shift, base - lowest);
    return random_.chance(60) == negative ? -number : number;
  }

  /// ± a few units of a bit below `shift`, mostly one at which something is cut or rounded; sometimes nothing.
  int128 little(int shift, int base_shift) {
    if (random_.chance(20) || shift <= 0) return 0;
    int at = random_.between(0, shift);
    if (random_.chance(75)) {
      const bool cut = !boundaries_.cuts.empty() && random_.chance(60);
      at = (random_.chance(50) ? shift : base_shift) - pick(cut ? boundaries_.cuts : boundaries_.distances) +
           random_.between(-2, 1);
    }
    if (at < 0 || at > shift) return 0;
    const int128 units = random_.chance(60) ? 1 : random_.between(1, 15);
    return random_.chance(50) ? units << at : -(units << at);
  }

  /// What a sum lacks to a multiple of a power of two, or to a small number, or to a little more or less.
  int128 missing(const Sum& sum, int base) {
    const int leading = sum.lowest + bits_of(magnitude(sum.value)) - 1;
    int at = boundary() + random_.between(-1, 1);
    if (at > leading + 2 || random_.chance(30)) at = leading - pick(boundaries_.distances) + random_.between(-2, 1);
    const bool next_power = random_.chance(30);
    const int shift = std::clamp((next_power ? leading + 1 : at) - sum.lowest, 0, 118);
    const int128 unit = static_cast<int128>(1) << shift;
    int128 target = sum.value < 0 ? -unit : unit;
    if (!next_power && random_.chance(25)) {
      target = unit * random_.between(-2, 2);
    } else if (!next_power) {
      const int128 down = sum.value >= 0 ? sum.value / unit : -((-sum.value + unit - 1) / unit);
      target = (down + random_.between(0, 1)) * unit;
    }
    if (random_.chance(60)) target += little(shift, base - sum.lowest);
    return target - sum.value;
  }

  /// Operands as wide as they are stored, or as their format is.
  const Format& operand(FormatId id) const {
    const Format& f = format(id);
    return wide_ && f.padding_bits > 0 ? format(FormatId::fp32) : f;
  }

  void add_c(const Problem& p, Sum& sum) const {
    const Format& c = format(in_.c);
    const Decoded d = decode(c, p.c);
    sum.add(d.negative, d.significand, d.exponent - c.fraction_bits);
  }
  void add_product(const Problem& p, Sum& sum, std::size_t k) const {
    const Format& a = operand(in_.a);
    const Format& b = operand(in_.b);
    const Decoded x = decode(a, p.a[k]), y = decode(b, p.b[k]);
    sum.add(x.negative != y.negative, static_cast<uint128>(x.significand) * y.significand,
            x.exponent - a.fraction_bits + y.exponent - b.fraction_bits);
  }

  /// Sets a[k]·b[k] to about value · 2^lowest: of some a, the one for which value / a has the fewest bits to round
  /// away.
  void put_near(Problem& p, std::size_t k, int128 value, int lowest) {
    const Format& a = operand(in_.a);
    const Format& b = operand(in_.b);
    if (value == 0) return;
    const int exponent = lowest + bits_of(magnitude(value)) - 1;
    int low = std::max(a.min_exponent(), exponent - b.max_exponent());
    int high = std::min(a.max_exponent(), exponent - 1 - b.min_exponent());
    if (low > high) {  // subnormal, if it can be reached at all
      low = std::max(a.min_exponent(), exponent - b.max_exponent());
      high = std::min(a.max_exponent(), exponent - b.min_exponent() + b.fraction_bits);
      if (low > high) return;
    }
    const int ea = random_.between(low, high);
    const uint128 scaled = magnitude(value) << (127 - bits_of(magnitude(value)));
    const Rounding mode = any_rounding();
    const bool up = mode == (value < 0 ? Rounding::down : Rounding::up);
    const std::uint64_t one = std::uint64_t{1} << a.fraction_bits;
    const int tries = random_.chance(20) ? 0 : 1 << random_.between(0, 6);
    std::uint64_t best = one, least = ~std::uint64_t{0};
    for (int n = 0; n < tries; ++n) {
      const std::uint64_t x = one + (random_.next64() & (one - 1));
      const uint128 quotient = scaled / x;
      const int dropped = bits_of(quotient) - b.fraction_bits - 1;
      // What rounding drops, in units of 2^-64 of the last place.
      auto rest = static_cast<std::uint64_t>(dropped > 64 ? quotient >> (dropped - 64) : quotient << (64 - dropped));
      if (up) rest = 0 - rest;
      if (mode == Rounding::nearest_even) rest = std::min(rest, 0 - rest);
      if (rest >= least) continue;
      least = rest;
      best = x;
    }
    const uint128 quotient = scaled / best;
    p.a[k] = encode(a, false, best, ea - a.fraction_bits, false, Rounding::toward_zero);
    p.b[k] = encode(b, value < 0, quotient, exponent - 126 - ea + a.fraction_bits, scaled % best != 0, mode,
                    Overflow::max_finite);
  }

  /// Zeros: of one sign or of both, and some whose other operand is a large or a small number.
  void background(Problem& p) {
    const Format& a = format(in_.a);
    const Format& b = format(in_.b);
    const int signs = random_.between(0, 2) * 50, natural = random_.between(0, 2) * 40;
    for (std::size_t i = 0; i < p.a.size(); ++i) {
      p.a[i] = zero_code(a, random_.chance(signs));
      p.b[i] = zero_code(b, false);
      if (!random_.chance(natural)) continue;
      const int low = b.min_exponent() - (random_.chance(25) ? b.fraction_bits : 0);
      p.b[i] = small_number(b, random_, false,
                            random_.between(low, random_.chance(25) ? b.min_exponent() : b.max_exponent()));
    }
    p.c = zero_code(format(in_.c), random_.chance(signs));
  }

  /// ± a number with that exponent, with few bits set or many; subnormal if need be.
  std::uint64_t value(const Format& f, bool negative, int exponent) {
    const int bits = f.fraction_bits;
    const std::uint64_t one = std::uint64_t{1} << bits;
    std::uint64_t significand = one;
    switch (random_.chance(large_) ? 2 : large_ > 0 ? random_.between(4, 6) : random_.between(0, 8)) {
      case 0:
        break;
      case 1:
        significand = one + 1;
        break;
      case 2:
        significand = 2 * one - 1;
        break;
      case 3:
        significand = one + (std::uint64_t{1} << random_.between(0, bits)) / 2;
        break;
      case 4:
        significand = one + one / 2;
        break;
      case 5:
        significand = 2 * one - (std::uint64_t{1} << random_.between(0, bits));
        break;
      case 6: {  // ones down to a boundary's distance
        const int last = std::clamp(bits - pick(boundaries_.distances) + random_.between(-2, 2), 0, bits);
        significand = 2 * one - (std::uint64_t{1} << last);
        break;
      }
      case 7: {  // bits at a boundary's distance
        for (int n = random_.between(1, 2); n > 0; --n) {
          const int at = bits - pick(boundaries_.distances) + random_.between(-1, 1);
          if (at >= 0 && at < bits) significand |= std::uint64_t{1} << at;
        }
        break;
      }
      default:
        significand = one + (random_.next64() & (one - 1));
        break;
    }
    std::uint64_t code = encode(f, negative, significand, std::min(exponent, f.max_exponent()) - bits, false,
                                Rounding::toward_zero, Overflow::max_finite);
    if (f.padding_bits > 0 && random_.chance(30)) code |= random_.next64() & ((std::uint64_t{1} << f.padding_bits) - 1);
    return code;
  }

  void put(Problem& p, std::size_t k, bool negative, int exponent) {
    const Format& a = format(in_.a);
    const Format& b = format(in_.b);
    const int subnormal = random_.chance(25) ? 1 : 0;
    const int a_low = a.min_exponent() - subnormal * a.fraction_bits,
              b_low = b.min_exponent() - subnormal * b.fraction_bits;
    const int low = std::max(a_low, exponent - b.max_exponent()), high = std::min(a.max_exponent(), exponent - b_low);
    const int ea = low <= high ? random_.between(low, high) : (exponent < 0 ? a_low : a.max_exponent());
    const bool a_negative = random_.chance(50);
    p.a[k] = value(a, a_negative, ea);
    p.b[k] = value(b, a_negative != negative, low <= high ? exponent - ea : (exponent < 0 ? b_low : b.max_exponent()));
  }

  /// Makes c about the opposite of all products together, so that their last bits show.
  void cancel(Problem& p) {
    double sum = 0;
    for (std::size_t i = 0; i < p.a.size(); ++i)
      sum += number_of(format(in_.a), p.a[i]) * number_of(format(in_.b), p.b[i]);
    int exponent = 0;
    const auto significand = static_cast<std::uint64_t>(std::ldexp(std::abs(std::frexp(sum, &exponent)), 53));
    if (!std::isfinite(sum) || significand == 0) return;
    p.c =
        encode(format(in_.c), sum > 0, significand, exponent - 53, false, Rounding::toward_zero, Overflow::max_finite);
  }
  static double number_of(const Format& f, std::uint64_t code) {
    const Decoded d = decode(f, code);
    return (d.negative ? -1 : 1) * std::ldexp(static_cast<double>(d.significand), d.exponent - f.fraction_bits);
  }

  /// Two products that cancel but for their last bits: (2^e·m)² and −(2^e·(m − i))·(2^e·(m + i)) differ by 2^2e·i².
  void put_neighbours(Problem& p, bool negative, int exponent) {
    const Format& a = format(in_.a);
    const Format& b = format(in_.b);
    const int bits = std::min(a.fraction_bits, b.fraction_bits);
    const int low = std::max(a.min_exponent(), exponent - b.max_exponent()),
              high = std::min(a.max_exponent(), exponent - b.min_exponent());
    const std::size_t i = slot(), j = slot();
    if (low > high || i == j || bits < 2) return put(p, i, negative, exponent);
    const int ea = random_.between(low, high);
    const std::uint64_t one = std::uint64_t{1} << bits;
    const auto step = static_cast<std::uint64_t>(random_.between(0, 1));
    const std::uint64_t middle = one + step + random_.next64() % (one - 2 * step);
    const auto put_at = [&](std::size_t k, bool sign, std::uint64_t x, std::uint64_t y) {
      p.a[k] = encode(a, sign, x, ea - bits, false, Rounding::toward_zero, Overflow::max_finite);
      p.b[k] = encode(b, false, y, exponent - ea - bits, false, Rounding::toward_zero, Overflow::max_finite);
    };
    put_at(i, negative, middle, middle);
    put_at(j, !negative, middle - step, middle + step);
  }

  /// Two products with bits far below their leading ones that add up to a number of few bits: a·x + a·(t − x).
  void put_complements(Problem& p, bool negative, int exponent) {
    const Format& a = format(in_.a);
    const Format& b = format(in_.b);
    const std::size_t i = slot(), j = slot();
    const int low = std::max(a.min_exponent(), exponent + 1 - b.max_exponent());
    const int high = std::min(a.max_exponent(), exponent - 2 - b.min_exponent());
    if (low > high || i == j) return put(p, i, negative, exponent);
    const int ea = random_.between(low, high), eb = exponent - ea;
    const auto whole = [](const Format& f, std::uint64_t code) {
      return code & ~((std::uint64_t{1} << f.padding_bits) - 1);
    };
    const std::uint64_t x = whole(b, value(b, negative, eb - random_.between(1, 2)));
    const Decoded d = decode(b, x);
    const int lowest = d.exponent - b.fraction_bits;
    if (eb - lowest < 0 || eb - lowest > 60) return put(p, i, negative, exponent);
    std::uint64_t t = std::uint64_t{1} << (eb - lowest);
    if (const int last = boundary() + nudge() - ea - lowest; last >= 0 && last < eb - lowest)
      t += std::uint64_t{1} << last;
    p.a[i] = p.a[j] = random_.chance(50) ? encode(a, false, 1, ea, false, Rounding::toward_zero, Overflow::max_finite)
                                         : whole(a, value(a, false, ea));
    p.b[i] = x;
    p.b[j] = encode(b, negative, t - d.significand, lowest, false, Rounding::toward_zero, Overflow::max_finite);
  }

  const Instruction& in_;
  const Boundaries& boundaries_;
  RandomNumbers random_;
  std::vector<std::vector<int>> blocks_;  // of one of the datapaths
  int large_ = 0;      // percent of significands that are as large as can be; the others are large too
  bool wide_ = false;  // bits that operands have beyond their format count
};

/// Tiles whose rows, columns and accumulators come from problems 0, 1, …
template <class Make>
Tiles tiles_of(const Instruction& in, std::size_t count, std::size_t m, std::size_t n, const Make& make) {
  Tiles tiles = make_tiles(in.a, in.b, in.c, in.d, count, m, n, static_cast<std::size_t>(in.products()));
  const std::size_t most = std::max(m, n);
  for (std::size_t t = 0; t < count; ++t) {
    for (std::size_t r = 0; r < most; ++r) {
      // Row r and column r are one problem, so every diagonal element is one whole.
      const Problem p = make(t * most + r);
      for (std::size_t kk = 0; kk < tiles.k; ++kk) {
        if (r < m) tiles.a.set(tiles.a_index(t, r, kk), p.a[kk]);
        if (r < n) tiles.b.set(tiles.b_index(t, kk, r), p.b[kk]);
      }
      for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          if ((2 * i + most - j % most) % most == r) tiles.c.set(tiles.c_index(t, i, j), p.c);
        }
      }
    }
  }
  return tiles;
}

}  // namespace

std::uint32_t RandomNumbers::next() {
  if (left_ == 0) {
    r123::Philox4x32 generator;
    const r123::Philox4x32::ctr_type counter = {
        {static_cast<std::uint32_t>(index_), static_cast<std::uint32_t>(index_ >> 32), stream_, block_++}};
    const r123::Philox4x32::key_type key = {
        {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)}};
    const auto out = generator(counter, key);
    for (std::size_t i = 0; i < 4; ++i) buffer_[i] = out[i];
    left_ = 4;
  }
  return buffer_[static_cast<std::size_t>(4 - left_--)];
}

int RandomNumbers::between(int low, int high) {
  const auto span = static_cast<std::uint64_t>(high - low + 1);
  return low + static_cast<int>((static_cast<std::uint64_t>(next()) * span) >> 32);
}

std::string_view name(Family family) { return kFamilyNames[static_cast<std::size_t>(family)]; }

Problem zero_problem(const Instruction& instruction) {
  const auto k = static_cast<std::size_t>(instruction.products());
  return {std::vector<std::uint64_t>(k, 0), std::vector<std::uint64_t>(k, 0), 0};
}

Problem make_problem(const Instruction& instruction, Family family, std::uint64_t seed, std::uint64_t index) {
  if (!format(instruction.d).floating) {
    return make_integer_problem(instruction, family, RandomNumbers(seed, static_cast<std::uint32_t>(family), index));
  }
  return Filler(instruction, family, seed, index)();
}

Tiles make_family_tiles(const Instruction& in, Family family, std::uint64_t seed, std::uint64_t first,
                        std::size_t count, std::size_t m, std::size_t n) {
  const std::size_t most = std::max(m, n);
  return tiles_of(in, count, m, n, [&](std::size_t i) { return make_problem(in, family, seed, first * most + i); });
}

Tiles make_boundary_tiles(const Instruction& in, const Boundaries& boundaries, std::uint64_t seed, std::uint64_t first,
                          std::size_t count, std::size_t m, std::size_t n) {
  const std::size_t most = std::max(m, n);
  return tiles_of(in, count, m, n, [&](std::size_t i) {
    const std::uint64_t index = first * most + i;
    if (!format(in.d).floating) return make_integer_boundary_problem(in, RandomNumbers(seed, kBoundaryStream, index));
    return BoundaryFiller(in, boundaries, seed, index)();
  });
}

Tiles pack(const Instruction& in, std::span<const Problem> problems) {
  const std::size_t count = (problems.size() + kPackSide - 1) / kPackSide;
  Tiles tiles =
      make_tiles(in.a, in.b, in.c, in.d, count, kPackSide, kPackSide, static_cast<std::size_t>(in.products()));
  for (std::size_t t = 0; t < count; ++t) {
    // The last tile repeats its problems, so that no element is a problem of zeros only.
    const auto at = [&](std::size_t r) -> const Problem& {
      return problems[t * kPackSide + r % std::min(kPackSide, problems.size() - t * kPackSide)];
    };
    for (std::size_t r = 0; r < kPackSide; ++r) {
      for (std::size_t kk = 0; kk < tiles.k; ++kk) {
        tiles.a.set(tiles.a_index(t, r, kk), at(r).a[kk]);
        tiles.b.set(tiles.b_index(t, kk, r), at(r).b[kk]);
      }
      for (std::size_t j = 0; j < kPackSide; ++j) {
        tiles.c.set(tiles.c_index(t, r, j), at((2 * r + kPackSide - j) % kPackSide).c);
      }
    }
  }
  return tiles;
}

ProductMaker::ProductMaker(const Instruction& instruction) : instruction_(&instruction) {
  const Format& a = format(instruction.a);
  const Format& b = format(instruction.b);
  lowest_ = a.min_exponent() + b.min_exponent();
  highest_ = a.max_exponent() + b.max_exponent();
  lowest_subnormal_ = lowest_ - a.fraction_bits - b.fraction_bits;
}

void ProductMaker::put(Problem& problem, int k, bool negative, int exponent) const {
  const Format& a = format(instruction_->a);
  const Format& b = format(instruction_->b);
  // As even a split as the ranges allow; subnormals only if there is no other way.
  int ea = exponent / 2;
  ea = std::clamp(ea, std::max(a.min_exponent(), exponent - b.max_exponent()), a.max_exponent());
  if (exponent - ea < b.min_exponent()) ea = std::max(exponent - b.min_exponent(), a.min_exponent() - a.fraction_bits);
  const auto i = static_cast<std::size_t>(k);
  problem.a[i] = encode(a, negative, 1, ea, false, Rounding::toward_zero);
  problem.b[i] = encode(b, false, 1, exponent - ea, false, Rounding::toward_zero);
}

std::uint64_t ProductMaker::accumulator(bool negative, int exponent) const {
  const Format& c = format(instruction_->c);
  return encode(c, negative, 1, std::clamp(exponent, c.min_exponent() - c.fraction_bits, c.max_exponent()), false,
                Rounding::toward_zero);
}

}  // namespace tcnum
