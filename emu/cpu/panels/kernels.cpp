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

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels.hpp"

#undef TCNUM_HAS_FMA
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
#define TCNUM_HAS_FMA 1
#else
#define TCNUM_HAS_FMA 0
#endif

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

namespace hn = hwy::HWY_NAMESPACE;

/// What floating-point numbers of the lanes are made of.
template <class T>
struct Lane {
  using Bits = SignsOf<T>;
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
  const V<double> tiny = from_bits<double>(Lane<double>::power_of_two(sizeof(T) == 8 ? -500 : -124));
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
      hn::Store(hn::Or(hn::Or(number, signs), from_bits<double>(1)), d, value + i);
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

HWY_INLINE std::int8_t in_8_bits(int exponent) {
  return static_cast<std::int8_t>(exponent < -128 ? -128 : exponent > 127 ? 127 : exponent);
}

/// Clamps the exponents of kRun operands to 8 bits, and tells their range.
Range narrow_exponents(const std::int16_t* exponent, std::int8_t* to) {
  const hn::CappedTag<std::int16_t, kRun> d;
  const hn::Rebind<std::int8_t, decltype(d)> narrow;
  constexpr std::int16_t kNone = std::numeric_limits<std::int16_t>::max(), kNoneEither = -kNone - 1;
  const auto none = hn::Set(d, kNoExponent16);
  auto lowest = hn::Set(d, kNone), highest = hn::Set(d, kNoneEither);
  for (std::size_t i = 0; i < kRun; i += hn::Lanes(d)) {
    const auto e = hn::LoadU(d, exponent + i);
    const auto is_none = hn::Eq(e, none);
    lowest = hn::Min(lowest, hn::IfThenElse(is_none, hn::Set(d, kNone), e));
    highest = hn::Max(highest, hn::IfThenElse(is_none, hn::Set(d, kNoneEither), e));
    hn::StoreU(hn::DemoteTo(narrow, e), narrow, to + i);
  }
  HWY_ALIGN std::int16_t low[kRun], high[kRun];
  hn::Store(lowest, d, low);
  hn::Store(highest, d, high);
  Range range;
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) range.add({low[i], high[i], false});
  return range;
}

/// Where the products of some links stand: the place of each, the word of its node and its bit there.
struct Place {
  std::size_t place, word;
  int bit;
};
inline std::vector<Place> places_of(const Plan& plan, std::size_t links) {
  std::vector<Place> places;
  for (std::size_t link = 0; link < links; ++link) {
    for (const int place : plan.places) {
      std::size_t number = 0;
      while (place < plan.nodes[number].first || place >= plan.nodes[number].first + plan.nodes[number].count) ++number;
      places.push_back({link * plan.places.size() + static_cast<std::size_t>(place), link * plan.nodes.size() + number,
                        place - plan.nodes[number].first});
    }
  }
  return places;
}

template <class T>
void clear_words(Packed<T>& packed) {
  for (auto* words : {&packed.negative, &packed.zero, &packed.special})
    std::memset(words->data(), 0, words->size() * sizeof(T));
}

