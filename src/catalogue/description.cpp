#include "description.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tcnum {
namespace {

[[noreturn]] void refuse(const Instruction& in, std::string_view why) {
  throw std::logic_error(fmt::format("catalogue: {}: {}", in.name(), why));
}

// --- Blocks -----------------------------------------------------------------------------------------------------

/// The products of each block.
std::vector<std::vector<Term>> blocks_of(const BlockSums& sums, const Instruction& in) {
  const int k = in.products();
  const bool halves = sums.shape == BlockShape::fp16_halves_then_c;
  const int size = halves ? k / 2 : std::min(sums.block_k, k);
  if (k % (halves ? 4 : size) != 0) refuse(in, fmt::format("{} products are not whole blocks of {}", k, size));
  std::vector<std::vector<Term>> blocks(static_cast<std::size_t>(k / size));
  for (int i = 0; i < k; ++i) {
    const int block = halves ? i / 2 % 2 : i / size;
    blocks[static_cast<std::size_t>(block)].push_back({Term::Kind::product, i});
  }
  return blocks;
}

/// Puts nodes under units into a datapath. A unit that is there already under another name is used again.
class Nodes {
 public:
  explicit Nodes(Datapath& datapath) : datapath_(datapath) {}

  int unit(const char* name, const Unit& unit) {
    const std::size_t count = datapath_.unit_names.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (datapath_.numerics.units[i] == unit) return static_cast<int>(i);
    }
    datapath_.numerics.units[count] = unit;
    datapath_.unit_names.emplace_back(name);
    return static_cast<int>(count);
  }
  Term add(int unit, std::vector<Term> terms) {
    datapath_.tree.nodes.push_back({unit, std::move(terms)});
    return {Term::Kind::node, static_cast<int>(datapath_.tree.nodes.size()) - 1};
  }
  /// Each block with the sum before it; the first with `start`, if any.
  Term chain(int unit, const std::vector<std::vector<Term>>& blocks, std::optional<Term> start) {
    for (const std::vector<Term>& block : blocks) {
      std::vector<Term> terms;
      if (start) terms.push_back(*start);
      terms.insert(terms.end(), block.begin(), block.end());
      start = add(unit, std::move(terms));
    }
    return *start;
  }

 private:
  Datapath& datapath_;
};

/// What a block sum is rounded to.
RoundSteps block_result(const BlockSums& sums, const Instruction& in) {
  const BlockDetails& details = sums.details;
  if (details.intermediate_format) {
    return {round_to(format(*details.intermediate_format), sums.rounding, details.overflow)};
  }
  RoundStep last = round_to(format(in.d), sums.rounding, details.overflow);
  if (details.result_fraction_bits) last.fraction_bits = *details.result_fraction_bits;
  if (!details.to_c_format_first) return {last};
  return {round_to(format(in.c), *details.to_c_format_first, details.overflow), last};
}

Unit block_unit(const BlockSums& sums, const Instruction& in) {
  Unit unit;
  unit.fraction_bits = sums.fraction_bits;
  if (sums.details.zero_floor) unit.zero_exponent = {ZeroExponentKind::floor, *sums.details.zero_floor};
  unit.result = block_result(sums, in);
  unit.zero_sign = sums.details.zero_sign;
  unit.underflow_sign = sums.details.underflow_sign;
  return unit;
}

/// Of what is added outside the blocks.
Unit add_unit(const BlockSums& sums, const Instruction& in, bool is_result) {
  const BlockDetails& details = sums.details;
  const RoundStep to_result = round_to(format(in.d), Rounding::nearest_even, details.overflow);
  Unit unit;
  unit.zero_sign = details.zero_sign;
  unit.underflow_sign = details.underflow_sign;
  unit.result = {to_result};
  if (details.intermediate_format) {
    const RoundStep between = round_to(format(*details.intermediate_format), Rounding::nearest_even, details.overflow);
    unit.result = is_result ? RoundSteps{between, to_result} : RoundSteps{between};
  }
  return unit;
}

RoundSteps flushed_to_fp32() {
  return {round_to(format(FormatId::fp32), Rounding::nearest_even, Overflow::ieee, Subnormals::flushed)};
}

/// Whether fp16 has all of a format's subnormal numbers as normal ones.
bool normal_in_fp16(FormatId id) {
  const Format& f = format(id);
  return f.min_exponent() - f.fraction_bits >= format(FormatId::fp16).min_exponent();
}

Numerics numerics_of(const BlockSums& sums, const Instruction& in) {
  const BlockDetails& details = sums.details;
  Numerics n;
  n.a.format = in.a;
  n.b.format = in.b;
  n.c.format = in.c;
  n.c.subnormal_exponent = details.c_subnormals;
  // Converted operands take part as the normal numbers that they have become. Neither c, which is added outside, nor an
  // e5m2 beside an e4m3, whose products all have their last bit above the cut, shows how its subnormals are aligned.
  if (sums.shape == BlockShape::fp16_halves_then_c && (normal_in_fp16(in.a) || normal_in_fp16(in.b))) {
    n.a.subnormal_exponent = n.b.subnormal_exponent = n.c.subnormal_exponent = SubnormalExponent::normalised;
  }
  n.result = in.d;
  n.product.operation = details.product;
  const Format& d = format(in.d);
  const std::uint64_t positive_ones = d.code_mask() >> 1;
  n.nan = details.nan.value_or(NanRule{.code = d.floating ? positive_ones : 0});
  if (in.scaled()) n.scales = ScaleRule{in.scales.format, in.products_per_scale()};
  if (sums.shape == BlockShape::pairwise_onto_c) {
    for (OperandRule* rule : {&n.a, &n.b, &n.c}) rule->subnormals = Subnormals::flushed;
    n.product.exponent = ProductExponent::normalised;
    n.product.round = flushed_to_fp32();
  }
  return n;
}

