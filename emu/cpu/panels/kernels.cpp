// Compiled once for each CPU by Highway. Only CPUs with fused multiply-adds evaluate panels: another rounding between
// product and sum would cut twice.
#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels.hpp"

#include "has_fma-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

namespace hn = hwy::HWY_NAMESPACE;

/// What floating-point numbers of the lanes are made of.
template <class T>
struct Lane {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  static constexpr int kFraction = std::numeric_limits<T>::digits - 1;
  static constexpr int kBias = std::numeric_limits<T>::max_exponent - 1;
  static constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
  static constexpr Bits kExponent = ~Bits{0} >> 1 >> kFraction << kFraction;
  /// 2^e.
  static constexpr Bits power_of_two(int e) { return static_cast<Bits>(e + kBias) << kFraction; }
  /// So much is added to the exponent of a power of two to have the 1.5 · 2^kFraction units of its last kept bit, so
  /// many bits below it, that a sum begins with.
  static constexpr Bits grid(int fraction_bits) {
    return (static_cast<Bits>(kFraction - fraction_bits) << kFraction) + (Bits{1} << (kFraction - 1));
  }
};

// --- Packing.

template <class T>
using D = hn::CappedTag<T, kColumns>;
template <class T>
using V = hn::Vec<D<T>>;
/// Vectors of unsigned integers as wide as doubles, and as floats.
template <class T>
using DU = hn::RebindToUnsigned<D<T>>;
template <class T>
using VU = hn::Vec<DU<T>>;
template <class T>
inline constexpr std::size_t kLanes = hn::MaxLanes(D<T>());
/// Vectors of words, which are as many as floats, and of signed ones.
using DW = hn::CappedTag<Word, kColumns>;
using VW = hn::Vec<DW>;
using DSW = hn::RebindToSigned<DW>;
inline constexpr std::size_t kWords = hn::MaxLanes(DW());

template <class T>
HWY_INLINE V<T> from_bits(typename Lane<T>::Bits bits) {
  return hn::BitCast(D<T>(), hn::Set(DU<T>(), bits));
}

/// Operands taken apart at once.
inline constexpr std::size_t kRun = kColumns;

/// Codes as wide integers.
template <class Code>
HWY_INLINE VU<double> load_codes(const Code* codes) {
  const hn::Rebind<Code, DU<double>> narrow;
  const auto loaded = hn::LoadU(narrow, codes);
  if constexpr (sizeof(Code) == 4)
    return hn::PromoteTo(DU<double>(), loaded);
  else
    return hn::PromoteTo(DU<double>(), hn::PromoteTo(hn::Rebind<std::uint32_t, DU<double>>(), loaded));
}

/// What stands for a zero, an infinity or a NaN.
template <class T>
inline constexpr double kTiny = sizeof(T) == 8 ? 0x1p-520 : 0x1p-124;

/// As bits, the operands among kRun that are of a kind.
struct Kinds {
  std::uint64_t negative = 0, zero = 0, special = 0;
};

/// Takes `count` codes apart, and zeros after them.
template <class T, class Code>
Kinds take_apart(const Fields& f, const std::byte* codes, std::size_t stride, std::size_t count, T* value,
                 std::int16_t* exponent) {
  constexpr std::size_t kStep = kLanes<double>;
  const D<double> d;
  const DU<double> du;
  const hn::RebindToSigned<D<double>> di;
  HWY_ALIGN Code code[kRun];
  if (stride == 1 && count == kRun) {
    std::memcpy(code, codes, kRun * sizeof(Code));
  } else {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(code + i, codes + i * stride * sizeof(Code), sizeof(Code));
    for (std::size_t i = count; i < kRun; ++i) code[i] = 0;
  }
  const V<double> scale = from_bits<double>(Lane<double>::power_of_two(Lane<double>::kBias - f.bias));
  const V<double> tiny = hn::Set(d, kTiny<T>);
  const auto floor = hn::Set(di, f.floor), none = hn::Set(di, kNoExponent16);
  Kinds kinds;
  for (std::size_t i = 0; i < kRun; i += kStep) {
    const auto x = load_codes(code + i);
    const auto magnitude = hn::ShiftRightSame(hn::And(x, hn::Set(du, f.magnitude_mask)), f.padding);
    const auto is_special = hn::Not(hn::Lt(magnitude, hn::Set(du, f.first_special)));
    const auto is_nan = hn::And(is_special, hn::Ne(magnitude, hn::Set(du, f.infinity)));
    const auto is_zero = hn::Or(hn::Lt(magnitude, hn::Set(du, f.smallest)), is_nan);
    const auto sign = hn::Ne(hn::And(x, hn::Set(du, f.sign)), hn::Zero(du));
    const auto in_none = hn::Or(is_zero, is_special);
    // The fields, where a double has its own, are the number divided by 2^(1023 − bias), even if it is subnormal.
    const V<double> fields = hn::BitCast(d, hn::ShiftLeftSame(magnitude, Lane<double>::kFraction - f.fraction_bits));
    const V<double> number = hn::IfThenElse(hn::RebindMask(d, in_none), tiny, hn::Mul(fields, scale));
    const V<double> signs = hn::IfThenElseZero(hn::RebindMask(d, sign), from_bits<double>(Lane<double>::kSign));
    if constexpr (sizeof(T) == 8) {
      hn::StoreU(hn::Or(hn::Or(number, signs), from_bits<double>(1)), d, value + i);
    } else {
      const hn::Rebind<T, D<double>> narrow;
      const hn::RebindToUnsigned<decltype(narrow)> narrow_bits;
      const auto grown =
          hn::Or(hn::BitCast(narrow_bits, hn::DemoteTo(narrow, hn::Or(number, signs))), hn::Set(narrow_bits, 1u));
      hn::StoreU(hn::BitCast(narrow, grown), narrow, value + i);
    }
    const auto field = hn::BitCast(di, hn::ShiftRight<Lane<double>::kFraction>(hn::BitCast(du, number)));
    const auto own = hn::Max(hn::Sub(field, hn::Set(di, Lane<double>::kBias)), floor);
    const auto aligned = hn::IfThenElse(hn::RebindMask(di, in_none), none, own);
    const hn::Rebind<std::int16_t, D<double>> d16;
    const auto narrow = hn::TruncateTo(hn::Rebind<std::uint16_t, D<double>>(), hn::BitCast(du, aligned));
    hn::StoreU(hn::BitCast(d16, narrow), d16, exponent + i);
    const auto bits_of = [&](auto mask) HWY_ATTR {
      std::uint8_t bits[sizeof(std::uint64_t)] = {};
      hn::StoreMaskBits(du, mask, bits);
      return std::uint64_t{bits[0]} << i;
    };
    static_assert(kStep <= 8);
    kinds.negative |= bits_of(sign);
    kinds.zero |= bits_of(is_zero);
    kinds.special |= bits_of(is_special);
  }
  return kinds;
}

template <class T>
Kinds take_apart(const Fields& fields, const std::byte* codes, std::size_t stride, std::size_t count, T* value,
                 std::int16_t* exponent) {
  if (fields.bytes == 1) return take_apart<T, std::uint8_t>(fields, codes, stride, count, value, exponent);
  if (fields.bytes == 2) return take_apart<T, std::uint16_t>(fields, codes, stride, count, value, exponent);
  return take_apart<T, std::uint32_t>(fields, codes, stride, count, value, exponent);
}

