// What the .cu files offer: for each instruction, a function that puts packed tiles through it.
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device_tiles.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

struct Kernel {
  std::string_view instruction;  ///< Instruction::name()
  /// Starts the kernel in the tiles' stream; what cudaGetLastError() says of the launch. Those that are one
  /// instruction's alone do not look at it.
  cudaError_t (*launch)(const Instruction& instruction, const DeviceTiles& tiles);
  /// The ways in which operands reach the instruction, if there are several. None may change a bit.
  std::span<const std::string_view> variants = {};
};

/// That of an instruction, by its name; null if this build has none.
const Kernel* find_kernel(const std::string& instruction);

/// That of a tcgen05.mma of any M and N; null if there is none.
const Kernel* tcgen05_kernel(std::string_view name);
/// Those of all others that are built.
std::vector<std::span<const Kernel>> kernel_tables();

}  // namespace tcnum
