#include "gemm_device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

#include "cuda/device_memory.hpp"
#include "cuda/event.hpp"
#include "gemm_kernels.hpp"
#include "hold.hpp"
#include "probes/cublaslt.hpp"
#include "tcnum/error.hpp"
#include "tensor_map.hpp"
#include "timed_archs.hpp"

namespace tcnum {
namespace {

/// Of operands, and of results: more than an L2 has, several times.
constexpr std::size_t kMemoryBytes = std::size_t{5} << 28;
/// Where a matrix may begin.
constexpr std::size_t kAlignment = 256;

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
std::size_t bytes_of(FormatId id) { return format(id).storage_bits / 8; }

/// Where the matrices of a launch lie.
struct Operands {
  std::byte *a, *b, *d;
};

#ifdef TCNUM_HAS_WGMMA
std::vector<std::span<const GemmKernel>> gemm_kernels() { return {gemm_half_kernels(), gemm_fp8_kernels()}; }
#else
std::vector<std::span<const GemmKernel>> gemm_kernels() { return {}; }
#endif

const GemmKernel* find_gemm_kernel(FormatId operands, const GemmTile& tile) {
  for (const std::span<const GemmKernel> table : gemm_kernels()) {
    for (const GemmKernel& kernel : table) {
      if (kernel.operands == operands && kernel.tile == tile) return &kernel;
    }
  }
  return nullptr;
}

/// Lines of `k` elements, of which a copy takes `box` at a time, kGemmStepBytes of each.
GemmLines operand_lines(std::byte* at, FormatId id, std::size_t lines, std::size_t k, unsigned box) {
  const std::size_t bytes = bytes_of(id);
  const auto map_of = [&](unsigned at_a_time) {
    return encode_tensor_map(
        {bytes == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_UINT16,
         {{k, static_cast<std::uint32_t>(kGemmStepBytes / bytes), 0}, {lines, at_a_time, k * bytes}},
         CU_TENSOR_MAP_SWIZZLE_128B,
         CU_TENSOR_MAP_L2_PROMOTION_L2_128B},
        at);
  };
  const auto remain = static_cast<unsigned>(lines % box);
  return {map_of(box), map_of(remain == 0 ? box : remain), static_cast<unsigned>(lines)};
}
/// Of results, 64 × 64 at a time.
CUtensorMap result_map(std::byte* at, const GemmShape& shape) {
  constexpr std::uint32_t kPanel = 64;
  constexpr std::size_t kBytes = 2;
  return encode_tensor_map({CU_TENSOR_MAP_DATA_TYPE_UINT16,
                            {{shape.n, kPanel, 0}, {shape.m, kPanel, shape.n * kBytes}},
                            CU_TENSOR_MAP_SWIZZLE_128B,
                            CU_TENSOR_MAP_L2_PROMOTION_NONE},
                           at);
}

class GpuGemmDevice final : public GemmDevice {
 public:
  GpuGemmDevice(int arch, int sms) : arch_(arch), sms_(static_cast<unsigned>(sms)) {}

