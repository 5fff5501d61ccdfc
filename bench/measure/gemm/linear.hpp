// Linear layers, alone and as a transformer has them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/measurement.hpp"
#include "linear_layer.hpp"

namespace tcnum::bench {

/// Square layers: N tokens, N features in and out.
Measurement linear_measurement();
/// The linear layers of a transformer's layer, by its hidden size.
Measurement transformer_measurement();

/// What a square layer's steps are called, as values have them, and in words.
struct StepName {
  LinearStep step;
  std::string_view key, text;
};
inline constexpr std::array<StepName, kLinearSteps> kStepNames = {{{LinearStep::cast_input, "cast_input", "input"},
                                                                   {LinearStep::cast_weight, "cast_weight", "weight"},
                                                                   {LinearStep::multiply, "product", "product"},
                                                                   {LinearStep::cast_output, "cast_output", "output"}}};

/// A linear layer of a transformer's.
struct TransformerPart {
  std::string_view key, text;
  LinearShape shape;
};
/// Those of the layer with that hidden size.
std::vector<TransformerPart> transformer_parts(std::size_t hidden);
/// The features between the two halves of the feed-forward network.
std::size_t inner_size(std::size_t hidden);

}  // namespace tcnum::bench
