// A patch of rows × columns of chains of fused multiply-adds of fp64.
#pragma once

#include "patch.hpp"

namespace tcnum::gpu {

/// What the chains of a patch have come to.
using PatchSums = double[kPatchRows][kPatchColumns];

/// Those whose result is a NaN, by the datapath's own rules.
TCNUM_HOST_DEVICE TCNUM_NOINLINE inline void evaluate_nans(const GpuDatapath& d, const double* a, const double* b,
                                                           int steps, const PatchPlace& at, const PatchSums& before,
                                                           PatchSums& after) {
  constexpr int kLines = SideA::kLines;
  for (int i = 0; i < kPatchRows; ++i) {
    for (int j = 0; j < kPatchColumns; ++j) {
      if (after[i][j] == after[i][j]) continue;
      const std::uint64_t code = fma_chain_steps(
          d, steps, reinterpret_cast<const std::uint64_t*>(a) + SideA::value_at(0, at.row + i), kLines,
          reinterpret_cast<const std::uint64_t*>(b) + SideB::value_at(0, at.column + j), kLines, code_of(before[i][j]));
      after[i][j] = double_of(code);
    }
  }
}

template <Rounding kRounding>
TCNUM_HOST_DEVICE void add_steps(const double* a, const double* b, int steps, const PatchPlace& at, PatchSums& sum) {
  constexpr int kLines = SideA::kLines;
  const double* at_a = a + SideA::value_at(0, at.row);
  const double* at_b[2] = {b + SideB::value_at(0, at.column), b + SideB::value_at(0, at.column + 2)};
#ifdef __CUDA_ARCH__
#pragma unroll 4
#endif
  for (int u = 0; u < steps; ++u) {
    const Pack<double, kPatchRows> x(at_a + u * kLines);
    const Pack<double, 2> y[2] = {Pack<double, 2>(at_b[0] + u * kLines), Pack<double, 2>(at_b[1] + u * kLines)};
    each_of_patch(
        [&](int i, int j) { sum[i][j] = fused_multiply_add(x.x[i], y[j / 2].x[j % 2], sum[i][j], kRounding); });
  }
}

/// So many steps of the chains whose sums are given. `a` and `b` have the numbers of 64 rows and columns for each step,
/// in the order of steps, where SideA and SideB have values.
TCNUM_HOST_DEVICE inline void fma_patch(const GpuDatapath& d, const double* a, const double* b, int steps,
                                        const PatchPlace& at, PatchSums& sums) {
  PatchSums sum;
  each_of_patch([&](int i, int j) { sum[i][j] = sums[i][j]; });
  switch (d.fma_rounding) {
    case Rounding::toward_zero:
      add_steps<Rounding::toward_zero>(a, b, steps, at, sum);
      break;
    case Rounding::down:
      add_steps<Rounding::down>(a, b, steps, at, sum);
      break;
    case Rounding::up:
      add_steps<Rounding::up>(a, b, steps, at, sum);
      break;
    default:
      add_steps<Rounding::nearest_even>(a, b, steps, at, sum);
  }
  bool any_nan = false;
  each_of_patch([&](int i, int j) { any_nan |= sum[i][j] != sum[i][j]; });
  if (any_nan) {  // copies, so that the sums themselves stay in registers
    PatchSums before, after;
    each_of_patch([&](int i, int j) {
      before[i][j] = sums[i][j];
      after[i][j] = sum[i][j];
    });
    evaluate_nans(d, a, b, steps, at, before, after);
    each_of_patch([&](int i, int j) { sum[i][j] = after[i][j]; });
  }
  each_of_patch([&](int i, int j) { sums[i][j] = sum[i][j]; });
}

}  // namespace tcnum::gpu