/// The range of the exponents of kRun operands.
Range range_of(const std::int16_t* exponent) {
  const hn::CappedTag<std::int16_t, kRun> d;
  constexpr std::int16_t kNone = std::numeric_limits<std::int16_t>::max(), kNoneEither = -kNone - 1;
  const auto none = hn::Set(d, kNoExponent16);
  auto lowest = hn::Set(d, kNone), highest = hn::Set(d, kNoneEither);
  for (std::size_t i = 0; i < kRun; i += hn::Lanes(d)) {
    const auto e = hn::LoadU(d, exponent + i);
    const auto is_none = hn::Eq(e, none);
    lowest = hn::Min(lowest, hn::IfThenElse(is_none, hn::Set(d, kNone), e));
    highest = hn::Max(highest, hn::IfThenElse(is_none, hn::Set(d, kNoneEither), e));
  }
  HWY_ALIGN std::int16_t low[kRun], high[kRun];
  hn::Store(lowest, d, low);
  hn::Store(highest, d, high);
  Range range;
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) range.add({low[i], high[i], false});
  return range;
}

/// Exponents as they are in 8 bits, of operands of that range.
template <class Exponents>
HWY_INLINE Exponents in_8_bits(Exponents e, const Range& range) {
  const hn::DFromV<Exponents> d;
  const auto below = static_cast<std::int16_t>(range.top() - kHighest8);
  return hn::Max(hn::Sub(e, hn::Set(d, below)), hn::Zero(d));
}
/// A panel's.
void narrow_exponents(const std::int16_t* exponents, std::size_t count, const Range& range, std::uint8_t* to) {
  const hn::CappedTag<std::int16_t, kRun> d;
  const hn::Rebind<std::uint8_t, decltype(d)> narrow;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d))
    hn::StoreU(hn::DemoteTo(narrow, in_8_bits(hn::Load(d, exponents + i), range)), narrow, to + i);
}
/// Those of lines of A, each four times.
void spread_exponents(const std::int16_t* exponents, std::size_t count, const Range& range, Word* to) {
  const DSW d;
  const hn::Rebind<std::int16_t, DSW> narrow;
  for (std::size_t i = 0; i < count; i += kWords) {
    const auto e = hn::PromoteTo(d, in_8_bits(hn::Load(narrow, exponents + i), range));
    hn::Store(hn::Mul(hn::BitCast(DW(), e), hn::Set(DW(), 0x01010101u)), DW(), to + i);
  }
}

/// Scales of a run of operands, of which each may have another.
struct RunOfScales {
  HWY_ALIGN double value[kRun];
  HWY_ALIGN std::int16_t exponent[kRun];
  std::uint64_t zero = 0, nan = 0;  ///< bits of those

  void set(std::size_t i, const Scale& scale) {
    const bool is_nan = std::isnan(scale.value), is_zero = scale.value == 0;
    const std::uint64_t bit = std::uint64_t{1} << i;
    value[i] = is_nan || is_zero ? 1 : scale.value;
    exponent[i] = scale.exponent;
    zero = is_zero || is_nan ? zero | bit : zero & ~bit;
    nan = is_nan ? nan | bit : nan & ~bit;
  }
};

/// Multiplies operands by their scales. What a NaN scales counts as special and zero, as NaNs do, and so does an
/// infinity that zero scales.
void scale_run(const RunOfScales& by, double* value, std::int16_t* exponent, Kinds& kinds) {
  for (std::size_t i = 0; i < kRun; ++i) {
    const bool counts = exponent[i] != kNoExponent16;
    const double exact = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value[i]) & ~std::uint64_t{1});
    const double scaled = exact * (counts ? by.value[i] : 1.0);
    value[i] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(scaled) | 1);
    exponent[i] = static_cast<std::int16_t>(exponent[i] + (counts ? by.exponent[i] : 0));
  }
  for (std::uint64_t rest = by.zero; rest != 0; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    value[i] = std::copysign(kTiny<double>, value[i]);
    value[i] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value[i]) | 1);
    exponent[i] = kNoExponent16;
  }
  kinds.zero |= by.zero;
  kinds.special |= by.nan;
}

/// Numbers of exact sums, which nothing is cut from: not grown, and zeros are none.
void make_exact(double* value, const std::int16_t* exponent) {
  for (std::size_t i = 0; i < kRun; ++i) {
    const std::uint64_t exact = std::bit_cast<std::uint64_t>(value[i]) & ~std::uint64_t{1};
    value[i] = exponent[i] == kNoExponent16 ? 0.0 : std::bit_cast<double>(exact);
  }
}

/// What becomes of operands that are taken apart, because of scales.
template <class T>
void heed_scales(const Plan& plan, const RunOfScales& by, T* value, std::int16_t* exponent, Kinds& kinds) {
  if constexpr (sizeof(T) == 8) {
    if (plan.scales_sums)
      make_exact(value, exponent);
    else if (plan.scales)
      scale_run(by, value, exponent, kinds);
  }
}

/// Where sums are scaled, the scales of `lines` lines.
template <class T>
void pack_scales(const Plan& plan, const ScalesToPack& from, std::size_t lines, std::size_t blocks, std::size_t to_line,
                 std::size_t to_block, Packed<T>& to) {
  if (!plan.scales_sums) return;
  to.scale.resize(lines * blocks);
  to.scale_exponent.resize(lines * blocks);
  for (std::size_t line = 0; line < lines; ++line) {
    for (std::size_t block = 0; block < blocks; ++block) {
      const Scale scale = from(line, block);
      to.scale[line * to_line + block * to_block] = scale.value;
      to.scale_exponent[line * to_line + block * to_block] = scale.exponent;
    }
  }
}

template <class T>
void clear_words(Packed<T>& packed) {
  for (Buffer<Word>* words : {&packed.negative, &packed.zero, &packed.special})
    std::memset(words->data(), 0, words->size() * sizeof(Word));
}

/// Takes a line of A apart: into kRows lines, of which it is number `r`, and its words and its range.
template <class T>
void take_line_apart(const Plan& plan, const Fields& fields, const ToPack& to_pack, const std::vector<Place>& place_of,
                     std::size_t line, Packed<T>& to) {
  const CodesToPack& from = to_pack.codes;
  const std::size_t places = place_of.size(), room = rounded_up(places, kRun), r = line % kRows;
  const std::size_t words = places / static_cast<std::size_t>(plan.depth) * plan.nodes.size();
  const std::size_t bytes = static_cast<std::size_t>(fields.bytes);
  // The last row stands for those that the last kRows lack.
  const std::size_t source = std::min(line, from.lines - 1);
  const std::byte* const codes = from.codes + source * from.line_stride * bytes;
  T* const values = &to.lines_value[r * room];
  std::int16_t* const exponents = &to.lines_exponent[r * room];
  HWY_ALIGN T run_value[kRun];
  HWY_ALIGN std::int16_t run_exponent[kRun];
  RunOfScales scales;
  const std::size_t block = plan.scales ? static_cast<std::size_t>(plan.scales->block_k) : 1;
  Range range;
  for (std::size_t first = 0; first < places; first += kRun) {
    const std::size_t here = std::min(kRun, places - first);
    const std::size_t count = from.products > first ? std::min(here, from.products - first) : 0;
    T* const value = plan.in_order ? values + first : run_value;
    std::int16_t* const exponent = plan.in_order ? exponents + first : run_exponent;
    Kinds kinds = take_apart(fields, codes + first * from.k_stride * bytes, from.k_stride, count, value, exponent);
    if (plan.scales) {
      for (std::size_t i = 0; i < kRun; ++i) scales.set(i, to_pack.scales(source, (first + i) / block));
      heed_scales(plan, scales, value, exponent, kinds);
    }
    range.add(range_of(exponent));
    range.any_special |= kinds.special != 0;
    for (std::size_t i = 0, together = 0; i < here; i += together) {
      const Place& place = place_of[first + i];
      together = std::min(place.side_by_side, here - i);
      if (!plan.in_order) {
        std::copy_n(run_value + i, together, values + place.place);
        std::copy_n(run_exponent + i, together, exponents + place.place);
      }
      const auto put = [&](std::uint64_t those, Buffer<Word>& bits) {
        const std::uint64_t mine = those >> i & ~std::uint64_t{0} >> (kRun - together);
        bits[line * words + place.word] |= static_cast<Word>(mine << place.bit);
      };
      put(kinds.negative, to.negative);
      put(kinds.zero, to.zero);
      put(kinds.special, to.special);
    }
  }
  to.range[line] = range;
}

