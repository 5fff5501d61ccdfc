#include "requirements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <initializer_list>

#include "emu/cpu/requirements.hpp"
#include "emu/fma_chain.hpp"
#include "emu/integer_sums.hpp"
#include "emu/required_formats.hpp"
#include "emu/rounding_steps.hpp"
#include "emu/units.hpp"
#include "terms.hpp"

namespace tcnum::gpu {
namespace {

/// Significands of products, shifted as far up as alignment can ask, fit 30 bits.
constexpr int kProductBits = 30;
/// Of operands: the high word of a double has them.
constexpr int kOperandBits = 20;
/// Products of a datapath whose signs are the bits of a word, for patches.
constexpr int kPatchProducts = 32;
/// Largest alignment exponent less fraction bits, for patches: doubles have sums of up to 2^52 units.
constexpr int kPatchUnit = 971;

struct Requirement {
  bool holds;
  WhyNot otherwise;
};
/// Of the first that does not hold.
WhyNot first_failure(std::initializer_list<Requirement> requirements) {
  for (const Requirement& each : requirements) {
    if (!each.holds) return each.otherwise;
  }
  return {};
}

const Unit& unit_of(const Numerics& numerics, const SortedNode& node) {
  return numerics.units[static_cast<std::size_t>(node.unit)];
}

/// What a GpuDatapath has room for.
WhyNot why_no_gpu_datapath(const Numerics& numerics, const SortedTree& tree) {
  if (const WhyNot why_not = why_no_own_formats(numerics); !why_not.empty()) return why_not;
  const bool few_others = std::ranges::all_of(
      tree.nodes, [](const SortedNode& node) { return node.others.size() <= GpuNode::kMostOthers; });
  return first_failure({
      {!numerics.scales, "it has block scales"},
      {tree.tree.k <= GpuDatapath::kMostProducts, "it has too many products"},
      {tree.nodes.size() <= GpuDatapath::kMostNodes, "it has too many sums"},
      {few_others, "a sum has more than two terms that are no products"},
  });
}

/// What is asked of numbers whose products nothing is done to before they are added, unless they are 2^infinite or
/// more.
WhyNot why_no_plain_products(const Numerics& n, int infinite = kUnbounded) {
  if (const WhyNot why_not = why_no_signs(n); !why_not.empty()) return why_not;
  return first_failure({
      {n.product.exponent == ProductExponent::sum && n.product.operation == ProductOperation::multiply &&
           n.product.round.empty() && n.product.infinite_from.value_or(kUnbounded) >= infinite,
       "its products are rounded, limited or aligned by their leading bits"},
      {!n.nan.propagate, "its NaNs keep their operands' payloads"},
  });
}
/// And of those that patches cut.
WhyNot why_no_patch_products(const Numerics& n, const SortedTree& tree, int infinite = kUnbounded) {
  if (const WhyNot why_not = why_no_plain_products(n, infinite); !why_not.empty()) return why_not;
  const Format &a = format(n.a.format), &b = format(n.b.format);
  return first_failure({
      {a.fraction_bits + b.fraction_bits + 2 <= kProductBits && a.fraction_bits <= kOperandBits &&
           b.fraction_bits <= kOperandBits,
       "its operands have too many bits"},
      {tree.tree.k <= kPatchProducts, "it has too many products"},
      {tree.nodes.size() <= GpuDatapath::kMostPatchNodes, "it has too many sums"},
  });
}

bool has_exponents_of(const RoundStep& s, const Format& f) {
  return s.min_exponent == f.min_exponent() && s.max_exponent == f.max_exponent() && !s.from_alignment;
}
/// Small results may be flushed afterwards.
bool rounds_to_nearest_normal(const RoundStep& s, const Format& f) {
  return has_exponents_of(s, f) && s.fraction_bits == f.fraction_bits && s.rounding == Rounding::nearest_even &&
         (s.overflow == Overflow::infinity || s.overflow == Overflow::ieee);
}
bool rounds_to_nearest(const RoundStep& s, const Format& f) {
  return rounds_to_nearest_normal(s, f) && s.subnormals == Subnormals::kept;
}
bool rounds_toward_zero(const RoundStep& s, const Format& f) {
  return has_exponents_of(s, f) && s.subnormals == Subnormals::kept && s.fraction_bits <= f.fraction_bits &&
         s.rounding == Rounding::toward_zero && s.overflow != Overflow::wrap;
}

bool has_low_floor(const Unit& unit, int most) {
  const ZeroExponent& zero = unit.zero_exponent;
  return zero.kind == ZeroExponentKind::none || (zero.kind == ZeroExponentKind::floor && zero.value <= most);
}
/// Whether all terms are cut alike, if they are.
bool is_uniform(const Unit& unit) { return !unit.first_fraction_bits && !unit.drop_below; }
bool is_exact(const Unit& unit) { return unit.fraction_bits == kExact && is_uniform(unit); }
bool cuts_toward_zero(const Unit& unit) { return is_uniform(unit) && unit.align_rounding == Rounding::toward_zero; }
bool takes_fp32(const Numerics& n) {
  return n.c.format == FormatId::fp32 && n.c.subnormals == Subnormals::kept && n.result == FormatId::fp32;
}
/// Whether a node takes no others than c and the result of the node before it.
bool is_in_order(const SortedTree& tree, std::size_t number) {
  return std::ranges::all_of(tree.nodes[number].others, [&](const Term& t) {
    return t.kind == Term::Kind::accumulator || t == Term{Term::Kind::node, static_cast<int>(number) - 1};
  });
}

/// What patches ask of a node. `before`: the format of the result before, or of c.
WhyNot why_no_patch(const SortedNode& node, const Unit& unit, const RoundingOfPatch& rounding, FormatId c,
                    FormatId before) {
  if (unit.fraction_bits != kExact) {
    return first_failure({
        {unit.fraction_bits + 2 <= kProductBits, "a sum keeps too many fraction bits"},
        {cuts_toward_zero(unit), "its terms are not cut toward zero, all alike"},
        {has_low_floor(unit, kPatchUnit + unit.fraction_bits),
         "its zeros take part in alignment, or the floor under one is too high"},
    });
  }
  // The sum of two numbers of a format is rounded as the machine's own additions are: of c and the result before.
  const bool of_halves = rounding.rounding == PatchRounding::fp16_nearest && c == FormatId::fp16 && before == c;
  const bool own = (rounding.rounding == PatchRounding::fp32_nearest || of_halves) && node.products.empty() &&
                   node.others.size() == 2 && is_uniform(unit) && unit.underflow_sign == UnderflowSign::kept;
  return own ? WhyNot() : "an exact sum is none of the machine's own additions";
}

}  // namespace

std::optional<RoundingOfPatch> rounding_of_patch(const Unit& unit) {
  constexpr Format kFp32 = format(FormatId::fp32), kFp16 = format(FormatId::fp16);
  const auto& steps = unit.result.step;
  if (unit.result.count == 1 && rounds_toward_zero(steps[0], kFp32))
    return RoundingOfPatch{PatchRounding::fp32_toward_zero, FormatId::fp32};
  if (unit.result.count == 1 && rounds_to_nearest(steps[0], kFp32))
    return RoundingOfPatch{PatchRounding::fp32_nearest, FormatId::fp32};
  if (unit.result.count == 1 && rounds_to_nearest(steps[0], kFp16))
    return RoundingOfPatch{PatchRounding::fp16_nearest, FormatId::fp16};
  if (unit.result.count == 2 && rounds_toward_zero(steps[0], kFp32) && steps[0].fraction_bits == kFp32.fraction_bits &&
      rounds_to_nearest(steps[1], kFp16))
    return RoundingOfPatch{PatchRounding::fp16_nearest_of_fp32, FormatId::fp16};
  return std::nullopt;
}

namespace {

/// Whether its numbers, in units of the last place of the smallest, are integers of a byte.
bool is_of_bytes(const Format& f) {
  constexpr int kBits = 7;
  return f.max_exponent() - f.min_exponent() + f.fraction_bits + 1 <= kBits;
}

}  // namespace

WhyNot why_no_scaled_patches(const Numerics& numerics, const SortedTree& tree) {
  if (!numerics.scales) return "it has no block scales";
  if (scales_sums(numerics)) return "it scales sums, not products";
  if (is_own(numerics.scales->format)) return "its scales are of a format of its own";
  constexpr int kBits = 8;  // with which doubles have operands times scales, and 16 bits their exponents
  if (format(numerics.a.format).storage_bits > kBits || format(numerics.b.format).storage_bits > kBits)
    return "its scaled operands are wide";
  Numerics unscaled = numerics;
  unscaled.scales.reset();
  return why_no_patches(unscaled, tree);
}

namespace {

/// What is asked of a node whose exact sum is scaled.
WhyNot why_no_scaled_sum(const SortedNode& node, const Unit& unit) {
  constexpr std::size_t kMostProducts = 32;
  return first_failure({
      {unit.scaled && node.others.empty() && node.products.size() <= kMostProducts, "it scales some of its sums only"},
      {is_exact(unit) && unit.result.empty() && unit.zero_exponent.kind == ZeroExponentKind::none,
       "its scaled sums are not exact"},
      {unit.scale_exponents_alone, "its scaled sums are aligned by their products, too"},
  });
}

/// Bits of all of a k-step's scaled sums together, and c, above the power of two of their scales.
int bits_of_scaled_sums(const Numerics& n, int products) {
  const auto largest = [](const Format& f) {
    const Decoded d = decode(f, max_finite_code(f, false));
    return std::ldexp(static_cast<double>(d.significand), d.exponent - f.fraction_bits);
  };
  const double significands = std::pow(2 - std::ldexp(1, -format(n.scales->format).fraction_bits), 2), c = 2;
  const double sum = products * largest(format(n.a.format)) * largest(format(n.b.format)) * significands + c;
  return static_cast<int>(std::ceil(std::log2(sum)));
}

/// And of the one that adds these to c.
WhyNot why_no_sum_of_scaled(const Numerics& n, const SortedTree& tree) {
  constexpr int kMostSumBits = 49, kMostUnit = 600;
  const SortedNode& last = tree.nodes.back();
  const Unit& unit = unit_of(n, last);
  const auto rounding = rounding_of_patch(unit);
  return first_failure({
      {!unit.scaled && last.products.empty() && last.others.size() == tree.nodes.size(),
       "its last sum is not that of c and its scaled sums"},
      {unit.fraction_bits + bits_of_scaled_sums(n, tree.tree.k) <= kMostSumBits, "a sum keeps too many fraction bits"},
      {cuts_toward_zero(unit) && has_low_floor(unit, kMostUnit), "its terms are not cut toward zero, all alike"},
      {rounding && rounding->result == n.result && !outgrow_exponent(unit.result),
       "a sum is not rounded as the machine converts"},
      {unit.zero_sign == ZeroSign::positive, "its zeros may be negative"},
  });
}

}  // namespace

WhyNot why_no_scaled_sums(const Numerics& numerics, const SortedTree& tree) {
  if (const WhyNot why_not = why_no_own_formats(numerics); !why_not.empty()) return why_not;
  if (!numerics.scales) return "it has no block scales";
  if (!scales_sums(numerics)) return "it scales products, not sums";
  if (const WhyNot why_not = why_no_plain_products(numerics); !why_not.empty()) return why_not;
  const Format &a = format(numerics.a.format), &b = format(numerics.b.format);
  constexpr std::size_t kMostSums = 9;
  const WhyNot why_not = first_failure({
      {tree.tree.k <= GpuDatapath::kMostProducts, "it has too many products"},
      {tree.nodes.size() <= kMostSums, "it has too many sums"},
      {is_of_bytes(a) && is_of_bytes(b), "its operands are no integers of a byte, in any unit"},
      {a.non_finite == NonFinite::none && b.non_finite == NonFinite::none, "its scaled sums may be infinite or NaN"},
      {(numerics.c.format == FormatId::fp32 || numerics.c.format == FormatId::fp16) &&
           numerics.c.subnormals == Subnormals::kept,
       "its c is neither fp32 nor fp16, or flushed"},
  });
  if (!why_not.empty()) return why_not;
  for (std::size_t i = 0; i + 1 < tree.nodes.size(); ++i) {
    const WhyNot of_node = why_no_scaled_sum(tree.nodes[i], unit_of(numerics, tree.nodes[i]));
    if (!of_node.empty()) return of_node;
  }
  return why_no_sum_of_scaled(numerics, tree);
}

/// Exact sums one after the other, each rounded to fp32. The machine's FMAs take products of fp32 as they are, and fp64
/// is wide enough that none of their sums overflows or underflows.
WhyNot why_no_brackets(const Numerics& numerics, const SortedTree& tree) {
  if (const WhyNot why_not = why_no_terms(numerics, tree); !why_not.empty()) return why_not;  // what is left over
  if (const WhyNot why_not = why_no_plain_products(numerics); !why_not.empty()) return why_not;
  if (format(numerics.a.format).storage_bits > 32 || format(numerics.b.format).storage_bits > 32)
    return "its factors are no numbers of fp32";
  if (!takes_fp32(numerics)) return "its c and result are not fp32, or subnormals of c are flushed";
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const Unit& unit = unit_of(numerics, tree.nodes[i]);
    const WhyNot of_node = first_failure({
        {is_in_order(tree, i) && !tree.nodes[i].others.empty(),
         "a sum takes another than c or the result before, or neither"},
        {is_exact(unit), "a sum is not exact"},
        {unit.result.count == 1 && rounds_to_nearest(unit.result.step[0], format(FormatId::fp32)) &&
             unit.underflow_sign == UnderflowSign::kept,
         "a sum is not rounded as the machine converts"},
    });
    if (!of_node.empty()) return of_node;
  }
  return {};
}

