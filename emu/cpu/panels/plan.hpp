// A datapath as panels evaluate it: a chain of sums that doubles, or floats, can align and cut (docs/patches.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "emu/evaluators.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/format.hpp"
#include "trees.hpp"

namespace tcnum::panels {

/// How a sum becomes a number: one or two roundings, to so many fraction bits from an exponent up.
struct NumberRounding {
  bool to_nearest = false;  ///< ties to even; else toward zero
  int fraction_bits = 23;
  int min_exponent = -126;
  double overflow = 0;  ///< results of this magnitude or more become ±beyond
  double beyond = 0;
};

/// One sum of a k-step.
struct NodePlan {
  int first = 0, count = 0;  ///< places of its products
  bool takes_c = false, takes_before = false;
  bool is_pair = false;  ///< the exact sum of c and the result before, and no product
  int fraction_bits = 0;
  int lowest_alignment = 0;  ///< no alignment is below it
  /// The least exponents that c and the result before take part with, unless they are zero.
  int c_floor = 0, before_floor = 0;
  std::array<NumberRounding, 2> rounding;
  int roundings = 1;
  bool takes_half = false;  ///< the one of c and the result before that it takes is an fp16
  bool drops_sign_of_zero = false;
};

struct Plan {
  FormatId a = FormatId::fp16, b = FormatId::fp16, c = FormatId::fp32, result = FormatId::fp32;
  OperandRule a_rule, b_rule;
  int depth = 0;            ///< products of a k-step, which is the datapath once
  std::vector<int> places;  ///< of product k of a k-step: those of a node lie side by side
  bool in_order = true;     ///< every place is its k
  std::vector<NodePlan> nodes;
  std::uint64_t nan = 0;            ///< code of a result that is one
  std::optional<ScaleRule> scales;  ///< of products
  /// Floats, which are twice as many, hold its sums.
  bool fits_floats = false;
  /// The same datapath as tree panels evaluate it, for what is not ordinary.
  std::shared_ptr<const TreePlan> otherwise;
};

/// Where the product at some k of some k-steps stands: its place, the word of its node and its bit there. It and those
/// after it, so many in all, lie side by side there as they do along k.
struct Place {
  std::size_t place, word;
  int bit;
  std::size_t side_by_side;
};
std::vector<Place> places_of(const Plan& plan, std::size_t k_steps);

/// Why panels cannot evaluate a datapath; empty if they can.
WhyNot why_no_panels(const Numerics& numerics, const SortedTree& tree);
/// Of a datapath that they can.
Plan make_plan(const Datapath& datapath);

}  // namespace tcnum::panels
