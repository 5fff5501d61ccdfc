// The launch device that is a GPU.
#pragma once

#include <memory>

#include "launch_timing.hpp"

namespace tcnum {

/// On the current GPU.
std::unique_ptr<LaunchDevice> make_gpu_launch_device();

}  // namespace tcnum
