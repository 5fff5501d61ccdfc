// One dot product, bit by bit.
#pragma once

#include <string>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// What each node of the datapath does with the problem: its terms, how far each is shifted, which of its bits are kept
/// and which cut, the sum, how it is rounded, and how far that is from the true value; nodes that zeros alone come into
/// in one line. Each line is indented by two; ends with the result and its error. A problem with more products than the
/// datapath takes is that of a chain.
std::string explain_text(const Datapath& datapath, const Problem& problem);

/// "error +0.5 ulps".
std::string error_text(double ulps);

}  // namespace tcnum
