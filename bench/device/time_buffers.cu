// What timed kernels find: buffers that are filled, caches, and a device that waits for the host.
#include "memory_kernels.hpp"
#include "timing_common.cuh"

namespace tcnum {
namespace {

constexpr unsigned kFillBlocks = 2048, kFillThreads = 256;

__global__ void fill_kernel(std::uint32_t* to, std::size_t words, std::uint32_t seed) {
  each_of(words, [&](std::size_t i) { to[i] = memory_word(seed, i); });
}

__global__ void read_kernel(const uint4* from, std::size_t count, std::uint32_t* sink) {
  std::uint32_t seen = 0;
  each_of(count, [&](std::size_t i) {
    const uint4 words = __ldcg(from + i);
    seen ^= words.x ^ words.y ^ words.z ^ words.w;
  });
  if (seen == 0x5bd1e995) *sink = seen;  // the compiler must not leave the loads out
}

__global__ void hold_kernel(unsigned duration) {
  const unsigned long long begin = nanoseconds();
  while (nanoseconds() < begin + duration) {
  }
}

}  // namespace

cudaError_t fill_words(std::uint32_t* to, std::size_t words, std::uint32_t seed) {
  fill_kernel<<<kFillBlocks, kFillThreads>>>(to, words, seed);
  return cudaGetLastError();
}

cudaError_t read_through_l2(const uint4* from, std::size_t count, std::uint32_t* sink) {
  read_kernel<<<kFillBlocks, kFillThreads>>>(from, count, sink);
  return cudaGetLastError();
}

cudaError_t launch_hold(unsigned nanoseconds) {
  hold_kernel<<<1, 1>>>(nanoseconds);
  return cudaGetLastError();
}

}  // namespace tcnum
