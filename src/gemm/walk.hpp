// How a kernel goes through k.
#pragma once

#include <compare>
#include <cstddef>
#include <vector>

#include "tcnum/gemm.hpp"

namespace tcnum {

/// Products first … first + count − 1, taken by instructions one after the other; the last is filled up with zeros.
struct Stretch {
  std::size_t first = 0, count = 0;
  friend auto operator<=>(const Stretch&, const Stretch&) = default;
};
/// What one accumulator takes from +0 on.
using Accumulation = std::vector<Stretch>;
/// The accumulations of one slice of a part, in the order in which they come to its total.
using SliceWalk = std::vector<Accumulation>;
using PartWalk = std::vector<SliceWalk>;

/// The parts of k in the order in which they are added, for an instruction of so many products. Instructions that would
/// take zeros alone, at the end of a ragged tile, are left out.
std::vector<PartWalk> walk_of(const GemmPlan& plan, std::size_t depth, std::size_t k);

}  // namespace tcnum