template <class T>
void pack_a(const Plan& plan, const Fields& fields, const CodesToPack& from, std::size_t links, Packed<T>& to) {
  const std::size_t places = links * static_cast<std::size_t>(plan.depth), words = links * plan.nodes.size();
  // The last row stands for those that a pair lacks.
  const std::size_t lines = (from.lines + kRows - 1) / kRows * kRows;
  to.resize(lines, places, words, lines);
  clear_words(to);
  const std::vector<Place> place_of = places_of(plan, links);
  HWY_ALIGN T value[kRun];
  HWY_ALIGN std::int16_t exponent[kRun];
  HWY_ALIGN std::int8_t exponent8[kRun];
  for (std::size_t line = 0; line < lines; ++line) {
    Range range;
    const std::byte* codes =
        from.codes + std::min(line, from.lines - 1) * from.line_stride * static_cast<std::size_t>(fields.bytes);
    T* const values = &to.value[line * places];
    std::int16_t* const exponents = &to.exponent[line * places];
    std::int8_t* const exponents8 = &to.exponent8[line * places];
    SignsOf<T>* const negatives = &to.negative[line * words];
    for (std::size_t first = 0; first < places; first += kRun) {
      const std::size_t here = std::min(kRun, places - first);
      const std::size_t count = from.products > first ? std::min(here, from.products - first) : 0;
      const Kinds kinds = take_apart(fields, codes + first * from.k_stride * static_cast<std::size_t>(fields.bytes),
                                     from.k_stride, count, value, exponent);
      range.add(narrow_exponents(exponent, exponent8));
      range.any_special |= kinds.special != 0;
      const Place* const place = &place_of[first];
      if (plan.in_order) {
        std::memcpy(values + first, value, here * sizeof(T));
        std::memcpy(exponents + first, exponent, here * sizeof(exponent[0]));
        std::memcpy(exponents8 + first, exponent8, here);
      } else {
        for (std::size_t i = 0; i < here; ++i) {
          values[place[i].place] = value[i];
          exponents[place[i].place] = exponent[i];
          exponents8[place[i].place] = exponent8[i];
        }
      }
      for (std::size_t i = 0; i < here; ++i)
        negatives[place[i].word] |= static_cast<SignsOf<T>>(kinds.negative >> i & 1) << place[i].bit;
      for (std::size_t i = 0; i < here && (kinds.zero | kinds.special) != 0; ++i) {
        to.zero[line * words + place[i].word] |= static_cast<SignsOf<T>>(kinds.zero >> i & 1) << place[i].bit;
        to.special[line * words + place[i].word] |= static_cast<SignsOf<T>>(kinds.special >> i & 1) << place[i].bit;
      }
    }
    to.range[line] = range;
  }
}

/// Gives each of kRun lines its bit of a kind.
template <class T>
HWY_INLINE void add_bits(std::uint64_t those, int bit, SignsOf<T>* words) {
  const DU<T> du;
  const VU<T> one = hn::Set(du, SignsOf<T>{1});
  for (std::size_t i = 0; i < kRun; i += kLanes<T>, those >>= kLanes<T>) {
    // Lane l gets bit l of `those`.
    const auto lane = hn::Iota(du, SignsOf<T>{0});
    const VU<T> mine = hn::And(hn::Shr(hn::Set(du, static_cast<SignsOf<T>>(those)), lane), one);
    hn::Store(hn::Or(hn::Load(du, words + i), hn::ShiftLeftSame(mine, bit)), du, words + i);
  }
}

