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
/// And of those with block scales; the widest published keeps 35.
constexpr WidthRange kWidthsScaled = {8, 40};

/// In which the products of blocks are summed apart, of fp32 results alone, as AMD's are.
constexpr std::array<Combination, 3> kApartCombinations = {Combination::apart, Combination::apart_parity,
                                                           Combination::apart_halves};
/// Bits that they keep of c (all that it has, where it is alone), of a sum, and of both together, and how far below the
/// sum c may be left out.
constexpr WidthRange kCBits = {23, 32}, kSumBits = {24, 36}, kTotalBits = {26, 34}, kCDropped = {22, 30};

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
  if (scales()) add_scaled_groups(false);
  fill_plain();
  if (sums_integers())
    fill_integers();
  else
    fill_floating();
}

/// One value of each property but the structure, which says nothing where the instruction has no such property.
void Space::fill_plain() {
  using enum Property;
  std::apply([](auto&, auto&... lists) { (lists.resize(1), ...); }, values_);
  list<operand_format>() = {instruction_->a};
  list<fraction_bits>() = list<group_bits>() = list<c_bits>() = list<sum_bits>() = {kExact};
}

void Space::fill_integers() {
  using enum Property;
  if (instruction_->a == FormatId::b1) list<product_operation>().push_back(ProductOperation::exclusive_or);
  list<inner_result>().push_back(InnerResult::other_overflow);
  list<overflow>() = {Overflow::wrap, Overflow::max_finite};
  list<nan>() = {{.code = 0}};
}

void Space::fill_floating() {
  using enum Property;
  const Format& result = format(instruction_->d);
  const bool fp16_result = result.id == FormatId::fp16, fp64_result = result.id == FormatId::fp64;

  // The storage of a tf32 operand is an fp32; whether the hardware looks at its low bits is a property like any other.
  if (instruction_->a == FormatId::tf32) list<operand_format>().push_back(FormatId::fp32);
  const WidthRange widths = scales() ? kWidthsScaled : fp64_result ? kWidthsFp64 : kWidths;
  list<fraction_bits>().clear();
  for (int bits = widths.least; bits <= widths.most; ++bits) list<fraction_bits>().push_back(bits);
  list<fraction_bits>().push_back(kExact);
  list<align_rounding>() = {Rounding::toward_zero, Rounding::down, Rounding::nearest_even};
  list<product_exponent>() = {ProductExponent::sum, ProductExponent::normalised};
  list<zero_terms>() = {ZeroTerms::ignored, ZeroTerms::natural};
  if (scales()) list<group_exponent>().push_back(GroupExponent::with_products);

  list<output_rounding>().clear();
  for (Rounding mode : kRoundings) list<output_rounding>().push_back({std::nullopt, mode});
  if (narrows()) {
    for (Rounding mode : kRoundings) list<output_rounding>().push_back({mode, Rounding::nearest_even});
  }
  if (result.id == FormatId::fp32) list<output_fraction_bits>().push_back(SumWidth::of_its_terms);
  list<add_rounding>() = {{Rounding::nearest_even, false}, {Rounding::toward_zero, false}};
  if (fp16_result) {
    list<inner_result>().insert(list<inner_result>().end(),
                                {InnerResult::fp32_toward_zero, InnerResult::fp32_nearest_even});
    list<add_rounding>().push_back({Rounding::nearest_even, true});
  }

  const auto [down, up] = fp16_result ? kFloorReachFp16 : kFloorReach;
  watch_exponent_ = result.min_exponent() + up;
  for (int floor = result.min_exponent() - down; floor <= watch_exponent_; ++floor) {
    list<zero_exponent>().push_back({ZeroExponentKind::floor, floor});
  }
  list<subnormal_inputs>() = {Subnormals::kept, Subnormals::flushed};
  list<subnormal_exponent>() = {NormalisedSubnormals::none, NormalisedSubnormals::all};
  if (widens()) list<subnormal_exponent>().push_back(NormalisedSubnormals::c_alone);
  list<subnormal_outputs>() = {Subnormals::kept, Subnormals::flushed};
  list<zero_sign>() = {ZeroSums::positive, ZeroSums::ieee};
  list<underflow_sign>() = {UnderflowSign::kept, UnderflowSign::positive};
  list<overflow>() = {Overflow::infinity, Overflow::max_finite};
  if (fp64_result) list<overflow>().push_back(Overflow::ieee);  // of the ways to round of which both others are wrong

  const std::uint64_t quiet = nan_code(result), sign = std::uint64_t{1} << (result.storage_bits - 1);
  const std::array<std::uint64_t, 3> codes = {result.code_mask() & ~sign, quiet, quiet | sign};
  list<nan>().clear();
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
  if (blocks.size() == 1) order = {ProductOrder::Kind::one_block};
  for (Combination combination : combinations) {
    Structure structure = make_structure(combination, blocks, order);
    // Of products that are scaled and then rounded one by one the rules of equivalence say nothing.
    if (!scales() || !structure.products_alone()) add_structure(std::move(structure));
  }
  blocks_.emplace_back(blocks, order);
}

