// Rows of A and panels of B, packed as kernels read them.
// Compiled once for each CPU, as kernels.cpp is, which includes this.
#if defined(TCNUM_PACKING_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_PACKING_INL
#undef TCNUM_PACKING_INL
#else
#define TCNUM_PACKING_INL
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels.hpp"
#include "lanes-inl.hpp"
#include "prefetch.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

/// Operands taken apart at once.
inline constexpr std::size_t kRun = kColumns;

/// Codes are told apart in lanes as narrow as they are.
template <class Code>
using Narrow = std::conditional_t<sizeof(Code) == 4, std::int32_t, std::int16_t>;
template <class N>
using DN = hn::CappedTag<N, kRun>;
template <class Code>
HWY_INLINE hn::Vec<DN<Narrow<Code>>> load_codes(const Code* codes) {
  const DN<Narrow<Code>> d;
  if constexpr (sizeof(Code) == sizeof(Narrow<Code>))
    return hn::BitCast(d, hn::Load(hn::RebindToUnsigned<decltype(d)>(), codes));
  else
    return hn::PromoteTo(d, hn::Load(hn::Rebind<Code, decltype(d)>(), codes));
}

/// Integers with a sign, in lanes as wide as T's.
template <class T, class N>
HWY_INLINE VU<T> widened(const N* from) {
  const hn::RebindToSigned<D<T>> d;
  const auto narrow = hn::Load(hn::Rebind<N, decltype(d)>(), from);
  if constexpr (sizeof(N) == sizeof(T)) {
    return hn::BitCast(DU<T>(), narrow);
  } else if constexpr (2 * sizeof(N) == sizeof(T)) {
    return hn::BitCast(DU<T>(), hn::PromoteTo(d, narrow));
  } else {
#if TCNUM_ROUNDS_EACH
    return VU<T>{_mm512_cvtepi16_epi64(narrow.raw)};
#else
    return hn::BitCast(DU<T>(), hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<std::int32_t, decltype(d)>(), narrow)));
#endif
  }
}

/// What stands for a zero, an infinity or a NaN: less than any number that is packed.
template <class T>
inline constexpr double kTiny = sizeof(T) == 8 ? 0x1p-520 : 0x1p-124;

/// Operands among kRun: which are negative, as bits, and whether any is an infinity or a NaN.
struct Kinds {
  std::uint64_t negative = 0;
  bool any_special = false;
};

/// Biased numbers of kRun magnitudes with their signs before them; what is no number has 0.
template <class T, class N>
HWY_INLINE void put_biased(const Fields& f, const N* magnitude, T* value) {
  using Bits = typename Lane<T>::Bits;
  const D<T> d;
  const DU<T> du;
  const V<T> scale = from_bits<T>(Lane<T>::power_of_two(Lane<T>::kBias - f.bias));
  const V<T> tiny = hn::Set(d, static_cast<T>(kTiny<T>)), last = from_bits<T>(1), sign = from_bits<T>(Lane<T>::kSign);
  const VU<T> no_sign = hn::Set(du, static_cast<Bits>(std::numeric_limits<N>::max()));
  for (std::size_t i = 0; i < kRun; i += kLanes<T>) {
    const VU<T> x = widened<T>(magnitude + i);
    // The fields, where T has its own, are the number divided by a power of two, even if it is subnormal.
    const VU<T> fields = hn::ShiftLeftSame(hn::And(x, no_sign), Lane<T>::kFraction - f.fraction_bits);
    const V<T> number = hn::Max(hn::Mul(hn::BitCast(d, fields), scale), tiny);
    hn::StoreU(hn::Or3(number, hn::And(hn::BitCast(d, x), sign), last), d, value + i);
  }
}

