#include "space.hpp"

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "equivalence.hpp"

namespace tcnum {
namespace {

/// For sums of integers the others are no different from these.
constexpr std::array<Combination, 2> kIntegerCombinations = {Combination::chain, Combination::chain_then_c};
constexpr std::array<Combination, 6> kCombinations = {Combination::chain, Combination::chain_then_c,
                                                      Combination::adds,  Combination::adds_then_c,
                                                      Combination::pairs, Combination::tree_then_c};

/// Published zero exponents lie a few powers of two around the smallest normal exponent of the result.
struct FloorReach {
  int down, up;
};
constexpr FloorReach kFloorReach = {24, 6}, kFloorReachFp16 = {12, 4};

/// Widths of fused sums that are considered, of results of fp64 and of all others.
struct WidthRange {
  int least, most;
};
constexpr WidthRange kWidths = {8, 32}, kWidthsFp64 = {48, 60};

constexpr std::array<Rounding, 5> kRoundings = {Rounding::toward_zero, Rounding::nearest_even, Rounding::nearest_away,
                                                Rounding::up, Rounding::down};

/// Calls f with the list of a property's values.
template <class Lists, class F>
auto with_list(Lists& lists, Property property, const F& f) {
  using Result = std::invoke_result_t<F, decltype(std::get<0>(lists))>;
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    Result result{};
    (void)((static_cast<std::size_t>(property) == I && (result = f(std::get<I>(lists)), true)) || ...);
    return result;
  }
  (std::make_index_sequence<kProperties>{});
}

}  // namespace

Space::Space(const Instruction& instruction) : instruction_(&instruction) {
  const int k = instruction.products();
  for (const auto& [order, all] : product_orders(k)) {
    for (int size = 1; size < k; size *= 2) add_blocks(blocks_of(all, size), order);
    add_blocks(blocks_of(all, k), order);
  }
  if (sums_integers())
    fill_integers();
  else
    fill_floating();
}

/// Sums are exact: but for four properties there is one value that means nothing.
void Space::fill_integers() {
  using enum Property;
  list<operand_format>() = {instruction_->a};
  list<product_operation>() = {ProductOperation::multiply};
  if (instruction_->a == FormatId::b1) list<product_operation>().push_back(ProductOperation::exclusive_or);
  list<fraction_bits>() = {kExact};
  list<align_rounding>() = {Rounding::toward_zero};
  list<product_exponent>() = {ProductExponent::sum};
  list<zero_terms>() = {ZeroTerms::ignored};
  list<output_rounding>() = {{std::nullopt, Rounding::toward_zero}};
  list<output_fraction_bits>() = {SumWidth::of_the_format};
  list<inner_result>() = {InnerResult::as_output, InnerResult::other_overflow};
  list<add_rounding>() = {{Rounding::nearest_even, false}};
  list<zero_exponent>() = {{ZeroExponentKind::none, 0}};
  list<subnormal_inputs>() = {Subnormals::kept};
  list<subnormal_exponent>() = {NormalisedSubnormals::none};
  list<subnormal_outputs>() = {Subnormals::kept};
  list<zero_sign>() = {ZeroSign::positive};
  list<underflow_sign>() = {UnderflowSign::kept};
  list<overflow>() = {Overflow::wrap, Overflow::max_finite};
  list<nan>() = {{.code = 0}};
}

