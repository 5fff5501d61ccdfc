// A patch of rows × columns of dot problems at once, for what is ordinary: the way to a trillion results.
//
// Sums are kept in double precision, each in a binade of which the last place is the last bit that alignment keeps, so
// that one fused multiply-add toward zero multiplies, cuts and adds. It would cut negative products away from zero,
// were all numbers not a little larger than they are (Side): too little for any bit that is kept of a positive product,
// but enough to bring every negative one, exact or not, one unit below its cut. The sum begins with as many units as it
// has negative terms; docs/patches.md has the proof. Results are rounded by the machine's own conversions, which is
// what hardware's rules amount to.
#pragma once

#include <cstring>

#include "dot_product.hpp"

namespace tcnum::gpu {

/// a · b + c toward zero.
TCNUM_HOST_DEVICE inline double multiply_add_toward_zero(double a, double b, double c) {
  return fused_multiply_add(a, b, c, Rounding::toward_zero);
}
TCNUM_HOST_DEVICE inline double add_toward_zero(double x, double y) {
#ifdef __CUDA_ARCH__
  return __dadd_rz(x, y);
#else
  return multiply_add_toward_zero(x, 1, y);
#endif
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
/// One of two exponents, as the high word of a double with that exponent. It is negative below what doubles have.
TCNUM_HOST_DEVICE inline std::int32_t high_word_of(std::uint32_t exponents, int which) {
  constexpr std::uint32_t kZero = static_cast<std::uint32_t>(kBias) << kHighFraction;
  const std::uint32_t up = which == 0 ? exponents << kHighFraction : (exponents & 0xffff0000u) << (kHighFraction - 16);
  return static_cast<std::int32_t>(up + kZero);
}

TCNUM_HOST_DEVICE inline std::uint32_t count_bits(std::uint32_t x) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__popc(x));
#else
  return static_cast<std::uint32_t>(std::popcount(x));
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

inline constexpr int kPatchRows = 4, kPatchColumns = 4;
template <class Each>
TCNUM_HOST_DEVICE void each_of_patch(const Each& each) {
  TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) { TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) each(i, j); }
}

/// Where a thread's patch begins among the problems of 64 rows and columns, of which a block has them all. A warp has
/// 4 × 8 patches: where there are few columns, fewer of its lanes are idle than in a row of patches.
struct PatchPlace {
  int row, column;
  TCNUM_HOST_DEVICE static PatchPlace of_thread(unsigned thread) {
    constexpr unsigned kWarpDown = 4, kWarpAcross = 8, kWarp = kWarpDown * kWarpAcross;
    constexpr unsigned kWarpsAcross = SideA::kLines / (kWarpAcross * kPatchColumns);
    const unsigned lane = thread % kWarp, warp = thread / kWarp;
    return {static_cast<int>((warp / kWarpsAcross * kWarpDown + lane / kWarpAcross) * kPatchRows),
            static_cast<int>((warp % kWarpsAcross * kWarpAcross + lane % kWarpAcross) * kPatchColumns)};
  }
};

/// A term of a sum that is no product.
struct PatchTerm {
  static constexpr std::uint32_t kTop = 0x7ffu << kHighFraction;
  double value;
  TCNUM_HOST_DEVICE explicit PatchTerm(float x) : value(static_cast<double>(x)) {}
  TCNUM_HOST_DEVICE std::uint32_t negative() const { return high_word(value) >> 31; }
  TCNUM_HOST_DEVICE std::int32_t exponent() const { return static_cast<std::int32_t>(high_word(value) & kTop); }
  /// Raises an alignment, as exponents of high words are; the term's has a floor.
  TCNUM_HOST_DEVICE void raise(std::int32_t& alignment, std::uint32_t floor) const {
    const std::int32_t own = exponent(), least = static_cast<std::int32_t>(floor);
    const std::int32_t larger = own > least ? own : least;
    if (own != 0 && larger > alignment) alignment = larger;
  }
  /// A little larger, as all are that are cut by an addition.
  TCNUM_HOST_DEVICE double to_be_cut() const { return from_words(high_word(value), low_word(value) | 1); }
};

/// As wide as codes that are rounded so.
template <PatchRounding kRounding>
using CodeOf =
    std::conditional_t<kRounding == PatchRounding::fp32_toward_zero || kRounding == PatchRounding::fp32_nearest,
                       std::uint32_t, std::uint16_t>;

