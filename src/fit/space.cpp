#include "space.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <span>

#include <fmt/format.h>

namespace tcnum {
namespace {

constexpr std::array<std::string_view, kProperties> kPropertyNames = {"structure",
                                                                      "operand_format",
                                                                      "product_operation",
                                                                      "fraction_bits",
                                                                      "align_rounding",
                                                                      "product_exponent",
                                                                      "zero_terms",
                                                                      "output_rounding",
                                                                      "output_fraction_bits",
                                                                      "inner_result",
                                                                      "add_rounding",
                                                                      "zero_exponent",
                                                                      "subnormal_inputs",
                                                                      "subnormal_exponent",
                                                                      "subnormal_outputs",
                                                                      "zero_sign",
                                                                      "underflow_sign",
                                                                      "overflow",
                                                                      "nan"};

/// Splits an order of all k into blocks of a size.
std::vector<std::vector<int>> blocks_of(const std::vector<int>& order, int size) {
  std::vector<std::vector<int>> blocks;
  for (std::size_t first = 0; first < order.size(); first += static_cast<std::size_t>(size)) {
    std::vector<int> block(
        order.begin() + static_cast<std::ptrdiff_t>(first),
        order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), first + static_cast<std::size_t>(size))));
    std::sort(block.begin(), block.end());
    blocks.push_back(std::move(block));
  }
  return blocks;
}

struct Order {
  std::string name;
  std::vector<int> k;
};

/// Orders in which hardware might take its products.
std::vector<Order> orders_of(int k) {
  std::vector<Order> orders;
  std::vector<int> ascending(static_cast<std::size_t>(k));
  std::iota(ascending.begin(), ascending.end(), 0);
  orders.push_back({"ascending k", ascending});
  std::vector<int> descending(ascending.rbegin(), ascending.rend());
  orders.push_back({"descending k", descending});
  for (int group = 1; group * 2 < k; group *= 2) {  // groups of `group`, alternately to the first and the second half
    std::vector<int> halves;
    for (int half = 0; half < 2; ++half) {
      for (int i = 0; i < k; ++i) {
        if ((i / group) % 2 == half) halves.push_back(i);
      }
    }
    orders.push_back({fmt::format("interleaved by {}", group), halves});
  }
  if (k >= 4) {
    std::vector<int> strided;
    for (int i = 0; i < k / 2; ++i) strided.insert(strided.end(), {i, i + k / 2});
    orders.push_back({"k and k + K/2 side by side", strided});
  }
  return orders;
}

/// For sums of integers the others are no different from these.
constexpr std::array<Combination, 2> kIntegerCombinations = {Combination::chain, Combination::chain_then_c};
constexpr std::array<Combination, 6> kCombinations = {Combination::chain, Combination::chain_then_c,
                                                      Combination::adds,  Combination::adds_then_c,
                                                      Combination::pairs, Combination::tree_then_c};

/// What a tree computes, written so that trees that only differ in the order of a node's terms are written alike,
/// unless that order matters.
std::string shape(const Tree& tree, bool ordered) {
  std::vector<std::string> nodes;
  for (const Node& node : tree.nodes) {
    std::vector<std::string> terms;
    for (const Term& t : node.terms) {
      switch (t.kind) {
        case Term::Kind::accumulator:
          terms.emplace_back("c");
          break;
        case Term::Kind::product:
          terms.push_back(fmt::format("{}", t.index));
          break;
        case Term::Kind::node:
          terms.push_back(nodes[static_cast<std::size_t>(t.index)]);
          break;
      }
    }
    if (!ordered) std::sort(terms.begin(), terms.end());
    nodes.push_back(fmt::format("{}({})", node.unit, fmt::join(terms, " ")));
  }
  return nodes.empty() ? "" : nodes.back();
}

}  // namespace

std::string_view name(Property property) { return kPropertyNames[static_cast<std::size_t>(property)]; }

int Structure::block_k() const {
  std::size_t most = 0;
  for (const auto& block : blocks) most = std::max(most, block.size());
  return static_cast<int>(most);
}

