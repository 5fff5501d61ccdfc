// How a kernel goes through k.
#pragma once

#include <algorithm>
#include <bit>
#include <compare>
#include <cstddef>
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
/// The accumulations of one slice of a part, in the order in which they come to its total.
using SliceWalk = std::vector<Accumulation>;
using PartWalk = std::vector<SliceWalk>;

/// The parts of k in the order in which they are added (pairs: the last first), for an instruction of so many products.
/// Instructions that would take zeros alone, at the end of a ragged tile, are left out.
std::vector<PartWalk> walk_of(const GemmPlan& plan, std::size_t depth, std::size_t k);

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

/// Calls push(part) for each part in turn, and merge() where the two sums that were left last are to become one: until
/// one is left, as PartOrder::pairs has it.
template <class Push, class Merge>
void add_in_pairs(std::size_t parts, const Push& push, const Merge& merge) {
  for (std::size_t part = 0; part < parts; ++part) {
    push(part);
    for (std::size_t pairs = part; pairs % 2 == 1; pairs /= 2) merge();
  }
  for (int left = std::popcount(parts); left > 1; --left) merge();
}

/// Calls push(part, onto) for each part in turn, which comes to the sum of that number, a new one or there already;
/// then add(onto, sum) for sums that are to become one, as PartOrder::fours has it. The first sum is the total.
template <class Push, class Add>
void add_in_fours(std::size_t parts, const Push& push, const Add& add) {
  constexpr std::size_t kFirst = 64, kHalf = kFirst / 2, kLast = 4;
  for (std::size_t part = 0; part < parts; ++part) push(part, part % kFirst);
  for (std::size_t sum = kHalf; sum < std::min(parts, kFirst); ++sum) add(sum - kHalf, sum);
  for (std::size_t sum = kLast; sum < std::min(parts, kHalf); ++sum) add(sum % kLast, sum);
  for (std::size_t sum = 1; sum < std::min(parts, kLast); ++sum) add(std::size_t{0}, sum);
}

/// Of folded slices, of which there are so many, on which of the first half one of the second is added: on the one as
/// far from the first as it is from the middle, but the very last on the first. (Measured: cuBLASLt's fp64 kernels of
/// ALGO_ID 35 with CUSTOM_OPTION 1 do so for every number from 3 to 33 that was seen.)
constexpr std::size_t folded_onto(std::size_t slice, std::size_t slices) {
  return slice + 1 == slices ? 0 : slice - (slices + 1) / 2;
}
/// Calls add(onto, slice) for every addition of the sums of a plan's slices, of which the first so many have products;
/// the first's is the total.
template <class Add>
void add_slices_up(const GemmPlan& plan, std::size_t present, const Add& add) {
  const auto slices = static_cast<std::size_t>(plan.slices);
  std::size_t kept = present, apart = 1;
  if (plan.slices_order == SliceOrder::folded) {
    kept = std::min(present, (slices + 1) / 2);
    for (std::size_t slice = kept; slice < present; ++slice) add(folded_onto(slice, slices), slice);
  } else if (plan.slices_order == SliceOrder::neighbours) {
    for (std::size_t slice = 1; slice < present; slice += 2) add(slice - 1, slice);
    kept = (present + 1) / 2;
    apart = 2;
  }
  if (plan.slices_order == SliceOrder::halves || plan.slices_order == SliceOrder::neighbours) {
    while (kept > 1) {
      const std::size_t half = std::bit_ceil(kept) / 2;
      for (std::size_t sum = half; sum < kept; ++sum) add((sum - half) * apart, sum * apart);
      kept = half;
    }
  }
  for (std::size_t slice = 1; slice < kept; ++slice) add(std::size_t{0}, slice);
}

}  // namespace tcnum
