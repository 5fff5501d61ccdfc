// Slots: what a tile's frame says of one product of all its problems.
#pragma once

#include "frame.hpp"

namespace tcnum::stream {

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
