// What mfma.hip offers: for each instruction of its table, a function that puts packed tiles through it.
#pragma once

#include <hip/hip_runtime_api.h>

#include <span>
#include <string_view>

#include "device_tiles.hpp"

namespace tcnum {

struct MfmaKernel {
  std::string_view instruction;  ///< Instruction::name()
  /// Starts the kernel on the default stream; what hipGetLastError() says of the launch.
  hipError_t (*launch)(const DeviceTiles& tiles);
  /// The ways in which operands reach the instruction; none may change a bit.
  std::span<const std::string_view> variants;
};

std::span<const MfmaKernel> mfma_kernels();

}  // namespace tcnum
