// A datapath as tree panels evaluate it: a tree of sums whose numbers doubles hold, and its products of whole matrices.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "emu/cpu/matrix_codes.hpp"
#include "emu/evaluators.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum::panels {

/// Where c is on the way through a tree; results of nodes are in the places after it.
inline constexpr int kPlaceOfC = 0;

/// A rounding step, with the numbers that it comes to.
struct TreeStep {
  RoundStep step;
  bool is_single = false;      ///< IEEE 754's to nearest in fp32, which the machine has
  double least = 0;            ///< normal number; 0 if there is none
  double overflow = HUGE_VAL;  ///< magnitudes from this on become, unless they wrap,
  double beyond[2] = {};       ///< these: of positive numbers, and of negative ones
  bool keeps_all = false;      ///< of a number that is not below the least normal one, or all that it is aligned to
  bool keeps_small = false;    ///< of smaller ones too
  double power_of_zero = 0;    ///< that one is aligned with after the step; 0 where none is
  double most = HUGE_VAL;      ///< where large numbers wrap, the power of two with whose unit they do
};

struct TreeSteps {
  std::vector<TreeStep> steps;
  std::optional<std::size_t> last_own;  ///< the last from the leading bit, which gives a number an exponent of its own
  bool drops_sign_of_zero = false;      ///< of numbers that become zero
};

/// What a node adds.
struct TreeTerm {
  bool is_product = false;
  int at = 0;             ///< k of the product, or the place of c or another node's result
  int fraction_bits = 0;  ///< that it is cut to; kExact: it is not
  bool may_drop = false;  ///< where it is far below the alignment
  /// A sum that is aligned by its scales alone. Where zeros align, its power is negative if it takes no part.
  bool by_scales_alone = false;
};

/// How the terms of a node, all of them doubles, are added so that nothing is lost that the result depends on.
enum class TreeSum : std::uint8_t {
  cut_products,  ///< cut toward zero where all of them are aligned, which a double's sum holds
  cut,           ///< each cut, likewise
  exact,         ///< a double's sum holds them all, or its being rounded does not show after the next rounding
  pair,          ///< two, and what the rounded sum leaves over; one may be a product of more bits than a double has
  near,          ///< products, and one number more, that two doubles' sums hold
  far,           ///< terms of which two doubles' sums mostly hold all
};

/// Products whose signs index a table.
inline constexpr std::size_t kFewSigned = 4;
/// What a sum of so few begins with where they are cut: 1.5 · 2^52 units, and one more for each negative product. By
/// the signs of A's operands, and then of B's: what is to be added to the bits of the power of two that they are
/// aligned with.
struct alignas(64) FewStarts {
  std::int64_t at[1 << kFewSigned][1 << kFewSigned];
};

struct TreeNode {
  std::size_t number = 0;  ///< among the plan's
  TreeSum sum = TreeSum::cut;
  std::vector<TreeTerm> terms;
  std::vector<int> products;     ///< k of those terms that are some
  std::vector<TreeTerm> others;  ///< the other terms
  Unit unit;
  double zero_power = 0, floor_power = 0;  ///< 2^ the exponent of zeros or that is a floor, if there is one
  double drop_power = 0;                   ///< terms aligned with less than this part of the alignment are dropped
  /// Terms go to memory, where they are cut and dropped, before they are added as others are that nothing is cut of.
  bool cuts_first = false;
  TreeSteps result;
  bool is_single = false;         ///< all that is done to the sum is IEEE 754's rounding to nearest in fp32
  bool is_down_single = false;    ///< all is that after rounding down from the leading bit, to more bits
  bool is_cut = false;            ///< all that is done to it is a cut toward zero below its leading bit
  bool has_sign_of_zero = false;  ///< the sign of a zero sum is that of its terms, and something depends on it
  bool rounds_down = false;       ///< in the last step, so that zeros of both signs make a negative one
  int place = 0;                  ///< of the result
  bool wants_exponent = false;    ///< that it takes into the sum it is a term of
  int carry_bits = 0;             ///< terms below 2^(alignment + their own bits) add up to less than so many bits more
  double grid = 0;                ///< of `near`: 1.5 · 2^52 of the last bit that the first of the sums keeps
  std::size_t few_starts = 0;     ///< of `cut_products`, if they are few, those of the plan's
  bool has_long_product = false;  ///< of `pair`: one term is a product of more bits than a double has
  bool rounds_to_double = false;  ///< of `pair`: the first step keeps all bits of a double
  std::optional<std::size_t> scale_block;  ///< of a k-step, whose scales multiply the sum before it is rounded
};

