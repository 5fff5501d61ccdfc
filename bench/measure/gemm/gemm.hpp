// Matrix products, by a kernel of ours and by NVIDIA's library.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/device/gemm_timing.hpp"
#include "bench/measure/measurement.hpp"

namespace tcnum::bench {

/// How calls are timed: several back to back, or each alone on a device that has rested.
enum class Calls : std::uint8_t { in_bursts, single };

/// Times of products over sets of shapes; the results of each are compared with the emulator's.
Measurement gemm_measurement(Calls calls);
constexpr std::string_view gemm_measurement_name(Calls calls) {
  return calls == Calls::single ? "single gemm" : "gemm";
}

/// "128x256" or, of clusters, "128x256/2x1"; and back.
std::string tile_name(const GemmTile& tile);
const GemmTile* find_tile(std::string_view name);
inline constexpr std::string_view kLibraryName = "cublaslt";

/// "gemm.fp16.fp16"
std::string gemm_subject(const GemmFormats& formats);
/// Of a subject of either measurement; null if it is none.
const GemmFormats* find_gemm_formats(std::string_view subject);

/// A product, and how long it took.
struct TimedProduct {
  GemmShape shape;
  double microseconds = 0, clock_mhz = 0;  ///< a clock of 0: not known

  double tera_per_second() const { return shape.operations() * 1e-6 / microseconds; }
};
/// Those of a record of either measurement, by their places in the set of shapes; none where it says what cannot be.
std::vector<std::optional<TimedProduct>> timed_products(const Record& record);

/// The codes that matrices are made of: element i of the device's memory is codes[i mod kGemmCodes], a prime, so that
/// no two rows are alike.
inline constexpr std::size_t kGemmCodes = 4194301;
std::vector<std::byte> gemm_codes(FormatId format, std::uint64_t seed);

/// Compares some rows and columns of what came out with what the emulator says: WrongResult.
void check_product(TimingDevice& device, const GemmWork& work, const GemmTimes& times, std::span<const std::byte> codes,
                   std::uint64_t seed, unsigned threads);

/// "fit": random ones, that the model of products takes its parameters from; "deepseek": the layers of DeepSeek-V3 with
/// 4096 tokens, forward and backward; "random": others, to which no parameter was fitted; "unseen": others again, drawn
/// when the model's law had been written; "small": a few that no tile divides, whose starting takes most of the time;
/// "own": those of a user, which are not here.
inline constexpr std::string_view kFitShapes = "fit", kDeepSeekShapes = "deepseek", kRandomShapes = "random",
                                  kUnseenShapes = "unseen", kSmallShapes = "small", kOwnShapes = "own";
/// Throws std::logic_error if there is no such set.
std::vector<GemmShape> gemm_shapes(std::string_view set);

}  // namespace tcnum::bench
