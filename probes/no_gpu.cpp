// The GPU oracle of a program built without CUDA.
#include "tcnum/campaign.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/timing.hpp"

namespace tcnum {

namespace {
constexpr const char* kWhyNot = "tcnum was built without CUDA (no nvcc was found when it was built)";
}

GpuInfo gpu_info() {
  GpuInfo info;
  info.why_not = kWhyNot;
  return info;
}

std::string cuda_compiler() { return ""; }

std::unique_ptr<Oracle> make_gpu_oracle(const Instruction&, bool) { throw UnavailableError(kWhyNot); }

std::unique_ptr<StreamVerifier> make_gpu_stream_verifier(const Instruction&, const Datapath&, int) {
  throw UnavailableError(kWhyNot);
}

std::unique_ptr<TimingDevice> make_timing_device(int) { throw UnavailableError(kWhyNot); }

bool stream_runs_on_gpu(const Datapath&) { return false; }

int gpu_count() { return 0; }

}  // namespace tcnum
