// Kernels that are small, to see what starting them takes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tcnum {

cudaError_t launch_empty(cudaStream_t stream);
/// Adds 1 to each word on the way; `bytes` is a multiple of 16.
cudaError_t launch_copy(const void* from, void* to, std::size_t bytes, cudaStream_t stream);

}  // namespace tcnum