/// Lays kRows lines, so far apart, side by side.
template <class Number>
void lay_side_by_side(const Number* lines, std::size_t apart, std::size_t places, Number* to) {
  static_assert(kRows == 4);
  const hn::CappedTag<Number, kColumns> d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= places; i += hn::Lanes(d)) {
    const auto line = [&](std::size_t r) HWY_ATTR { return hn::LoadU(d, lines + r * apart + i); };
    hn::StoreInterleaved4(line(0), line(1), line(2), line(3), d, to + i * kRows);
  }
  for (; i < places; ++i) {
    for (std::size_t r = 0; r < kRows; ++r) to[i * kRows + r] = lines[r * apart + i];
  }
}

template <class T>
void pack_a(const Plan& plan, const Fields& fields, const ToPack& to_pack, const std::vector<Place>& place_of,
            Packed<T>& to) {
  const std::size_t places = place_of.size(), room = rounded_up(places, kRun);
  const std::size_t lines = rounded_up(to_pack.codes.lines, kRows);
  to.resize(lines, places, places / static_cast<std::size_t>(plan.depth) * plan.nodes.size(), lines);
  if (plan.has_ordinary_sums) {
    to.exponent8_words.resize(lines * places);
    to.lines_exponent8.resize(kRows * room);
  }
  to.lines_value.resize(kRows * room);
  to.lines_exponent.resize(kRows * room);
  clear_words(to);
  const std::size_t block = plan.scales ? static_cast<std::size_t>(plan.scales->block_k) : 1;
  pack_scales(plan, to_pack.scales, lines, places / block, places / block, 1, to);
  for (std::size_t line = 0; line < lines; line += kRows) {
    for (std::size_t r = 0; r < kRows; ++r) take_line_apart(plan, fields, to_pack, place_of, line + r, to);
    lay_side_by_side(to.lines_value.data(), room, places, &to.value[line * places]);
    lay_side_by_side(to.lines_exponent.data(), room, places, &to.exponent[line * places]);
    if (!plan.has_ordinary_sums) continue;
    spread_exponents(to.lines_exponent.data(), kRows * room, to.range_of_rows(line), to.lines_exponent8.data());
    lay_side_by_side(to.lines_exponent8.data(), room, places, &to.exponent8_words[line * places]);
  }
}

/// Gives each of kRun lines its bit of a kind.
HWY_INLINE void add_bits(std::uint64_t those, int bit, Word* words) {
  const DW d;
  const VW one = hn::Set(d, Word{1});
  for (std::size_t i = 0; i < kRun; i += kWords, those >>= kWords) {
    // Lane l gets bit l of `those`.
    const VW mine = hn::And(hn::Shr(hn::Set(d, static_cast<Word>(those)), hn::Iota(d, Word{0})), one);
    hn::Store(hn::Or(hn::Load(d, words + i), hn::ShiftLeftSame(mine, bit)), d, words + i);
  }
}

template <class T>
void pack_b(const Plan& plan, const Fields& fields, const ToPack& to_pack, const std::vector<Place>& place_of,
            Packed<T>& to) {
  const CodesToPack& from = to_pack.codes;
  static_assert(kRun == kColumns);
  const std::size_t places = place_of.size(), words = places / static_cast<std::size_t>(plan.depth) * plan.nodes.size();
  to.resize(kColumns, places, words, 1);
  if (plan.has_ordinary_sums) to.exponent8.resize(kColumns * places);
  clear_words(to);
  Range range;
  RunOfScales scales;
  const std::size_t block = plan.scales ? static_cast<std::size_t>(plan.scales->block_k) : 1;
  pack_scales(plan, to_pack.scales, kColumns, places / block, 1, kColumns, to);
  const std::size_t row_bytes = from.k_stride * static_cast<std::size_t>(fields.bytes);
  for (std::size_t k = 0; k < places; ++k) {
    // A panel takes little of each row of B, too little for the machine to see what comes next.
    constexpr std::size_t kAhead = 16, kLine = 64;
    for (std::size_t byte = 0; byte < from.lines * static_cast<std::size_t>(fields.bytes); byte += kLine)
      hwy::Prefetch(from.codes + std::min(k + kAhead, from.products - 1) * row_bytes + byte);
    const auto& [place, word, bit, side_by_side] = place_of[k];
    const std::size_t at = place * kColumns, at_word = word * kColumns;
    Kinds kinds = take_apart(fields, from.codes + k * row_bytes, from.line_stride, k < from.products ? from.lines : 0,
                             &to.value[at], &to.exponent[at]);
    if (plan.scales) {
      if (k % block == 0) {
        for (std::size_t j = 0; j < kColumns; ++j) scales.set(j, to_pack.scales(j, k / block));
      }
      heed_scales(plan, scales, &to.value[at], &to.exponent[at], kinds);
    }
    range.add(range_of(&to.exponent[at]));
    range.any_special |= kinds.special != 0;
    add_bits(kinds.negative, bit, &to.negative[at_word]);
    if ((kinds.zero | kinds.special) == 0) continue;
    add_bits(kinds.zero, bit, &to.zero[at_word]);
    add_bits(kinds.special, bit, &to.special[at_word]);
  }
  to.range[0] = range;
  if (plan.has_ordinary_sums) narrow_exponents(to.exponent.data(), kColumns * places, range, to.exponent8.data());
}

// --- Codes of c and of results.

/// How codes of fp32 and fp16 are turned into doubles and back.
struct NumberFields {
  explicit NumberFields(const Format& f)
      : shift(Lane<double>::kFraction - f.fraction_bits),
        up(std::bit_cast<double>(Lane<double>::power_of_two(Lane<double>::kBias - f.bias))),
        down(std::bit_cast<double>(Lane<double>::power_of_two(f.bias - Lane<double>::kBias))),
        sign(std::uint64_t{1} << (f.storage_bits - 1)),
        infinity(f.first_non_finite()) {}
  int shift;
  double up, down;
  std::uint64_t sign, infinity;
};

template <class Code>
void read_numbers(const NumberFields& fields, const std::byte* codes, std::size_t stride, std::size_t count,
                  double* to) {
  const NumberFields f = fields;
  for (std::size_t i = 0; i < count; ++i) {
    Code code;
    std::memcpy(&code, codes + i * stride * sizeof(Code), sizeof(Code));
    const std::uint64_t magnitude = code & (f.sign - 1), sign = (code & f.sign) != 0 ? Lane<double>::kSign : 0;
    const auto finite = std::bit_cast<std::uint64_t>(std::bit_cast<double>(magnitude << f.shift) * f.up);
    const std::uint64_t special = magnitude == f.infinity ? Lane<double>::kExponent : ~std::uint64_t{0} >> 1;
    // −0 is worth +0, and an ordinary sum would take it for less.
    to[i] = std::bit_cast<double>((magnitude >= f.infinity ? special : finite) | sign) + 0.0;
  }
}

template <class Code>
void write_numbers(const NumberFields& fields, std::uint64_t nan, const double* from, std::size_t count,
                   std::byte* codes, std::size_t stride) {
  const NumberFields f = fields;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(from[i]), magnitude = bits & ~Lane<double>::kSign;
    const std::uint64_t finite = std::bit_cast<std::uint64_t>(std::bit_cast<double>(magnitude) * f.down) >> f.shift;
    const std::uint64_t sign = magnitude != bits ? f.sign : 0;
    const std::uint64_t number = (magnitude == Lane<double>::kExponent ? f.infinity : finite) | sign;
    const auto code = static_cast<Code>(magnitude > Lane<double>::kExponent ? nan : number);
    std::memcpy(codes + i * stride * sizeof(Code), &code, sizeof(Code));
  }
}