/// What a patch is compiled for: datapaths of any nodes, of one that rounds so, or of a sum of products alone that
/// rounds so and is added to c.
struct AnyNodes {
  static constexpr bool kSeveral = true;
  static constexpr int kNodes = 0;  ///< how many, if that is known
  TCNUM_HOST_DEVICE static bool is_pair(const PatchNode& node, int) { return node.is_pair; }
  TCNUM_HOST_DEVICE static bool takes_c(const PatchNode& node, int) { return node.takes_c; }
  TCNUM_HOST_DEVICE static bool takes_before(const PatchNode& node, int) { return node.takes_before; }
  template <class With>
  TCNUM_HOST_DEVICE static void with_rounding(const PatchNode& node, int, const With& with) {
    switch (node.rounding) {
      case PatchRounding::fp32_toward_zero:
        return with.template operator()<PatchRounding::fp32_toward_zero>();
      case PatchRounding::fp32_nearest:
        return with.template operator()<PatchRounding::fp32_nearest>();
      case PatchRounding::fp16_nearest:
        return with.template operator()<PatchRounding::fp16_nearest>();
      case PatchRounding::fp16_nearest_of_fp32:
        return with.template operator()<PatchRounding::fp16_nearest_of_fp32>();
    }
  }
};
template <PatchRounding kRounding>
struct OneNode {
  static constexpr bool kSeveral = false;
  static constexpr int kNodes = 1;
  using Code = CodeOf<kRounding>;
  TCNUM_HOST_DEVICE static constexpr bool is_pair(const PatchNode&, int) { return false; }
  TCNUM_HOST_DEVICE static constexpr bool takes_c(const PatchNode&, int) { return true; }
  TCNUM_HOST_DEVICE static constexpr bool takes_before(const PatchNode&, int) { return false; }
  template <class With>
  TCNUM_HOST_DEVICE static void with_rounding(const PatchNode&, int, const With& with) {
    with.template operator()<kRounding>();
  }
};
template <PatchRounding kRounding>
struct SumAddedToC {
  static constexpr bool kSeveral = true;
  static constexpr int kNodes = 2;
  static constexpr PatchRounding kOfPair =
      sizeof(CodeOf<kRounding>) == sizeof(float) ? PatchRounding::fp32_nearest : PatchRounding::fp16_nearest;
  static bool is_of(const GpuDatapath& d) {
    const PatchNode &sum = d.patch[0], &added = d.patch[1];
    return d.nodes == kNodes && !sum.is_pair && !sum.takes_c && sum.rounding == kRounding && added.is_pair &&
           added.rounding == kOfPair;
  }
  TCNUM_HOST_DEVICE static constexpr bool is_pair(const PatchNode&, int number) { return number == 1; }
  TCNUM_HOST_DEVICE static constexpr bool takes_c(const PatchNode&, int number) { return number == 1; }
  TCNUM_HOST_DEVICE static constexpr bool takes_before(const PatchNode&, int number) { return number == 1; }
  template <class With>
  TCNUM_HOST_DEVICE static void with_rounding(const PatchNode&, int number, const With& with) {
    if (number == 0)
      with.template operator()<kRounding>();
    else
      with.template operator()<kOfPair>();
  }
};
/// Calls with what suits the datapath best.
template <class With>
auto with_nodes_of(const GpuDatapath& d, const With& with) {
  if (d.nodes > 1) return with.template operator()<AnyNodes>();
  switch (d.patch[0].rounding) {
    case PatchRounding::fp32_toward_zero:
      return with.template operator()<OneNode<PatchRounding::fp32_toward_zero>>();
    case PatchRounding::fp32_nearest:
      return with.template operator()<OneNode<PatchRounding::fp32_nearest>>();
    case PatchRounding::fp16_nearest:
      return with.template operator()<OneNode<PatchRounding::fp16_nearest>>();
    case PatchRounding::fp16_nearest_of_fp32:
      break;
  }
  return with.template operator()<OneNode<PatchRounding::fp16_nearest_of_fp32>>();
}

