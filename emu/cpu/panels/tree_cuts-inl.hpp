// Sums of tree panels whose terms are cut.
// Compiled once for each CPU, as tree_kernels.cpp is, which includes this.
#if defined(TCNUM_TREE_CUTS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef TCNUM_TREE_CUTS_INL
#undef TCNUM_TREE_CUTS_INL
#else
#define TCNUM_TREE_CUTS_INL
#endif

#include <type_traits>

#include "few_bits-inl.hpp"
#include "machine_rounding-inl.hpp"
#include "tree_numbers-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace tcnum::panels {
namespace HWY_NAMESPACE {

#if TCNUM_HAS_FMA

#if TCNUM_ROUNDS_EACH
template <Rounding kMode>
inline constexpr int kInstructionMode = _MM_FROUND_NO_EXC | (kMode == Rounding::toward_zero ? _MM_FROUND_TO_ZERO
                                                             : kMode == Rounding::down      ? _MM_FROUND_TO_NEG_INF
                                                                                            : _MM_FROUND_TO_POS_INF);
#endif

/// A sum, and a product with one, rounded so: by the instruction, or else by the machine, which rounds so meanwhile.
template <Rounding kMode>
HWY_INLINE TV rounded_sum(TV x, TV y) {
#if TCNUM_ROUNDS_EACH
  return TV{_mm512_add_round_pd(x.raw, y.raw, kInstructionMode<kMode>)};
#else
  return hn::Add(x, y);
#endif
}
template <Rounding kMode>
HWY_INLINE TV rounded_fma(TV x, TV y, TV z) {
#if TCNUM_ROUNDS_EACH
  return TV{_mm512_fmadd_round_pd(x.raw, y.raw, z.raw, kInstructionMode<kMode>)};
#else
  return hn::MulAdd(x, y, z);
#endif
}

/// So many times a power of two are the 1.5 · 2^52 units of a grid, whose unit is the last of so many fraction bits.
HWY_INLINE TV grids(int fraction_bits) { return grid_of(number(1), fraction_bits); }

/// x cut down to the unit of a grid, and the grid: the two FMAs that multiply a power of two have the grid by the way.
/// By instructions that round down, or in a machine that rounds toward zero: no sum with a grid is negative.
HWY_INLINE TV on_grid(TV power, TV grids_of_one, TV x) { return rounded_fma<Rounding::down>(power, grids_of_one, x); }
HWY_INLINE TV off_grid(TV power, TV grids_of_one, TV x) { return hn::NegMulAdd(power, grids_of_one, x); }

/// Sums, and what they are aligned to: rounded at once where the machine rounds to nearest, or else kept until it does.
template <Finish kFinish>
HWY_INLINE void put_sums(const TreeWork& w, const TreeNode& node, std::size_t column, Aligned (&sums)[kTreeRows]) {
  if constexpr (TCNUM_ROUNDS_EACH) {
    finish<kFinish>(w, node, column, sums);
  } else {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      hn::Store(sums[r].x, TD(), w.sums + r * kColumns + column);
      hn::Store(sums[r].power, TD(), w.alignments + r * kColumns + column);
    }
  }
}

/// The rest of it, when the machine rounds to nearest again.
void finish_sums(const TreeWork& w, const TreeNode& node) {
  if constexpr (TCNUM_ROUNDS_EACH) return;
  const TD d;
  for (std::size_t column = 0; column < kColumns; column += kTreeLanes) {
    Aligned sums[kTreeRows];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r)
      sums[r] = {hn::Load(d, w.sums + r * kColumns + column), hn::Load(d, w.alignments + r * kColumns + column)};
    finish(w, node, column, sums);
  }
}

