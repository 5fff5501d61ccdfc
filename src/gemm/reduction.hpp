// How a kernel comes from the products of an element to one sum: a list of steps.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tcnum/gemm.hpp"

namespace tcnum {

/// Products first … first + count − 1, taken by instructions one after the other; the last is filled up with zeros.
struct Stretch {
  std::size_t first = 0, count = 0;
  friend auto operator<=>(const Stretch&, const Stretch&) = default;
};
/// What one accumulator takes from +0 on.
using Accumulation = std::vector<Stretch>;
/// A hash with one number more.
constexpr std::size_t mixed(std::size_t hash, std::size_t number) {
  constexpr std::size_t kMultiplier = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4)
  hash = (hash ^ number) * kMultiplier;
  return hash ^ (hash >> 32);
}
struct AccumulationHash {
  std::size_t operator()(const Accumulation& accumulation) const {
    std::size_t hash = accumulation.size();
    for (const Stretch& stretch : accumulation) hash = mixed(mixed(hash, stretch.first), stretch.count);
    return hash;
  }
};
/// One step of the reduction of an element's products to one sum. Sums on the way have numbers, and are +0 at first.
struct ReductionStep {
  enum class Kind : std::uint8_t {
    accumulate,  ///< sum `to` is what an accumulator comes to, from +0 on
    promote,     ///< what an accumulator comes to is added to sum `to`, which begins from +0 with the first of them
    slices,      ///< sum `from`, of a slice, is added to sum `to`
    part,        ///< sum `to`, of a part of k, is rounded to `format`
    parts,       ///< sum `from`, of a part, is added to sum `to`; rounded to `format`
    epilogue,    ///< sum `to` is the epilogue's result for sum `from`, of a part, with sum `to` in C's place
  };
  Kind kind = Kind::accumulate;
  std::size_t to = 0, from = 0;
  std::size_t turn = 0;  ///< of a promotion among those of its sum, and of a part among all
  FormatId format = FormatId::fp32;
  Accumulation products = {};  ///< that the accumulator takes
};
/// The steps of a plan, after which sum 0 is that of all products.
struct Reduction {
  std::vector<ReductionStep> steps;
  std::size_t sums = 1, parts = 1;
};
/// For an instruction of so many products. Instructions that would take zeros alone, at the end of a ragged tile, are
/// left out.
Reduction reduction_of(const GemmPlan& plan, std::size_t depth, std::size_t k);

/// Of a plan. (cuBLASLt's kernels of ALGO_ID 55 have been seen with 396.)
inline constexpr int kMostSlices = 1024;

/// The products of each part, but the last, as CUTLASS 2 cuts k: equal parts, rounded up to whole cache lines of the
/// operand where k is so many of them, and else, or where neither operand has those of k side by side, to what one load
/// of 16 bytes has. (cutlass/gemm/kernel/params_universal_base.h of CUTLASS; cuBLASLt's kernels of fp64 and of fp32 by
/// way of tf32 do so.)
std::size_t cutlass2_chunk(std::size_t k, std::size_t parts, FormatId operand, bool k_is_innermost = true);

/// How much of k each of so many threads takes at a time that go through it in stretches. (Measured: cuBLASLt's kernels
/// of ALGO_ID 13 with CUSTOM_OPTION 72 and 74, with k up to 5000.)
constexpr std::size_t stretch_of_thread(std::size_t k, int threads, FormatId operand) {
  const std::size_t most = operand == FormatId::fp64 ? 32 : 64, count = static_cast<std::size_t>(threads);
  return std::min(most, (k + count - 1) / count);
}
/// What threads add their products up in.
constexpr FormatId sums_of_threads(FormatId operand) {
  return operand == FormatId::fp64 ? FormatId::fp64 : FormatId::fp32;
}
/// Parts of k on threads, as equal as their number allows, but the last. (Measured: the same kernels.)
inline SplitK in_parts_of(std::size_t k, std::size_t parts, FormatId operand) {
  const FormatId sums = sums_of_threads(operand);
  return {.chunk = (k + parts - 1) / parts, .type = sums, .parts = sums};
}
/// The plan with k on threads of a warp: each takes so much of it in turn.
inline GemmPlan on_threads(GemmPlan plan, int threads, std::size_t stretch) {
  plan.slices = threads;
  plan.slices_order = SliceOrder::halves;
  plan.k_tile = static_cast<std::size_t>(threads) * stretch;
  return plan;
}
/// The plan with a product of k for each of 16 threads in turn, whose sums are added one after the other; each adds up
/// sums of so many products, if it is said of how many.
inline GemmPlan in_turn_on_sixteen(GemmPlan plan, std::optional<std::size_t> promote_every) {
  plan.slices = 16;
  plan.slices_order = SliceOrder::ascending;
  plan.k_tile = 16;
  plan.promote_every = promote_every;
  return plan;
}

/// The plan with k on two or four threads or more, which take a part of it each, the first to nothing; each adds up
/// sums of 512 products over their number. (Measured: cuBLASLt's kernels of ALGO_ID 11 of a matrix by columns.)
inline GemmPlan in_parts_on_threads(GemmPlan plan, std::size_t k, std::size_t threads, FormatId operand) {
  constexpr std::size_t kOfAll = 512;
  plan.promote_every = kOfAll / threads;
  plan.split_k = in_parts_of(k, threads, operand);
  return plan;
}

/// The plan with k on so many blocks of 128 threads, whose every thread takes a product of fp64 in turn, or two of
/// other formats, for each of which it has a sum, where the matrix has k side by side. (Measured:
/// cuBLASLt's kernels of ALGO_ID 14.)
inline GemmPlan in_turn_on_blocks(const GemmPlan& plan, std::size_t blocks, FormatId operand,
                                  bool k_is_innermost = true) {
  constexpr int kThreads = 128;
  const bool is_one = operand == FormatId::fp64 || !k_is_innermost;
  GemmPlan on = on_threads(plan, is_one ? kThreads : 2 * kThreads, 1);
  if (!is_one) on.slices_order = SliceOrder::neighbours;
  if (blocks > 1) {
    const FormatId sums = sums_of_threads(operand);
    on.split_k = SplitK{.chunk = *on.k_tile, .turns = blocks, .order = PartOrder::fours, .type = sums, .parts = sums};
  }
  return on;
}

// --- Which elements of D are those whose k a plan divides: all, or the blocks that whole rounds leave over.

/// The row and the column of a block among the blocks of D.
struct BlockPlace {
  std::size_t row = 0, column = 0;
  friend auto operator<=>(const BlockPlace&, const BlockPlace&) = default;
};
/// So many rows and columns of blocks, in the order in which clusters take them.
std::vector<BlockPlace> blocks_in_order(std::size_t rows, std::size_t columns, BlockLines lines, std::size_t band);

class DividedElements {
 public:
  DividedElements(const GemmPlan& plan, std::size_t m, std::size_t n);

  /// Columns side by side that are divided alike.
  struct Run {
    std::size_t first = 0, count = 0;
    bool divided = false;
  };
  /// All columns of that row, from the first on.
  std::vector<Run> runs(std::size_t row) const;
  /// So many rows from that one on have the same runs.
  std::size_t rows_alike(std::size_t row) const;
  bool at(std::size_t row, std::size_t column) const { return divided_[row / rows_][column / columns_]; }

 private:
  std::size_t m_, n_;
  std::size_t rows_, columns_;              ///< of a block
  std::vector<std::vector<bool>> divided_;  ///< by rows of blocks
};

}  // namespace tcnum