WhyNot why_no_fma_chain(const Numerics& numerics, const SortedTree& tree) {
  const WhyNot why_not = why_no_gpu_datapath(numerics, tree);
  return why_not.empty() ? tcnum::why_no_fma_chain(numerics, tree) : why_not;
}

/// Four integers of 8 bits are a word, side by side along k.
WhyNot why_no_integers(const Numerics& numerics, const SortedTree& tree) {
  constexpr int kBits = 8;
  if (const WhyNot why_not = why_no_gpu_datapath(numerics, tree); !why_not.empty()) return why_not;
  if (const WhyNot why_not = why_no_integer_sums(numerics, tree); !why_not.empty()) return why_not;
  if (format(numerics.a.format).storage_bits > kBits || format(numerics.b.format).storage_bits > kBits)
    return "its operands have more than 8 bits";
  if (numerics.c.format != FormatId::s32 || numerics.result != FormatId::s32) return "c or its results are not s32";
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const SortedNode& node = tree.nodes[i];
    const bool in_words = node.products.empty() || (node.contiguous && node.products[0] % 4 == 0);
    if (!is_in_order(tree, i)) return "a sum takes the result of another than the one before";
    if (!in_words || node.products.size() % 4 != 0) return "its products are not added in fours, side by side";
  }
  return {};
}