Structure make_structure(Combination combination, std::vector<std::vector<int>> blocks, std::string order) {
  Structure s;
  s.combination = combination;
  s.order = std::move(order);
  std::vector<Node>& nodes = s.tree.nodes;
  const Term c{Term::Kind::accumulator, 0};
  const auto add_node = [&](int role, std::vector<Term> terms) {
    nodes.push_back({role, std::move(terms)});
    return Term{Term::Kind::node, static_cast<int>(nodes.size()) - 1};
  };
  const auto products = [](const std::vector<int>& block) {
    std::vector<Term> terms;
    for (int k : block) terms.push_back({Term::Kind::product, k});
    return terms;
  };
  const auto add = [&](Term x, Term y) { return add_node(kInnerAdd, {x, y}); };

  if (combination == Combination::chain || combination == Combination::chain_then_c) {
    std::optional<Term> accumulator;
    if (combination == Combination::chain) accumulator = c;
    for (const auto& block : blocks) {
      std::vector<Term> terms = products(block);
      if (accumulator) terms.insert(terms.begin(), *accumulator);
      accumulator = add_node(kInnerSum, std::move(terms));
    }
    if (combination == Combination::chain_then_c) add(c, *accumulator);
  } else {
    std::vector<Term> sums;
    for (const auto& block : blocks) sums.push_back(add_node(kInnerSum, products(block)));
    switch (combination) {
      case Combination::adds: {
        Term total = c;
        for (const Term& t : sums) total = add(total, t);
        break;
      }
      case Combination::adds_then_c: {
        Term total = sums[0];
        for (std::size_t i = 1; i < sums.size(); ++i) total = add(total, sums[i]);
        add(c, total);
        break;
      }
      case Combination::pairs: {
        Term total = c;
        for (std::size_t i = 0; i + 1 < sums.size(); i += 2) total = add(total, add(sums[i], sums[i + 1]));
        if (sums.size() % 2 != 0) add(total, sums.back());
        break;
      }
      case Combination::tree_then_c: {
        while (sums.size() > 1) {
          std::vector<Term> next;
          for (std::size_t i = 0; i + 1 < sums.size(); i += 2) next.push_back(add(sums[i], sums[i + 1]));
          if (sums.size() % 2 != 0) next.push_back(sums.back());
          sums = std::move(next);
        }
        add(c, sums[0]);
        break;
      }
      default:
        break;
    }
  }
  nodes.back().unit = nodes.back().unit == kInnerSum ? kBlockSum : kAdd;
  for (const auto& block : blocks) s.tree.k += static_cast<int>(block.size());
  s.blocks = std::move(blocks);
  return s;
}

Space::Space(const Instruction& instruction) : instruction_(&instruction) {
  const Format& result = format(instruction.d);
  const int k = instruction.products();

  for (const Order& order : orders_of(k)) {
    for (int size = 1; size <= k; size *= 2) add_blocks(blocks_of(order.k, size), order.name);
  }

  operand_formats_ = {instruction.a};
  if (sums_integers()) {
    fraction_bits_ = {kExact};
    zero_exponents_ = {{ZeroExponentKind::none, 0}};
    nans_ = {{.code = 0}};
    overflows_ = {Overflow::wrap, Overflow::max_finite};
    return;
  }
  overflows_ = {Overflow::infinity, Overflow::max_finite};
  // The storage of a tf32 operand is an fp32; whether the hardware looks at its low bits is a property like any other.
  if (instruction.a == FormatId::tf32) operand_formats_.push_back(FormatId::fp32);

  if (result.id == FormatId::fp64) {
    overflows_.push_back(Overflow::ieee);  // of the ways to round of which both of the others are wrong
    for (int bits = 48; bits <= 60; ++bits) fraction_bits_.push_back(bits);
  } else {
    for (int bits = 8; bits <= 32; ++bits) fraction_bits_.push_back(bits);
  }
  fraction_bits_.push_back(kExact);

  // Published zero exponents lie a few powers of two around the smallest normal exponent of the result.
  const int low = result.min_exponent();
  const int reach_down = result.id == FormatId::fp16 ? 12 : 24, reach_up = result.id == FormatId::fp16 ? 4 : 6;
  zero_exponents_.push_back({ZeroExponentKind::none, 0});
  for (int value = low - reach_down; value <= low + reach_up; ++value) {
    zero_exponents_.push_back({ZeroExponentKind::floor, value});
  }
  watch_exponent_ = low + reach_up;

  const std::uint64_t quiet = nan_code(result);
  const std::uint64_t sign = std::uint64_t{1} << (result.storage_bits - 1);
  for (std::uint64_t code : {result.code_mask() & ~sign, quiet, quiet | sign}) nans_.push_back({.code = code});
  if (propagates_nans()) {
    using enum NanOperand;
    for (std::uint64_t code : {result.code_mask() & ~sign, quiet, quiet | sign}) {
      for (const auto& order : std::array<std::array<NanOperand, 3>, 6>{
               {{a, b, c}, {a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}}}) {
        nans_.push_back({code, true, order});
      }
    }
  }
}

