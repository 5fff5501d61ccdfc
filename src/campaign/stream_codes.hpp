// The codes of a stream's tiles (tcnum/distribution.hpp), in code that a GPU compiles as well as a CPU.
//
// A tile's frame is drawn first: where c lies, and for each k a slot: where the exponents of a[k] and b[k] lie, whether
// one of them is zero, and whether the slot repeats another with the opposite sign. Then each element is drawn by
// itself.
#pragma once

// As the functions that call it: nvcc gives Random123's no host form otherwise.
#include "emu/host_device.hpp"
#ifdef __CUDACC__
#define R123_CUDA_DEVICE __host__ __device__
#endif
#include <Random123/philox.h>

#include <algorithm>

#include "distribution.hpp"
#include "emu/integers.hpp"
#include "tcnum/format.hpp"

namespace tcnum::stream {

/// All that the codes depend on, but the tile.
struct Recipe {
  Distribution distribution;
  std::uint64_t seed;
  StreamShape shape;
  Format a, b, c, d;
};
inline Recipe recipe(const Instruction& in, Distribution distribution, std::uint64_t seed) {
  return {distribution, seed, stream_shape(in), format(in.a), format(in.b), format(in.c), format(in.d)};
}

enum class Role : std::uint32_t { a, b, c, frame };
inline constexpr std::uint32_t kRoles = 4;

/// Four random words.
struct Block {
  std::uint32_t word[4];
};
/// The counter's word that tells streams apart.
TCNUM_HOST_DEVICE constexpr std::uint32_t stream_word(Distribution distribution, Role role) {
  return static_cast<std::uint32_t>(distribution) * kRoles + static_cast<std::uint32_t>(role);
}
TCNUM_HOST_DEVICE inline Block random_block(const Recipe& r, std::uint64_t tile, Role role, std::uint32_t index) {
  const r123::Philox4x32::ctr_type counter = {{index, stream_word(r.distribution, role),
                                               static_cast<std::uint32_t>(tile),
                                               static_cast<std::uint32_t>(tile >> 32)}};
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(r.seed), static_cast<std::uint32_t>(r.seed >> 32)}};
  r123::Philox4x32 generator;
  const r123::Philox4x32::ctr_type out = generator(counter, key);
  return {{out.v[0], out.v[1], out.v[2], out.v[3]}};
}

/// The random bits of an element: `fraction` for its significand, `choice` for all else. From the lowest bit on, choice
/// has the pattern of the significand (3), the sign (1), chances (12) and the exponent (16).
struct Words {
  std::uint32_t fraction, choice;
  TCNUM_HOST_DEVICE bool negative() const { return (choice >> 3 & 1) != 0; }
  TCNUM_HOST_DEVICE std::uint32_t chance() const { return choice >> 4 & 0xfff; }
  /// Uniform in 0 … span.
  TCNUM_HOST_DEVICE int exponent(int span) const {
    return static_cast<int>((choice >> 16) * static_cast<std::uint32_t>(span + 1) >> 16);
  }
  /// 64 bits that depend on all of them.
  TCNUM_HOST_DEVICE std::uint64_t mixed() const {
    return ((static_cast<std::uint64_t>(choice) << 32) | fraction) * 0x9e3779b97f4a7c15u;
  }
};
inline constexpr std::uint32_t kChances = 4096;  ///< chances are of so many
TCNUM_HOST_DEVICE constexpr std::uint32_t percent(int p) { return static_cast<std::uint32_t>(p) * kChances / 100; }

/// Each block serves two elements.
TCNUM_HOST_DEVICE inline Words words_of(const Block& block, std::uint32_t element) {
  return element % 2 == 0 ? Words{block.word[0], block.word[1]} : Words{block.word[2], block.word[3]};
}

/// random_block() of a frame or a slot, in one copy: they draw at many places, and rarely.
TCNUM_HOST_DEVICE TCNUM_NOINLINE inline Block frame_block(const Recipe& r, std::uint64_t tile, std::uint32_t index) {
  return random_block(r, tile, Role::frame, index);
}

/// Random numbers for a frame or a slot, word after word. No expression takes two: compilers order those as they like.
class Sequence {
 public:
  TCNUM_HOST_DEVICE Sequence(const Recipe& r, std::uint64_t tile, std::uint32_t first)
      : r_(r), tile_(tile), next_(first) {}
  TCNUM_HOST_DEVICE std::uint32_t word() {
    if (left_ == 0) {
      block_ = frame_block(r_, tile_, next_++);
      left_ = 4;
    }
    return block_.word[4 - left_--];
  }
  /// Uniform in low … high, both included.
  TCNUM_HOST_DEVICE int between(int low, int high) {
    const auto span = static_cast<std::uint64_t>(high - low + 1);
    return low + static_cast<int>(static_cast<std::uint64_t>(word()) * span >> 32);
  }
  TCNUM_HOST_DEVICE bool chance(int of_100) { return between(1, 100) <= of_100; }

