// What tensor cores and other units can do at most: by architecture in a clock, by device as the vendor says.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tcnum/instruction.hpp"

namespace tcnum::bench {

/// Operations (two for each product) of an instruction.
constexpr double operations(const Instruction& in) { return 2.0 * in.m * in.n * in.k; }

/// Operations of tensor cores of one SM in a clock, for operands of that format; sparse instructions count what they
/// leave out. None: no source says.
std::optional<double> peak_operations_per_clock(ArchId arch, FormatId operand, bool sparse);

/// What the vendor gives for the whole device, in 10^12 operations a second.
std::optional<double> datasheet_peak(std::string_view device, FormatId operand, bool sparse);

/// Results of plain arithmetic of one SM in a clock, by the PTX of the operation. None: no source says.
std::optional<double> arithmetic_per_clock(ArchId arch, std::string_view operation);

/// A model of how many cycles an instruction takes an SM when nothing else holds it up: what the slowest of its feeds
/// takes.
struct Model {
  double tensor_cycles;    ///< of the tensor cores, at their full width
  double shared_cycles;    ///< of operands from shared memory
  double register_cycles;  ///< of A from registers
  double cycles() const;
};

/// None where the architecture's rates are not known. mma and wmma are modelled by the tensor cores alone.
std::optional<Model> model_of(const Instruction& instruction, ArchId arch, bool a_in_registers);

}  // namespace tcnum::bench
