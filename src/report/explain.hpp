// One dot product, bit by bit.
#pragma once

#include <string>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// What each node of the datapath does with the problem: its terms, how far each is shifted, which of its bits are kept
/// and which cut, the sum, and how it is rounded. Each line is indented by two; ends with the result. Throws InputError
/// if the datapath has block scales.
std::string explain_text(const Datapath& datapath, const Problem& problem);

}  // namespace tcnum
