// A patch of rows × columns of dot problems at once, for what is ordinary: the way to a trillion results.
//
// Everything is done in double precision, in which all that must be exact is. Cutting a number below 2^l is an addition
// of 2^(l + 52) toward zero: what is left of it, in units of 2^l, are then the last bits of the sum, and a product is
// cut by the fused multiply-add that makes it. Signs are kept apart, so that cuts toward zero are cuts of magnitudes. A
// sum of products, of which 32 bits hold all, is one of integers; c, or the result of the sum before, is added to it in
// double precision, exactly. Rounding to a result is again an addition, toward zero or to nearest even.
#pragma once

#include <cstring>

#include "portable_dot.hpp"

namespace tcnum::portable {

/// grid + x toward zero, 0 ≤ x < grid = 2^n: the last bits are x in units of 2^(n − 52), cut.
TCNUM_HOST_DEVICE inline double cut(double x, double grid) {
#ifdef __CUDA_ARCH__
  return __dadd_rz(x, grid);
#else
  const double unit = grid * 0x1p-52;
  return grid + std::floor(x / unit) * unit;
#endif
}
/// The same of a · b, which must be exact.
TCNUM_HOST_DEVICE inline double cut_product(double a, double b, double grid) {
#ifdef __CUDA_ARCH__
  return __fma_rz(a, b, grid);
#else
  return cut(a * b, grid);
#endif
}
/// a · b + c, which must be exact.
TCNUM_HOST_DEVICE inline double multiply_add(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return __fma_rn(a, b, c);
#else
  return a * b + c;
#endif
}

/// x + y, rounded to odd: toward zero, and with an odd last bit if that left out anything. Rounding it again, to at
/// most 51 bits, gives what rounding the exact sum does.
TCNUM_HOST_DEVICE inline double add_to_odd(double x, double y) {
  const double sum = x + y, part = sum - x;
  const double rest = (x - (sum - part)) + (y - part);  // exact: Knuth's TwoSum
  if (rest == 0) return sum;
  std::uint32_t high = high_word(sum), low = low_word(sum);
  if ((high_word(rest) ^ high) & kSignBit) {  // it was rounded away from zero
    if (low == 0) --high;
    --low;
  }
  return from_words(high, low | 1);
}

/// Two pairs of 16-bit numbers added, and the larger of each sum and that of `c`.
TCNUM_HOST_DEVICE inline std::uint32_t add_max(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
#ifdef __CUDA_ARCH__
  return __viaddmax_s16x2(a, b, c);
#else
  const auto half = [](std::uint32_t x, int which) { return static_cast<std::int16_t>(x >> (16 * which)); };
  std::uint32_t both = 0;
  for (int i = 0; i < 2; ++i) {
    const int sum = half(a, i) + half(b, i), other = half(c, i);
    both |= static_cast<std::uint32_t>(static_cast<std::uint16_t>(sum > other ? sum : other)) << (16 * i);
  }
  return both;
#endif
}
TCNUM_HOST_DEVICE inline std::uint32_t twice(int exponent) {
  return static_cast<std::uint32_t>(static_cast<std::uint16_t>(exponent)) * 0x10001u;
}
TCNUM_HOST_DEVICE inline int half(std::uint32_t both, int which) {
  return static_cast<std::int16_t>(both >> (16 * which));
}

TCNUM_HOST_DEVICE inline int count_bits(std::uint32_t x) {
#ifdef __CUDA_ARCH__
  return __popc(x);
#else
  return std::popcount(x);
#endif
}

/// kCount numbers side by side, in loads of at most 16 bytes; they lie as aligned as those.
template <class T, int kCount>
struct Pack {
  static constexpr int kBytes = static_cast<int>(sizeof(T)) * kCount;
  struct alignas(kBytes > 16 ? 16 : kBytes) Aligned {
    T x[kCount];
  };
  T x[kCount];
  TCNUM_HOST_DEVICE explicit Pack(const void* from) {
#ifdef __CUDA_ARCH__
    const auto all = *static_cast<const Aligned*>(from);
    TCNUM_UNROLL for (int i = 0; i < kCount; ++i) x[i] = all.x[i];
#else
    std::memcpy(x, from, sizeof(x));
#endif
  }
};

/// A finite c as a double. Code is as wide as its format: fp32, or fp16.
template <class Code>
TCNUM_HOST_DEVICE double c_value(std::uint32_t code) {
  if constexpr (sizeof(Code) == 4) {
#ifdef __CUDA_ARCH__
    return static_cast<double>(__uint_as_float(code));
#else
    return static_cast<double>(std::bit_cast<float>(code));
#endif
  } else {  // as in read()
    constexpr Format kFormat = format(FormatId::fp16);
    const std::uint32_t magnitude = (code & 0x7fff) << (kHighFraction - kFormat.fraction_bits);
    return from_words(magnitude | code >> 15 << 31, 0) * power_of_two(kBias - kFormat.bias);
  }
}
template <class Code>
inline constexpr FormatId kFormatOfC = sizeof(Code) == 4 ? FormatId::fp32 : FormatId::fp16;

/// Keeps the compiler from making x anew each time that it is used.
TCNUM_HOST_DEVICE inline double kept_in_register(double x) {
#ifdef __CUDA_ARCH__
  asm("" : "+d"(x));
#endif
  return x;
}

/// x cut as the terms of a sum with that grid are.
TCNUM_HOST_DEVICE inline double cut_term(double x, double grid) {
#ifdef __CUDA_ARCH__
  const double same_sign = from_words(high_word(grid) | (high_word(x) & kSignBit), 0);
  return __dadd_rz(x, same_sign) - same_sign;
#else
  return std::copysign(cut(std::fabs(x), grid) - grid, x);
#endif
}

/// Rows row … row + kRows − 1 with columns column … column + kColumns − 1, all without infinities and NaNs, by a
/// datapath that takes_patches; A has two copies of each exponent, B one. c_row(i).code[j] are codes of c, of the width
/// of Code. Returns, as bits, the elements (kColumns to a row) that it did not evaluate, because something on their way
/// overflowed or c is no number: those are dot()'s. kSeveral: whether the datapath has several nodes.
template <class Code, int kRows, int kColumns, bool kSeveral, class CRow>
TCNUM_HOST_DEVICE std::uint32_t patch(const PortableDatapath& d, const Side& a, int row, const Side& b, int column,
                                      const CRow& c_row, std::uint32_t (&result)[kRows][kColumns]) {
  static_assert(kRows * kColumns <= 32 && kColumns % 2 == 0);
  constexpr int kCFraction = format(kFormatOfC<Code>).fraction_bits, kCBias = format(kFormatOfC<Code>).bias;
  constexpr int kTop = (1 << format(kFormatOfC<Code>).exponent_bits) - 1;
  constexpr std::uint32_t kInfinity = static_cast<std::uint32_t>(kTop) << kCFraction;
  constexpr std::uint32_t kMagnitude = kInfinity | (kInfinity - 1);
  const bool minimum = d.c_rule.subnormal_exponent == SubnormalExponent::minimum;
  double before[kRows][kColumns] = {};
  std::uint32_t left = 0;
  const int nodes = kSeveral ? d.nodes : 1;
  for (int number = 0; number < nodes; ++number) {
    const PatchNode& node = d.patch[number];
    const int end = node.first + node.count;

    std::uint32_t alignments[kRows][kColumns / 2];
    TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
      TCNUM_UNROLL for (int j = 0; j < kColumns / 2; ++j) alignments[i][j] = twice(node.alignment);
    }
    for (int p = node.first; p < end; ++p) {
      const Pack<std::uint32_t, kRows> ea(a.exponent + (p * a.pitch + row) * a.copies);
      const Pack<std::uint32_t, kColumns / 2> eb(b.exponent + (p * b.pitch + column) * b.copies);
      TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
        TCNUM_UNROLL for (int j = 0; j < kColumns / 2; ++j) {
          alignments[i][j] = add_max(ea.x[i], eb.x[j], alignments[i][j]);
        }
      }
    }
    double grid[kRows][kColumns];
    TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
      const auto c = c_row(i);
      TCNUM_UNROLL for (int j = 0; j < kColumns; ++j) {
        int alignment = half(alignments[i][j / 2], j % 2);
        if (!kSeveral || node.takes_c) {
          const auto field = static_cast<int>((c.code[j] & kInfinity) >> kCFraction);
          int exponent = (field == 0 ? 1 : field) - kCBias;
          if (!minimum && field == 0) {
            exponent = static_cast<int>(high_word(c_value<Code>(c.code[j])) >> kHighFraction & 0x7ff) - kBias;
          }
          if ((c.code[j] & kMagnitude) != 0 && exponent > alignment) alignment = exponent;
          if (field == kTop) left |= 1u << (i * kColumns + j);
        }
        if (kSeveral && node.takes_before) {
          const std::uint32_t high = high_word(before[i][j]) & ~kSignBit;
          int exponent = static_cast<int>(high >> kHighFraction) - kBias;
          if (exponent < node.before_floor) exponent = node.before_floor;
          if (high != 0 && exponent > alignment) alignment = exponent;
        }
        grid[i][j] = kept_in_register(power_of_two(alignment - node.fraction_bits + 52));
      }
    }

    std::uint32_t sum[kRows][kColumns] = {};