void read(FormatId id, const std::byte* codes, std::size_t stride, std::size_t count, double* to) {
  const Format& f = format(id);
  const NumberFields fields(f);
  if (f.storage_bytes() == 2) return read_numbers<std::uint16_t>(fields, codes, stride, count, to);
  read_numbers<std::uint32_t>(fields, codes, stride, count, to);
}

void write(FormatId id, std::uint64_t nan, const double* from, std::size_t count, std::byte* codes,
           std::size_t stride) {
  const Format& f = format(id);
  const NumberFields fields(f);
  if (f.storage_bytes() == 2) return write_numbers<std::uint16_t>(fields, nan, from, count, codes, stride);
  write_numbers<std::uint32_t>(fields, nan, from, count, codes, stride);
}

// --- Sums.

/// So many vectors of each of kRows rows at once, which registers hold.
#if HWY_TARGET == HWY_AVX2
inline constexpr std::size_t kVectors = 2;
#else
inline constexpr std::size_t kVectors = 4;
#endif
/// The columns of these.
template <class T>
inline constexpr std::size_t kChunk = kVectors* kLanes<T>;
/// Vectors of numbers that have as many lanes as one of words.
template <class T>
inline constexpr std::size_t kToWords = sizeof(T) / sizeof(Word);

/// Where a node's operands are.
template <class T>
struct NodeOperands {
  const T *a, *b;            ///< [count][kRows], and [count][kColumns]
  const Word* a8 = nullptr;  ///< of plans that have ordinary sums
  const std::uint8_t* b8 = nullptr;
  const std::int16_t *a16, *b16;
  const Word *a_negative[kRows], *b_negative;

  /// Goes to the next link.
  HWY_INLINE void advance(const Plan& plan) {
    const auto depth = static_cast<std::size_t>(plan.depth);
    a += depth * kRows;
    b += depth * kColumns;
    a8 += depth * kRows;
    b8 += depth * kColumns;
    a16 += depth * kRows;
    b16 += depth * kColumns;
    for (const Word*& word : a_negative) word += plan.nodes.size();
    b_negative += plan.nodes.size() * kColumns;
  }
};

template <class T>
HWY_INLINE NodeOperands<T> operands_of(const Work<T>& w, std::size_t link, std::size_t number) {
  const Plan& plan = *w.plan;
  const std::size_t place =
      link * static_cast<std::size_t>(plan.depth) + static_cast<std::size_t>(plan.nodes[number].first);
  const std::size_t word = link * plan.nodes.size() + number;
  NodeOperands<T> x;
  const std::size_t at = w.row * w.a_places + place * kRows;
  x.a = w.a->value.data() + at;
  x.a16 = w.a->exponent.data() + at;
  for (std::size_t r = 0; r < kRows; ++r) x.a_negative[r] = &w.a->negative[(w.row + r) * w.a_words + word];
  x.b = w.b->value.data() + place * kColumns;
  if (plan.has_ordinary_sums) {
    x.a8 = w.a->exponent8_words.data() + at;
    x.b8 = w.b->exponent8.data() + place * kColumns;
  }
  x.b16 = w.b->exponent.data() + place * kColumns;
  x.b_negative = w.b->negative.data() + word * kColumns;
  return x;
}

/// Numbers of each row for a panel's columns.
template <class T>
struct Rows {
  HWY_ALIGN T of[kRows][kColumns];
};

/// Adds a node's products to a chunk's sums, each cut toward zero.
template <class T>
HWY_INLINE void add_products(const NodeOperands<T>& x, std::size_t column, int count, V<T> (&sum)[kRows][kVectors]) {
  static_assert(kRows == 4);
  const D<T> d;
  const T *a = x.a, *b = x.b + column;
  for (int p = 0; p < count; ++p, a += kRows, b += kColumns) {
    const V<T> of_a0 = hn::Set(d, a[0]), of_a1 = hn::Set(d, a[1]);
    const V<T> of_a2 = hn::Set(d, a[2]), of_a3 = hn::Set(d, a[3]);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      const V<T> of_b = hn::Load(d, b + v * kLanes<T>);
      sum[0][v] = hn::MulAdd(of_a0, of_b, sum[0][v]);
      sum[1][v] = hn::MulAdd(of_a1, of_b, sum[1][v]);
      sum[2][v] = hn::MulAdd(of_a2, of_b, sum[2][v]);
      sum[3][v] = hn::MulAdd(of_a3, of_b, sum[3][v]);
    }
  }
}

/// The largest exponents of a node's products, or of A's operands, which `spread` has as vectors, and B's.
template <class Exponent, class OfA, class Spread>
HWY_INLINE void align(const OfA* a, const Exponent* b, int count, Exponent lowest, const Spread& spread,
                      Rows<Exponent>& to) {
  static_assert(kRows == 4);
  const hn::CappedTag<Exponent, kColumns> d;
  for (std::size_t column = 0; column < kColumns; column += hn::Lanes(d)) {
    auto most0 = hn::Set(d, lowest), most1 = most0, most2 = most0, most3 = most0;
    const OfA* of_a = a;
    const Exponent* at = b + column;
    for (int p = 0; p < count; ++p, of_a += kRows, at += kColumns) {
      const auto of_b = hn::Load(d, at);
      most0 = hn::Max(most0, hn::Add(spread(of_a[0]), of_b));
      most1 = hn::Max(most1, hn::Add(spread(of_a[1]), of_b));
      most2 = hn::Max(most2, hn::Add(spread(of_a[2]), of_b));
      most3 = hn::Max(most3, hn::Add(spread(of_a[3]), of_b));
    }
    hn::Store(most0, d, to.of[0] + column);
    hn::Store(most1, d, to.of[1] + column);
    hn::Store(most2, d, to.of[2] + column);
    hn::Store(most3, d, to.of[3] + column);
  }
}
void align_in_16_bits(const NodeOperands<double>& x, int count, int lowest, Rows<std::int16_t>& to) {
  const hn::CappedTag<std::int16_t, kColumns> d;
  const auto spread = [&](std::int16_t e) HWY_ATTR { return hn::Set(d, e); };
  align(x.a16, x.b16, count, static_cast<std::int16_t>(lowest), spread, to);
}

/// What a sum is, without the 1.5 · 2^kFraction units that it began with.
template <class T>
HWY_INLINE V<T> without_beginning(V<T> sum) {
  const V<T> half = from_bits<T>(typename Lane<T>::Bits{1} << (Lane<T>::kFraction - 1));
  return hn::Sub(sum, hn::OrAnd(half, sum, from_bits<T>(Lane<T>::kExponent)));
}

/// Grows results so far, which stay zero if they are.
template <class T>
inline constexpr T kGrowth = sizeof(T) == 8 ? T(1 + 0x1p-40) : T(1 + 0x1p-22);

// --- Roundings.

