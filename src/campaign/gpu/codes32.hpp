// Codes of a stream whose formats have at most 32 bits: what src/questions/stream says that they are, in 32-bit
// arithmetic and without branches where most codes go. What is said of a Format32 comes again for an Integer32.
#pragma once

#include "emu/gpu/conversions.hpp"
#include "emu/rounding_steps.hpp"
#include "src/questions/stream/element.hpp"

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

/// A floating-point format of at most 32 bits whose zeros have signs, and what its codes are made with. Functions of
/// its codes are given the bytes of one, since those say what need not be asked.
struct Format32 {
  Format format{};
  std::uint32_t sign = 0, one = 0;  ///< bits of a code, and of a significand
  std::uint32_t limit = 0;          ///< codes without sign from this on are no numbers
  std::uint32_t last_of_exponent = 0, padding = 0;
  std::uint32_t largest = 0, infinite = 0, nan = 0;  ///< without sign: the largest number, and what stands for others
  std::uint32_t nan_payload = 0, nan_least = 0;      ///< bits of a NaN that are any, and what they are at least
  int sign_up = 0;                                   ///< from where random words have it
  int lowest = 0, span = 0;  ///< exponent of the smallest normal number, and how far above it the largest one's is

  Format32() = default;
  explicit Format32(const Format& f)
      : format(f),
        sign(1u << (f.storage_bits - 1)),
        one(1u << f.fraction_bits),
        limit(static_cast<std::uint32_t>(f.first_non_finite()) << f.padding_bits),
        last_of_exponent(one << f.padding_bits),
        padding((1u << f.padding_bits) - 1),
        sign_up(f.storage_bits - 1 - Words::kSignBit),
        lowest(f.min_exponent()),
        span(f.max_exponent() - f.min_exponent()) {
    largest = finite(sign - 1);
    infinite = f.has_infinity() ? limit : largest;
    nan = f.non_finite == NonFinite::none ? largest : limit;
    if (!f.has_infinity()) return;
    nan_least = last_bit();
    nan_payload = last_of_exponent - 1;
  }
  static constexpr bool suits(const Format& f) {
    return f.floating && f.has_sign && f.storage_bits <= 32 && f.non_finite != NonFinite::nan_negative_zero &&
           (f.padding_bits == 0 || f.storage_bytes() == kPaddedBytes) &&
           (f.storage_bytes() == kCappedBytes || f.non_finite == NonFinite::ieee);
  }

  /// As the functions of the same names for any format.
  TCNUM_HOST_DEVICE std::uint32_t finite(std::uint32_t code) const {
    return (code & ~sign) >= limit ? code & ~last_of_exponent : code;
  }
  /// The exponent is `above` the smallest normal number's.
  template <int kBytes>
  TCNUM_HOST_DEVICE std::uint32_t assemble(std::uint32_t sign_bits, int above, std::uint32_t fraction,
                                           std::uint32_t padding_bits) const {
    constexpr int kAll = 31;  // bits: a shift that leaves nothing
    const int within = least(above, span), below = clamped(-within, 0, kAll);
    // The significand's leading bit makes the exponent's field one larger, if the number is normal.
    const std::uint32_t units = (one | fraction) >> below;
    std::uint32_t magnitude = static_cast<std::uint32_t>(most(within, 0)) * one + units;
    if constexpr (kBytes == kPaddedBytes) {
      magnitude = magnitude << format.padding_bits | (magnitude == 0 ? 0 : padding_bits & padding);
    }
    return kBytes == kCappedBytes ? finite(sign_bits | magnitude) : sign_bits | magnitude;
  }
  /// Of a number.
  TCNUM_HOST_DEVICE std::uint32_t last_bit() const { return padding + 1; }
  /// The sign bit of a code, if random words or a slot say so.
  TCNUM_HOST_DEVICE std::uint32_t sign_if(bool negative) const { return negative ? sign : 0; }
  TCNUM_HOST_DEVICE std::uint32_t drawn_sign(const Words& w) const { return w.choice << sign_up & sign; }

