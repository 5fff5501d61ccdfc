// tcnum.explain/1: docs/schemas says what each member means.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "explain_sides.hpp"
#include "problem_text.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const TracedNumber& number) {
  const ExactValue value = ExactValue::of(number);
  return value.is_zero() && number.negative ? "-0x0p+0" : value.hexadecimal();
}

ordered_json json_of(const std::optional<double>& ulps) {
  return ulps && std::isfinite(*ulps) ? ordered_json(*ulps) : ordered_json(nullptr);
}

ordered_json json_of(const Datapath& datapath, const Explanation& all, std::size_t number) {
  const ExplainedNode& node = all.nodes[number];
  const Unit& unit = datapath.numerics.units[node.unit];
  ordered_json json = {{"number", number + 1}, {"unit", datapath.unit_names[node.unit]}};
  json["of"] = {{"c", node.of.c}, {"products", node.of.products}};
  json["aligned_to"] = nullptr;
  json["last_bit_kept"] = nullptr;
  if (node.traced.alignment && unit.fraction_bits != kExact) {
    json["aligned_to"] = *node.traced.alignment;
    json["last_bit_kept"] = *node.traced.alignment - unit.fraction_bits;
  }
  json["terms"] = ordered_json::array();
  for (const TracedTerm& t : node.traced.terms) {
    if (t.term.kind == Term::Kind::product && !t.value.negative && ExactValue::of(t.value).is_zero()) continue;
    json["terms"].push_back({{"term", all.term_name(number, t.term)},
                             {"exponent", t.value.exponent},
                             {"value", json_of(t.value)},
                             {"kept", json_of(t.kept)}});
  }
  json["sum"] = node.traced.alignment ? json_of(node.traced.sum) : ordered_json(nullptr);
  json["result"] = json_of(node.traced.result);
  json["true_value"] = node.exact.hexadecimal();
  json["ulps"] = json_of(node.ulps);
  json["idle"] = node.idle;
  return json;
}

ordered_json json_of(const ExplainedSide& side) {
  const Numerics& n = side.datapath.numerics;
  const Explanation& all = side.explanation;
  const Format& d = format(n.result);
  ordered_json json;
  json["of"] = ordered_json::array();
  for (const ExplainedOf& of : side.of) {
    if (of.arch.empty()) {
      json["of"].push_back({{"datapath", of.instruction}});
      continue;
    }
    ordered_json one = {
        {"arch", of.arch}, {"instruction", of.instruction}, {"account", of.account}, {"origin", of.origin}};
    if (!of.lowered_to.empty()) one["lowered_to"] = of.lowered_to;
    json["of"].push_back(std::move(one));
  }
  json["formats"] = {
      {"a", format(n.a.format).name}, {"b", format(n.b.format).name}, {"c", format(n.c.format).name}, {"d", d.name}};
  json["k"] = all.products_each;
  json["a"] = codes_json(n.a.format, side.problem.a);
  json["b"] = codes_json(n.b.format, side.problem.b);
  json["c"] = hex(format(n.c.format), side.problem.c);
  if (n.scales) {
    json["sa"] = codes_json(n.scales->format, side.problem.sa);
    json["sb"] = codes_json(n.scales->format, side.problem.sb);
  }
  json["sums"] = ordered_json::array();
  for (std::size_t i = 0; i < all.nodes.size(); ++i) json["sums"].push_back(json_of(side.datapath, all, i));
  json["d"] = hex(d, all.d);
  json["value"] = number_text(d, all.d);
  json["ulps"] = json_of(all.ulps);
  const bool finite = all.exact.kind() == ExactValue::Kind::finite;
  json["nearest"] = finite ? ordered_json(hex(d, all.exact.nearest(d))) : ordered_json(nullptr);
  json["differing_bits"] = finite ? ordered_json(hex(d, side.differing_bits())) : ordered_json(nullptr);
  return json;
}

}  // namespace

ordered_json sides_document(const std::vector<ExplainedSide>& sides) {
  const ExactValue& exact = sides.front().explanation.exact;
  ordered_json json = {{"schema", "tcnum.explain/1"},
                       {"version", TCNUM_VERSION},
                       {"true_value", exact.hexadecimal()},
                       {"decimal", exact.text()}};
  json["explained"] = ordered_json::array();
  for (const ExplainedSide& side : sides) json["explained"].push_back(json_of(side));
  return json;
}

}  // namespace tcnum