#if TCNUM_ROUNDS_EACH
/// To nearest, whatever the machine's rounding.
HWY_INLINE V<double> add_to_nearest(V<double> x, V<double> y) {
  return V<double>{_mm512_add_round_pd(x.raw, y.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
HWY_INLINE V<float> add_to_nearest(V<float> x, V<float> y) {
  return V<float>{_mm512_add_round_ps(x.raw, y.raw, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
#endif

/// A number of no sign rounded to multiples of its last place.
template <class T>
HWY_INLINE V<T> round_magnitude(const NumberRounding& how, V<T> magnitude) {
  const D<T> d;
  const DU<T> du;
  const auto binade = hn::BitCast(du, hn::Max(hn::And(magnitude, from_bits<T>(Lane<T>::kExponent)),
                                              from_bits<T>(Lane<T>::power_of_two(how.min_exponent))));
  // A sum with 1.5 · 2^kFraction of the last places has no others.
  const V<T> start = hn::BitCast(d, hn::Add(binade, hn::Set(du, Lane<T>::grid(how.fraction_bits))));
#if TCNUM_ROUNDS_EACH
  return hn::Sub(how.to_nearest ? add_to_nearest(magnitude, start) : hn::Add(magnitude, start), start);
#else
  using Bits = typename Lane<T>::Bits;
  const V<T> in_units = hn::Add(magnitude, start);  // toward zero, as all is here
  const V<T> rounded = hn::Sub(in_units, start);
  if (!how.to_nearest) return rounded;
  const auto below = [&](int bits) HWY_ATTR {
    return hn::BitCast(d, hn::Sub(binade, hn::Set(du, static_cast<Bits>(bits) << Lane<T>::kFraction)));
  };
  const V<T> unit = below(how.fraction_bits), half = below(how.fraction_bits + 1);
  const V<T> rest = hn::Sub(magnitude, rounded);
  const auto last_bit = hn::And(hn::BitCast(du, in_units), hn::Set(du, Bits{1}));
  const auto odd = hn::RebindMask(d, hn::Ne(last_bit, hn::Zero(du)));
  const auto up = hn::Or(hn::Gt(rest, half), hn::And(hn::Eq(rest, half), odd));
  return hn::Add(rounded, hn::IfThenElseZero(up, unit));
#endif
}

/// x as a number of a format.
template <class T>
HWY_INLINE V<T> round_once(const NumberRounding& how, V<T> x) {
  const D<T> d;
  const V<T> rounded = round_magnitude<T>(how, hn::Abs(x));
  const auto too_large = hn::Ge(rounded, hn::Set(d, static_cast<T>(how.overflow)));
  return hn::OrAnd(hn::IfThenElse(too_large, hn::Set(d, static_cast<T>(how.beyond)), rounded), x,
                   from_bits<T>(Lane<T>::kSign));
}

/// The sum of two fp32 or fp16 numbers, to be rounded to such.
HWY_INLINE V<double> add_for_rounding(V<double> x, V<double> y) {
  const D<double> d;
#if TCNUM_ROUNDS_EACH
  // Rounding to 53 bits before, of which 2 · 24 + 2 are enough, does not change it.
  const V<double> sum = add_to_nearest(x, y);
#else
  // Its last bit, if it cannot be exact, tells that there is more below.
  const auto x_larger = hn::Ge(hn::Abs(x), hn::Abs(y));
  const V<double> large = hn::IfThenElse(x_larger, x, y), small = hn::IfThenElse(x_larger, y, x);
  const V<double> cut = hn::Add(large, small);  // toward zero
  const auto inexact = hn::Ne(hn::Sub(cut, large), small);
  const V<double> sum = hn::Or(cut, hn::IfThenElseZero(inexact, from_bits<double>(1)));
#endif
  return hn::Add(sum, hn::Zero(d));  // a zero is positive
}

// --- Ordinary sums.

/// The high words of numbers, as many as a vector of words has lanes.
HWY_INLINE VW high_words(const V<float> (&x)[1]) { return hn::BitCast(DW(), x[0]); }
HWY_INLINE VW high_words(const V<double> (&x)[2]) {
  return hn::ConcatOdd(DW(), hn::BitCast(DW(), x[1]), hn::BitCast(DW(), x[0]));
}
/// Numbers of these high words plus `units` of their last places.
HWY_INLINE void put_words(VW high, VW units, V<float> (&x)[1]) { x[0] = hn::BitCast(D<float>(), hn::Add(high, units)); }
HWY_INLINE void put_words(VW high, VW units, V<double> (&x)[2]) {
#if TCNUM_ROUNDS_EACH
  const auto each = [&](int first) HWY_ATTR {
    const int l = first, h = 16 + first;  // 16 and more: of the other vector
    const __m512i index = _mm512_setr_epi32(l, h, l + 1, h + 1, l + 2, h + 2, l + 3, h + 3, l + 4, h + 4, l + 5, h + 5,
                                            l + 6, h + 6, l + 7, h + 7);
    return V<double>{_mm512_castsi512_pd(_mm512_permutex2var_epi32(units.raw, index, high.raw))};
  };
  x[0] = each(0);
  x[1] = each(8);
#else
  const D<double> d;
  const auto lower = hn::BitCast(d, hn::InterleaveLower(DW(), units, high));
  const auto upper = hn::BitCast(d, hn::InterleaveUpper(DW(), units, high));
  if constexpr (kLanes<double> == 2) {
    x[0] = lower;
    x[1] = upper;
  } else {
    x[0] = hn::ConcatLowerLower(d, upper, lower);
    x[1] = hn::ConcatUpperUpper(d, upper, lower);
  }
#endif
}

/// The alignment of ordinary sums with no products but zeros, unless a node's least is higher: it is above no result's
/// exponent.
template <class T>
inline constexpr int kOfZeros = sizeof(T) == 8 ? -128 : -90;

/// A node's least alignment, in 8 bits.
template <class T>
int lowest_in_8_bits(const NodePlan& node, int offset) {
  return std::max(0, std::max(node.lowest_alignment, kOfZeros<T>) - offset);
}

/// The alignments of a node's sums, in 8 bits, where all is ordinary.
template <class T>
HWY_INLINE void align_ordinary(const NodePlan& node, const NodeOperands<T>& x, int offset, Rows<std::uint8_t>& to) {
  const hn::CappedTag<std::uint8_t, kColumns> d;
  const hn::RebindToSigned<decltype(d)> ds;
  const hn::Repartition<Word, decltype(d)> dw;
  const auto spread = [&](Word e) HWY_ATTR { return hn::BitCast(d, hn::Set(dw, e)); };
  align(x.a8, x.b8, node.count, std::uint8_t{0}, spread, to);
  const auto lowest = hn::Set(d, static_cast<std::uint8_t>(lowest_in_8_bits<T>(node, offset)));
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += hn::Lanes(d)) {
      const auto e = hn::Load(d, to.of[r] + j);
      static_assert(kLeastSum8 == 1 << 7);  // which is the sign
      const auto is_one = hn::RebindMask(d, hn::Lt(hn::BitCast(ds, e), hn::Zero(ds)));
      hn::Store(hn::Max(hn::IfThenElseZero(is_one, e), lowest), d, to.of[r] + j);
    }
  }
}

/// What a sum takes beside its products.
enum class Other : std::uint8_t { none, single, half };

/// Some links of a node for a panel's columns, one after the other.
struct Links {
  std::size_t number;  ///< of the node
  std::size_t first, count;
};

/// One node's sums along some links: from results so far to the next. kSpareBit: its products leave the top bit of a
/// word. kCuts: results are cut toward zero, if that is how they are rounded.
template <class T, Other kOther, bool kSpareBit, bool kCuts>
void ordinary_sums(const Work<T>& w, const Links& links, const Rows<T>& from, Rows<T>& to) {
  constexpr int kWordBits = 8 * sizeof(Word), kHighFraction = Lane<T>::kFraction - 8 * (sizeof(T) - sizeof(Word));
  constexpr int kToHighWord = 8 * (sizeof(T) - sizeof(Word)), kLowestFloor = -100;
  constexpr std::size_t kWide = kToWords<T>;
  const D<T> d;
  const DW dw;
  const hn::Rebind<std::uint8_t, DW> d8;
  const Plan& plan = *w.plan;
  const NodePlan& node = plan.nodes[links.number];
  const V<T> growth = hn::Set(d, kGrowth<T>);
  const auto high_of = [&](typename Lane<T>::Bits bits)
                           HWY_ATTR { return hn::Set(dw, static_cast<Word>(bits >> kToHighWord)); };
  const VW offset = hn::Set(dw, static_cast<Word>(w.offset8 + Lane<T>::kBias) << kHighFraction);
  const VW grid = high_of(Lane<T>::grid(node.fraction_bits));
  const VW exponent_bits = high_of(Lane<T>::kExponent);
  const VW floor =
      high_of(Lane<T>::power_of_two(std::max(kLowestFloor, node.takes_c ? node.c_floor : node.before_floor)));
  const V<T> kept =
      from_bits<T>(node.rounding[0].to_nearest
                       ? ~typename Lane<T>::Bits{0}
                       : ~typename Lane<T>::Bits{0} << (Lane<T>::kFraction - node.rounding[0].fraction_bits));
  NodeOperands<T> x = operands_of(w, links.first, links.number);
  Rows<std::uint8_t> alignments;
  for (std::size_t link = 0; link < links.count; ++link, x.advance(plan)) {
    align_ordinary(node, x, w.offset8, alignments);
    for (std::size_t column = 0; column < kColumns; column += kChunk<T>) {
      V<T> sum[kRows][kVectors];
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRows; ++r) {
        const VW a_negative = hn::Set(dw, *x.a_negative[r]);
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kVectors; v += kWide) {
          const std::size_t at = column + v * kLanes<T>;
          const VW exponents = hn::PromoteTo(dw, hn::LoadU(d8, alignments.of[r] + at));
          VW alignment = hn::Add(hn::ShiftLeft<kHighFraction>(exponents), offset);
          VW signs = hn::Xor(a_negative, hn::Load(dw, x.b_negative + at)), negatives = hn::Zero(dw);
          V<T> before[kWide], start[kWide];
          if constexpr (kOther != Other::none) {
            for (std::size_t i = 0; i < kWide; ++i) {
              before[i] = hn::Load(d, from.of[r] + at + i * kLanes<T>);
              if constexpr (kOther == Other::half) before[i] = hn::Add(before[i], hn::Zero(d));  // makes −0 +0
            }
            const VW high = high_words(before);
            VW own = hn::And(high, exponent_bits);
            if constexpr (kOther == Other::half) own = hn::IfThenElseZero(hn::Ne(own, hn::Zero(dw)), hn::Max(own, floor));
            alignment = hn::Max(alignment, own);
            if constexpr (kSpareBit)
              signs = hn::OrAnd(signs, high, hn::Set(dw, Word{1} << (kWordBits - 1)));
            else
              negatives = hn::ShiftRight<kWordBits - 1>(high);
          }
          put_words(hn::Add(alignment, grid), hn::Add(negatives, hn::PopulationCount(signs)), start);
          for (std::size_t i = 0; i < kWide; ++i)
            sum[r][v + i] = kOther == Other::none ? start[i] : hn::MulAdd(before[i], growth, start[i]);
        }
      }
      add_products<T>(x, column, node.count, sum);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kVectors; ++v) {
          const V<T> result = without_beginning<T>(sum[r][v]);
          hn::Store(kCuts ? hn::And(result, kept) : result, d, to.of[r] + column + v * kLanes<T>);
        }
      }
    }
  }
}

