// Codes of a stream whose formats have at most 32 bits: what src/campaign/stream says that they are, in 32-bit
// arithmetic and without branches where most codes go.
#pragma once

#include "emu/gpu/conversions.hpp"
#include "emu/rounding_steps.hpp"
#include "src/campaign/stream/element.hpp"

namespace tcnum::stream {

/// random_block() with the generator's keys of all rounds made once: half the work of Random123's form, which makes
/// them anew for each block.
class PhiloxKeys {
 public:
  PhiloxKeys() = default;
  explicit PhiloxKeys(const Recipe& r) : distribution_(r.distribution) {
    for (int round = 0; round < kRounds; ++round) {
      const auto n = static_cast<std::uint32_t>(round);
      key_[round][0] = static_cast<std::uint32_t>(r.seed) + n * PHILOX_W32_0;
      key_[round][1] = static_cast<std::uint32_t>(r.seed >> 32) + n * PHILOX_W32_1;
    }
  }
  TCNUM_HOST_DEVICE Block block(std::uint64_t tile, Purpose purpose, std::uint32_t index) const {
    std::uint32_t x[4] = {index, counter_word(distribution_, purpose), static_cast<std::uint32_t>(tile),
                          static_cast<std::uint32_t>(tile >> 32)};
    TCNUM_UNROLL for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t p = static_cast<std::uint64_t>(PHILOX_M4x32_0) * x[0];
      const std::uint64_t q = static_cast<std::uint64_t>(PHILOX_M4x32_1) * x[2];
      x[0] = static_cast<std::uint32_t>(q >> 32) ^ x[1] ^ key_[round][0];
      x[1] = static_cast<std::uint32_t>(q);
      x[2] = static_cast<std::uint32_t>(p >> 32) ^ x[3] ^ key_[round][1];
      x[3] = static_cast<std::uint32_t>(p);
    }
    return {{x[0], x[1], x[2], x[3]}};
  }

 private:
  static constexpr int kRounds = 10;
  Distribution distribution_{};
  std::uint32_t key_[kRounds][2] = {};
};

/// A floating-point format of at most 32 bits whose zeros have signs, and what its codes are made with.
struct Format32 {
  Format format{};
  std::uint32_t sign = 0, one = 0;  ///< bits of a code, and of a significand
  std::uint32_t limit = 0;          ///< codes without sign from this on are no numbers
  std::uint32_t last_of_exponent = 0, padding = 0;
  int lowest = 0, span = 0;  ///< exponent of the smallest normal number, and how far above it the largest one's is

  Format32() = default;
  explicit Format32(const Format& f)
      : format(f),
        sign(1u << (f.storage_bits - 1)),
        one(1u << f.fraction_bits),
        limit(static_cast<std::uint32_t>(f.first_non_finite()) << f.padding_bits),
        last_of_exponent(one << f.padding_bits),
        padding((1u << f.padding_bits) - 1),
        lowest(f.min_exponent()),
        span(f.max_exponent() - f.min_exponent()) {}
  static constexpr bool suits(const Format& f) {
    return f.floating && f.has_sign && f.storage_bits <= 32 && f.non_finite != NonFinite::nan_negative_zero;
  }

  /// As the functions of the same names for any format.
  TCNUM_HOST_DEVICE std::uint32_t finite(std::uint32_t code) const {
    return (code & ~sign) >= limit ? code & ~last_of_exponent : code;
  }
  TCNUM_HOST_DEVICE std::uint32_t assemble(std::uint32_t sign_bits, int exponent, std::uint32_t fraction,
                                           std::uint32_t padding_bits) const {
    const int above = least(exponent - lowest, span), below = clamped(-above, 0, 31);  // 31 bits leave nothing
    // The significand's leading bit makes the exponent's field one larger, if the number is normal.
    const std::uint32_t units = (one | fraction) >> below;
    const std::uint32_t magnitude = (static_cast<std::uint32_t>(most(above, 0)) << format.fraction_bits) + units;
    const std::uint32_t filled = magnitude << format.padding_bits | (magnitude == 0 ? 0 : padding_bits & padding);
    return finite(sign_bits | filled);
  }
  /// The sign bit of a code, if random words or a slot say so.
  TCNUM_HOST_DEVICE std::uint32_t sign_if(bool negative) const { return negative ? sign : 0; }
};

/// High and low words of Words::mixed().
struct Mixed {
  std::uint32_t high, low;
  TCNUM_HOST_DEVICE explicit Mixed(const Words& w) {
    const std::uint64_t all = w.mixed();
    high = static_cast<std::uint32_t>(all >> 32);
    low = static_cast<std::uint32_t>(all);
  }
};

TCNUM_HOST_DEVICE inline std::uint32_t number32(const Format32& f, const Words& w, Range range, std::uint32_t sign) {
  const std::uint32_t mixed = Mixed(w).high, pattern = w.choice & 7;
  std::uint32_t fraction = mixed >> (32 - f.format.fraction_bits);
  if (pattern < 2) fraction = pattern;
  if (pattern == 2) fraction = f.one >> 1;
  if (pattern == 3) fraction = f.one - 1;
  return f.assemble(sign, range.low + w.exponent(range.span), fraction, mixed);
}

TCNUM_HOST_DEVICE inline std::uint32_t gaussian32(const Format32& f, const Words& w) {
  const auto half = [](std::uint32_t x) { return static_cast<int>(x & 0xffff) + static_cast<int>(x >> 16); };
  const int sum = half(w.fraction) + half(w.choice) - 2 * 0xffff;
  if (sum == 0) return f.sign_if(w.negative());
  constexpr int kDeviation = 15;  // of the sum, as a power of two
  const auto magnitude = static_cast<std::uint32_t>(sum < 0 ? -sum : sum);
  const int exponent = bit_width(magnitude) - 1;
  const Mixed mixed(w);
  const std::uint32_t fraction =
      (magnitude << (31 - exponent) << 1 | mixed.high >> (exponent + 1)) >> (32 - f.format.fraction_bits);
  return f.assemble(f.sign_if(sum < 0), exponent - kDeviation, fraction, mixed.low);
}

