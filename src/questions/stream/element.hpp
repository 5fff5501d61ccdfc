// The codes of a stream's elements, given the frame and the slots of their tile, in words that hold them: without
// branches where most codes go. U: a word. F: FloatFormat or IntegerFormat, of which the same is said. kBytes: of a
// code, which say what need not be asked; 0: nobody knows.
#pragma once

#include "emu/bit_width.hpp"
#include "emu/integers.hpp"
#include "frame.hpp"

namespace tcnum::stream {

/// The bits of Words::mixed() that fractions take, and those that all else does.
template <class U>
struct Mixed {
  U high, low;
  TCNUM_HOST_DEVICE explicit Mixed(const Words& w) {
    const std::uint64_t all = w.mixed();
    high = static_cast<U>(all >> (64 - 8 * sizeof(U)));
    low = static_cast<U>(all);
  }
};

/// DrawnExponents of a Range, from the format's smallest normal number's on; of integers, numbers of bits.
struct DrawnExponents {
  int above = 0;
  std::uint32_t count = 0;
  /// Of them one, as Words::exponent() draws it.
  TCNUM_HOST_DEVICE int drawn(const Words& w) const { return above + static_cast<int>((w.choice >> 16) * count >> 16); }
};
template <class F>
TCNUM_HOST_DEVICE DrawnExponents exponents_of(const F& f, Range range) {
  return {range.low - f.lowest, static_cast<std::uint32_t>(range.span + 1)};
}

/// A floating-point format, and what its codes are made with.
template <class U>
struct FloatFormat {
  using Word = U;
  static constexpr int kBits = 8 * sizeof(U);
  // What codes of so many bytes alone may have: bits that are not the number's; an exponent of which some are numbers.
  static constexpr int kPaddedBytes = 4, kCappedBytes = 1;

  Format format{};
  U sign = 0, one = 0;  ///< bits of a code, and of a significand
  U limit = 0;          ///< codes without sign from this on are no numbers
  U last_of_exponent = 0, padding = 0;
  U largest = 0, infinite = 0, nan = 0;  ///< without sign: the largest number, and what stands for others
  U nan_payload = 0, nan_least = 0;      ///< bits of a NaN that are any, and what they are at least
  U zero_sign = 0;                       ///< that a zero may have
  int sign_up = 0;                       ///< from where random words have it
  int lowest = 0, span = 0;  ///< exponent of the smallest normal number, and how far above it the largest one's is

  FloatFormat() = default;
  explicit FloatFormat(const Format& f)
      : format(f),
        sign(f.has_sign ? U{1} << (f.storage_bits - 1) : 0),
        one(U{1} << f.fraction_bits),
        limit(static_cast<U>(f.first_non_finite()) << f.padding_bits),
        last_of_exponent(one << f.padding_bits),
        padding((U{1} << f.padding_bits) - 1),
        zero_sign(f.non_finite == NonFinite::nan_negative_zero ? 0 : sign),
        sign_up(f.has_sign ? f.storage_bits - 1 - Words::kSignBit : 0),
        lowest(f.min_exponent()),
        span(f.max_exponent() - f.min_exponent()) {
    largest = finite(magnitudes());
    infinite = f.has_infinity() ? limit : largest;
    nan = f.non_finite == NonFinite::nan_all_ones || f.has_infinity() ? limit : largest;
    if (!f.has_infinity()) return;
    nan_least = last_bit();
    nan_payload = last_of_exponent - 1;
  }

