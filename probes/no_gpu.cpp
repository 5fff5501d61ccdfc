// The GPU oracle of a program built without CUDA.
#include "cublaslt.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"
#include "timing.hpp"

namespace tcnum {

namespace {
constexpr const char* kWhyNot = "tcnum was built without its GPU parts (`./run --gpu` builds them, with nvcc)";
}

GpuInfo gpu_info() {
  GpuInfo info;
  info.why_not = kWhyNot;
  return info;
}

int gpu_count() { return 0; }

std::string cuda_compiler() { return ""; }

std::unique_ptr<Oracle> make_gpu_oracle(const Instruction&, bool) { throw UnavailableError(kWhyNot); }

std::unique_ptr<CublasLt> load_cublaslt() { throw UnavailableError(kWhyNot); }

std::unique_ptr<TimingDevice> make_timing_device(int) { throw UnavailableError(kWhyNot); }

}  // namespace tcnum
