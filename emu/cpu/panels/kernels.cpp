// Compiled once for each CPU by Highway. Only CPUs with fused multiply-adds evaluate panels: another rounding between
// product and sum would cut twice.
#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/cpu/panels/kernels.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which compiles this file anew for each target.
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels.hpp"
#include "prefetch.hpp"

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
/// Vectors of the first halves of words.
using DT = hn::CappedTag<Top, kColumns>;
using VT = hn::Vec<DT>;
inline constexpr std::size_t kTops = hn::MaxLanes(DT());
/// So many vectors of numbers have as many lanes as one of their tops.
template <class T>
inline constexpr std::size_t kToTops = sizeof(T) / sizeof(Top);

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
/// In which place of a vector of tops, among those of its block of 128 bits, is that of lane `lane` of that block of
/// vector `v` of numbers: where tops_of() has it, and put_tops() takes it from.
template <class T>
constexpr std::size_t top_in_block(std::size_t v, std::size_t lane) {
  return sizeof(T) == 8 ? v % 2 * 4 + lane * 2 + v / 2 : v * 4 + lane;
}
/// Where an ordinary kernel has what belongs to a column: tops as above, and bytes in pairs, of which one vector of
/// tops has the first, and the next the second.
struct Order {
  std::array<std::uint8_t, kColumns> top, byte;
};
template <class T>
constexpr Order order_of_columns() {
  constexpr std::size_t kBlock = 16 / sizeof(T), kTopsOfBlock = 16 / sizeof(Top);
  static_assert(kColumns % (2 * kTops) == 0);
  Order order{};
  for (std::size_t column = 0; column < kColumns; ++column) {
    const std::size_t vector = column / kTops, v = column % kTops / kLanes<T>, lane = column % kLanes<T>;
    const std::size_t top = lane / kBlock * kTopsOfBlock + top_in_block<T>(v, lane % kBlock);
    order.top[column] = static_cast<std::uint8_t>(vector * kTops + top);
    order.byte[column] = static_cast<std::uint8_t>(vector / 2 * 2 * kTops + top * 2 + vector % 2);
  }
  return order;
}
template <class T>
inline constexpr Order kOrder = order_of_columns<T>();

/// A panel's.
template <class T>
void narrow_exponents(const std::int16_t* exponents, std::size_t places, const Range& range, std::uint8_t* to) {
  const hn::CappedTag<std::int16_t, kRun> d;
  const hn::Rebind<std::uint8_t, decltype(d)> narrow;
  HWY_ALIGN std::uint8_t of_column[kColumns];
  for (std::size_t place = 0; place < places; ++place, exponents += kColumns, to += kColumns) {
    for (std::size_t j = 0; j < kColumns; j += hn::Lanes(d))
      hn::StoreU(hn::DemoteTo(narrow, in_8_bits(hn::Load(d, exponents + j), range)), narrow, of_column + j);
    for (std::size_t j = 0; j < kColumns; ++j) to[kOrder<T>.byte[j]] = of_column[j];
  }
}
/// A panel's signs, in halves.
template <class T>
void narrow_signs(const Buffer<Word>& negative, Buffer<Top>& to) {
  to.resize(negative.size() * kTopsOfWord);
  for (std::size_t first = 0; first < negative.size(); first += kColumns) {
    for (std::size_t half = 0; half < kTopsOfWord; ++half) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        const Word word = negative[first + j] >> (half * kTopBits);
        to[first * kTopsOfWord + half * kColumns + kOrder<T>.top[j]] = static_cast<Top>(word);
      }
    }
  }
}
/// Those of lines of A, each twice.
void spread_signs(const Buffer<Word>& negative, Buffer<Word>& to) {
  to.resize(negative.size() * kTopsOfWord);
  for (std::size_t i = 0; i < negative.size(); ++i) {
    for (std::size_t half = 0; half < kTopsOfWord; ++half)
      to[i * kTopsOfWord + half] = (negative[i] >> (half * kTopBits) & 0xffff) * 0x00010001u;
  }
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
  if (plan.has_ordinary_sums) spread_signs(to.negative, to.negative_twice);
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
  if (!plan.has_ordinary_sums) return;
  narrow_exponents<T>(to.exponent.data(), places, range, to.exponent8.data());
  narrow_signs<T>(to.negative, to.negative_tops);
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
                  float* to) {
  const NumberFields f = fields;
  for (std::size_t i = 0; i < count; ++i) {
    Code code;
    std::memcpy(&code, codes + i * stride * sizeof(Code), sizeof(Code));
    const std::uint64_t magnitude = code & (f.sign - 1), sign = (code & f.sign) != 0 ? Lane<double>::kSign : 0;
    const auto finite = std::bit_cast<std::uint64_t>(std::bit_cast<double>(magnitude << f.shift) * f.up);
    const std::uint64_t special = magnitude == f.infinity ? Lane<double>::kExponent : ~std::uint64_t{0} >> 1;
    // −0 is worth +0, and an ordinary sum would take it for less.
    to[i] = static_cast<float>(std::bit_cast<double>((magnitude >= f.infinity ? special : finite) | sign) + 0.0);
  }
}

