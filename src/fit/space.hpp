// The space: every datapath that an instruction could have, as a table of properties with their possible values.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "properties.hpp"
#include "structure.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/instruction.hpp"
#include "values.hpp"

namespace tcnum {

/// One datapath of the space: for each property, the number of one of its values.
using Choice = std::array<std::int32_t, kProperties>;

class Space {
 public:
  explicit Space(const Instruction& instruction);

  /// Adds structures with these blocks that are not there yet, one for each way to combine them.
  void add_blocks(const Blocks& blocks, ProductOrder order);
  /// Adds rarer structures and values, for answers that nothing else explains, each time rarer ones: trees of
  /// groups, then sums apart from c. Returns the number of the first structure that is new, or none if there is
  /// nothing more to add.
  std::optional<int> widen();

  const Instruction& instruction() const { return *instruction_; }
  const std::vector<Structure>& structures() const { return values<Property::structure>(); }
  const Structure& structure(const Choice& c) const { return get<Property::structure>(c); }

  /// All values of a property; a Choice has their numbers in this list.
  template <Property P>
  const std::vector<Value<P>>& values() const {
    return std::get<static_cast<std::size_t>(P)>(values_);
  }
  /// Number of values of a property.
  int count(Property property) const;
  /// Whether the values go together (others are not in the space, such as a rounding of adds where nothing is added).
  bool contains(const Choice& choice) const;
  /// Number of datapaths.
  double size() const;

  Numerics numerics(const Choice& choice) const;
  Datapath datapath(const Choice& choice) const;

  /// The representative of the datapaths that provably give the same result for every input. Two choices with the same
  /// canonical form are one class. Each rule that this applies is proven in docs/equivalence.md.
  Choice canonical(const Choice& choice) const;

  /// False for a choice whose core is provably the same as another's that is in the space, whatever its edge rules: a
  /// search need not try it. (Where there are no block scales, nothing is worth asking.)
  bool core_comes_first(const Choice& choice) const;

  /// The value with a number in words or digits, as reports and JSON show it.
  std::string value_text(Property property, int value) const;
  std::vector<std::string> value_texts(Property property, const std::vector<int>& values) const;
  /// Whether alternatives of this property can show for this choice at all.
  bool observable(const Choice& choice, Property property) const;

  /// Whether the result is an integer, so that sums are exact and few properties mean anything: the others have one
  /// value.
  bool sums_integers() const { return !format(instruction_->d).floating; }
  /// Whether there are block scales.
  bool scales() const { return instruction_->scaled(); }
  /// Whether c has more bits than the result, so that sums may be rounded to its format before.
  bool narrows() const { return c_bits() > format(instruction_->d).fraction_bits; }
  /// Whether c has fewer, so that it may be converted before it is added.
  bool widens() const { return c_bits() < format(instruction_->d).fraction_bits; }
  /// Whether NaN operands' payloads may come back: results narrower than fp64 are published with one fixed NaN.
  bool propagates_nans() const { return instruction_->d == FormatId::fp64; }
  /// The first structure whose nodes have the same terms, in whatever order.
  std::optional<int> first_with_terms_of(const Structure& structure) const;

  /// Alignment exponents at or below this may be affected by a value of zero_exponent.
  int watch_exponent() const { return watch_exponent_; }

  /// The value of a property.
  template <Property P>
  const Value<P>& get(const Choice& c) const {
    return values<P>()[static_cast<std::size_t>(value(c, P))];
  }
  /// The number of a value, if the space has it.
  template <Property P>
  std::optional<int> find(const Value<P>& wanted) const {
    for (std::size_t i = 0; i < values<P>().size(); ++i) {
      if (values<P>()[i] == wanted) return static_cast<int>(i);
    }
    return std::nullopt;
  }
  /// Gives a property a value. Throws std::logic_error if the space does not have it.
  template <Property P>
  void put(Choice& c, const Value<P>& wanted) const {
    const std::optional<int> number = find<P>(wanted);
    if (!number) throw_no_value(P, text_of(*instruction_, wanted));
    set(c, P, *number);
  }
  /// The first datapath of a structure; none, if it has none.
  Choice first_of(int structure) const;