template <class T>
void pack_b(const Plan& plan, const Fields& fields, const CodesToPack& from, std::size_t links, Packed<T>& to) {
  static_assert(kRun == kColumns);
  const std::size_t places = links * static_cast<std::size_t>(plan.depth);
  to.resize(kColumns, places, links * plan.nodes.size(), 1);
  clear_words(to);
  const std::vector<Place> place_of = places_of(plan, links);
  Range range;
  const std::size_t row_bytes = from.k_stride * static_cast<std::size_t>(fields.bytes);
  for (std::size_t k = 0; k < places; ++k) {
    // A panel takes little of each row of B, too little for the machine to see what comes next.
    constexpr std::size_t kAhead = 16, kLine = 64;
    for (std::size_t byte = 0; byte < from.lines * static_cast<std::size_t>(fields.bytes); byte += kLine)
      hwy::Prefetch(from.codes + std::min(k + kAhead, from.products - 1) * row_bytes + byte);
    const auto& [place, word, bit] = place_of[k];
    const std::size_t at = place * kColumns, at_word = word * kColumns;
    const Kinds kinds = take_apart(fields, from.codes + k * row_bytes, from.line_stride,
                                   k < from.products ? from.lines : 0, &to.value[at], &to.exponent[at]);
    range.add(narrow_exponents(&to.exponent[at], &to.exponent8[at]));
    range.any_special |= kinds.special != 0;
    add_bits<T>(kinds.negative, bit, &to.negative[at_word]);
    if ((kinds.zero | kinds.special) == 0) continue;
    add_bits<T>(kinds.zero, bit, &to.zero[at_word]);
    add_bits<T>(kinds.special, bit, &to.special[at_word]);
  }
  to.range[0] = range;
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

/// So many vectors at once, which with those of the other row are what registers hold.
#if HWY_TARGET == HWY_AVX2
inline constexpr std::size_t kVectors = 4;
#else
inline constexpr std::size_t kVectors = 8;
#endif

/// Vectors of a chunk of columns, and the columns.
template <class T>
inline constexpr std::size_t kChunkVectors = std::min(kVectors, kColumns / kLanes<T>);
template <class T>
inline constexpr std::size_t kChunk = kChunkVectors<T>* kLanes<T>;

/// Exponents as they are in the lanes' own numbers: the bits of 2^e.
template <class T>
HWY_INLINE V<T> powers_of_two(const std::int8_t* exponents) {
  const D<T> d;
  const hn::RebindToSigned<D<T>> di;
  const hn::Rebind<std::int8_t, D<T>> d8;
  const hn::Rebind<std::int32_t, D<T>> d32;
  const auto e32 = hn::PromoteTo(d32, hn::LoadU(d8, exponents));
  using Signed = hn::TFromD<decltype(di)>;
  const auto bias = hn::Set(di, static_cast<Signed>(Lane<T>::kBias));
  if constexpr (sizeof(T) == 4) {
    return hn::BitCast(d, hn::ShiftLeft<Lane<T>::kFraction>(hn::Add(e32, bias)));
  } else {
    return hn::BitCast(d, hn::ShiftLeft<Lane<T>::kFraction>(hn::Add(hn::PromoteTo(di, e32), bias)));
  }
}
HWY_INLINE V<double> powers_of_two(const std::int16_t* exponents) {
  const D<double> d;
  const hn::RebindToSigned<D<double>> di;
  const hn::Rebind<std::int16_t, D<double>> d16;
  const hn::Rebind<std::int32_t, D<double>> d32;
  const auto e = hn::PromoteTo(di, hn::PromoteTo(d32, hn::LoadU(d16, exponents)));
  return hn::BitCast(d, hn::ShiftLeft<Lane<double>::kFraction>(hn::Add(e, hn::Set(di, std::int64_t{1023}))));
}

/// Where a chunk's operands for one node are.
template <class T>
struct NodeOperands {
  const T *a[kRows], *b;
  const std::int8_t *a8[kRows], *b8;
  const std::int16_t *a16[kRows], *b16;
  SignsOf<T> a_negative[kRows];
  const SignsOf<T>* b_negative;
};

template <class T>
HWY_INLINE NodeOperands<T> operands_of(const Work<T>& w, std::size_t link, std::size_t number, std::size_t column) {
  const Plan& plan = *w.plan;
  const std::size_t place =
      link * static_cast<std::size_t>(plan.depth) + static_cast<std::size_t>(plan.nodes[number].first);
  const std::size_t word = link * plan.nodes.size() + number;
  NodeOperands<T> x;
  for (std::size_t r = 0; r < kRows; ++r) {
    const std::size_t at = (w.row + r) * w.a_places + place;
    x.a[r] = w.a->value.data() + at;
    x.a8[r] = w.a->exponent8.data() + at;
    x.a16[r] = w.a->exponent.data() + at;
    x.a_negative[r] = w.a->negative[(w.row + r) * w.a_words + word];
  }
  const std::size_t at = place * kColumns + column;
  x.b = w.b->value.data() + at;
  x.b8 = w.b->exponent8.data() + at;
  x.b16 = w.b->exponent.data() + at;
  x.b_negative = w.b->negative.data() + word * kColumns + column;
  return x;
}

/// Adds a node's products to a chunk's sums, each cut toward zero.
template <class T>
HWY_INLINE void add_products(const NodeOperands<T>& x, int count, V<T> (&sum)[kRows][kChunkVectors<T>]) {
  static_assert(kRows == 2);
  const D<T> d;
  const T *a0 = x.a[0], *a1 = x.a[1], *b = x.b;
  for (int p = 0; p < count; ++p, b += kColumns) {
    const V<T> of_a0 = hn::Set(d, a0[p]), of_a1 = hn::Set(d, a1[p]);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kChunkVectors<T>; ++v) {
      const V<T> of_b = hn::Load(d, b + v * kLanes<T>);
      sum[0][v] = hn::MulAdd(of_a0, of_b, sum[0][v]);
      sum[1][v] = hn::MulAdd(of_a1, of_b, sum[1][v]);
    }
  }
}