 private:
  // What codes of so many bytes alone may have: bits that are not the number's; an exponent of which some are numbers.
  static constexpr int kPaddedBytes = 4, kCappedBytes = 1;
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

/// Exponents of a Range, from the format's smallest normal number's on. F, here and below: Format32 or Integer32.
struct Exponents32 {
  int above = 0;
  std::uint32_t count = 0;
};
template <class F>
TCNUM_HOST_DEVICE Exponents32 exponents32(const F& f, Range range) {
  return {range.low - f.lowest, static_cast<std::uint32_t>(range.span + 1)};
}
/// Of them one, as Words::exponent() draws it.
TCNUM_HOST_DEVICE inline int exponent32(const Words& w, Exponents32 of) {
  return of.above + static_cast<int>((w.choice >> 16) * of.count >> 16);
}

/// number(), for a sign bit.
template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t number32(const Format32& f, const Words& w, Exponents32 exponents, std::uint32_t sign) {
  const std::uint32_t mixed = Mixed(w).high, pattern = w.choice & 7;
  std::uint32_t fraction = mixed >> (32 - f.format.fraction_bits);
  if (pattern < 2) fraction = pattern;
  if (pattern == 2) fraction = f.one >> 1;
  if (pattern == 3) fraction = f.one - 1;
  return f.assemble<kBytes>(sign, exponent32(w, exponents), fraction, mixed);
}

template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t gaussian32(const Format32& f, const Words& w) {
  const auto half = [](std::uint32_t x) { return static_cast<int>(x & 0xffff) + static_cast<int>(x >> 16); };
  const int sum = half(w.fraction) + half(w.choice) - 2 * 0xffff;
  if (sum == 0) return f.drawn_sign(w);
  constexpr int kDeviation = 15;  // of the sum, as a power of two
  const auto magnitude = static_cast<std::uint32_t>(sum < 0 ? -sum : sum);
  const int exponent = bit_width(magnitude) - 1;
  const Mixed mixed(w);
  const std::uint32_t fraction =
      (magnitude << (31 - exponent) << 1 | mixed.high >> (exponent + 1)) >> (32 - f.format.fraction_bits);
  return f.assemble<kBytes>(f.sign_if(sum < 0), exponent - kDeviation - f.lowest, fraction, mixed.low);
}

/// special().
TCNUM_HOST_DEVICE inline std::uint32_t special32(const Format32& f, const Words& w) {
  constexpr std::uint32_t kInfinities = 3, kNans = 5, kZero = 5;  // of eight patterns
  const std::uint32_t pattern = w.choice & 7, payload = Mixed(w).low & f.nan_payload;
  std::uint32_t code = pattern < kNans ? f.nan | (payload < f.nan_least ? f.nan_least : payload) : f.largest;
  if (pattern < kInfinities) code = f.infinite;
  if (pattern == kZero) code = 0;
  return f.drawn_sign(w) | code;
}

/// floating().
template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t floating32(const Format32& f, Draw draw, const Words& w, Exponents32 exponents,
                                           std::uint32_t sign) {
  if (draw == Draw::number) return number32<kBytes>(f, w, exponents, sign);
  if (draw == Draw::gaussian) return gaussian32<kBytes>(f, w);
  return f.finite(w.fraction & (f.sign | (f.sign - 1)));
}

/// What a slot says of one operand, in the form that its elements want: a thread reads it at once.
struct alignas(16) SlotFrame32 {
  Exponents32 exponents;   ///< so far below all that numbers of them are zero, if the operand is one
  std::uint32_t sign = 0;  ///< bit to be turned: of frames with fixed signs, and of what repeats with the opposite one
  std::uint16_t source = 0;  ///< the slot whose random words it has, and whether that is another, repeated by b
  std::uint16_t row = 0;     ///< of B
  static constexpr int kZero = -(1 << 20);
  static constexpr std::uint16_t kRepeats = 1u << 15;

