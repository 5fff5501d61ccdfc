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
struct DatasheetPeak {
  double tera_operations;
  std::string_view source;
};
std::optional<DatasheetPeak> datasheet_peak(std::string_view device, FormatId operand, bool sparse);

/// What feeds the tensor cores of one SM.
struct Feeds {
  double shared_bytes_per_clock;
  /// Of a wgmma that takes A from registers.
  double least_register_cycles, least_sparse_register_cycles;
};
std::optional<Feeds> feeds(ArchId arch);

/// Results of plain arithmetic of one SM in a clock, by the PTX of the operation. None: no source says.
std::optional<double> arithmetic_per_clock(ArchId arch, std::string_view operation);

}  // namespace tcnum::bench