/// The largest exponents of a node's products for a chunk.
template <class Tag, class Exponent>
HWY_INLINE void align(Tag d, const Exponent* const* a, const Exponent* b, int count, std::size_t chunk, Exponent lowest,
                      Exponent (&to)[kRows][kColumns]) {
  const Exponent *a0 = a[0], *a1 = a[1];
  for (std::size_t column = 0; column < chunk; column += hn::Lanes(d)) {
    auto most0 = hn::Set(d, lowest), most1 = most0;
    for (int p = 0; p < count; ++p) {
      const auto of_b = hn::Load(d, b + static_cast<std::size_t>(p) * kColumns + column);
      most0 = hn::Max(most0, hn::SaturatedAdd(hn::Set(d, a0[p]), of_b));
      most1 = hn::Max(most1, hn::SaturatedAdd(hn::Set(d, a1[p]), of_b));
    }
    hn::Store(most0, d, to[0] + column);
    hn::Store(most1, d, to[1] + column);
  }
}

/// What a sum starts from, in units of its last kept bit, with one for each negative product.
template <class T>
HWY_INLINE V<T> beginning(V<T> alignment, typename Lane<T>::Bits grid, typename Lane<T>::Bits a_negative,
                          const SignsOf<T>* b_negative, hn::Vec<hn::RebindToUnsigned<D<T>>> others_negative) {
  const D<T> d;
  const hn::RebindToUnsigned<D<T>> du;
  const auto signs = hn::Xor(hn::Set(du, a_negative), hn::Load(du, b_negative));
  const auto negatives = hn::Add(hn::PopulationCount(signs), others_negative);
  return hn::BitCast(d, hn::Add(hn::Add(hn::BitCast(du, alignment), hn::Set(du, grid)), negatives));
}

/// What a sum is, without what it began with.
template <class T>
HWY_INLINE V<T> without_beginning(V<T> sum) {
  const V<T> half = from_bits<T>(typename Lane<T>::Bits{1} << (Lane<T>::kFraction - 1));
  return hn::Sub(sum, hn::Or(hn::And(sum, from_bits<T>(Lane<T>::kExponent)), half));
}

/// Grows results so far, which stay zero if they are.
template <class T>
inline constexpr T kGrowth = sizeof(T) == 8 ? T(1 + 0x1p-40) : T(1 + 0x1p-20);

