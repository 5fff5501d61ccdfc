// Integers of several words, side by side in vectors: those of sums that doubles do not hold.
// Compiled once for each CPU, as long_kernels.cpp is, which includes this.
#if defined(TCNUM_LONG_INTEGERS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_LONG_INTEGERS_INL
#undef TCNUM_LONG_INTEGERS_INL
#else
#define TCNUM_LONG_INTEGERS_INL
#endif

#include <hwy/highway.h>

#include <bit>

#include "operands.hpp"

#include "has_fma-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

namespace hn = hwy::HWY_NAMESPACE;

/// Words, and as many signed integers: exponents, and numbers of bits.
using LD = hn::CappedTag<std::uint64_t, kColumns>;
using LV = hn::Vec<LD>;
using LMask = hn::Mask<LD>;
using LI = hn::RebindToSigned<LD>;
using LVI = hn::Vec<LI>;
inline constexpr std::size_t kLongLanes = hn::MaxLanes(LD());
inline constexpr int kWordBits = 64;
inline constexpr std::uint64_t kLongTop = std::uint64_t{1} << (kWordBits - 1);

HWY_INLINE LV word(std::uint64_t x) { return hn::Set(LD(), x); }
HWY_INLINE LVI count(std::int64_t x) { return hn::Set(LI(), x); }
HWY_INLINE LV as_words(LVI x) { return hn::BitCast(LD(), x); }
HWY_INLINE LVI as_counts(LV x) { return hn::BitCast(LI(), x); }
HWY_INLINE LMask none() { return hn::Ne(word(0), word(0)); }
HWY_INLINE LMask less(LVI x, LVI y) { return hn::RebindMask(LD(), hn::Lt(x, y)); }
/// The larger of two counts, and the smaller: as 32 bits hold them, both halves of the larger are the larger of halves.
HWY_INLINE LVI larger(LVI x, LVI y) {
#if HWY_TARGET == HWY_AVX2
  return LVI{_mm256_max_epi32(x.raw, y.raw)};
#else
  return hn::Max(x, y);
#endif
}
HWY_INLINE LVI smaller(LVI x, LVI y) {
#if HWY_TARGET == HWY_AVX2
  return LVI{_mm256_min_epi32(x.raw, y.raw)};
#else
  return hn::Min(x, y);
#endif
}
/// Whole words of so many bits, rounded down.
HWY_INLINE LVI words_of_bits(LVI bits) {
#if HWY_TARGET == HWY_AVX2
  return LVI{_mm256_srai_epi32(bits.raw, 6)};
#else
  return hn::ShiftRight<6>(bits);
#endif
}
HWY_INLINE LVI chosen(LMask which, LVI x, LVI y) { return hn::IfThenElse(hn::RebindMask(LI(), which), x, y); }
/// All ones where a mask is set, and back.
HWY_INLINE LV ones(LMask mask) { return hn::VecFromMask(LD(), mask); }
HWY_INLINE LMask mask_of(LV ones) { return hn::MaskFromVec(ones); }
HWY_INLINE LMask top_bit(LV x) { return less(as_counts(x), count(0)); }

/// From the lowest word on: a magnitude, or in two's complement. Copied word by word: GCC copies plain structures in
/// pieces of 16 bytes, and a vector that is loaded from such a copy waits until all of it is in the cache.
template <int N>
struct Long {
  LV at[N];

  HWY_INLINE Long() {}
  HWY_INLINE Long(const Long& x) { *this = x; }
  HWY_INLINE Long& operator=(const Long& x) {
    for (int i = 0; i < N; ++i) at[i].raw = x.at[i].raw;
    return *this;
  }
};

template <int N>
HWY_INLINE Long<N> long_of(LV low, LV high = word(0)) {
  Long<N> x;
  x.at[0] = low;
  if constexpr (N > 1) x.at[1] = high;
  for (int i = 2; i < N; ++i) x.at[i] = word(0);
  return x;
}

template <int M, int N>
HWY_INLINE Long<M> cut_to(const Long<N>& x) {
  Long<M> y;
  for (int i = 0; i < M; ++i) y.at[i] = x.at[i];
  return y;
}
template <int N>
HWY_INLINE Long<N> chosen(LMask which, const Long<N>& x, const Long<N>& y) {
  Long<N> z;
  for (int i = 0; i < N; ++i) z.at[i] = hn::IfThenElse(which, x.at[i], y.at[i]);
  return z;
}
template <int N>
HWY_INLINE Long<N> zero_where(LMask which, Long<N> x) {
  for (int i = 0; i < N; ++i) x.at[i] = hn::IfThenZeroElse(which, x.at[i]);
  return x;
}

