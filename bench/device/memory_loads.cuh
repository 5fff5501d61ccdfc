// Loads of timing kernels: instructions that differ in where they go, which caches keep what they bring, and how wide
// they are.
#pragma once

#include "memory_timing.hpp"
#include "probes/device_common.cuh"

namespace tcnum {

template <unsigned kWidth>
struct Words {
  std::uint32_t of[kWidth / 4];

  __device__ std::uint32_t xored() const {
    std::uint32_t x = 0;
#pragma unroll
    for (std::uint32_t word : of) x ^= word;
    return x;
  }
};

// The offset is a part of the instruction.
#define TCNUM_LOADS(SPACE, ADDRESS)                                                                    \
  if constexpr (kWidth == 4) {                                                                         \
    asm volatile("ld." SPACE ".u32 %0, [%1+%2];" : "=r"(to.of[0]) : ADDRESS, "n"(kOffset) : "memory"); \
  } else if constexpr (kWidth == 8) {                                                                  \
    asm volatile("ld." SPACE ".v2.u32 {%0, %1}, [%2+%3];"                                              \
                 : "=r"(to.of[0]), "=r"(to.of[1])                                                      \
                 : ADDRESS, "n"(kOffset)                                                               \
                 : "memory");                                                                          \
  } else {                                                                                             \
    asm volatile("ld." SPACE ".v4.u32 {%0, %1, %2, %3}, [%4+%5];"                                      \
                 : "=r"(to.of[0]), "=r"(to.of[1]), "=r"(to.of[2]), "=r"(to.of[3])                      \
                 : ADDRESS, "n"(kOffset)                                                               \
                 : "memory");                                                                          \
  }

/// An address as loads from that memory want it.
template <Memory kMemory>
struct Address {
  const std::byte* at;

  __device__ static Address of(const std::byte* global) { return {global}; }
  __device__ Address operator+(std::size_t bytes) const { return {at + bytes}; }
  template <unsigned kWidth, unsigned kOffset = 0>
  __device__ Words<kWidth> load() const {
    Words<kWidth> to;
    if constexpr (kMemory == Memory::l1) {
      TCNUM_LOADS("global.ca", "l"(at))
    } else {
      TCNUM_LOADS("global.cg", "l"(at))
    }
    return to;
  }
};
template <>
struct Address<Memory::shared> {
  unsigned at;

  __device__ static Address of(const std::byte* shared) {
    return {static_cast<unsigned>(__cvta_generic_to_shared(shared))};
  }
  __device__ Address operator+(std::size_t bytes) const { return {at + static_cast<unsigned>(bytes)}; }
  template <unsigned kWidth, unsigned kOffset = 0>
  __device__ Words<kWidth> load() const {
    Words<kWidth> to;
    TCNUM_LOADS("shared", "r"(at))
    return to;
  }
};
#undef TCNUM_LOADS

extern __shared__ __align__(16) std::byte shared_bytes[];

/// The address of a buffer that all threads of a block read: of one in shared memory, that of a copy. It has a multiple
/// of 16 bytes.
template <Memory kMemory>
__device__ Address<kMemory> address_of(const std::byte* buffer, std::size_t bytes) {
  if constexpr (kMemory == Memory::shared) {
    for (std::size_t at = threadIdx.x * sizeof(uint4); at < bytes; at += blockDim.x * sizeof(uint4)) {
      *reinterpret_cast<uint4*>(shared_bytes + at) = *reinterpret_cast<const uint4*>(buffer + at);
    }
    __syncthreads();
    return Address<kMemory>::of(shared_bytes);
  } else {
    return Address<kMemory>::of(buffer);
  }
}

/// How much of an SM's storage is L1 and how much shared memory: for a kernel that loads from one of them, and whose
/// blocks have so much shared memory.
inline cudaError_t prefer_memory(const void* kernel, Memory memory, std::size_t shared) {
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                              memory == Memory::shared ? cudaSharedmemCarveoutMaxShared : cudaSharedmemCarveoutMaxL1);
}

}  // namespace tcnum