template <class Code>
void write_numbers(const NumberFields& fields, std::uint64_t nan, const float* from, std::size_t count,
                   std::byte* codes, std::size_t stride) {
  const NumberFields f = fields;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(double{from[i]}), magnitude = bits & ~Lane<double>::kSign;
    const std::uint64_t finite = std::bit_cast<std::uint64_t>(std::bit_cast<double>(magnitude) * f.down) >> f.shift;
    const std::uint64_t sign = magnitude != bits ? f.sign : 0;
    const std::uint64_t number = (magnitude == Lane<double>::kExponent ? f.infinity : finite) | sign;
    const auto code = static_cast<Code>(magnitude > Lane<double>::kExponent ? nan : number);
    std::memcpy(codes + i * stride * sizeof(Code), &code, sizeof(Code));
  }
}

void read(FormatId id, const std::byte* codes, std::size_t stride, std::size_t count, float* to) {
  const Format& f = format(id);
  const NumberFields fields(f);
  if (f.storage_bytes() == 2) return read_numbers<std::uint16_t>(fields, codes, stride, count, to);
  read_numbers<std::uint32_t>(fields, codes, stride, count, to);
}

void write(FormatId id, std::uint64_t nan, const float* from, std::size_t count, std::byte* codes, std::size_t stride) {
  const Format& f = format(id);
  const NumberFields fields(f);
  if (f.storage_bytes() == 2) return write_numbers<std::uint16_t>(fields, nan, from, count, codes, stride);
  write_numbers<std::uint32_t>(fields, nan, from, count, codes, stride);
}

// --- Sums.

/// So many vectors of each of so many rows at once, which registers hold.
inline constexpr std::size_t kVectors = 4;
inline constexpr std::size_t kRowsAtOnce = HWY_TARGET == HWY_AVX2 ? 2 : 4;
template <class T>
using Sums = V<T>[kRowsAtOnce][kVectors];
/// Visits all sums of a panel, as many at once: from some row, and from some column.
template <class T, class Visit>
HWY_INLINE void each_chunk(const Visit& visit) {
  for (std::size_t column = 0; column < kColumns; column += kVectors * kLanes<T>) {
    for (std::size_t row = 0; row < kRows; row += kRowsAtOnce) visit(row, column);
  }
}

/// Where a node's operands are.
struct NodeOperands {
  const double *a, *b;  ///< [count][kRows], and [count][kColumns]
  const std::int16_t *a16, *b16;
  Word a_negative[kRows];
  const Word* b_negative;
};

