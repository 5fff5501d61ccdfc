// Operands as patches have them, and dot problems by the machine's own operations, one at a time: of fp32 and of fp64.
// The rules are those of exact.cpp.
#pragma once

#include <cmath>
#include <type_traits>

#include "conversions.hpp"
#include "emu/alignment.hpp"
#include "emu/host_device.hpp"
#include "emu/integers.hpp"
#include "gpu_datapath.hpp"

namespace tcnum::gpu {

/// An exponent side by side, twice.
TCNUM_HOST_DEVICE inline std::uint32_t twice(int exponent) {
  return static_cast<std::uint32_t>(static_cast<std::uint16_t>(exponent)) * 0x10001u;
}

/// Calls with how many of a datapath's products have places side by side.
template <class With>
TCNUM_HOST_DEVICE void with_adjacent(const GpuDatapath& d, const With& with) {
  if (d.adjacent == 4)
    with.template operator()<4>();
  else if (d.adjacent == 2)
    with.template operator()<2>();
  else
    with.template operator()<1>();
}

/// Places of a line, as bits: place p of the first 32 is bit p, and others fall on them too.
struct Places {
  std::uint32_t negative = 0;
  std::uint32_t zero = 0;     ///< zeros and NaNs
  std::uint32_t special = 0;  ///< infinities and NaNs
};

/// Numbers of 64 lines, which are rows of A or columns of B, place by place (GpuDatapath::place). An infinity is a
/// 1 and a NaN a 0 that are marked. All are a little larger than they are, zeros too, which is what patches cut them by
/// (emu/gpu/patch.hpp): a double's last bits are not zero.
template <bool kIsA>
struct Side {
  static constexpr int kLines = 64;
  static constexpr std::uint32_t kOrdinary = 1, kSpecial = 3;              ///< low words of values
  using Exponent = std::conditional_t<kIsA, std::uint32_t, std::int16_t>;  ///< two copies side by side, or one

  double* value;  ///< with signs
  Exponent* exponent;
  std::uint32_t *negative, *zero, *special;  ///< of each line: Places

  /// Where the value at a place of a line is. Of every four of B, the first two are in one half of the lines and the
  /// others in the other: neighbouring threads, which load four each, then load from neighbouring memory.
  TCNUM_HOST_DEVICE static int value_at(int place, int line) {
    constexpr int kHalf = kLines / 2;
    return place * kLines + (kIsA ? line : (line & 2) * (kHalf / 2) + (line >> 2) * 2 + (line & 1));
  }
  TCNUM_HOST_DEVICE int exponent_at(int place, int line) const {
    return static_cast<std::int16_t>(exponent[place * kLines + line]);
  }
  TCNUM_HOST_DEVICE bool is_special(int place, int line) const {
    return low_word(value[value_at(place, line)]) == kSpecial;
  }
  TCNUM_HOST_DEVICE bool is_zero(int place, int line) const {
    return (high_word(value[value_at(place, line)]) & ~kSignBit) == 0;
  }
  TCNUM_HOST_DEVICE bool is_negative(int place, int line) const {
    return (high_word(value[value_at(place, line)]) & kSignBit) != 0;
  }
  /// Takes codes of a line apart, which go to `first` and the places behind it; the bits of those lie in one word. What
  /// it returns is to be added to the line's.
  template <int kCount>
  TCNUM_HOST_DEVICE Places put(const GpuFields& fields, int line, int first,
                               const std::uint32_t (&code)[kCount]) const {
    const int up = 32 - fields.storage_bits, down = up + fields.padding_bits;
    const double scale = power_of_two(kBias - fields.bias);
    double* const values = value + value_at(first, line);
    Exponent* const exponents = exponent + first * kLines + line;
    Places places;
    bool any_special = false;
    TCNUM_UNROLL for (int i = 0; i < kCount; ++i) {
      const std::uint32_t top = code[i] << up, magnitude = (top & ~kSignBit) >> down;
      any_special |= magnitude >= fields.first_special || (fields.zero_is_nan && top == kSignBit);
      // The fields, where a double has its own, are the number divided by 2^(1023 − bias), even if it is subnormal.
      const std::uint32_t fraction = magnitude << (kHighFraction - fields.fraction_bits);
      const std::uint32_t high = magnitude < fields.smallest ? 0 : high_word(from_words(fraction, 0) * scale);
      const int own = static_cast<int>(high >> kHighFraction) - kBias, raised = own < fields.floor ? fields.floor : own;
      values[i * kLines] = from_words(high | (top & kSignBit), kOrdinary);
      exponents[i * kLines] = copies(high == 0 ? kNotAligned16 : raised);
      places.negative |= top >> 31 << i;
      places.zero |= high == 0 ? 1u << i : 0;
    }
    places.negative <<= first % 32;
    places.zero <<= first % 32;
    if (any_special) put_special(fields, line, first, code, places);
    return places;
  }

