// What each of the GPU's evaluators asks of a datapath.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "emu/evaluators.hpp"
#include "gpu_datapath.hpp"

namespace tcnum::gpu {

WhyNot why_no_scaled_patches(const Numerics& numerics, const SortedTree& tree);
WhyNot why_no_scaled_sums(const Numerics& numerics, const SortedTree& tree);
WhyNot why_no_brackets(const Numerics& numerics, const SortedTree& tree);
WhyNot why_no_fma_chain(const Numerics& numerics, const SortedTree& tree);
WhyNot why_no_integers(const Numerics& numerics, const SortedTree& tree);
WhyNot why_no_single_precision(const Numerics& numerics, const SortedTree& tree);
WhyNot why_no_patches(const Numerics& numerics, const SortedTree& tree);
WhyNot why_no_accumulations(const Numerics& numerics, const SortedTree& tree);
/// What is asked where elements are left over to be evaluated term by term (terms.hpp).
WhyNot why_no_terms(const Numerics& numerics, const SortedTree& tree);

/// How a unit rounds, if patches can; and the format of its result.
struct RoundingOfPatch {
  PatchRounding rounding;
  FormatId result;
};
std::optional<RoundingOfPatch> rounding_of_patch(const Unit& unit);

/// A sum of products, or of two such sums, that is added to c or to the result of the accumulation before.
struct Accumulation {
  std::array<int, 2> products = {-1, -1};  ///< nodes; no second one without a pair
  int pair = -1;                           ///< the node that adds both up
  int sum = -1;                            ///< and the one that adds the result before
};
/// If a tree is nothing but those, in the order of evaluation; else empty.
std::vector<Accumulation> accumulations_of(const SortedTree& tree);

}  // namespace tcnum::gpu
