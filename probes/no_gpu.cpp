// The GPU oracle of a program built without CUDA and without HIP.
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

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

std::unique_ptr<Oracle> make_gpu_oracle(const Instruction&, bool) { throw UnavailableError(kWhyNot); }

}  // namespace tcnum