/// Rounds to nearest what was not cut, if nothing overflows.
template <class T>
bool round_ordinary(const NodePlan& node, Rows<T>& rows) {
  const D<T> d;
  const NumberRounding how = node.rounding[static_cast<std::size_t>(node.roundings) - 1];
  if (!how.to_nearest) return true;
  V<T> most = hn::Zero(d);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<T>) {
      const V<T> x = hn::Load(d, rows.of[r] + j);
      const V<T> rounded = round_magnitude<T>(how, hn::Abs(x));
      most = hn::Max(most, rounded);
      const V<T> with_sign = hn::OrAnd(rounded, x, from_bits<T>(Lane<T>::kSign));
      hn::Store(node.drops_sign_of_zero ? hn::Add(with_sign, hn::Zero(d)) : with_sign, d, rows.of[r] + j);
    }
  }
  return hn::AllTrue(d, hn::Lt(most, hn::Set(d, static_cast<T>(how.overflow))));
}

void add_rows(const Rows<double>& x, const Rows<double>& y, Rows<double>& to) {
  const D<double> d;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
      const V<double> sum = add_for_rounding(hn::Load(d, x.of[r] + j), hn::Load(d, y.of[r] + j));
      hn::Store(sum, d, to.of[r] + j);
    }
  }
}

/// Takes results so far if an ordinary kernel may go on from them; in floats, cut to so many fraction bits, which is
/// what the first sum does anyway.
template <class T>
bool take_results(const Work<T>& w, Rows<T>& to) {
  const D<double> d;
  const V<double> least = hn::Set(d, kLeastOrdinary), most = hn::Set(d, kMostOrdinary);
  const V<double> kept =
      from_bits<double>(~std::uint64_t{0} << (Lane<double>::kFraction - w.plan->nodes.front().fraction_bits));
  auto all = hn::FirstN(d, kLanes<double>);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
      const V<double> x = hn::Load(d, w.sums[r] + j), magnitude = hn::Abs(x);
      const auto within = hn::And(hn::Ge(magnitude, least), hn::Lt(magnitude, most));
      all = hn::And(all, hn::Or(within, hn::Eq(magnitude, hn::Zero(d))));
      if constexpr (sizeof(T) == 8) {
        hn::Store(x, d, to.of[r] + j);
      } else {
        const hn::Rebind<float, D<double>> narrow;
        hn::StoreU(hn::DemoteTo(narrow, hn::And(x, kept)), narrow, to.of[r] + j);
      }
    }
  }
  return hn::AllTrue(d, all);
}

template <class T>
void put_results(const Rows<T>& from, double* const (&to)[kRows]) {
  const D<double> d;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
      if constexpr (sizeof(T) == 8)
        hn::Store(hn::Load(d, from.of[r] + j), d, to[r] + j);
      else
        hn::Store(hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D<double>>(), from.of[r] + j)), d, to[r] + j);
    }
  }
}

/// Whether 8 bits hold the least alignments of all nodes.
template <class T>
bool are_in_8_bits(const Plan& plan, int offset) {
  return std::ranges::all_of(plan.nodes,
                             [&](const NodePlan& node) { return lowest_in_8_bits<T>(node, offset) <= 0xff; });
}

/// A node's sums, whatever it takes.
template <class T>
void ordinary_sums(const Work<T>& w, const Links& links, const Rows<T>& from, Rows<T>& to, bool cuts) {
  const NodePlan& node = w.plan->nodes[links.number];
  const auto sum = [&](auto other, auto has_spare_bit, auto with_cut) HWY_ATTR {
    ordinary_sums<T, decltype(other)::value, decltype(has_spare_bit)::value, decltype(with_cut)::value>(w, links, from,
                                                                                                      to);
  };
  using None = std::integral_constant<Other, Other::none>;
  using Half = std::integral_constant<Other, Other::half>;
  using Single = std::integral_constant<Other, Other::single>;
  const std::true_type yes;
  const std::false_type no;
  const bool has_spare_bit = node.count < static_cast<int>(8 * sizeof(Word));
  if (!node.takes_c && !node.takes_before) return sum(None(), yes, yes);
  if (node.takes_half) return has_spare_bit ? sum(Half(), yes, yes) : sum(Half(), no, yes);
  if (cuts) return has_spare_bit ? sum(Single(), yes, yes) : sum(Single(), no, yes);
  return has_spare_bit ? sum(Single(), yes, no) : sum(Single(), no, no);
}

/// Whether each result is a term of the next sum which is cut there to as many bits as its rounding leaves, or less: it
/// need not be cut before.
bool cuts_at_end(const Plan& plan) {
  return std::ranges::all_of(plan.nodes, [](const NodePlan& node) {
    const NumberRounding& last = node.rounding[static_cast<std::size_t>(node.roundings) - 1];
    return !node.is_pair && (node.takes_c || node.takes_before) && !last.to_nearest &&
           node.fraction_bits <= last.fraction_bits;
  });
}