 private:
  const Recipe& r_;
  std::uint64_t tile_;
  std::uint32_t next_;
  Block block_{};
  int left_ = 0;
};

/// How elements are drawn.
enum class Draw : std::uint8_t {
  number,    ///< a number with an exponent (an integer: so many bits) of the slot's range
  bits,      ///< any finite code
  gaussian,  ///< about a normal distribution's (of integers: around the middle)
  end,       ///< integers: at an end of the format's range, or near it
  pattern,   ///< integers: alternating bits, all, one, none
};

struct Range {
  int low = 0, span = 0;
};

struct Frame {
  Draw draw = Draw::number;
  Range c;
  bool fixed_signs = false;  ///< each slot's products all have one sign
  bool negative = false;     ///< of them, the usual one
  std::uint32_t c_zero = 0;  ///< chances
  std::uint32_t operand_special = 0, c_special = 0;
  bool c_largest = false;                         ///< c is the largest number of either sign
  int cancelled_slot = -1;                        ///< c is the opposite of this slot's product
  std::uint32_t flips = 0;                        ///< chance that the last bit of a repeated b differs
  int high = 0, low = 0;                          ///< exponents of large products, and of small ones
  int stride = 0;                                 ///< distance of the slots that repeat each other
  std::uint32_t pairs = 0;                        ///< which do, as bits
  std::uint32_t used = kChances;                  ///< chance that a slot is not zero
  int home = 0, reach = 0, large = 0, small = 0;  ///< slots of a few large and small products
  int kind = 0;                                   ///< what else a distribution chooses from
};

struct Slot {
  Range a, b;
  bool a_zero = false, b_zero = false;
  bool a_negative = false, b_negative = false;  ///< with fixed signs
  std::int16_t source = 0;                      ///< the slot that this one repeats, or itself
};

// --- Codes.

TCNUM_HOST_DEVICE inline std::uint64_t sign_bit(const Format& f) { return std::uint64_t{1} << (f.storage_bits - 1); }

TCNUM_HOST_DEVICE inline std::uint64_t signed_zero(const Format& f, bool negative) {
  return negative && f.floating && f.non_finite != NonFinite::nan_negative_zero ? sign_bit(f) : 0;
}

/// The code, or a finite one beside it.
TCNUM_HOST_DEVICE inline std::uint64_t finite(const Format& f, std::uint64_t code) {
  if (decode(f, code).is_finite()) return code;
  if (f.non_finite == NonFinite::nan_negative_zero) return 0;
  return code & ~(std::uint64_t{1} << (f.fraction_bits + f.padding_bits));  // the exponent's last bit
}

/// ±(1 + fraction · 2^-fraction_bits) · 2^exponent, cut where it is subnormal; bits that the format has not are
/// `padding`. U holds a code.
template <class U>
TCNUM_HOST_DEVICE std::uint64_t assemble(const Format& f, bool negative, int exponent, U fraction, U padding) {
  const U one = U{1} << f.fraction_bits;
  U units = one | fraction, field = 0;
  if (exponent > f.max_exponent()) exponent = f.max_exponent();
  if (exponent >= f.min_exponent()) {
    field = static_cast<U>(exponent + f.bias);
  } else {
    const int down = f.min_exponent() - exponent;
    units = down > f.fraction_bits ? 0 : units >> down;
  }
  const U magnitude = (field << f.fraction_bits) | (units & (one - 1));
  if (magnitude == 0) return signed_zero(f, negative);
  const U code = (negative ? U{1} << (f.storage_bits - 1) : 0) | magnitude << f.padding_bits |
                 (padding & ((U{1} << f.padding_bits) - 1));
  return exponent < f.max_exponent() ? code : finite(f, code);
}

template <class U>
TCNUM_HOST_DEVICE std::uint64_t number(const Format& f, const Words& w, U mixed, Range range, bool negative) {
  const U one = U{1} << f.fraction_bits;
  U fraction = mixed >> (static_cast<int>(sizeof(U) * 8) - f.fraction_bits);
  const unsigned pattern = w.choice & 7;  // those that matter, half of the time
  if (pattern == 0) fraction = 0;
  if (pattern == 1) fraction = 1;
  if (pattern == 2) fraction = one / 2;
  if (pattern == 3) fraction = one - 1;
  return assemble<U>(f, negative, range.low + w.exponent(range.span), fraction, mixed);
}
TCNUM_HOST_DEVICE inline std::uint64_t number(const Format& f, const Words& w, Range range, bool negative) {
  const std::uint64_t mixed = w.mixed();
  return f.storage_bits <= 32 ? number(f, w, static_cast<std::uint32_t>(mixed >> 32), range, negative)
                              : number(f, w, mixed, range, negative);
}

