// What the kernels of matrix products are given.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <span>

#include "gemm_timing.hpp"

namespace tcnum {

/// Of one SM: the first and the last of what its blocks said in a batch of launches. Zero before.
struct SmTimes {
  unsigned long long first_clock, first_ns, last_clock, last_ns;
};

/// Rows of A, or columns of B. What lies beyond the last one is not fetched, as it would hold up all SMs: of the last
/// lines of a matrix there is a map of their own.
struct GemmLines {
  CUtensorMap map;   ///< of as many lines as a block fetches at a time
  CUtensorMap last;  ///< of those that remain, if that number does not divide all
  unsigned count;
};

struct GemmLaunch {
  GemmLines a, b;
  CUtensorMap d;
  GemmRaster raster;
  unsigned steps;  ///< of kGemmStepBytes along k
  SmTimes* times;  ///< by the SM's number
};

/// A kernel, as CUDA starts it, with all of its shared memory.
struct GemmKernel {
  GemmTile tile;
  FormatId operands;
  const void* function;
  unsigned threads;
  std::size_t shared_bytes;
};
std::span<const GemmKernel> gemm_half_kernels();
std::span<const GemmKernel> gemm_fp8_kernels();

}  // namespace tcnum
