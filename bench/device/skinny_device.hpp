// Products of tall and skinny matrices on a GPU.
#pragma once

#include <memory>

#include "skinny_timing.hpp"

namespace tcnum {

/// Of the current device, which has so many SMs; `arch` as in sm_XY.
std::unique_ptr<SkinnyDevice> make_gpu_skinny_device(int arch, int sms);

}  // namespace tcnum