/// All products and sums are the machine's operations in single precision: additions, and of a product that is not
/// rounded before FMAs. The last sum may then be rounded to fp16.
WhyNot why_no_single_precision(const Numerics& numerics, const SortedTree& tree) {
  if (const WhyNot why_not = why_no_gpu_datapath(numerics, tree); !why_not.empty()) return why_not;
  constexpr Format kFp32 = format(FormatId::fp32), kFp16 = format(FormatId::fp16);
  const auto is_part_of_fp32 = [](FormatId id) {
    return id == FormatId::fp32 || id == FormatId::tf32 || id == FormatId::bf16 || id == FormatId::fp16;
  };
  const FormatId a = numerics.a.format, b = numerics.b.format, c = numerics.c.format;
  const RoundSteps& of_products = numerics.product.round;
  const bool rounds_products = of_products.count == 1 && rounds_to_nearest_normal(of_products.step[0], kFp32);
  const WhyNot why_not = first_failure({
      {is_part_of_fp32(a) && is_part_of_fp32(b), "its factors are none of fp32, tf32, bf16 and fp16"},
      {c == FormatId::fp32 || c == FormatId::fp16, "its c is neither fp32 nor fp16"},
      {numerics.product.operation == ProductOperation::multiply && !numerics.product.infinite_from &&
           (of_products.empty() || rounds_products),
       "its products are limited, or not rounded as fp32 is"},
      {!numerics.nan.propagate, "its NaNs keep their operands' payloads"},
  });
  if (!why_not.empty()) return why_not;
  const bool fp32_has_products = rounds_products || (a == FormatId::fp16 && b == FormatId::fp16);
  for (const SortedNode& node : tree.nodes) {
    const Unit& unit = unit_of(numerics, node);
    const auto& steps = unit.result.step;
    const bool last = &node == &tree.nodes.back();
    const bool to_half =
        last && numerics.result == FormatId::fp16 && unit.result.count == 2 && rounds_to_nearest(steps[1], kFp16);
    const bool to_single = unit.result.count == 1 && (!last || numerics.result == FormatId::fp32);
    const bool is_operation = is_exact(unit) && node.terms.size() <= 2 && unit.underflow_sign == UnderflowSign::kept &&
                              (to_half || to_single) && rounds_to_nearest_normal(steps[0], kFp32);
    if (!is_operation) return "a sum is none of the machine's own fp32 operations";
    if (node.products.size() == 2 && !fp32_has_products) return "it adds two products that fp32 does not hold";
  }
  return {};
}

