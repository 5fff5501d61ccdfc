// What the kernels of tall and skinny products are given. Pointers are the device's; each function starts kernels on
// the default CUDA stream, and returns what CUDA says of the launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "skinny_timing.hpp"

namespace tcnum {

/// Of A, and of B, that a block takes at a time.
inline constexpr unsigned kSkinnyStageBytes = 8192;

struct SkinnyLaunch {
  const void *a, *b;
  std::size_t bytes;  ///< of each
  void* partial;      ///< a D of each block
  void* d;
  unsigned blocks;
};

/// Blocks that take turns at the rows, then others that add what they found. Needs sm_80.
cudaError_t launch_skinny(FormatId format, std::size_t n, const SkinnyLaunch& run);
/// How many blocks run at the same time on an SM.
cudaError_t count_skinny_blocks(FormatId format, std::size_t n, int* blocks);

/// Fills an operand of kSkinnyBytes with skinny_element(…).
cudaError_t fill_skinny(FormatId format, int matrix, std::size_t n, void* to);

}  // namespace tcnum