template <int N>
HWY_INLINE LMask is_zero(const Long<N>& x) {
  LV any = x.at[0];
  for (int i = 1; i < N; ++i) any = hn::Or(any, x.at[i]);
  return hn::Eq(any, word(0));
}
template <int N>
HWY_INLINE LMask differ(const Long<N>& x, const Long<N>& y) {
  LV any = hn::Xor(x.at[0], y.at[0]);
  for (int i = 1; i < N; ++i) any = hn::Or(any, hn::Xor(x.at[i], y.at[i]));
  return hn::Ne(any, word(0));
}

/// A word · 2^by, or / 2^−by, of which bits beyond it are lost, whatever by is.
HWY_INLINE LV word_shifted(LV x, LVI by) {
  const LV up = as_words(by), down = as_words(hn::Neg(by));
#if HWY_ARCH_X86  // whose shifts by 64 and more leave nothing
  return hn::Or(hn::Shl(x, up), hn::Shr(x, down));
#else
  const auto within = [&](LV shifted, LV bits)
                          HWY_ATTR { return hn::IfThenElseZero(hn::Lt(bits, word(kWordBits)), shifted); };
  const LV most = word(kWordBits - 1);
  return hn::Or(within(hn::Shl(x, hn::And(up, most)), up), within(hn::Shr(x, hn::And(down, most)), down));
#endif
}
/// The same of `kParts` words, of which bits below the last are lost.
template <int N, int kParts>
HWY_INLINE Long<N> long_shifted(const Long<N>& x, LVI by) {
  Long<N> y;
  for (int i = 0; i < N; ++i) {
    y.at[i] = word_shifted(x.at[0], hn::Sub(by, count(i * kWordBits)));
    for (int j = 1; j < kParts; ++j)
      y.at[i] = hn::Or(y.at[i], word_shifted(x.at[j], hn::Sub(by, count((i - j) * kWordBits))));
  }
  return y;
}

/// The same, of any number of bits, and what is lost below the last.
template <int N, int kParts>
HWY_INLINE Long<N> long_shifted(const Long<N>& x, LVI by, LV& lost) {
  const LVI words = words_of_bits(by);  // down
  const LV bits = hn::And(as_words(by), word(kWordBits - 1)), rest = hn::Sub(word(kWordBits - 1), bits);
  LV moved[kParts + 1];
  for (int j = 0; j < kParts; ++j) moved[j] = hn::Shl(x.at[j], bits);
  moved[kParts] = word(0);
  for (int j = 0; j < kParts; ++j) moved[j + 1] = hn::Or(moved[j + 1], hn::ShiftRight<1>(hn::Shr(x.at[j], rest)));
  Long<N> y;
  for (int i = 0; i < N; ++i) {
    y.at[i] = word(0);
    for (int j = 0; j <= kParts; ++j) {
      const LMask here = hn::RebindMask(LD(), hn::Eq(words, count(i - j)));
      y.at[i] = hn::Or(y.at[i], hn::IfThenElseZero(here, moved[j]));
    }
  }
  lost = word(0);
  for (int j = 0; j <= kParts; ++j) lost = hn::Or(lost, hn::IfThenElseZero(less(words, count(-j)), moved[j]));
  return y;
}

