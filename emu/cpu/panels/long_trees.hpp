// Products of whole matrices by trees of any sums at all, in integers of one to four words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "emu/evaluators.hpp"
#include "product.hpp"
#include "tcnum/datapath.hpp"

namespace tcnum::panels {

/// How rounding steps are applied, if there are any.
struct LongRounding {
  /// Each leaves so few bits, from the number's own leading one on, that its upper 64 and whether any is below them are
  /// all that matters.
  bool words = false;
  /// Each has among its normal numbers those that usually occur: of them alone, words are rounded first.
  bool ordinary = false;
};

/// One sum.
struct LongNode {
  SortedNode node;
  /// Products are added as they are multiplied: nothing is done to them before, and all terms are cut alike or none is.
  bool is_plain = false;
  /// Of an exact sum: all terms, and all sums of them, are multiples of 2^this that fit.
  std::optional<int> last;
  bool wants_alignment = true;
  /// Some term that is no product may be larger than its exponent says, having not been rounded since it was added.
  bool others_may_be_large = false;
  LongRounding rounding;
};

inline constexpr int kMostLongWords = 4;
/// Bits of a number of so many words, with room for a sign and a carry.
constexpr int most_long_bits(int words) { return words * 64 - 2; }
/// A product is below 2^(its exponent + this): there are two operands and two scales, each less than twice its power of
/// two.
inline constexpr int kLongHeadroom = 4;
/// Bits that the scales of a block have together.
inline constexpr int kLongScaleBits = 8;

/// The nodes of a tree, whose sums have so many words. Of sums that keep more, all terms are kept as far down as words
/// go: what loses a bit is left.
struct LongSums {
  std::vector<LongNode> nodes;
  int words = 2;  ///< 1 to kMostLongWords
};

/// A rounding step of doubles that a number lies between. Numbers are far within 2^±kMostGridOfBracket.
struct BracketStep {
  RoundStep step;
  double least = 0, beyond = 0;  ///< the smallest normal number, and the first that is too large
  double largest_above = 0, largest_below = 0;
  bool has_long_largest = false;  ///< of more bits than a double has: the two are on both sides of it
  bool cuts = true;               ///< some number of a double's bits, and of usual size
  bool puts_exponent = false;     ///< the one with which the number takes part in later sums
};
inline constexpr int kLeastGridOfBracket = -700, kMostGridOfBracket = 900;

struct LongPlan {
  Datapath datapath;
  LongSums sums;   ///< that hold all which units keep, if four words do
  LongSums usual;  ///< that hold what operands of usual size have, tried first if these are fewer words
  /// Results keep so few bits that doubles on both sides of what is not rounded yet mostly tell them: tried first of
  /// all.
  bool has_brackets = false;
  std::array<std::vector<BracketStep>, kMaxUnits> bracket_steps;  ///< of each unit's results
  std::vector<BracketStep> bracket_product_steps;
  bool zeros_align = false;        ///< in some unit, or products of zeros are none, so that zeros have exponents too
  bool looks_at_products = false;  ///< to know what they are aligned with: their operands' exponents do not tell
  bool scales_sums = false;        ///< of blocks; else products, if the datapath has scales
  LongRounding product_rounding;
  int product_fraction_bits = 0;  ///< a product is a multiple of 2^(its exponent − this)
  bool has_long_operand = false;  ///< of more than 32 bits
  int product_bits = 0;  ///< of products that are not rounded; with more than 64 there are three words at least
};

LongPlan make_long_plan(const Numerics& numerics, const SortedTree& tree);

/// Whether this machine can.
bool long_panels_are_here();

/// As multiply() of aligned sums.
void multiply(const LongPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads, const BlockScales& scales = {});

}  // namespace tcnum::panels