/// The sum of these terms, two by two.
Term add_pairwise(Nodes& nodes, int unit, const std::vector<Term>& terms) {
  if (terms.size() == 1) return terms.front();
  const auto middle = terms.begin() + static_cast<std::ptrdiff_t>(terms.size() / 2);
  const Term first = add_pairwise(nodes, unit, {terms.begin(), middle});
  const Term second = add_pairwise(nodes, unit, {middle, terms.end()});
  return nodes.add(unit, {first, second});
}

Datapath build(const BlockSums& sums, const Instruction& in) {
  Datapath datapath;
  datapath.numerics = numerics_of(sums, in);
  datapath.tree.k = in.products();
  Nodes nodes(datapath);
  const std::vector<std::vector<Term>> blocks = blocks_of(sums, in);
  const Term c{Term::Kind::accumulator, 0};
  const Unit block = block_unit(sums, in);
  switch (sums.shape) {
    case BlockShape::chain:
      nodes.chain(nodes.unit("sum", block), blocks, c);
      break;
    case BlockShape::chain_then_c:
    case BlockShape::fp16_halves_then_c: {
      const int add = nodes.unit("add", add_unit(sums, in, true));
      nodes.add(add, {c, nodes.chain(nodes.unit("inner_sum", block), blocks, std::nullopt)});
      break;
    }
    case BlockShape::sums_onto_c: {
      const int last = nodes.unit("add", add_unit(sums, in, true));
      const int add = nodes.unit("inner_add", add_unit(sums, in, false));
      const int sum = nodes.unit("inner_sum", block);
      std::vector<Term> parts;
      for (const std::vector<Term>& each : blocks) parts.push_back(nodes.add(sum, each));
      Term total = c;
      for (const Term& part : parts) total = nodes.add(add, {total, part});
      datapath.tree.nodes.back().unit = last;
      break;
    }
    case BlockShape::pairwise_onto_c: {
      Unit pair;
      pair.result = flushed_to_fp32();
      Unit first = pair;  // c has lost the sign of its zeros: no sum with it is a negative zero, unless it is flushed
      first.zero_sign = ZeroSign::positive;
      const int onto_c = nodes.unit("onto_c", first), add = nodes.unit("add", pair);
      Term total = c;
      for (const std::vector<Term>& each : blocks) {
        const Term sum = add_pairwise(nodes, add, each);
        total = nodes.add(total == c ? onto_c : add, {total, sum});
      }
      break;
    }
    case BlockShape::scaled_blocks_with_c: {
      const int sum = nodes.unit("sum", block);
      Unit scaled;
      scaled.scaled = scaled.scale_exponents_alone = true;
      const int group = nodes.unit("block", scaled);
      std::vector<Term> terms{c};
      for (const std::vector<Term>& each : blocks) terms.push_back(nodes.add(group, each));
      nodes.add(sum, std::move(terms));
      break;
    }
  }
  return datapath;
}

// --- A cut sum onto c ---------------------------------------------------------------------------------------------

Datapath build(const CutSumOntoC& sums, const Instruction& in) {
  constexpr int kProductBits = 24, kSumBits = 32, kCBits = 24, kTotalBits = 31, kDropBelow = 25;
  const int k = in.products(), size = std::min(sums.block_k, k);
  if (k % size != 0) refuse(in, fmt::format("{} products are not whole blocks of {}", k, size));
  if (in.c != in.d) refuse(in, "c and the result differ");
  const Format& d = format(in.d);
  Datapath datapath;
  Numerics& n = datapath.numerics;
  n.a.format = in.a;
  n.b.format = in.b;
  n.c.format = in.c;
  n.result = in.d;
  n.product.infinite_from = d.max_exponent() + 1;
  n.nan.code = nan_code(d);
  datapath.tree.k = k;

  RoundStep down;
  down.fraction_bits = kTotalBits;
  down.from_alignment = !sums.renormalised;
  down.rounding = Rounding::down;
  if (sums.renormalised) down.min_exponent = d.min_exponent();
  Unit products, pair, accumulate;
  products.fraction_bits = pair.fraction_bits = kProductBits;
  pair.align_rounding = accumulate.align_rounding = Rounding::down;
  accumulate.fraction_bits = kCBits;
  accumulate.first_fraction_bits = kSumBits;
  accumulate.result = {down, round_to(d, Rounding::nearest_even)};
  if (sums.by_parity) accumulate.drop_below = kDropBelow;
  if (sums.renormalised) accumulate.zero_exponent = {ZeroExponentKind::floor, d.min_exponent()};
  Nodes nodes(datapath);
  const int cut = nodes.unit("products", products), both = sums.by_parity ? nodes.unit("pair", pair) : cut;
  const int onto_c = nodes.unit("accumulate", accumulate);
  Term total{Term::Kind::accumulator, 0};
  for (int first = 0; first < k; first += size) {
    std::array<std::vector<Term>, 2> parts;
    for (int i = 0; i < size; ++i) {
      parts[static_cast<std::size_t>(sums.by_parity ? i % 2 : 0)].push_back({Term::Kind::product, first + i});
    }
    Term sum = nodes.add(cut, parts[0]);
    if (sums.by_parity) {
      const Term odd = nodes.add(cut, parts[1]);
      sum = nodes.add(both, {sum, odd});
    }
    total = nodes.add(onto_c, {sum, total});
  }
  return datapath;
}

}  // namespace

Datapath build(const Description& description, const Instruction& instruction) {
  return std::visit([&](const auto& each) { return build(each, instruction); }, description);
}

}  // namespace tcnum