void Space::fill_floating() {
  using enum Property;
  const Format& result = format(instruction_->d);
  const bool fp16_result = result.id == FormatId::fp16, fp64_result = result.id == FormatId::fp64;

  list<operand_format>() = {instruction_->a};
  // The storage of a tf32 operand is an fp32; whether the hardware looks at its low bits is a property like any other.
  if (instruction_->a == FormatId::tf32) list<operand_format>().push_back(FormatId::fp32);
  list<product_operation>() = {ProductOperation::multiply};
  const WidthRange widths = fp64_result ? kWidthsFp64 : kWidths;
  for (int bits = widths.least; bits <= widths.most; ++bits) list<fraction_bits>().push_back(bits);
  list<fraction_bits>().push_back(kExact);
  list<align_rounding>() = {Rounding::toward_zero, Rounding::down, Rounding::nearest_even};
  list<product_exponent>() = {ProductExponent::sum, ProductExponent::normalised};
  list<zero_terms>() = {ZeroTerms::ignored, ZeroTerms::natural};

  for (Rounding mode : kRoundings) list<output_rounding>().push_back({std::nullopt, mode});
  if (narrows()) {
    for (Rounding mode : kRoundings) list<output_rounding>().push_back({mode, Rounding::nearest_even});
  }
  list<output_fraction_bits>() = {SumWidth::of_the_format};
  if (result.id == FormatId::fp32) list<output_fraction_bits>().push_back(SumWidth::of_its_terms);
  list<inner_result>() = {InnerResult::as_output};
  list<add_rounding>() = {{Rounding::nearest_even, false}, {Rounding::toward_zero, false}};
  if (fp16_result) {
    list<inner_result>().insert(list<inner_result>().end(),
                                {InnerResult::fp32_toward_zero, InnerResult::fp32_nearest_even});
    list<add_rounding>().push_back({Rounding::nearest_even, true});
  }

  const auto [down, up] = fp16_result ? kFloorReachFp16 : kFloorReach;
  watch_exponent_ = result.min_exponent() + up;
  list<zero_exponent>() = {{ZeroExponentKind::none, 0}};
  for (int floor = result.min_exponent() - down; floor <= watch_exponent_; ++floor) {
    list<zero_exponent>().push_back({ZeroExponentKind::floor, floor});
  }
  list<subnormal_inputs>() = {Subnormals::kept, Subnormals::flushed};
  list<subnormal_exponent>() = {NormalisedSubnormals::none, NormalisedSubnormals::all};
  if (widens()) list<subnormal_exponent>().push_back(NormalisedSubnormals::c_alone);
  list<subnormal_outputs>() = {Subnormals::kept, Subnormals::flushed};
  list<zero_sign>() = {ZeroSign::positive, ZeroSign::ieee};
  list<underflow_sign>() = {UnderflowSign::kept, UnderflowSign::positive};
  list<overflow>() = {Overflow::infinity, Overflow::max_finite};
  if (fp64_result) list<overflow>().push_back(Overflow::ieee);  // of the ways to round of which both others are wrong

  const std::uint64_t quiet = nan_code(result), sign = std::uint64_t{1} << (result.storage_bits - 1);
  const std::array<std::uint64_t, 3> codes = {result.code_mask() & ~sign, quiet, quiet | sign};
  for (std::uint64_t code : codes) list<nan>().push_back({.code = code});
  if (!propagates_nans()) return;
  constexpr auto a = NanOperand::a, b = NanOperand::b, c = NanOperand::c;
  for (std::uint64_t code : codes) {
    for (const auto& order :
         std::array<std::array<NanOperand, 3>, 6>{{{a, b, c}, {a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}}}) {
      list<nan>().push_back({code, true, order});
    }
  }
}

void Space::add_blocks(const Blocks& blocks, ProductOrder order) {
  const std::span<const Combination> combinations =
      sums_integers() ? std::span<const Combination>(kIntegerCombinations) : kCombinations;
  // Which of two NaN operands' payloads comes back may depend on the order of the terms; nothing else does.
  const bool ordered = propagates_nans();
  if (blocks.size() == 1) order = {ProductOrder::Kind::one_block};
  std::vector<Structure>& all = list<Property::structure>();
  for (Combination combination : combinations) {
    Structure s = make_structure(combination, blocks, order);
    if (!shapes_.insert(shape_of(s.tree, ordered)).second) continue;
    first_with_terms_.try_emplace(shape_of(s.tree, false), static_cast<int>(all.size()));
    all.push_back(std::move(s));
  }
}

std::optional<int> Space::first_with_terms_of(const Structure& structure) const {
  const auto found = first_with_terms_.find(shape_of(structure.tree, false));
  return found == first_with_terms_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int> Space::find_structure(Combination combination, int block_k, ProductOrder order) const {
  const auto found = std::ranges::find_if(structures(), [&](const Structure& s) {
    return s.combination == combination && s.block_k() == block_k && (s.blocks.size() == 1 || s.order == order);
  });
  if (found == structures().end()) return std::nullopt;
  return static_cast<int>(found - structures().begin());
}

void Space::throw_no_value(Property property, const std::string& text) const {
  throw std::logic_error(
      fmt::format("the space of {} has no value {} of {}", instruction_->name(), text, name(property)));
}

void Space::put(Choice& c, const Setting& setting) const {
  const int number = with_list(values_, setting.property, [&](const auto& list) -> int {
    using Type = typename std::remove_cvref_t<decltype(list)>::value_type;
    if constexpr (!std::is_same_v<Type, Structure>) {
      if (const Type* wanted = std::get_if<Type>(&setting.value)) {
        const auto found = std::ranges::find(list, *wanted);
        if (found == list.end()) throw_no_value(setting.property, text_of(*instruction_, *wanted));
        return static_cast<int>(found - list.begin());
      }
    }
    throw_no_value(setting.property, "of another property");
  });
  set(c, setting.property, number);
}

int Space::count(Property property) const {
  return with_list(values_, property, [](const auto& list) { return static_cast<int>(list.size()); });
}

std::string Space::value_text(Property property, int value) const {
  return with_list(values_, property,
                   [&](const auto& list) { return text_of(*instruction_, list[static_cast<std::size_t>(value)]); });
}

std::vector<std::string> Space::value_texts(Property property, const std::vector<int>& values) const {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const int value : values) texts.push_back(value_text(property, value));
  return texts;
}