HWY_INLINE NodeOperands operands_of(const Work<double>& w, std::size_t link, std::size_t number) {
  const Plan& plan = *w.plan;
  const std::size_t place =
      link * static_cast<std::size_t>(plan.depth) + static_cast<std::size_t>(plan.nodes[number].first);
  const std::size_t word = link * plan.nodes.size() + number;
  NodeOperands x;
  const std::size_t at = w.row * w.a_places + place * kRows;
  x.a = w.a->value.data() + at;
  x.a16 = w.a->exponent.data() + at;
  for (std::size_t r = 0; r < kRows; ++r) x.a_negative[r] = w.a->negative[(w.row + r) * w.a_words + word];
  x.b = w.b->value.data() + place * kColumns;
  x.b16 = w.b->exponent.data() + place * kColumns;
  x.b_negative = w.b->negative.data() + word * kColumns;
  return x;
}

/// Numbers of each row for a panel's columns.
template <class T>
struct Rows {
  HWY_ALIGN T of[kRows][kColumns];
};

/// Adds the products of [count][kRows] and [count][kColumns] to the sums from some row and column on, each cut toward
/// zero.
template <class T>
HWY_INLINE void add_products(const T* a, const T* b, std::size_t row, std::size_t column, int count, Sums<T>& sum) {
  const D<T> d;
  a += row;
  b += column;
  for (int p = 0; p < count; ++p, a += kRows, b += kColumns) {
    V<T> of_a[kRowsAtOnce];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRowsAtOnce; ++r) of_a[r] = hn::Set(d, a[r]);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < kVectors; ++v) {
      const V<T> of_b = hn::Load(d, b + v * kLanes<T>);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRowsAtOnce; ++r) sum[r][v] = hn::MulAdd(of_a[r], of_b, sum[r][v]);
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
void align_in_16_bits(const NodeOperands& x, int count, int lowest, Rows<std::int16_t>& to) {
  const hn::CappedTag<std::int16_t, kColumns> d;
  const auto spread = [&](std::int16_t e) HWY_ATTR { return hn::Set(d, e); };
  align(x.a16, x.b16, count, static_cast<std::int16_t>(lowest), spread, to);
}

/// What a sum is, without the 1.5 · 2^kFraction units that it began with.
template <class T>
HWY_INLINE V<T> without_beginning(V<T> sum) {
  const V<T> binade = hn::And(sum, from_bits<T>(Lane<T>::kExponent));
  return hn::NegMulAdd(binade, hn::Set(D<T>(), T(1.5)), sum);
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

/// The second word of each pair of x, and of y, within blocks of 128 bits.
HWY_INLINE VW odd_words(VW x, VW y) {
#if TCNUM_ROUNDS_EACH
  return VW{_mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(x.raw), _mm512_castsi512_ps(y.raw), 0xdd))};
#elif HWY_TARGET == HWY_AVX2
  return VW{_mm256_castps_si256(_mm256_shuffle_ps(_mm256_castsi256_ps(x.raw), _mm256_castsi256_ps(y.raw), 0xdd))};
#else
  static_assert(kWords * sizeof(Word) == 16);
  return hn::ConcatOdd(DW(), y, x);
#endif
}

/// The tops of numbers, in the order of top_in_block().
HWY_INLINE VT tops_of(const V<double> (&x)[4]) {
  const DW dw;
  const DT dt;
  const auto words = [&](int v) HWY_ATTR { return hn::BitCast(dw, x[v]); };
  const VW first = odd_words(words(0), words(1)), second = odd_words(words(2), words(3));
  return hn::OddEven(hn::BitCast(dt, second), hn::BitCast(dt, hn::ShiftRight<kTopBits>(first)));
}
HWY_INLINE VT tops_of(const V<float> (&x)[2]) {
  const auto first = [&](int v) HWY_ATTR { return hn::ShiftRight<kTopBits>(hn::BitCast(DSW(), x[v])); };
  return hn::BitCast(DT(), hn::ReorderDemote2To(hn::RebindToSigned<DT>(), first(0), first(1)));
}