  TCNUM_HOST_DEVICE bool zero() const { return exponents.above == kZero; }
  TCNUM_HOST_DEVICE bool repeats() const { return (source & kRepeats) != 0; }
  TCNUM_HOST_DEVICE std::uint32_t element() const { return source & ~unsigned{kRepeats}; }
};
template <class F>
TCNUM_HOST_DEVICE SlotFrame32 slot_frame32(const F& f, const Frame& frame, const SlotFrame* slots, Purpose purpose,
                                           int k) {
  const std::int16_t source = slots[k].source;
  const SlotFrame& slot = slots[source];
  const bool is_a = purpose == Purpose::a, repeats = !is_a && source != k;
  SlotFrame32 all;
  all.exponents = exponents32(f, is_a ? slot.a : slot.b);
  if (is_a ? slot.a_zero : slot.b_zero) all.exponents.above = SlotFrame32::kZero;
  all.sign = f.sign_if((frame.fixed_signs && (is_a ? slot.a_negative : slot.b_negative)) != repeats);
  all.source = static_cast<std::uint16_t>(source | (repeats ? SlotFrame32::kRepeats : 0));
  return all;
}

/// Whether the codes of a frame's operands are all numbers of their own slots' exponents.
TCNUM_HOST_DEVICE inline bool has_plain_operands(const Frame& frame) {
  return frame.draw == Draw::number && frame.operand_special == 0 && frame.stride == 0 &&
         frame.beside != Beside::opposites;
}
/// operand_code(), of a frame that has plain operands. `signs` has the sign bit if elements draw theirs.
template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t plain_operand32(const Format32& f, std::uint32_t signs, const SlotFrame32& slot,
                                                const Words& w) {
  return number32<kBytes>(f, w, slot.exponents, (f.drawn_sign(w) & signs) ^ slot.sign);
}
/// operand_code().
template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t operand32(const Format32& f, const Frame& frame, std::uint32_t signs,
                                          const SlotFrame32& slot, const Words& w) {
  const std::uint32_t turned = f.sign_if(slot.repeats());
  const std::uint32_t sign = (f.drawn_sign(w) & signs) ^ slot.sign ^ turned;
  std::uint32_t code = slot.zero() ? sign : floating32<kBytes>(f, frame.draw, w, slot.exponents, sign);
  if (w.chance() < frame.operand_special) code = special32(f, w);
  code ^= turned;
  if (turned != 0 && w.chance() < frame.flips) code = f.finite(code ^ f.last_bit());
  return code;
}

/// Whether c is always a number of the frame's range, or zero.
TCNUM_HOST_DEVICE inline bool has_plain_accumulators(const Frame& frame) {
  return frame.draw == Draw::number && frame.c_special == 0 && !frame.c_largest;
}
/// accumulator_code(). kPlain: the frame has plain accumulators.
template <int kBytes, bool kPlain>
TCNUM_HOST_DEVICE std::uint32_t accumulator32(const Format32& f, const Frame& frame, Distribution distribution,
                                              const Words& w) {
  const bool all_negative = frame.fixed_signs && distribution == Distribution::signed_zeros;
  const std::uint32_t sign = all_negative ? f.sign : f.drawn_sign(w);
  const Exponents32 exponents = exponents32(f, frame.c);
  if constexpr (kPlain) {
    const std::uint32_t code = number32<kBytes>(f, w, exponents, sign);
    return w.chance() < frame.c_zero ? sign : code;
  }
  if (w.chance() < frame.c_special) return special32(f, w);
  if (w.chance() < frame.c_zero) return sign;
  if (frame.c_largest) return f.assemble<kBytes>(sign, f.span, f.one - 1, ~0u);
  return floating32<kBytes>(f, frame.draw, w, exponents, sign);
}

/// The number of a finite code, without its sign.
TCNUM_HOST_DEVICE inline double magnitude32(const Format32& f, std::uint32_t code) {
  const std::uint32_t magnitude = (code & ~f.sign) >> f.format.padding_bits;
  // The fields, where a double has its own, are the number divided by 2^(1023 − bias), even if it is subnormal.
  const std::uint64_t fields = static_cast<std::uint64_t>(magnitude) << (52 - f.format.fraction_bits);
  return gpu::double_of(fields) * gpu::power_of_two(gpu::kBias - f.format.bias);
}

/// opposite_product(), of so many bytes.
template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t opposite_product32(const Format32& fa, std::uint32_t a, const Format32& fb,
                                                   std::uint32_t b, const Format32& fc) {
  const std::uint32_t sign = fc.sign_if(((a & fa.sign) != 0) == ((b & fb.sign) != 0));
  const bool numbers = (a & ~fa.sign) < fa.limit && (b & ~fb.sign) < fb.limit;
  const double product = numbers ? magnitude32(fa, a) * magnitude32(fb, b) : 0;  // exact
  if (product == 0) return sign;
  const std::uint64_t bits = gpu::code_of(product);
  const auto fraction = static_cast<std::uint32_t>(bits >> (52 - fc.format.fraction_bits)) & (fc.one - 1);
  return fc.assemble<kBytes>(sign, static_cast<int>(bits >> 52) - gpu::kBias - fc.lowest, fraction, 0);
}

// --- Integers.

/// A format of integers of at most 8 bits, or of 32 with a sign. A sign bit here is whether they are negative.
struct Integer32 {
  Format format{};
  std::uint32_t mask = 0;                  ///< of a code
  std::int32_t smallest = 0, largest = 0;  ///< the smallest number and the largest
  int lowest = 0;                          ///< numbers of bits count from none on

  Integer32() = default;
  explicit Integer32(const Format& f)
      : format(f),
        mask(static_cast<std::uint32_t>(f.code_mask())),
        smallest(static_cast<std::int32_t>(range_of(f).lowest)),
        largest(static_cast<std::int32_t>(range_of(f).highest)) {}
  static constexpr bool suits(const Format& f) {
    return !f.floating && (f.storage_bits <= 8 || (f.storage_bits == 32 && f.has_sign));
  }