  /// Multiplies what put() took apart by a scale, as decode() takes one apart. What it returns is to be added to the
  /// line's. A NaN makes NaNs, and so does zero of infinities.
  template <int kCount>
  TCNUM_HOST_DEVICE Places scale(int line, int first, double by, int its_exponent) const {
    Places places;
    TCNUM_UNROLL for (int i = 0; i < kCount; ++i) {
      const int place = first + i;
      double& its_value = value[value_at(place, line)];
      const bool was_special = is_special(place, line), was_zero = is_zero(place, line);
      const std::uint32_t sign = high_word(its_value) & kSignBit, bit = 1u << place % 32;
      if (by != by || (was_special && (was_zero || by == 0))) {
        its_value = from_words(sign, kSpecial);
        places.special |= bit;
      } else if (was_special) {
        continue;
      } else if (by == 0) {
        its_value = from_words(sign, kOrdinary);
      } else if (!was_zero) {
        const double exact = from_words(high_word(its_value), 0) * by;
        its_value = from_words(high_word(exact), low_word(exact) | kOrdinary);
        exponent[place * kLines + line] = copies(exponent_at(place, line) + its_exponent);
        continue;
      }
      places.zero |= bit;
      exponent[place * kLines + line] = copies(kNotAligned16);
    }
    return places;
  }

