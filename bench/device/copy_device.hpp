// The device of copies that is a GPU.
#pragma once

#include <memory>

#include "copy_timing.hpp"

namespace tcnum {

/// The GPU of that number, which is the current one, and what is known of its memories.
std::unique_ptr<CopyDevice> make_gpu_copy_device(int device, const MemoryFacts& facts);

}  // namespace tcnum
