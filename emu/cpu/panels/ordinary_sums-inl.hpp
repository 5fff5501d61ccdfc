// Chains of ordinary sums: docs/panels.md says what that is, and why the results are right.
// Compiled once for each CPU, as kernels.cpp is, which includes this.
#if defined(TCNUM_ORDINARY_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_ORDINARY_SUMS_INL
#undef TCNUM_ORDINARY_SUMS_INL
#else
#define TCNUM_ORDINARY_SUMS_INL
#endif

#include <algorithm>
#include <array>
#include <ranges>

#include "few_bits-inl.hpp"
#include "machine_rounding-inl.hpp"
#include "packing-inl.hpp"
#include "prefetch.hpp"
#include "sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

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

/// How many bits of each are set.
HWY_INLINE VT bits_set(VT x) {
#if HWY_TARGET == HWY_AVX2
  const DT dt;
  const VT few = hn::Set(dt, Top{0x0f0f});
  const VT lower = hn::And(x, few), upper = hn::And(hn::ShiftRight<kFewBits>(x), few);
  const VT of_bytes = hn::Add(few_bits_set(dt, lower), few_bits_set(dt, upper));
  return VT{_mm256_maddubs_epi16(of_bytes.raw, _mm256_set1_epi8(1))};  // adds the bytes of each
#else
  return hn::PopulationCount(x);
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

/// Some k-steps of a node for a panel's columns, one after the other.
struct KSteps {
  std::size_t number;  ///< of the node
  std::size_t first, count;
};

/// Where the operands of an ordinary sum are, and how far those of the next k-step are from them, so that the plan is
/// asked once: a compiler that sees vectors stored would ask it anew, as they might be stored there.
template <class T>
struct OrdinaryOperands {
  std::size_t depth, halves;  ///< products, and halves of words of signs, of a k-step
  const T *a, *b;             ///< [count][kRows], and [count][kColumns]
  const Word* a8;             ///< [count][kRows]
  const std::uint8_t* b8;     ///< [count][kColumns]
  const Word* a_signs;        ///< [kTopsOfWord], of rows so far apart
  std::size_t row_of_signs;
  const Top* b_signs;  ///< [kTopsOfWord][kColumns]

  OrdinaryOperands(const Work<T>& w, const KSteps& k_steps)
      : depth(static_cast<std::size_t>(w.plan->depth)), halves(w.plan->nodes.size() * kTopsOfWord) {
    const auto [place, word, at] = Position(w, k_steps.first, k_steps.number);
    a = w.a->value.data() + at;
    b = w.b->value.data() + place * kColumns;
    a8 = w.a->exponent8_words.data() + at;
    b8 = w.b->exponent8.data() + place * kColumns;
    row_of_signs = w.a_words * kTopsOfWord;
    a_signs = w.a->negative_twice.data() + w.row * row_of_signs + word * kTopsOfWord;
    b_signs = w.b->negative_tops.data() + word * kTopsOfWord * kColumns;
  }
  /// To the next k-step.
  HWY_INLINE void advance() {
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

/// How exponents in 8 bits become alignments.
template <class T>
struct Alignment8 {
  hn::Vec<hn::Repartition<std::uint8_t, DT>> lowest;
  bool is_below_numbers;  ///< the lowest: a sum of exponents that is one of numbers is not below it
  VT more;

  HWY_INLINE Alignment8(const NodePlan& node, int offset) {
    const int least = lowest_in_8_bits<T>(node, offset);
    lowest = hn::Set(hn::Repartition<std::uint8_t, DT>(), static_cast<std::uint8_t>(least));
    is_below_numbers = least <= kLeastSum8;
    more = hn::Set(DT(), static_cast<Top>((offset + Lane<T>::kBias) << kTopFraction<T>));
  }
};

/// The alignments of a node's sums, as tops of powers of two, where all is ordinary.
template <class T>
HWY_INLINE void align_ordinary(const Alignment8<T>& how, const OrdinaryOperands<T>& x, int count, Rows<Top>& to) {
  const DT dt;
  const hn::Repartition<std::uint8_t, DT> d;
  const hn::RebindToSigned<decltype(d)> ds;
  const hn::Repartition<Word, decltype(d)> dw;
  const auto spread = [&](Word e) HWY_ATTR { return hn::BitCast(d, hn::Set(dw, e)); };
  align(x.a8, x.b8, count, spread, [&](std::size_t row, std::size_t column, auto e) HWY_ATTR {
    static_assert(kLeastSum8 == 1 << 7);  // which is the sign
    const auto is_one = hn::RebindMask(d, hn::Lt(hn::BitCast(ds, e), hn::Zero(ds)));
    auto most = hn::IfThenElse(is_one, e, how.lowest);
    if (!how.is_below_numbers) most = hn::Max(most, how.lowest);
    const VT pairs = hn::BitCast(dt, most);
    hn::Store(hn::Add(exponents_of<T, false>(pairs), how.more), dt, to.of[row] + column);
    hn::Store(hn::Add(exponents_of<T, true>(pairs), how.more), dt, to.of[row] + column + kTops);
  });
}

/// What a sum takes beside its products.
enum class Other : std::uint8_t { none, single, half };

/// One node's sums along some k-steps: from results so far to the next. kSpareBit: its products' signs leave the top
/// bit of a half of a word. kCuts: results are cut toward zero, if that is how they are rounded. kFew: they are of
/// kFewBits products at most.
template <class T, Other kOther, bool kSpareBit, bool kCuts, bool kFew>
void ordinary_sums(const Work<T>& w, const KSteps& k_steps, const Rows<T>& from, Rows<T>& to) {
  constexpr int kLowestFloor = -100;
  constexpr std::size_t kWide = kToTops<T>;
  // Of 16 registers too few are left for what sums begin with, so that all begin, and wait in memory, before any
  // product is added; unless these are few, and what others begin with hides behind them.
  constexpr bool kBeginsApart = HWY_TARGET == HWY_AVX2 && !kFew;
  const D<T> d;
  const DT dt;
  const NodePlan& node = w.plan->nodes[k_steps.number];
  const int count = node.count;
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
  const std::size_t last_half = count > kTopBits ? 1 : 0;  // of the words of signs
  OrdinaryOperands<T> x(w, k_steps);
  Rows<Top> alignments;
  // For vectors of sums, as many as one has tops, from what else they add.
  const auto begin = [&](std::size_t r, std::size_t at, V<T>* sum) HWY_ATTR {
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
      if constexpr (kSpareBit && !kFew) signs = hn::OrAnd(signs, tops, sign_bit);
    }
    VT negatives = kFew ? few_bits_set(dt, signs) : bits_set(signs);
    if (!kFew && last_half != 0) negatives = hn::Add(negatives, bits_set(signs_of(0)));
    if constexpr (kOther != Other::none && (!kSpareBit || kFew))
      negatives = hn::Add(negatives, hn::ShiftRight<kTopBits - 1>(tops));
    put_tops(hn::Add(alignment, grid), negatives, start);
    for (std::size_t i = 0; i < kWide; ++i)
      sum[i] = kOther == Other::none ? start[i] : hn::MulAdd(before[i], growth, start[i]);
  };
  const auto add = [&](const auto& begin_some) HWY_ATTR {
    each_chunk<T>([&](std::size_t row, std::size_t column) HWY_ATTR {
      Sums<T> sum;
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kVectors; v += kWide) begin_some(row + r, column + v * kLanes<T>, sum[r] + v);
      }
      add_products<T>(x.a, x.b, row, column, count, sum);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
#pragma GCC unroll 4
        for (std::size_t v = 0; v < kVectors; ++v) {
          const V<T> result = without_beginning<T>(sum[r][v]);
          hn::Store(kCuts ? hn::And(result, kept) : result, d, to.of[row + r] + column + v * kLanes<T>);
        }
      }
    });
  };
  const Alignment8<T> alignment8(node, w.offset8);
  const PrefetchInParts prefetch_next(w.next, kRows * kColumns, w.k_steps);
  for (std::size_t k_step = 0; k_step < k_steps.count; ++k_step, x.advance()) {
    prefetch_next(k_steps.first + k_step);
    align_ordinary(alignment8, x, count, alignments);
    if constexpr (kBeginsApart) {
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t at = 0; at < kColumns; at += kTops) {
          V<T> sum[kWide];
          begin(r, at, sum);
          for (std::size_t i = 0; i < kWide; ++i) hn::Store(sum[i], d, to.of[r] + at + i * kLanes<T>);
        }
      }
      add([&](std::size_t r, std::size_t at, V<T>* sum) HWY_ATTR {
        for (std::size_t i = 0; i < kWide; ++i) sum[i] = hn::Load(d, to.of[r] + at + i * kLanes<T>);
      });
    } else {
      add(begin);
    }
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
  const MachineRoundingHere rounding(Rounding::nearest_even);
  V<T> most = hn::Zero(d);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kColumns; j += kLanes<T>) {
      const V<T> x = hn::Load(d, rows.of[r] + j);
      const V<T> rounded = nearest_magnitude<T>(how, hn::Abs(x));
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
      x = hn::Add(x, hn::Zero(d));  // −0 is worth +0, and a sum would take it for less
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
void ordinary_sums(const Work<T>& w, const KSteps& k_steps, const Rows<T>& from, Rows<T>& to, bool cuts) {
  const NodePlan& node = w.plan->nodes[k_steps.number];
  const auto sum = [&](auto other, auto has_spare_bit, auto with_cut) HWY_ATTR {
    constexpr Other kOther = decltype(other)::value;
    constexpr bool kSpareBit = decltype(has_spare_bit)::value, kCuts = decltype(with_cut)::value;
    if constexpr (kLooksFewBitsUp) {
      if (node.count <= kFewBits) return ordinary_sums<T, kOther, kSpareBit, kCuts, true>(w, k_steps, from, to);
    }
    ordinary_sums<T, kOther, kSpareBit, kCuts, false>(w, k_steps, from, to);
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
  const auto kept = [](const NodePlan& node) { return last_rounding(node).fraction_bits; };
  const int most_cut = std::ranges::max(plan.nodes, {}, &NodePlan::fraction_bits).fraction_bits;
  const int least_kept = kept(std::ranges::min(plan.nodes, {}, kept));
  return most_cut <= least_kept && std::ranges::all_of(plan.nodes, [](const NodePlan& node) {
           return !node.is_pair && (node.takes_c || node.takes_before) && !last_rounding(node).to_nearest;
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
  // A node that is alone, and whose results are at most cut, goes along all k-steps at once.
  const bool is_alone = plan.nodes.size() == 1 && !last_rounding(plan.nodes.front()).to_nearest;
  const std::size_t at_once = is_alone ? w.k_steps : 1;
  for (std::size_t k_step = 0; k_step < w.k_steps; k_step += at_once) {
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
        ordinary_sums<T>(w, {number, k_step, at_once}, from, to, !at_end);
      }
      overflows |= !round_ordinary(node, to);
    }
  }
  if (overflows) return false;
  if (at_end) cut_rows(plan.nodes.back().rounding[0].fraction_bits, c);
  put_results(c, w.sums);
  return true;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