void Space::add_blocks(std::vector<std::vector<int>> blocks, const std::string& order) {
  const std::span<const Combination> combinations =
      sums_integers() ? std::span<const Combination>(kIntegerCombinations) : kCombinations;
  // Which of two NaN operands' payloads comes back may depend on the order of the terms; nothing else does.
  const bool ordered = propagates_nans();
  for (Combination combination : combinations) {
    Structure s = make_structure(combination, blocks, blocks.size() == 1 ? "one block" : order);
    if (!shapes_.insert(shape(s.tree, ordered)).second) continue;
    first_with_terms_.try_emplace(shape(s.tree, false), static_cast<int>(structures_.size()));
    structures_.push_back(std::move(s));
  }
}

int Space::first_with_terms_of(const Structure& structure) const {
  const auto found = first_with_terms_.find(shape(structure.tree, false));
  return found == first_with_terms_.end() ? -1 : found->second;
}

const Structure& Space::structure(const Choice& choice) const {
  return structures_[index(choice, Property::structure)];
}

int Space::count(Property property) const {
  using enum Property;
  if (sums_integers() && property != structure && property != product_operation && property != inner_result &&
      property != overflow) {
    return 1;
  }
  switch (property) {
    case Property::structure:
      return static_cast<int>(structures_.size());
    case Property::operand_format:
      return static_cast<int>(operand_formats_.size());
    case Property::product_operation:
      return instruction_->a == FormatId::b1 ? 2 : 1;
    case Property::fraction_bits:
      return static_cast<int>(fraction_bits_.size());
    case Property::align_rounding:
      return static_cast<int>(kAlignRoundings.size());
    case Property::product_exponent:
      return 2;
    case Property::zero_terms:
      return 2;
    case Property::output_rounding:
      return static_cast<int>(kRoundingNames.size()) * (narrows() ? 2 : 1);
    case Property::output_fraction_bits:
      return instruction_->d == FormatId::fp32 ? 2 : 1;
    case Property::inner_result:
      return sums_integers() ? 2 : instruction_->d == FormatId::fp16 ? 3 : 1;
    case Property::add_rounding:
      return instruction_->d == FormatId::fp16 ? 3 : 2;
    case Property::zero_exponent:
      return static_cast<int>(zero_exponents_.size());
    case Property::subnormal_exponent:
      return widens() ? 3 : 2;
    case Property::subnormal_inputs:
    case Property::subnormal_outputs:
    case Property::zero_sign:
    case Property::underflow_sign:
      return 2;
    case Property::overflow:
      return static_cast<int>(overflows_.size());
    case Property::nan:
      return static_cast<int>(nans_.size());
  }
  return 0;
}

int Space::output_fraction_bits(const Choice& c) const {
  const int full = format(instruction_->d).fraction_bits;
  // Value 1: the sum keeps no more bits than its terms.
  return value(c, Property::output_fraction_bits) == 0 ? full : std::min(full, fraction_bits(c));
}

bool Space::contains(const Choice& c) const {
  const Structure& s = structure(c);
  const bool exact = fraction_bits(c) == kExact;
  const bool only_blocks = s.combination == Combination::chain;
  // Blocks of one product are FMAs, or products rounded by themselves: nothing is aligned and cut.
  if (exact || s.block_k() == 1) {
    if (!exact || value(c, Property::align_rounding) != 0 || value(c, Property::product_exponent) != 0 ||
        value(c, Property::zero_terms) != 0 || value(c, Property::zero_exponent) != 0) {
      return false;
    }
  }
  if (value(c, Property::output_fraction_bits) != 0 && fraction_bits(c) >= format(instruction_->d).fraction_bits)
    return false;
  if (only_blocks && value(c, Property::add_rounding) != 0) return false;
  if (s.tree.nodes.size() == 1 && value(c, Property::inner_result) != 0) return false;
  // Adding two numbers of the result's own format through fp32 rounds twice, but no differently from once: fp32 has
  // more than twice the bits and two (Figueroa). Only a wider intermediate result, or c, makes it a datapath of its
  // own.
  if (kAddSteps[index(c, Property::add_rounding)].through_fp32 && value(c, Property::inner_result) == kInnerSame &&
      !narrows())
    return false;
  if (first_rounding(c) && !only_blocks) return false;  // where c is added apart, that is add_rounding's
  // Floors under the alignment are published for sums that take in the accumulator and keep subnormals.
  if (value(c, Property::zero_exponent) != 0 &&
      (!only_blocks || value(c, Property::subnormal_inputs) != 0 || value(c, Property::subnormal_outputs) != 0)) {
    return false;
  }
  // Zeros that take part in the alignment show that it goes by exponents as they are, not by leading bits of products.
  if (value(c, Property::zero_terms) != 0 &&
      (value(c, Property::zero_exponent) != 0 || value(c, Property::product_exponent) != 0)) {
    return false;
  }
  return true;
}

