// Who evaluates a datapath: the one table of all evaluators, of the CPU and of the GPU, from which both emulators
// choose. docs/emulators.md tells what each is for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sorted_tree.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum {

/// The CPU's, in the order in which they are asked: the first that takes a datapath, or a node of it, evaluates it.
enum class CpuEvaluator : std::uint8_t {
  // These take wide tiles and whole matrices alone: takes_wide_tiles_alone().
  panels,          ///< aligned sums, in the machine's floating-point numbers
  integer_panels,  ///< sums of integers that end in 32 bits
  fma_panels,      ///< the machine's own FMAs
  tree_panels,     ///< trees of sums, in the machine's fp64
  // These take tiles of any shape, and single dot problems.
  fma_chain,  ///< the machine's own FMAs
  integers,   ///< sums of integers, in 32 and 64 bits
  // These take a datapath node by node.
  columns,    ///< aligned sums of 32-bit products, several columns of B side by side
  pairs_64,   ///< exact sums of two terms, in 64 bits
  terms_128,  ///< sums of any terms, of which each has 128 bits
  exact,      ///< the definition, in integers of any size
};

constexpr bool takes_wide_tiles_alone(CpuEvaluator e) { return e <= CpuEvaluator::tree_panels; }

/// The GPU's, likewise.
enum class GpuEvaluator : std::uint8_t {
  scaled_patches,    ///< as patches, of products that block scales multiply
  scaled_sums,       ///< exact sums of integers that block scales multiply, of 4 × 4 elements at once
  fma_chain,         ///< the machine's own FMAs
  integers,          ///< sums of integers, in 32 and 64 bits
  single_precision,  ///< the machine's own operations of fp32
  accumulations,     ///< sums of products, or of two such sums, that are added to c one after the other, in patches
  brackets,          ///< exact sums that are rounded once, of 4 × 4 elements, between bounds in the machine's fp64
  patches,           ///< aligned sums of 4 × 4 elements at once, in the machine's fp64
};

/// Whether it takes products of whole matrices, and no tiles.
constexpr bool takes_matrices_alone(GpuEvaluator e) {
  return e == GpuEvaluator::scaled_patches || e == GpuEvaluator::scaled_sums || e == GpuEvaluator::accumulations ||
         e == GpuEvaluator::brackets;
}

/// Why an evaluator does not take a datapath: a clause of which the datapath is "it". Empty: it takes it.
using WhyNot = std::string_view;

/// Sets which evaluator evaluates each node, of tiles that are too narrow for panels.
void choose_on_cpu(const Numerics& numerics, const SortedTree& tree, std::vector<CpuEvaluator>& of_nodes);

/// What a GPU is to evaluate.
enum class GpuWork : std::uint8_t { tiles, matrices };

/// Which evaluator takes the datapath; if none does, why not: the last's reason, which takes most, or that of those
/// whose block scales the datapath has.
struct GpuChoice {
  std::optional<GpuEvaluator> evaluator;
  WhyNot why_not;
};
GpuChoice choose_on_gpu(const Numerics& numerics, const SortedTree& tree, GpuWork work = GpuWork::tiles);

}  // namespace tcnum