/// Sums of four uniform numbers: near enough to a normal distribution of deviation 1.
TCNUM_HOST_DEVICE inline std::uint64_t gaussian(const Format& f, const Words& w) {
  const auto half = [](std::uint32_t x) { return static_cast<int>(x & 0xffff) + static_cast<int>(x >> 16); };
  const int sum = half(w.fraction) + half(w.choice) - 2 * 0xffff;
  std::uint64_t magnitude = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
  if (magnitude == 0) return signed_zero(f, w.negative());
  constexpr int kDeviation = 15;  // of the sum, as a power of two
  int exponent = 18;
  while (magnitude >> exponent == 0) --exponent;
  // Bits below the sum's are random ones.
  const std::uint64_t fraction =
      ((magnitude << (63 - exponent)) << 1 | w.mixed() >> (exponent + 1)) >> (64 - f.fraction_bits);
  return assemble<std::uint64_t>(f, sum < 0, exponent - kDeviation, fraction, w.mixed());
}

TCNUM_HOST_DEVICE inline std::uint64_t special(const Format& f, const Words& w) {
  const std::uint64_t sign = w.negative() ? sign_bit(f) : 0;
  const std::uint64_t top = detail::low_mask(f.exponent_bits) << (f.fraction_bits + f.padding_bits);
  const std::uint64_t largest = finite(f, sign | top | detail::low_mask(f.fraction_bits + f.padding_bits));
  switch (w.choice & 7) {
    case 0:
    case 1:
    case 2:
      return f.has_infinity() ? sign | top : largest;
    case 3:
    case 4: {  // any NaN: quiet or signalling, any payload
      if (f.non_finite == NonFinite::none) return largest;
      if (f.non_finite == NonFinite::nan_negative_zero) return sign_bit(f);
      if (!f.has_infinity()) return sign | top | detail::low_mask(f.fraction_bits);
      const std::uint64_t payload = w.mixed() & detail::low_mask(f.fraction_bits + f.padding_bits);
      return sign | top | (payload >> f.padding_bits == 0 ? std::uint64_t{1} << f.padding_bits : payload);
    }
    case 5:
      return signed_zero(f, w.negative());
    default:
      return largest;
  }
}

// --- Integers, as whole numbers.

/// That number, or the nearest that the format has.
TCNUM_HOST_DEVICE inline std::uint64_t integer_code(const Format& f, std::int64_t x) {
  const auto [lowest, highest] = range_of(f);
  return code_of(f, x < lowest ? lowest : x > highest ? highest : x);
}

TCNUM_HOST_DEVICE inline std::uint64_t integer(const Format& f, const Words& w, Draw draw, Range range, bool negative) {
  const std::uint64_t mixed = w.mixed();
  switch (draw) {
    case Draw::bits:
      return mixed >> 32 & f.code_mask();
    case Draw::gaussian: {
      std::int64_t sum = 0;
      for (int n = 0; n < 4; ++n) sum += integer_of(f, mixed >> (n * 8) & f.code_mask());
      return integer_code(f, sum / 4);
    }
    case Draw::end: {
      const std::int64_t inside = w.chance() < percent(60) ? 0 : static_cast<std::int64_t>(w.fraction & 3);
      return integer_code(f, negative ? range_of(f).lowest + inside : range_of(f).highest - inside);
    }
    case Draw::pattern: {
      constexpr std::uint64_t kPatterns[8] = {0, 1, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, ~std::uint64_t{0}, 0, 0, 0};
      const unsigned which = w.fraction % 7;
      if (which == 5) return integer_code(f, range_of(f).lowest);
      if (which == 6) return integer_code(f, range_of(f).highest);
      return kPatterns[which] & f.code_mask();
    }
    case Draw::number:
      break;
  }
  int bits = range.low + w.exponent(range.span);
  if (bits > f.fraction_bits) bits = f.fraction_bits;
  // Of a slot that asks for fewer bits than none: any number, cut to the format's range.
  const std::uint64_t kept = bits < 0 ? ~std::uint64_t{0} : detail::low_mask(bits);
  const auto magnitude = static_cast<std::int64_t>(mixed >> 16 & kept);
  return integer_code(f, negative && f.has_sign ? -magnitude : magnitude);
}

// --- Frames.

TCNUM_HOST_DEVICE inline int least(int x, int y) { return x < y ? x : y; }
TCNUM_HOST_DEVICE inline int most(int x, int y) { return x > y ? x : y; }
TCNUM_HOST_DEVICE inline int clamped(int x, int low, int high) { return most(low, least(x, high)); }

TCNUM_HOST_DEVICE inline int lowest_product(const Recipe& r) {
  return r.a.min_exponent() - r.a.fraction_bits + r.b.min_exponent() - r.b.fraction_bits;
}
TCNUM_HOST_DEVICE inline int highest_product(const Recipe& r) { return r.a.max_exponent() + r.b.max_exponent(); }

/// Of a and of b, in slots that choose none for themselves.
struct Exponents {
  Range a, b;
};

