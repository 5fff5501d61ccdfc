// Where nothing in the space explains every answer: what comes nearest, and a small problem that it gets wrong.
#pragma once

#include <vector>

#include "evidence.hpp"
#include "fit.hpp"
#include "space.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

/// Sets the choice, the datapath, its mismatches, what of it is unobservable and the counterexample of `result`, by coordinate descent from the
/// cores that came far. A live oracle (which may be null) makes the counterexample smaller.
void find_nearest(const Space& space, const Evidence& evidence, const std::vector<Choice>& cores, Oracle* live,
                  FitResult& result);

}  // namespace tcnum
