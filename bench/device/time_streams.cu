// Kernels that go once over arrays of doubles.
#include <algorithm>

#include "memory_kernels.hpp"
#include "timing_common.cuh"

namespace tcnum {
namespace {

// One row a stream: its name, and what result i is of the sources x and y. Whole numbers: nothing is rounded.
#define TCNUM_STREAMS(X)                             \
  X(init, "init", kStreamFactor)                     \
  X(scale, "scale", kStreamFactor* x[i])             \
  X(triad, "triad", x[i] + kStreamFactor * y[i])     \
  X(three_points, "3pt", x[i] + x[i + 1] + x[i + 2]) \
  X(five_points, "5pt", x[i] + x[i + 1] + x[i + 2] + x[i + 3] + x[i + 4])

/// A thread has every kStreamThreads-th element of its block's, so many at a time: loads do not wait for each other,
/// and an SM has the registers for all threads.
constexpr unsigned kAtATime = 4;
template <class Element>
__device__ void each_group(const Element& element) {
  const std::size_t first = std::size_t{blockIdx.x} * kStreamElements + threadIdx.x;
#pragma unroll 1
  for (unsigned group = 0; group < kStreamElements; group += kAtATime * kStreamThreads) element(first + group);
}

#define TCNUM_STREAM_KERNEL(NAME, TEXT, RESULT)                                                                      \
  __global__ void __launch_bounds__(kStreamThreads) NAME##_kernel(const StreamLaunch run) {                          \
    [[maybe_unused]] const double* const __restrict__ x = run.sources[0];                                            \
    [[maybe_unused]] const double* const __restrict__ y = run.sources[1];                                            \
    each_group([&](std::size_t first) {                                                                              \
      double results[kAtATime];                                                                                      \
      _Pragma("unroll") for (unsigned e = 0; e < kAtATime; ++e) {                                                    \
        [[maybe_unused]] const std::size_t i = first + e * kStreamThreads;                                           \
        results[e] = RESULT;                                                                                         \
      }                                                                                                              \
      _Pragma("unroll") for (unsigned e = 0; e < kAtATime; ++e) run.result[first + e * kStreamThreads] = results[e]; \
    });                                                                                                              \
  }
TCNUM_STREAMS(TCNUM_STREAM_KERNEL)

/// Each warp stores the xor of what its lanes read side by side.
__global__ void __launch_bounds__(kStreamThreads) read_kernel(const StreamLaunch run) {
  const double* const __restrict__ x = run.sources[0];
  each_group([&](std::size_t first) {
    long long bits[kAtATime];
#pragma unroll
    for (unsigned e = 0; e < kAtATime; ++e) bits[e] = __double_as_longlong(x[first + e * kStreamThreads]);
#pragma unroll
    for (unsigned e = 0; e < kAtATime; ++e) {
      for (int other = 16; other > 0; other /= 2) bits[e] ^= __shfl_xor_sync(0xffffffff, bits[e], other);
      if (threadIdx.x % 32 == 0) run.result[(first + e * kStreamThreads) / 32] = __longlong_as_double(bits[e]);
    }
  });
}

struct Stream {
  std::string_view name;
  void (*kernel)(StreamLaunch);
};
#define TCNUM_STREAM_ROW(NAME, TEXT, RESULT) {TEXT, NAME##_kernel},
constexpr Stream kStreams[] = {{"read", read_kernel}, TCNUM_STREAMS(TCNUM_STREAM_ROW)};

__global__ void fill_stream_kernel(double* to, std::size_t elements, int array) {
  each_of(elements, [&](std::size_t i) { to[i] = stream_element(array, i); });
}

__global__ void checksum_kernel(const double* results, std::size_t elements, unsigned long long* sum) {
  unsigned long long mine = 0;
  each_of(elements, [&](std::size_t i) {
    mine += static_cast<unsigned long long>(__double_as_longlong(results[i])) * (2 * i + 1);
  });
  atomicAdd(sum, mine);
}

constexpr unsigned kFillBlocks = 2048, kFillThreads = 256;

}  // namespace

cudaError_t fill_stream(double* to, std::size_t elements, int array) {
  fill_stream_kernel<<<kFillBlocks, kFillThreads>>>(to, elements, array);
  return cudaGetLastError();
}

const void* find_stream(const std::string& kernel) {
  const auto found = std::ranges::find(kStreams, kernel, &Stream::name);
  return found == std::end(kStreams) ? nullptr : reinterpret_cast<const void*>(found->kernel);
}

cudaError_t launch_stream(const void* kernel, const StreamLaunch& run, std::size_t spoiler_bytes) {
  void* arguments[] = {const_cast<StreamLaunch*>(&run)};
  const auto blocks = static_cast<unsigned>(run.elements / kStreamElements);
  return cudaLaunchKernel(kernel, dim3(blocks), dim3(kStreamThreads), arguments, spoiler_bytes, nullptr);
}

cudaError_t add_checksum(const double* results, std::size_t elements, unsigned long long* sum) {
  checksum_kernel<<<kFillBlocks, kFillThreads>>>(results, elements, sum);
  return cudaGetLastError();
}

}  // namespace tcnum