TCNUM_HOST_DEVICE inline Exponents narrow(const Recipe& r, Sequence& random, Frame& frame) {
  const int spread = random.between(0, 4);
  const auto centre = [&](const Format& f) {
    const int margin = least(spread + 1, (f.max_exponent() - f.min_exponent()) / 2);
    const int high = least(f.max_exponent() - margin, 12), low = most(f.min_exponent() + margin, -12);
    return random.between(least(low, high), high);
  };
  const int ea = centre(r.a);
  const int wanted =
      clamped(ea + centre(r.b), r.d.min_exponent() + 4, r.d.max_exponent() - 8);  // must suit the result too
  const int eb = clamped(wanted - ea, r.b.min_exponent(), r.b.max_exponent());
  frame.c = {ea + eb - spread - 2, 2 * spread + 6};
  return {{ea - spread, 2 * spread}, {eb - spread, 2 * spread}};
}

TCNUM_HOST_DEVICE inline Exponents wide(const Recipe& r, Sequence& random, Frame& frame) {
  // A product's exponent is at most twice the reach.
  const int reach = random.between(3, least(60, r.d.max_exponent() / 2 - 2));
  const auto range = [&](const Format& f) {
    const int low = most(f.min_exponent(), -reach), high = least(f.max_exponent(), reach);
    return Range{low, high - low};
  };
  frame.c = range(r.c);
  return {range(r.a), range(r.b)};
}

/// A frame, and what its slots start from.
struct FrameDraw {
  Frame frame;
  Exponents exponents;
};

TCNUM_HOST_DEVICE inline void draw_pairs(const Recipe& r, Sequence& random, Frame& frame) {
  int places = 0;
  while (2 << places <= r.shape.k) ++places;
  frame.stride = places == 0 ? 0 : 1 << random.between(0, places - 1);
  frame.pairs = random.word();
  if (random.chance(50)) frame.pairs |= random.word();
}

/// Unless make_frame() says otherwise.
TCNUM_HOST_DEVICE inline Draw usual_draw(Distribution distribution) {
  if (distribution == Distribution::gaussian) return Draw::gaussian;
  return distribution == Distribution::uniform_bits ? Draw::bits : Draw::number;
}

TCNUM_HOST_DEVICE inline FrameDraw make_integer_frame(const Recipe& r, Sequence& random) {
  FrameDraw f;
  Frame& frame = f.frame;
  frame.draw = usual_draw(r.distribution);
  const auto all = [&](Range range) { f.exponents = {range, range}; };
  const int c_bits = r.c.fraction_bits;
  switch (r.distribution) {
    case Distribution::narrow:
      all({random.between(1, 3), 0});
      frame.c = {1, 8};
      break;
    case Distribution::wide:
      f.exponents = {{0, r.a.fraction_bits}, {0, r.b.fraction_bits}};
      frame.c = {0, c_bits};
      break;
    case Distribution::cancellation:
      f.exponents = {{0, r.a.fraction_bits}, {0, r.b.fraction_bits}};
      frame.c = {0, 4};
      draw_pairs(r, random, frame);
      frame.flips = random.chance(30) ? percent(25) : 0;
      if (random.chance(40)) frame.cancelled_slot = random.between(0, r.shape.k - 1);
      break;
    case Distribution::tiny:
      all({1, 0});
      frame.c = {1, 0};
      break;
    case Distribution::huge:
      frame.draw = Draw::end;
      frame.fixed_signs = random.chance(60);
      frame.negative = random.chance(50);
      break;
    case Distribution::sparse:
      f.exponents = {{0, r.a.fraction_bits}, {0, r.b.fraction_bits}};
      frame.c = {0, c_bits};
      frame.c_zero = random.chance(50) ? kChances : 0;
      frame.used = kChances * static_cast<std::uint32_t>(random.between(1, 4)) / static_cast<std::uint32_t>(r.shape.k);
      break;
    case Distribution::edges: {  // the sum passes an end of c's range, or would
      frame.draw = random.chance(50) ? Draw::end : Draw::number;
      f.exponents = {{0, r.a.fraction_bits}, {0, r.b.fraction_bits}};
      frame.fixed_signs = random.chance(60);
      frame.negative = random.chance(50);
      int bits = r.a.fraction_bits + r.b.fraction_bits;
      for (int k = r.shape.k; k > 1; k /= 2) ++bits;
      frame.reach = random.between(0, bits);
      break;
    }
    case Distribution::signed_zeros:
      frame.draw = Draw::bits;
      frame.used = 0;
      break;
    case Distribution::specials:
      frame.draw = Draw::pattern;
      break;
    default:
      break;
  }
  return f;
}