  FormatId operand_format(const Choice& c) const { return get<Property::operand_format>(c); }
  ProductOperation product_operation(const Choice& c) const { return get<Property::product_operation>(c); }
  int fraction_bits(const Choice& c) const { return get<Property::fraction_bits>(c); }
  Rounding align_rounding(const Choice& c) const { return get<Property::align_rounding>(c); }
  ProductExponent product_exponent(const Choice& c) const { return get<Property::product_exponent>(c); }
  /// Of block sums, to the result's format.
  Rounding output_rounding(const Choice& c) const { return get<Property::output_rounding>(c).to_result; }
  /// Of block sums to c's format, if they are rounded to that before.
  std::optional<Rounding> first_rounding(const Choice& c) const { return get<Property::output_rounding>(c).to_c_first; }
  /// Of block sums.
  int output_fraction_bits(const Choice& c) const;
  /// Whether anything is rounded by output_rounding: not if block sums go on in fp32 to adds that give the result.
  bool uses_output_rounding(const Choice& c) const { return !structure(c).adds_apart() || !inner_rounding(c); }
  /// Of intermediate results to fp32; none, if they are rounded as the output is.
  std::optional<Rounding> inner_rounding(const Choice& c) const;
  Rounding add_rounding(const Choice& c) const { return get<Property::add_rounding>(c).rounding; }
  bool add_through_fp32(const Choice& c) const { return get<Property::add_rounding>(c).through_fp32; }
  int group_bits(const Choice& c) const { return get<Property::group_bits>(c); }
  /// Whether anything is aligned and cut: terms of sums, or products of scaled groups.
  bool cuts(const Choice& c) const { return fraction_bits(c) != kExact || group_bits(c) != kExact; }
  // Of sums apart from c.
  int c_bits(const Choice& c) const { return get<Property::c_bits>(c); }
  int sum_bits(const Choice& c) const { return get<Property::sum_bits>(c); }
  Rounding join_rounding(const Choice& c) const { return get<Property::join_rounding>(c); }
  const ZeroExponent& zero_exponent(const Choice& c) const { return get<Property::zero_exponent>(c); }
  Overflow overflow(const Choice& c) const { return get<Property::overflow>(c); }
  /// Of intermediate results.
  Overflow inner_overflow(const Choice& c) const;
  const NanRule& nan(const Choice& c) const { return get<Property::nan>(c); }

  /// The number of a property's value.
  static int value(const Choice& c, Property p) { return c[static_cast<std::size_t>(p)]; }
  static void set(Choice& c, Property p, int v) { c[static_cast<std::size_t>(p)] = v; }

 private:
  template <Property P>
  std::vector<Value<P>>& list() {
    return std::get<static_cast<std::size_t>(P)>(values_);
  }
  void fill_plain();
  void fill_floating();
  void fill_integers();
  [[noreturn]] void throw_no_value(Property property, const std::string& text) const;

  RoundSteps output_steps(const Choice& choice) const;
  RoundSteps inner_steps(const Choice& choice) const;
  Numerics numerics_of_sums_apart(const Choice& choice, Numerics n) const;
  Unit group_unit(const Choice& choice, const Unit& sum) const;
  /// Whether a product can be too large for the result.
  bool products_overflow() const;
  int c_bits() const { return format(instruction_->c).fraction_bits; }

  const Instruction* instruction_;
  ValueLists values_;
  void add_structure(Structure structure);
  void add_group_trees();
  void add_sums_apart();
  void add_scaled_groups(bool cut);
  void add_cut_groups();

  static constexpr int kWidenings = 2;
  int widened_ = 0;
  std::vector<std::pair<Blocks, ProductOrder>> blocks_;  // that structures have been made of
  std::set<std::string> shapes_;                         // of the structures' trees
  std::map<std::string, int> first_with_terms_;          // structure, by shape where the order of terms does not matter
  int watch_exponent_ = 0;
};

}  // namespace tcnum
