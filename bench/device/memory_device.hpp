// The memories of a GPU, timed.
#pragma once

#include <memory>

#include "memory_timing.hpp"

namespace tcnum {

/// Of the GPU with that number, which is the current one. Throws std::runtime_error on a CUDA error.
std::unique_ptr<MemoryDevice> make_memory_device(int device);

}  // namespace tcnum
