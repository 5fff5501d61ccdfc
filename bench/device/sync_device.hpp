// The device of atomics, barriers and clusters that is a GPU.
#pragma once

#include <memory>

#include "sync_timing.hpp"

namespace tcnum {

/// On the current GPU, with so many SMs.
std::unique_ptr<SyncDevice> make_gpu_sync_device(int sms);

}  // namespace tcnum
