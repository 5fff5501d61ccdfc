// The timing device that is a GPU, host side: memory, launches, and what blocks say of them.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "block_times.hpp"
#include "copy_device.hpp"
#include "cuda/device_memory.hpp"
#include "gemm_device.hpp"
#include "launch_device.hpp"
#include "linear_device.hpp"
#include "memory_device.hpp"
#include "probes/gpu.hpp"
#include "probes/nvml.hpp"
#include "skinny_device.hpp"
#include "sync_device.hpp"
#include "tcnum/error.hpp"
#include "timed_archs.hpp"
#include "timing.hpp"
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

class GpuTimingDevice final : public TimingDevice {
 public:
  explicit GpuTimingDevice(int device) : index_(device), info_(find_gpu(device)), nvml_(pci_bus(device)) {
    check(cudaSetDevice(device), "cudaSetDevice");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
    arch_ = 10 * properties.major + properties.minor;
    facts_ = {info_.arch,
              info_.device,
              info_.driver,
              info_.cuda,
              today_utc(),
              properties.multiProcessorCount,
              nvml_.power_limit_watts(),
              nvml_.max_sm_clock_mhz()};
  }

  const TimingFacts& facts() const override { return facts_; }

  unsigned most_warps(const std::string& kernel, unsigned chains) const override {
    const Timing* const timing = find_timing(kernel);
    return timing == nullptr || !is_timed(arch_) ? 0 : timing->most_warps(chains);
  }

  void load(const TimedOperands& operands) override {
    const auto upload = [](DeviceBuffer& to, const std::vector<std::byte>& from) {
      if (!from.empty()) to.upload(from);
    };
    upload(a_, operands.a);
    upload(b_, operands.b);
    upload(c_, operands.c);
    upload(e_, operands.e);
    upload(shared_, operands.shared);
  }

  TimedBatch run(const TimedWork& work, unsigned launches) override {
    const Timing* const timing = find_timing(work.kernel);
    if (timing == nullptr) throw std::logic_error(work.kernel + ": no timing kernel");
    const auto blocks = static_cast<std::size_t>(work.blocks == 0 ? static_cast<unsigned>(facts_.sms) : work.blocks);
    blocks_ = blocks;
    result_bytes_ = work.result_bytes;
    d_.reserve(blocks * work.result_bytes);
    const std::size_t times_bytes = launches * blocks * sizeof(BlockTimes);
    times_.reserve(times_bytes);
    check(cudaMemset(times_.data(), 0, times_bytes), "cudaMemset");
    for (unsigned i = 0; i < launches; ++i) {
      const TimedLaunch launch{.a = a_.data(),
                               .b = b_.data(),
                               .c = c_.data(),
                               .e = e_.data(),
                               .shared = shared_.data(),
                               .d = d_.data(),
                               .times = static_cast<BlockTimes*>(times_.data()) + i * blocks,
                               .blocks = static_cast<unsigned>(blocks),
                               .warps = work.warps,
                               .chains = work.chains,
                               .steps = work.steps,
                               .rounds = work.rounds,
                               .completion = work.loop == TimingLoop::completion,
                               .a_in_registers = work.a_in_registers};
      check(timing->launch(launch), fmt::format("launch of the timing kernel of {}", work.kernel));
    }
    std::vector<BlockTimes> times(launches * blocks);
    check(cudaDeviceSynchronize(), fmt::format("timing of {} (cudaDeviceSynchronize)", work.kernel));
    check(cudaMemcpy(times.data(), times_.data(), times_bytes, cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
    return summarise(times, launches, work.kernel, work.blocks == 0 ? BlocksRun::one_an_sm : BlocksRun::anywhere);
  }

  std::vector<std::byte> result() override {
    std::vector<std::byte> all(blocks_ * result_bytes_);
    d_.download(all);
    for (std::size_t at = result_bytes_; at < all.size(); at += result_bytes_) {
      if (std::memcmp(all.data(), all.data() + at, result_bytes_) != 0) {
        throw std::runtime_error(fmt::format("blocks 0 and {} have other results", at / result_bytes_));
      }
    }
    all.resize(result_bytes_);
    return all;
  }

  std::optional<double> energy_joules() const override { return nvml_.energy_joules(); }
  std::optional<double> temperature_celsius() const override { return nvml_.temperature_celsius(); }

  LaunchDevice* launches() override {
    if (launches_ == nullptr) launches_ = make_gpu_launch_device();
    return launches_.get();
  }
  SyncDevice* sync() override {
    if (!is_timed(arch_)) return nullptr;
    if (sync_ == nullptr) sync_ = make_gpu_sync_device(facts_.sms);
    return sync_.get();
  }
  GemmDevice* products() override {
    if (products_ == nullptr) products_ = make_gpu_gemm_device(arch_, facts_.sms);
    return products_.get();
  }
  LinearDevice* linear_layers() override {
    if (linear_layers_ == nullptr) linear_layers_ = make_gpu_linear_device(arch_, facts_.sms);
    return linear_layers_.get();
  }
  SkinnyDevice* skinny_products() override {
    if (skinny_products_ == nullptr) skinny_products_ = make_gpu_skinny_device(arch_, facts_.sms);
    return skinny_products_.get();
  }
  MemoryDevice* memory() override {
    if (memory_ == nullptr) memory_ = make_memory_device(index_);
    return memory_.get();
  }
  CopyDevice* copies() override {
    if (!is_timed(arch_)) return nullptr;
    if (copies_ == nullptr) copies_ = make_gpu_copy_device(index_, memory()->memory_facts());
    return copies_.get();
  }

 private:
  int index_;
  GpuInfo info_;
  Nvml nvml_;
  TimingFacts facts_;
  int arch_ = 0;
  DeviceBuffer a_, b_, c_, e_, shared_, d_, times_;
  std::unique_ptr<LaunchDevice> launches_;
  std::unique_ptr<SyncDevice> sync_;
  std::unique_ptr<GemmDevice> products_;
  std::unique_ptr<LinearDevice> linear_layers_;
  std::unique_ptr<SkinnyDevice> skinny_products_;
  std::size_t blocks_ = 0, result_bytes_ = 0;
  std::unique_ptr<MemoryDevice> memory_;
  std::unique_ptr<CopyDevice> copies_;
};

}  // namespace

std::unique_ptr<TimingDevice> make_timing_device(int device) {
  try {
    return std::make_unique<GpuTimingDevice>(device);
  } catch (const std::exception& error) {
    throw UnavailableError(fmt::format("no GPU: {}", error.what()));
  }
}

}  // namespace tcnum
