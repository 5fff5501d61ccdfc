// One linear layer, timed and checked.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "bench/measure/measurement.hpp"

namespace tcnum::bench {

/// What a layer multiplies, and what it has in memory: fp8 is cast from bf16.
struct LinearFormat {
  FormatId product, loaded;
  bool cast() const { return product != loaded; }
};
inline constexpr std::array<LinearFormat, 3> kLinearFormats = {
    {{FormatId::fp16, FormatId::fp16}, {FormatId::bf16, FormatId::bf16}, {FormatId::fp8e4m3, FormatId::bf16}}};

struct LinearTiming {
  double microseconds = 0, spread_percent = 0;           ///< of a layer, its steps right behind each other
  std::array<double, kLinearSteps> step_microseconds{};  ///< with an event between them; 0: it has no such step
  CastNumbers amax, scales;
  std::size_t checked = 0;  ///< elements of the output
  std::size_t equal = 0;    ///< of these, those that the emulator gives bit for bit with cuBLAS's plan
  std::string algorithm;
};

/// Times a layer whose format's codes the device has. The scales are those of the magnitudes in a launch before, with
/// scales of one. Every cast is compared with the CPU's: WrongResult. So is the product, with the exact one, within
/// what its sums may lose.
LinearTiming time_linear(TimingDevice& device, const LinearFormat& format, const LinearShape& shape, bool cast_output,
                         const Settings& settings);

/// Casts every bf16 code with some scales, and compares with the CPU: WrongResult. The device must have every_bf16()'s
/// codes.
void check_every_cast(TimingDevice& device, const Settings& settings);
std::vector<std::byte> every_bf16();

}  // namespace tcnum::bench
