#include "memory_device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "block_times.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/event.hpp"
#include "host_memory.hpp"
#include "memory_kernels.hpp"

namespace tcnum {
namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

MemoryFacts facts_of(int device) {
  MemoryFacts facts;
  std::size_t all = 0;
  check(cudaMemGetInfo(&facts.global_bytes, &all), "cudaMemGetInfo");
  facts.l2_bytes = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, device));
  facts.shared_bytes = static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) facts.host_bytes = static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
  // Two transfers a clock; kilohertz and bits.
  const double rate =
      2e3 * attribute(cudaDevAttrMemoryClockRate, device) / 8 * attribute(cudaDevAttrGlobalMemoryBusWidth, device);
  if (rate > 0) facts.dram_bytes_per_second = rate;
  return facts;
}

template <class T>
std::vector<T> download(void* from, std::size_t count) {
  std::vector<T> to(count);
  check(cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
  return to;
}

template <class T>
void upload(DeviceBuffer& to, const std::vector<T>& from) {
  to.reserve(from.size() * sizeof(T));
  check(cudaMemcpy(to.data(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice),
        "cudaMemcpy to the device");
}

class GpuMemoryDevice final : public MemoryDevice {
 public:
  explicit GpuMemoryDevice(int device)
      : device_(device),
        facts_(facts_of(device)),
        sms_(static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount, device))),
        shared_of_sm_(static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device))),
        shared_of_system_(static_cast<std::size_t>(attribute(cudaDevAttrReservedSharedMemoryPerBlock, device))) {}

  const MemoryFacts& memory_facts() const override { return facts_; }

  void fill(std::size_t bytes, std::uint32_t seed) override {
    release_streams();
    buffer_.reserve(bytes);
    check(fill_words(static_cast<std::uint32_t*>(buffer_.data()), bytes / sizeof(std::uint32_t), seed), "fill_words");
    finish("filling a buffer");
  }

  ChaseTimes chase(const Chase& work) override {
    const bool in_shared = work.memory == Memory::shared;
    upload(order_, work.order);
    times_.reserve(sizeof(BlockTimes));
    answer_.reserve(sizeof(std::uint64_t));
    if (!in_shared) {
      release_streams();
      buffer_.reserve(work.bytes);
    }
    const ChaseLaunch run{.buffer = static_cast<std::byte*>(buffer_.data()),
                          .order = static_cast<const std::uint64_t*>(order_.data()),
                          .pointers = work.order.size(),
                          .shared_bytes = in_shared ? work.bytes : 0,
                          .touch = work.touch,
                          .warm_hops = work.warm_hops,
                          .hops = work.hops,
                          .times = static_cast<BlockTimes*>(times_.data()),
                          .end = static_cast<std::uint64_t*>(answer_.data())};
    if (!in_shared) check(write_pointers(run, work.by_index), "write_pointers");
    if (work.flush) flush();
    check(cudaMemset(times_.data(), 0, sizeof(BlockTimes)), "cudaMemset");
    check(time_chase(run, work.memory, work.by_index), "launch of a chase");
    finish("a chase");
    return {summarise(download<BlockTimes>(times_.data(), 1), 1, "chase"),
            download<std::uint64_t>(answer_.data(), 1).front()};
  }

  GatherTimes gather(const GatherWork& work) override {
    upload(offsets_, work.offsets);
    times_.reserve(sms_ * sizeof(BlockTimes));
    checksums_.reserve(std::size_t{sms_} * kGatherThreads * sizeof(std::uint32_t));
    const GatherLaunch run{.buffer = static_cast<const std::byte*>(buffer_.data()),
                           .bytes = work.bytes,
                           .offsets = static_cast<const std::uint32_t*>(offsets_.data()),
                           .blocks = sms_,
                           .rounds = work.rounds,
                           .zero = 0,
                           .times = static_cast<BlockTimes*>(times_.data()),
                           .checksums = static_cast<std::uint32_t*>(checksums_.data())};
    check(cudaMemset(times_.data(), 0, sms_ * sizeof(BlockTimes)), "cudaMemset");
    check(time_gathers(run, work.memory, work.width), "launch of gathers");
    finish("gathers");
    return {summarise(download<BlockTimes>(times_.data(), sms_), 1, "gathers"),
            download<std::uint32_t>(checksums_.data(), std::size_t{sms_} * kGatherThreads)};
  }

  ReadTimes read(const ReadWork& work) override {
    times_.reserve(sms_ * sizeof(BlockTimes));
    checksums_.reserve(std::size_t{sms_} * kReadThreads * sizeof(std::uint32_t));
    const ReadLaunch run{.buffer = static_cast<const std::byte*>(buffer_.data()),
                         .work = work,
                         .blocks = sms_,
                         .zero = 0,
                         .times = static_cast<BlockTimes*>(times_.data()),
                         .checksums = static_cast<std::uint32_t*>(checksums_.data())};
    check(cudaMemset(times_.data(), 0, sms_ * sizeof(BlockTimes)), "cudaMemset");
    check(time_reads(run), "launch of reads");
    finish("reads");
    const auto blocks = download<BlockTimes>(times_.data(), sms_);
    ReadTimes times{summarise(blocks, 1, "reads"), {}, {}};
    for (const BlockTimes& block : blocks) times.cycles.push_back(static_cast<double>(block.cycles));
    times.checksums = download<std::uint32_t>(checksums_.data(), std::size_t{sms_} * kReadThreads);
    return times;
  }

  RooflineTimes roofline(const RooflineWork& work, unsigned launches) override {
    int fit = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, roofline_kernel_of(work.unit),
                                                        static_cast<int>(kRooflineThreads), 0),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const std::size_t blocks = std::size_t{sms_} * static_cast<unsigned>(fit);
    times_.reserve(launches * blocks * sizeof(BlockTimes));
    checksums_.reserve(blocks * kRooflineThreads * sizeof(std::uint64_t));
    check(cudaMemset(times_.data(), 0, launches * blocks * sizeof(BlockTimes)), "cudaMemset");
    for (unsigned i = 0; i < launches; ++i) {
      const RooflineLaunch run{.buffer = static_cast<const std::byte*>(buffer_.data()),
                               .steps = work.bytes / kRooflineTileBytes / work.reads,
                               .reads = work.reads,
                               .turns = work.turns,
                               .plus = 1,
                               .minus = -1,
                               .half_plus = 0x3c003c00,
                               .half_minus = 0xbc00bc00,
                               .blocks = static_cast<unsigned>(blocks),
                               .times = static_cast<BlockTimes*>(times_.data()) + i * blocks,
                               .sums = static_cast<std::uint64_t*>(checksums_.data())};
      check(time_roofline(run, work.unit), "launch of a roofline");
    }
    finish("a roofline");
    const auto times = download<BlockTimes>(times_.data(), launches * blocks);
    const auto sums = download<std::uint64_t>(checksums_.data(), blocks * kRooflineThreads);
    return {summarise(times, launches, "roofline", BlocksRun::anywhere),
            std::accumulate(sums.begin(), sums.end(), std::uint64_t{0})};
  }

  StreamTimes stream(const StreamWork& work, unsigned launches) override {
    const void* const kernel = find_stream(work.kernel);
    if (kernel == nullptr) throw std::logic_error(work.kernel + ": no such stream");
    make_streams(work.elements);
    const std::size_t spoiler = spoiler_for(kernel, work.blocks);
    const StreamLaunch run{
        static_cast<double*>(result_.data()),
        {static_cast<const double*>(sources_[0].data()), static_cast<const double*>(sources_[1].data())},
        work.elements};
    constexpr int kPoison = 0xa5;  // no result
    check(cudaMemset(result_.data(), kPoison, work.elements * sizeof(double)), "cudaMemset");
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
    answer_.reserve(sizeof(unsigned long long));
    check(cudaMemset(answer_.data(), 0, sizeof(unsigned long long)), "cudaMemset");
    check(add_checksum(run.result, results, static_cast<unsigned long long*>(answer_.data())), "add_checksum");
    times.checksum = download<std::uint64_t>(answer_.data(), 1).front();
    return times;
  }

  HostCopyTimes copy(const HostCopy& work) override { return copy_host(work, device_); }

  ManagedTimes managed_triad(std::size_t elements, unsigned times) override {
    release_streams();
    buffer_.release();
    other_.release();
    return tcnum::managed_triad(elements, times);
  }

 private:
  static void finish(const std::string& what) { check(cudaDeviceSynchronize(), what + " (cudaDeviceSynchronize)"); }

  /// Fills the L2 with something else.
  void flush() {
    constexpr std::size_t kTimes = 4;
    other_.reserve(kTimes * facts_.l2_bytes);
    check(cudaMemset(other_.data(), 0, kTimes * facts_.l2_bytes), "cudaMemset");
  }

  /// Streams have large arrays, and chases large buffers: not both at a time.
  void release_streams() {
    if (stream_elements_ == 0) return;
    stream_elements_ = 0;
    result_.release();
    for (DeviceBuffer& source : sources_) source.release();
  }
  void make_streams(std::size_t elements) {
    if (stream_elements_ == elements) return;
    buffer_.release();
    result_.reserve(elements * sizeof(double));
    for (int i = 0; i < 2; ++i) {
      sources_[i].reserve((elements + kStreamHalo) * sizeof(double));
      check(fill_stream(static_cast<double*>(sources_[i].data()), elements + kStreamHalo, i), "fill_stream");
    }
    stream_elements_ = elements;
  }

  /// So much shared memory of a block that no more than so many fit on an SM.
  std::size_t spoiler_for(const void* kernel, unsigned blocks) const {
    constexpr std::size_t kGranule = 128;  // what shared memory is given out in
    const std::size_t share = std::min(shared_of_sm_ / blocks - shared_of_system_, facts_.shared_bytes);
    const std::size_t spoiler = share / kGranule * kGranule;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(spoiler)),
          "cudaFuncSetAttribute");
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
          "cudaFuncSetAttribute");
    int fit = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, static_cast<int>(kStreamThreads), spoiler),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    if (static_cast<unsigned>(fit) != blocks) {
      throw std::runtime_error(
          fmt::format("{} blocks with {} bytes of shared memory fit on an SM, and not {}", fit, spoiler, blocks));
    }
    return spoiler;
  }

  int device_;
  MemoryFacts facts_;
  unsigned sms_;
  std::size_t shared_of_sm_, shared_of_system_;
  DeviceBuffer buffer_, order_, offsets_, times_, answer_, checksums_, other_, result_;
  std::array<DeviceBuffer, 2> sources_;
  std::size_t stream_elements_ = 0;
};

}  // namespace

std::unique_ptr<MemoryDevice> make_memory_device(int device) { return std::make_unique<GpuMemoryDevice>(device); }

}  // namespace tcnum