/// The same of results alone, all of a panel's columns, while the machine rounds as terms are cut: up, or else down.
/// All sums are exact, and so are multiples of a unit in any mode. Zeros may have any sign, as they are given theirs
/// later.
template <Rounding kMode, bool kOfMagnitudes, bool kDrops>
HWY_NOINLINE void sum_cut_results(const TreeWork& w, const TreeNode& node) {
  const TV down = number(node.drop_power);
  for (std::size_t column = 0; column < kColumns; column += kTreeLanes) {
    TV alignment[kTreeRows], power[kTreeRows];
    Aligned sums[kTreeRows];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) alignment[r] = zero();
    for (const TreeTerm& t : node.terms) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        const Aligned v = Terms(w, r, column).aligned_of_place(t);
        alignment[r] = hn::Max(alignment[r], aligning_power(*w.plan, node, t, v));
      }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      alignment[r] = with_floor(node, alignment[r]);
      power[r] = with_grid(alignment[r]);
      sums[r] = {zero(), alignment_or_one(*w.plan, node, alignment[r])};
    }
    for (const TreeTerm& t : node.terms) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        const Aligned v = Terms(w, r, column).aligned_of_place(t);
        TV x = v.x;
        if (kDrops && t.may_drop) {
          const TMask is_far = hn::And(hn::Lt(v.power, hn::Mul(alignment[r], down)), is_finite(x));
          x = hn::IfThenZeroElse(is_far, x);
        }
        const TV sign = sign_of(x), grid = grid_of(power[r], t.fraction_bits);
        if (kOfMagnitudes) x = hn::Abs(x);
        const TV kept = hn::Sub(rounded_sum<kMode>(x, grid), grid);
        sums[r].x = hn::Add(sums[r].x, kOfMagnitudes ? hn::Xor(kept, sign) : kept);
      }
    }
    put_sums<Finish::any>(w, node, column, sums);
  }
}

void cut_results(const TreeWork& w, const TreeNode& node) {
  {
    const Rounding mode = node.unit.align_rounding;
    const MachineRoundingHere rounding(mode == Rounding::up ? Rounding::up : Rounding::down);
    const auto sum = [&]<bool kDrops>(std::bool_constant<kDrops>) {
      if (mode == Rounding::toward_zero)
        sum_cut_results<Rounding::down, true, kDrops>(w, node);
      else if (mode == Rounding::down)
        sum_cut_results<Rounding::down, false, kDrops>(w, node);
      else
        sum_cut_results<Rounding::up, false, kDrops>(w, node);
    };
    if (node.unit.drop_below)
      sum(std::true_type());
    else
      sum(std::false_type());
  }
  finish_sums(w, node);
}

/// Whether the machine can round as these terms are cut, none of them a product that it rounds otherwise.
bool cuts_as_the_machine(const TreeNode& node) {
  const Rounding mode = node.unit.align_rounding;
  return node.sum == TreeSum::cut && node.products.empty() && mode != Rounding::nearest_even &&
         mode != Rounding::nearest_away;
}

/// Moves on along k.
HWY_INLINE void next_k_step(TreeWork& at) {
  const TreePlan& plan = *at.plan;
  const std::size_t blocks = plan.scales_sums ? plan.depth / static_cast<std::size_t>(plan.scales->block_k) : 0;
  at.a += plan.depth;
  at.a_tops += plan.depth;
  at.a_biased += plan.depth;
  at.a_few_flags += plan.nodes.size();
  at.a_flags += plan.nodes.size();
  if (plan.scales_sums) {
    at.a_scales += blocks;
    at.a_scale_powers += blocks;
    at.b_scales += blocks * kColumns;
    at.b_scale_powers += blocks * kColumns;
  }
  ++at.b_reach_of_k_step;
  at.b += plan.depth * kColumns;
  at.b_tops += plan.depth * kColumns;
  at.b_biased += plan.depth * kColumns;
  at.b_few_flags += plan.nodes.size() * kColumns;
  at.b_flags += plan.nodes.size() * kColumns;
}