/// A sum of products, or of two such sums, that goes on unrounded to its sum with c or with the result before: numbers
/// of nodes.
struct TreeAccumulation {
  std::size_t products[2] = {};
  bool in_pairs = false;  ///< both, and `pair` adds them up
  std::size_t pair = 0, sum = 0;

  /// 1.5 · 2^52 units of numbers that are aligned with 1, which times a power of two they are cut by: of both sums of
  /// products, of what `pair` adds, and of the two that `sum` does, of which c may have the coarser.
  double grid_of_products[2] = {}, grid_of_pair = 0, coarse_grid = 0, fine_grid = 0;
  bool c_is_coarse = false;
  /// Of fp32, and of what is rounded down before it is rounded to that, if it is.
  double single_grid = 0, down_grid = 0;
  /// From one grid to the next, which loops would else find again for all that they add at once.
  double coarse_to_fine = 0, down_to_single = 0;
};

struct TreePlan {
  OperandRule a, b, c;  ///< integers' numbers and exponents are as floating-point formats' that keep subnormal numbers
  bool normalises_small = false;    ///< results below the least normal number are aligned with their leading bits
  std::optional<ScaleRule> scales;  ///< of products, which come to the operands; or of sums
  bool scales_sums = false;
  double least_c = 0;  ///< normal number
  FormatId result = FormatId::fp32;
  ProductOperation operation = ProductOperation::multiply;
  ProductExponent product_exponent = ProductExponent::sum;
  TreeSteps product;
  double infinite_from = HUGE_VAL;  ///< products from this on are infinite
  bool products_to_odd = false;     ///< they have more bits than a double, but are rounded or cut
  /// All nodes are `near` sums of which nothing is asked but that they are rounded to nearest in fp32 (`is_single`).
  bool rounds_to_single = false;
  bool stays_finite = false;  ///< a k-step whose operands are finite and whose c is below kOrdinary has no infinities
  bool zeros_align = false;   ///< in some unit, so that zeros have exponents too
  bool wants_exponents = false;  ///< of operands
  bool wants_exponent_of_c = false;
  /// Products are the machine's, and one FMA multiplies and adds: nothing rounds or limits them before.
  bool has_plain_products = false;
  bool cuts_products = false;   ///< some node does that alone
  bool puts_exponents = false;  ///< the last node, of the next k-step's c
  bool leaves_some = false;     ///< there may be results that panels cannot tell
  /// As formats, those of fp64 among them, have others, which are left.
  bool asks_for_usual_operands = false, asks_for_usual_c = false;
  NanRule nan;
  std::size_t depth = 0;  ///< products of a k-step, which is the datapath once
  std::size_t places = 1;
  std::vector<TreeNode> nodes;
  std::vector<FewStarts> few_starts;  ///< of each unit
  /// All of it, in order, if that is how it is built and all of them are alike.
  std::vector<TreeAccumulation> accumulations;
  Datapath datapath;  ///< for those who evaluate what panels leave
};

/// Magnitudes that tree panels are for where formats have others, of operands with their scales, and c: zero, or from
/// this to one over this, infinities and NaNs.
inline constexpr double kLeastUsualOperand = 0x1p-148, kLeastUsualC = 0x1p-440;
/// Sums of so many terms as a k-step has stay finite in fp32 if no term is larger.
inline constexpr double kOrdinary = 0x1p100;
/// Where products are multiples of 2^kLeastOrdinaryProduct, and c is zero or no less, and so another such multiple, all
/// sums that are cut and rounded to fp32 are zero or normal numbers of it.
inline constexpr int kLeastOrdinaryProduct = -125;
inline constexpr double kLeastOrdinaryC = 0x1p-102;

/// Why tree panels cannot evaluate a datapath; empty if they can.
WhyNot why_no_tree_panels(const Numerics& numerics, const SortedTree& tree);
/// Of a datapath that they can.
TreePlan make_tree_plan(const Numerics& numerics, const SortedTree& tree);

/// As multiply() of aligned sums.
void multiply(const TreePlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads, const BlockScales& scales = {});

}  // namespace tcnum::panels
