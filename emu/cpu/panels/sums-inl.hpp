// What the kernels of panels share: products added to sums, alignments, and roundings.
// Compiled once for each CPU, as kernels.cpp is, which includes this.
#if defined(TCNUM_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_SUMS_INL
#undef TCNUM_SUMS_INL
#else
#define TCNUM_SUMS_INL
#endif

#include <algorithm>

#include "kernels.hpp"
#include "lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

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

/// Where a node's products of a k-step are among the packed ones, and its words.
struct Position {
  std::size_t place, word, at_a;  ///< the last in A's arrays of places

  template <class T>
  Position(const Work<T>& w, std::size_t k_step, std::size_t number) {
    const Plan& plan = *w.plan;
    place = k_step * static_cast<std::size_t>(plan.depth) + static_cast<std::size_t>(plan.nodes[number].first);
    word = k_step * plan.nodes.size() + number;
    at_a = w.row * w.a_places + place * kRows;
  }
};

/// Numbers of each row for a panel's columns.
template <class T>
struct Rows {
  HWY_ALIGN T of[kRows][kColumns];
};

/// Numbers of B, which several rows take from a register: with AVX2 compilers load them anew for each.
template <class T>
HWY_INLINE V<T> load_once(const T* from) {
  V<T> x = hn::Load(D<T>(), from);
#if HWY_TARGET == HWY_AVX2
  asm("" : "+x"(x.raw));
#endif
  return x;
}

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
      const V<T> of_b = load_once(b + v * kLanes<T>);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRowsAtOnce; ++r) sum[r][v] = hn::MulAdd(of_a[r], of_b, sum[r][v]);
    }
  }
}

/// The largest exponents of a node's products, of which A's operands' are spread over vectors: puts them by row and
/// first column. There is a product at least.
template <class Exponent, class OfA, class Spread, class Put>
HWY_INLINE void align(const OfA* a, const Exponent* b, int count, const Spread& spread, const Put& put) {
  static_assert(kRows == 4);
  const hn::CappedTag<Exponent, kColumns> d;
  for (std::size_t column = 0; column < kColumns; column += hn::Lanes(d)) {
    const OfA* of_a = a;
    const Exponent* at = b + column;
    const auto first = hn::Load(d, at);
    auto most0 = hn::Add(spread(of_a[0]), first), most1 = hn::Add(spread(of_a[1]), first);
    auto most2 = hn::Add(spread(of_a[2]), first), most3 = hn::Add(spread(of_a[3]), first);
    for (int p = 1; p < count; ++p) {
      of_a += kRows;
      at += kColumns;
      const auto of_b = hn::Load(d, at);
      most0 = hn::Max(most0, hn::Add(spread(of_a[0]), of_b));
      most1 = hn::Max(most1, hn::Add(spread(of_a[1]), of_b));
      most2 = hn::Max(most2, hn::Add(spread(of_a[2]), of_b));
      most3 = hn::Max(most3, hn::Add(spread(of_a[3]), of_b));
    }
    put(0, column, most0);
    put(1, column, most1);
    put(2, column, most2);
    put(3, column, most3);
  }
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

/// A number of no sign rounded to nearest multiples of its last place, where the machine rounds so, or each instruction
/// does: a sum with 1.5 · 2^kFraction of its last places has no others.
template <class T>
HWY_INLINE V<T> nearest_magnitude(const NumberRounding& how, V<T> magnitude) {
  const V<T> least = from_bits<T>(Lane<T>::power_of_two(how.min_exponent));
  const V<T> binade = hn::Max(hn::And(magnitude, from_bits<T>(Lane<T>::kExponent)), least);
  const auto grid = hn::Set(DU<T>(), Lane<T>::grid(how.fraction_bits));
  const V<T> start = hn::BitCast(D<T>(), hn::Add(hn::BitCast(DU<T>(), binade), grid));
#if TCNUM_ROUNDS_EACH
  return hn::Sub(add_to_nearest(magnitude, start), start);
#else
  return hn::Sub(hn::Add(magnitude, start), start);
#endif
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

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
