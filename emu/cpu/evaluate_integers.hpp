// Sums of integers, in machine integers.
#pragma once

#include "decoded_tiles.hpp"
#include "plan.hpp"

namespace tcnum {

/// The code of one result; sets `overflowed` if a step changed a sum, else leaves it.
std::uint64_t evaluate_integers(const CpuPlan& plan, const DecodedProblem& problem, bool& overflowed);

}  // namespace tcnum