/// Cuts results toward zero.
template <class T>
void cut_rows(int fraction_bits, Rows<T>& rows) {
  const D<T> d;
  const V<T> kept = from_bits<T>(~typename Lane<T>::Bits{0} << (Lane<T>::kFraction - fraction_bits));
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<T>)
      hn::Store(hn::And(hn::Load(d, rows.of[r] + j), kept), d, rows.of[r] + j);
  }
}

template <class T>
bool ordinary(const Work<T>& w) {
  const Plan& plan = *w.plan;
  Rows<T> c, before;
  if (!are_in_8_bits<T>(plan, w.offset8) || !take_results(w, c)) return false;
  bool overflows = false;
  const bool at_end = cuts_at_end(plan);
  // A node that is alone and rounds nothing to nearest goes along all links at once.
  const std::size_t at_once = plan.nodes.size() == 1 && at_end ? w.links : 1;
  for (std::size_t link = 0; link < w.links; link += at_once) {
    for (std::size_t number = 0; number < plan.nodes.size(); ++number) {
      const NodePlan& node = plan.nodes[number];
      const bool is_last = number + 1 == plan.nodes.size();
      const Rows<T>& from = node.takes_c ? c : before;
      Rows<T>& to = is_last ? c : before;
      bool is_pair = false;
      if constexpr (sizeof(T) == 8) is_pair = node.is_pair;
      if (is_pair) {
        if constexpr (sizeof(T) == 8) add_rows(c, before, to);
      } else {
        ordinary_sums<T>(w, {number, link, at_once}, from, to, !at_end);
      }
      overflows |= !round_ordinary(node, to);
    }
  }
  if (overflows) return false;
  if (at_end) cut_rows(plan.nodes.back().rounding[0].fraction_bits, c);
  put_results(c, w.sums);
  return true;
}

// --- Whatever panels evaluate: in doubles.

using Double = V<double>;

/// One term beside the products: raises the alignment, and tells whether it is negative.
HWY_INLINE VU<double> take_term(Double term, int floor, Double& alignment) {
  const DU<double> du;
  const Double own = hn::Max(hn::And(term, from_bits<double>(Lane<double>::kExponent)),
                             from_bits<double>(Lane<double>::power_of_two(floor)));
  alignment = hn::Max(alignment, hn::IfThenElseZero(hn::Ne(term, hn::Zero(D<double>())), own));
  return hn::ShiftRight<63>(hn::BitCast(du, term));
}

/// A sum of which some term is an infinity or a NaN; other terms do not matter.
class SpecialSum {
 public:
  void add_products(Word a_special, Word b_special, Word a_zero, Word b_zero, Word a_negative, Word b_negative) {
    const Word special = a_special | b_special, zero = a_zero | b_zero, negative = a_negative ^ b_negative;
    nan_ |= (special & zero) != 0;  // NaNs count as zeros
    negative_ |= (special & ~zero & negative) != 0;
    positive_ |= (special & ~zero & ~negative) != 0;
  }
  void add(double term) {
    nan_ |= std::isnan(term);
    if (!std::isinf(term)) return;
    (std::signbit(term) ? negative_ : positive_) = true;
  }
  bool any() const { return nan_ || negative_ || positive_; }
  double result() const {
    if (nan_ || (negative_ && positive_)) return std::numeric_limits<double>::quiet_NaN();
    return negative_ ? -HUGE_VAL : HUGE_VAL;
  }

 private:
  bool nan_ = false, negative_ = false, positive_ = false;
};

/// Numbers on the way along a link.
struct State {
  Rows<double> c, before;
};

/// Replaces results of sums with infinities or NaNs among their terms.
void put_specials(const Work<double>& w, std::size_t r, std::size_t word, const NodePlan& node, const State& terms,
                  double* results) {
  const std::size_t at_a = (w.row + r) * w.a_words + word, at_b = word * kColumns;
  for (std::size_t j = 0; j < kColumns; ++j) {
    SpecialSum sum;
    sum.add_products(w.a->special[at_a], w.b->special[at_b + j], w.a->zero[at_a], w.b->zero[at_b + j],
                     w.a->negative[at_a], w.b->negative[at_b + j]);
    if (node.takes_c) sum.add(terms.c.of[r][j]);
    if (node.takes_before) sum.add(terms.before.of[r][j]);
    if (sum.any()) results[j] = sum.result();
  }
}

/// Whether a row of terms has infinities or NaNs.
HWY_INLINE bool any_not_finite(const double* row) {
  const D<double> d;
  for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
    if (!hn::AllTrue(d, hn::Lt(hn::Abs(hn::Load(d, row + j)), hn::Set(d, HUGE_VAL)))) return true;
  }
  return false;
}

/// Exponents as they are in the lanes' own numbers: the bits of 2^e.
HWY_INLINE Double powers_of_two(const std::int16_t* exponents) {
  const D<double> d;
  const hn::RebindToSigned<D<double>> di;
  const hn::Rebind<std::int16_t, D<double>> d16;
  const hn::Rebind<std::int32_t, D<double>> d32;
  const auto e = hn::PromoteTo(di, hn::PromoteTo(d32, hn::LoadU(d16, exponents)));
  return hn::BitCast(d, hn::ShiftLeft<Lane<double>::kFraction>(hn::Add(e, hn::Set(di, Lane<double>::kBias))));
}

void sum_of_products(const NodePlan& node, const NodeOperands<double>& x, const State& state, Rows<double>& results) {
  const D<double> d;
  const DU<double> du;
  const hn::Rebind<Word, D<double>> dw;
  const Double growth = hn::Set(d, kGrowth<double>), zero = hn::Zero(d);
  const VU<double> grid = hn::Set(du, Lane<double>::grid(node.fraction_bits));
  Rows<std::int16_t> alignments;
  align_in_16_bits(x, node.count, node.lowest_alignment, alignments);
  for (std::size_t column = 0; column < kColumns; column += kChunk<double>) {
    Double sum[kRows][kVectors];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) {
        const std::size_t at = column + v * kLanes<double>;
        const auto signs = hn::Xor(hn::Set(dw, *x.a_negative[r]), hn::Load(dw, x.b_negative + at));
        VU<double> negatives = hn::PromoteTo(du, hn::PopulationCount(signs));
        Double alignment = powers_of_two(alignments.of[r] + at), c = zero, before = zero;
        // Adding zero makes −0 the +0 that it is worth.
        if (node.takes_c) {
          c = hn::Add(hn::Load(d, state.c.of[r] + at), zero);
          negatives = hn::Add(negatives, take_term(c, node.c_floor, alignment));
        }
        if (node.takes_before) {
          before = hn::Add(hn::Load(d, state.before.of[r] + at), zero);
          negatives = hn::Add(negatives, take_term(before, node.before_floor, alignment));
        }
        sum[r][v] = hn::BitCast(d, hn::Add(hn::Add(hn::BitCast(du, alignment), grid), negatives));
        if (node.takes_c) sum[r][v] = hn::MulAdd(c, growth, sum[r][v]);
        if (node.takes_before) sum[r][v] = hn::MulAdd(before, growth, sum[r][v]);
      }
    }
    add_products<double>(x, column, node.count, sum);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v)
        hn::Store(without_beginning<double>(sum[r][v]), d, results.of[r] + column + v * kLanes<double>);
    }
  }
}

void round_results(const NodePlan& node, Rows<double>& results) {
  const D<double> d;
  const NumberRounding first = node.rounding[0], second = node.rounding[1];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
      Double x = round_once<double>(first, hn::Load(d, results.of[r] + j));
      if (node.roundings == 2) x = round_once<double>(second, x);
      if (node.drops_sign_of_zero) x = hn::Add(x, hn::Zero(d));
      hn::Store(x, d, results.of[r] + j);
    }
  }
}