/// Takes `count` codes apart, and zeros after them.
template <class T, class Code>
Kinds take_apart(const Fields& f, const std::byte* codes, std::size_t stride, std::size_t count, T* value,
                 std::int16_t* exponent) {
  using N = Narrow<Code>;
  const DN<N> d;
  const hn::RebindToUnsigned<DN<N>> du;
  const auto set = [&](auto x) HWY_ATTR { return hn::Set(d, static_cast<N>(x)); };
  HWY_ALIGN Code code[kRun];
  if (stride == 1 && count == kRun) {
    std::memcpy(code, codes, kRun * sizeof(Code));
  } else {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(code + i, codes + i * stride * sizeof(Code), sizeof(Code));
    for (std::size_t i = count; i < kRun; ++i) code[i] = 0;
  }
  HWY_ALIGN N magnitudes[kRun];
  Kinds kinds;
  std::uint64_t subnormal = 0;
  auto any_special = hn::Lt(hn::Zero(d), hn::Zero(d));
  for (std::size_t i = 0; i < kRun; i += hn::Lanes(d)) {
    const auto bits_of = [&](auto mask) HWY_ATTR {
      std::uint8_t bytes[sizeof(std::uint64_t)] = {};
      hn::StoreMaskBits(d, mask, bytes);
      return std::bit_cast<std::uint64_t>(bytes) << i;
    };
    const auto x = load_codes(code + i);
    const auto bits = hn::ShiftRightSame(hn::BitCast(du, hn::And(x, set(f.magnitude_mask))), f.padding);
    const auto magnitude = hn::BitCast(d, bits);
    const auto is_special = hn::Gt(magnitude, set(f.first_special - 1));
    const auto is_negative = hn::Ne(hn::And(x, set(f.sign)), hn::Zero(d));
    const auto is_none = hn::Or(hn::Gt(set(f.smallest), magnitude), is_special);
    const auto sign = hn::IfThenElseZero(is_negative, set(std::numeric_limits<N>::min()));
    hn::Store(hn::Or(hn::IfThenZeroElse(is_none, magnitude), sign), d, magnitudes + i);
    const auto field = hn::BitCast(d, hn::ShiftRightSame(bits, f.fraction_bits));
    const auto own = hn::Max(hn::Sub(field, set(f.bias)), set(f.floor));
    const auto aligned = hn::IfThenElse(is_none, set(kNoExponent16), own);
    if constexpr (sizeof(N) == sizeof(std::int16_t))
      hn::StoreU(aligned, d, exponent + i);
    else
      hn::StoreU(hn::DemoteTo(hn::Rebind<std::int16_t, DN<N>>(), aligned), hn::Rebind<std::int16_t, DN<N>>(),
                 exponent + i);
    kinds.negative |= bits_of(is_negative);
    any_special = hn::Or(any_special, is_special);
    if (f.aligns_subnormals_by_leading_bit())
      subnormal |= bits_of(hn::AndNot(is_none, hn::Gt(set(std::int64_t{1} << f.fraction_bits), magnitude)));
  }
  for (; subnormal != 0; subnormal &= subnormal - 1) {
    const int i = std::countr_zero(subnormal);
    const auto magnitude = static_cast<std::uint32_t>(magnitudes[i] & std::numeric_limits<N>::max());
    exponent[i] = static_cast<std::int16_t>(std::bit_width(magnitude) - f.fraction_bits - f.bias);
  }
  kinds.any_special = !hn::AllFalse(d, any_special);
  put_biased(f, magnitudes, value);
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

/// A panel's exponents, in 8 bits.
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
/// Signs of lines of A, each half twice.
void spread_signs(const Buffer<Word>& negative, Buffer<Word>& to) {
  to.resize(negative.size() * kTopsOfWord);
  for (std::size_t i = 0; i < negative.size(); ++i) {
    for (std::size_t half = 0; half < kTopsOfWord; ++half)
      to[i * kTopsOfWord + half] = (negative[i] >> (half * kTopBits) & 0xffff) * 0x00010001u;
  }
}
/// Exponents of lines of A, in 8 bits, each four times.
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

/// Multiplies operands by their scales. What a NaN scales counts as one.
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
  kinds.any_special |= by.nan != 0;
}

