// Shapes of the matrix products that are timed, in sets.
#pragma once

#include <string_view>
#include <vector>

#include "bench/device/gemm_timing.hpp"

namespace tcnum::bench {

/// "fit": random ones, that the model of products takes its parameters from; "deepseek": the layers of DeepSeek-V3 with
/// 4096 tokens, forward and backward; "random": others, to which no parameter was fitted; "unseen": others again, drawn
/// when the model's law had been written; "small": a few that no tile divides, whose starting takes most of the time;
/// "own": those of a user, which are not here.
inline constexpr std::string_view kFitShapes = "fit", kDeepSeekShapes = "deepseek", kRandomShapes = "random",
                                  kUnseenShapes = "unseen", kSmallShapes = "small", kOwnShapes = "own";
/// Throws std::logic_error if there is no such set.
std::vector<GemmShape> gemm_shapes(std::string_view set);

}  // namespace tcnum::bench
