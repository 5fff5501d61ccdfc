// Copies from a GPU's memory to a block's, which go on while its threads work.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

namespace tcnum {

/// Begins a copy of multiples of 16 bytes, by all threads of a block.
template <unsigned kThreads>
__device__ inline void copy_to_shared(unsigned char* to, const unsigned char* from, unsigned bytes) {
  constexpr unsigned kAtOnce = 16;
#pragma unroll 4
  for (unsigned at = threadIdx.x * kAtOnce; at < bytes; at += kThreads * kAtOnce) {
#ifdef __CUDA_ARCH__
    const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to + at));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from + at) : "memory");
#else
    std::memcpy(to + at, from + at, kAtOnce);
#endif
  }
}
/// Those of this thread since the last end are a group.
__device__ inline void end_of_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/// Until this thread's copies are there, but for the last so many groups.
template <int kGroups>
__device__ inline void wait_for_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroups) : "memory");
#endif
}

}  // namespace tcnum