/// x · 2^bits of `kParts` words, 0 ≤ bits < 64.
template <int kParts, int N>
HWY_INLINE Long<kParts + 1> moved_up(const Long<N>& x, LV bits) {
  Long<kParts + 1> moved;
  moved.at[0] = hn::Shl(x.at[0], bits);
#if HWY_TARGET == HWY_AVX3_DL  // which shifts two words as one
  for (int j = 1; j < kParts; ++j) moved.at[j] = LV{_mm512_shldv_epi64(x.at[j].raw, x.at[j - 1].raw, bits.raw)};
  moved.at[kParts] = LV{_mm512_shldv_epi64(_mm512_setzero_si512(), x.at[kParts - 1].raw, bits.raw)};
#else
  const LV rest = hn::Sub(word(kWordBits - 1), bits);
  for (int j = 1; j <= kParts; ++j) {
    const LV below = hn::ShiftRight<1>(hn::Shr(x.at[j - 1], rest));
    moved.at[j] = j < kParts ? hn::Or(hn::Shl(x.at[j], bits), below) : below;
  }
#endif
  return moved;
}
/// x · 2^by of `kParts` words, of which bits beyond N words are lost. kUp: by ≥ 0.
template <int N, int kParts, bool kUp>
HWY_INLINE Long<N> long_placed(const Long<N>& x, LVI by) {
  if constexpr (N == 1 && kParts == 1) return long_of<N>(word_shifted(x.at[0], by));
  const Long<kParts + 1> moved = moved_up<kParts>(x, hn::And(as_words(by), word(kWordBits - 1)));
  const LVI words = words_of_bits(by);
  Long<N> y;
  for (int i = 0; i < N; ++i) y.at[i] = word(0);
#pragma GCC unroll 8
  for (int up = kUp ? 0 : -kParts; up < N; ++up) {
    const LMask here = hn::RebindMask(LD(), hn::Eq(words, count(up)));
#pragma GCC unroll 8
    for (int j = 0; j <= kParts; ++j) {
      if (const int i = up + j; i >= 0 && i < N) y.at[i] = hn::IfThenElse(here, moved.at[j], y.at[i]);
    }
  }
  return y;
}

/// The lowest word of x · 2^by.
template <int N>
HWY_INLINE LV low_word_shifted(const Long<N>& x, LVI by) {
  LV low = word_shifted(x.at[0], by);
  for (int i = 1; i < N; ++i) low = hn::Or(low, word_shifted(x.at[i], hn::Add(by, count(i * kWordBits))));
  return low;
}

/// Words that the first of several moves goes over, each of half as many as the one before.
template <int N>
inline constexpr int kMostStep = static_cast<int>(std::bit_floor(static_cast<unsigned>(N)));

/// x · 2^by, 0 ≤ by ≤ 64 N, of which bits beyond the words are lost.
template <int N>
HWY_INLINE Long<N> shifted_up(Long<N> x, LVI by) {
  if constexpr (N == 2) return long_shifted<N, N>(x, by);
  for (int step = kMostStep<N>; step >= 1; step /= 2) {
    const LMask moves = hn::Ne(hn::And(as_words(by), word(static_cast<std::uint64_t>(step) * kWordBits)), word(0));
    for (int i = N; i-- > 0;) x.at[i] = hn::IfThenElse(moves, i >= step ? x.at[i - step] : word(0), x.at[i]);
  }
  const LV bits = hn::And(as_words(by), word(kWordBits - 1)), rest = hn::Sub(word(kWordBits - 1), bits);
  for (int i = N; i-- > 0;) {
    const LV up = hn::Shl(x.at[i], bits);
    x.at[i] = i == 0 ? up : hn::Or(up, hn::ShiftRight<1>(hn::Shr(x.at[i - 1], rest)));
  }
  return x;
}
/// A magnitude / 2^by, 0 ≤ by ≤ 64 N, of which bits below the words are lost.
template <int N>
HWY_INLINE Long<N> shifted_down(Long<N> x, LVI by) {
  if constexpr (N == 2) return long_shifted<N, N>(x, hn::Neg(by));
  for (int step = kMostStep<N>; step >= 1; step /= 2) {
    const LMask moves = hn::Ne(hn::And(as_words(by), word(static_cast<std::uint64_t>(step) * kWordBits)), word(0));
    for (int i = 0; i < N; ++i) x.at[i] = hn::IfThenElse(moves, i + step < N ? x.at[i + step] : word(0), x.at[i]);
  }
  const LV bits = hn::And(as_words(by), word(kWordBits - 1)), rest = hn::Sub(word(kWordBits - 1), bits);
  for (int i = 0; i < N; ++i) {
    const LV down = hn::Shr(x.at[i], bits);
    x.at[i] = i + 1 == N ? down : hn::Or(down, hn::ShiftLeft<1>(hn::Shl(x.at[i + 1], rest)));
  }
  return x;
}