/// The powers of two of the largest exponents of a node's products, as the first 16 bits of doubles. None is below the
/// node's floor, or that of the least grid: where no product takes part the sum is zero, or other terms tell what it is
/// aligned with.
void align_products(const TreeWork& w, const TreeNode& node, std::int16_t* HWY_RESTRICT alignments) {
  constexpr std::size_t kVectors = 2;
  static_assert(kColumns % (kVectors * kShortLanes) == 0);
  const TS d;
  const hn::RepartitionToWide<TS> pairs;
  // Not ilogb(), which is a call that would cost loops their registers.
  const double floor = std::max(node.floor_power, kLeastGrid);
  const int least_exponent = static_cast<int>(std::bit_cast<std::uint64_t>(floor) >> kFraction) - kBias;
  const auto least = hn::BitCast(d, hn::Set(pairs, tops_of_a(static_cast<std::int16_t>(least_exponent))));
  for (std::size_t column = 0; column < kColumns; column += kVectors * kShortLanes) {
    hn::Vec<TS> most[kVectors][kTreeRows];
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTreeRows; ++r) most[0][r] = most[1][r] = least;
    for (const int k : node.products) {
      const std::int16_t* const b = w.b_tops + static_cast<std::size_t>(k) * kColumns + column;
      const auto b0 = hn::Load(d, b), b1 = hn::Load(d, b + kShortLanes);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        const auto a = hn::BitCast(d, hn::Set(pairs, w.a_tops[r][k]));
        most[0][r] = hn::Max(most[0][r], hn::Add(a, b0));
        most[1][r] = hn::Max(most[1][r], hn::Add(a, b1));
      }
    }
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectors; ++v) {
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r)
        hn::Store(most[v][r], d, alignments + r * kColumns + column + v * kShortLanes);
    }
  }
}

/// Whether the negative ones of so many products are counted all columns' at once, in bytes: where no instruction
/// counts bits of 64, and they are more than a table tells.
constexpr bool counts_apart(std::size_t products) {
  return kLooksFewBitsUp && products > kFewSigned && products <= kFewProducts;
}

/// A grid and so many of its units more, of some lanes.
HWY_INLINE TV grid_and_units(TV grid, const std::uint8_t* units) {
#if HWY_TARGET == HWY_AVX2
  // All four in each block of 128 bits, of which each takes its two.
  constexpr std::uint8_t o = 0x80;
  HWY_ALIGN static constexpr std::uint8_t kOfBlocks[32] = {0, o, o, o, o, o, o, o, 1, o, o, o, o, o, o, o,
                                                           2, o, o, o, o, o, o, o, 3, o, o, o, o, o, o, o};
  std::int32_t all;
  std::memcpy(&all, units, sizeof(all));
  const __m256i lasts = _mm256_load_si256(reinterpret_cast<const __m256i*>(kOfBlocks));
  return hn::Or(grid, TV{_mm256_castsi256_pd(_mm256_shuffle_epi8(_mm256_set1_epi32(all), lasts))});
#elif TCNUM_ROUNDS_EACH
  const __m512i wide = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(units)));
  return hn::Or(grid, TV{_mm512_castsi512_pd(wide)});
#else
  const hn::Rebind<std::uint32_t, TI> half;
  const hn::RebindToUnsigned<TI> whole;
  const auto wide = hn::PromoteTo(whole, hn::PromoteTo(half, hn::Load(hn::Rebind<std::uint8_t, TI>(), units)));
  return hn::Or(grid, hn::BitCast(TD(), wide));
#endif
}

