// The timing device of a program built without CUDA.
#include "device.hpp"

namespace tcnum {

std::unique_ptr<TimingDevice> make_timing_device(int) {
  throw UnavailableError("tcnum was built without its CUDA parts (`./run --gpu` builds them, with nvcc)");
}

}  // namespace tcnum