template <class T>
void ordinary(const Work<T>& w) {
  using Bits = typename Lane<T>::Bits;
  constexpr std::size_t kSize = kChunk<T>;
  // Exponents of products lie above kBetween, those of zeros, with any other operand's, below.
  constexpr std::int8_t kBetween = -104, kOfZeros = sizeof(T) == 8 ? -128 : -90;
  const D<T> d;
  const hn::RebindToUnsigned<D<T>> du;
  const hn::CappedTag<std::int8_t, kSize> d8;
  const Plan& plan = *w.plan;
  const V<T> exponent_bits = from_bits<T>(Lane<T>::kExponent), growth = hn::Set(d, kGrowth<T>);
  HWY_ALIGN std::int8_t alignments[kRows][kColumns];
  for (std::size_t column = 0; column < kColumns; column += kSize) {
    for (std::size_t link = 0; link < w.links; ++link) {
      for (std::size_t number = 0; number < plan.nodes.size(); ++number) {
        const NodePlan& node = plan.nodes[number];
        const NodeOperands<T> x = operands_of(w, link, number, column);
        align(d8, x.a8, x.b8, node.count, kSize, std::int8_t{-128}, alignments);
        const auto lowest = hn::Set(d8, in_8_bits(node.lowest_alignment));
        for (std::size_t r = 0; r < kRows; ++r) {
          for (std::size_t at = 0; at < kSize; at += hn::Lanes(d8)) {
            const auto e = hn::Load(d8, alignments[r] + at);
            const auto own = hn::IfThenElse(hn::Lt(e, hn::Set(d8, kBetween)), hn::Set(d8, kOfZeros), e);
            hn::Store(hn::Max(own, lowest), d8, alignments[r] + at);
          }
        }
        const Bits grid = Lane<T>::grid(node.fraction_bits);
        V<T> sum[kRows][kChunkVectors<T>];
#pragma GCC unroll 2
        for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
          for (std::size_t v = 0; v < kChunkVectors<T>; ++v) {
            const V<T> c = hn::Load(d, w.sums[r] + column + v * kLanes<T>);
            const V<T> alignment = hn::Max(powers_of_two<T>(alignments[r] + v * kLanes<T>), hn::And(c, exponent_bits));
            const auto c_negative = hn::ShiftRight<8 * sizeof(T) - 1>(hn::BitCast(du, c));
            const V<T> start = beginning<T>(alignment, grid, x.a_negative[r], x.b_negative + v * kLanes<T>, c_negative);
            sum[r][v] = hn::MulAdd(c, growth, start);
          }
        }
        add_products<T>(x, node.count, sum);
        const V<T> kept = from_bits<T>(~Bits{0} << (Lane<T>::kFraction - node.rounding[0].fraction_bits));
#pragma GCC unroll 2
        for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
          for (std::size_t v = 0; v < kChunkVectors<T>; ++v) {
            hn::Store(hn::And(without_beginning<T>(sum[r][v]), kept), d, w.sums[r] + column + v * kLanes<T>);
          }
        }
      }
    }
  }
}

// --- Whatever panels evaluate: in doubles.

using Bits = Lane<double>::Bits;
using Double = V<double>;

/// x rounded to multiples of its last place.
HWY_INLINE Double round_once(const NumberRounding& how, Double x) {
  const D<double> d;
  const hn::RebindToUnsigned<D<double>> du;
  const Double sign = hn::And(x, from_bits<double>(Lane<double>::kSign));
  const Double magnitude = hn::Abs(x);
  const auto binade = hn::BitCast(du, hn::Max(hn::And(magnitude, from_bits<double>(Lane<double>::kExponent)),
                                              from_bits<double>(Lane<double>::power_of_two(how.min_exponent))));
  const Double start = hn::BitCast(d, hn::Add(binade, hn::Set(du, Lane<double>::grid(how.fraction_bits))));
  const Double in_units = hn::Add(magnitude, start);  // toward zero, as all is here
  Double rounded = hn::Sub(in_units, start);
  if (how.to_nearest) {
    const auto below = [&](int bits) {
      return hn::BitCast(d, hn::Sub(binade, hn::Set(du, static_cast<Bits>(bits) << Lane<double>::kFraction)));
    };
    const Double unit = below(how.fraction_bits), half = below(how.fraction_bits + 1);
    const Double rest = hn::Sub(magnitude, rounded);
    const auto last_bit = hn::And(hn::BitCast(du, in_units), hn::Set(du, Bits{1}));
    const auto odd = hn::RebindMask(d, hn::Ne(last_bit, hn::Zero(du)));
    const auto up = hn::Or(hn::Gt(rest, half), hn::And(hn::Eq(rest, half), odd));
    rounded = hn::Add(rounded, hn::IfThenElseZero(up, unit));
  }
  const auto too_large = hn::Ge(rounded, hn::Set(d, how.overflow));
  return hn::Or(hn::IfThenElse(too_large, hn::Set(d, how.beyond), rounded), sign);
}