/// What sums of a node's products begin with: 1.5 · 2^52 units, and one more for each negative product.
class Starts {
 public:
  Starts(const TreeWork& w, std::size_t number)
      : of_b_(w.b_flags + number * kColumns),
        count_(w.plan->nodes[number].products.size()),
        grid_(hn::Sub(bits_of(grids(w.plan->nodes[number].unit.fraction_bits)), bits_of(hn::Set(TD(), 1.0)))) {
    const FewStarts& few = w.plan->few_starts[w.plan->nodes[number].few_starts];
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      of_a_[r] = w.a_flags[r][number];
      few_[r] = few.at[of_a_[r] & (std::size(few.at) - 1)];
    }
    if (counts_apart(count_)) count_negatives(w, number);
  }

  /// Calls with how sums begin, from an alignment, a row, a column, and what signs_of_b() has there.
  template <class With>
  HWY_INLINE void with_way(const With& with) const {
    if (is_few())
      with([&](TV alignment, std::size_t row, std::size_t, TVI of_b)
               HWY_ATTR { return start_of_few(alignment, row, of_b); });
    else if (counts_apart(count_))
      with([&](TV alignment, std::size_t row, std::size_t column, TVI)
               HWY_ATTR { return grid_and_units(grid(alignment), negatives_ + row * kColumns + column); });
    else
      with([&](TV alignment, std::size_t row, std::size_t, TVI of_b) HWY_ATTR {
        const auto set = hn::BitCast(hn::RebindToUnsigned<TI>(), signs(row, of_b));
        return start(alignment, hn::BitCast(TI(), hn::PopulationCount(set)));
      });
  }
  /// B's words of some columns.
  HWY_INLINE TVI signs_of_b(std::size_t column) const { return hn::Load(TI(), of_b_ + column); }

 private:
  HWY_INLINE bool is_few() const { return count_ <= kFewSigned; }
  HWY_INLINE TVI signs(std::size_t row, TVI of_b) const { return hn::Xor(integer(of_a_[row]), of_b); }
  HWY_INLINE TV grid(TV alignment) const { return as_numbers(hn::Add(bits_of(alignment), grid_)); }
  HWY_INLINE TV start(TV alignment, TVI negatives) const {
    return as_numbers(hn::Add(bits_of(grid(alignment)), negatives));
  }
  HWY_INLINE TV start_of_few(TV alignment, std::size_t row, TVI of_b) const {
#if TCNUM_ROUNDS_EACH
    static_assert(std::extent_v<decltype(FewStarts::at), 1> == 2 * kTreeLanes);
    const __m512i lower = _mm512_load_si512(few_[row]), upper = _mm512_load_si512(few_[row] + kTreeLanes);
    return as_numbers(hn::Add(bits_of(alignment), TVI{_mm512_permutex2var_epi64(lower, of_b.raw, upper)}));
#else
    static_assert(kFewSigned == kFewBits);
    return start(alignment, few_bits_set(TI(), signs(row, of_b)));
#endif
  }
  void count_negatives(const TreeWork& w, std::size_t number) {
    const hn::CappedTag<std::uint8_t, kColumns> d;
    const std::uint8_t* const of_b = w.b_few_flags + number * kColumns;
    for (std::size_t column = 0; column < kColumns; column += hn::MaxLanes(d)) {
      const auto b = hn::Load(d, of_b + column);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        const auto differing = hn::Xor(hn::Set(d, w.a_few_flags[r][number]), b);
        hn::Store(hn::PopulationCount(differing), d, negatives_ + r * kColumns + column);
      }
    }
  }

  const std::int64_t* of_b_;
  std::int64_t of_a_[kTreeRows];
  const std::int64_t* few_[kTreeRows];  ///< rows of FewStarts
  std::size_t count_;
  TVI grid_;  ///< which makes one of a power of two
  HWY_ALIGN std::uint8_t negatives_[kLooksFewBitsUp ? kTreeRows * kColumns : 1];
};

/// What align_products() found.
HWY_INLINE TV alignment_of_products(const std::int16_t* alignments, std::size_t row, std::size_t column) {
  alignments += row * kColumns + column;
#if TCNUM_ROUNDS_EACH
  // All eight in each block of 128 bits, of which each takes its two.
  constexpr std::uint8_t o = 0x80;
  HWY_ALIGN static constexpr std::uint8_t kOfBlocks[64] = {
      o, o, o, o, o, o, 0, 1, o, o, o, o, o, o, 2,  3,  o, o, o, o, o, o, 4,  5,  o, o, o, o, o, o, 6,  7,
      o, o, o, o, o, o, 8, 9, o, o, o, o, o, o, 10, 11, o, o, o, o, o, o, 12, 13, o, o, o, o, o, o, 14, 15};
  const hn::Repartition<std::uint8_t, TD> d8;
  const auto in_each = hn::BitCast(d8, hn::LoadDup128(hn::Repartition<std::int16_t, TD>(), alignments));
  return hn::BitCast(TD(), hn::TableLookupBytesOr0(in_each, hn::Load(d8, kOfBlocks)));
#elif HWY_TARGET == HWY_AVX2
  // The same of four.
  constexpr std::uint8_t o = 0x80;
  HWY_ALIGN static constexpr std::uint8_t kOfBlocks[32] = {o, o, o, o, o, o, 0, 1, o, o, o, o, o, o, 2, 3,
                                                           o, o, o, o, o, o, 4, 5, o, o, o, o, o, o, 6, 7};
  std::int64_t all;
  std::memcpy(&all, alignments, sizeof(all));
  const __m256i firsts = _mm256_load_si256(reinterpret_cast<const __m256i*>(kOfBlocks));
  return TV{_mm256_castsi256_pd(_mm256_shuffle_epi8(_mm256_set1_epi64x(all), firsts))};
#else
  const hn::Rebind<std::int32_t, TI> wider;
  const auto tops = hn::PromoteTo(TI(), hn::PromoteTo(wider, hn::Load(TFew(), alignments)));
  return as_numbers(hn::ShiftLeft<kFraction - kTopFraction>(tops));
#endif
}
/// What the sums of a node that cuts products are aligned to, of all its terms.
HWY_INLINE TV alignment_of_cut(const TreeWork& w, const TreeNode& node, std::size_t row, std::size_t column) {
  TV alignment = alignment_of_products(w.tops, row, column);
  for (const TreeTerm& t : node.others)
    alignment = hn::Max(alignment, aligning_power(*w.plan, node, t, Terms(w, row, column).aligned_of_place(t)));
  return alignment;
}

