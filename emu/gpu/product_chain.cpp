#include "product_chain.hpp"

#include <algorithm>
#include <cstddef>

namespace tcnum {
namespace {

/// Bytes of a unit of sums: doubles, exponents, and three words of bits for each line.
std::uint32_t sums_bytes(const GpuDatapath& d, std::size_t exponent_bytes) {
  constexpr std::size_t kWords = 3 * sizeof(std::uint32_t);
  return static_cast<std::uint32_t>(GpuChain::kStrip *
                                    (static_cast<std::size_t>(d.k) * (sizeof(double) + exponent_bytes) + kWords));
}

/// Of a unit of scaled sums, beside their words: of each sum and line the scale and its exponent, and which of the
/// operands are not zero.
constexpr std::uint32_t kBytesOfScale = sizeof(double) + sizeof(std::int32_t) + sizeof(std::uint32_t);

}  // namespace

void GpuChain::put_words(const GpuDatapath& d) {
  std::ranges::fill(product, std::int16_t{-1});
  for (int i = 0; i < d.nodes; ++i) {
    const GpuNode& node = d.node[i];
    for (int k = 0; k < d.k; ++k) {
      const int at = d.place[k] - node.first;
      if (at >= 0 && at < node.count) product[4 * words + at] = static_cast<std::int16_t>(k);
    }
    node_words[i] = static_cast<std::int16_t>((node.count + 3) / 4);
    words += node_words[i];
  }
  a_bytes = b_bytes = static_cast<std::uint32_t>(words) * kStrip * sizeof(std::uint32_t);
}

GpuChain::GpuChain(const GpuDatapath& d, std::uint64_t of_k) {
  const auto depth = static_cast<std::uint64_t>(d.k);
  units = (of_k + depth - 1) / depth;
  switch (d.evaluator) {
    case GpuEvaluator::scaled_patches:
    case GpuEvaluator::patches:
    case GpuEvaluator::accumulations:
      a_bytes = sums_bytes(d, sizeof(std::uint32_t));
      b_bytes = sums_bytes(d, sizeof(std::int16_t));
      break;
    case GpuEvaluator::brackets:
      a_bytes = b_bytes = static_cast<std::uint32_t>(d.k) * kStrip * (sizeof(double) + sizeof(std::uint32_t));
      break;
    case GpuEvaluator::fma_chain:
      units *= depth;
      for (int k = 0; k < d.k; ++k) product[d.place[k]] = static_cast<std::int16_t>(k);
      a_bytes = b_bytes = kStrip * sizeof(double);
      break;
    case GpuEvaluator::integers:
      put_words(d);
      break;
    case GpuEvaluator::scaled_sums:
      put_words(d);
      a_bytes = b_bytes = a_bytes + static_cast<std::uint32_t>(d.nodes - 1) * kStrip * kBytesOfScale;
      break;
    case GpuEvaluator::single_precision:
      a_bytes = b_bytes = static_cast<std::uint32_t>(d.k) * kStrip * sizeof(float);
      break;
  }
}

}  // namespace tcnum
