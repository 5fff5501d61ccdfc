// What the .cu files offer: for each instruction, a function that puts packed tiles through it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace tcnum {

/// Device pointers to `count` instruction tiles, packed as in PackedTiles.
struct DeviceTiles {
  const void* a;
  const void* b;
  const void* c;
  void* d;
  std::size_t count;
};

struct Kernel {
  std::string_view instruction;  ///< Instruction::name()
  /// Starts the kernel on the default stream; what cudaGetLastError() says of the launch.
  cudaError_t (*launch)(const DeviceTiles& tiles);
};

std::span<const Kernel> mma_half_kernels();
std::span<const Kernel> mma_fp8_kernels();
std::span<const Kernel> mma_fp64_kernels();
std::span<const Kernel> wgmma_kernels();

}  // namespace tcnum