/// Numbers of these tops plus `units`, fewer than 256, of their last places.
HWY_INLINE void put_tops(VT tops, VT units, V<double> (&x)[4]) {
  const DT dt;
  const hn::Repartition<std::uint8_t, DT> d8;
  // Of each block of 128 bits, the words from which its two numbers are: 0 and 2, or 1 and 3. Others' bytes are 0.
  constexpr std::uint8_t o = 0x80;
  HWY_ALIGN static constexpr std::uint8_t kEven[16] = {0, o, o, o, o, o, 2, 3, 8, o, o, o, o, o, 10, 11};
  HWY_ALIGN static constexpr std::uint8_t kOdd[16] = {4, o, o, o, o, o, 6, 7, 12, o, o, o, o, o, 14, 15};
  const auto even = hn::LoadDup128(d8, kEven), odd = hn::LoadDup128(d8, kOdd);
  const auto lower = hn::BitCast(d8, hn::InterleaveLower(dt, units, tops));
  const auto upper = hn::BitCast(d8, hn::InterleaveUpper(dt, units, tops));
  const D<double> d;
  x[0] = hn::BitCast(d, hn::TableLookupBytesOr0(lower, even));
  x[1] = hn::BitCast(d, hn::TableLookupBytesOr0(upper, even));
  x[2] = hn::BitCast(d, hn::TableLookupBytesOr0(lower, odd));
  x[3] = hn::BitCast(d, hn::TableLookupBytesOr0(upper, odd));
}
HWY_INLINE void put_tops(VT tops, VT units, V<float> (&x)[2]) {
  x[0] = hn::BitCast(D<float>(), hn::InterleaveLower(DT(), units, tops));
  x[1] = hn::BitCast(D<float>(), hn::InterleaveUpper(DT(), units, tops));
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

/// Some links of a node for a panel's columns, one after the other.
struct Links {
  std::size_t number;  ///< of the node
  std::size_t first, count;
};

/// Where the operands of an ordinary sum are.
template <class T>
struct OrdinaryOperands {
  const T *a, *b;          ///< as NodeOperands has them
  const Word* a8;          ///< [count][kRows]
  const std::uint8_t* b8;  ///< [count][kColumns]
  const Word* a_signs;     ///< [kTopsOfWord], of rows so far apart
  std::size_t row_of_signs;
  const Top* b_signs;  ///< [kTopsOfWord][kColumns]

  OrdinaryOperands(const Work<T>& w, const Links& links) {
    const Plan& plan = *w.plan;
    const std::size_t place =
        links.first * static_cast<std::size_t>(plan.depth) + static_cast<std::size_t>(plan.nodes[links.number].first);
    const std::size_t word = links.first * plan.nodes.size() + links.number;
    const std::size_t at = w.row * w.a_places + place * kRows;
    a = w.a->value.data() + at;
    b = w.b->value.data() + place * kColumns;
    a8 = w.a->exponent8_words.data() + at;
    b8 = w.b->exponent8.data() + place * kColumns;
    row_of_signs = w.a_words * kTopsOfWord;
    a_signs = w.a->negative_twice.data() + w.row * row_of_signs + word * kTopsOfWord;
    b_signs = w.b->negative_tops.data() + word * kTopsOfWord * kColumns;
  }
  /// To the next link.
  HWY_INLINE void advance(const Plan& plan) {
    const auto depth = static_cast<std::size_t>(plan.depth);
    const std::size_t halves = plan.nodes.size() * kTopsOfWord;
    a += depth * kRows;
    b += depth * kColumns;
    a8 += depth * kRows;
    b8 += depth * kColumns;
    a_signs += halves;
    b_signs += halves * kColumns;
  }
};

/// A number's bits as those of its top.
template <class T>
inline constexpr int kToTop = 8 * (sizeof(T) - sizeof(Top));
template <class T>
inline constexpr int kTopFraction = Lane<T>::kFraction - kToTop<T>;

/// The first bytes of pairs, or the second, where tops of numbers have their exponents.
template <class T, bool kSecond>
HWY_INLINE VT exponents_of(VT pairs) {
#if TCNUM_ROUNDS_EACH
  if constexpr (kTopFraction<T> < 7) {  // multiplies and adds the bytes of each pair
    constexpr short kTimes = 1 << kTopFraction<T>;
    return VT{_mm512_maddubs_epi16(pairs.raw, _mm512_set1_epi16(kSecond ? kTimes << 8 : kTimes))};
  }
#endif
  const VT field = hn::Set(DT(), Top{0xff} << kTopFraction<T>);
  if constexpr (kSecond) return hn::And(hn::ShiftRight<8 - kTopFraction<T>>(pairs), field);
  return hn::And(hn::ShiftLeft<kTopFraction<T>>(pairs), field);
}

/// The alignments of a node's sums, as tops of powers of two, where all is ordinary.
template <class T>
HWY_INLINE void align_ordinary(const NodePlan& node, const OrdinaryOperands<T>& x, int offset, Rows<Top>& to) {
  const DT dt;
  const hn::Repartition<std::uint8_t, DT> d;
  const hn::RebindToSigned<decltype(d)> ds;
  const hn::Repartition<Word, decltype(d)> dw;
  const auto spread = [&](Word e) HWY_ATTR { return hn::BitCast(d, hn::Set(dw, e)); };
  Rows<std::uint8_t> exponents;
  align(x.a8, x.b8, node.count, std::uint8_t{0}, spread, exponents);
  const auto lowest = hn::Set(d, static_cast<std::uint8_t>(lowest_in_8_bits<T>(node, offset)));
  const VT more = hn::Set(dt, static_cast<Top>((offset + Lane<T>::kBias) << kTopFraction<T>));
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += hn::Lanes(d)) {
      const auto e = hn::Load(d, exponents.of[r] + j);
      static_assert(kLeastSum8 == 1 << 7);  // which is the sign
      const auto is_one = hn::RebindMask(d, hn::Lt(hn::BitCast(ds, e), hn::Zero(ds)));
      const VT pairs = hn::BitCast(dt, hn::Max(hn::IfThenElseZero(is_one, e), lowest));
      hn::Store(hn::Add(exponents_of<T, false>(pairs), more), dt, to.of[r] + j);
      hn::Store(hn::Add(exponents_of<T, true>(pairs), more), dt, to.of[r] + j + kTops);
    }
  }
}