/// The same, and whether any bit of those is set.
template <int N>
HWY_INLINE Long<N> shifted_down(Long<N> x, LVI by, LMask& any_lost) {
  LV lost = word(0);
  for (int step = kMostStep<N>; step >= 1; step /= 2) {
    const LMask moves = hn::Ne(hn::And(as_words(by), word(static_cast<std::uint64_t>(step) * kWordBits)), word(0));
    LV below = word(0);
    for (int i = 0; i < step; ++i) below = hn::Or(below, x.at[i]);
    lost = hn::Or(lost, hn::IfThenElseZero(moves, below));
    for (int i = 0; i < N; ++i) x.at[i] = hn::IfThenElse(moves, i + step < N ? x.at[i + step] : word(0), x.at[i]);
  }
  const LV bits = hn::And(as_words(by), word(kWordBits - 1)), rest = hn::Sub(word(kWordBits - 1), bits);
  lost = hn::Or(lost, hn::ShiftLeft<1>(hn::Shl(x.at[0], rest)));
  for (int i = 0; i < N; ++i) {
    const LV down = hn::Shr(x.at[i], bits);
    x.at[i] = i + 1 == N ? down : hn::Or(down, hn::ShiftLeft<1>(hn::Shl(x.at[i + 1], rest)));
  }
  any_lost = hn::Ne(lost, word(0));
  return x;
}
/// A magnitude / 2, of which the last bit is lost.
template <int N>
HWY_INLINE Long<N> halved(Long<N> x) {
  for (int i = 0; i < N; ++i) {
    const LV down = hn::ShiftRight<1>(x.at[i]);
    x.at[i] = i + 1 == N ? down : hn::Or(down, hn::ShiftLeft<kWordBits - 1>(x.at[i + 1]));
  }
  return x;
}

/// sum + x, or sum − x where `negative` is all ones. Where `away` is, x is one more.
template <int N>
HWY_INLINE void add(const Long<N>& x, LV negative, LV away, Long<N>& sum) {
  LV carry = hn::Xor(negative, away);  // all ones: one
  for (int i = 0; i < N; ++i) {
    const LV of_x = hn::Xor(x.at[i], negative), plain = hn::Add(sum.at[i], of_x), all = hn::Sub(plain, carry);
    if (i + 1 < N) carry = ones(hn::Or(hn::Lt(plain, of_x), hn::Lt(all, plain)));
    sum.at[i] = all;
  }
}
template <int N>
HWY_INLINE void add(const Long<N>& x, LV negative, Long<N>& sum) {
  add(x, negative, word(0), sum);
}
/// A sum in two's complement whose words wait for their carries: nothing waits for the addition before.
template <int N>
struct LongSum {
  Long<N> words;  ///< and 2^63: signed numbers are then ordered as the words are
  Long<N> carries;

  LongSum() {
    for (int i = 0; i < N; ++i) {
      words.at[i] = word(kLongTop);
      carries.at[i] = word(0);
    }
  }
  /// sum + x, or sum − x where `negative` is all ones.
  HWY_INLINE void add(const Long<N>& x, LV negative) {
    carries.at[0] = hn::Sub(carries.at[0], negative);
    for (int i = 0; i < N; ++i) {
      const LV before = words.at[i];
      words.at[i] = hn::Add(before, hn::Xor(x.at[i], negative));
      if (i + 1 == N) break;
      const LMask carry = less(as_counts(words.at[i]), as_counts(before));
#if TCNUM_ROUNDS_EACH
      carries.at[i + 1] = hn::IfThenElse(carry, hn::Add(carries.at[i + 1], word(1)), carries.at[i + 1]);
#else
      carries.at[i + 1] = hn::Sub(carries.at[i + 1], ones(carry));
#endif
    }
  }
  HWY_INLINE Long<N> total() const {
    Long<N> sum;
    for (int i = 0; i < N; ++i) sum.at[i] = hn::Xor(words.at[i], word(kLongTop));
    HWY_NAMESPACE::add(carries, word(0), sum);
    return sum;
  }
};
/// x + 1 where `which`.
template <int N>
HWY_INLINE Long<N> incremented(LMask which, Long<N> x) {
  LV carry = ones(which);
  for (int i = 0; i < N; ++i) {
    x.at[i] = hn::Sub(x.at[i], carry);
    carry = hn::And(carry, ones(hn::Eq(x.at[i], word(0))));
  }
  return x;
}
/// −x in two's complement where `negative` is all ones.
template <int N>
HWY_INLINE Long<N> negated(LV negative, Long<N> x) {
  for (int i = 0; i < N; ++i) x.at[i] = hn::Xor(x.at[i], negative);
  return incremented(mask_of(negative), x);
}

