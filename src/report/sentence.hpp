// How the products and c become the result, in one sentence.
#pragma once

#include <span>
#include <string>

#include "src/fit/fit.hpp"
#include "src/fit/space.hpp"

namespace tcnum {

/// `unobservable`: properties of which every value gives the same results, of which it says none.
std::string structure_sentence(const Space& space, const Choice& choice, std::span<const Property> unobservable = {});

/// Whether no property that such a sentence speaks of is open, so that it is true of all datapaths that are left.
bool sentence_is_settled(const Space& space, const FitResult& result);

}  // namespace tcnum