void general(const Work<double>& w) {
  const Plan& plan = *w.plan;
  State state;
  Rows<double> results;
  for (std::size_t r = 0; r < kRows; ++r) std::memcpy(state.c.of[r], w.sums[r], sizeof(state.c.of[r]));
  for (std::size_t link = 0; link < w.links; ++link) {
    for (std::size_t number = 0; number < plan.nodes.size(); ++number) {
      const NodePlan& node = plan.nodes[number];
      if (node.is_pair)
        add_rows(state.c, state.before, results);
      else
        sum_of_products(node, operands_of(w, link, number), state, results);
      round_results(node, results);
      for (std::size_t r = 0; r < kRows; ++r) {
        const bool any_special = w.a->range[w.row + r].any_special || w.b->range[0].any_special ||
                                 (node.takes_c && any_not_finite(state.c.of[r])) ||
                                 (node.takes_before && any_not_finite(state.before.of[r]));
        if (any_special) put_specials(w, r, link * plan.nodes.size() + number, node, state, results.of[r]);
      }
      state.before = results;
    }
    state.c = state.before;
  }
  put_results(state.c, w.sums);
}

// --- Sums of scaled sums.

/// An exact sum of products times its two scales, for a panel's columns. Raises the alignments by it.
void add_scaled_sum(const Work<double>& w, std::size_t link, std::size_t number, Rows<double>& sums,
                    Rows<double>& alignments) {
  const D<double> d;
  const DU<double> du;
  const Plan& plan = *w.plan;
  const NodePlan& node = plan.nodes[number];
  const NodeOperands<double> x = operands_of(w, link, number);
  const auto in_link = static_cast<std::size_t>(plan.depth / plan.scales->block_k);
  const std::size_t block = link * in_link + static_cast<std::size_t>(node.block), blocks = w.links * in_link;
  const double* const b_scale = w.b->scale.data() + block * kColumns;
  const std::int16_t* const b_exponent = w.b->scale_exponent.data() + block * kColumns;
  const auto bias = hn::Set(du, Lane<double>::power_of_two(0));
  const Double least = from_bits<double>(Lane<double>::power_of_two(kNoExponent16 / 2));
  Rows<std::int16_t> exponents;
  align_in_16_bits(x, node.count, kNoExponent16, exponents);
  for (std::size_t column = 0; column < kColumns; column += kChunk<double>) {
    Double sum[kRows][kVectors];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
    }
    add_products<double>(x, column, node.count, sum);
    for (std::size_t r = 0; r < kRows; ++r) {
      const std::size_t of_a = (w.row + r) * blocks + block;
      const Double a_scale = hn::Set(d, w.a->scale[of_a]);
      const auto a_exponent =
          hn::Set(du, static_cast<std::uint64_t>(std::int64_t{w.a->scale_exponent[of_a]}) << Lane<double>::kFraction);
      for (std::size_t v = 0; v < kVectors; ++v) {
        const std::size_t at = column + v * kLanes<double>;
        const Double scales = hn::Mul(a_scale, hn::Load(d, b_scale + at)), scaled = hn::Mul(sum[r][v], scales);
        const Double of_products = powers_of_two(exponents.of[r] + at);
        auto own = hn::Add(a_exponent, hn::BitCast(du, powers_of_two(b_exponent + at)));
        auto counts = hn::Ne(scaled, hn::Zero(d));
        if (node.by_scales_alone)  // one that cancels to zero takes part too
          counts = hn::And(hn::Ne(scales, hn::Zero(d)), hn::Lt(least, of_products));
        else
          own = hn::Sub(hn::Add(own, hn::BitCast(du, of_products)), bias);
        const Double alignment = hn::IfThenElseZero(counts, hn::BitCast(d, own));
        hn::Store(hn::Max(hn::Load(d, alignments.of[r] + at), alignment), d, alignments.of[r] + at);
        hn::Store(scaled, d, sums.of[r] + at);
      }
    }
  }
}

/// Adds c and scaled sums, as if they were finite, to numbers that are yet to be rounded.
void add_scaled_sums(const NodePlan& node, const Rows<double>* sums, std::size_t count, const Rows<double>& c,
                     const Rows<double>& alignments, Rows<double>& results) {
  const D<double> d;
  const DU<double> du;
  const Double zero = hn::Zero(d), growth = hn::Set(d, kGrowth<double>);
  const auto grid = hn::Set(du, Lane<double>::grid(node.fraction_bits));
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
      const Double x = hn::Add(hn::Load(d, c.of[r] + j), zero);
      Double alignment = hn::Load(d, alignments.of[r] + j);
      VU<double> negatives = take_term(x, node.c_floor, alignment);
      for (std::size_t i = 0; i < count; ++i)
        negatives = hn::Add(negatives, hn::ShiftRight<63>(hn::BitCast(du, hn::Load(d, sums[i].of[r] + j))));
      Double sum = hn::BitCast(d, hn::Add(hn::Add(hn::BitCast(du, alignment), grid), negatives));
      sum = hn::MulAdd(x, growth, sum);
      for (std::size_t i = 0; i < count; ++i) {
        // A negative zero takes off the unit that it was counted with.
        const Double term = hn::Load(d, sums[i].of[r] + j);
        sum = hn::Add(sum, hn::Or(term, from_bits<double>(1)));
      }
      hn::Store(without_beginning<double>(sum), d, results.of[r] + j);
    }
  }
}

/// Where c or a scale is none, results are what is left of them.
void put_specials(const Rows<double>* sums, std::size_t count, const Rows<double>& c, Rows<double>& results) {
  const D<double> d;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
      const Double x = hn::Load(d, c.of[r] + j);
      Double result = hn::Load(d, results.of[r] + j);
      result = hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, HUGE_VAL)), result, x);
      for (std::size_t i = 0; i < count; ++i) {
        const Double term = hn::Load(d, sums[i].of[r] + j);
        result = hn::IfThenElse(hn::Eq(term, term), result, term);
      }
      hn::Store(result, d, results.of[r] + j);
    }
  }
}

void scaled_sums(const Work<double>& w) {
  const Plan& plan = *w.plan;
  const NodePlan& last = plan.nodes.back();
  const std::size_t count = plan.nodes.size() - 1;
  const D<double> d;
  Rows<double> c, results, alignments, sums[kMostScaledSums];
  for (std::size_t r = 0; r < kRows; ++r) std::memcpy(c.of[r], w.sums[r], sizeof(c.of[r]));
  for (std::size_t link = 0; link < w.links; ++link) {
    const Double lowest = from_bits<double>(Lane<double>::power_of_two(last.lowest_alignment));
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t j = 0; j < kColumns; j += kLanes<double>) hn::Store(lowest, d, alignments.of[r] + j);
    }
    for (std::size_t number = 0; number < count; ++number) add_scaled_sum(w, link, number, sums[number], alignments);
    add_scaled_sums(last, sums, count, c, alignments, results);
    round_results(last, results);
    put_specials(sums, count, c, results);
    c = results;
  }
  put_results(c, w.sums);
}

const Kernels* kernels_of_target() {
  static const Kernels kKernels = {hwy::TargetName(HWY_TARGET),
                                   pack_a<double>,
                                   pack_b<double>,
                                   pack_a<float>,
                                   pack_b<float>,
                                   read,
                                   write,
                                   ordinary<double>,
                                   ordinary<float>,
                                   scaled_sums,
                                   general};
  return &kKernels;
}

#else

const Kernels* kernels_of_target() { return nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tcnum::panels {

HWY_EXPORT(kernels_of_target);

const Kernels* kernels() { return HWY_DYNAMIC_DISPATCH(kernels_of_target)(); }

}  // namespace tcnum::panels
#endif