/// Bits from the leading one on, as the exponent of a double has them; of 0 it is negative.
HWY_INLINE LVI width_of_word(LV x) {
  constexpr int kFraction = 52, kBiasLessOne = 1022;
  const auto of_double = [](LV double_bits) HWY_ATTR {
    return hn::Sub(as_counts(hn::ShiftRight<kFraction>(double_bits)), count(kBiasLessOne));
  };
#if TCNUM_ROUNDS_EACH
  const __m512d cut = _mm512_cvt_roundepu64_pd(x.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  return of_double(LV{_mm512_castpd_si512(cut)});
#else
  // Of half of it, beside 2^52.
  constexpr int kHalf = kWordBits / 2;
  const LV high = hn::ShiftRight<kHalf>(x);
  const LMask is_high = hn::Ne(high, word(0));
  const hn::RebindToFloat<LD> d;
  const auto two_to_52 = hn::Set(d, 0x1p52);
  const LV beside = hn::Or(hn::IfThenElse(is_high, high, x), hn::BitCast(LD(), two_to_52));
  const LV exact = hn::BitCast(LD(), hn::Sub(hn::BitCast(d, beside), two_to_52));
  return hn::Add(of_double(exact), chosen(is_high, count(kHalf), count(0)));
#endif
}
template <int N>
HWY_INLINE LVI width(const Long<N>& x) {
  LV top = x.at[0];
  LVI below = count(0);
  for (int i = 1; i < N; ++i) {
    const LMask is_there = hn::Ne(x.at[i], word(0));
    top = hn::IfThenElse(is_there, x.at[i], top);
    below = chosen(is_there, count(i * kWordBits), below);
  }
  return hn::Add(below, width_of_word(top));
}

/// The product of the lower halves of words.
HWY_INLINE LV times_low(LV x, LV y) {
  const hn::Repartition<std::uint32_t, LD> halves;
  return hn::MulEven(hn::BitCast(halves, x), hn::BitCast(halves, y));
}
/// The product of words that fits one.
HWY_INLINE LV times_short(LV x, LV y) {
  constexpr int kHalf = kWordBits / 2;
  const LV crossed = hn::Add(times_low(hn::ShiftRight<kHalf>(x), y), times_low(x, hn::ShiftRight<kHalf>(y)));
  return hn::Add(times_low(x, y), hn::ShiftLeft<kHalf>(crossed));
}
/// The product of words.
template <int N>
HWY_INLINE Long<N> product_of(LV x, LV y) {
  constexpr int kHalf = kWordBits / 2;
  const LV x_high = hn::ShiftRight<kHalf>(x), y_high = hn::ShiftRight<kHalf>(y);
  const LV low = times_low(x, y);
  const LV middle = hn::Add(times_low(x_high, y), hn::ShiftRight<kHalf>(low));  // no carry
  const LV other = hn::Add(times_low(x, y_high), hn::And(middle, word(0xffffffff)));
  const LV high =
      hn::Add(hn::Add(times_low(x_high, y_high), hn::ShiftRight<kHalf>(middle)), hn::ShiftRight<kHalf>(other));
  return long_of<N>(hn::Or(hn::ShiftLeft<kHalf>(other), hn::And(low, word(0xffffffff))), high);
}
/// x times a number of 32 bits, of which carries beyond the words are lost.
template <int N>
HWY_INLINE Long<N> times(const Long<N>& x, LV factor) {
  constexpr int kHalf = kWordBits / 2;
  Long<N> product;
  LV carry = word(0);
  for (int i = 0; i < N; ++i) {
    const LV low = hn::Add(times_low(x.at[i], factor), carry);
    const LV high = hn::Add(times_low(hn::ShiftRight<kHalf>(x.at[i]), factor), hn::ShiftRight<kHalf>(low));
    product.at[i] = hn::Or(hn::ShiftLeft<kHalf>(high), hn::And(low, word(0xffffffff)));
    carry = hn::ShiftRight<kHalf>(high);
  }
  return product;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
