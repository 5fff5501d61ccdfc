// The timing device that is a GPU. What it does is defined in a file for each family of kernels.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda/device_memory.hpp"
#include "cuda/event.hpp"
#include "device.hpp"
#include "probes/cublaslt.hpp"
#include "probes/gpu.hpp"
#include "probes/nvml.hpp"
#include "timing_kernels.hpp"

namespace tcnum {

double median(std::vector<double> values);

enum class BlocksRun : std::uint8_t { one_an_sm, anywhere };

/// Of so many launches of as many blocks each, one launch behind the other. Throws std::runtime_error naming the kernel
/// if two blocks of a launch ran on one SM where each was to have its own, or if a thread's results of a round were
/// others than before.
TimedBatch summarise(std::span<const BlockTimes> times, unsigned launches, std::string_view kernel,
                     BlocksRun where = BlocksRun::one_an_sm);

int device_attribute(cudaDeviceAttr which, int device);

/// Where a matrix may begin.
constexpr std::size_t aligned(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

template <class T>
std::vector<T> downloaded(const T* from, std::size_t count) {
  std::vector<T> to(count);
  check(cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
  return to;
}

/// One dimension of an array, in elements.
struct TensorDimension {
  std::uint64_t size = 0;
  std::uint32_t box = 0;           ///< of the box that one copy takes
  std::uint64_t stride_bytes = 0;  ///< from one index to the next; not read of the innermost, whose elements are packed
};

struct TensorLayout {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  std::vector<TensorDimension> dimensions;  ///< innermost first, 1 to 5
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapL2promotion l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
};

/// The map of an array at `global`, on the device. What a box has beyond the array's ends arrives as zeros. A kernel
/// takes the map by value, as a parameter that is `const __grid_constant__`. Throws std::runtime_error if the
/// driver has no tensor maps, or the hardware cannot have such an array.
CUtensorMap encode_tensor_map(const TensorLayout& layout, void* global);

class GpuTimingDevice final : public TimingDevice {
 public:
  explicit GpuTimingDevice(int device);

  const TimingFacts& facts() const override { return facts_; }
  std::optional<double> energy_joules() const override { return nvml_.energy_joules(); }

  unsigned most_warps(const std::string& kernel, unsigned chains) const override;
  void load(const TimedOperands& operands) override;
  TimedBatch run(const TimedWork& work, unsigned launches) override;
  std::vector<std::byte> result() override;

  const MemoryFacts& memory_facts() override;
  void fill(std::size_t bytes, std::uint32_t seed) override;
  ChaseTimes chase(const Chase& work) override;
  ReadTimes read(const ReadWork& work) override;
  StreamTimes stream(const StreamWork& work, unsigned launches) override;

  std::size_t ring_bytes() override;
  CheckedTimes copy(const CopyWork& work, unsigned launches) override;
  CopyLatencies copy_latencies(const CopyLatencyWork& work) override;

  unsigned most_cluster_blocks() override;
  ClusterLatencies cluster_latencies(unsigned cluster) override;
  CheckedTimes ring(const RingWork& work, unsigned launches) override;

  void load_codes(std::span<const std::byte> codes) override;
  GemmTimes multiply(const GemmWork& work) override;
  std::vector<std::byte> results(std::span<const std::size_t> rows, std::span<const std::size_t> columns) override;

 private:
  /// Device memory of that name, of so many elements at least; what was there stays where it is large enough.
  template <class T>
  T* memory(const std::string& name, std::size_t count) {
    DeviceBuffer& buffer = buffers_[name];
    buffer.reserve(count * sizeof(T));
    return static_cast<T*>(buffer.data());
  }
  /// The same, of which each byte is `value`.
  template <class T>
  T* memory_of(int value, const std::string& name, std::size_t count) {
    T* const at = memory<T>(name, count);
    check(cudaMemset(at, value, count * sizeof(T)), "cudaMemset");
    return at;
  }
  void free(const std::string& name) { buffers_.erase(name); }

  /// What blocks say, of so many; zero.
  BlockTimes* clear_times(std::size_t blocks) { return memory_of<BlockTimes>(0, "times", blocks); }
  std::vector<BlockTimes> block_times(std::size_t blocks) {
    return downloaded(memory<BlockTimes>("times", blocks), blocks);
  }
  static void finish(const std::string& what) { check(cudaDeviceSynchronize(), what + " (cudaDeviceSynchronize)"); }
  /// Waits for so many launches of as many blocks each, which wrote to clear_times().
  TimedBatch finish(const std::string& what, unsigned launches, std::size_t blocks,
                    BlocksRun where = BlocksRun::one_an_sm) {
    finish(what);
    return summarise(block_times(launches * blocks), launches, what, where);
  }
  /// Starts `launch`, which returns what CUDA says, so many times: run.times are those of the launch at hand.
  template <class Run, class Launch>
  TimedBatch launched(const std::string& what, Run& run, unsigned launches, std::size_t blocks, BlocksRun where,
                      const Launch& launch) {
    run.times = clear_times(launches * blocks);
    for (unsigned i = 0; i < launches; ++i, run.times += blocks) check(launch(), "launch of " + what);
    return finish(what, launches, blocks, where);
  }
  /// Reads something else past the L1, so that nothing of a buffer is in a cache, and nothing has to be written back.
  void flush();
  void read_through_l2(const std::string& name, std::size_t bytes);
  /// Streams have large arrays, and chases large buffers: not both at a time.
  void free_streams();
  static constexpr const char* kStreamSources[] = {"stream_x", "stream_y"};

  /// Throws UnavailableError if this build has no timing kernels for the device's architecture.
  void require_kernels(const char* what) const;

  /// Of launches behind each other, one: the device waits for the host, of which each call takes up to so long.
  template <class Launch>
  double seconds_of(unsigned launches, unsigned hold_nanoseconds, const char* what, const Launch& launch) {
    Event before, behind;
    hold(hold_nanoseconds);
    before.record();
    for (unsigned i = 0; i < launches; ++i) launch(i);
    behind.record();
    finish(what);
    return behind.seconds_since(before) / launches;
  }
  /// Keeps the device busy for so long, so that the host can submit what is to follow without gaps; 0: not at all.
  static void hold(unsigned nanoseconds);
  CublasLt& library();

  int device_, arch_ = 0;
  unsigned sms_ = 0;
  GpuInfo info_;
  Nvml nvml_;
  TimingFacts facts_;
  std::optional<MemoryFacts> memory_facts_;
  std::map<std::string, DeviceBuffer> buffers_;
  std::unique_ptr<CublasLt> library_;

  // What the last launch of a family left.
  std::size_t blocks_ = 0, result_bytes_ = 0;
  std::size_t stream_elements_ = 0;
  GemmShape gemm_shape_;
  std::byte* gemm_last_ = nullptr;  ///< D
};

}  // namespace tcnum
