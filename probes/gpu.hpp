// The GPUs of this machine and what they are asked with.
#pragma once

#include <string>
#include <utility>

#include "kernels.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

/// Throws std::runtime_error if there is no such device.
GpuInfo find_gpu(int device);
/// The kernel of an instruction, and the GPU that has it; throws UnavailableError as make_gpu_oracle() does.
std::pair<GpuInfo, const Kernel*> require_kernel(const Instruction& instruction, int device);

}  // namespace tcnum