  TCNUM_HOST_DEVICE std::uint32_t sign_if(bool negative) const { return negative ? 1 : 0; }
  TCNUM_HOST_DEVICE std::uint32_t drawn_sign(const Words& w) const { return w.choice >> Words::kSignBit & 1; }
  TCNUM_HOST_DEVICE std::uint32_t code_of(std::int32_t x) const { return static_cast<std::uint32_t>(x) & mask; }
  /// Of a number of at most 8 bits.
  TCNUM_HOST_DEVICE std::int32_t number_of(std::uint32_t code) const {
    const auto sign = static_cast<std::uint32_t>(-smallest);  // its bit, if there is one
    return static_cast<std::int32_t>(code ^ sign) + smallest;
  }
};

/// integer(), in one copy: few codes are anything but numbers of so many bits.
TCNUM_HOST_DEVICE TCNUM_NOINLINE inline std::uint32_t any_integer32(const Format& f, Words w, Draw draw,
                                                                    Exponents32 bits, bool negative) {
  const Range range{bits.above, static_cast<int>(bits.count) - 1};
  return static_cast<std::uint32_t>(integer(f, w, draw, range, negative));
}
template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t integer32(const Integer32& f, Draw draw, const Words& w, Exponents32 range,
                                          std::uint32_t negative) {
  const Mixed mixed(w);
  const int bits = least(exponent32(w, range), f.format.fraction_bits);
  if (draw == Draw::number && bits >= 0) {
    const std::uint32_t magnitude = (mixed.high << 16 | mixed.low >> 16) & ((1u << bits) - 1);
    return (negative != 0 && f.format.has_sign ? 0 - magnitude : magnitude) & f.mask;
  }
  if (draw == Draw::bits) return mixed.high & f.mask;
  if (kBytes == 1 && draw == Draw::gaussian) {
    std::int32_t sum = 0;
    TCNUM_UNROLL for (int n = 0; n < 4; ++n) sum += f.number_of(mixed.low >> (8 * n) & f.mask);
    return f.code_of(sum / 4);
  }
  if (draw == Draw::end) {
    const std::int32_t inside = w.chance() < percent(kAtTheEnd) ? 0 : static_cast<std::int32_t>(w.fraction & 3);
    return f.code_of(negative != 0 ? least(f.smallest + inside, f.largest) : most(f.largest - inside, f.smallest));
  }
  return any_integer32(f.format, w, draw, range, negative != 0);
}

template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t plain_operand32(const Integer32& f, std::uint32_t signs, const SlotFrame32& slot,
                                                const Words& w) {
  if (slot.zero()) return 0;
  return integer32<kBytes>(f, Draw::number, w, slot.exponents, (f.drawn_sign(w) & signs) ^ slot.sign);
}
template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t operand32(const Integer32& f, const Frame& frame, std::uint32_t signs,
                                          const SlotFrame32& slot, const Words& w) {
  const std::uint32_t turned = f.sign_if(slot.repeats());
  const std::uint32_t negative = (f.drawn_sign(w) & signs) ^ slot.sign ^ turned;
  std::uint32_t code = slot.zero() ? 0 : integer32<kBytes>(f, frame.draw, w, slot.exponents, negative);
  if (turned == 0) return code;
  if (f.format.has_sign) code = f.code_of(least(-f.number_of(code), f.largest));
  return w.chance() < frame.flips ? code ^ 1 : code;
}

template <int kBytes, bool kPlain>
TCNUM_HOST_DEVICE std::uint32_t accumulator32(const Integer32& f, const Frame& frame, Distribution distribution,
                                              const Words& w) {
  if (distribution == Distribution::edges) {
    const std::uint32_t inside = Mixed(w).low & ((1u << frame.reach) - 1);  // products have fewer than 32 bits
    const bool at_lowest = frame.negative == (w.chance() < percent(kAtThatEnd));
    return at_lowest ? static_cast<std::uint32_t>(f.smallest) + inside : static_cast<std::uint32_t>(f.largest) - inside;
  }
  if (w.chance() < frame.c_zero) return 0;
  return integer32<kBytes>(f, kPlain ? Draw::number : frame.draw, w, exponents32(f, frame.c), f.drawn_sign(w));
}

template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t opposite_product32(const Integer32& fa, std::uint32_t a, const Integer32& fb,
                                                   std::uint32_t b, const Integer32& fc) {
  return fc.code_of(-fa.number_of(a) * fb.number_of(b));
}

}  // namespace tcnum::stream
