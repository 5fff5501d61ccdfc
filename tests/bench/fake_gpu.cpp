// A GPU that is not there, for the program as a user runs it: what stands in place of probes/no_cuda.cpp and no_gpu.cpp
// in a program of its own. It times clusters alone, and says what the environment wants it to: FAKE_GPU_DRIVER,
// FAKE_GPU_DATE, FAKE_GPU_NAME; FAKE_GPU_SIGNAL, which the program gets when rings of four blocks are timed;
// FAKE_GPU_WRONG, for its results to be wrong.
#include <csignal>
#include <cstdlib>
#include <string>

#include "fake_clusters.hpp"
#include "probes/cublaslt.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {
namespace {

std::string wanted(const char* variable, const char* otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : value;
}

class FakeGpu final : public FakeClusters {
 public:
  FakeGpu() : FakeClusters(8) {
    facts_.device = wanted("FAKE_GPU_NAME", "Fake H200");
    facts_.driver = wanted("FAKE_GPU_DRIVER", "1.0");
    facts_.date = wanted("FAKE_GPU_DATE", "2026-01-01");
    spoil = !wanted("FAKE_GPU_WRONG", "").empty();
  }
  CheckedTimes ring(const RingWork& work, unsigned launches) override {
    const int signal = std::stoi(wanted("FAKE_GPU_SIGNAL", "0"));
    if (signal != 0 && work.cluster == 4) std::raise(signal);
    return FakeClusters::ring(work, launches);
  }
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