/// kFloating, here and below: the formats are known to be floating-point ones.
template <bool kFloating = false>
TCNUM_HOST_DEVICE FrameDraw make_frame(const Recipe& r, std::uint64_t tile) {
  Sequence random(r, tile, 0);
  if (!kFloating && !r.d.floating) return make_integer_frame(r, random);
  FrameDraw f;
  Frame& frame = f.frame;
  frame.draw = usual_draw(r.distribution);
  const int quantum = r.d.min_exponent() - r.d.fraction_bits;  // exponent of the smallest positive result
  const int c_lowest = r.c.min_exponent() - r.c.fraction_bits;
  switch (r.distribution) {
    case Distribution::narrow:
      f.exponents = narrow(r, random, frame);
      break;
    case Distribution::wide:
      f.exponents = wide(r, random, frame);
      break;
    case Distribution::cancellation: {
      int top = least(least(highest_product(r), r.d.max_exponent() - 6), 40);
      // Products beyond the result's range, as long as they cancel.
      if (random.chance(50)) top = least(highest_product(r), 40);
      frame.high = random.between(most(top - 30, r.a.min_exponent() + r.b.min_exponent()), top);
      const int left = least(frame.high, r.d.max_exponent() - 4);
      frame.low = least(left, frame.high - random.between(0, 45));
      draw_pairs(r, random, frame);
      frame.flips = random.chance(30) ? percent(25) : 0;
      const int kind = random.between(0, 9);
      frame.c = kind < 3 ? Range{left, 0} : Range{left - 45, 45};
      if (kind > 5) frame.cancelled_slot = random.between(0, r.shape.k - 1);
      break;
    }
    case Distribution::tiny: {
      const int near_products = lowest_product(r) + random.between(0, 12),
                near_results = quantum + random.between(-30, 30);
      frame.high = most(near_products, near_results);
      frame.used = percent(random.between(10, 100));
      const int kind = random.between(0, 3);
      frame.c_zero = kind == 0 ? kChances : percent(5);
      frame.c = kind == 1 ? Range{c_lowest, r.c.fraction_bits + 3} : Range{most(frame.high, c_lowest) - 4, 16};
      break;
    }
    case Distribution::huge:
      frame.high = least(highest_product(r), r.d.max_exponent());
      frame.used = percent(60);
      frame.fixed_signs = random.chance(50);
      frame.negative = random.chance(50);
      frame.c_largest = random.chance(50);
      frame.c = {r.c.max_exponent() - 6, 6};
      break;
    case Distribution::sparse: {
      const int low = r.a.min_exponent() + r.b.min_exponent();
      frame.high = random.between(most(low, -80), least(highest_product(r), 80));
      frame.low = low;
      frame.home = random.between(0, r.shape.k - 1);
      frame.reach = r.shape.k - 1;
      frame.large = 0;
      frame.small = random.between(1, 4);
      frame.c = {frame.high - 44, 48};
      frame.c_zero = random.chance(30) ? kChances : 0;
      break;
    }
    case Distribution::edges: {  // near the smallest result, and far below it and of the other sign
      frame.high = quantum + random.between(-3, 4);
      const int depth = random.between(1, 60);
      frame.low = frame.high - depth;
      // Terms must meet in one sum to show anything: mostly within a few slots of each other.
      frame.home = random.between(0, r.shape.k - 1);
      frame.reach = least(1 << random.between(0, 5), r.shape.k - 1);
      frame.large = random.between(1, 4);
      frame.small = random.between(1, 3);
      frame.fixed_signs = true;
      frame.negative = random.chance(50);
      const int kind = random.between(0, 9);
      frame.c_zero = kind < 4 ? kChances : 0;
      frame.c = kind < 7   ? Range{frame.low - 2, 2}
                : kind < 9 ? Range{frame.high - 2, 2}
                           : Range{c_lowest, r.c.fraction_bits + 8};
      break;
    }
    case Distribution::signed_zeros:
      frame.kind = random.between(0, 5);
      frame.used = 0;
      frame.high =
          random.between(most(lowest_product(r), quantum - 20), least(highest_product(r), r.d.max_exponent() - 1));
      frame.home = random.between(0, r.shape.k - 1);
      frame.c_zero = frame.kind == 1 ? 0 : kChances;
      frame.c = {c_lowest, 20 - c_lowest};
      frame.fixed_signs = frame.kind == 0;  // all zeros are negative
      frame.negative = frame.kind == 0;
      break;
    case Distribution::specials:
      f.exponents = narrow(r, random, frame);
      if (random.chance(30)) frame.used = 0;
      frame.operand_special = kChances / static_cast<std::uint32_t>(3 * r.shape.k) + 1;
      frame.c_special = percent(10);
      break;
    default:
      break;
  }
  return f;
}

