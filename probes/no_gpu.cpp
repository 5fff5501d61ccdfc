// The GPU oracle of a program built without CUDA.
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

namespace {
constexpr const char* kWhyNot = "tcnum was built without CUDA (no nvcc was found when it was built)";
}

GpuInfo gpu_info() {
  GpuInfo info;
  info.why_not = kWhyNot;
  return info;
}

std::unique_ptr<Oracle> make_gpu_oracle(const Instruction&, bool) { throw UnavailableError(kWhyNot); }

}  // namespace tcnum
