// The codes of a stream's elements, given the frame and the slots of their tile.
#pragma once

#include "number.hpp"
#include "slot.hpp"

namespace tcnum::stream {

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

TCNUM_HOST_DEVICE inline std::uint64_t operand(const Recipe& r, const FrameDraw& f, const SlotFrame& slot,
                                               Purpose purpose, const Words& w) {
  const bool is_a = purpose == Purpose::a;
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
TCNUM_HOST_DEVICE inline std::uint32_t element_of(const Recipe& r, const SlotFrame* slots, int line, int k) {
  return static_cast<std::uint32_t>(line * r.shape.k + slots[k].source);
}

/// The code of place (line, k), of a row of A or a column of B, given its element's words. `slots` are the tile's.
TCNUM_HOST_DEVICE inline std::uint64_t operand_code(const Recipe& r, const FrameDraw& f, const SlotFrame* slots,
                                                    Purpose purpose, int k, const Words& w) {
  const int source = slots[k].source;
  std::uint64_t code = operand(r, f, slots[source], purpose, w);
  if (source != k && purpose == Purpose::b) {
    code = opposite(r.b, code);
    if (w.chance() < f.frame.flips) {
      code ^= std::uint64_t{1} << r.b.padding_bits;
      if (r.b.floating) code = finite(r.b, code);
    }
  }
  return code;
}
TCNUM_HOST_DEVICE inline std::uint64_t operand_code(const Recipe& r, std::uint64_t tile, const FrameDraw& f,
                                                    const SlotFrame* slots, Purpose purpose, int line, int k) {
  const std::uint32_t element = element_of(r, slots, line, k);
  return operand_code(r, f, slots, purpose, k, words_of(random_block(r, tile, purpose, element / 2), element));
}

/// What block scales multiply a product by: significand · 2^lsb.
struct Factor {
  std::uint64_t significand = 1;  ///< of at most 8 bits
  int lsb = 0;
};

/// About −a·b, exactly where c can hold it.
TCNUM_HOST_DEVICE inline std::uint64_t opposite_product(const Recipe& r, std::uint64_t a, std::uint64_t b,
                                                        const Factor& scales = {}) {
  if (!r.d.floating) return integer_code(r.c, -integer_of(r.a, a) * integer_of(r.b, b));
  const Decoded x = decode(r.a, a), y = decode(r.b, b);
  const bool negative = x.negative == y.negative;
  if (!x.is_finite() || !y.is_finite() || x.significand == 0 || y.significand == 0) return signed_zero(r.c, negative);
  constexpr int kMostBits = 30, kMostScaledBits = 26;  // of fractions: 64 bits hold the product
  const int most_bits = scales.significand == 1 ? kMostBits : kMostScaledBits;
  const int a_cut = most(0, r.a.fraction_bits - most_bits), b_cut = most(0, r.b.fraction_bits - most_bits);
  const std::uint64_t magnitude = (x.significand >> a_cut) * (y.significand >> b_cut) * scales.significand;
  if (magnitude == 0) return signed_zero(r.c, negative);
  int leading = 62;
  while (magnitude >> leading == 0) --leading;
  const int lsb = x.exponent - r.a.fraction_bits + a_cut + y.exponent - r.b.fraction_bits + b_cut + scales.lsb;
  const std::uint64_t fraction = (magnitude << (63 - leading) << 1) >> (64 - r.c.fraction_bits);
  return assemble<std::uint64_t>(r.c, negative, leading + lsb, fraction, 0);
}

/// Each c of a tile is one of so many: rows and columns meet anew anyway, and c would cost more than all else.
inline constexpr int kAccumulators = 512;
inline constexpr int kAccumulatorRow = 37;  ///< each row begins so many further, so that columns have several too
TCNUM_HOST_DEVICE constexpr int accumulator_at(int row, int column) {
  return static_cast<int>(static_cast<unsigned>(row * kAccumulatorRow + column) % kAccumulators);
}

/// Percent of integer accumulators of `edges` that products of the usual sign lead beyond.
inline constexpr int kAtThatEnd = 85;

/// One of the c's that a tile has, but for a frame with a cancelled slot.
TCNUM_HOST_DEVICE inline std::uint64_t accumulator_code(const Recipe& r, const FrameDraw& f, const Words& w) {
  const Frame& frame = f.frame;
  if (!r.c.floating) {
    if (r.distribution == Distribution::edges) {
      const auto inside = static_cast<std::int64_t>(w.mixed() & detail::low_mask(frame.reach));
      const bool at_lowest = frame.negative == (w.chance() < percent(kAtThatEnd));
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
  return accumulator_code(r, f, words_of(random_block(r, tile, Purpose::c, element / 2), element));
}

/// The c of a frame with a cancelled slot.
TCNUM_HOST_DEVICE inline std::uint64_t cancelling_code(const Recipe& r, std::uint64_t tile, const FrameDraw& f,
                                                       const SlotFrame* slots, int row, int column,
                                                       const Factor& scales = {}) {
  return opposite_product(r, operand_code(r, tile, f, slots, Purpose::a, row, f.frame.cancelled_slot),
                          operand_code(r, tile, f, slots, Purpose::b, column, f.frame.cancelled_slot), scales);
}

}  // namespace tcnum::stream
