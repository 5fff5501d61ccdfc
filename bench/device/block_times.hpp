// What the blocks of timed launches said, together.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "timing.hpp"
#include "timing_kernels.hpp"

namespace tcnum {

double median(std::vector<double> values);

enum class BlocksRun : std::uint8_t { one_an_sm, anywhere };

/// Of so many launches of as many blocks each, one launch behind the other. Throws std::runtime_error naming the kernel
/// if two blocks of a launch ran on one SM where each was to have its own, or if a thread's results of a round were
/// others than before.
TimedBatch summarise(std::span<const BlockTimes> times, unsigned launches, std::string_view kernel,
                     BlocksRun where = BlocksRun::one_an_sm);

}  // namespace tcnum
