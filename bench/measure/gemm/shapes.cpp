#include "gemm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "src/questions/random_numbers.hpp"

namespace tcnum::bench {
namespace {

/// Weights that are multiplied with the activations of 4096 tokens, columns × depth (DeepGEMM's tests: the layers of
/// DeepSeek-V3 that are one product). Backward, the gradient of the activations and that of the weights.
std::vector<GemmShape> deepseek_shapes() {
  struct Weights {
    std::size_t n, k;
  };
  constexpr std::array<Weights, 6> kLayers = {
      {{2112, 7168}, {24576, 1536}, {32768, 512}, {7168, 16384}, {4096, 7168}, {7168, 2048}}};
  constexpr std::size_t kTokens = 4096;
  std::vector<GemmShape> shapes;
  for (const Weights& w : kLayers) {
    shapes.push_back({kTokens, w.n, w.k});
    shapes.push_back({kTokens, w.k, w.n});
    shapes.push_back({w.n, w.k, kTokens});
  }
  return shapes;
}

/// Dimensions uniform in their logarithms; products that take long enough to time and leave room in the memory.
std::vector<GemmShape> random_shapes(std::size_t count, std::uint64_t seed) {
  constexpr double kLeast = 64, kMost = 16384;
  constexpr double kLeastProducts = 4e9, kMostProducts = 1e12;
  constexpr std::size_t kMostElements = std::size_t{1} << 28;
  constexpr std::uint32_t kSeries = 1;
  std::vector<GemmShape> shapes;
  for (std::uint64_t i = 0; shapes.size() < count; ++i) {
    RandomNumbers random(seed, kSeries, i);
    const auto draw = [&] {
      const double unit = static_cast<double>(random.next64() >> 11) * 0x1p-53;
      const double size = kLeast * std::pow(kMost / kLeast, unit);
      return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(size / kGemmGranule))) * kGemmGranule;
    };
    GemmShape s;
    s.m = draw();
    s.n = draw();
    s.k = draw();
    const double products = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
    const bool fits = std::max({s.m * s.k, s.n * s.k, s.m * s.n}) <= kMostElements;
    if (products >= kLeastProducts && products <= kMostProducts && fits) shapes.push_back(s);
  }
  return shapes;
}

}  // namespace

std::vector<GemmShape> gemm_shapes(std::string_view set) {
  constexpr std::size_t kFitted = 60, kOthers = 200, kUnseen = 60;
  constexpr std::uint64_t kSeedOfFitted = 1, kSeedOfOthers = 2, kSeedOfUnseen = 3;
  if (set == kFitShapes) return random_shapes(kFitted, kSeedOfFitted);
  if (set == kDeepSeekShapes) return deepseek_shapes();
  if (set == kRandomShapes) return random_shapes(kOthers, kSeedOfOthers);
  if (set == kUnseenShapes) return random_shapes(kUnseen, kSeedOfUnseen);
  if (set == kSmallShapes) {
    return {{16, 16, 16}, {64, 272, 80}, {272, 144, 1040}, {400, 1040, 144}, {1040, 400, 2064}, {1296, 1552, 528}};
  }
  throw std::logic_error("no such set of shapes");
}

}  // namespace tcnum::bench