/// Exponents of a and b whose sum is that of a product, split at random.
TCNUM_HOST_DEVICE inline void split(const Recipe& r, Sequence& random, int exponent, Slot& slot) {
  const int a_low = r.a.min_exponent() - r.a.fraction_bits, b_low = r.b.min_exponent() - r.b.fraction_bits;
  int low = most(r.a.min_exponent(), exponent - r.b.max_exponent());
  int high = least(r.a.max_exponent(), exponent - r.b.min_exponent());
  if (low > high || random.chance(20)) {  // not both normal, if need be or now and then
    low = most(a_low, exponent - r.b.max_exponent());
    high = least(r.a.max_exponent(), exponent - b_low);
  }
  const int ea = low <= high ? random.between(low, high) : (exponent < 0 ? a_low : r.a.max_exponent());
  slot.a = {ea, 0};
  slot.b = {exponent - ea, 0};
}

template <bool kFloating = false>
TCNUM_HOST_DEVICE Slot make_slot(const Recipe& r, std::uint64_t tile, const FrameDraw& f, int k) {
  constexpr std::uint32_t kFrameBlocks = 16, kSlotBlocks = 8;
  const Frame& frame = f.frame;
  Sequence random(r, tile, kFrameBlocks + static_cast<std::uint32_t>(k) * kSlotBlocks);
  Slot slot;
  slot.source = static_cast<std::int16_t>(k);
  slot.a = f.exponents.a;
  slot.b = f.exponents.b;
  bool used = frame.used >= kChances || static_cast<std::uint32_t>(random.between(0, kChances - 1)) < frame.used;
  bool negative = frame.negative;
  switch (r.distribution) {
    case Distribution::cancellation: {
      const int pair = (k & ~frame.stride) / 2;
      const bool paired = frame.stride != 0 && (frame.pairs >> (pair % 32) & 1) != 0;
      if (paired && (k & frame.stride) != 0) slot.source = static_cast<std::int16_t>(k ^ frame.stride);
      if (kFloating || r.d.floating)
        split(r, random, paired ? frame.high - random.between(0, 2) : frame.low - random.between(0, 4), slot);
      break;
    }
    case Distribution::tiny:
      split(r, random, frame.high + random.between(-12, 12), slot);
      break;
    case Distribution::huge:
      if (random.chance(30)) negative = !negative;
      if (kFloating || r.d.floating) split(r, random, frame.high + random.between(-6, 1), slot);
      break;
    case Distribution::sparse:
    case Distribution::edges: {
      if (!kFloating && !r.d.floating) {
        if (random.chance(20)) negative = !negative;
        break;
      }
      used = false;
      Sequence places(r, tile, kFrameBlocks - 4);  // the same for all slots
      for (int n = 0; n < frame.large + frame.small; ++n) {
        if ((frame.home ^ places.between(0, frame.reach)) % r.shape.k != k) continue;
        used = true;
        int exponent = 0;
        if (r.distribution == Distribution::sparse) {
          exponent = most(frame.low, frame.high - random.between(0, 44));
        } else {
          exponent = (n < frame.large ? frame.high : frame.low) - random.between(0, 2);
          negative = frame.negative != (n >= frame.large && random.chance(80));
        }
        split(r, random, clamped(exponent, lowest_product(r), highest_product(r)), slot);
      }
      break;
    }
    case Distribution::signed_zeros: {
      if (!kFloating && !r.d.floating) break;
      slot.a = {r.a.min_exponent(), r.a.max_exponent() - r.a.min_exponent()};
      slot.b = {r.b.min_exponent(), r.b.max_exponent() - r.b.min_exponent()};
      const bool opposites = frame.kind == 2 && (k == 0 || k == r.shape.k - 1);  // x − x
      if (opposites || (frame.kind == 3 && k == frame.home)) {
        used = true;
        split(r, random, frame.high, slot);
        if (opposites) slot.source = 0;
      }
      break;
    }
    default:
      break;
  }
  if (!used) {
    slot.a_zero = random.chance(50);
    slot.b_zero = !slot.a_zero || random.chance(r.distribution == Distribution::signed_zeros ? 10 : 100);
  }
  slot.a_negative = random.chance(50);
  slot.b_negative = slot.a_negative != negative;
  return slot;
}

// --- Elements.

TCNUM_HOST_DEVICE inline std::uint64_t floating(const Format& f, Draw draw, const Words& w, Range range,
                                                bool negative) {
  switch (draw) {
    case Draw::bits:
      return finite(f, (static_cast<std::uint64_t>(w.choice) << 32 | w.fraction) & f.code_mask());
    case Draw::gaussian:
      return gaussian(f, w);
    default:
      return number(f, w, range, negative);
  }
}

TCNUM_HOST_DEVICE inline std::uint64_t operand(const Recipe& r, const FrameDraw& f, const Slot& slot, Role role,
                                               const Words& w) {
  const bool is_a = role == Role::a;
  const Format& format = is_a ? r.a : r.b;
  const bool negative = f.frame.fixed_signs ? (is_a ? slot.a_negative : slot.b_negative) : w.negative();
  if (w.chance() < f.frame.operand_special) return special(format, w);
  if (is_a ? slot.a_zero : slot.b_zero) return signed_zero(format, negative);
  const Range range = is_a ? slot.a : slot.b;
  if (!format.floating) return integer(format, w, f.frame.draw, range, negative);
  return floating(format, f.frame.draw, w, range, negative);
}