/// Takes a line of A apart: into kRows lines, of which it is number `r`, and its words and its range.
template <class T>
void take_line_apart(const Plan& plan, const Fields& fields, const ToPack& to_pack, const std::vector<Place>& place_of,
                     std::size_t line, Packed<T>& to) {
  const std::size_t places = place_of.size(), room = rounded_up(places, kRun), r = line % kRows;
  const std::size_t words = places / static_cast<std::size_t>(plan.depth) * plan.nodes.size();
  const std::size_t bytes = static_cast<std::size_t>(fields.bytes);
  // The last row stands for those that the last kRows lack.
  const std::size_t source = std::min(line, to_pack.lines - 1);
  const std::byte* const codes = part_from(to_pack.codes, source, 0, bytes).codes;
  T* const values = &to.lines_value[r * room];
  std::int16_t* const exponents = &to.lines_exponent[r * room];
  HWY_ALIGN T run_value[kRun];
  HWY_ALIGN std::int16_t run_exponent[kRun];
  RunOfScales scales;
  Range range;
  for (std::size_t first = 0; first < places; first += kRun) {
    const std::size_t here = std::min(kRun, places - first);
    const std::size_t count = to_pack.products > first ? std::min(here, to_pack.products - first) : 0;
    T* const value = plan.in_order ? values + first : run_value;
    std::int16_t* const exponent = plan.in_order ? exponents + first : run_exponent;
    Kinds kinds = take_apart(fields, codes + first * to_pack.codes.column_stride * bytes, to_pack.codes.column_stride,
                             count, value, exponent);
    if (plan.scales) {
      for (std::size_t i = 0; i < kRun; ++i) scales.set(i, to_pack.scale(source, first + i));
      if constexpr (sizeof(T) == 8) scale_run(scales, value, exponent, kinds);
    }
    range.add(range_of(exponent));
    range.any_special |= kinds.any_special;
    for (std::size_t i = 0, together = 0; i < here; i += together) {
      const Place& place = place_of[first + i];
      together = std::min(place.side_by_side, here - i);
      if (!plan.in_order) {
        std::copy_n(run_value + i, together, values + place.place);
        std::copy_n(run_exponent + i, together, exponents + place.place);
      }
      const std::uint64_t mine = kinds.negative >> i & ~std::uint64_t{0} >> (kRun - together);
      to.negative[line * words + place.word] |= static_cast<Word>(mine << place.bit);
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
  const std::size_t lines = rounded_up(to_pack.lines, kRows);
  to.resize(lines, places, places / static_cast<std::size_t>(plan.depth) * plan.nodes.size(), lines);
  to.exponent8_words.resize(lines * places);
  to.lines_exponent8.resize(kRows * room);
  to.lines_value.resize(kRows * room);
  to.lines_exponent.resize(kRows * room);
  std::fill_n(to.negative.data(), to.negative.size(), Word{0});
  for (std::size_t line = 0; line < lines; line += kRows) {
    for (std::size_t r = 0; r < kRows; ++r) take_line_apart(plan, fields, to_pack, place_of, line + r, to);
    lay_side_by_side(to.lines_value.data(), room, places, &to.value[line * places]);
    spread_exponents(to.lines_exponent.data(), kRows * room, to.range_of_rows(line), to.lines_exponent8.data());
    lay_side_by_side(to.lines_exponent8.data(), room, places, &to.exponent8_words[line * places]);
  }
  spread_signs(to.negative, to.negative_twice);
}

/// Gives each of kRun lines its bit.
HWY_INLINE void add_bits(std::uint64_t those, int bit, Word* words) {
  const DW d;
  const VW one = hn::Set(d, Word{1} << bit);
  for (std::size_t i = 0; i < kRun; i += kWords, those >>= kWords) {
    const auto bytes = std::bit_cast<std::array<std::uint8_t, sizeof(those)>>(those);
    const VW mine = hn::IfThenElseZero(hn::LoadMaskBits(d, bytes.data()), one);
    hn::Store(hn::Or(hn::Load(d, words + i), mine), d, words + i);
  }
}

template <class T>
void pack_b(const Plan& plan, const Fields& fields, const ToPack& to_pack, const std::vector<Place>& place_of,
            Packed<T>& to) {
  static_assert(kRun == kColumns);
  const std::size_t places = place_of.size(), words = places / static_cast<std::size_t>(plan.depth) * plan.nodes.size();
  to.resize(kColumns, places, words, 1);
  to.exponent8.resize(kColumns * places);
  std::fill_n(to.negative.data(), to.negative.size(), Word{0});
  Range range;
  RunOfScales scales;
  const std::size_t row_bytes = to_pack.codes.column_stride * static_cast<std::size_t>(fields.bytes);
  for (std::size_t k = 0; k < places; ++k) {
    if (k < to_pack.products)
      prefetch_row_after(to_pack.codes.codes + k * row_bytes, row_bytes, to_pack.products - 1 - k,
                         to_pack.lines * static_cast<std::size_t>(fields.bytes));
    const auto& [place, word, bit, side_by_side] = place_of[k];
    const std::size_t at = place * kColumns, at_word = word * kColumns;
    Kinds kinds = take_apart(fields, to_pack.codes.codes + k * row_bytes, to_pack.codes.row_stride,
                             k < to_pack.products ? to_pack.lines : 0, &to.value[at], &to.exponent[at]);
    if (plan.scales) {
      if (k % to_pack.block_k == 0) {
        for (std::size_t j = 0; j < kColumns; ++j) scales.set(j, to_pack.scale(j, k));
      }
      if constexpr (sizeof(T) == 8) scale_run(scales, &to.value[at], &to.exponent[at], kinds);
    }
    range.add(range_of(&to.exponent[at]));
    range.any_special |= kinds.any_special;
    add_bits(kinds.negative, bit, &to.negative[at_word]);
  }
  to.range[0] = range;
  narrow_exponents<T>(to.exponent.data(), places, range, to.exponent8.data());
  narrow_signs<T>(to.negative, to.negative_tops);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