int Space::output_fraction_bits(const Choice& c) const {
  const int full = format(instruction_->d).fraction_bits;
  return get<Property::output_fraction_bits>(c) == SumWidth::of_the_format ? full : std::min(full, fraction_bits(c));
}

std::optional<Rounding> Space::inner_rounding(const Choice& c) const {
  switch (get<Property::inner_result>(c)) {
    case InnerResult::fp32_toward_zero:
      return Rounding::toward_zero;
    case InnerResult::fp32_nearest_even:
      return Rounding::nearest_even;
    case InnerResult::as_output:
    case InnerResult::other_overflow:
      break;
  }
  return std::nullopt;
}

Overflow Space::inner_overflow(const Choice& c) const {
  if (get<Property::inner_result>(c) != InnerResult::other_overflow) return overflow(c);
  return overflow(c) == Overflow::wrap ? Overflow::max_finite : Overflow::wrap;
}

bool Space::contains(const Choice& c) const {
  const auto varies = [&](Property p) { return value(c, p) != 0; };
  const Structure& s = structure(c);
  const bool exact = fraction_bits(c) == kExact;
  const bool only_blocks = s.combination == Combination::chain;
  // Blocks of one product are FMAs, or products rounded by themselves: nothing is aligned and cut.
  if (exact || s.block_k() == 1) {
    if (!exact || varies(Property::align_rounding) || varies(Property::product_exponent) ||
        varies(Property::zero_terms) || varies(Property::zero_exponent)) {
      return false;
    }
  }
  if (varies(Property::output_fraction_bits) && fraction_bits(c) >= format(instruction_->d).fraction_bits) return false;
  if (only_blocks && varies(Property::add_rounding)) return false;
  if (s.tree.nodes.size() == 1 && varies(Property::inner_result)) return false;
  // Adding two numbers of the result's own format through fp32 rounds twice, but no differently from once: fp32 has
  // more than twice the bits and two (Figueroa). Only a wider intermediate result, or c, makes it a datapath of its
  // own.
  if (add_through_fp32(c) && !varies(Property::inner_result) && !narrows()) return false;
  if (first_rounding(c) && !only_blocks) return false;  // where c is added apart, that is add_rounding's
  // Floors under the alignment are published for sums that take in the accumulator and keep subnormals.
  if (varies(Property::zero_exponent) &&
      (!only_blocks || varies(Property::subnormal_inputs) || varies(Property::subnormal_outputs))) {
    return false;
  }
  // Zeros that take part in the alignment show that it goes by exponents as they are, not by leading bits of products.
  return !varies(Property::zero_terms) || (!varies(Property::zero_exponent) && !varies(Property::product_exponent));
}

double Space::size() const {
  // Structures and widths restrict the others, and are counted one by one; the others multiply, but for zero_terms and
  // zero_exponent, which exclude each other.
  double total = 0;
  Choice c{};
  const auto allowed = [&](Property p) {
    int n = 0;
    Choice x = c;
    for (int v = 0; v < count(p); ++v) {
      set(x, p, v);
      n += contains(x) ? 1 : 0;
    }
    return n;
  };
  for (int s = 0; s < count(Property::structure); ++s) {
    set(c, Property::structure, s);
    for (int f = 0; f < count(Property::fraction_bits); ++f) {
      set(c, Property::fraction_bits, f);
      double here = allowed(Property::zero_exponent) + allowed(Property::zero_terms) - 1;
      for (const PropertyRow& row : kPropertyTable) {
        if (row.property != Property::structure && row.property != Property::fraction_bits &&
            row.property != Property::zero_terms && row.property != Property::zero_exponent) {
          here *= allowed(row.property);
        }
      }
      total += here;
    }
  }
  return total;
}