double Space::size() const {
  // Over the properties that restrict each other, by counting; the others multiply.
  double total = 0;
  Choice c{};
  for (int s = 0; s < count(Property::structure); ++s) {
    set(c, Property::structure, s);
    for (int f = 0; f < count(Property::fraction_bits); ++f) {
      set(c, Property::fraction_bits, f);
      double here = count(Property::operand_format) * count(Property::product_operation);
      const auto allowed = [&](Property p) {
        int n = 0;
        Choice x = c;
        for (int v = 0; v < count(p); ++v) {
          set(x, p, v);
          n += contains(x) ? 1 : 0;
        }
        return n;
      };
      here *= allowed(Property::align_rounding) * allowed(Property::product_exponent) *
              allowed(Property::output_rounding) * allowed(Property::output_fraction_bits) *
              allowed(Property::inner_result) * allowed(Property::add_rounding);
      // zero_terms and zero_exponent exclude each other
      here *= allowed(Property::zero_exponent) + allowed(Property::zero_terms) - 1;
      for (Property p : {Property::subnormal_inputs, Property::subnormal_exponent, Property::subnormal_outputs,
                         Property::zero_sign, Property::underflow_sign, Property::overflow, Property::nan}) {
        here *= count(p);
      }
      total += here;
    }
  }
  return total;
}

RoundSteps Space::output_steps(const Choice& c) const {
  RoundStep s = round_to(format(instruction_->d), output_rounding(c), overflow(c),
                         static_cast<Subnormals>(value(c, Property::subnormal_outputs)));
  s.fraction_bits = output_fraction_bits(c);
  if (const auto first = first_rounding(c)) {
    return {round_to(format(instruction_->c), *first, overflow(c), s.subnormals), s};
  }
  return {s};
}

RoundSteps Space::inner_steps(const Choice& c) const {
  const int inner = value(c, Property::inner_result);
  if (inner == kInnerSame) return output_steps(c);
  if (sums_integers()) return {round_to(format(instruction_->d), output_rounding(c), inner_overflow(c))};
  return {round_to(format(FormatId::fp32),
                   inner == kInnerFp32TowardZero ? Rounding::toward_zero : Rounding::nearest_even, overflow(c),
                   static_cast<Subnormals>(value(c, Property::subnormal_outputs)))};
}