  /// Whether GPUs may leave out what no such code needs.
  static constexpr bool suits(const Format& f) {
    return f.floating && f.has_sign && f.storage_bits <= kBits && f.non_finite != NonFinite::nan_negative_zero &&
           (f.padding_bits == 0 || f.storage_bytes() == kPaddedBytes) &&
           (f.storage_bytes() == kCappedBytes || f.non_finite == NonFinite::ieee);
  }
  TCNUM_HOST_DEVICE U magnitudes() const {
    return static_cast<U>(detail::low_mask(format.exponent_bits + format.fraction_bits + format.padding_bits));
  }
  /// The code, or a finite one beside it.
  TCNUM_HOST_DEVICE U finite(U code) const { return (code & ~sign) >= limit ? code & ~last_of_exponent : code; }
  /// A zero with that sign, if there is one.
  template <int kBytes>
  TCNUM_HOST_DEVICE U zero(U sign_bits) const {
    return kBytes == 0 ? sign_bits & zero_sign : sign_bits;
  }
  /// ±(1 + fraction · 2^-fraction_bits) · 2^(lowest + above), cut where it is subnormal; bits that the format has not
  /// are padding_bits'.
  template <int kBytes>
  TCNUM_HOST_DEVICE U assemble(U sign_bits, int above, U fraction, U padding_bits) const {
    const int within = least(above, span), below = clamped(-within, 0, kBits - 1);
    // The significand's leading bit makes the exponent's field one larger, if the number is normal.
    const U units = (one | fraction) >> below;
    U magnitude = static_cast<U>(most(within, 0)) * one + units;
    if constexpr (kBytes == kPaddedBytes || kBytes == 0)
      magnitude = magnitude << format.padding_bits | (magnitude == 0 ? 0 : padding_bits & padding);
    if constexpr (kBytes == 0) {
      if (magnitude == 0) return zero<0>(sign_bits);
    }
    return kBytes == kCappedBytes || kBytes == 0 ? finite(sign_bits | magnitude) : sign_bits | magnitude;
  }
  /// Of a number.
  TCNUM_HOST_DEVICE U last_bit() const { return padding + 1; }
  /// The sign bit of a code, if random words or a slot say so.
  TCNUM_HOST_DEVICE U sign_if(bool negative) const { return negative ? sign : 0; }
  TCNUM_HOST_DEVICE U drawn_sign(const Words& w) const { return static_cast<U>(w.choice) << sign_up & sign; }
};

/// A number of those exponents; its significand is often one that matters.
template <int kBytes, class U>
TCNUM_HOST_DEVICE U number(const FloatFormat<U>& f, const Words& w, DrawnExponents exponents, U sign) {
  const U mixed = Mixed<U>(w).high;
  const std::uint32_t pattern = w.choice & 7;
  U fraction = mixed >> (f.kBits - f.format.fraction_bits);
  if (pattern < 2) fraction = pattern;
  if (pattern == 2) fraction = f.one >> 1;
  if (pattern == 3) fraction = f.one - 1;
  return f.template assemble<kBytes>(sign, exponents.drawn(w), fraction, mixed);
}

/// Sums of four uniform numbers: near enough to a normal distribution of deviation 1.
template <int kBytes, class U>
TCNUM_HOST_DEVICE U gaussian(const FloatFormat<U>& f, const Words& w) {
  const auto half = [](std::uint32_t x) { return static_cast<int>(x & 0xffff) + static_cast<int>(x >> 16); };
  const int sum = half(w.fraction) + half(w.choice) - 2 * 0xffff;
  if (sum == 0) return f.template zero<kBytes>(f.drawn_sign(w));
  constexpr int kDeviation = 15;  // of the sum, as a power of two
  const auto magnitude = static_cast<std::uint32_t>(sum < 0 ? -sum : sum);
  const int exponent = bit_width(magnitude) - 1;
  const Mixed<U> mixed(w);
  // Bits below the sum's are random ones.
  const U fraction = (U{magnitude} << (f.kBits - 1 - exponent) << 1 | mixed.high >> (exponent + 1)) >>
                     (f.kBits - f.format.fraction_bits);
  return f.template assemble<kBytes>(f.sign_if(sum < 0), exponent - kDeviation - f.lowest, fraction, mixed.low);
}

/// An infinity, any NaN (quiet or signalling, of any payload), a zero, or the largest number.
template <int kBytes, class U>
TCNUM_HOST_DEVICE U special(const FloatFormat<U>& f, const Words& w) {
  constexpr std::uint32_t kInfinities = 3, kNans = 5, kZero = 5;  // of eight patterns
  const std::uint32_t pattern = w.choice & 7;
  const U payload = Mixed<U>(w).low & f.nan_payload, sign = f.drawn_sign(w);
  U code = pattern < kNans ? f.nan | (payload < f.nan_least ? f.nan_least : payload) : f.largest;
  if (pattern < kInfinities) code = f.infinite;
  if (kBytes == 0 && f.zero_sign != f.sign && pattern >= kInfinities && pattern < kNans) return f.sign;
  return pattern == kZero ? f.template zero<kBytes>(sign) : sign | code;
}

template <int kBytes, class U>
TCNUM_HOST_DEVICE U floating(const FloatFormat<U>& f, Draw draw, const Words& w, DrawnExponents exponents, U sign) {
  if (draw == Draw::number) return number<kBytes>(f, w, exponents, sign);
  if (draw == Draw::gaussian) return gaussian<kBytes>(f, w);
  U bits = w.fraction;
  if constexpr (sizeof(U) == 8) bits |= U{w.choice} << 32;
  const U code = f.finite(bits & (f.sign | f.magnitudes()));
  return kBytes == 0 && (code & ~f.sign) == 0 ? f.template zero<0>(code) : code;
}

/// What a slot says of one operand, in the form that its elements want: a thread reads it at once.
template <class U>
struct alignas(16) SlotCodes {
  DrawnExponents exponents;  ///< so far below all that numbers of them are zero, if the operand is one
  U sign = 0;  ///< bit to be turned: of frames with fixed signs, and of what repeats with the opposite one
  std::uint16_t source = 0;  ///< the slot whose random words it has, and whether that is another, repeated by b
  std::uint16_t row = 0;     ///< of B

