// Block scales of a stream's tiles. What they are around is drawn once for a tile, as a frame is; their last few units
// of exponents and their significands are drawn for each of them.
#pragma once

#include "element.hpp"

namespace tcnum::stream {

/// What the scales of a tile have in common.
struct ScaleFrame {
  Range a, b;                 ///< exponents
  bool any = false;           ///< any number of the format
  bool alike = false;         ///< all of a row have one scale, and all of a column
  std::uint32_t zero = 0;     ///< chance of a zero, where the format has one, …
  std::uint32_t special = 0;  ///< … and of a NaN, or an end of the format's range
};

/// Exponents of a scale format's numbers. (That of zero exponent bits is ue8m0's smallest, which has no subnormals.)
TCNUM_HOST_DEVICE inline int lowest_scale(const Format& f) {
  return f.fraction_bits == 0 ? -f.bias : smallest_exponent(f);
}

/// The exponent that the scales of a product have together in a tile, if their format goes so far: such that products
/// come where the distribution wants them.
TCNUM_HOST_DEVICE inline int draw_scale_centre(const Recipe& r, const Frame& frame, Sequence& random) {
  constexpr int kBeside = 12, kMostReach = 60, kBesideSmallest = 30;
  constexpr int kBelowHuge = 4, kAboveHuge = 2;
  switch (r.distribution) {
    case Distribution::tiny:
      return smallest_exponent(r.d) - frame.high + random.between(-kBesideSmallest, kBesideSmallest);
    case Distribution::huge:
      return r.d.max_exponent() - frame.high + random.between(-kBelowHuge, kAboveHuge);
    case Distribution::edges:  // the largest come from any products of the operands'
      return frame.high - random.between(lowest_product(r), highest_product(r));
    case Distribution::wide:
    case Distribution::sparse:
    case Distribution::signed_zeros: {
      const int reach = least(kMostReach, r.d.max_exponent() / 2);
      return random.between(-reach, reach);
    }
    default:
      return random.between(-kBeside, kBeside);
  }
}

/// Draws what the scales of a tile have in common. Moves those exponents of its frame that do not take them into
/// account: c's, or, where c is about the smallest results already, the products'.
TCNUM_HOST_DEVICE inline ScaleFrame make_scale_frame(const Recipe& r, const Format& scale, std::uint64_t tile,
                                                     Frame& frame) {
  constexpr int kUnspread = 30, kMostSpread = 4, kMostWideSpread = 20;
  constexpr int kApart = 16;  // the two scales' own exponents, about half of what they have together
  constexpr int kAlike = 50, kAlikeElsewhere = 10;
  constexpr int kWithZeros = 40, kZeros = 8, kSpecials = 6;
  constexpr int kCBelow = 4;
  Sequence random(r, tile, kFirstScaleBlock);
  ScaleFrame scales;
  scales.any = r.distribution == Distribution::uniform_bits;
  const int low = lowest_scale(scale), high = scale.max_exponent();
  const int together = draw_scale_centre(r, frame, random);
  const int a = clamped(together / 2 + random.between(-kApart, kApart), low, high);
  const int b = clamped(together - a, low, high);
  const bool edges = r.distribution == Distribution::edges;
  const bool wide = edges || r.distribution == Distribution::wide || r.distribution == Distribution::sparse;
  const int spread = random.chance(kUnspread) ? 0 : random.between(1, wide ? kMostWideSpread : kMostSpread);
  scales.a = {a - spread, 2 * spread};
  scales.b = {b - spread, 2 * spread};
  scales.alike = random.chance(r.distribution == Distribution::cancellation ? kAlike : kAlikeElsewhere);
  if (random.chance(kWithZeros)) scales.zero = percent(kZeros);
  if (r.distribution == Distribution::specials) scales.special = percent(kSpecials);
  if (edges) {
    frame.high -= a + b;
    frame.low -= a + b;
  } else if (r.distribution != Distribution::huge && r.distribution != Distribution::signed_zeros) {
    frame.c.low = most(frame.c.low + a + b, smallest_exponent(r.c) - kCBelow);
  }
  return scales;
}

/// A scale, given its element's words.
TCNUM_HOST_DEVICE inline std::uint64_t scale_code(const Format& f, const ScaleFrame& scales, Purpose purpose,
                                                  const Words& w) {
  const bool has_zero = f.fraction_bits != 0;
  const std::uint64_t nan = f.code_mask(), largest = nan - 1;
  if (w.chance() < scales.special) {
    switch (w.choice & 3) {
      case 0:
        return 0;  // or the smallest number
      case 1:
        return largest;
      default:
        return nan;
    }
  }
  if (scales.any) return least(static_cast<int>(w.fraction & nan), static_cast<int>(largest));
  if (has_zero && w.chance() < scales.special + scales.zero) return 0;
  const Range range = purpose == Purpose::a ? scales.a : scales.b;
  if (has_zero) {
    const FloatFormat<std::uint32_t> numbers(f);
    return number<0>(numbers, w, exponents_of(numbers, range), 0u);
  }
  const int exponent = clamped(range.low + w.exponent(range.span), -f.bias, f.max_exponent());
  return static_cast<std::uint64_t>(exponent + f.bias);
}

/// The scale of a block of a row of A, or of a column of B.
TCNUM_HOST_DEVICE inline std::uint64_t scale_code(const Recipe& r, const Format& f, std::uint64_t tile,
                                                  const ScaleFrame& scales, Purpose purpose, int line, int block,
                                                  int blocks) {
  const auto element = static_cast<std::uint32_t>(line * blocks + (scales.alike ? 0 : block));
  return scale_code(f, scales, purpose,
                    words_of(random_block(r, tile, purpose, kFirstScaleBlock + element / 2), element));
}

/// What the scales of a product multiply it by.
TCNUM_HOST_DEVICE inline Factor factor_of(const Format& f, std::uint64_t a, std::uint64_t b) {
  const Decoded x = decode(f, a), y = decode(f, b);
  if (!x.is_finite() || !y.is_finite()) return {0, 0};
  return {x.significand * y.significand, x.exponent + y.exponent - 2 * f.fraction_bits};
}

}  // namespace tcnum::stream
