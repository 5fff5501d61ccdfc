// The properties of a datapath: a table with a row for each. What the fit, the search and the reports must know of a
// property, whatever its values are, is in its row; docs/adding.md says what else a new one needs.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "emu/consulted.hpp"
#include "src/questions/stream.hpp"

namespace tcnum {

enum class Property : std::uint8_t {
  structure,
  operand_format,
  product_operation,
  fraction_bits,
  align_rounding,
  product_exponent,
  zero_terms,
  group_bits,
  group_exponent,
  output_rounding,
  output_fraction_bits,
  inner_result,
  add_rounding,
  c_bits,
  join_rounding,
  c_dropped,
  total_bits,
  sum_bits,
  infinite_products,
  zero_exponent,
  subnormal_inputs,
  subnormal_exponent,
  subnormal_outputs,
  zero_sign,
  underflow_sign,
  overflow,
  nan,
};
inline constexpr std::size_t kProperties = static_cast<std::size_t>(Property::nan) + 1;

/// Which part of a datapath a property belongs to. Every result depends on all but the last, the *core*; on an edge
/// rule only where something out of the ordinary happens.
enum class Part : std::uint8_t { structure, alignment, joining, rounding, edge };

/// A set of random distributions of operands, as bits.
constexpr std::uint32_t distributions_of(std::initializer_list<Distribution> distributions) {
  std::uint32_t bits = 0;
  for (Distribution each : distributions) bits |= 1u << static_cast<unsigned>(each);
  return bits;
}

struct PropertyRow {
  Property property;
  std::string_view name;
  std::string_view question;  ///< that a value answers, as docs/report.md asks it
  Part part;
  /// Of an edge rule: what a result has consulted (Consulted) that depends on it.
  unsigned consulted = kConsultedNothing;
  /// Operands that reach the property, where not all do.
  std::uint32_t distributions = ~0u;
};

inline constexpr std::array<PropertyRow, kProperties> kPropertyTable = {{
    {Property::structure, "structure",
     "Which products enter one sum (a *block*), in which order do blocks follow, and where does c come in?",
     Part::structure},
    {Property::operand_format, "operand_format", "Do the low 13 bits of a tf32 operand count?", Part::alignment},
    {Property::product_operation, "product_operation", "Of single bits: is a product their `and` or their `xor`?",
     Part::alignment},
    {Property::fraction_bits, "fraction_bits",
     "How many bits below the largest exponent of a sum's terms does each term keep?", Part::alignment},
    {Property::align_rounding, "align_rounding",
     "How is a term cut there: toward zero, down (as dropping bits of a two's complement number does), or to nearest?",
     Part::alignment},
    {Property::product_exponent, "product_exponent",
     "Is a product in [2, 4) aligned as it is (`sum` of its operands' exponents) or `normalised` first?",
     Part::alignment},
    {Property::zero_terms, "zero_terms",
     "Does a zero take part in the alignment with the exponent of its operands (`natural`), or is it ignored?",
     Part::alignment},
    {Property::group_bits, "group_bits",
     "Where products are summed before they are scaled: how many bits below their largest exponent does each keep?",
     Part::alignment},
    {Property::group_exponent, "group_exponent",
     "With which exponent is such a sum aligned: its scales', or these and its products'?", Part::alignment},
    {Property::output_rounding, "output_rounding", "How is a block's sum rounded?", Part::rounding},
    {Property::output_fraction_bits, "output_fraction_bits", "How many bits does it keep?", Part::rounding},
    {Property::inner_result, "inner_result",
     "What are results between blocks rounded to, or, of integers, what becomes of those beyond the range?",
     Part::alignment},
    {Property::add_rounding, "add_rounding",
     "How are floating-point adds outside the blocks rounded, where there are any?", Part::rounding},
    {Property::c_bits, "c_bits",
     "Where a block's sum is aligned with c, apart from its products: how many bits below the larger exponent does c "
     "keep?",
     Part::joining},
    {Property::join_rounding, "join_rounding", "How are c, the sum, and what they add up to cut there?", Part::joining},
    {Property::c_dropped, "c_dropped", "How far below the sum's exponent is c left out?", Part::joining},
    {Property::total_bits, "total_bits", "How many bits of what they add up to are kept, before it is rounded?",
     Part::joining},
    {Property::sum_bits, "sum_bits", "How many bits below the larger exponent does the block's sum keep?",
     Part::joining},
    {Property::infinite_products, "infinite_products",
     "Is a product beyond the range of the result infinite by itself?", Part::joining},
    {Property::zero_exponent, "zero_exponent",
     "Is there a floor below which the alignment exponent never falls, even if all terms are smaller?", Part::edge,
     kConsultedZeroExponent, distributions_of({Distribution::edges, Distribution::tiny})},
    {Property::subnormal_inputs, "subnormal_inputs", "Are subnormal operands kept, or flushed to zero?", Part::edge,
     kConsultedSubnormalInput,
     distributions_of({Distribution::tiny, Distribution::edges, Distribution::uniform_bits, Distribution::sparse})},
    {Property::subnormal_exponent, "subnormal_exponent",
     "Is a subnormal aligned with its format's smallest exponent (`minimum`), or that of its leading bit ", Part::edge,
     kConsultedSubnormalInput | kConsultedTinyResult,
     distributions_of({Distribution::tiny, Distribution::edges, Distribution::uniform_bits, Distribution::sparse})},
    {Property::subnormal_outputs, "subnormal_outputs", "Are subnormal results kept, or flushed to zero?", Part::edge,
     kConsultedTinyResult,
     distributions_of({Distribution::tiny, Distribution::edges, Distribution::uniform_bits, Distribution::sparse})},
    {Property::zero_sign, "zero_sign", "Has a sum of exactly zero always a plus sign, or as in IEEE 754?", Part::edge,
     kConsultedZeroSum | kConsultedTinyResult,
     distributions_of({Distribution::signed_zeros, Distribution::cancellation, Distribution::edges})},
    {Property::underflow_sign, "underflow_sign", "Does a nonzero sum that is rounded to zero keep its sign?",
     Part::edge, kConsultedTinyResult, distributions_of({Distribution::tiny, Distribution::edges})},
    {Property::overflow, "overflow", "What does a sum beyond the largest number become?", Part::edge,
     kConsultedOverflow, distributions_of({Distribution::huge, Distribution::uniform_bits})},
    {Property::nan, "nan", "What are the bits of a NaN result?", Part::edge, kConsultedNan,
     distributions_of({Distribution::specials})},
}};

constexpr const PropertyRow& row_of(Property property) { return kPropertyTable[static_cast<std::size_t>(property)]; }
constexpr std::string_view name(Property property) { return row_of(property).name; }

namespace property_checks {

consteval bool rows_are_in_order() {
  for (std::size_t i = 0; i < kProperties; ++i) {
    if (static_cast<std::size_t>(kPropertyTable[i].property) != i) return false;
  }
  return true;
}
/// An edge rule without a Consulted bit would never be decided, and a core property with one would never be judged.
consteval bool edge_rules_alone_are_consulted() {
  for (const PropertyRow& row : kPropertyTable) {
    if ((row.part == Part::edge) != (row.consulted != kConsultedNothing)) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "kPropertyTable has its rows in the order of Property");
static_assert(edge_rules_alone_are_consulted(), "an edge rule, and nothing else, needs a bit of Consulted");

}  // namespace property_checks

consteval std::size_t count_of(Part part) {
  std::size_t n = 0;
  for (const PropertyRow& row : kPropertyTable) n += row.part == part ? 1 : 0;
  return n;
}

/// The properties of a part, in the order of the table.
template <Part kPart>
consteval std::array<Property, count_of(kPart)> properties_of() {
  std::array<Property, count_of(kPart)> found{};
  std::size_t n = 0;
  for (const PropertyRow& row : kPropertyTable) {
    if (row.part == kPart) found[n++] = row.property;
  }
  return found;
}
inline constexpr auto kAlignmentProperties = properties_of<Part::alignment>();
inline constexpr auto kJoiningProperties = properties_of<Part::joining>();
inline constexpr auto kRoundingProperties = properties_of<Part::rounding>();
/// In the order in which those of a core are decided: first those that few answers depend on together with others.
inline constexpr std::array kEdgeRules = {Property::nan,
                                          Property::zero_sign,
                                          Property::overflow,
                                          Property::subnormal_inputs,
                                          Property::subnormal_exponent,
                                          Property::subnormal_outputs,
                                          Property::underflow_sign,
                                          Property::zero_exponent};
static_assert(kEdgeRules.size() == count_of(Part::edge), "each edge rule has a turn");

constexpr bool is_edge_rule(Property property) { return row_of(property).part == Part::edge; }

/// Everything that an edge rule may have a say in.
inline constexpr unsigned kConsultedEdges = [] {
  unsigned bits = 0;
  for (Property p : kEdgeRules) bits |= row_of(p).consulted;
  return bits;
}();

}  // namespace tcnum
