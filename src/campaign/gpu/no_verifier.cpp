// What takes the place of streams on a GPU in a program built without CUDA.
#include "src/campaign/verifier.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

std::unique_ptr<StreamVerifier> make_gpu_stream_verifier(const Instruction&, const Datapath&, int) {
  throw UnavailableError(gpu_info().why_not);
}

bool stream_runs_on_gpu(const Datapath&) { return false; }

}  // namespace tcnum