/// What 128 bits hold, and exponents that bound what a sum may span.
WhyNot why_no_terms(const Numerics& numerics, const SortedTree& tree) {
  if (const WhyNot why_not = why_no_gpu_datapath(numerics, tree); !why_not.empty()) return why_not;
  if (const WhyNot why_not = cpu::why_not_node_by_node(numerics, tree); !why_not.empty()) return why_not;
  const auto is_near = [](int exponent) { return std::abs(exponent) <= kMostTermExponent; };
  const auto are_near = [&](const RoundSteps& steps) {
    return std::ranges::all_of(steps, [&](const RoundStep& s) {
      return (is_near(s.min_exponent) || s.min_exponent == -kUnbounded) &&
             (is_near(s.max_exponent) || s.max_exponent == kUnbounded);
    });
  };
  for (const Unit& unit : numerics.units) {
    if (!are_near(unit.result) || !is_near(unit.zero_exponent.value))
      return "a sum has exponents further off than fp64's";
  }
  return are_near(numerics.product.round) ? WhyNot() : "a product has exponents further off than fp64's";
}

/// Chains of accumulations: all steps with the same rules.
std::vector<Accumulation> accumulations_of(const SortedTree& tree) {
  const auto at = [&](int node) -> const SortedNode& { return tree.nodes[static_cast<std::size_t>(node)]; };
  const auto is_of_products = [&](const Term& t) {
    return t.kind == Term::Kind::node && at(t.index).others.empty() && !at(t.index).products.empty();
  };
  const auto is_of_two = [&](const Term& t) {
    return t.kind == Term::Kind::node && at(t.index).products.empty() && at(t.index).others.size() == 2;
  };
  std::vector<Accumulation> all;
  for (Term sum{Term::Kind::node, static_cast<int>(tree.nodes.size()) - 1}; sum.kind != Term::Kind::accumulator;) {
    if (!is_of_two(sum)) return {};
    Accumulation each;
    each.sum = sum.index;
    const Term &first = at(sum.index).others[0], &before = at(sum.index).others[1];
    if (is_of_products(first)) {
      each.products[0] = first.index;
    } else {
      if (!is_of_two(first)) return {};
      const SortedNode& pair = at(first.index);
      if (!is_of_products(pair.others[0]) || !is_of_products(pair.others[1])) return {};
      each.pair = first.index;
      each.products = {pair.others[0].index, pair.others[1].index};
    }
    all.insert(all.begin(), each);
    sum = before;
  }
  const auto unit = [&](int node) { return node < 0 ? -1 : at(node).unit; };
  const bool alike = std::ranges::all_of(all, [&](const Accumulation& x) {
    return unit(x.sum) == unit(all[0].sum) && unit(x.pair) == unit(all[0].pair) &&
           unit(x.products[0]) == unit(all[0].products[0]) &&
           (x.pair < 0 || unit(x.products[1]) == unit(x.products[0]));
  });
  return alike ? all : std::vector<Accumulation>();
}

