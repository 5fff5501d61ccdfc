// Linear layers on a GPU.
#pragma once

#include <memory>

#include "linear_timing.hpp"

namespace tcnum {

/// Of the current device, which has so many SMs; `arch` as in sm_XY.
std::unique_ptr<LinearDevice> make_gpu_linear_device(int arch, int sms);

}  // namespace tcnum