/// What a sum takes beside its products.
enum class Other : std::uint8_t { none, single, half };

/// One node's sums along some links: from results so far to the next. kSpareBit: its products' signs leave the top bit
/// of a half of a word. kCuts: results are cut toward zero, if that is how they are rounded.
template <class T, Other kOther, bool kSpareBit, bool kCuts>
void ordinary_sums(const Work<T>& w, const Links& links, const Rows<T>& from, Rows<T>& to) {
  constexpr int kLowestFloor = -100;
  constexpr std::size_t kWide = kToTops<T>;
  const D<T> d;
  const DT dt;
  const Plan& plan = *w.plan;
  const NodePlan& node = plan.nodes[links.number];
  const V<T> growth = hn::Set(d, kGrowth<T>);
  const auto top_of = [&](typename Lane<T>::Bits bits)
                          HWY_ATTR { return hn::Set(dt, static_cast<Top>(bits >> kToTop<T>)); };
  const VT grid = top_of(Lane<T>::grid(node.fraction_bits));
  const VT exponent_bits = top_of(Lane<T>::kExponent), sign_bit = top_of(Lane<T>::kSign);
  const VT floor =
      top_of(Lane<T>::power_of_two(std::max(kLowestFloor, node.takes_c ? node.c_floor : node.before_floor)));
  const V<T> kept =
      from_bits<T>(node.rounding[0].to_nearest
                       ? ~typename Lane<T>::Bits{0}
                       : ~typename Lane<T>::Bits{0} << (Lane<T>::kFraction - node.rounding[0].fraction_bits));
  const std::size_t last_half = node.count > kTopBits ? 1 : 0;  // of the words of signs
  OrdinaryOperands<T> x(w, links);
  Rows<Top> alignments;
  // For vectors of sums, as many as one has tops, from what else they add.
  const auto begin = [&](std::size_t r, std::size_t column, V<T>(&sum)[kVectors], std::size_t v) HWY_ATTR {
    const std::size_t at = column + v * kLanes<T>;
    const auto signs_of = [&](std::size_t half) HWY_ATTR {
      const VT of_a = hn::BitCast(dt, hn::Set(DW(), x.a_signs[r * x.row_of_signs + half]));
      return hn::Xor(of_a, hn::Load(dt, x.b_signs + half * kColumns + at));
    };
    VT alignment = hn::Load(dt, alignments.of[r] + at), signs = signs_of(last_half), tops = hn::Zero(dt);
    V<T> before[kWide], start[kWide];
    if constexpr (kOther != Other::none) {
      for (std::size_t i = 0; i < kWide; ++i) {
        before[i] = hn::Load(d, from.of[r] + at + i * kLanes<T>);
        if constexpr (kOther == Other::half) before[i] = hn::Add(before[i], hn::Zero(d));  // makes −0 +0
      }
      tops = tops_of(before);
      VT own = hn::And(tops, exponent_bits);
      if constexpr (kOther == Other::half) own = hn::IfThenElseZero(hn::Ne(own, hn::Zero(dt)), hn::Max(own, floor));
      alignment = hn::Max(alignment, own);
      if constexpr (kSpareBit) signs = hn::OrAnd(signs, tops, sign_bit);
    }
    VT negatives = hn::PopulationCount(signs);
    if (last_half != 0) negatives = hn::Add(negatives, hn::PopulationCount(signs_of(0)));
    if constexpr (kOther != Other::none && !kSpareBit)
      negatives = hn::Add(negatives, hn::ShiftRight<kTopBits - 1>(tops));
    put_tops(hn::Add(alignment, grid), negatives, start);
    for (std::size_t i = 0; i < kWide; ++i)
      sum[v + i] = kOther == Other::none ? start[i] : hn::MulAdd(before[i], growth, start[i]);
  };
  for (std::size_t link = 0; link < links.count; ++link, x.advance(plan)) {
    prefetch_part(w.next, kRows * kColumns, links.first + link, w.links);
    align_ordinary(node, x, w.offset8, alignments);
    each_chunk<T>([&](std::size_t row, std::size_t column) HWY_ATTR {
      Sums<T> sum;
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kVectors; v += kWide) begin(row + r, column, sum[r], v);
      }
      add_products<T>(x.a, x.b, row, column, node.count, sum);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kVectors; ++v) {
          const V<T> result = without_beginning<T>(sum[r][v]);
          hn::Store(kCuts ? hn::And(result, kept) : result, d, to.of[row + r] + column + v * kLanes<T>);
        }
      }
    });
  }
}