/// special(), in one copy: few codes are.
TCNUM_HOST_DEVICE TCNUM_NOINLINE inline std::uint32_t special32(const Format& f, Words w) {
  return static_cast<std::uint32_t>(special(f, w));
}

/// floating().
TCNUM_HOST_DEVICE inline std::uint32_t floating32(const Format32& f, Draw draw, const Words& w, Range range,
                                                  std::uint32_t sign) {
  if (draw == Draw::number) return number32(f, w, range, sign);
  if (draw == Draw::gaussian) return gaussian32(f, w);
  return f.finite(w.fraction & (f.sign | (f.sign - 1)));
}

/// What a slot says of one operand, in the form that its elements want.
struct SlotFrame32 {
  Range range;
  std::uint32_t fixed_sign = 0;  ///< of frames with fixed signs
  std::uint32_t turned = 0;      ///< sign bit if it repeats another slot's with the opposite sign
  bool zero = false;
  std::int16_t source = 0;
};
TCNUM_HOST_DEVICE inline SlotFrame32 slot_frame32(const Format32& f, const SlotFrame* slots, Purpose purpose, int k) {
  const std::int16_t source = slots[k].source;
  const SlotFrame& slot = slots[source];
  const bool is_a = purpose == Purpose::a;
  return {is_a ? slot.a : slot.b, f.sign_if(is_a ? slot.a_negative : slot.b_negative), f.sign_if(!is_a && source != k),
          is_a ? slot.a_zero : slot.b_zero, source};
}

/// Whether the codes of a frame's operands are all numbers of their slots' ranges.
TCNUM_HOST_DEVICE inline bool has_plain_operands(const Frame& frame) {
  return frame.draw == Draw::number && frame.operand_special == 0 && frame.flips == 0;
}
/// operand_code(). kPlain: the frame has plain operands.
template <bool kPlain>
TCNUM_HOST_DEVICE std::uint32_t operand32(const Format32& f, const Frame& frame, const SlotFrame32& slot,
                                          const Words& w) {
  const std::uint32_t sign = frame.fixed_signs ? slot.fixed_sign : f.sign_if(w.negative());
  if constexpr (kPlain) {
    const std::uint32_t code = number32(f, w, slot.range, sign);
    return (slot.zero ? sign : code) ^ slot.turned;
  }
  std::uint32_t code = slot.zero ? sign : floating32(f, frame.draw, w, slot.range, sign);
  if (w.chance() < frame.operand_special) code = special32(f.format, w);
  code ^= slot.turned;
  if (slot.turned != 0 && w.chance() < frame.flips) code = f.finite(code ^ 1u << f.format.padding_bits);
  return code;
}

/// Whether c is always a number of the frame's range, or zero.
TCNUM_HOST_DEVICE inline bool has_plain_accumulators(const Frame& frame) {
  return frame.draw == Draw::number && frame.c_special == 0 && !frame.c_largest;
}
/// accumulator_code(). kPlain: the frame has plain accumulators.
template <bool kPlain>
TCNUM_HOST_DEVICE std::uint32_t accumulator32(const Format32& f, const Frame& frame, Distribution distribution,
                                              const Words& w) {
  const bool all_negative = frame.fixed_signs && distribution == Distribution::signed_zeros;
  const std::uint32_t sign = f.sign_if(all_negative || w.negative());
  if constexpr (kPlain) {
    const std::uint32_t code = number32(f, w, frame.c, sign);
    return w.chance() < frame.c_zero ? sign : code;
  }
  if (w.chance() < frame.c_special) return special32(f.format, w);
  if (w.chance() < frame.c_zero) return sign;
  if (frame.c_largest) return f.assemble(sign, f.lowest + f.span, f.one - 1, ~0u);
  return floating32(f, frame.draw, w, frame.c, sign);
}

/// The number of a finite code, without its sign.
TCNUM_HOST_DEVICE inline double magnitude32(const Format32& f, std::uint32_t code) {
  const std::uint32_t magnitude = (code & ~f.sign) >> f.format.padding_bits;
  // The fields, where a double has its own, are the number divided by 2^(1023 − bias), even if it is subnormal.
  const std::uint64_t fields = static_cast<std::uint64_t>(magnitude) << (52 - f.format.fraction_bits);
  return gpu::double_of(fields) * gpu::power_of_two(gpu::kBias - f.format.bias);
}

/// opposite_product().
TCNUM_HOST_DEVICE inline std::uint32_t opposite_product32(const Format32& fa, std::uint32_t a, const Format32& fb,
                                                          std::uint32_t b, const Format32& fc) {
  const std::uint32_t sign = fc.sign_if(((a & fa.sign) != 0) == ((b & fb.sign) != 0));
  const bool numbers = (a & ~fa.sign) < fa.limit && (b & ~fb.sign) < fb.limit;
  const double product = numbers ? magnitude32(fa, a) * magnitude32(fb, b) : 0;  // exact
  if (product == 0) return sign;
  const std::uint64_t bits = gpu::code_of(product);
  const auto fraction = static_cast<std::uint32_t>(bits >> (52 - fc.format.fraction_bits)) & (fc.one - 1);
  return fc.assemble(sign, static_cast<int>(bits >> 52) - gpu::kBias, fraction, 0);
}

}  // namespace tcnum::stream
