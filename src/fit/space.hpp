// The space: every datapath that an instruction could have, as a table of properties with their possible values.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

/// How the sums of the blocks and c come together.
enum class Combination : std::uint8_t {
  chain,         ///< each block's sum takes in the result of the one before; the first takes in c
  chain_then_c,  ///< likewise, but the first block starts from nothing and c is added at the end
  adds,          ///< each block is summed alone; the sums are added to c one after the other
  adds_then_c,   ///< likewise, but to each other first and to c at the end
  pairs,         ///< sums are added in pairs, each pair to c one after the other: (c + (T0 + T1)) + (T2 + T3)
  tree_then_c,   ///< sums are added in a balanced tree of neighbours, c at the end
};

/// The shape of the tree: which products form a block, in which order, and how the blocks combine. Units of the tree
/// are roles: see Role.
struct Structure {
  Combination combination = Combination::chain;
  std::vector<std::vector<int>> blocks;  ///< each a list of k, ascending
  Tree tree;
  std::string order;  ///< "ascending k", "interleaved …", in words

  bool adds_apart() const { return combination != Combination::chain; }
  /// Whether each product is rounded by itself, so that nothing is ever aligned in a block sum.
  bool products_alone() const {
    return block_k() == 1 && combination != Combination::chain && combination != Combination::chain_then_c;
  }
  int block_k() const;  ///< size of the largest block
};

Structure make_structure(Combination combination, std::vector<std::vector<int>> blocks, std::string order);

/// What a node of a structure does; the numbers of the units in its tree.
enum Role : int {
  kBlockSum = 0,  ///< a sum of products that is the result
  kInnerSum = 1,  ///< a sum of products whose result goes on
  kAdd = 2,       ///< a floating-point add that is the result
  kInnerAdd = 3,  ///< a floating-point add whose result goes on
};

enum class Property : std::uint8_t {
  // Every result depends on these.
  structure,
  operand_format,     ///< how many bits of a tf32 operand count
  product_operation,  ///< what the product of two bits is
  fraction_bits,
  align_rounding,
  product_exponent,
  zero_terms,  ///< whether a zero takes part in the alignment like a subnormal
  output_rounding,
  output_fraction_bits,
  inner_result,  ///< what intermediate results are rounded to, or become beyond their range
  add_rounding,  ///< of adds apart from the block sums
  // Results depend on these only where something out of the ordinary happens (Consulted, emu/consulted.hpp).
  zero_exponent,
  subnormal_inputs,
  subnormal_exponent,
  subnormal_outputs,
  zero_sign,
  underflow_sign,
  overflow,
  nan,
};
inline constexpr std::size_t kProperties = 19;
inline constexpr Property kFirstEdge = Property::zero_exponent;

std::string_view name(Property property);

/// One datapath of the space: for each property, the number of one of its values.
using Choice = std::array<std::int32_t, kProperties>;

class Space {
 public:
  explicit Space(const Instruction& instruction);

  /// Adds a structure that is not there yet, in every combination.
  void add_blocks(std::vector<std::vector<int>> blocks, const std::string& order);

  const Instruction& instruction() const { return *instruction_; }
  const std::vector<Structure>& structures() const { return structures_; }
  const Structure& structure(const Choice& choice) const;

  /// Number of values of a property.
  int count(Property property) const;
  /// Whether the values go together (others are not in the space, such as a rounding of adds where nothing is added).
  bool contains(const Choice& choice) const;
  /// Number of datapaths.
  double size() const;

  Numerics numerics(const Choice& choice) const;
  Datapath datapath(const Choice& choice) const;

  /// The representative of the datapaths that provably give the same result for every input. Two choices with the same
  /// canonical form are one class. Each rule that this applies is proven in docs/space.md.
  Choice canonical(const Choice& choice) const;

  /// A value in words or digits, as reports and JSON show it.
  std::string value_text(Property property, int value) const;
  /// Whether alternatives of this property can show for this choice at all.
  bool observable(const Choice& choice, Property property) const;

  /// Alignment exponents at or below this may be affected by a value of zero_exponent.
  int watch_exponent() const { return watch_exponent_; }