const NumberRounding& last_rounding(const NodePlan& node) {
  return node.rounding[static_cast<std::size_t>(node.roundings) - 1];
}

/// Rounds to nearest what was not cut, if nothing overflows.
template <class T>
bool round_ordinary(const NodePlan& node, Rows<T>& rows) {
  const D<T> d;
  const NumberRounding& how = last_rounding(node);
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

/// Results so far, as doubles.
HWY_INLINE V<double> load_results(const float* from) {
  return hn::PromoteTo(D<double>(), hn::LoadU(hn::Rebind<float, D<double>>(), from));
}
void take_results(const Work<double>& w, Rows<double>& to) {
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<double>)
      hn::Store(load_results(w.sums[r] + j), D<double>(), to.of[r] + j);
  }
}
/// Those from which an ordinary kernel may go on, if all are; in floats, cut to so many fraction bits, which is what
/// the first sum does anyway.
template <class T>
bool take_ordinary_results(const Work<T>& w, Rows<T>& to) {
  const D<T> d;
  const hn::Rebind<float, D<T>> narrow;
  const V<T> least = hn::Set(d, static_cast<T>(kLeastOrdinary)), most = hn::Set(d, static_cast<T>(kMostOrdinary));
  const V<T> kept =
      from_bits<T>(~typename Lane<T>::Bits{0} << (Lane<T>::kFraction - w.plan->nodes.front().fraction_bits));
  auto all = hn::FirstN(d, kLanes<T>);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<T>) {
      V<T> x;
      if constexpr (sizeof(T) == 8)
        x = load_results(w.sums[r] + j);
      else
        x = hn::LoadU(narrow, w.sums[r] + j);
      const V<T> magnitude = hn::Abs(x);
      const auto within = hn::And(hn::Ge(magnitude, least), hn::Lt(magnitude, most));
      all = hn::And(all, hn::Or(within, hn::Eq(magnitude, hn::Zero(d))));
      hn::Store(sizeof(T) == 8 ? x : hn::And(x, kept), d, to.of[r] + j);
    }
  }
  return hn::AllTrue(d, all);
}

