// GPUs that are not there, for the program as a user runs it: what stands in place of probes/no_cuda.cpp and no_gpu.cpp
// in a program of its own. They time barriers and rooflines alone, and each says what the environment wants it to:
// FAKE_GPUS (how many there are), FAKE_GPUS_DRIVER, FAKE_GPUS_DATE, FAKE_GPUS_NAME; FAKE_GPUS_SIGNAL, which the program
// gets when the cluster's barrier is timed with four blocks; FAKE_GPUS_WRONG, a GPU whose rooflines are wrong;
// FAKE_GPUS_METERED, for them to say what they draw.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include "bench/device/device.hpp"
#include "bench/measure/memory/roofline_words.hpp"
#include "probes/cublaslt.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {
namespace {

constexpr int kSms = 4;

std::string wanted(const char* variable, const char* otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : value;
}
int wanted_number(const char* variable, int otherwise) {
  return std::stoi(wanted(variable, std::to_string(otherwise).c_str()));
}

/// GPU d takes 1 + d / 4 times as long as GPU 0.
class FakeGpu final : public TimingDevice {
 public:
  explicit FakeGpu(int device) : device_(device) {
    facts_ = {"sm_90",
              wanted("FAKE_GPUS_NAME", "Fake H200"),
              wanted("FAKE_GPUS_DRIVER", "1.0"),
              "13.0",
              wanted("FAKE_GPUS_DATE", "2026-01-01"),
              kSms,
              {},
              {}};
    memory_.global_bytes = std::size_t{64} << 20;
    memory_.l2_bytes = std::size_t{64} << 10;
    memory_.dram_bytes_per_second = 1e12;
  }
  const TimingFacts& facts() const override { return facts_; }
  /// A step whenever it is read.
  std::optional<double> energy_joules() const override {
    if (wanted("FAKE_GPUS_METERED", "").empty()) return std::nullopt;
    return static_cast<double>(++readings_);
  }

  unsigned most_cluster_blocks() override { return 8; }
  BarrierTimes barriers(const BarrierWork& work, unsigned launches) override {
    const int signal = wanted_number("FAKE_GPUS_SIGNAL", 0);
    if (signal != 0 && work.barrier == Barrier::cluster && work.cluster == 4) std::raise(signal);
    return {std::vector<double>(launches, 20.0 * work.steps * work.cluster), kSms, 100, 100};
  }

  const MemoryFacts& memory_facts() override { return memory_; }
  void fill(std::size_t bytes, std::uint32_t seed) override {
    bytes_ = bytes;
    seed_ = seed;
    sums_.clear();
  }
  RooflineTimes roofline(const RooflineWork& work, unsigned launches) override {
    const double flops = roofline_intensity(work) * static_cast<double>(work.bytes);
    const double seconds =
        std::max(static_cast<double>(work.bytes) / 500e9, flops / 8e12) * (1 + static_cast<double>(device_) / 4);
    const auto [sum, is_new] = sums_.try_emplace({work.unit, work.reads, work.turns}, 0);
    if (is_new) sum->second = bench::RooflineWords(bytes_, seed_, 1).checksum(work, 1);
    const bool wrong = wanted_number("FAKE_GPUS_WRONG", -1) == device_;
    return {{{1}, 1500, std::vector<double>(launches, seconds)}, sum->second + (wrong ? 1 : 0)};
  }
  /// What warms a GPU up: nobody looks at it.
  GatherTimes gather(const GatherWork&) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {};
  }

 private:
  int device_;
  TimingFacts facts_;
  MemoryFacts memory_;
  mutable std::atomic<int> readings_ = 0;
  std::size_t bytes_ = 0;
  std::uint32_t seed_ = 0;
  std::map<std::tuple<RooflineUnit, unsigned, unsigned>, std::uint64_t> sums_;
};

}  // namespace

GpuInfo gpu_info() {
  GpuInfo info;
  info.present = true;
  info.arch = "sm_90";
  info.device = "Fake H200";
  return info;
}
int gpu_count() { return wanted_number("FAKE_GPUS", 1); }
std::unique_ptr<TimingDevice> make_timing_device(int device) { return std::make_unique<FakeGpu>(device); }

std::unique_ptr<Oracle> make_gpu_oracle(const Instruction&, bool) {
  throw UnavailableError("fake GPUs answer nothing");
}
std::string cuda_compiler() { return ""; }
std::unique_ptr<CublasLt> load_cublaslt() { throw UnavailableError("fake GPUs have no libraries"); }

}  // namespace tcnum
