// Plans that divide k for some blocks of D alone, found from products that no plan for all of D explains.
#pragma once

#include <vector>

#include "answered.hpp"
#include "plan_space.hpp"
#include "src/fit/watch.hpp"
#include "tcnum/gemm_fit.hpp"

namespace tcnum {

/// Of the plans for all of D, one that divides k and one that does not, and the blocks that the first is for: all such
/// that explain every element of the products. Of those that are the same for D, it is one, with as few blocks as can
/// be: what is beyond D's edges shows nowhere.
std::vector<Candidate> fit_tails(const GemmSubject& subject, const std::vector<Candidate>& candidates,
                                 const std::vector<Answered>& products, unsigned threads, FitWatch& watch);

}  // namespace tcnum
