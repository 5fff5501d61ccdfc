#include "product_chain.hpp"

#include <algorithm>
#include <cstddef>

namespace tcnum {
namespace {

using Kernel = GpuChain::Kernel;

/// Whether each sum takes, besides products, at most c and the result of the sum before.
bool is_in_order(const GpuDatapath& d) {
  for (int i = 0; i < d.nodes; ++i) {
    for (const int other : d.node[i].others) {
      if (other >= 0 && other != i - 1) return false;
    }
  }
  return true;
}

Kernel kernel_of(const GpuDatapath& d) {
  constexpr int kQuadBits = 8;
  switch (d.evaluator) {
    case GpuEvaluator::scaled_sums:
      return Kernel::scaled_sums;
    case GpuEvaluator::brackets:
      return Kernel::brackets;
    case GpuEvaluator::scaled_patches:
    case GpuEvaluator::patches:
      return Kernel::patches;
    case GpuEvaluator::integers:
      return is_in_order(d) && d.a.storage_bits <= kQuadBits && d.b.storage_bits <= kQuadBits ? Kernel::quads
                                                                                              : Kernel::integers_alone;
    case GpuEvaluator::single_precision:
      return Kernel::single_precision;
    case GpuEvaluator::fma_chain:
      return Kernel::fma_chain;
    case GpuEvaluator::accumulations:
      return Kernel::accumulations;
    case GpuEvaluator::tree_patches:
      return Kernel::rounded_trees;
    case GpuEvaluator::terms:
      break;
  }
  return Kernel::terms_alone;
}

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

GpuChain::GpuChain(const GpuDatapath& d, std::uint64_t of_k) : kernel(kernel_of(d)) {
  const auto depth = static_cast<std::uint64_t>(d.k);
  units = (of_k + depth - 1) / depth;
  switch (kernel) {
    case Kernel::patches:
    case Kernel::accumulations:
    case Kernel::rounded_trees:
      a_bytes = sums_bytes(d, sizeof(std::uint32_t));
      b_bytes = sums_bytes(d, sizeof(std::int16_t));
      break;
    case Kernel::brackets:
      a_bytes = b_bytes = static_cast<std::uint32_t>(d.k) * kStrip * (sizeof(double) + sizeof(std::uint32_t));
      break;
    case Kernel::fma_chain:
      units *= depth;
      for (int k = 0; k < d.k; ++k) product[d.place[k]] = static_cast<std::int16_t>(k);
      a_bytes = b_bytes = kStrip * sizeof(double);
      break;
    case Kernel::quads:
      put_words(d);
      break;
    case Kernel::scaled_sums:
      put_words(d);
      a_bytes = b_bytes = a_bytes + static_cast<std::uint32_t>(d.nodes - 1) * kStrip * kBytesOfScale;
      break;
    case Kernel::single_precision:
    case Kernel::integers_alone:
      a_bytes = b_bytes = static_cast<std::uint32_t>(d.k) * kStrip * sizeof(std::uint32_t);
      break;
    case Kernel::terms_alone:
      a_bytes = b_bytes = static_cast<std::uint32_t>(d.k) * kStrip * sizeof(std::uint64_t);
      break;
  }
}

}  // namespace tcnum