HWY_INLINE Double round_result(const NodePlan& node, Double x) {
  x = round_once(node.rounding[0], x);
  if (node.roundings == 2) x = round_once(node.rounding[1], x);
  return node.drops_sign_of_zero ? hn::Add(x, hn::Zero(D<double>())) : x;
}

/// The sum of two fp32 or fp16 numbers, whose last bit, if it cannot be exact, tells that there is more below.
HWY_INLINE Double add_to_odd(Double x, Double y) {
  const D<double> d;
  const auto x_larger = hn::Ge(hn::Abs(x), hn::Abs(y));
  const Double large = hn::IfThenElse(x_larger, x, y), small = hn::IfThenElse(x_larger, y, x);
  const Double sum = hn::Add(large, small);  // toward zero
  const auto inexact = hn::Ne(hn::Sub(sum, large), small);
  return hn::Add(hn::Or(sum, hn::IfThenElseZero(inexact, from_bits<double>(1))), hn::Zero(d));
}

/// One term beside the products: raises the alignment, and tells whether it is negative.
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D<double>>> take_term(Double term, int floor, Double& alignment) {
  const hn::RebindToUnsigned<D<double>> du;
  const Double own = hn::Max(hn::And(term, from_bits<double>(Lane<double>::kExponent)),
                             from_bits<double>(Lane<double>::power_of_two(floor)));
  alignment = hn::Max(alignment, hn::IfThenElseZero(hn::Ne(term, hn::Zero(D<double>())), own));
  return hn::ShiftRight<63>(hn::BitCast(du, term));
}

/// A sum of which some term is an infinity or a NaN; other terms do not matter.
class SpecialSum {
 public:
  void add_products(Bits a_special, Bits b_special, Bits a_zero, Bits b_zero, Bits a_negative, Bits b_negative) {
    const Bits special = a_special | b_special, zero = a_zero | b_zero, negative = a_negative ^ b_negative;
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

/// A row's numbers on the way.
struct RowState {
  HWY_ALIGN double c[kColumns];
  HWY_ALIGN double before[kColumns];
};

/// Replaces results of sums with infinities or NaNs among their terms, as they were before.
void put_specials(const Work<double>& w, std::size_t r, std::size_t word, const NodePlan& node, const RowState& terms,
                  double* results) {
  const std::size_t at_a = (w.row + r) * w.a_words + word, at_b = word * kColumns;
  for (std::size_t j = 0; j < kColumns; ++j) {
    SpecialSum sum;
    sum.add_products(w.a->special[at_a], w.b->special[at_b + j], w.a->zero[at_a], w.b->zero[at_b + j],
                     w.a->negative[at_a], w.b->negative[at_b + j]);
    if (node.takes_c) sum.add(terms.c[j]);
    if (node.takes_before) sum.add(terms.before[j]);
    if (sum.any()) results[j] = sum.result();
  }
}

/// Whether an ordinary kernel may go on from a row of results.
bool are_ordinary(const double* row) {
  const D<double> d;
  const Double least = hn::Set(d, kLeastOrdinary), most = hn::Set(d, kMostOrdinary);
  for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
    const Double magnitude = hn::Abs(hn::Load(d, row + j));
    const auto within = hn::And(hn::Ge(magnitude, least), hn::Lt(magnitude, most));
    if (!hn::AllTrue(d, hn::Or(within, hn::Eq(magnitude, hn::Zero(d))))) return false;
  }
  return true;
}

/// Whether a row of terms has infinities or NaNs.
HWY_INLINE bool any_not_finite(const double* row) {
  const D<double> d;
  for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
    if (!hn::AllTrue(d, hn::Lt(hn::Abs(hn::Load(d, row + j)), hn::Set(d, HUGE_VAL)))) return true;
  }
  return false;
}

