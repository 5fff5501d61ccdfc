// What each of the GPU's evaluators asks of a datapath.
#pragma once

#include <optional>

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
WhyNot why_no_tree_patches(const Numerics& numerics, const SortedTree& tree);
WhyNot why_not_one_by_one(const Numerics& numerics, const SortedTree& tree);
WhyNot why_no_terms(const Numerics& numerics, const SortedTree& tree);

/// How a unit rounds, if patches can; and the format of its result.
struct RoundingOfPatch {
  PatchRounding rounding;
  FormatId result;
};
std::optional<RoundingOfPatch> rounding_of_patch(const Unit& unit);

}  // namespace tcnum::gpu
