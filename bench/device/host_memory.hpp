// Copies between the host's memory and a GPU's, and memory that both see.
#pragma once

#include "memory_timing.hpp"

namespace tcnum {

/// As MemoryDevice's, on that device, which is the current one. Both throw std::runtime_error on a CUDA error.
HostCopyTimes copy_host(const HostCopy& work, int device);
ManagedTimes managed_triad(std::size_t elements, unsigned times);

}  // namespace tcnum
