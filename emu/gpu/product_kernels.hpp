// Products of whole matrices on a GPU: where matrices lie there, and the kernels' launches.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "product_chain.hpp"

namespace tcnum {

/// Matrices in a GPU's memory, their rows one behind the other: A (m × k), B (k × n), C and D (m × n), and of block
/// scales, if the datapath has any, those of A (m × blocks) and of B (blocks × n). Without C (a null pointer) it is
/// zero.
struct GpuMatrices {
  const void *a = nullptr, *b = nullptr, *c = nullptr, *a_scales = nullptr, *b_scales = nullptr;
  void* d = nullptr;
  std::uint64_t m = 0, n = 0, k = 0;
};

/// Packs A (or B) to `packed`. What CUDA says of the launch, as of the next.
cudaError_t launch_packing(const GpuDatapath& datapath, const GpuChain& chain, const GpuMatrices& matrices, bool is_a,
                           unsigned char* packed);
/// Fills D.
cudaError_t launch_product(const GpuDatapath& datapath, const GpuChain& chain, const GpuMatrices& matrices,
                           unsigned char* packed_a, unsigned char* packed_b);

}  // namespace tcnum
