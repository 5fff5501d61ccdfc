// Matrix products on a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "gemm_kernels.hpp"
#include "gpu_device.hpp"
#include "timing_kernels.hpp"

namespace tcnum {
namespace {

/// Of operands, and of results: more than an L2 has, several times.
constexpr std::size_t kMemoryBytes = std::size_t{5} << 28;
/// Longer than the host takes to submit what is timed, so that none of the host's time shows.
constexpr unsigned kHoldNanoseconds = 100'000;

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

/// 0: the time was too short for the device's timer, which may step by a microsecond.
double median_clock(std::span<const SmTimes> said) {
  constexpr unsigned long long kShortestNs = 10'000;
  std::vector<double> clocks;
  for (const SmTimes& t : said) {
    if (t.first_ns == 0 || t.last_ns < t.first_ns + kShortestNs) continue;
    clocks.push_back(static_cast<double>(t.last_clock - t.first_clock) / static_cast<double>(t.last_ns - t.first_ns) *
                     1e3);
  }
  return clocks.empty() ? 0 : median(std::move(clocks));
}

constexpr std::size_t kMostSms = 1024;

/// Over the rows of times, of which each has its SMs' median; 0: too short to say.
double mean_clock(std::span<const SmTimes> rows) {
  std::vector<double> clocks;
  for (; !rows.empty(); rows = rows.subspan(kMostSms)) {
    if (const double clock = median_clock(rows.first(kMostSms)); clock > 0) clocks.push_back(clock);
  }
  return clocks.empty() ? 0 : std::reduce(clocks.begin(), clocks.end()) / static_cast<double>(clocks.size());
}

}  // namespace

void GpuTimingDevice::load_codes(std::span<const std::byte> codes) {
  auto* const begin = memory<std::byte>("codes", kMemoryBytes);
  check(cudaMemcpy(begin, codes.data(), codes.size(), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
  for (std::size_t there = codes.size(); there < kMemoryBytes; there *= 2) {
    check(cudaMemcpy(begin + there, begin, std::min(there, kMemoryBytes - there), cudaMemcpyDeviceToDevice),
          "cudaMemcpy on the device");
  }
}

GemmTimes GpuTimingDevice::multiply(const GemmWork& work) {
  // The operands of each launch lie behind those of the one before, and again from the beginning.
  const GemmShape& s = gemm_shape_ = work.shape;
  const std::size_t bytes = bytes_of(work.formats.operands);
  const std::size_t a = aligned(s.m * s.k * bytes), b = aligned(s.n * s.k * bytes), d = aligned(s.m * s.n * 2);
  const std::size_t copies = std::min({kMemoryBytes / (a + b), kMemoryBytes / d, std::size_t{work.launches}});
  if (copies == 0) {
    throw UnavailableError(fmt::format("a product of {} × {} × {} needs more than the {} MiB that are kept for it", s.m,
                                       s.n, s.k, kMemoryBytes >> 20));
  }
  auto* const operands = memory<std::byte>("codes", kMemoryBytes);
  auto* const results = memory<std::byte>("products", kMemoryBytes);
  std::vector<Operands> placed;
  for (std::size_t i = 0; i < copies; ++i) {
    std::byte* const at = operands + i * (a + b);
    placed.push_back({at, at + a, results + i * d});
  }
  const Operands last = placed[(work.launches - 1) % copies];
  gemm_last_ = last.d;
  check(cudaMemset(last.d, 0xa5, d), "cudaMemset");  // no result

  GemmTimes times;
  times.a_first = static_cast<std::size_t>(last.a - operands) / bytes;
  times.b_first = static_cast<std::size_t>(last.b - operands) / bytes;
  const auto time = [&](const auto& launch) {
    if (work.rest_seconds <= 0) {
      times.seconds = seconds_of(work.launches, 0, "a matrix product", launch);
      return;
    }
    for (unsigned i = 0; i < work.launches; ++i) {
      std::this_thread::sleep_for(std::chrono::duration<double>(work.rest_seconds));
      times.single_seconds.push_back(seconds_of(1, kHoldNanoseconds, "a matrix product", [&](unsigned) { launch(i); }));
    }
    times.seconds = std::reduce(times.single_seconds.begin(), times.single_seconds.end()) / work.launches;
  };

  if (!work.tile) {
    // The library writes by columns: D by rows is the product of B's and A's transposes by columns.
    const FormatId format = work.formats.operands;
    const LibraryProduct product{format, format, work.formats.results, s.n, s.m, s.k, bytes == 1};
    times.algorithm = first_algorithm(library(), product);
    const std::unique_ptr<LibraryLaunch> launch = library().prepare(product, *times.algorithm);
    time([&](unsigned i) {
      const Operands& at = placed[i % copies];
      launch->enqueue(at.b, at.a, at.d);
    });
    return times;
  }

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
  const GemmRaster raster = raster_of(s, tile, times.blocks);
  times.blocks = static_cast<unsigned>(std::min<std::size_t>(times.blocks, raster.count() * tile.cluster()));
  config.gridDim = times.blocks;

  // Launches without a rest share one row of times; others have a row each.
  const std::size_t rows = work.rest_seconds > 0 ? work.launches : 1;
  auto* const sm_times = memory_of<SmTimes>(0, "sm_times", rows * kMostSms);
  std::vector<GemmLaunch> launches;
  for (const Operands& at : placed) {
    launches.push_back({operand_lines(at.a, work.formats.operands, s.m, s.k, tile.rows / tile.cluster_columns),
                        operand_lines(at.b, work.formats.operands, s.n, s.k, tile.columns / tile.cluster_rows),
                        result_map(at.d, s), raster,
                        static_cast<unsigned>((s.k * bytes + kGemmStepBytes - 1) / kGemmStepBytes), sm_times});
  }
  time([&](unsigned i) {
    GemmLaunch& launch = launches[i % copies];
    launch.times = sm_times + i % rows * kMostSms;
    void* arguments[] = {&launch};
    check(cudaLaunchKernelExC(&config, kernel->function, arguments), "launch of a matrix product");
  });
  times.clock_mhz = mean_clock(downloaded(sm_times, rows * kMostSms));
  return times;
}

std::vector<std::byte> GpuTimingDevice::results(std::span<const std::size_t> rows,
                                                std::span<const std::size_t> columns) {
  constexpr std::size_t kBytes = 2;
  std::vector<std::byte> codes(rows.size() * columns.size() * kBytes);
  std::byte* next = codes.data();
  for (const std::size_t i : rows) {
    const std::size_t row_bytes = gemm_shape_.n * kBytes;
    const std::vector<std::byte> row = downloaded(gemm_last_ + i * row_bytes, row_bytes);
    for (const std::size_t j : columns) {
      std::memcpy(next, row.data() + j * kBytes, kBytes);
      next += kBytes;
    }
  }
  return codes;
}

}  // namespace tcnum
