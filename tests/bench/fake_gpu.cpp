// A GPU that is not there, for the program as a user runs it: what stands in place of probes/no_cuda.cpp and no_gpu.cpp
// in a program of its own. It times barriers alone, and says what the environment wants it to: FAKE_GPU_DRIVER,
// FAKE_GPU_DATE, FAKE_GPU_NAME; FAKE_GPU_SIGNAL, which the program gets when the cluster's barrier is timed with four
// blocks; FAKE_GPU_WRONG, for its results to be wrong.
#include <csignal>
#include <cstdlib>
#include <string>

#include "bench/device/device.hpp"
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

class FakeGpu final : public TimingDevice {
 public:
  const TimingFacts& facts() const override { return facts_; }
  unsigned most_cluster_blocks() override { return 8; }
  BarrierTimes barriers(const BarrierWork& work, unsigned launches) override {
    const int signal = std::stoi(wanted("FAKE_GPU_SIGNAL", "0"));
    if (signal != 0 && work.barrier == Barrier::cluster && work.cluster == 4) std::raise(signal);
    const std::uint64_t right = wanted("FAKE_GPU_WRONG", "").empty() ? 100 : 99;
    return {std::vector<double>(launches, 20.0 * work.steps * work.cluster), kSms, 100, right};
  }

 private:
  TimingFacts facts_{"sm_90",
                     wanted("FAKE_GPU_NAME", "Fake H200"),
                     wanted("FAKE_GPU_DRIVER", "1.0"),
                     "13.0",
                     wanted("FAKE_GPU_DATE", "2026-01-01"),
                     kSms,
                     {},
                     {}};
};

}  // namespace

GpuInfo gpu_info() {
  GpuInfo info;
  info.present = true;
  info.arch = "sm_90";
  info.device = "Fake H200";
  return info;
}
int gpu_count() { return 1; }
std::unique_ptr<TimingDevice> make_timing_device(int) { return std::make_unique<FakeGpu>(); }

std::unique_ptr<Oracle> make_gpu_oracle(const Instruction&, bool) {
  throw UnavailableError("the fake GPU answers nothing");
}
std::string cuda_compiler() { return ""; }
std::unique_ptr<CublasLt> load_cublaslt() { throw UnavailableError("the fake GPU has no libraries"); }

}  // namespace tcnum