/// The opposite of b's code, or of an integer as near to it as there is.
TCNUM_HOST_DEVICE inline std::uint64_t opposite(const Format& f, std::uint64_t code) {
  if (!f.floating) return f.has_sign ? integer_code(f, -integer_of(f, code)) : code;
  return decode(f, code).number_class == NumberClass::zero && f.non_finite == NonFinite::nan_negative_zero
             ? code
             : code ^ sign_bit(f);
}

/// The element whose random words place (line, k) of an operand has.
TCNUM_HOST_DEVICE inline std::uint32_t element_of(const Recipe& r, const Slot* slots, int line, int k) {
  return static_cast<std::uint32_t>(line * r.shape.k + slots[k].source);
}

/// The code of place (line, k), of a row of A or a column of B, given its element's words. `slots` are the tile's.
TCNUM_HOST_DEVICE inline std::uint64_t operand_code(const Recipe& r, const FrameDraw& f, const Slot* slots, Role role,
                                                    int k, const Words& w) {
  const int source = slots[k].source;
  std::uint64_t code = operand(r, f, slots[source], role, w);
  if (source != k && role == Role::b) {
    code = opposite(r.b, code);
    if (w.chance() < f.frame.flips) {
      code ^= std::uint64_t{1} << r.b.padding_bits;
      if (r.b.floating) code = finite(r.b, code);
    }
  }
  return code;
}
TCNUM_HOST_DEVICE inline std::uint64_t operand_code(const Recipe& r, std::uint64_t tile, const FrameDraw& f,
                                                    const Slot* slots, Role role, int line, int k) {
  const std::uint32_t element = element_of(r, slots, line, k);
  return operand_code(r, f, slots, role, k, words_of(random_block(r, tile, role, element / 2), element));
}

/// About −a·b, exactly where c can hold it.
TCNUM_HOST_DEVICE inline std::uint64_t opposite_product(const Recipe& r, std::uint64_t a, std::uint64_t b) {
  if (!r.d.floating) return integer_code(r.c, -integer_of(r.a, a) * integer_of(r.b, b));
  const Decoded x = decode(r.a, a), y = decode(r.b, b);
  const bool negative = x.negative == y.negative;
  if (!x.is_finite() || !y.is_finite() || x.significand == 0 || y.significand == 0) return signed_zero(r.c, negative);
  // 64 bits hold the product of at most 31 bits each.
  const int a_cut = most(0, r.a.fraction_bits - 30), b_cut = most(0, r.b.fraction_bits - 30);
  const std::uint64_t magnitude = (x.significand >> a_cut) * (y.significand >> b_cut);
  if (magnitude == 0) return signed_zero(r.c, negative);
  int leading = 62;
  while (magnitude >> leading == 0) --leading;
  const int lsb = x.exponent - r.a.fraction_bits + a_cut + y.exponent - r.b.fraction_bits + b_cut;
  const std::uint64_t fraction = (magnitude << (63 - leading) << 1) >> (64 - r.c.fraction_bits);
  return assemble<std::uint64_t>(r.c, negative, leading + lsb, fraction, 0);
}

/// Each c of a tile is one of so many: rows and columns meet anew anyway, and c would cost more than all else.
inline constexpr int kAccumulators = 512;
TCNUM_HOST_DEVICE constexpr int accumulator_at(int row, int column) {
  return static_cast<int>(static_cast<unsigned>(row * 37 + column) % kAccumulators);
}

/// One of the c's that a tile has, but for a frame with a cancelled slot.
TCNUM_HOST_DEVICE inline std::uint64_t accumulator_code(const Recipe& r, const FrameDraw& f, const Words& w) {
  const Frame& frame = f.frame;
  if (!r.c.floating) {
    if (r.distribution == Distribution::edges) {
      const auto inside = static_cast<std::int64_t>(w.mixed() & detail::low_mask(frame.reach));
      const bool at_lowest = frame.negative == (w.chance() < percent(85));
      return integer_code(r.c, at_lowest ? range_of(r.c).lowest + inside : range_of(r.c).highest - inside);
    }
    return w.chance() < frame.c_zero ? 0 : integer(r.c, w, frame.draw, frame.c, w.negative());
  }
  const bool all_negative = frame.fixed_signs && r.distribution == Distribution::signed_zeros;
  const bool negative = all_negative || w.negative();
  if (w.chance() < frame.c_special) return special(r.c, w);
  if (w.chance() < frame.c_zero) return signed_zero(r.c, negative);
  if (frame.c_largest) {
    return assemble<std::uint64_t>(r.c, negative, r.c.max_exponent(), detail::low_mask(r.c.fraction_bits),
                                   ~std::uint64_t{0});
  }
  return floating(r.c, frame.draw, w, frame.c, negative);
}

