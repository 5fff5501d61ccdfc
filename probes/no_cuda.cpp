// What only CUDA has, of a program built without it.
#include "cublaslt.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

namespace {
constexpr const char* kWhyNot = "tcnum was built without its CUDA parts (`./run --gpu` builds them, with nvcc)";
}

std::string cuda_compiler() { return ""; }

std::unique_ptr<CublasLt> load_cublaslt() { throw UnavailableError(kWhyNot); }

}  // namespace tcnum