void sum_of_products(const Work<double>& w, std::size_t link, std::size_t number, RowState (&state)[kRows],
                     double (&results)[kRows][kColumns]) {
  constexpr std::size_t kSize = kChunk<double>;
  const D<double> d;
  const hn::RebindToUnsigned<D<double>> du;
  const hn::CappedTag<std::int16_t, kSize> d16;
  const NodePlan& node = w.plan->nodes[number];
  const Double growth = hn::Set(d, kGrowth<double>), zero = hn::Zero(d);
  HWY_ALIGN std::int16_t alignments[kRows][kColumns];
  for (std::size_t column = 0; column < kColumns; column += kSize) {
    const NodeOperands<double> x = operands_of(w, link, number, column);
    align(d16, x.a16, x.b16, node.count, kSize, static_cast<std::int16_t>(node.lowest_alignment), alignments);
    V<double> sum[kRows][kChunkVectors<double>];
#pragma GCC unroll 2
    for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kChunkVectors<double>; ++v) {
        const std::size_t at = v * kLanes<double>;
        Double alignment = powers_of_two(alignments[r] + at), c = zero, before = zero;
        auto negatives = hn::Zero(du);
        // Adding zero makes −0 the +0 that it is worth.
        if (node.takes_c) {
          c = hn::Add(hn::Load(d, state[r].c + column + at), zero);
          negatives = take_term(c, node.c_floor, alignment);
        }
        if (node.takes_before) {
          before = hn::Add(hn::Load(d, state[r].before + column + at), zero);
          negatives = hn::Add(negatives, take_term(before, node.before_floor, alignment));
        }
        Double start = beginning<double>(alignment, Lane<double>::grid(node.fraction_bits), x.a_negative[r],
                                         x.b_negative + at, negatives);
        if (node.takes_c) start = hn::MulAdd(c, growth, start);
        if (node.takes_before) start = hn::MulAdd(before, growth, start);
        sum[r][v] = start;
      }
    }
    add_products<double>(x, node.count, sum);
#pragma GCC unroll 2
    for (std::size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kChunkVectors<double>; ++v) {
        hn::Store(round_result(node, without_beginning<double>(sum[r][v])), d,
                  results[r] + column + v * kLanes<double>);
      }
    }
  }
}

void general(const Work<double>& w) {
  const D<double> d;
  const Plan& plan = *w.plan;
  RowState state[kRows];
  HWY_ALIGN double results[kRows][kColumns];
  for (std::size_t r = 0; r < kRows; ++r) std::memcpy(state[r].c, w.sums[r], sizeof(state[r].c));
  for (std::size_t link = 0; link < w.links; ++link) {
    for (std::size_t number = 0; number < plan.nodes.size(); ++number) {
      const NodePlan& node = plan.nodes[number];
      if (node.is_pair) {
        for (std::size_t r = 0; r < kRows; ++r) {
          for (std::size_t j = 0; j < kColumns; j += kLanes<double>) {
            const Double sum = add_to_odd(hn::Load(d, state[r].c + j), hn::Load(d, state[r].before + j));
            hn::Store(round_result(node, sum), d, results[r] + j);
          }
        }
      } else {
        sum_of_products(w, link, number, state, results);
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        const bool any_special = w.a->range[w.row + r].any_special || w.b->range[0].any_special ||
                                 (node.takes_c && any_not_finite(state[r].c)) ||
                                 (node.takes_before && any_not_finite(state[r].before));
        if (any_special) put_specials(w, r, link * plan.nodes.size() + number, node, state[r], results[r]);
        std::memcpy(state[r].before, results[r], sizeof(results[r]));
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) std::memcpy(state[r].c, state[r].before, sizeof(state[r].c));
  }
  for (std::size_t r = 0; r < kRows; ++r) std::memcpy(w.sums[r], state[r].c, sizeof(state[r].c));
}

const Kernels* kernels_of_target() {
  static const Kernels kKernels = {hwy::TargetName(HWY_TARGET),
                                   pack_a<double>,
                                   pack_b<double>,
                                   pack_a<float>,
                                   pack_b<float>,
                                   read,
                                   write,
                                   are_ordinary,
                                   ordinary<double>,
                                   ordinary<float>,
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