  static constexpr int kZero = -(1 << 20);
  static constexpr std::uint16_t kRepeats = 1u << 15;
  TCNUM_HOST_DEVICE bool zero() const { return exponents.above == kZero; }
  TCNUM_HOST_DEVICE bool repeats() const { return (source & kRepeats) != 0; }
  TCNUM_HOST_DEVICE std::uint32_t element() const { return source & ~unsigned{kRepeats}; }
};
template <class F>
TCNUM_HOST_DEVICE SlotCodes<typename F::Word> slot_codes(const F& f, const Frame& frame, const SlotFrame* slots,
                                                         Purpose purpose, int k) {
  const std::int16_t source = slots[k].source;
  const SlotFrame& slot = slots[source];
  const bool is_a = purpose == Purpose::a, repeats = !is_a && source != k;
  SlotCodes<typename F::Word> all;
  all.exponents = exponents_of(f, is_a ? slot.a : slot.b);
  if (is_a ? slot.a_zero : slot.b_zero) all.exponents.above = all.kZero;
  all.sign = f.sign_if((frame.fixed_signs && (is_a ? slot.a_negative : slot.b_negative)) != repeats);
  all.source = static_cast<std::uint16_t>(source | (repeats ? all.kRepeats : 0));
  return all;
}

/// Whether the codes of a frame's operands are all numbers of their own slots' exponents.
TCNUM_HOST_DEVICE inline bool has_plain_operands(const Frame& frame) {
  return frame.draw == Draw::number && frame.operand_special == 0 && frame.stride == 0 &&
         frame.beside != Beside::opposites;
}
/// The code of a place of a row of A, or of a column of B, given its element's words, of a frame that has plain
/// operands. `signs` has the sign bit if elements draw theirs.
template <int kBytes, class U>
TCNUM_HOST_DEVICE U plain_operand(const FloatFormat<U>& f, U signs, const SlotCodes<U>& slot, const Words& w) {
  return number<kBytes>(f, w, slot.exponents, (f.drawn_sign(w) & signs) ^ slot.sign);
}
/// The same of any frame.
template <int kBytes, class U>
TCNUM_HOST_DEVICE U operand(const FloatFormat<U>& f, const Frame& frame, U signs, const SlotCodes<U>& slot,
                            const Words& w) {
  const U turned = f.sign_if(slot.repeats());
  const U sign = (f.drawn_sign(w) & signs) ^ slot.sign ^ turned;
  U code = slot.zero() ? f.template zero<kBytes>(sign) : floating<kBytes>(f, frame.draw, w, slot.exponents, sign);
  if (w.chance() < frame.operand_special) code = special<kBytes>(f, w);
  if (kBytes != 0 || (code & ~f.sign) != 0 || f.zero_sign == f.sign) code ^= turned;
  if (turned != 0 && w.chance() < frame.flips) code = f.finite(code ^ f.last_bit());
  return code;
}

/// Whether c is always a number of the frame's range, or zero.
TCNUM_HOST_DEVICE inline bool has_plain_accumulators(const Frame& frame) {
  return frame.draw == Draw::number && frame.c_special == 0 && !frame.c_largest;
}
/// One of the c's that a tile has, but for a frame with a cancelled slot. kPlain: the frame has plain accumulators.
template <int kBytes, bool kPlain, class U>
TCNUM_HOST_DEVICE U accumulator(const FloatFormat<U>& f, const Frame& frame, Distribution distribution,
                                const Words& w) {
  const bool all_negative = frame.fixed_signs && distribution == Distribution::signed_zeros;
  const U sign = all_negative ? f.sign : f.drawn_sign(w);
  const DrawnExponents exponents = exponents_of(f, frame.c);
  if constexpr (kPlain) {
    const U code = number<kBytes>(f, w, exponents, sign);
    return w.chance() < frame.c_zero ? f.template zero<kBytes>(sign) : code;
  }
  if (w.chance() < frame.c_special) return special<kBytes>(f, w);
  if (w.chance() < frame.c_zero) return f.template zero<kBytes>(sign);
  if (frame.c_largest) return f.template assemble<kBytes>(sign, f.span, f.one - 1, ~U{0});
  return floating<kBytes>(f, frame.draw, w, exponents, sign);
}

// --- Integers.

/// A format of integers of at most 8 bits, or of 32 with a sign. A sign bit here is whether they are negative.
struct IntegerFormat {
  using Word = std::uint32_t;
  Format format{};
  std::uint32_t mask = 0;                  ///< of a code
  std::int32_t smallest = 0, largest = 0;  ///< the smallest number and the largest
  int lowest = 0;                          ///< numbers of bits count from none on

