#include "gpu_datapath.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "conversions.hpp"
#include "emu/fma_chain.hpp"

namespace tcnum {
namespace {

/// Significands of products, shifted as far up as alignment can ask, fit 30 bits.
constexpr int kProductBits = 30;
/// Of operands: the high word of a double has them.
constexpr int kOperandBits = 20;
/// Of results that later nodes take: 32 bits hold them.
constexpr int kResultBits = 31;

struct NotOnGpu {
  std::string why;
};
void require(bool holds, const char* otherwise) {
  if (!holds) throw NotOnGpu{otherwise};
}

void check_sums(const Numerics& n) {
  const int products = format(n.a.format).fraction_bits + format(n.b.format).fraction_bits;
  require(n.product.exponent == ProductExponent::sum && n.product.operation == ProductOperation::multiply &&
              n.product.round.empty() && !n.product.infinite_from,
          "products that are rounded, limited or aligned by their leading bit");
  require(products + 2 <= kProductBits && format(n.a.format).fraction_bits <= kOperandBits &&
              format(n.b.format).fraction_bits <= kOperandBits && format(n.c.format).fraction_bits < kResultBits &&
              format(n.result).fraction_bits < kResultBits,
          "operands of so many bits");
  require(format(n.a.format).non_finite != NonFinite::nan_negative_zero &&
              format(n.b.format).non_finite != NonFinite::nan_negative_zero,
          "negative zeros that are NaNs");
  require(!n.nan.propagate, "payloads of NaN operands");
  require(format(n.c.format).has_infinity(), "accumulators without infinities");
}

void check_sum(const Unit& unit) {
  require(unit.fraction_bits + 2 <= kProductBits, "sums of so many fraction bits");
  require(!unit.first_fraction_bits && !unit.drop_below, "terms that are cut differently from the others");
  require(unit.zero_exponent.kind == ZeroExponentKind::none || unit.zero_exponent.kind == ZeroExponentKind::floor,
          "zeros that take part in alignment");
}

void check_result(const Unit& unit) {
  const bool narrow = std::any_of(unit.result.begin(), unit.result.end(), [](const RoundStep& s) {
    return !s.from_alignment && s.fraction_bits < kResultBits;
  });
  require(narrow, "sums that are not rounded");
}

bool has_exponents_of(const RoundStep& s, const Format& f) {
  return s.min_exponent == f.min_exponent() && s.max_exponent == f.max_exponent() && !s.from_alignment &&
         s.subnormals == Subnormals::kept;
}
bool rounds_to_nearest(const RoundStep& s, const Format& f) {
  return has_exponents_of(s, f) && s.fraction_bits == f.fraction_bits && s.rounding == Rounding::nearest_even &&
         (s.overflow == Overflow::infinity || s.overflow == Overflow::ieee);
}
bool rounds_toward_zero(const RoundStep& s, const Format& f) {
  return has_exponents_of(s, f) && s.fraction_bits <= f.fraction_bits && s.rounding == Rounding::toward_zero &&
         s.overflow != Overflow::wrap;
}

/// Whether all sums are the machine's additions in single precision, which holds the products; the last may then be
/// rounded to fp16.
bool are_singles(const Numerics& n, const Tree& tree) {
  constexpr Format kFp32 = format(FormatId::fp32), kFp16 = format(FormatId::fp16);
  const bool plain = n.product.operation == ProductOperation::multiply && n.product.round.empty() &&
                     !n.product.infinite_from && !n.nan.propagate;
  for (const OperandRule& rule : {n.a, n.b, n.c}) {
    if (rule.subnormals != Subnormals::kept) return false;
  }
  const bool products_fit = n.a.format == FormatId::fp16 && n.b.format == FormatId::fp16;
  if (!products_fit || !plain || (n.c.format != FormatId::fp32 && n.c.format != FormatId::fp16)) return false;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    const Unit& unit = n.units[static_cast<std::size_t>(node.unit)];
    const auto& steps = unit.result.step;
    const bool last = i + 1 == tree.nodes.size();
    const bool to_half =
        last && n.result == FormatId::fp16 && unit.result.count == 2 && rounds_to_nearest(steps[1], kFp16);
    if (unit.fraction_bits != kExact || unit.first_fraction_bits || unit.drop_below || node.terms.size() > 2 ||
        unit.underflow_sign != UnderflowSign::kept || !rounds_to_nearest(steps[0], kFp32) ||
        !(to_half || (unit.result.count == 1 && (!last || n.result == FormatId::fp32)))) {
      return false;
    }
  }
  return true;
}

GpuFields fields_of(const Format& f, const OperandRule& rule) {
  if (f.storage_bits > 32) return {};  // of no datapath of sums
  const auto top = static_cast<std::uint32_t>(detail::low_mask(f.exponent_bits));
  const auto first_special = static_cast<std::uint32_t>(f.first_non_finite());
  GpuFields fields{f.storage_bits, f.fraction_bits, f.padding_bits, f.bias, top, first_special};
  fields.smallest = rule.subnormals == Subnormals::flushed ? 1u << f.fraction_bits : 1;
  fields.floor = rule.subnormal_exponent == SubnormalExponent::minimum ? f.min_exponent() : -2000;
  fields.infinity = f.has_infinity() ? first_special : first_special - 1;
  return fields;
}

GpuNode make_node(const Node& node, GpuDatapath& to, int& place) {
  GpuNode made;
  made.unit = static_cast<std::int16_t>(node.unit);
  made.first = static_cast<std::int16_t>(place);
  int others = 0;
  for (const Term& t : node.terms) {
    if (t.kind == Term::Kind::product) {
      to.place[t.index] = static_cast<std::uint16_t>(place++);
      continue;
    }
    require(others < 2, "more than two terms of a sum that are no products");
    made.others[others++] =
        static_cast<std::int16_t>(t.kind == Term::Kind::accumulator ? GpuNode::kAccumulator : t.index);
  }
  made.count = static_cast<std::int16_t>(place - made.first);
  return made;
}

/// How a node rounds, if patches can; and the format of its result.
struct RoundingOfPatch {
  PatchRounding rounding;
  FormatId result;
};
std::optional<RoundingOfPatch> rounding_of(const Unit& unit) {
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

/// Fills in how the node rounds.
void put_rounding(const Unit& unit, RoundingOfPatch how, PatchNode& node) {
  const Format f = format(how.result);
  const RoundStep& s = unit.result.step[0];
  node.rounding = how.rounding;
  if (unit.underflow_sign != UnderflowSign::kept) node.dropped = 1u << (f.storage_bits - 1);
  if (how.rounding != PatchRounding::fp32_toward_zero) return;
  const int cut = f.fraction_bits - s.fraction_bits;
  const std::uint32_t infinity = static_cast<std::uint32_t>(detail::low_mask(f.exponent_bits)) << f.fraction_bits;
  node.kept_bits = ~0u << cut;
  node.overflow = std::ldexp(1.0, s.max_exponent + 1);
  node.beyond = s.overflow == Overflow::infinity ? infinity : infinity - (1u << cut);
}

/// What patches want to know of the datapath; false if there is something in it that they cannot do.
bool make_patches(GpuDatapath& d) {
  using gpu::high_word, gpu::kHighFraction, gpu::power_of_two;
  constexpr int kMostPlaces = 32;        // whose signs are bits of a word
  constexpr int kMostFractionBits = 40;  // a sum of them is below 2^51 units
  const bool known_c = d.c.id == FormatId::fp32 || d.c.id == FormatId::fp16;
  if (d.k > kMostPlaces || d.nodes > GpuDatapath::kMostPatchNodes || !known_c ||
      d.c_rule.subnormals == Subnormals::flushed) {
    return false;
  }
  const bool from_minimum = d.c_rule.subnormal_exponent == SubnormalExponent::minimum;
  FormatId before = d.c.id;
  for (int i = 0; i < d.nodes; ++i) {
    const GpuNode& from = d.node[i];
    const Unit& unit = d.units[from.unit];
    PatchNode& node = d.patch[i];
    node.first = from.first;
    node.count = from.count;
    node.places = from.count == 0 ? 0 : ~0u >> (kMostPlaces - from.count) << from.first;
    node.is_pair = from.is_pair;
    node.before_is_half = format(before).storage_bits == 16;
    for (const int other : from.others) {
      if (other >= 0 && other != i - 1) return false;
      if (other >= 0) node.takes_before = true;
      if (other == GpuNode::kAccumulator) node.takes_c = true;
    }
    const auto rounding = rounding_of(unit);
    if (!rounding) return false;
    put_rounding(unit, *rounding, node);
    if (from.is_pair) {
      // The sum of two numbers of a format is rounded as the machine's own additions are.
      const bool own = (rounding->rounding == PatchRounding::fp32_nearest ||
                        (rounding->rounding == PatchRounding::fp16_nearest && d.c.id == FormatId::fp16 &&
                         before == FormatId::fp16)) &&
                       node.takes_c && node.takes_before && unit.underflow_sign == UnderflowSign::kept;
      if (!own) return false;
    } else if (unit.align_rounding != Rounding::toward_zero || unit.fraction_bits > kMostFractionBits) {
      return false;
    } else {
      if (unit.zero_exponent.kind == ZeroExponentKind::floor) {
        node.alignment = std::max(node.alignment, unit.zero_exponent.value);
      }
      if (from_minimum) {
        node.c_floor = high_word(power_of_two(d.c.min_exponent()));
        node.before_floor = high_word(power_of_two(format(before).min_exponent()));
      }
      // 2^52 + 2^51, where 2^0 is.
      node.grid = (static_cast<std::uint32_t>(52 - unit.fraction_bits) << kHighFraction) + (1u << (kHighFraction - 1));
    }
    if (i + 1 == d.nodes && (rounding->result != d.result.id || unit.zero_sign != ZeroSign::positive)) return false;
    before = rounding->result;
  }
  return true;
}

GpuDatapath make(const Datapath& datapath) {
  const Numerics& n = datapath.numerics;
  const Tree& tree = datapath.tree;
  GpuDatapath to;
  to.a = format(n.a.format);
  to.b = format(n.b.format);
  to.c = format(n.c.format);
  to.result = format(n.result);
  to.c_rule = n.c;
  to.nan = n.nan;
  to.a_fields = fields_of(to.a, n.a);
  to.b_fields = fields_of(to.b, n.b);
  to.c_fields = fields_of(to.c, n.c);
  require(!n.scales, "block scales");
  require(tree.k <= GpuDatapath::kMostProducts, "so many products");
  require(tree.nodes.size() <= GpuDatapath::kMostNodes, "so many sums");
  to.k = tree.k;
  to.nodes = static_cast<int>(tree.nodes.size());
  std::copy(n.units.begin(), n.units.end(), to.units);

  if (const auto chain = fma_chain(n, tree)) {
    to.kind = GpuDatapath::Kind::fma_chain;
    to.fma_rounding = chain->rounding;
    for (std::size_t p = 0; p < chain->order.size(); ++p) to.place[chain->order[p]] = static_cast<std::uint16_t>(p);
    return to;
  }
  if (const auto units = integer_units(n, tree)) {
    to.kind = GpuDatapath::Kind::integers;
    to.integers = *units;
  } else if (are_singles(n, tree)) {
    to.kind = GpuDatapath::Kind::singles;
  } else {
    check_sums(n);
  }

  int place = 0;
  for (int i = 0; i < to.nodes; ++i) {
    const Node& node = tree.nodes[static_cast<std::size_t>(i)];
    const Unit& unit = n.units[static_cast<std::size_t>(node.unit)];
    const GpuNode& made = to.node[i] = make_node(node, to, place);
    if (to.kind != GpuDatapath::Kind::sums) continue;
    check_result(unit);
    if (unit.fraction_bits == kExact) {
      require(made.count == 0 && node.terms.size() == 2 && !unit.first_fraction_bits && !unit.drop_below,
              "exact sums but of two numbers that are no products");
      const bool steps_fit = std::none_of(unit.result.begin(), unit.result.end(), [](const RoundStep& s) {
        return s.from_alignment || s.fraction_bits > kResultBits;
      });
      require(steps_fit, "exact sums that are cut below their alignment");
      to.node[i].is_pair = true;
    } else {
      check_sum(unit);
    }
  }
  for (const int run : {4, 2}) {
    bool all = to.k % run == 0;
    for (int i = 0; i < to.k; ++i) {
      const int first = to.place[i - i % run];
      all = all && first % run == 0 && to.place[i] == first + i % run;
    }
    if (all) to.run = std::max(to.run, run);
  }
  to.takes_patches = to.kind == GpuDatapath::Kind::sums && make_patches(to);
  return to;
}

}  // namespace

MadeGpuDatapath make_gpu_datapath(const Datapath& datapath) {
  try {
    return {make(datapath), ""};
  } catch (const NotOnGpu& reason) {
    return {{}, reason.why};
  }
}

}  // namespace tcnum
