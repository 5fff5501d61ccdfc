// How the products and c become the result, in one sentence.
#pragma once

#include <string>

#include "src/fit/space.hpp"

namespace tcnum {

std::string structure_sentence(const Space& space, const Choice& choice);

}  // namespace tcnum
