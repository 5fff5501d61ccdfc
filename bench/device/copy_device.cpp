// Copies from global to shared memory, on a GPU.
#include <fmt/format.h>

#include <stdexcept>

#include "copy_kernels.hpp"
#include "gpu_device.hpp"
#include "tensor_map.hpp"

namespace tcnum {
namespace {

constexpr unsigned kLanes = 32;
constexpr std::size_t kSharedAlignment = 128;  // of tensor copies

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

CUtensorMap map_for(const CopyMethod& method, const BoxLayout& layout, void* buffer) {
  return method.way == CopyWay::tensor ? map_of(method, layout, buffer) : CUtensorMap{};
}

/// Shared memory of a block: more than half of what Hopper's SMs have, so that no two blocks share one, or what a block
/// can have.
std::size_t shared_bytes(std::size_t needed, std::size_t most) {
  constexpr std::size_t kBytes = std::size_t{120} << 10;
  return std::max(needed, std::min(kBytes, most));
}

}  // namespace

std::size_t GpuTimingDevice::ring_bytes() {
  require_kernels("copies");
  return memory_facts().shared_bytes - kCopyBarrierBytes - kSharedAlignment;
}

CopyTimes GpuTimingDevice::copy(const CopyWork& work, unsigned launches) {
  const CopyMethod& method = work.method;
  CopyGrid grid{{sms_, work.warps * kLanes, method.cluster},
                shared_bytes(std::size_t{work.warps} * work.stages * work.copy_bytes, ring_bytes())};
  if (grid.cluster > 1) {
    int clusters = 0;
    check(count_copy_clusters(method, grid, &clusters), "cudaOccupancyMaxActiveClusters");
    if (clusters == 0) throw std::runtime_error(fmt::format("no cluster of {} blocks fits", grid.cluster));
    grid.blocks = static_cast<unsigned>(clusters) * grid.cluster;
  }
  auto* const buffer = memory<std::byte>("buffer", work.buffer_bytes);
  const BoxLayout layout = box_layout(method.dimensions, work.copy_bytes, work.buffer_bytes);
  const CUtensorMap map = map_for(method, layout, buffer);
  const std::size_t warps = std::size_t{grid.blocks} * work.warps;
  const std::uint32_t groups = grid.blocks / grid.cluster;
  CopyRingLaunch run{.buffer = buffer,
                     .layout = layout,
                     .copy_bytes = static_cast<std::uint32_t>(work.copy_bytes),
                     .stages = work.stages,
                     .copies = work.copies,
                     .apart = work.from_l2 ? layout.count() / groups : work.warps,
                     .step = work.from_l2 ? work.warps : groups * work.warps,
                     .read_all = work.read_all,
                     .times = clear_times(std::size_t{launches} * grid.blocks),
                     .checksums = memory<std::uint32_t>("checksums", warps)};
  for (unsigned i = 0; i < launches; ++i, run.times += grid.blocks) {
    if (work.from_l2) {
      read_through_l2("buffer", work.buffer_bytes);
    } else {
      flush();
    }
    check(launch_copy_ring(method, grid, run, map), "launch of copies");
  }
  TimedBatch batch = finish("copies", launches, grid.blocks);
  return {std::move(batch.seconds), batch.clock_mhz, grid.blocks, downloaded(run.checksums, warps)};
}

CopyLatencies GpuTimingDevice::copy_latencies(const CopyLatencyWork& work) {
  const CopyMethod& method = work.method;
  const CopyGrid grid{{method.cluster, kCopyLatencyThreads, method.cluster},
                      shared_bytes(work.copy_bytes, ring_bytes())};
  auto* const buffer = memory<std::byte>("buffer", work.buffer_bytes);
  const BoxLayout layout = box_layout(method.dimensions, work.copy_bytes, work.buffer_bytes);
  const CUtensorMap map = map_for(method, layout, buffer);
  const std::uint32_t copies = work.copies + 1;  // the first is not timed
  const std::size_t sums = std::size_t{copies} * grid.blocks;
  if (!work.from_l2) flush();
  const CopyLatencyLaunch run{.buffer = buffer,
                              .layout = layout,
                              .copy_bytes = static_cast<std::uint32_t>(work.copy_bytes),
                              .copies = copies,
                              .apart = latency_box(work, layout.count(), 1),
                              .from_l2 = work.from_l2,
                              .cycles = memory<std::uint32_t>("cycles", copies),
                              .checksums = memory_of<std::uint32_t>(0, "checksums", sums)};
  check(launch_copy_latency(method, grid, run, map), "launch of a copy's latency");
  finish("a copy's latency");
  const auto cycles = downloaded(run.cycles, copies);
  CopyLatencies found{{cycles.begin() + 1, cycles.end()}, downloaded(run.checksums, sums)};
  found.checksums.erase(found.checksums.begin(), found.checksums.begin() + grid.blocks);
  return found;
}

}  // namespace tcnum
