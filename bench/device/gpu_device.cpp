#include "gpu_device.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "timing_kernels.hpp"

namespace tcnum {
namespace {

const Timing* find_timing(const std::string& name) {
  static const auto tables = [] {
    auto all = instruction_timing_kernels();
    all.push_back(incore_timing_kernels());
    all.push_back(dpx_timing_kernels());
    return all;
  }();
  for (const std::span<const TimingKernel> table : tables) {
    const auto found = std::ranges::find(table, name, &TimingKernel::name);
    if (found != table.end()) return &found->timing;
  }
  return nullptr;
}

std::string pci_bus(int device) {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device), "cudaDeviceGetPCIBusId");
  return text.data();
}

constexpr std::size_t kMostDimensions = 5;

/// The driver's function, as of the CUDA version that brought it: nothing is linked with the driver.
auto find_encoder() {
  constexpr unsigned kSince = 12000;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, kSince, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion(cuTensorMapEncodeTiled)");
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    throw std::runtime_error("this driver has no cuTensorMapEncodeTiled; CUDA 12.0's and later ones do");
  }
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

}  // namespace

CUtensorMap encode_tensor_map(const TensorLayout& layout, void* global) {
  static const auto encode = find_encoder();
  const std::size_t rank = layout.dimensions.size();
  std::array<cuuint64_t, kMostDimensions> sizes{}, strides{};
  std::array<cuuint32_t, kMostDimensions> box{}, every{};
  for (std::size_t i = 0; i < rank; ++i) {
    sizes[i] = layout.dimensions[i].size;
    if (i > 0) strides[i - 1] = layout.dimensions[i].stride_bytes;
    box[i] = layout.dimensions[i].box;
    every[i] = 1;
  }
  CUtensorMap map{};
  const CUresult result = encode(&map, layout.type, static_cast<cuuint32_t>(rank), global, sizes.data(), strides.data(),
                                 box.data(), every.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, layout.swizzle,
                                 layout.l2_promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw std::runtime_error(fmt::format("cuTensorMapEncodeTiled failed: CUresult {}", static_cast<int>(result)));
  }
  return map;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

TimedBatch summarise(std::span<const BlockTimes> times, unsigned launches, std::string_view kernel, BlocksRun where) {
  const std::size_t blocks = times.size() / launches;
  TimedBatch batch;
  for (unsigned i = 0; i < launches; ++i) {
    std::vector<bool> taken(1024, false);  // more SMs than any GPU has
    double cycles = 0;
    const auto of_launch = times.subspan(i * blocks, blocks);
    for (const BlockTimes& block : of_launch) {
      if (block.differences != 0) {
        throw std::runtime_error(fmt::format("{}: {} times, a thread's results of a round were others than before",
                                             kernel, block.differences));
      }
      if (where == BlocksRun::one_an_sm && taken.at(block.sm))
        throw std::runtime_error(fmt::format("{}: two blocks ran on SM {}", kernel, block.sm));
      taken[block.sm] = true;
      cycles += static_cast<double>(block.cycles);
    }
    const auto begin = std::ranges::min(of_launch, {}, &BlockTimes::first_ns).first_ns;
    const auto end = std::ranges::max(of_launch, {}, &BlockTimes::last_ns).last_ns;
    batch.seconds.push_back(static_cast<double>(end - begin) * 1e-9);
    batch.cycles.push_back(cycles / static_cast<double>(blocks));
  }

  // From a block's begin in the first launch to the end of that on the same SM in the last.
  constexpr double kShortestNs = 100e3;  // the timer may step by a microsecond
  std::vector<double> clocks;
  for (const BlockTimes& first : times.first(blocks)) {
    const auto last_launch = times.last(blocks);
    const auto last = std::ranges::find(last_launch, first.sm, &BlockTimes::sm);
    if (last == last_launch.end()) continue;
    const auto ns = static_cast<double>(last->last_ns - first.first_ns);
    if (ns >= kShortestNs) clocks.push_back(static_cast<double>(last->last_clock - first.first_clock) / ns * 1e3);
  }
  if (!clocks.empty()) batch.clock_mhz = median(std::move(clocks));
  return batch;
}

int device_attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

GpuTimingDevice::GpuTimingDevice(int device) : device_(device), info_(find_gpu(device)), nvml_(pci_bus(device)) {
  check(cudaSetDevice(device), "cudaSetDevice");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  arch_ = 10 * properties.major + properties.minor;
  sms_ = static_cast<unsigned>(properties.multiProcessorCount);
  facts_ = {info_.arch,
            info_.device,
            info_.driver,
            info_.cuda,
            today_utc(),
            properties.multiProcessorCount,
            nvml_.power_limit_watts(),
            nvml_.max_sm_clock_mhz()};
}

unsigned GpuTimingDevice::most_warps(const std::string& kernel, unsigned chains) const {
  const Timing* const timing = find_timing(kernel);
  return timing == nullptr || !is_timed(arch_) ? 0 : timing->most_warps(chains);
}

void GpuTimingDevice::load(const TimedOperands& operands) {
  const auto upload = [&](const char* name, const std::vector<std::byte>& from) {
    if (!from.empty()) buffers_[name].upload(from);
  };
  upload("a", operands.a);
  upload("b", operands.b);
  upload("c", operands.c);
  upload("e", operands.e);
}

TimedBatch GpuTimingDevice::run(const TimedWork& work, unsigned launches) {
  const Timing* const timing = find_timing(work.kernel);
  if (timing == nullptr) throw std::logic_error(work.kernel + ": no timing kernel");
  blocks_ = work.blocks == 0 ? sms_ : work.blocks;
  result_bytes_ = work.result_bytes;
  TimedLaunch launch{.a = buffers_["a"].data(),
                     .b = buffers_["b"].data(),
                     .c = buffers_["c"].data(),
                     .e = buffers_["e"].data(),
                     .d = memory<std::byte>("d", blocks_ * work.result_bytes),
                     .times = nullptr,
                     .blocks = static_cast<unsigned>(blocks_),
                     .warps = work.warps,
                     .chains = work.chains,
                     .steps = work.steps,
                     .rounds = work.rounds,
                     .completion = work.loop == TimingLoop::completion,
                     .a_in_registers = work.a_in_registers};
  return launched(work.kernel, launch, launches, blocks_, work.blocks == 0 ? BlocksRun::one_an_sm : BlocksRun::anywhere,
                  [&] { return timing->launch(launch); });
}

std::vector<std::byte> GpuTimingDevice::result() {
  std::vector<std::byte> all = downloaded(memory<std::byte>("d", blocks_ * result_bytes_), blocks_ * result_bytes_);
  for (std::size_t at = result_bytes_; at < all.size(); at += result_bytes_) {
    if (std::memcmp(all.data(), all.data() + at, result_bytes_) != 0) {
      throw std::runtime_error(fmt::format("blocks 0 and {} have other results", at / result_bytes_));
    }
  }
  all.resize(result_bytes_);
  return all;
}

void GpuTimingDevice::require_kernels(const char* what) const {
  if (!is_timed(arch_)) cannot(what);
}

CublasLt& GpuTimingDevice::library() {
  if (!library_) library_ = load_cublaslt();
  return *library_;
}

std::unique_ptr<TimingDevice> make_timing_device(int device) {
  try {
    return std::make_unique<GpuTimingDevice>(device);
  } catch (const std::exception& error) {
    throw UnavailableError(fmt::format("no GPU: {}", error.what()));
  }
}

}  // namespace tcnum