RoundSteps Space::output_steps(const Choice& c) const {
  const Subnormals subnormals = get<Property::subnormal_outputs>(c);
  RoundStep s = round_to(format(instruction_->d), output_rounding(c), overflow(c), subnormals);
  s.fraction_bits = output_fraction_bits(c);
  if (const auto first = first_rounding(c)) {
    return {round_to(format(instruction_->c), *first, overflow(c), subnormals), s};
  }
  return {s};
}

RoundSteps Space::inner_steps(const Choice& c) const {
  if (sums_integers()) return {round_to(format(instruction_->d), output_rounding(c), inner_overflow(c))};
  const std::optional<Rounding> to_fp32 = inner_rounding(c);
  if (!to_fp32) return output_steps(c);
  return {round_to(format(FormatId::fp32), *to_fp32, overflow(c), get<Property::subnormal_outputs>(c))};
}

Numerics Space::numerics(const Choice& c) const {
  Numerics n;
  const NormalisedSubnormals normalised = get<Property::subnormal_exponent>(c);
  const auto exponent = [](bool leading) {
    return leading ? SubnormalExponent::normalised : SubnormalExponent::minimum;
  };
  const OperandRule rule{FormatId::fp16, get<Property::subnormal_inputs>(c),
                         exponent(normalised == NormalisedSubnormals::all)};
  n.a = n.b = n.c = rule;
  n.c.subnormal_exponent = exponent(normalised != NormalisedSubnormals::none);
  n.a.format = operand_format(c);
  n.b.format = instruction_->b == instruction_->a ? n.a.format : instruction_->b;
  n.c.format = instruction_->c;
  n.result = instruction_->d;
  n.product.operation = product_operation(c);
  n.product.exponent = product_exponent(c);
  n.nan = nan(c);

  Unit add;
  add.zero_sign = get<Property::zero_sign>(c);
  add.underflow_sign = get<Property::underflow_sign>(c);
  Unit sum = add;
  sum.fraction_bits = fraction_bits(c);
  sum.align_rounding = align_rounding(c);
  sum.zero_exponent = get<Property::zero_terms>(c) == ZeroTerms::natural ? ZeroExponent{ZeroExponentKind::natural, 0}
                                                                         : zero_exponent(c);

  const Subnormals subnormals = get<Property::subnormal_outputs>(c);
  const RoundStep to_result = round_to(format(instruction_->d), add_rounding(c), overflow(c), subnormals);
  const RoundStep to_fp32 = round_to(format(FormatId::fp32), add_rounding(c), overflow(c), subnormals);
  n.units[kBlockSum] = n.units[kInnerSum] = sum;
  n.units[kAdd] = n.units[kInnerAdd] = add;
  n.units[kBlockSum].result = output_steps(c);
  n.units[kInnerSum].result = inner_steps(c);
  n.units[kAdd].result = add_through_fp32(c) ? RoundSteps{to_fp32, to_result} : RoundSteps{to_result};
  n.units[kInnerAdd].result =
      get<Property::inner_result>(c) == InnerResult::as_output ? RoundSteps{to_result} : RoundSteps{to_fp32};
  return n;
}

Datapath Space::datapath(const Choice& c) const {
  static constexpr std::array<const char*, 4> kRoleNames = {"sum", "inner_sum", "add", "inner_add"};
  const Structure& s = structure(c);
  const Numerics all = numerics(c);
  Datapath d;
  d.numerics = all;
  d.numerics.units = {};
  d.tree = s.tree;
  // Roles that are the same unit become one; those that the tree has no use for go.
  std::array<int, 4> number = {-1, -1, -1, -1};
  for (auto role = d.tree.nodes.rbegin(); role != d.tree.nodes.rend(); ++role) {  // the result's unit first
    const auto r = static_cast<std::size_t>(role->unit);
    if (number[r] < 0) {
      for (std::size_t other = 0; other < number.size(); ++other) {
        if (number[other] >= 0 && all.units[other] == all.units[r]) number[r] = number[other];
      }
    }
    if (number[r] < 0) {
      number[r] = static_cast<int>(d.unit_names.size());
      d.numerics.units[d.unit_names.size()] = all.units[r];
      d.unit_names.emplace_back(kRoleNames[r]);
    }
    role->unit = number[r];
  }
  return d;
}

Choice Space::canonical(const Choice& choice) const {
  return sums_integers() ? canonical_integers(*this, choice) : canonical_floating(*this, choice);
}

bool Space::observable(const Choice& choice, Property property) const {
  const Choice here = canonical(choice);
  for (int v = 0; v < count(property); ++v) {
    Choice other = choice;
    set(other, property, v);
    if (contains(other) && canonical(other) != here) return true;
  }
  return false;
}

}  // namespace tcnum