/// The code of a sum, but for what overflows toward zero.
template <PatchRounding kRounding>
TCNUM_HOST_DEVICE std::uint32_t rounded_code(const PatchNode& node, double sum) {
  if constexpr (kRounding == PatchRounding::fp32_toward_zero)
    return code_of(to_float_toward_zero(sum)) & node.kept_bits;
  if constexpr (kRounding == PatchRounding::fp32_nearest) return code_of(static_cast<float>(sum));
  if constexpr (kRounding == PatchRounding::fp16_nearest) return to_half(sum);
  return to_half(static_cast<double>(to_float_toward_zero(sum)));
}

/// Rounds a row's sums, which are above their grids.
template <PatchRounding kRounding>
TCNUM_HOST_DEVICE void round_row(const PatchNode& node, const double (&sum)[kPatchColumns],
                                 std::uint32_t (&code)[kPatchColumns]) {
  double value[kPatchColumns];
  bool any_overflows = false;
  TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
    // What it began with, but for the negatives: 1.5 times a power of two.
    const std::uint32_t grid = (high_word(sum[j]) & PatchTerm::kTop) | 1u << (kHighFraction - 1);
    value[j] = sum[j] - from_words(grid, 0);
    code[j] = rounded_code<kRounding>(node, value[j]);
    any_overflows |= std::fabs(value[j]) >= node.overflow;
  }
  if (kRounding == PatchRounding::fp32_toward_zero && any_overflows) {
    TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
      if (std::fabs(value[j]) >= node.overflow) code[j] = node.beyond | (high_word(value[j]) & kSignBit);
    }
  }
  if (node.dropped != 0) {
    TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) code[j] = code[j] == node.dropped ? 0 : code[j];
  }
}

/// The code of c + before, both of the format that the sum is rounded to.
template <PatchRounding kRounding>
TCNUM_HOST_DEVICE std::uint32_t pair_code(float c, float before) {
  constexpr float kZero = 0.0f;  // with which −0 becomes +0
  if constexpr (kRounding == PatchRounding::fp32_nearest) {
    return code_of(c + before + kZero);
  } else {
    // Exact until then.
    return to_half(static_cast<double>(c) + static_cast<double>(before) + static_cast<double>(kZero));
  }
}

/// A patch of codes of c, or of results.
struct PatchCodes {
  std::uint32_t code[kPatchRows][kPatchColumns];
  static constexpr std::uint32_t kAll = (1u << (kPatchRows * kPatchColumns)) - 1;
  TCNUM_HOST_DEVICE static constexpr std::uint32_t bit(int i, int j) { return 1u << (i * kPatchColumns + j); }
  /// Which elements do, as bits.
  TCNUM_HOST_DEVICE std::uint32_t differ(const PatchCodes& other) const {
    std::uint32_t any = 0, which = 0;
    TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
      TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) any |= code[i][j] ^ other.code[i][j];
    }
    if (any == 0) return 0;  // most often
    TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
      TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) which |= code[i][j] != other.code[i][j] ? bit(i, j) : 0;
    }
    return which;
  }
};

/// Whether an element has an infinity or a NaN among its products or as c, whose code is of the width of Code.
template <class Code>
TCNUM_HOST_DEVICE bool is_special(const SideA& a, int row, const SideB& b, int column, std::uint32_t c) {
  return (a.special[row] | b.special[column]) != 0 || !finite(value_of<Code>(c));
}
/// The result of such an element, if no sum on its way overflows: any NaN, or infinities of both signs, make a NaN.
template <class Code>
TCNUM_HOST_DEVICE std::uint32_t special_code(const GpuDatapath& d, const SideA& a, int row, const SideB& b, int column,
                                             std::uint32_t c) {
  constexpr Format kC = format(sizeof(Code) == 4 ? FormatId::fp32 : FormatId::fp16);
  constexpr std::uint32_t kInfinity = ((1u << kC.exponent_bits) - 1) << kC.fraction_bits;
  const std::uint32_t special = a.special[row] | b.special[column], zero = a.zero[row] | b.zero[column];
  const std::uint32_t negative = a.negative[row] ^ b.negative[column], infinite = special & ~zero;
  const std::uint32_t c_magnitude = c & ((1u << (kC.storage_bits - 1)) - 1);
  const bool c_is_infinite = c_magnitude == kInfinity, c_is_negative = c_magnitude != c;
  const bool any_positive = (infinite & ~negative) != 0 || (c_is_infinite && !c_is_negative);
  const bool any_negative = (infinite & negative) != 0 || (c_is_infinite && c_is_negative);
  if ((special & zero) != 0 || c_magnitude > kInfinity || (any_positive && any_negative)) {
    return static_cast<std::uint32_t>(d.nan.code);
  }
  const std::uint32_t infinity = ((1u << d.result.exponent_bits) - 1) << d.result.fraction_bits;
  return infinity | (any_negative ? 1u << (d.result.storage_bits - 1) : 0);
}

