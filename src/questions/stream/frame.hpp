// Frames: what makes the problems of a tile interesting, drawn once for all of them.
#pragma once

#include "recipe.hpp"

namespace tcnum::stream {

/// How elements are drawn.
enum class Draw : std::uint8_t {
  number,    ///< a number with an exponent (an integer: so many bits) of the slot's range
  bits,      ///< any finite code
  gaussian,  ///< about a normal distribution's (of integers: around the middle)
  end,       ///< integers: at an end of the format's range, or near it
  pattern,   ///< integers: alternating bits, all, one, none
};

/// Exponents from `low` to `low + span`; of integers, numbers of bits.
struct Range {
  int low = 0, span = 0;
};

/// What tiles of `signed_zeros` have beside products that are zeros of either sign.
enum class Beside : std::uint8_t {
  all_negative,  ///< nothing, but all zeros are negative
  nonzero_c,
  opposites,    ///< x and −x, in the first and the last slot
  one_product,  ///< in the home slot
  nothing,
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
  Beside beside = Beside::nothing;
};

/// Of a and of b, in slots that choose none for themselves.
struct Exponents {
  Range a, b;
};

/// A frame, and what its slots start from.
struct FrameDraw {
  Frame frame;
  Exponents exponents;
};

// --- How each distribution draws its frames. Chances are in percent of tiles, unless they say of what.

/// Of all operands within a few of each other, in the formats' ranges and, multiplied, in the result's.
TCNUM_HOST_DEVICE inline void draw_narrow(const Recipe& r, Sequence& random, FrameDraw& to) {
  constexpr int kMostSpread = 4, kFarthestCentre = 12;  // from 2^0
  constexpr int kAboveSmallest = 4, kBelowLargest = 8;  // the products' centre, in the result's range
  constexpr int kBelow = 2, kAbove = 4;                 // c goes so much further than the spread
  const int spread = random.between(0, kMostSpread);
  const auto centre = [&](const Format& f) {
    const int margin = least(spread + 1, (f.max_exponent() - f.min_exponent()) / 2);
    const int high = least(f.max_exponent() - margin, kFarthestCentre);
    return random.between(least(most(f.min_exponent() + margin, -kFarthestCentre), high), high);
  };
  const int ea = centre(r.a);
  const int product =
      clamped(ea + centre(r.b), r.d.min_exponent() + kAboveSmallest, r.d.max_exponent() - kBelowLargest);
  const int eb = clamped(product - ea, r.b.min_exponent(), r.b.max_exponent());
  to.exponents = {{ea - spread, 2 * spread}, {eb - spread, 2 * spread}};
  to.frame.c = {ea + eb - spread - kBelow, 2 * spread + kBelow + kAbove};
}

/// Anywhere in the formats, as far as the result's range allows: a product's exponent is at most twice the reach.
TCNUM_HOST_DEVICE inline void draw_wide(const Recipe& r, Sequence& random, FrameDraw& to) {
  constexpr int kLeastReach = 3, kMostReach = 60;  // to both sides of 2^0
  const int reach = random.between(kLeastReach, least(kMostReach, r.d.max_exponent() / 2 - 2));
  const auto range = [&](const Format& f) {
    const int low = most(f.min_exponent(), -reach), high = least(f.max_exponent(), reach);
    return Range{low, high - low};
  };
  to.frame.c = range(r.c);
  to.exponents = {range(r.a), range(r.b)};
}

/// Which slots repeat each other with the opposite sign: some pairs of those that are `stride` apart.
TCNUM_HOST_DEVICE inline void draw_pairs(const Recipe& r, Sequence& random, Frame& frame) {
  constexpr int kMany = 50;      // three of four pairs, not half of them
  constexpr int kFlipping = 30;  // in which pairs do not quite cancel, …
  constexpr int kFlipped = 25;   // … percent of the repeated b in the last bit
  int places = 0;
  while (2 << places <= r.shape.k) ++places;
  frame.stride = places == 0 ? 0 : 1 << random.between(0, places - 1);
  frame.pairs = random.word();
  if (random.chance(kMany)) frame.pairs |= random.word();
  frame.flips = random.chance(kFlipping) ? percent(kFlipped) : 0;
}

/// Large products that cancel, exactly or but for the last bit, over terms far below; c that cancels a product.
TCNUM_HOST_DEVICE inline void draw_cancellation(const Recipe& r, Sequence& random, FrameDraw& to) {
  constexpr int kHighestTop = 40, kBelowTop = 30;  // of the products that cancel
  constexpr int kTopBelowLargest = 6;              // room for carries, where the result must hold those products …
  constexpr int kBeyondRange = 50;                 // … and in so many it need not, as long as they cancel
  constexpr int kRestBelowLargest = 4, kMostDepth = 45;
  constexpr int kKinds = 10, kLargeC = 3,
                kCancellingC = 4;  // of ten: c as large as what remains; the opposite of a product
  Frame& frame = to.frame;
  int top = least(least(highest_product(r), r.d.max_exponent() - kTopBelowLargest), kHighestTop);
  if (random.chance(kBeyondRange)) top = least(highest_product(r), kHighestTop);
  frame.high = random.between(most(top - kBelowTop, r.a.min_exponent() + r.b.min_exponent()), top);
  const int left = least(frame.high, r.d.max_exponent() - kRestBelowLargest);
  frame.low = least(left, frame.high - random.between(0, kMostDepth));
  draw_pairs(r, random, frame);
  const int kind = random.between(0, kKinds - 1);
  frame.c = kind < kLargeC ? Range{left, 0} : Range{left - kMostDepth, kMostDepth};
  if (kind >= kKinds - kCancellingC) frame.cancelled_slot = random.between(0, r.shape.k - 1);
}

/// Around the smallest products or results, whichever are larger; subnormal operands included.
TCNUM_HOST_DEVICE inline void draw_tiny(const Recipe& r, Sequence& random, FrameDraw& to) {
  constexpr int kMostAboveProducts = 12, kMostBesideResults = 30;
  constexpr int kLeastUsed = 10;          // percent of slots
  constexpr int kKinds = 4, kSmallC = 1;  // of four, beside one in which c is zero: c about its smallest numbers
  constexpr int kZeroC = 5;               // percent of c in the others
  constexpr int kSmallCAbove = 3, kCBelow = 4, kCSpan = 16;
  Frame& frame = to.frame;
  const int near_products = lowest_product(r) + random.between(0, kMostAboveProducts),
            near_results = smallest_exponent(r.d) + random.between(-kMostBesideResults, kMostBesideResults);
  frame.high = most(near_products, near_results);
  frame.used = percent(random.between(kLeastUsed, 100));
  const int kind = random.between(0, kKinds - 1), c_lowest = smallest_exponent(r.c);
  frame.c_zero = kind == 0 ? kChances : percent(kZeroC);
  frame.c = kind == kSmallC ? Range{c_lowest, r.c.fraction_bits + kSmallCAbove}
                            : Range{most(frame.high, c_lowest) - kCBelow, kCSpan};
}

/// Around the largest results, often of one sign.
TCNUM_HOST_DEVICE inline void draw_huge(const Recipe& r, Sequence& random, FrameDraw& to) {
  constexpr int kUsed = 60;  // percent of slots
  constexpr int kOneSign = 50, kNegative = 50, kLargestC = 50;
  constexpr int kCBelowLargest = 6;
  Frame& frame = to.frame;
  frame.high = least(highest_product(r), r.d.max_exponent());
  frame.used = percent(kUsed);
  frame.fixed_signs = random.chance(kOneSign);
  frame.negative = random.chance(kNegative);
  frame.c_largest = random.chance(kLargestC);
  frame.c = {r.c.max_exponent() - kCBelowLargest, kCBelowLargest};
}

/// One to four products at related exponents, the rest zeros.
TCNUM_HOST_DEVICE inline void draw_sparse(const Recipe& r, Sequence& random, FrameDraw& to) {
  constexpr int kFarthest = 80;  // from 2^0
  constexpr int kMostTerms = 4, kCBelow = 44, kCAbove = 4, kZeroC = 30;
  Frame& frame = to.frame;
  frame.low = r.a.min_exponent() + r.b.min_exponent();
  frame.high = random.between(most(frame.low, -kFarthest), least(highest_product(r), kFarthest));
  frame.home = random.between(0, r.shape.k - 1);
  frame.reach = r.shape.k - 1;
  frame.small = random.between(1, kMostTerms);
  frame.c = {frame.high - kCBelow, kCBelow + kCAbove};
  frame.c_zero = random.chance(kZeroC) ? kChances : 0;
}

/// A few terms near the smallest result, and a few far below it, of the other sign.
TCNUM_HOST_DEVICE inline void draw_edges(const Recipe& r, Sequence& random, FrameDraw& to) {
  constexpr int kMostBelow = 3, kMostAbove = 4, kMostDepth = 60;
  constexpr int kMostReachBits = 5;  // terms must meet in one sum to show anything: mostly within a few slots
  constexpr int kMostLarge = 4, kMostSmall = 3, kNegative = 50;
  constexpr int kKinds = 10, kZeroC = 4, kSmallC = 3,
                kLargeC = 2;  // of ten; in the others c is about its smallest numbers
  constexpr int kSpan = 2, kSmallestCAbove = 8;
  Frame& frame = to.frame;
  frame.high = smallest_exponent(r.d) + random.between(-kMostBelow, kMostAbove);
  frame.low = frame.high - random.between(1, kMostDepth);
  frame.home = random.between(0, r.shape.k - 1);
  frame.reach = least(1 << random.between(0, kMostReachBits), r.shape.k - 1);
  frame.large = random.between(1, kMostLarge);
  frame.small = random.between(1, kMostSmall);
  frame.fixed_signs = true;
  frame.negative = random.chance(kNegative);
  const int kind = random.between(0, kKinds - 1);
  frame.c_zero = kind < kZeroC ? kChances : 0;
  frame.c = kind < kZeroC + kSmallC             ? Range{frame.low - kSpan, kSpan}
            : kind < kZeroC + kSmallC + kLargeC ? Range{frame.high - kSpan, kSpan}
                                                : Range{smallest_exponent(r.c), r.c.fraction_bits + kSmallestCAbove};
}

/// Zeros of both signs; in two of three tiles something beside them.
TCNUM_HOST_DEVICE inline void draw_signed_zeros(const Recipe& r, Sequence& random, FrameDraw& to) {
  constexpr int kKinds = 6;  // those of Beside, of which the last has two shares
  constexpr int kMostBelow = 20, kHighestC = 20;
  Frame& frame = to.frame;
  frame.beside = static_cast<Beside>(least(random.between(0, kKinds - 1), static_cast<int>(Beside::nothing)));
  frame.used = 0;
  frame.high = random.between(most(lowest_product(r), smallest_exponent(r.d) - kMostBelow),
                              least(highest_product(r), r.d.max_exponent() - 1));
  frame.home = random.between(0, r.shape.k - 1);
  frame.c_zero = frame.beside == Beside::nonzero_c ? 0 : kChances;
  frame.c = {smallest_exponent(r.c), kHighestC - smallest_exponent(r.c)};
  frame.fixed_signs = frame.negative = frame.beside == Beside::all_negative;
}

/// Infinities and NaNs of any payload, sprinkled into narrow problems.
TCNUM_HOST_DEVICE inline void draw_specials(const Recipe& r, Sequence& random, FrameDraw& to) {
  constexpr int kAllZeros = 30;                // otherwise: of them, infinities make NaNs
  constexpr std::uint32_t kElementsToOne = 3;  // a special one for so many slots
  constexpr int kSpecialC = 10;                // percent of c
  draw_narrow(r, random, to);
  if (random.chance(kAllZeros)) to.frame.used = 0;
  to.frame.operand_special = kChances / (kElementsToOne * static_cast<std::uint32_t>(r.shape.k)) + 1;
  to.frame.c_special = percent(kSpecialC);
}

/// Unless a distribution says otherwise.
TCNUM_HOST_DEVICE inline Draw usual_draw(Distribution distribution) {
  if (distribution == Distribution::gaussian) return Draw::gaussian;
  return distribution == Distribution::uniform_bits ? Draw::bits : Draw::number;
}

/// What the distributions are where the products are integers: exponents are numbers of bits.
TCNUM_HOST_DEVICE inline FrameDraw make_integer_frame(const Recipe& r, Sequence& random) {
  constexpr int kMostNarrowBits = 3, kNarrowCBits = 1, kNarrowCSpan = 8, kCancellationCSpan = 4;
  constexpr int kCancellingC = 40, kOneSign = 60, kNegative = 50, kAtEnds = 50, kSparseZeroC = 50, kMostSparse = 4;
  FrameDraw f;
  Frame& frame = f.frame;
  frame.draw = usual_draw(r.distribution);
  const Exponents any = {{0, r.a.fraction_bits}, {0, r.b.fraction_bits}};
  switch (r.distribution) {
    case Distribution::narrow: {
      const Range bits{random.between(1, kMostNarrowBits), 0};
      f.exponents = {bits, bits};
      frame.c = {kNarrowCBits, kNarrowCSpan};
      break;
    }
    case Distribution::wide:
      f.exponents = any;
      frame.c = {0, r.c.fraction_bits};
      break;
    case Distribution::cancellation:
      f.exponents = any;
      frame.c = {0, kCancellationCSpan};
      draw_pairs(r, random, frame);
      if (random.chance(kCancellingC)) frame.cancelled_slot = random.between(0, r.shape.k - 1);
      break;
    case Distribution::tiny:
      f.exponents = {{1, 0}, {1, 0}};
      frame.c = {1, 0};
      break;
    case Distribution::huge:
      frame.draw = Draw::end;
      frame.fixed_signs = random.chance(kOneSign);
      frame.negative = random.chance(kNegative);
      break;
    case Distribution::sparse:
      f.exponents = any;
      frame.c = {0, r.c.fraction_bits};
      frame.c_zero = random.chance(kSparseZeroC) ? kChances : 0;
      frame.used =
          kChances * static_cast<std::uint32_t>(random.between(1, kMostSparse)) / static_cast<std::uint32_t>(r.shape.k);
      break;
    case Distribution::edges: {  // the sum passes an end of c's range, or would
      frame.draw = random.chance(kAtEnds) ? Draw::end : Draw::number;
      f.exponents = any;
      frame.fixed_signs = random.chance(kOneSign);
      frame.negative = random.chance(kNegative);
      int bits = r.a.fraction_bits + r.b.fraction_bits;  // of the sum of all products
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
  f.frame.draw = usual_draw(r.distribution);
  switch (r.distribution) {
    case Distribution::narrow:
      draw_narrow(r, random, f);
      break;
    case Distribution::wide:
      draw_wide(r, random, f);
      break;
    case Distribution::cancellation:
      draw_cancellation(r, random, f);
      break;
    case Distribution::tiny:
      draw_tiny(r, random, f);
      break;
    case Distribution::huge:
      draw_huge(r, random, f);
      break;
    case Distribution::sparse:
      draw_sparse(r, random, f);
      break;
    case Distribution::edges:
      draw_edges(r, random, f);
      break;
    case Distribution::signed_zeros:
      draw_signed_zeros(r, random, f);
      break;
    case Distribution::specials:
      draw_specials(r, random, f);
      break;
    default:
      break;
  }
  return f;
}

// --- Slots: what a tile's frame says of one product of all its problems.

/// What a frame says of the operands in one slot.
struct SlotFrame {
  Range a, b;
  bool a_zero = false, b_zero = false;
  bool a_negative = false, b_negative = false;  ///< with fixed signs
  std::int16_t source = 0;                      ///< the slot that this one repeats, or itself
};

/// Exponents of a and b whose sum is that of a product, split at random.
TCNUM_HOST_DEVICE inline void split(const Recipe& r, Sequence& random, int exponent, SlotFrame& slot) {
  constexpr int kAnySplit = 20;  // percent in which both need not be normal
  const int a_low = smallest_exponent(r.a), b_low = smallest_exponent(r.b);
  int low = most(r.a.min_exponent(), exponent - r.b.max_exponent());
  int high = least(r.a.max_exponent(), exponent - r.b.min_exponent());
  if (low > high || random.chance(kAnySplit)) {
    low = most(a_low, exponent - r.b.max_exponent());
    high = least(r.a.max_exponent(), exponent - b_low);
  }
  const int ea = low <= high ? random.between(low, high) : (exponent < 0 ? a_low : r.a.max_exponent());
  slot.a = {ea, 0};
  slot.b = {exponent - ea, 0};
}

/// A slot while it is being drawn.
struct SlotDraw {
  Sequence random;
  SlotFrame slot;
  bool used;      ///< its product is not zero
  bool negative;  ///< with fixed signs
};

/// One of a pair that cancels, or below those.
template <bool kFloating>
TCNUM_HOST_DEVICE void draw_cancelling_slot(const Recipe& r, const Frame& frame, int k, SlotDraw& to) {
  constexpr int kAmongPairs = 2, kAmongRest = 4;
  const int pair = (k & ~frame.stride) / 2;
  const bool paired = frame.stride != 0 && (frame.pairs >> (pair % 32) & 1) != 0;
  if (paired && (k & frame.stride) != 0) to.slot.source = static_cast<std::int16_t>(k ^ frame.stride);
  if (!kFloating && !r.d.floating) return;
  const int exponent =
      paired ? frame.high - to.random.between(0, kAmongPairs) : frame.low - to.random.between(0, kAmongRest);
  split(r, to.random, exponent, to.slot);
}

/// One of few products, or a zero.
template <bool kFloating>
TCNUM_HOST_DEVICE void draw_sparse_slot(const Recipe& r, const Frame& frame, std::uint64_t tile, int k, SlotDraw& to) {
  constexpr int kTurnedInteger = 20;                    // percent whose sign is not the usual one
  constexpr int kMostDepth = 44, kAmongThemselves = 2;  // of sparse ones; of either size of edges
  constexpr int kOppositeSmall = 80;                    // percent of the small ones
  if (!kFloating && !r.d.floating) {
    if (to.random.chance(kTurnedInteger)) to.negative = !to.negative;
    return;
  }
  to.used = false;
  Sequence places(r, tile, kFirstPlaceBlock);
  for (int n = 0; n < frame.large + frame.small; ++n) {
    if ((frame.home ^ places.between(0, frame.reach)) % r.shape.k != k) continue;
    to.used = true;
    int exponent = 0;
    if (r.distribution == Distribution::sparse) {
      exponent = most(frame.low, frame.high - to.random.between(0, kMostDepth));
    } else {
      exponent = (n < frame.large ? frame.high : frame.low) - to.random.between(0, kAmongThemselves);
      to.negative = frame.negative != (n >= frame.large && to.random.chance(kOppositeSmall));
    }
    split(r, to.random, clamped(exponent, lowest_product(r), highest_product(r)), to.slot);
  }
}

/// A zero of any other operand, or what there is beside zeros.
TCNUM_HOST_DEVICE inline void draw_signed_zero_slot(const Recipe& r, const Frame& frame, int k, SlotDraw& to) {
  to.slot.a = {r.a.min_exponent(), r.a.max_exponent() - r.a.min_exponent()};
  to.slot.b = {r.b.min_exponent(), r.b.max_exponent() - r.b.min_exponent()};
  const bool opposite = frame.beside == Beside::opposites && (k == 0 || k == r.shape.k - 1);
  if (!opposite && (frame.beside != Beside::one_product || k != frame.home)) return;
  to.used = true;
  split(r, to.random, frame.high, to.slot);
  if (opposite) to.slot.source = 0;
}

template <bool kFloating = false>
TCNUM_HOST_DEVICE SlotFrame make_slot(const Recipe& r, std::uint64_t tile, const FrameDraw& f, int k) {
  constexpr int kBesideTiny = 12, kBelowHuge = 6, kAboveHuge = 1;
  constexpr int kTurnedHuge = 30;  // percent whose sign is not the usual one
  constexpr int kBothZero = 10;    // percent of zero products of signed_zeros whose a is zero
  const Frame& frame = f.frame;
  SlotDraw to{
      Sequence(r, tile, kFirstSlotBlock + static_cast<std::uint32_t>(k) * kBlocksOfASlot), {}, false, frame.negative};
  Sequence& random = to.random;
  SlotFrame& slot = to.slot;
  slot.source = static_cast<std::int16_t>(k);
  slot.a = f.exponents.a;
  slot.b = f.exponents.b;
  to.used = frame.used >= kChances || static_cast<std::uint32_t>(random.between(0, kChances - 1)) < frame.used;
  const bool floating = kFloating || r.d.floating;
  switch (r.distribution) {
    case Distribution::cancellation:
      draw_cancelling_slot<kFloating>(r, frame, k, to);
      break;
    case Distribution::tiny:
      split(r, random, frame.high + random.between(-kBesideTiny, kBesideTiny), slot);
      break;
    case Distribution::huge:
      if (random.chance(kTurnedHuge)) to.negative = !to.negative;
      if (floating) split(r, random, frame.high + random.between(-kBelowHuge, kAboveHuge), slot);
      break;
    case Distribution::sparse:
    case Distribution::edges:
      draw_sparse_slot<kFloating>(r, frame, tile, k, to);
      break;
    case Distribution::signed_zeros:
      if (floating) draw_signed_zero_slot(r, frame, k, to);
      break;
    default:
      break;
  }
  if (!to.used) {
    slot.a_zero = random.chance(50);
    slot.b_zero = !slot.a_zero || random.chance(r.distribution == Distribution::signed_zeros ? kBothZero : 100);
  }
  slot.a_negative = random.chance(50);
  slot.b_negative = slot.a_negative != to.negative;
  return slot;
}

}  // namespace tcnum::stream
