// Matrix products on a GPU.
#pragma once

#include <memory>

#include "gemm_timing.hpp"

namespace tcnum {

/// Of the current device, which has so many SMs; `arch` as in sm_XY.
std::unique_ptr<GemmDevice> make_gpu_gemm_device(int arch, int sms);

}  // namespace tcnum
