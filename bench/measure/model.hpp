// A model of how many cycles an instruction takes an SM when nothing else holds it up.
#pragma once

#include <optional>

#include "tcnum/instruction.hpp"

namespace tcnum::bench {

/// What the slowest of an instruction's feeds takes.
struct Model {
  double tensor_cycles;    ///< of the tensor cores, at their full width
  double shared_cycles;    ///< of operands from shared memory
  double register_cycles;  ///< of A from registers
  double cycles() const;
  /// "tensor cores", "shared memory" or "registers".
  const char* limit() const;
};

/// None where the architecture's rates are not known. mma and wmma are modelled by the tensor cores alone.
std::optional<Model> model_of(const Instruction& instruction, ArchId arch, bool a_in_registers);

}  // namespace tcnum::bench