#ifdef __CUDA_ARCH__
#pragma unroll 2
#endif
    for (int p = node.first; p < end; ++p) {
      const int at_a = p * a.pitch + row, at_b = p * b.pitch + column;
      const Pack<double, kRows> va(a.value + at_a);
      const Pack<double, kColumns> vb(b.value + at_b);
      const Pack<std::uint32_t, kRows> sa(a.sign + at_a);
      const Pack<std::uint32_t, kColumns> sb(b.sign + at_b);
      TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
        TCNUM_UNROLL for (int j = 0; j < kColumns; ++j) {
          // A negative one is its complement, and one more, which comes below.
          sum[i][j] += low_word(cut_product(va.x[i], vb.x[j], grid[i][j])) ^ sa.x[i] ^ sb.x[j];
        }
      }
    }

    const auto finish = [&]<bool kNearest>() {
      TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
        const auto c = c_row(i);
        TCNUM_UNROLL for (int j = 0; j < kColumns; ++j) {
          double all = 0;
          if (kSeveral && node.is_pair) {
            all = add_to_odd(c_value<Code>(c.code[j]), before[i][j]);
          } else {
            double others = 0;
            if (!kSeveral || node.takes_c) others = cut_term(c_value<Code>(c.code[j]), grid[i][j]);
            if (kSeveral && node.takes_before) others += cut_term(before[i][j], grid[i][j]);
            const int negatives = count_bits((a.signs[row + i] ^ b.signs[column + j]) & node.places);
            const std::uint32_t products = sum[i][j] + static_cast<std::uint32_t>(negatives);
            // 2^52 + 2^31 + products, as an integer's bits.
            const double integer = from_words(0x43300000u, products ^ kSignBit) - (0x1p52 + 0x1p31);
            all = multiply_add(integer, from_words(high_word(grid[i][j]) - (52u << kHighFraction), 0), others);
          }
          const std::uint32_t sign = high_word(all) & kSignBit, high = high_word(all) & ~kSignBit;
          const std::uint32_t own = high >> kHighFraction, field = own < node.lowest ? node.lowest : own;
          // The last bits of a number that has this added are in units of the result's last place.
          const double coarse = from_words((field << kHighFraction) + node.coarse, 0);
          const double magnitude = from_words(high, low_word(all));
          const double units = kNearest ? magnitude + coarse : cut(magnitude, coarse);
          if (kSeveral && number + 1 < nodes) {
            // Rounding up may go beyond the largest too.
            if (field >= node.highest) left |= 1u << (i * kColumns + j);
            const double value = units - coarse;
            before[i][j] = from_words(high_word(value) | sign, low_word(value));
            continue;
          }
          // A significand that was rounded up to the next power of two carries into the exponent. 32 bits hold the code
          // of any sum.
          std::uint32_t code = (((field - node.lowest) << node.result_bits) + low_word(units)) << node.up;
          if (code > node.largest) code = node.beyond;
          const std::uint32_t signed_by = code | ((high | low_word(all)) & node.kept_signs);
          result[i][j] = code | (signed_by != 0 ? sign >> node.sign_down : 0);
        }
      }
    };
    if (node.to_nearest)
      finish.template operator()<true>();
    else
      finish.template operator()<false>();
  }
  return left;
}

}  // namespace tcnum::portable