  IntegerFormat() = default;
  explicit IntegerFormat(const Format& f)
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

/// What few integers are, in one copy: a pattern of bits, about the middle of 32 bits, or any number, cut to the range.
TCNUM_HOST_DEVICE TCNUM_NOINLINE inline std::uint32_t rare_integer(const IntegerFormat& f, Words w, Draw draw,
                                                                   bool negative) {
  const std::uint64_t mixed = w.mixed();
  if (draw == Draw::pattern) {
    constexpr std::uint32_t kEvenBits = 0x5555'5555;
    constexpr unsigned kCount = 5;  // and the two ends of the range
    constexpr std::uint32_t kPatterns[kCount] = {0, 1, kEvenBits, kEvenBits << 1, ~0u};
    const unsigned which = w.fraction % (kCount + 2);
    return which < kCount ? kPatterns[which] & f.mask : f.code_of(which == kCount ? f.smallest : f.largest);
  }
  auto x = static_cast<std::int64_t>(mixed >> 16);
  if (negative && f.format.has_sign) x = -x;
  if (draw == Draw::gaussian) {
    x = 0;
    for (int n = 0; n < 4; ++n) x += integer_of(f.format, mixed >> (n * 8) & f.mask);
    x /= 4;
  }
  return f.code_of(static_cast<std::int32_t>(x < f.smallest ? f.smallest : x > f.largest ? f.largest : x));
}

inline constexpr int kAtTheEnd = 60;  ///< percent of those drawn there; the others are up to 3 inside
template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t integer(const IntegerFormat& f, Draw draw, const Words& w, DrawnExponents range,
                                        std::uint32_t negative) {
  const Mixed<std::uint32_t> mixed(w);
  const int bits = least(range.drawn(w), f.format.fraction_bits);
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
  return rare_integer(f, w, draw, negative != 0);
}

template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t plain_operand(const IntegerFormat& f, std::uint32_t signs,
                                              const SlotCodes<std::uint32_t>& slot, const Words& w) {
  if (slot.zero()) return 0;
  return integer<kBytes>(f, Draw::number, w, slot.exponents, (f.drawn_sign(w) & signs) ^ slot.sign);
}
template <int kBytes>
TCNUM_HOST_DEVICE std::uint32_t operand(const IntegerFormat& f, const Frame& frame, std::uint32_t signs,
                                        const SlotCodes<std::uint32_t>& slot, const Words& w) {
  const std::uint32_t turned = f.sign_if(slot.repeats());
  const std::uint32_t negative = (f.drawn_sign(w) & signs) ^ slot.sign ^ turned;
  std::uint32_t code = slot.zero() ? 0 : integer<kBytes>(f, frame.draw, w, slot.exponents, negative);
  if (turned == 0) return code;
  if (f.format.has_sign) code = f.code_of(least(-f.number_of(code), f.largest));
  return w.chance() < frame.flips ? code ^ 1 : code;
}

/// Percent of integer accumulators of `edges` that products of the usual sign lead beyond.
inline constexpr int kAtThatEnd = 85;
template <int kBytes, bool kPlain>
TCNUM_HOST_DEVICE std::uint32_t accumulator(const IntegerFormat& f, const Frame& frame, Distribution distribution,
                                            const Words& w) {
  if (distribution == Distribution::edges) {
    const std::uint32_t inside = Mixed<std::uint32_t>(w).low & ((1u << frame.reach) - 1);  // products have fewer bits
    const bool at_lowest = frame.negative == (w.chance() < percent(kAtThatEnd));
    return at_lowest ? static_cast<std::uint32_t>(f.smallest) + inside : static_cast<std::uint32_t>(f.largest) - inside;
  }
  if (w.chance() < frame.c_zero) return 0;
  return integer<kBytes>(f, kPlain ? Draw::number : frame.draw, w, exponents_of(f, frame.c), f.drawn_sign(w));
}

// --- What c is where it cancels the products of a slot.

/// What block scales multiply a product by: significand · 2^lsb.
struct Factor {
  std::uint64_t significand = 1;  ///< of at most 8 bits
  int lsb = 0;
};

/// About −a·b, exactly where c can hold it. Few codes are this: GPUs have it in one copy.
template <class U>
TCNUM_HOST_DEVICE TCNUM_NOINLINE U opposite_product(const FloatFormat<U>& fa, std::uint64_t a, const FloatFormat<U>& fb,
                                                    std::uint64_t b, const FloatFormat<U>& fc,
                                                    const Factor& scales = {}) {
  const Decoded x = decode(fa.format, a), y = decode(fb.format, b);
  const U sign = fc.sign_if(x.negative == y.negative);
  if (!x.is_finite() || !y.is_finite()) return fc.template zero<0>(sign);
  constexpr int kMostBits = 30, kMostScaledBits = 26;  // of fractions: 64 bits hold the product
  const int most_bits = scales.significand == 1 ? kMostBits : kMostScaledBits;
  const int a_cut = most(0, fa.format.fraction_bits - most_bits), b_cut = most(0, fb.format.fraction_bits - most_bits);
  const std::uint64_t magnitude = (x.significand >> a_cut) * (y.significand >> b_cut) * scales.significand;
  if (magnitude == 0) return fc.template zero<0>(sign);
  const int leading = bit_width(magnitude) - 1;
  const int lsb =
      x.exponent - fa.format.fraction_bits + a_cut + y.exponent - fb.format.fraction_bits + b_cut + scales.lsb;
  const auto fraction = static_cast<U>((magnitude << (63 - leading) << 1) >> (64 - fc.format.fraction_bits));
  return fc.template assemble<0>(sign, leading + lsb - fc.lowest, fraction, 0);
}
TCNUM_HOST_DEVICE inline std::uint32_t opposite_product(const IntegerFormat& fa, std::uint64_t a,
                                                        const IntegerFormat& fb, std::uint64_t b,
                                                        const IntegerFormat& fc, const Factor& = {}) {
  const auto number = [](const IntegerFormat& f, std::uint64_t code) {
    return f.number_of(static_cast<std::uint32_t>(code));
  };
  return fc.code_of(-number(fa, a) * number(fb, b));
}

/// Each c of a tile is one of so many: rows and columns meet anew anyway, and c would cost more than all else.
inline constexpr int kAccumulators = 512;
inline constexpr int kAccumulatorRow = 37;  ///< each row begins so many further, so that columns have several too
TCNUM_HOST_DEVICE constexpr int accumulator_at(int row, int column) {
  return static_cast<int>(static_cast<unsigned>(row * kAccumulatorRow + column) % kAccumulators);
}

/// The formats of a stream's codes.
template <class F>
struct CodeFormats {
  F a, b, c;
  explicit CodeFormats(const Recipe& r) : a(r.a), b(r.b), c(r.c) {}
  /// The code of place (line, k) of an operand.
  TCNUM_HOST_DEVICE const F& operator[](Purpose purpose) const {
    return purpose == Purpose::a ? a : purpose == Purpose::b ? b : c;
  }
};
/// Calls with the CodeFormats that hold a stream's codes.
template <class With>
decltype(auto) with_code_formats(const Recipe& r, const With& with) {
  if (!r.d.floating) return with(CodeFormats<IntegerFormat>(r));
  const bool are_short = r.a.storage_bits <= 32 && r.b.storage_bits <= 32 && r.c.storage_bits <= 32;
  return are_short ? with(CodeFormats<FloatFormat<std::uint32_t>>(r))
                   : with(CodeFormats<FloatFormat<std::uint64_t>>(r));
}

}  // namespace tcnum::stream