/// Products of one scale block that are summed before they are scaled; blocks are of whole such groups.
void Space::add_scaled_groups(bool cut) {
  const int k = instruction_->products();
  for (int size = 2; size <= instruction_->products_per_scale(); size *= 2) {
    if (instruction_->products_per_scale() % size != 0) continue;
    const int groups = k / size;
    const auto add = [&](const std::vector<int>& of_groups, int count, ProductOrder order) {
      Blocks blocks = blocks_of(of_groups, count);
      for (std::vector<int>& block : blocks) {
        std::vector<int> products;
        for (const int group : block) {
          for (int i = 0; i < size; ++i) products.push_back(group * size + i);
        }
        block = std::move(products);
      }
      if (blocks.size() == 1) order = {ProductOrder::Kind::one_block};
      if (order.kind == ProductOrder::Kind::interleaved) order.group *= size;
      for (Combination combination : kCombinations)
        add_structure(make_structure(combination, blocks, order, 0, {size, cut}));
    };
    for (const auto& [order, all] : product_orders(groups)) {
      for (int count = 1; count < groups; count *= 2) add(all, count, order);
      add(all, groups, order);
    }
  }
}

/// If no structure has its tree yet.
void Space::add_structure(Structure structure) {
  // Which of two NaN operands' payloads comes back may depend on the order of the terms; nothing else does.
  const std::string_view kind = structure.scaled.cut ? "cut " : "";
  if (!shapes_.insert(fmt::format("{}{}", kind, shape_of(structure.tree, propagates_nans()))).second) return;
  std::vector<Structure>& all = list<Property::structure>();
  first_with_terms_.try_emplace(fmt::format("{}{}", kind, shape_of(structure.tree, false)),
                                static_cast<int>(all.size()));
  all.push_back(std::move(structure));
}

std::optional<int> Space::widen() {
  if (sums_integers()) return std::nullopt;
  const int first = count(Property::structure);
  while (widened_ < kWidenings && first == count(Property::structure)) {
    switch (++widened_) {
      case 1:
        if (scales())
          add_cut_groups();
        else
          add_group_trees();
        break;
      default:
        if (!scales() && instruction_->d == FormatId::fp32 && instruction_->c == FormatId::fp32) add_sums_apart();
        break;
    }
  }
  return first == count(Property::structure) ? std::nullopt : std::optional(first);
}

void Space::add_cut_groups() {
  // Cuts that are at or below the last bit of all products are none.
  const Format &a = format(instruction_->a), &b = format(instruction_->b);
  const int span = a.max_exponent() + b.max_exponent() + 1 - smallest_exponent(a) - smallest_exponent(b);
  for (int bits = kWidthsScaled.least; bits <= std::min(kWidthsScaled.most, span - 1); ++bits)
    list<Property::group_bits>().push_back(bits);
  if (count(Property::group_bits) > 1) add_scaled_groups(true);
}

void Space::add_group_trees() {
  for (const auto& [blocks, order] : blocks_) {
    for (int group = 4; group < static_cast<int>(blocks.size()); group *= 2) {
      add_structure(make_structure(Combination::group_trees, blocks, order, group));
    }
  }
  list<Property::zero_sign>().push_back(ZeroSums::ieee_but_positive_with_c);
}