  /// Values, by property.
  int fraction_bits(const Choice& c) const { return fraction_bits_[index(c, Property::fraction_bits)]; }
  Rounding align_rounding(const Choice& c) const { return kAlignRoundings[index(c, Property::align_rounding)]; }
  ProductExponent product_exponent(const Choice& c) const {
    return static_cast<ProductExponent>(index(c, Property::product_exponent));
  }
  /// To the result's format.
  Rounding output_rounding(const Choice& c) const {
    return first_rounding(c) ? Rounding::nearest_even : static_cast<Rounding>(index(c, Property::output_rounding));
  }
  /// To c's format, if sums are rounded to that before.
  std::optional<Rounding> first_rounding(const Choice& c) const {
    const std::size_t i = index(c, Property::output_rounding);
    return i < kRoundingNames.size() ? std::nullopt : std::optional(static_cast<Rounding>(i - kRoundingNames.size()));
  }
  int output_fraction_bits(const Choice& c) const;
  Overflow overflow(const Choice& c) const { return overflows_[index(c, Property::overflow)]; }
  /// Of intermediate results.
  Overflow inner_overflow(const Choice& c) const {
    const bool other = sums_integers() && value(c, Property::inner_result) != kInnerSame;
    return overflows_[other ? 1 - index(c, Property::overflow) : index(c, Property::overflow)];
  }
  ProductOperation product_operation(const Choice& c) const {
    return static_cast<ProductOperation>(index(c, Property::product_operation));
  }
  const ZeroExponent& zero_exponent(const Choice& c) const {
    return zero_exponents_[index(c, Property::zero_exponent)];
  }
  const NanRule& nan(const Choice& c) const { return nans_[index(c, Property::nan)]; }
  Rounding add_rounding(const Choice& c) const { return kAddSteps[index(c, Property::add_rounding)].rounding; }

  static int value(const Choice& c, Property p) { return c[static_cast<std::size_t>(p)]; }
  static void set(Choice& c, Property p, int v) { c[static_cast<std::size_t>(p)] = v; }

 private:
  static constexpr std::array<Rounding, 3> kAlignRoundings = {Rounding::toward_zero, Rounding::down,
                                                              Rounding::nearest_even};
  struct AddStep {
    Rounding rounding;
    bool through_fp32;  ///< rounded to fp32 first, then to a narrower result
  };
  static constexpr std::array<AddStep, 3> kAddSteps = {
      {{Rounding::nearest_even, false}, {Rounding::toward_zero, false}, {Rounding::nearest_even, true}}};
  /// Of integers there is one beside kInnerSame: the overflow that the output does not have.
  enum InnerResult : int { kInnerSame = 0, kInnerFp32TowardZero = 1, kInnerFp32NearestEven = 2 };

  /// Of subnormal_exponent: what is meant by each.
  enum SubnormalExponents : int { kNoneNormalised = 0, kAllNormalised = 1, kAccumulatorNormalised = 2 };

  static std::size_t index(const Choice& c, Property p) { return static_cast<std::size_t>(value(c, p)); }
  RoundSteps output_steps(const Choice& choice) const;
  RoundSteps inner_steps(const Choice& choice) const;

  /// Whether the result is an integer, so that sums are exact and few properties mean anything: the others have one
  /// value.
  bool sums_integers() const { return !format(instruction_->d).floating; }
  /// Whether c has more bits than the result, so that sums may be rounded to its format before.
  bool narrows() const { return c_bits() > format(instruction_->d).fraction_bits; }
  /// Whether c has fewer, so that it may be converted before it is added.
  bool widens() const { return c_bits() < format(instruction_->d).fraction_bits; }
  int c_bits() const { return format(instruction_->c).fraction_bits; }
  /// Whether NaN operands' payloads may come back: results narrower than fp64 are published with one fixed NaN.
  bool propagates_nans() const { return instruction_->d == FormatId::fp64; }

  // Equivalence (equivalence.cpp, and of integers integer_equivalence.cpp).
  struct Facts;
  Choice merge(const Choice& choice) const;
  Choice merge_integers(const Choice& choice) const;
  int chain_that_ends_with(const std::vector<int>& block) const;
  void join_products(Choice& choice) const;
  /// The first structure whose nodes have the same terms, in whatever order, or −1.
  int first_with_terms_of(const Structure& structure) const;
  bool overflow_reachable(const Choice& choice) const;

  const Instruction* instruction_;
  std::vector<Structure> structures_;
  std::set<std::string> shapes_;                 // of their trees
  std::map<std::string, int> first_with_terms_;  // structure, by shape where the order of terms does not matter
  std::vector<FormatId> operand_formats_;
  std::vector<int> fraction_bits_;
  std::vector<ZeroExponent> zero_exponents_;
  std::vector<NanRule> nans_;
  std::vector<Overflow> overflows_;
  int watch_exponent_ = 0;
};

}  // namespace tcnum
