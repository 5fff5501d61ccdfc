// Timing linear layers: a product by NVIDIA's library, of fp8 with casts around it as Transformer Engine has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tcnum/format.hpp"

namespace tcnum {

/// Y = X · Wᵀ: X has `tokens` rows, W `outputs` rows, both of `inputs` features. All are multiples of kGemmGranule.
struct LinearShape {
  std::size_t tokens = 0, inputs = 0, outputs = 0;
  friend bool operator==(const LinearShape&, const LinearShape&) = default;
};

/// What a layer has in memory, all of it row-major.
enum class LinearTensor : std::uint8_t {
  input,
  weight,
  cast_input,
  cast_weight,
  output,  ///< in the format of input and weight
  cast_output,
};

/// In this order. Layers that multiply what is loaded have the product alone.
enum class LinearStep : std::uint8_t { cast_input, cast_weight, multiply, cast_output };
inline constexpr std::size_t kLinearSteps = 4;

/// A number for each tensor that is cast.
struct CastNumbers {
  float input = 1, weight = 1, output = 1;
};

struct LinearWork {
  LinearShape shape;
  /// The product is of fp8e4m3, and input and weight, of bf16, are cast: x to the code nearest to x · scale, at most
  /// the largest finite one. The product's sums are divided by both scales.
  bool cast = false;
  bool cast_output = false;  ///< of such a layer, too
  CastNumbers scales;
  /// Tensors change from launch to launch, so that none is in a cache when it is read first.
  unsigned launches = 1;
  bool each_step = false;  ///< the steps are timed, too, which makes the whole a little longer
};

struct LinearTimes {
  double seconds = 0;  ///< of a layer: of all launches behind each other, divided by how many
  std::array<double, kLinearSteps> step_seconds{};  ///< of each step, the mean; 0 where it was not done or not timed
  CastNumbers amax{0, 0, 0};                        ///< of the last launch: the largest magnitude of what was cast
  std::string algorithm;                            ///< the library's, by its attributes
};

}  // namespace tcnum