void Space::add_sums_apart() {
  using enum Property;
  for (const auto& [blocks, order] : std::vector(blocks_)) {
    const std::size_t size = blocks.front().size();
    if (size < 2) continue;
    for (Combination combination : kApartCombinations) {
      if (combination == Combination::apart || size % 4 == 0) add_structure(make_structure(combination, blocks, order));
    }
  }
  for (int bits = kCBits.least; bits <= kCBits.most; ++bits) list<c_bits>().push_back(bits);
  for (int bits = kSumBits.least; bits <= kSumBits.most; ++bits) list<sum_bits>().push_back(bits);
  for (int bits = kCDropped.least; bits <= kCDropped.most; ++bits) list<c_dropped>().emplace_back(bits);
  for (const TotalBits::From from : {TotalBits::From::alignment, TotalBits::From::leading_bit}) {
    for (int bits = kTotalBits.least; bits <= kTotalBits.most; ++bits) list<total_bits>().push_back({from, bits});
  }
  list<join_rounding>().insert(list<join_rounding>().end(), {Rounding::down, Rounding::nearest_even});
  if (products_overflow()) list<infinite_products>().push_back(InfiniteProducts::yes);
}

bool Space::products_overflow() const {
  return format(instruction_->a).max_exponent() + format(instruction_->b).max_exponent() + 1 >
         format(instruction_->d).max_exponent();
}

Choice Space::first_of(int structure) const {
  Choice c{};
  set(c, Property::structure, structure);
  if (this->structure(c).sums_apart()) {
    set(c, Property::c_bits, 1);
    set(c, Property::sum_bits, count(Property::sum_bits) - 1);
  }
  if (this->structure(c).scaled.cut) set(c, Property::group_bits, 1);
  return c;
}

std::optional<int> Space::first_with_terms_of(const Structure& structure) const {
  const auto found =
      first_with_terms_.find(fmt::format("{}{}", structure.scaled.cut ? "cut " : "", shape_of(structure.tree, false)));
  return found == first_with_terms_.end() ? std::nullopt : std::optional(found->second);
}

void Space::throw_no_value(Property property, const std::string& text) const {
  throw std::logic_error(
      fmt::format("the space of {} has no value {} of {}", instruction_->name(), text, name(property)));
}

int Space::count(Property property) const {
  return with_list(values_, property, [](const auto& list) { return static_cast<int>(list.size()); });
}

std::string Space::value_text(Property property, int value) const {
  return with_list(values_, property, [&](const auto& list) {
    const auto& of = list[static_cast<std::size_t>(value)];
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(of)>, Structure>)
      return text_of(of);
    else
      return text_of(*instruction_, of);
  });
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
  if (s.sums_apart()) {
    if (exact || sum_bits(c) == kExact || c_bits(c) == kExact || sum_bits(c) < fraction_bits(c) ||
        varies(Property::zero_terms) || varies(Property::output_fraction_bits)) {
      return false;
    }
  } else if (std::ranges::any_of(kJoiningProperties, varies)) {
    return false;
  }
  if ((group_bits(c) != kExact) != s.scaled.cut) return false;
  if (s.scaled.size == 0) {
    if (varies(Property::group_exponent)) return false;
  } else if (varies(Property::zero_terms)) {
    return false;
  }
  // Blocks of one product are FMAs, or products rounded by themselves: nothing is aligned and cut.
  if (exact || s.block_k() == 1) {
    if (!exact || varies(Property::zero_terms) || varies(Property::zero_exponent)) return false;
    if (!s.scaled.cut && (varies(Property::align_rounding) || varies(Property::product_exponent))) return false;
  }
  if (varies(Property::output_fraction_bits) && fraction_bits(c) >= format(instruction_->d).fraction_bits) return false;
  if (!s.adds_apart() && varies(Property::add_rounding)) return false;
  if (only_blocks && s.blocks.size() == 1 && varies(Property::inner_result)) return false;
  // Adding two numbers of the result's own format through fp32 rounds twice, but no differently from once: fp32 has
  // more than twice the bits and two (Figueroa). Only a wider intermediate result, or c, makes it a datapath of its
  // own.
  if (add_through_fp32(c) && !varies(Property::inner_result) && !narrows()) return false;
  if (get<Property::zero_sign>(c) == ZeroSums::ieee_but_positive_with_c && s.combination != Combination::group_trees)
    return false;
  if (first_rounding(c) && !only_blocks) return false;  // where c is added apart, that is add_rounding's
  // Floors under the alignment are published for sums that take in the accumulator and keep subnormals.
  if (varies(Property::zero_exponent) &&
      (s.adds_apart() || varies(Property::subnormal_inputs) || varies(Property::subnormal_outputs))) {
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
    c = first_of(s);
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
  const ZeroSums zeros = get<Property::zero_sign>(c);
  add.zero_sign = zeros == ZeroSums::positive ? ZeroSign::positive : ZeroSign::ieee;
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
  if (scales()) {
    n.scales = ScaleRule{instruction_->scales.format, instruction_->products_per_scale()};
    if (structure(c).scaled.size > 0) n.units[structure(c).group_role()] = group_unit(c, sum);
    return n;
  }
  if (structure(c).sums_apart()) return numerics_of_sums_apart(c, n);
  if (structure(c).combination == Combination::group_trees) {
    n.units[kFirstAdd] = n.units[kInnerAdd];
    if (zeros == ZeroSums::ieee_but_positive_with_c) n.units[kFirstAdd].zero_sign = ZeroSign::positive;
  }
  return n;
}