/// Elements, as bits, that a patch does not evaluate.
struct PatchRest {
  std::uint32_t special = 0;     ///< is_special(): those are special_code()'s
  std::uint32_t overflowed = 0;  ///< a sum on their way did: those are terms_dot()'s, special or not
};

/// A node's products in a patch of rows from `row` on with columns from `column` on.
struct PatchProducts {
  static constexpr int kLines = SideA::kLines;
  const SideA& a;
  int row;
  const SideB& b;
  int column;

  TCNUM_HOST_DEVICE bool any_special() const {
    bool any = false;
    TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) any |= a.special[row + i] != 0;
    TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) any |= b.special[column + j] != 0;
    return any;
  }
  /// How many of an element's are negative.
  TCNUM_HOST_DEVICE std::uint32_t negatives(const PatchNode& node, int i, int j) const {
    return count_bits((a.negative[row + i] ^ b.negative[column + j]) & node.places);
  }
  /// Their largest exponents, and the node's least: those of two columns in a word.
  TCNUM_HOST_DEVICE void align(const PatchNode& node,
                               std::uint32_t (&alignments)[kPatchRows][kPatchColumns / 2]) const {
    TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
      TCNUM_UNROLL for (int j = 0; j < kPatchColumns / 2; ++j) alignments[i][j] = twice(node.alignment);
    }
    const std::uint32_t* at_ea = a.exponent + node.first * kLines + row;
    const std::int16_t* at_eb = b.exponent + node.first * kLines + column;
    for (int p = 0; p < node.count; ++p, at_ea += kLines, at_eb += kLines) {
      const Pack<std::uint32_t, kPatchRows> ea(at_ea);
      const Pack<std::uint32_t, kPatchColumns / 2> eb(at_eb);
      TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
        TCNUM_UNROLL for (int j = 0; j < kPatchColumns / 2; ++j) {
          alignments[i][j] = add_max(ea.x[i], eb.x[j], alignments[i][j]);
        }
      }
    }
  }
  TCNUM_HOST_DEVICE void add_to(const PatchNode& node, double (&sum)[kPatchRows][kPatchColumns]) const {
    const double* at_va = a.value + SideA::value_at(node.first, row);
    const double* at_vb[2] = {b.value + SideB::value_at(node.first, column),
                              b.value + SideB::value_at(node.first, column + 2)};
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
    for (int p = 0; p < node.count; ++p) {
      const Pack<double, kPatchRows> va(at_va + p * kLines);
      const Pack<double, 2> vb[2] = {Pack<double, 2>(at_vb[0] + p * kLines), Pack<double, 2>(at_vb[1] + p * kLines)};
      TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
        TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
          sum[i][j] = multiply_add_toward_zero(va.x[i], vb[j / 2].x[j % 2], sum[i][j]);
        }
      }
    }
  }
  /// Which elements of a patch that holds a special are, as bits.
  template <class Code>
  TCNUM_HOST_DEVICE std::uint32_t specials(const PatchCodes& c) const {
    std::uint32_t which = 0;
    TCNUM_UNROLL for (int i = 0; i < kPatchRows; ++i) {
      TCNUM_UNROLL for (int j = 0; j < kPatchColumns; ++j) {
        if (is_special<Code>(a, row + i, b, column + j, c.code[i][j])) which |= PatchCodes::bit(i, j);
      }
    }
    return which;
  }
};