/// Some vectors' sums of a node's products that are cut toward zero, on a grid of their units, and what they are
/// aligned to. The grid is that times a constant: registers that held it would lack to others.
struct CutProducts {
  Vectors alignment, sum;
};

/// Adds them from column `first` on, by one FMA for each while the machine rounds toward zero: docs/patches.md has the
/// proof, and docs/panels.md what is different here. All operands are finite. `alignment_of` tells of a row and column.
template <class AlignmentOf>
HWY_INLINE void add_cut_products(const Operands& operands, const Starts& starts, std::size_t first,
                                 const AlignmentOf& alignment_of, CutProducts& to) {
  starts.with_way([&](const auto& start) HWY_ATTR {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectorsAtOnce; ++v) {
      const std::size_t column = first + v * kTreeLanes;
      const TVI of_b = starts.signs_of_b(column);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r) {
        to.alignment[v][r] = alignment_of(r, column);
        to.sum[v][r] = start(to.alignment[v][r], r, column, of_b);
      }
    }
  });
  add_products(operands, first, to.sum,
               [](TV a, TV b, TV sum) HWY_ATTR { return rounded_fma<Rounding::toward_zero>(a, b, sum); });
}

/// All of a node's sums of products, and other terms. What else is done is exact.
template <Finish kFinish>
HWY_NOINLINE void sum_cut_products(const TreeWork& w, const TreeNode& node, std::size_t number) {
  const auto alignment_of = [&](std::size_t row, std::size_t column)
                                HWY_ATTR { return alignment_of_cut(w, node, row, column); };
  const TV of_units = grids(node.unit.fraction_bits);
  const Starts starts(w, number);
  const Operands operands(w.a_biased, w.b_biased, node);
  for (std::size_t first = 0; first < kColumns; first += kVectorsAtOnce * kTreeLanes) {
    CutProducts products;
    add_cut_products(operands, starts, first, alignment_of, products);
#pragma GCC unroll 2
    for (std::size_t v = 0; v < kVectorsAtOnce; ++v) {
      const std::size_t column = first + v * kTreeLanes;
      const TV(&alignment)[kTreeRows] = products.alignment[v];
      Aligned sums[kTreeRows];
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTreeRows; ++r)
        sums[r] = {off_grid(alignment[r], of_units, products.sum[v][r]), alignment[r]};
      for (const TreeTerm& t : node.others) {
#pragma GCC unroll 4
        for (std::size_t r = 0; r < kTreeRows; ++r) {
          const TV x = Terms(w, r, column).value_of_place(t);
          const TV kept = off_grid(alignment[r], of_units, on_grid(alignment[r], of_units, hn::Abs(x)));
          sums[r].x = hn::Add(sums[r].x, hn::Or(kept, sign_of(x)));
        }
      }
      put_sums<kFinish>(w, node, column, sums);
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tcnum::panels
HWY_AFTER_NAMESPACE();

#endif