/// What sums a scaled group. Terms are cut as those of `sum` are.
Unit Space::group_unit(const Choice& c, const Unit& sum) const {
  Unit group = sum;
  group.fraction_bits = group_bits(c);
  group.zero_exponent = {};
  group.underflow_sign = UnderflowSign::kept;
  group.scaled = true;
  group.scale_exponents_alone = get<Property::group_exponent>(c) == GroupExponent::scales_alone;
  return group;
}

Numerics Space::numerics_of_sums_apart(const Choice& c, Numerics n) const {
  if (get<Property::infinite_products>(c) == InfiniteProducts::yes)
    n.product.infinite_from = format(instruction_->d).max_exponent() + 1;
  Unit products = n.units[kBlockSum];
  products.zero_exponent = {};
  products.result = {};
  Unit halves = products;
  halves.align_rounding = join_rounding(c);

  Unit total = n.units[kBlockSum];
  total.first_fraction_bits = sum_bits(c);
  total.fraction_bits = c_bits(c);
  total.drop_below = get<Property::c_dropped>(c);
  total.align_rounding = join_rounding(c);
  if (const TotalBits& bits = get<Property::total_bits>(c); bits.from != TotalBits::From::all) {
    RoundStep cut;
    cut.fraction_bits = bits.bits;
    cut.from_alignment = bits.from == TotalBits::From::alignment;
    if (!cut.from_alignment) cut.min_exponent = format(instruction_->d).min_exponent();
    cut.rounding = join_rounding(c);
    total.result = {cut, total.result.step[0]};
  }
  n.units[kBlockSum] = n.units[kInnerSum] = total;
  n.units[kProducts] = products;
  n.units[kHalves] = halves;
  return n;
}

Datapath Space::datapath(const Choice& c) const {
  const Structure& s = structure(c);
  const std::array<const char*, 4> role_names = s.sums_apart()
                                                    ? std::array{"accumulate", "accumulate", "products", "halves"}
                                                    : std::array{"sum", "inner_sum", "add", "inner_add"};
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
      const bool first_add = r == kFirstAdd && s.combination == Combination::group_trees;
      const bool group = all.units[r].scaled;
      d.unit_names.emplace_back(first_add ? "first_add" : group ? "group" : role_names[r]);
    }
    role->unit = number[r];
  }
  return d;
}

Choice Space::canonical(const Choice& choice) const {
  if (sums_integers()) return canonical_integers(*this, choice);
  if (scales()) return canonical_scaled(*this, choice);
  return structure(choice).sums_apart() ? canonical_apart(*this, choice) : canonical_floating(*this, choice);
}

bool Space::core_comes_first(const Choice& choice) const { return !scales() || is_first_scaled_core(*this, choice); }

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