namespace {

/// What accumulations ask of the unit that adds c.
WhyNot why_no_sum_with_c(const Unit& unit) {
  constexpr int kFractionBits = 40;  // of a sum that is below 2^51 units
  const int first = unit.first_fraction_bits.value_or(unit.fraction_bits), steps = unit.result.count;
  const RoundStep& cut = unit.result.step[0];
  const bool is_cut = steps == 2;
  const bool to_fp32 =
      (steps == 1 || is_cut) && rounds_to_nearest(unit.result.step[is_cut ? 1 : 0], format(FormatId::fp32));
  constexpr int kWordBits = 32;
  const bool is_below_alignment = cut.from_alignment && first - cut.fraction_bits < kWordBits;
  const bool is_below_leading = !cut.from_alignment && cut.min_exponent <= Accumulations::kMostExponent;
  return first_failure({
      {unit.align_rounding == Rounding::down && unit.fraction_bits <= first && first <= kFractionBits,
       "c or a sum of products is not cut down, or c is cut at more bits, or they keep too many"},
      {to_fp32, "a sum with c is not rounded to nearest fp32"},
      {!is_cut ||
           (cut.rounding == Rounding::down && cut.subnormals == Subnormals::kept && cut.max_exponent == kUnbounded &&
            cut.fraction_bits <= kFractionBits && (is_below_alignment || is_below_leading)),
       "a sum with c is cut first, but not down"},
      {unit.underflow_sign == UnderflowSign::kept, "a sum that becomes zero loses its sign"},
  });
}

}  // namespace