 private:
  TCNUM_HOST_DEVICE static Exponent copies(int its_exponent) {
    return static_cast<Exponent>(kIsA ? twice(its_exponent) : its_exponent);
  }
  template <int kCount>
  TCNUM_HOST_DEVICE void put_special(const GpuFields& fields, int line, int first, const std::uint32_t (&code)[kCount],
                                     Places& places) const {
    for (int i = 0; i < kCount; ++i) {
      const int place = first + i;
      const std::uint32_t top = code[i] << (32 - fields.storage_bits), bit = 1u << place % 32;
      const std::uint32_t magnitude = (top & ~kSignBit) >> (32 - fields.storage_bits + fields.padding_bits);
      if (magnitude < fields.first_special && !(fields.zero_is_nan && top == kSignBit)) continue;
      const bool is_infinity = magnitude == fields.infinity;
      const std::uint32_t high = is_infinity ? static_cast<std::uint32_t>(kBias) << kHighFraction : 0;
      value[value_at(place, line)] = from_words(high | (top & kSignBit), kSpecial);
      exponent[place * kLines + line] = copies(is_infinity ? 0 : kNotAligned16);
      places.special |= bit;
      places.zero |= is_infinity ? 0 : bit;
    }
  }
};
using SideA = Side<true>;
using SideB = Side<false>;

// --- The machine's own operations in single precision.

/// a · b, rounded to nearest: never a part of an FMA.
TCNUM_HOST_DEVICE inline float multiply(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return static_cast<float>(static_cast<double>(a) * static_cast<double>(b));  // exact until then
#endif
}
TCNUM_HOST_DEVICE inline float flushed(float x) {
  constexpr std::uint32_t kSmallestNormal = 0x00800000;
  return (code_of(x) & ~kSignBit) < kSmallestNormal ? float_of(code_of(x) & kSignBit) : x;
}
/// The number of a code of fp32, tf32, bf16 or fp16.
TCNUM_HOST_DEVICE inline float single_of(const Format& f, const GpuFields& fields, std::uint32_t code) {
  const std::uint32_t sign_bit = 1u << (f.storage_bits - 1);
  if ((code & (sign_bit - 1)) >> f.padding_bits < fields.smallest) return (code & sign_bit) != 0 ? -0.0f : 0.0f;
  if (f.id == FormatId::fp16) return value_of<std::uint16_t>(code);
  return float_of(code << (32 - f.storage_bits) >> f.padding_bits << f.padding_bits);
}
TCNUM_HOST_DEVICE inline std::uint64_t code_of_single(const GpuDatapath& d, float x) {
  if (x != x) return d.nan.code;
  return d.result.id == FormatId::fp16 ? to_half(static_cast<double>(x)) : code_of(x);
}

/// What a node adds: products, and others, which are c, results, or the zero of absent_term().
enum class SingleSum : std::uint8_t { two_products, two_products_and_zero, product_and_other, fma, two_others };

TCNUM_HOST_DEVICE inline bool makes_zeros_positive(const GpuDatapath& d, const GpuNode& node) {
  return d.units[node.unit].zero_sign == ZeroSign::positive;
}
/// What stands for a term that a node does not have: the zero that leaves its sum's sign as it should be.
TCNUM_HOST_DEVICE inline float absent_term(bool zeros_are_positive) { return zeros_are_positive ? 0.0f : -0.0f; }
/// What stands for one of a node's terms if its sums of zero are positive. As it is not −0, no sum is −0 unless it is
/// a negative number that underflows, which an addition to the sum would make positive too.
TCNUM_HOST_DEVICE inline float with_positive_zero(float x) { return x + 0.0f; }

/// Calls with that, and whether products are flushed.
template <class With>
TCNUM_HOST_DEVICE void with_single_sum(const GpuDatapath& d, const GpuNode& node, const With& with) {
  const auto of_products = [&]<SingleSum kSum>() {
    if (d.singles.flushes_products)
      with.template operator()<kSum, true>();
    else
      with.template operator()<kSum, false>();
  };
  if (node.count == 2 && makes_zeros_positive(d, node))
    of_products.template operator()<SingleSum::two_products_and_zero>();
  else if (node.count == 2)
    of_products.template operator()<SingleSum::two_products>();
  else if (node.count == 1 && d.singles.rounds_products)
    of_products.template operator()<SingleSum::product_and_other>();
  else if (node.count == 1)
    with.template operator()<SingleSum::fma, false>();
  else
    with.template operator()<SingleSum::two_others, false>();
}
/// The sum of products x · y and others, but for what becomes of small numbers.
template <SingleSum kSum, bool kFlushesProducts>
TCNUM_HOST_DEVICE float single_sum(const float (&x)[2], const float (&y)[2], const float (&others)[2]) {
  const auto product = [&](int i) {
    const float rounded = multiply(x[i], y[i]);
    return kFlushesProducts ? flushed(rounded) : rounded;
  };
  switch (kSum) {
    case SingleSum::two_products:
      return product(0) + product(1);
    case SingleSum::two_products_and_zero:
      return product(0) + product(1) + 0.0f;  // which does not underflow
    case SingleSum::product_and_other:
      return product(0) + others[0];
    case SingleSum::fma:
      return fused_multiply_add(x[0], y[0], others[0]);
    case SingleSum::two_others:
      break;
  }
  return others[0] + others[1];
}

/// Numbers a[i · a_pitch] and b[i · b_pitch] are at place i.
TCNUM_HOST_DEVICE inline std::uint64_t single_precision_dot(const GpuDatapath& d, const float* a, int a_pitch,
                                                            const float* b, int b_pitch, std::uint64_t c_code) {
  const float c = single_of(d.c, d.c_fields, static_cast<std::uint32_t>(c_code));
  float results[GpuDatapath::kMostNodes];
  for (int number = 0; number < d.nodes; ++number) {
    const GpuNode& node = d.node[number];
    const bool zeros_are_positive = makes_zeros_positive(d, node);
    const float absent = absent_term(zeros_are_positive);
    float x[2] = {}, y[2] = {}, others[2] = {absent, absent};
    for (int p = 0; p < node.count; ++p) {
      x[p] = a[(node.first + p) * a_pitch];
      y[p] = b[(node.first + p) * b_pitch];
    }
    for (int i = 0; i < GpuNode::kMostOthers; ++i) {
      const int other = node.others[i];
      if (other != GpuNode::kNone) others[i] = other == GpuNode::kAccumulator ? c : results[other];
    }
    if (zeros_are_positive) others[0] = with_positive_zero(others[0]);
    float& sum = results[number];
    with_single_sum(d, node, [&]<SingleSum kSum, bool kFlushesProducts>() {
      sum = single_sum<kSum, kFlushesProducts>(x, y, others);
    });
    if (d.singles.flushes[node.unit]) sum = flushed(sum);
  }
  return code_of_single(d, results[d.nodes - 1]);
}

// --- Chains of the machine's FMAs.

TCNUM_HOST_DEVICE inline bool is_nan(std::uint64_t code) {
  return (code & ~(std::uint64_t{1} << 63)) > std::uint64_t{0x7ff} << 52;
}
/// `count` steps of a chain from c on: operand i is a[i · a_pitch] and b[i · b_pitch], in the chain's order. Which NaN
/// a NaN is, is the datapath's own affair: of the operands of a step the first in the rule's order, made quiet, where
/// the rule keeps them.
TCNUM_HOST_DEVICE inline std::uint64_t fma_chain_steps(const GpuDatapath& d, int count, const std::uint64_t* a,
                                                       int a_pitch, const std::uint64_t* b, int b_pitch,
                                                       std::uint64_t c) {
  constexpr std::uint64_t kQuiet = std::uint64_t{1} << 51;
  const auto payload = [&](std::uint64_t operand) { return d.nan.propagate ? operand | kQuiet : d.nan.code; };
  std::uint64_t sum = is_nan(c) ? payload(c) : c;
  for (int p = 0; p < count; ++p) {
    const std::uint64_t x = a[p * a_pitch], y = b[p * b_pitch];
    const std::uint64_t next = code_of(fused_multiply_add(double_of(x), double_of(y), double_of(sum), d.fma_rounding));
    if (!is_nan(next)) {
      sum = next;
      continue;
    }
    std::uint64_t code = d.nan.code;
    for (int i = 2; i >= 0; --i) {
      const NanOperand which = d.nan.order[static_cast<std::size_t>(i)];
      if (which == NanOperand::a && is_nan(x)) code = payload(x);
      if (which == NanOperand::b && is_nan(y)) code = payload(y);
      if (which == NanOperand::c && is_nan(sum)) code = sum;
    }
    sum = code;
  }
  return sum;
}

}  // namespace tcnum::gpu
