// The loops of long panels that try doubles first, compiled for several CPUs of which the program picks when it starts.
#pragma once

#include <cstddef>

#include "long_kernels.hpp"

namespace tcnum::panels {

/// Functions of one CPU.
struct BracketKernels {
  const char* name;
  /// Doubles that operands' magnitudes lie between, of a whole number of kColumns, the lower with a minus if that is
  /// asked for; whether all are usual. The machine must round up.
  bool (*bounds)(const LongNumbers& operands, std::size_t count, bool is_minus, const Bounds& to);
  /// As LongKernels has it. The machine must round up.
  bool (*run)(const LongWork&);
};

/// Of operands, magnitudes that brackets are for, between 2^−this and 2^this, and of c and sums; others are left.
inline constexpr int kMostBracketOperand = 200, kMostBracketNumber = 480;

/// Those of this machine, or of the CPU that hwy::SetSupportedTargetsForTest() chose; null if it has no FMA, with which
/// all panels do without.
const BracketKernels* bracket_kernels();

}  // namespace tcnum::panels
