// Products of whole matrices by trees of which each node is one operation of IEEE 754; or, in fp64, one whose exact
// result is rounded in any other way.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/evaluators.hpp"
#include "product.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum::panels {

/// One operation; places are those of results so far, of which c is in the first.
struct Operation {
  enum class Kind : std::uint8_t {
    multiply,      ///< a[k] · b[k]
    add,           ///< the numbers in places x and y
    multiply_add,  ///< a[k] · b[k] + the number in place x
  };
  Kind kind = Kind::multiply;
  int k = 0, x = 0, y = 0;
  int place = 0;         ///< of the result
  bool flushes = false;  ///< subnormal results, which there may be
};

/// A rounding step of normal numbers: what is below or beyond these magnitudes is left.
struct OperationStep {
  RoundStep step;
  double least = 0, overflow = HUGE_VAL;
};

/// One of two terms that are cut before they are added.
struct OperationTerm {
  int fraction_bits = 0;  ///< kExact: it is not
  bool may_drop = false;  ///< where it is far below the alignment
};

/// What becomes of an operation's exact result.
struct OperationRule {
  std::vector<OperationStep> steps;
  bool is_sum = false;  ///< of a node, not a product that is rounded before it is added
  bool zero_is_positive = false;
  bool rounds_down = false;  ///< in the last step, so that zeros of both signs make a negative one
  bool cuts = false;         ///< or drops terms: x, or the product, and then the other
  bool is_wide = false;      ///< if so: a grid does not hold all that it keeps of some term
  OperationTerm terms[2];
  Rounding align_rounding = Rounding::toward_zero;
  double zero_power = 0, floor_power = 0;  ///< 2^ the exponent of zeros or that is a floor, if there is one
  double drop_power = 0;                   ///< terms aligned with less than this part of the alignment are dropped
};

/// Bits below a leading one, or below an alignment, that numbers keep which are cut by adding 1.5 · 2^52 units.
inline constexpr int kMostGridBits = 47;
/// Of operands, and of c and results, magnitudes that rules are for, between 2^−this and 2^this; others are left.
inline constexpr int kMostOrdinaryOperand = 200, kMostOrdinaryNumber = 450;

struct OperationPlan {
  OperandRule a, b, c;
  FormatId number = FormatId::fp32;  ///< of all results: fp64 or fp32
  Rounding rounding = Rounding::nearest_even;
  std::uint64_t nan = 0;  ///< code of a result that is one
  std::size_t depth = 0;  ///< products of a link, which is the datapath once
  std::size_t places = 1;
  std::vector<Operation> operations;  ///< of a link, of which the last gives the result

  /// Of each operation; none where the machine's are the datapath's. With rules the machine rounds to nearest.
  std::vector<OperationRule> rules;
  /// Of operations with rules: normal numbers from which operands' exponents are those of their leading bits.
  double least_a = 0, least_b = 0;
  ProductExponent product_exponent = ProductExponent::sum;
  double infinite_from = HUGE_VAL;  ///< products from this on are infinite
  bool adds_to_c = false;           ///< the result has c in it, and so is infinite if c is, and nothing else
  Datapath datapath;                ///< for those who evaluate what is left
};

/// Why operation panels cannot evaluate a datapath; empty if they can.
WhyNot why_no_operation_panels(const Numerics& numerics, const SortedTree& tree);
/// Of a datapath that they can.
OperationPlan make_operation_plan(const Numerics& numerics, const SortedTree& tree);

/// Whether this machine can.
bool operation_panels_are_here();

/// As multiply() of aligned sums.
void multiply(const OperationPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads);

}  // namespace tcnum::panels