template <class T>
void put_results(const Rows<T>& from, float* const (&to)[kRows]) {
  const D<T> d;
  const hn::Rebind<float, D<T>> narrow;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<T>) {
      const V<T> x = hn::Load(d, from.of[r] + j);
      if constexpr (sizeof(T) == 8)
        hn::StoreU(hn::DemoteTo(narrow, x), narrow, to[r] + j);
      else
        hn::StoreU(x, narrow, to[r] + j);
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
  const bool has_spare_bit = node.count % kTopBits != 0;
  if (!node.takes_c && !node.takes_before) return sum(None(), yes, yes);
  if (node.takes_half) return has_spare_bit ? sum(Half(), yes, yes) : sum(Half(), no, yes);
  if (cuts) return has_spare_bit ? sum(Single(), yes, yes) : sum(Single(), no, yes);
  return has_spare_bit ? sum(Single(), yes, no) : sum(Single(), no, no);
}

/// Whether each result is a term of the next sum which is cut there to as many bits as its rounding leaves, or less: it
/// need not be cut before.
bool cuts_at_end(const Plan& plan) {
  return std::ranges::all_of(plan.nodes, [](const NodePlan& node) {
    return !node.is_pair && (node.takes_c || node.takes_before) && !last_rounding(node).to_nearest &&
           node.fraction_bits <= last_rounding(node).fraction_bits;
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
  if (!are_in_8_bits<T>(plan, w.offset8) || !take_ordinary_results(w, c)) return false;
  bool overflows = false;
  const bool at_end = cuts_at_end(plan);
  // A node that is alone, and whose results are at most cut, goes along all links at once.
  const bool is_alone = plan.nodes.size() == 1 && !last_rounding(plan.nodes.front()).to_nearest;
  const std::size_t at_once = is_alone ? w.links : 1;
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

void sum_of_products(const NodePlan& node, const NodeOperands& x, const State& state, Rows<double>& results) {
  const D<double> d;
  const DU<double> du;
  const hn::Rebind<Word, D<double>> dw;
  const Double growth = hn::Set(d, kGrowth<double>), zero = hn::Zero(d);
  const VU<double> grid = hn::Set(du, Lane<double>::grid(node.fraction_bits));
  Rows<std::int16_t> alignments;
  align_in_16_bits(x, node.count, node.lowest_alignment, alignments);
  each_chunk<double>([&](std::size_t row, std::size_t column) HWY_ATTR {
    Sums<double> sum;
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) {
        const std::size_t at = column + v * kLanes<double>;
        const auto signs = hn::Xor(hn::Set(dw, x.a_negative[row + r]), hn::Load(dw, x.b_negative + at));
        VU<double> negatives = hn::PromoteTo(du, hn::PopulationCount(signs));
        Double alignment = powers_of_two(alignments.of[row + r] + at), c = zero, before = zero;
        // Adding zero makes −0 the +0 that it is worth.
        if (node.takes_c) {
          c = hn::Add(hn::Load(d, state.c.of[row + r] + at), zero);
          negatives = hn::Add(negatives, take_term(c, node.c_floor, alignment));
        }
        if (node.takes_before) {
          before = hn::Add(hn::Load(d, state.before.of[row + r] + at), zero);
          negatives = hn::Add(negatives, take_term(before, node.before_floor, alignment));
        }
        sum[r][v] = hn::BitCast(d, hn::Add(hn::Add(hn::BitCast(du, alignment), grid), negatives));
        if (node.takes_c) sum[r][v] = hn::MulAdd(c, growth, sum[r][v]);
        if (node.takes_before) sum[r][v] = hn::MulAdd(before, growth, sum[r][v]);
      }
    }
    add_products<double>(x.a, x.b, row, column, node.count, sum);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v)
        hn::Store(without_beginning<double>(sum[r][v]), d, results.of[row + r] + column + v * kLanes<double>);
    }
  });
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
  take_results(w, state.c);
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
  const NodeOperands x = operands_of(w, link, number);
  const auto in_link = static_cast<std::size_t>(plan.depth / plan.scales->block_k);
  const std::size_t block = link * in_link + static_cast<std::size_t>(node.block), blocks = w.links * in_link;
  const double* const b_scale = w.b->scale.data() + block * kColumns;
  const std::int16_t* const b_exponent = w.b->scale_exponent.data() + block * kColumns;
  const auto bias = hn::Set(du, Lane<double>::power_of_two(0));
  const Double least = from_bits<double>(Lane<double>::power_of_two(kNoExponent16 / 2));
  Rows<std::int16_t> exponents;
  align_in_16_bits(x, node.count, kNoExponent16, exponents);
  each_chunk<double>([&](std::size_t row, std::size_t column) HWY_ATTR {
    Sums<double> sum;
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
    }
    add_products<double>(x.a, x.b, row, column, node.count, sum);
    for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
      const std::size_t of_a = (w.row + row + r) * blocks + block;
      const Double a_scale = hn::Set(d, w.a->scale[of_a]);
      const auto a_exponent =
          hn::Set(du, static_cast<std::uint64_t>(std::int64_t{w.a->scale_exponent[of_a]}) << Lane<double>::kFraction);
      for (std::size_t v = 0; v < kVectors; ++v) {
        const std::size_t at = column + v * kLanes<double>;
        const Double scales = hn::Mul(a_scale, hn::Load(d, b_scale + at)), scaled = hn::Mul(sum[r][v], scales);
        const Double of_products = powers_of_two(exponents.of[row + r] + at);
        auto own = hn::Add(a_exponent, hn::BitCast(du, powers_of_two(b_exponent + at)));
        auto counts = hn::Ne(scaled, hn::Zero(d));
        if (node.by_scales_alone)  // one that cancels to zero takes part too
          counts = hn::And(hn::Ne(scales, hn::Zero(d)), hn::Lt(least, of_products));
        else
          own = hn::Sub(hn::Add(own, hn::BitCast(du, of_products)), bias);
        const Double alignment = hn::IfThenElseZero(counts, hn::BitCast(d, own));
        hn::Store(hn::Max(hn::Load(d, alignments.of[row + r] + at), alignment), d, alignments.of[row + r] + at);
        hn::Store(scaled, d, sums.of[row + r] + at);
      }
    }
  });
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
  take_results(w, c);
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
