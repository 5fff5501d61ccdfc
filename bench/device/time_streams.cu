// Kernels that go once over arrays of doubles.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "gpu_device.hpp"
#include "timing_common.cuh"

namespace tcnum {
namespace {

constexpr std::size_t kStreamHalo = 4;
/// Device pointers.
struct StreamLaunch {
  double* result;
  const double* sources[2];  ///< with kStreamHalo elements more than there are results
  std::size_t elements;
};

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

/// Adds r[i] · (2i + 1) of all bits r to *sum.
__global__ void checksum_kernel(const double* results, std::size_t elements, unsigned long long* sum) {
  unsigned long long mine = 0;
  each_of(elements, [&](std::size_t i) {
    mine += static_cast<unsigned long long>(__double_as_longlong(results[i])) * (2 * i + 1);
  });
  atomicAdd(sum, mine);
}

constexpr unsigned kFillBlocks = 2048, kFillThreads = 256;

/// So much shared memory of a block, beside what the kernel has of its own, that no more than so many fit on an SM.
/// Sets what the kernel needs for that.
std::size_t spoiler_of(const void* kernel, int device, unsigned threads, unsigned blocks) {
  constexpr std::size_t kGranule = 128;  // what shared memory is given out in
  const auto attribute = [&](cudaDeviceAttr which) {
    return static_cast<std::size_t>(device_attribute(which, device));
  };
  cudaFuncAttributes own{};
  check(cudaFuncGetAttributes(&own, kernel), "cudaFuncGetAttributes");
  const std::size_t share = std::min(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / blocks -
                                         attribute(cudaDevAttrReservedSharedMemoryPerBlock),
                                     attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  const std::size_t spoiler = (share - own.sharedSizeBytes) / kGranule * kGranule;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(spoiler)),
        "cudaFuncSetAttribute");
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
        "cudaFuncSetAttribute");
  int fit = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, static_cast<int>(threads), spoiler),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  if (static_cast<unsigned>(fit) != blocks) {
    throw std::runtime_error(std::to_string(fit) + " blocks with " + std::to_string(spoiler) +
                             " bytes of shared memory fit on an SM, and not " + std::to_string(blocks));
  }
  return spoiler;
}

}  // namespace

StreamTimes GpuTimingDevice::stream(const StreamWork& work, unsigned launches) {
  const auto found = std::ranges::find(kStreams, work.kernel, &Stream::name);
  if (found == std::end(kStreams)) throw std::logic_error(work.kernel + ": no such stream");
  const auto* const kernel = reinterpret_cast<const void*>(found->kernel);
  if (stream_elements_ != work.elements) {
    free("buffer");
    for (int i = 0; i < 2; ++i) {
      const std::size_t elements = work.elements + kStreamHalo;
      fill_stream_kernel<<<kFillBlocks, kFillThreads>>>(memory<double>(kStreamSources[i], elements), elements, i);
      check(cudaGetLastError(), "filling a stream");
    }
    stream_elements_ = work.elements;
  }
  const std::size_t spoiler = spoiler_of(kernel, device_, kStreamThreads, work.blocks);
  constexpr int kPoison = 0xa5;  // no result
  StreamLaunch run{memory_of<double>(kPoison, "stream_result", work.elements),
                   {memory<double>(kStreamSources[0], work.elements), memory<double>(kStreamSources[1], work.elements)},
                   work.elements};
  void* arguments[] = {&run};
  const auto blocks = static_cast<unsigned>(work.elements / kStreamElements);
  std::vector<Event> events(launches + 1);
  events[0].record();
  for (unsigned i = 0; i < launches; ++i) {
    check(cudaLaunchKernel(kernel, dim3(blocks), dim3(kStreamThreads), arguments, spoiler, nullptr),
          "launch of stream " + work.kernel);
    events[i + 1].record();
  }
  finish("stream " + work.kernel);
  StreamTimes times;
  for (unsigned i = 0; i < launches; ++i) times.seconds.push_back(events[i + 1].seconds_since(events[i]));
  auto* const sum = memory_of<unsigned long long>(0, "end", 1);
  checksum_kernel<<<kFillBlocks, kFillThreads>>>(
      run.result, work.kernel == "read" ? work.elements / kWarpLanes : work.elements, sum);
  check(cudaGetLastError(), "adding up a stream's results");
  times.checksum = downloaded(sum, 1).front();
  return times;
}

void GpuTimingDevice::free_streams() {
  if (stream_elements_ == 0) return;
  stream_elements_ = 0;
  for (const char* name : {"stream_result", kStreamSources[0], kStreamSources[1]}) free(name);
}

}  // namespace tcnum