Numerics Space::numerics(const Choice& c) const {
  Numerics n;
  const int normalised = value(c, Property::subnormal_exponent);
  const auto exponent = [](bool leading) {
    return leading ? SubnormalExponent::normalised : SubnormalExponent::minimum;
  };
  const OperandRule rule{FormatId::fp16, static_cast<Subnormals>(value(c, Property::subnormal_inputs)),
                         exponent(normalised == kAllNormalised)};
  n.a = n.b = n.c = rule;
  n.c.subnormal_exponent = exponent(normalised != kNoneNormalised);
  n.a.format = operand_formats_[index(c, Property::operand_format)];
  n.b.format = instruction_->b == instruction_->a ? n.a.format : instruction_->b;
  n.c.format = instruction_->c;
  n.result = instruction_->d;
  n.product.operation = product_operation(c);
  n.product.exponent = product_exponent(c);
  n.nan = nan(c);

  Unit sum;
  sum.fraction_bits = fraction_bits(c);
  sum.align_rounding = align_rounding(c);
  sum.zero_exponent =
      value(c, Property::zero_terms) != 0 ? ZeroExponent{ZeroExponentKind::natural, 0} : zero_exponent(c);
  sum.zero_sign = static_cast<ZeroSign>(value(c, Property::zero_sign));
  sum.underflow_sign = static_cast<UnderflowSign>(value(c, Property::underflow_sign));
  Unit add;
  add.zero_sign = sum.zero_sign;
  add.underflow_sign = sum.underflow_sign;

  const AddStep& step = kAddSteps[index(c, Property::add_rounding)];
  const auto subnormals = static_cast<Subnormals>(value(c, Property::subnormal_outputs));
  const RoundStep to_result = round_to(format(instruction_->d), step.rounding, overflow(c), subnormals);
  const RoundStep to_fp32 = round_to(format(FormatId::fp32), step.rounding, overflow(c), subnormals);

  n.units[kBlockSum] = sum;
  n.units[kBlockSum].result = output_steps(c);
  n.units[kInnerSum] = sum;
  n.units[kInnerSum].result = inner_steps(c);
  n.units[kAdd] = add;
  n.units[kAdd].result = step.through_fp32 ? RoundSteps{to_fp32, to_result} : RoundSteps{to_result};
  n.units[kInnerAdd] = add;
  n.units[kInnerAdd].result =
      value(c, Property::inner_result) == kInnerSame ? RoundSteps{to_result} : RoundSteps{to_fp32};
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

bool Space::observable(const Choice& choice, Property property) const {
  const Choice here = canonical(choice);
  for (int v = 0; v < count(property); ++v) {
    Choice other = choice;
    set(other, property, v);
    if (contains(other) && canonical(other) != here) return true;
  }
  return false;
}

std::string Space::value_text(Property property, int v) const {
  const auto i = static_cast<std::size_t>(v);
  switch (property) {
    case Property::structure: {
      const Structure& s = structures_[i];
      static constexpr std::array<const char*, 6> kWords = {"c inside, blocks in a chain",
                                                            "blocks in a chain, c added at the end",
                                                            "block sums added to c one by one",
                                                            "block sums added one by one, c at the end",
                                                            "block sums added in pairs, pairs to c one by one",
                                                            "block sums added in a tree, c at the end"};
      return fmt::format("{} block{} of {}, {}; {}", s.blocks.size(), s.blocks.size() == 1 ? "" : "s", s.block_k(),
                         s.order, kWords[static_cast<std::size_t>(s.combination)]);
    }
    case Property::operand_format:
      return std::string(format(operand_formats_[i]).name);
    case Property::product_operation: {
      if (v != 0) return "xor";
      return instruction_->a == FormatId::b1 ? "and" : "multiply";
    }
    case Property::fraction_bits:
      return fraction_bits_[i] == kExact ? "exact" : std::to_string(fraction_bits_[i]);
    case Property::align_rounding:
      return std::string(name(kAlignRoundings[i]));
    case Property::product_exponent:
      return v == 0 ? "sum" : "normalised";
    case Property::zero_terms:
      return v == 0 ? "ignored" : "natural";
    case Property::output_rounding:
      if (i < kRoundingNames.size()) return std::string(kRoundingNames[i]);
      return fmt::format("{} to {}, then nearest_even", kRoundingNames[i - kRoundingNames.size()],
                         format(instruction_->c).name);
    case Property::output_fraction_bits:
      return v == 0 ? std::to_string(format(instruction_->d).fraction_bits) : "fraction_bits";
    case Property::inner_result: {
      if (sums_integers()) return v == kInnerSame ? "as the output" : "not as the output";
      static constexpr std::array<const char*, 3> kInner = {"as the output", "fp32, toward_zero", "fp32, nearest_even"};
      return kInner[i];
    }
    case Property::add_rounding:
      return std::string(name(kAddSteps[i].rounding)) + (kAddSteps[i].through_fp32 ? ", through fp32" : "");
    case Property::zero_exponent: {
      const ZeroExponent& z = zero_exponents_[i];
      if (z.kind == ZeroExponentKind::none) return "none";
      return fmt::format("{}{}", z.value, z.kind == ZeroExponentKind::zeros ? " (zero terms only)" : "");
    }
    case Property::subnormal_inputs:
    case Property::subnormal_outputs:
      return v == 0 ? "kept" : "flushed";
    case Property::subnormal_exponent: {
      static constexpr std::array<const char*, 3> kExponents = {"minimum", "normalised", "minimum, c's normalised"};
      return kExponents[i];
    }
    case Property::zero_sign:
      return v == 0 ? "positive" : "ieee";
    case Property::underflow_sign:
      return v == 0 ? "kept" : "positive";
    case Property::overflow: {
      static constexpr std::array<const char*, 4> kOverflowNames = {"ieee", "infinity", "max_finite", "wrap"};
      return kOverflowNames[static_cast<std::size_t>(overflows_[i])];
    }
    case Property::nan: {
      const NanRule& n = nans_[i];
      const int digits = format(instruction_->d).storage_bits / 4;
      std::string text = fmt::format("{:#0{}x}", n.code, digits + 2);
      if (n.propagate) {
        text += "; a NaN operand's payload comes back, first of";
        for (NanOperand o : n.order) text += fmt::format(" {}", "abc"[static_cast<int>(o)]);
      }
      return text;
    }
  }
  return {};
}

}  // namespace tcnum
