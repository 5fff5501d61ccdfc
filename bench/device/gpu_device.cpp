#include "gpu_device.hpp"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "timed_archs.hpp"

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

}  // namespace

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