TCNUM_HOST_DEVICE inline std::uint64_t accumulator_code(const Recipe& r, std::uint64_t tile, const FrameDraw& f,
                                                        int which) {
  const auto element = static_cast<std::uint32_t>(which);
  return accumulator_code(r, f, words_of(random_block(r, tile, Role::c, element / 2), element));
}

/// The c of a frame with a cancelled slot.
TCNUM_HOST_DEVICE inline std::uint64_t cancelling_code(const Recipe& r, std::uint64_t tile, const FrameDraw& f,
                                                       const Slot* slots, int row, int column) {
  return opposite_product(r, operand_code(r, tile, f, slots, Role::a, row, f.frame.cancelled_slot),
                          operand_code(r, tile, f, slots, Role::b, column, f.frame.cancelled_slot));
}

// --- Sweeps.

/// Where a tile of a sweep begins: the first row and column of a matrix of all of them, and its layer, which is c's
/// code.
struct SweepTile {
  std::uint64_t row, column, layer;
};
TCNUM_HOST_DEVICE inline SweepTile sweep_tile(const Recipe& r, std::uint64_t tile) {
  const int row_bits = r.distribution == Distribution::product_pairs ? 2 * r.a.storage_bits : r.a.storage_bits;
  const std::uint64_t across = (std::uint64_t{1} << row_bits) / static_cast<std::uint64_t>(r.shape.n);
  const std::uint64_t down = (std::uint64_t{1} << row_bits) / static_cast<std::uint64_t>(r.shape.m);
  return {tile / across % down * static_cast<std::uint64_t>(r.shape.m),
          tile % across * static_cast<std::uint64_t>(r.shape.n), tile / across / down};
}

TCNUM_HOST_DEVICE inline std::uint64_t sweep_operand(const Recipe& r, std::uint64_t tile, Role role, int line, int k) {
  const SweepTile from = sweep_tile(r, tile);
  const std::uint64_t codes = (role == Role::a ? from.row : from.column) + static_cast<std::uint64_t>(line);
  const auto length = static_cast<std::uint64_t>(r.shape.k), place = static_cast<std::uint64_t>(k);
  const Format& f = role == Role::a ? r.a : r.b;
  if (place == r.seed % length) return codes & f.code_mask();
  if (r.distribution == Distribution::product_pairs && place == r.seed / length % length)
    return codes >> f.storage_bits;
  return 0;
}

TCNUM_HOST_DEVICE inline std::uint64_t sweep_accumulator(const Recipe& r, std::uint64_t tile) {
  if (r.distribution == Distribution::product_and_accumulator) return sweep_tile(r, tile).layer;
  if (r.distribution == Distribution::operand_pairs)
    return r.seed / static_cast<std::uint64_t>(r.shape.k) & r.c.code_mask();
  return 0;
}

// --- Digests.

/// x · factor, modulo 2^64. A GPU multiplies 32 bits and adds in one instruction; left alone, its compiler takes two.
TCNUM_HOST_DEVICE inline std::uint64_t product_of(std::uint64_t x, std::uint64_t factor) {
#ifdef __CUDA_ARCH__
  std::uint64_t product;
  asm("{\n"
      ".reg .u32 x_low, x_high, f_low, f_high, low, high;\n"
      ".reg .u64 lows;\n"
      "mov.b64 {x_low, x_high}, %1;\n"
      "mov.b64 {f_low, f_high}, %2;\n"
      "mul.wide.u32 lows, x_low, f_low;\n"
      "mov.b64 {low, high}, lows;\n"
      "mad.lo.u32 high, x_low, f_high, high;\n"
      "mad.lo.u32 high, x_high, f_low, high;\n"
      "mov.b64 %0, {low, high};\n"
      "}"
      : "=l"(product)
      : "l"(x), "l"(factor));
  return product;
#else
  return x * factor;
#endif
}

/// The hash of an index in the stream and the result there, for neighbouring indices.
struct IndexHash {
  static constexpr std::uint64_t kIndex = 0x9e3779b97f4a7c15u;
  std::uint64_t product;
  TCNUM_HOST_DEVICE explicit IndexHash(std::uint64_t index) : product(index * kIndex) {}

  TCNUM_HOST_DEVICE void advance(int by) { product += static_cast<std::uint64_t>(by) * kIndex; }
  /// Of the index so much further.
  TCNUM_HOST_DEVICE std::uint64_t with(int further, std::uint64_t code) const {
    std::uint64_t x = (product + static_cast<std::uint64_t>(further) * kIndex) ^ code;
    x = product_of(x, 0xff51afd7ed558ccdu);
    x ^= x >> 32;
    x = product_of(x, 0xc4ceb9fe1a85ec53u);
    return x ^ x >> 32;
  }
};
TCNUM_HOST_DEVICE inline std::uint64_t hash_of(std::uint64_t index, std::uint64_t code) {
  return IndexHash(index).with(0, code);
}

}  // namespace tcnum::stream