  void load(std::span<const std::byte> codes) override {
    operands_.reserve(kMemoryBytes);
    results_.reserve(kMemoryBytes);
    auto* const begin = static_cast<std::byte*>(operands_.data());
    check(cudaMemcpy(begin, codes.data(), codes.size(), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
    for (std::size_t there = codes.size(); there < kMemoryBytes; there *= 2) {
      check(cudaMemcpy(begin + there, begin, std::min(there, kMemoryBytes - there), cudaMemcpyDeviceToDevice),
            "cudaMemcpy on the device");
    }
  }

  GemmTimes multiply(const GemmWork& work) override {
    place(work);
    GemmTimes times;
    if (work.tile) {
      multiply_ours(work, times);
    } else {
      multiply_by_library(work, times);
    }
    const std::size_t bytes = bytes_of(work.formats.operands);
    const auto* const begin = static_cast<const std::byte*>(operands_.data());
    times.a_first = static_cast<std::size_t>(last_.a - begin) / bytes;
    times.b_first = static_cast<std::size_t>(last_.b - begin) / bytes;
    return times;
  }

  std::vector<std::byte> results(std::span<const std::size_t> rows, std::span<const std::size_t> columns) override {
    constexpr std::size_t kBytes = 2;
    std::vector<std::byte> codes(rows.size() * columns.size() * kBytes), row(shape_.n * kBytes);
    std::byte* next = codes.data();
    for (const std::size_t i : rows) {
      check(cudaMemcpy(row.data(), last_.d + i * row.size(), row.size(), cudaMemcpyDeviceToHost),
            "cudaMemcpy from the device");
      for (const std::size_t j : columns) {
        std::memcpy(next, row.data() + j * kBytes, kBytes);
        next += kBytes;
      }
    }
    return codes;
  }

 private:
  /// Says where the operands of each launch lie: one behind the other, and again from the beginning.
  void place(const GemmWork& work) {
    const GemmShape& s = work.shape;
    shape_ = s;
    const std::size_t bytes = bytes_of(work.formats.operands);
    const std::size_t a = aligned(s.m * s.k * bytes), b = aligned(s.n * s.k * bytes), d = aligned(s.m * s.n * 2);
    const std::size_t copies = std::min({kMemoryBytes / (a + b), kMemoryBytes / d, std::size_t{work.launches}});
    if (copies == 0) {
      throw UnavailableError(fmt::format("a product of {} × {} × {} needs more than the {} MiB that are kept for it",
                                         s.m, s.n, s.k, kMemoryBytes >> 20));
    }
    placed_.clear();
    for (std::size_t i = 0; i < copies; ++i) {
      auto* const at = static_cast<std::byte*>(operands_.data()) + i * (a + b);
      placed_.push_back({at, at + a, static_cast<std::byte*>(results_.data()) + i * d});
    }
    last_ = placed_[(work.launches - 1) % copies];
    check(cudaMemset(last_.d, 0xa5, d), "cudaMemset");  // no result
  }

  /// Calls `launch` with the number of each launch, and says how long they took.
  template <class Launch>
  void time_launches(const GemmWork& work, GemmTimes& times, const Launch& launch) {
    if (work.rest_seconds > 0) {
      for (unsigned i = 0; i < work.launches; ++i) {
        std::this_thread::sleep_for(std::chrono::duration<double>(work.rest_seconds));
        check(launch_hold(kHoldNanoseconds), "launch of the kernel that the device waits in");
        times.single_seconds.push_back(seconds_of(1, [&](unsigned) { launch(i); }));
      }
      times.seconds = std::reduce(times.single_seconds.begin(), times.single_seconds.end()) / work.launches;
    } else {
      times.seconds = seconds_of(work.launches, launch) / work.launches;
    }
  }

  /// Of all launches together.
  template <class Launch>
  double seconds_of(unsigned launches, const Launch& launch) {
    before_.record();
    for (unsigned i = 0; i < launches; ++i) launch(i);
    behind_.record();
    check(cudaDeviceSynchronize(), "a matrix product");
    return behind_.seconds_since(before_);
  }

  void multiply_ours(const GemmWork& work, GemmTimes& times) {
    const GemmTile& tile = *work.tile;
    const GemmKernel* const kernel = find_gemm_kernel(work.formats.operands, tile);
    if (kernel == nullptr || arch_ != 90 || !is_timed(arch_)) {
      throw UnavailableError("this device or build has no such kernel of matrix products");
    }
    check(cudaFuncSetAttribute(kernel->function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(kernel->shared_bytes)),
          "cudaFuncSetAttribute");
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {tile.cluster(), 1, 1};
    cudaLaunchConfig_t config{};
    config.blockDim = kernel->threads;
    config.dynamicSmemBytes = kernel->shared_bytes;
    config.attrs = &cluster;
    config.numAttrs = 1;
    config.gridDim = sms_ / tile.cluster() * tile.cluster();
    int clusters = 0;
    check(cudaOccupancyMaxActiveClusters(&clusters, kernel->function, &config), "cudaOccupancyMaxActiveClusters");
    times.blocks = static_cast<unsigned>(clusters) * tile.cluster();
    const GemmRaster raster = raster_of(work.shape, tile, times.blocks);
    times.blocks = static_cast<unsigned>(std::min<std::size_t>(times.blocks, raster.count() * tile.cluster()));
    config.gridDim = times.blocks;

    const std::size_t bytes = bytes_of(work.formats.operands);
    const GemmShape& s = work.shape;
    // Launches without a rest share one row of times; others have a row each.
    const std::size_t rows = work.rest_seconds > 0 ? work.launches : 1;
    std::vector<SmTimes> said(rows * kMostSms);
    times_.reserve(said.size() * sizeof(SmTimes));
    check(cudaMemset(times_.data(), 0, said.size() * sizeof(SmTimes)), "cudaMemset");
    auto* const sm_times = static_cast<SmTimes*>(times_.data());
    std::vector<GemmLaunch> launches;
    for (const Operands& at : placed_) {
      launches.push_back({operand_lines(at.a, work.formats.operands, s.m, s.k, tile.rows / tile.cluster_columns),
                          operand_lines(at.b, work.formats.operands, s.n, s.k, tile.columns / tile.cluster_rows),
                          result_map(at.d, s), raster,
                          static_cast<unsigned>((s.k * bytes + kGemmStepBytes - 1) / kGemmStepBytes), sm_times});
    }
    time_launches(work, times, [&](unsigned i) {
      GemmLaunch& launch = launches[i % launches.size()];
      launch.times = sm_times + i % rows * kMostSms;
      void* arguments[] = {&launch};
      check(cudaLaunchKernelExC(&config, kernel->function, arguments), "launch of a matrix product");
    });
    check(cudaMemcpy(said.data(), times_.data(), said.size() * sizeof(SmTimes), cudaMemcpyDeviceToHost),
          "cudaMemcpy from the device");
    times.clock_mhz = mean_clock(said);
  }

  /// Over the rows of times, of which each has its SMs' median; 0: too short to say.
  static double mean_clock(std::span<const SmTimes> rows) {
    std::vector<double> clocks;
    for (; !rows.empty(); rows = rows.subspan(kMostSms)) {
      if (const double clock = median_clock(rows.first(kMostSms)); clock > 0) clocks.push_back(clock);
    }
    return clocks.empty() ? 0 : std::reduce(clocks.begin(), clocks.end()) / static_cast<double>(clocks.size());
  }

  /// 0: the time was too short for the device's timer, which may step by a microsecond.
  static double median_clock(std::span<const SmTimes> said) {
    constexpr unsigned long long kShortestNs = 10'000;
    std::vector<double> clocks;
    for (const SmTimes& t : said) {
      if (t.first_ns == 0 || t.last_ns < t.first_ns + kShortestNs) continue;
      clocks.push_back(static_cast<double>(t.last_clock - t.first_clock) / static_cast<double>(t.last_ns - t.first_ns) *
                       1e3);
    }
    if (clocks.empty()) return 0;
    const auto middle = clocks.begin() + static_cast<std::ptrdiff_t>(clocks.size() / 2);
    std::ranges::nth_element(clocks, middle);
    return *middle;
  }

  /// The library writes by columns: D by rows is the product of B's and A's transposes by columns.
  void multiply_by_library(const GemmWork& work, GemmTimes& times) {
    if (!library_) library_ = load_cublaslt();
    const GemmShape& s = work.shape;
    const FormatId operands = work.formats.operands;
    const LibraryProduct product{operands, operands, work.formats.results, s.n, s.m, s.k, bytes_of(operands) == 1};
    times.algorithm = first_algorithm(*library_, product);
    const std::unique_ptr<LibraryLaunch> launch = library_->prepare(product, *times.algorithm);
    time_launches(work, times, [&](unsigned i) {
      const Operands& at = placed_[i % placed_.size()];
      launch->enqueue(at.b, at.a, at.d);
    });
  }

  static constexpr std::size_t kMostSms = 1024;
  /// Longer than the host takes to submit what is timed, so that none of the host's time shows.
  static constexpr unsigned kHoldNanoseconds = 100'000;

  int arch_;
  unsigned sms_;
  DeviceBuffer operands_, results_, times_;
  GemmShape shape_;
  std::vector<Operands> placed_;
  Operands last_{};
  Event before_, behind_;
  std::unique_ptr<CublasLt> library_;
};

}  // namespace

std::unique_ptr<GemmDevice> make_gpu_gemm_device(int arch, int sms) {
  return std::make_unique<GpuGemmDevice>(arch, sms);
}

}  // namespace tcnum
