// Operands that let plans show.
#pragma once

#include "tcnum/gemm_fit.hpp"

namespace tcnum {

struct GemmOperands {
  Matrix a, b;
};
/// Always the same for the same seed.
GemmOperands make_operands(const GemmSubject& subject, OperandFamily family, std::uint64_t seed);

}  // namespace tcnum
