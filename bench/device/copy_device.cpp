#include "copy_device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "block_times.hpp"
#include "copy_kernels.hpp"
#include "cuda/device_memory.hpp"
#include "tensor_map.hpp"

namespace tcnum {
namespace {

constexpr std::size_t kSharedAlignment = 128;  // of tensor copies, and what shared memory is given out in

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

template <class T>
std::vector<T> download(const DeviceBuffer& from, std::size_t count) {
  std::vector<T> to(count);
  check(cudaMemcpy(to.data(), from.data(), count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
  return to;
}

/// Of the boxes that one instruction brings: of a cluster's, each block's rows.
CUtensorMap map_of(const CopyMethod& method, const BoxLayout& layout, void* buffer) {
  TensorLayout tensor{CU_TENSOR_MAP_DATA_TYPE_UINT64, {}, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE};
  std::uint64_t stride = kCopyElementBytes;
  for (unsigned i = 0; i < layout.dimensions; ++i) {
    const std::uint64_t size = std::uint64_t{layout.box[i]} * layout.boxes[i];
    const bool last = i + 1 == layout.dimensions;
    tensor.dimensions.push_back({size, layout.box[i] / (last ? method.cluster : 1), stride});
    stride *= size;
  }
  return encode_tensor_map(tensor, buffer);
}

class GpuCopyDevice final : public CopyDevice {
 public:
  GpuCopyDevice(int device, const MemoryFacts& facts)
      : facts_(facts),
        sms_(static_cast<unsigned>(attribute(cudaDevAttrMultiProcessorCount, device))),
        shared_of_sm_(static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device))),
        shared_of_system_(static_cast<std::size_t>(attribute(cudaDevAttrReservedSharedMemoryPerBlock, device))) {}

  const MemoryFacts& memory_facts() const override { return facts_; }
  std::size_t ring_bytes() const override { return facts_.shared_bytes - kCopyBarrierBytes - kSharedAlignment; }

  void fill(std::size_t bytes, std::uint32_t seed) override {
    buffer_.reserve(bytes);
    check(fill_copy_buffer(static_cast<std::uint32_t*>(buffer_.data()), bytes / sizeof(std::uint32_t), seed),
          "filling a buffer");
    finish("filling a buffer");
  }

  CopyTimes copy(const CopyWork& work, unsigned launches) override {
    const CopyMethod& method = work.method;
    CopyGrid grid{sms_, work.warps * kLanes, method.cluster,
                  std::max(spoiler(), std::size_t{work.warps} * work.stages * work.copy_bytes)};
    if (grid.cluster > 1) grid.blocks = blocks_of_clusters(method, grid);
    const BoxLayout layout = box_layout(method.dimensions, work.copy_bytes, work.buffer_bytes);
    const CUtensorMap map = map_for(method, layout);
    const std::size_t warps = std::size_t{grid.blocks} * work.warps;
    checksums_.reserve(warps * sizeof(std::uint32_t));
    clear_times(std::size_t{launches} * grid.blocks);
    const std::uint32_t groups = grid.blocks / grid.cluster;
    CopyRingLaunch run{.buffer = static_cast<const std::byte*>(buffer_.data()),
                       .layout = layout,
                       .copy_bytes = static_cast<std::uint32_t>(work.copy_bytes),
                       .stages = work.stages,
                       .copies = work.copies,
                       .apart = work.from_l2 ? layout.count() / groups : work.warps,
                       .step = work.from_l2 ? work.warps : groups * work.warps,
                       .read_all = work.read_all,
                       .times = static_cast<BlockTimes*>(times_.data()),
                       .checksums = static_cast<std::uint32_t*>(checksums_.data())};
    for (unsigned i = 0; i < launches; ++i, run.times += grid.blocks) {
      if (work.from_l2) {
        read(buffer_, work.buffer_bytes);
      } else {
        flush();
      }
      check(launch_copy_ring(method, grid, run, map), "launch of copies");
    }
    finish("copies");
    TimedBatch batch = summarise(download<BlockTimes>(times_, std::size_t{launches} * grid.blocks), launches, "copies");
    return {std::move(batch.seconds), batch.clock_mhz, grid.blocks, download<std::uint32_t>(checksums_, warps)};
  }

  CopyLatencies latencies(const CopyLatencyWork& work) override {
    const CopyMethod& method = work.method;
    const CopyGrid grid{method.cluster, kCopyLatencyThreads, method.cluster, std::max(spoiler(), work.copy_bytes)};
    const BoxLayout layout = box_layout(method.dimensions, work.copy_bytes, work.buffer_bytes);
    const CUtensorMap map = map_for(method, layout);
    const std::uint32_t copies = work.copies + 1;  // the first is not timed
    const std::size_t sums = std::size_t{copies} * grid.blocks;
    cycles_.reserve(copies * sizeof(std::uint32_t));
    checksums_.reserve(sums * sizeof(std::uint32_t));
    check(cudaMemset(checksums_.data(), 0, sums * sizeof(std::uint32_t)), "cudaMemset");
    if (!work.from_l2) flush();
    const CopyLatencyLaunch run{.buffer = static_cast<const std::byte*>(buffer_.data()),
                                .layout = layout,
                                .copy_bytes = static_cast<std::uint32_t>(work.copy_bytes),
                                .copies = copies,
                                .apart = latency_box(work, layout.count(), 1),
                                .from_l2 = work.from_l2,
                                .cycles = static_cast<std::uint32_t*>(cycles_.data()),
                                .checksums = static_cast<std::uint32_t*>(checksums_.data())};
    check(launch_copy_latency(method, grid, run, map), "launch of a copy's latency");
    finish("a copy's latency");
    const auto cycles = download<std::uint32_t>(cycles_, copies);
    CopyLatencies found{{cycles.begin() + 1, cycles.end()}, download<std::uint32_t>(checksums_, sums)};
    found.checksums.erase(found.checksums.begin(), found.checksums.begin() + grid.blocks);
    return found;
  }

  unsigned most_product_blocks(const TiledProduct& work) const override {
    return product_blocks(kernel_of(work), work.side, 0);
  }

  ProductTimes product(const TiledProduct& work, unsigned launches) override {
    const void* const kernel = kernel_of(work);
    const std::size_t rows = std::size_t{sms_} * work.side, columns = std::size_t{work.blocks} * work.side;
    const unsigned blocks = sms_ * work.blocks;
    const std::size_t shared = product_spoiler(kernel, work);
    a_.reserve(rows * work.k * sizeof(float));
    b_.reserve(columns * work.k * sizeof(float));
    c_.reserve(rows * columns * sizeof(float));
    check(fill_product(static_cast<float*>(a_.data()), rows * work.k, kProductSeedA), "filling A");
    check(fill_product(static_cast<float*>(b_.data()), columns * work.k, kProductSeedB), "filling B");
    constexpr int kPoison = 0xa5;  // no result
    check(cudaMemset(c_.data(), kPoison, rows * columns * sizeof(float)), "cudaMemset");
    clear_times(std::size_t{launches} * blocks);
    ProductLaunch run{.a = static_cast<const float*>(a_.data()),
                      .b = static_cast<const float*>(b_.data()),
                      .c = static_cast<float*>(c_.data()),
                      .columns = work.blocks,
                      .k = work.k,
                      .rounds = work.rounds,
                      .times = static_cast<BlockTimes*>(times_.data())};
    for (unsigned i = 0; i < launches; ++i, run.times += blocks) {
      check(launch_product(kernel, blocks, work.side, shared, run), "launch of a tiled product");
    }
    finish("a tiled product");
    TimedBatch batch = summarise(download<BlockTimes>(times_, std::size_t{launches} * blocks), launches, "a product",
                                 BlocksRun::anywhere);
    return {std::move(batch.seconds), batch.clock_mhz, rows, columns, download<float>(c_, rows * columns)};
  }

 private:
  static constexpr unsigned kLanes = 32;

  static void finish(const char* what) {
    check(cudaDeviceSynchronize(), fmt::format("{} (cudaDeviceSynchronize)", what));
  }

  /// More than half of the shared memory of Hopper's SMs, so that no two blocks share one; or what a block can have.
  std::size_t spoiler() const {
    constexpr std::size_t kBytes = std::size_t{120} << 10;
    return std::min(kBytes, ring_bytes());
  }

  static unsigned blocks_of_clusters(const CopyMethod& method, const CopyGrid& grid) {
    int clusters = 0;
    check(count_copy_clusters(method, grid, &clusters), "cudaOccupancyMaxActiveClusters");
    if (clusters == 0) throw std::runtime_error(fmt::format("no cluster of {} blocks fits", grid.cluster));
    return static_cast<unsigned>(clusters) * grid.cluster;
  }

  CUtensorMap map_for(const CopyMethod& method, const BoxLayout& layout) {
    return method.way == CopyWay::tensor ? map_of(method, layout, buffer_.data()) : CUtensorMap{};
  }

  void read(DeviceBuffer& from, std::size_t bytes) {
    sink_.reserve(sizeof(std::uint32_t));
    check(read_through_l2(static_cast<const uint4*>(from.data()), bytes / sizeof(uint4),
                          static_cast<std::uint32_t*>(sink_.data())),
          "reading a buffer");
  }
  /// Reads something else, so that nothing has to be written back later.
  void flush() {
    constexpr std::size_t kTimes = 3;
    if (other_.data() == nullptr) {
      other_.reserve(kTimes * facts_.l2_bytes);
      check(cudaMemset(other_.data(), 0, kTimes * facts_.l2_bytes), "cudaMemset");
    }
    read(other_, kTimes * facts_.l2_bytes);
  }

  void clear_times(std::size_t blocks) {
    times_.reserve(blocks * sizeof(BlockTimes));
    check(cudaMemset(times_.data(), 0, blocks * sizeof(BlockTimes)), "cudaMemset");
  }

  static const void* kernel_of(const TiledProduct& work) {
    const void* const kernel = find_product(work.async, work.side);
    if (kernel == nullptr) throw std::logic_error(fmt::format("no product of {} x {} threads", work.side, work.side));
    return kernel;
  }
  static unsigned product_blocks(const void* kernel, unsigned side, std::size_t shared) {
    int fit = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, static_cast<int>(side * side), shared),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    return static_cast<unsigned>(fit);
  }
  /// So much shared memory, beside its tiles, that no more blocks fit on an SM than the work says.
  std::size_t product_spoiler(const void* kernel, const TiledProduct& work) const {
    cudaFuncAttributes own{};
    check(cudaFuncGetAttributes(&own, kernel), "cudaFuncGetAttributes");
    const std::size_t share = std::min(shared_of_sm_ / work.blocks - shared_of_system_, facts_.shared_bytes);
    const std::size_t spoiler = (share - own.sharedSizeBytes) / kSharedAlignment * kSharedAlignment;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(spoiler)),
          "cudaFuncSetAttribute");
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
          "cudaFuncSetAttribute");
    if (const unsigned fit = product_blocks(kernel, work.side, spoiler); fit != work.blocks) {
      throw std::runtime_error(
          fmt::format("{} blocks with {} bytes of shared memory fit on an SM, and not {}", fit, spoiler, work.blocks));
    }
    return spoiler;
  }

  MemoryFacts facts_;
  unsigned sms_;
  std::size_t shared_of_sm_, shared_of_system_;
  DeviceBuffer buffer_, other_, sink_, times_, cycles_, checksums_, a_, b_, c_;
};

}  // namespace

std::unique_ptr<CopyDevice> make_gpu_copy_device(int device, const MemoryFacts& facts) {
  return std::make_unique<GpuCopyDevice>(device, facts);
}

}  // namespace tcnum