/// What one sum of a node begins with: its grid, a unit for each negative term, and its terms that are no products.
template <class Code, class Nodes>
TCNUM_HOST_DEVICE double patch_beginning(const PatchNode& node, int number, std::int32_t alignment,
                                         std::uint32_t negatives, std::uint32_t c, float before, bool& any_special) {
  constexpr bool kSeveral = Nodes::kSeveral;
  const bool takes_c = Nodes::takes_c(node, number), takes_before = Nodes::takes_before(node, number);
  const float own_c = takes_c ? value_of<Code>(c) : 0.0f;
  // No number must not look like an overflow of a sum on the way.
  const bool c_is_left_out = kSeveral && takes_c && !finite(own_c);
  const PatchTerm of_c(c_is_left_out ? 0.0f : own_c), of_before(takes_before ? before : 0.0f);
  if (takes_c) {
    of_c.raise(alignment, node.c_floor);
    negatives += of_c.negative();
  }
  // Numbers have smaller exponents.
  any_special |= c_is_left_out || alignment >= static_cast<std::int32_t>(PatchTerm::kTop);
  if (takes_before) {
    of_before.raise(alignment, node.before_floor);
    negatives += of_before.negative();
  }
  double sum = from_words(static_cast<std::uint32_t>(alignment) + node.grid, negatives);
  if (takes_c) sum = add_toward_zero(sum, of_c.to_be_cut());
  if (takes_before) sum = add_toward_zero(sum, of_before.to_be_cut());
  return sum;
}

/// Rows from `row` on with columns from `column` on, by a datapath that patches evaluate. read_c() gives the codes of
/// c, which are of the width of Code. Among `results`, those of the rest mean nothing. Nodes: AnyNodes, or the OneNode
/// that the datapath is.
template <class Code, class Nodes, class ReadC>
TCNUM_HOST_DEVICE PatchRest patch(const GpuDatapath& d, const SideA& a, int row, const SideB& b, int column,
                                  const ReadC& read_c, PatchCodes& results) {
  constexpr int kRows = kPatchRows, kColumns = kPatchColumns;
  constexpr bool kSeveral = Nodes::kSeveral;
  const PatchProducts products{a, row, b, column};
  PatchRest rest;
  bool any_special = products.any_special();
  const int nodes = Nodes::kNodes != 0 ? Nodes::kNodes : d.nodes;
#ifdef __CUDA_ARCH__
#pragma unroll(Nodes::kNodes == 0 ? 1 : Nodes::kNodes)
#endif
  for (int number = 0; number < nodes; ++number) {
    const PatchNode& node = d.patch[number];
    const bool last = number + 1 == nodes, is_pair = Nodes::is_pair(node, number);
    PatchCodes c;
    if (Nodes::takes_c(node, number)) c = read_c();
    // Until a node has its own, `results` are those of the node before.
    const auto before = [&](int i, int j) {
      if constexpr (!kSeveral) return 0.0f;
      const std::uint32_t code = results.code[i][j];
      return node.before_is_half ? value_of<std::uint16_t>(code) : value_of<std::uint32_t>(code);
    };

    double sum[kRows][kColumns];
    if (!is_pair) {
      std::uint32_t alignments[kRows][kColumns / 2];
      products.align(node, alignments);
      TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
        TCNUM_UNROLL for (int j = 0; j < kColumns; ++j) {
          sum[i][j] =
              patch_beginning<Code, Nodes>(node, number, high_word_of(alignments[i][j / 2], j % 2),
                                           products.negatives(node, i, j), c.code[i][j], before(i, j), any_special);
        }
      }
      products.add_to(node, sum);
    }

    Nodes::with_rounding(node, number, [&]<PatchRounding kRounding>() {
      TCNUM_UNROLL for (int i = 0; i < kRows; ++i) {
        std::uint32_t(&codes)[kColumns] = results.code[i];
        if (is_pair) {
          TCNUM_UNROLL for (int j = 0; j < kColumns; ++j) {
            const float of_c = value_of<Code>(c.code[i][j]);
            any_special |= !finite(of_c);
            codes[j] = pair_code<kRounding>(of_c, before(i, j));
          }
        } else {
          round_row<kRounding>(node, sum[i], codes);
        }
        if constexpr (kSeveral) {
          TCNUM_UNROLL for (int j = 0; j < kColumns && !last; ++j) {
            if (!finite(value_of<CodeOf<kRounding>>(codes[j]))) rest.overflowed |= PatchCodes::bit(i, j);
          }
        }
      }
    });
  }
  if (any_special) rest.special = products.specials<Code>(read_c());
  return rest;
}

}  // namespace tcnum::gpu
