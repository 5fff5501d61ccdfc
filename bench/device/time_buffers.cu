// What timed kernels find: buffers that are filled, caches, and a device that waits for the host.
#include "gpu_device.hpp"
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

const MemoryFacts& GpuTimingDevice::memory_facts() {
  if (memory_facts_) return *memory_facts_;
  const auto attribute = [&](cudaDeviceAttr which) { return device_attribute(which, device_); };
  MemoryFacts& facts = memory_facts_.emplace();
  std::size_t all = 0;
  check(cudaMemGetInfo(&facts.global_bytes, &all), "cudaMemGetInfo");
  facts.l2_bytes = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize));
  facts.shared_bytes = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  // Two transfers a clock; kilohertz and bits.
  const double rate = 2e3 * attribute(cudaDevAttrMemoryClockRate) / 8 * attribute(cudaDevAttrGlobalMemoryBusWidth);
  if (rate > 0) facts.dram_bytes_per_second = rate;
  return facts;
}

void GpuTimingDevice::fill(std::size_t bytes, std::uint32_t seed) {
  free_streams();
  const std::size_t words = bytes / sizeof(std::uint32_t);
  fill_kernel<<<kFillBlocks, kFillThreads>>>(memory<std::uint32_t>("buffer", words), words, seed);
  check(cudaGetLastError(), "filling a buffer");
  finish("filling a buffer");
}

void GpuTimingDevice::flush() {
  constexpr std::size_t kTimes = 4;
  const std::size_t bytes = kTimes * memory_facts().l2_bytes;
  if (!buffers_.contains("other")) memory_of<std::byte>(0, "other", bytes);
  read_through_l2("other", bytes);
}

void GpuTimingDevice::read_through_l2(const std::string& name, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(uint4);
  read_kernel<<<kFillBlocks, kFillThreads>>>(memory<uint4>(name, count), count, memory<std::uint32_t>("end", 2));
  check(cudaGetLastError(), "reading a buffer");
}

void GpuTimingDevice::hold(unsigned nanoseconds) {
  if (nanoseconds == 0) return;
  hold_kernel<<<1, 1>>>(nanoseconds);
  check(cudaGetLastError(), "launch of the kernel that the device waits in");
}

}  // namespace tcnum