/// Sums of products alone, or of two such sums, that go on unrounded to the sum with c, one after the other.
WhyNot why_no_accumulations(const Numerics& numerics, const SortedTree& tree) {
  if (const WhyNot why_not = why_no_terms(numerics, tree); !why_not.empty()) return why_not;  // what is left over
  const WhyNot why_not = why_no_patch_products(numerics, tree, Accumulations::kMostExponent + 2);
  if (!why_not.empty()) return why_not;
  const std::vector<Accumulation> all = accumulations_of(tree);
  if (all.empty()) return "its sums are not added to c one after the other, by the same rules";
  if (!takes_fp32(numerics) || numerics.c.subnormal_exponent != SubnormalExponent::minimum)
    return "its c and result are not fp32, or subnormals of c are flushed or aligned by their leading bits";
  const auto unit_at = [&](int node) -> const Unit& {
    return unit_of(numerics, tree.nodes[static_cast<std::size_t>(node)]);
  };
  const Unit &of_products = unit_at(all[0].products[0]), &of_sum = unit_at(all[0].sum);
  constexpr int kSumBits = 31;  // of a magnitude that an int has
  std::size_t most = 0;
  for (const Accumulation& x : all) {
    std::size_t count = 0;
    for (const int node : x.products) {
      if (node >= 0) count += tree.nodes[static_cast<std::size_t>(node)].products.size();
    }
    most = std::max(most, count);
  }
  const WhyNot of_units = first_failure({
      {cuts_toward_zero(of_products) && of_products.result.empty(),
       "products are not cut toward zero, or some unlike others, or their sum is rounded"},
      {of_products.fraction_bits + 2 + std::bit_width(most - 1) <= kSumBits, "a sum of products keeps too many bits"},
      {has_low_floor(of_products, Accumulations::kMostExponent) && has_low_floor(of_sum, Accumulations::kMostExponent),
       "its zeros take part in alignment, or the floor under one is too high"},
  });
  if (!of_units.empty()) return of_units;
  if (all[0].pair >= 0) {
    const Unit& pair = unit_at(all[0].pair);
    const bool fits = pair.align_rounding == Rounding::down && pair.fraction_bits == of_products.fraction_bits &&
                      is_uniform(pair) && pair.result.empty() && has_low_floor(pair, Accumulations::kMostExponent);
    if (!fits) return "two sums of products are not cut down where they were, or their sum is rounded";
  }
  return why_no_sum_with_c(of_sum);
}

WhyNot why_no_patches(const Numerics& numerics, const SortedTree& tree) {
  if (const WhyNot why_not = why_no_gpu_datapath(numerics, tree); !why_not.empty()) return why_not;
  if (const WhyNot why_not = why_no_patch_products(numerics, tree); !why_not.empty()) return why_not;
  const Format &a = format(numerics.a.format), &b = format(numerics.b.format);
  const FormatId c = numerics.c.format;
  const WhyNot why_not = first_failure({
      {a.non_finite != NonFinite::nan_negative_zero && b.non_finite != NonFinite::nan_negative_zero,
       "its operands' negative zero is a NaN"},
      {c == FormatId::fp32 || c == FormatId::fp16, "its c is neither fp32 nor fp16"},
      {numerics.c.subnormals == Subnormals::kept, "subnormals of c are flushed"},
      {unit_of(numerics, tree.nodes.back()).zero_sign == ZeroSign::positive, "its zeros may be negative"},
  });
  if (!why_not.empty()) return why_not;
  FormatId before = c;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const SortedNode& node = tree.nodes[i];
    const Unit& unit = unit_of(numerics, node);
    if (!is_in_order(tree, i)) return "a sum takes the result of another than the one before";
    const auto rounding = rounding_of_patch(unit);
    if (!rounding) return "a sum is not rounded as the machine converts";
    if (const WhyNot of_node = why_no_patch(node, unit, *rounding, c, before); !of_node.empty()) return of_node;
    before = rounding->result;
  }
  return before == numerics.result ? WhyNot() : "its result is of another format than its last sum";
}

}  // namespace tcnum::gpu
