// The memories of a GPU, timed.
#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

#include "gpu_device.hpp"
#include "memory_kernels.hpp"

namespace tcnum {
namespace {

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
    throw std::runtime_error(
        fmt::format("{} blocks with {} bytes of shared memory fit on an SM, and not {}", fit, spoiler, blocks));
  }
  return spoiler;
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
  check(fill_words(memory<std::uint32_t>("buffer", bytes / sizeof(std::uint32_t)), bytes / sizeof(std::uint32_t), seed),
        "fill_words");
  finish("filling a buffer");
}

ChaseTimes GpuTimingDevice::chase(const Chase& work) {
  const bool in_shared = work.memory == Memory::shared;
  auto* const order = memory<std::uint64_t>("order", work.order.size());
  check(cudaMemcpy(order, work.order.data(), work.order.size() * sizeof(*order), cudaMemcpyHostToDevice),
        "cudaMemcpy to the device");
  if (!in_shared) free_streams();
  const ChaseLaunch run{.buffer = in_shared ? nullptr : memory<std::byte>("buffer", work.bytes),
                        .order = order,
                        .pointers = work.order.size(),
                        .shared_bytes = in_shared ? work.bytes : 0,
                        .touch = work.touch,
                        .warm_hops = work.warm_hops,
                        .hops = work.hops,
                        .times = clear_times(1),
                        .end = memory<std::uint64_t>("end", 1)};
  if (!in_shared) check(write_pointers(run, work.by_index), "write_pointers");
  if (work.flush) flush();
  check(time_chase(run, work.memory, work.by_index), "launch of a chase");
  TimedBatch batch = finish("a chase", 1, 1);
  return {std::move(batch), downloaded(run.end, 1).front()};
}

ReadTimes GpuTimingDevice::read(const ReadWork& work) {
  const std::size_t threads = std::size_t{sms_} * kReadThreads;
  const ReadLaunch run{.buffer = memory<std::byte>("buffer", work.buffer_bytes(sms_)),
                       .work = work,
                       .blocks = sms_,
                       .zero = 0,
                       .times = clear_times(sms_),
                       .checksums = memory<std::uint32_t>("checksums", threads)};
  check(time_reads(run), "launch of reads");
  ReadTimes times{finish("reads", 1, sms_), {}, downloaded(run.checksums, threads)};
  for (const BlockTimes& block : block_times(sms_)) times.cycles.push_back(static_cast<double>(block.cycles));
  return times;
}

RooflineTimes GpuTimingDevice::roofline(const RooflineWork& work, unsigned launches) {
  int fit = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, roofline_kernel_of(work.unit),
                                                      static_cast<int>(kRooflineThreads), 0),
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
  const unsigned blocks = sms_ * static_cast<unsigned>(fit);
  RooflineLaunch run{.buffer = memory<std::byte>("buffer", work.bytes),
                     .steps = work.bytes / kRooflineTileBytes / work.reads,
                     .reads = work.reads,
                     .turns = work.turns,
                     .plus = 1,
                     .minus = -1,
                     .half_plus = 0x3c003c00,
                     .half_minus = 0xbc00bc00,
                     .blocks = blocks,
                     .times = clear_times(std::size_t{launches} * blocks),
                     .sums = memory<std::uint64_t>("sums", std::size_t{blocks} * kRooflineThreads)};
  for (unsigned i = 0; i < launches; ++i, run.times += blocks) {
    check(time_roofline(run, work.unit), "launch of a roofline");
  }
  TimedBatch batch = finish("a roofline", launches, blocks, BlocksRun::anywhere);
  const auto sums = downloaded(run.sums, std::size_t{blocks} * kRooflineThreads);
  return {std::move(batch), std::accumulate(sums.begin(), sums.end(), std::uint64_t{0})};
}

StreamTimes GpuTimingDevice::stream(const StreamWork& work, unsigned launches) {
  const void* const kernel = find_stream(work.kernel);
  if (kernel == nullptr) throw std::logic_error(work.kernel + ": no such stream");
  if (stream_elements_ != work.elements) {
    free("buffer");
    for (int i = 0; i < 2; ++i) {
      check(fill_stream(memory<double>(kStreamSources[i], work.elements + kStreamHalo), work.elements + kStreamHalo, i),
            "fill_stream");
    }
    stream_elements_ = work.elements;
  }
  const std::size_t spoiler = spoiler_of(kernel, device_, kStreamThreads, work.blocks);
  constexpr int kPoison = 0xa5;  // no result
  const StreamLaunch run{
      memory_of<double>(kPoison, "stream_result", work.elements),
      {memory<double>(kStreamSources[0], work.elements), memory<double>(kStreamSources[1], work.elements)},
      work.elements};
  std::vector<Event> events(launches + 1);
  events[0].record();
  for (unsigned i = 0; i < launches; ++i) {
    check(launch_stream(kernel, run, spoiler), "launch of stream " + work.kernel);
    events[i + 1].record();
  }
  finish("stream " + work.kernel);
  StreamTimes times;
  for (unsigned i = 0; i < launches; ++i) times.seconds.push_back(events[i + 1].seconds_since(events[i]));
  const std::size_t results = work.kernel == "read" ? work.elements / 32 : work.elements;
  auto* const sum = memory_of<unsigned long long>(0, "end", 1);
  check(add_checksum(run.result, results, sum), "add_checksum");
  times.checksum = downloaded(sum, 1).front();
  return times;
}

void GpuTimingDevice::flush() {
  constexpr std::size_t kTimes = 4;
  const std::size_t bytes = kTimes * memory_facts().l2_bytes;
  if (!buffers_.contains("other")) memory_of<std::byte>(0, "other", bytes);
  read_through_l2("other", bytes);
}

void GpuTimingDevice::read_through_l2(const std::string& name, std::size_t bytes) {
  check(tcnum::read_through_l2(memory<uint4>(name, bytes / sizeof(uint4)), bytes / sizeof(uint4),
                               memory<std::uint32_t>("end", 2)),
        "reading a buffer");
}

void GpuTimingDevice::free_streams() {
  if (stream_elements_ == 0) return;
  stream_elements_ = 0;
  for (const char* name : {"stream_result", kStreamSources[0], kStreamSources[1]}) free(name);
}

}  // namespace tcnum
