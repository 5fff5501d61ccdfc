#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "datapath_text.hpp"
#include "explain.hpp"
#include "problem_text.hpp"

namespace tcnum {
namespace {

using Rows = std::vector<std::vector<std::string>>;

const Format& result_of(const ExplainedSide& side) { return format(side.datapath.numerics.result); }

std::string operands_of(const Datapath& datapath) {
  const std::string_view a = format(datapath.numerics.a.format).name, b = format(datapath.numerics.b.format).name;
  return a == b ? std::string(a) : fmt::format("{} · {}", a, b);
}

bool same_formats(const ExplainedSide& x, const ExplainedSide& y) {
  const Numerics &n = x.datapath.numerics, &m = y.datapath.numerics;
  return n.a.format == m.a.format && n.b.format == m.b.format && n.c.format == m.c.format && n.result == m.result;
}

std::vector<const ExplainedNode*> busy_nodes(const Explanation& of) {
  std::vector<const ExplainedNode*> nodes;
  for (const ExplainedNode& node : of.nodes) {
    if (!node.idle) nodes.push_back(&node);
  }
  return nodes;
}

bool computes_alike(const ExplainedSide& x, const ExplainedSide& y) {
  if (result_of(x).id != result_of(y).id || x.explanation.d != y.explanation.d) return false;
  return std::ranges::equal(
      busy_nodes(x.explanation), busy_nodes(y.explanation),
      [](const ExplainedNode* m, const ExplainedNode* n) { return m->exact == n->exact && m->result == n->result; });
}

/// `same`: which sides are one.
template <class Same>
std::vector<ExplainedSide> folded_by(std::vector<ExplainedSide> sides, Same same) {
  std::vector<ExplainedSide> folded;
  for (ExplainedSide& side : sides) {
    const auto like = std::ranges::find_if(folded, [&](const ExplainedSide& x) { return same(x, side); });
    if (like == folded.end())
      folded.push_back(std::move(side));
    else
      like->of.insert(like->of.end(), side.of.begin(), side.of.end());
  }
  for (ExplainedSide& side : folded)
    std::ranges::stable_sort(side.of, {}, [](const ExplainedOf& of) { return find_arch(of.arch); });
  return folded;
}

std::vector<std::string_view> different(const ExplainedSide& side, std::string ExplainedOf::*field) {
  std::vector<std::string_view> values;
  for (const ExplainedOf& of : side.of) {
    const std::string& value = of.*field;
    if (!value.empty() && std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return values;
}
/// "sm_80, sm_86", each once.
std::string list_text(const ExplainedSide& side, std::string ExplainedOf::*field) {
  return fmt::format("{}", fmt::join(different(side, field), ", "));
}
/// The first one's name, and how many more there are.
std::string instructions_text(const ExplainedSide& side) {
  const auto names = different(side, &ExplainedOf::instruction);
  const std::string more = names.size() > 1 ? fmt::format(", {} more", names.size() - 1) : "";
  return side.of.front().marked_name() + more;
}

/// Terms that are not zero, as they are in the sides' formats where these are the same, else as numbers.
std::string operands_text(const std::vector<ExplainedSide>& sides) {
  const ExplainedSide& first = sides.front();
  const bool one_format =
      std::ranges::all_of(sides, [&](const ExplainedSide& side) { return same_formats(first, side); });
  const auto shown = [&](FormatId id, std::uint64_t code) {
    return one_format ? code_text(id, code) : number_text(format(id), code);
  };
  const Numerics& n = first.datapath.numerics;
  const Rows rows = term_rows(first.problem, n.a.format, n.b.format, n.c.format, shown);
  return table_text(rows, 40) + fmt::format("  true value {}\n", first.explanation.exact.text());
}

std::string results_text(const std::vector<ExplainedSide>& sides) {
  Rows rows = {{"", "architectures", "operands", "result", "ulps off", "instructions"}};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const ExplainedSide& side = sides[i];
    rows.push_back({std::to_string(i + 1), list_text(side, &ExplainedOf::arch), list_text(side, &ExplainedOf::operands),
                    number_text(result_of(side), side.explanation.d), ulps_off_text(side.explanation.ulps),
                    instructions_text(side)});
  }
  constexpr std::size_t kWidest = 20;
  return table_text(rows, kWidest);
}

/// A code's bits, with gaps between sign, exponent and fraction, and padding after these.
std::string spaced(const Format& f, std::uint64_t code, char one, char zero) {
  std::string text;
  for (int bit = f.storage_bits - 1; bit >= 0; --bit) {
    const bool gap = f.floating && (bit == f.exponent_bits + f.fraction_bits + f.padding_bits - 1 ||
                                    bit == f.fraction_bits + f.padding_bits - 1 || bit == f.padding_bits - 1);
    if (gap && bit != f.storage_bits - 1) text += ' ';
    text += ((code >> bit) & 1) != 0 ? one : zero;
  }
  return text;
}

/// Of each format, the results' bits below those of the true value.
std::string bits_text(const std::vector<ExplainedSide>& sides) {
  std::string text;
  const std::size_t width = std::to_string(sides.size()).size();
  const auto line = [&](const std::string& label, std::string bits) {
    bits.erase(bits.find_last_not_of(' ') + 1);
    if (!bits.empty()) text += fmt::format("  {:<{}}  {}\n", label, width, bits);
  };
  std::vector<FormatId> done;
  for (const ExplainedSide& first : sides) {
    const Format& f = result_of(first);
    if (std::ranges::find(done, f.id) != done.end()) continue;
    done.push_back(f.id);
    if (!text.empty()) text += "\n";
    if (first.explanation.exact.kind() == ExactValue::Kind::finite) {
      const std::uint64_t nearest = first.explanation.exact.nearest(f);
      line("",
           fmt::format("{}  the true value in {}: {}", spaced(f, nearest, '1', '0'), f.name, number_text(f, nearest)));
    }
    for (std::size_t i = 0; i < sides.size(); ++i) {
      if (result_of(sides[i]).id != f.id) continue;
      line(std::to_string(i + 1),
           fmt::format("{}  {}", spaced(f, sides[i].explanation.d, '1', '0'), hex(f, sides[i].explanation.d)));
      line("", spaced(f, sides[i].differing_bits(), '^', ' '));
    }
  }
  return text;
}

std::string steps_text(const std::vector<ExplainedSide>& sides) {
  Rows rows = {{"", "sum of", "true value", "result", "ulps off"}};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    std::string label = std::to_string(i + 1);
    for (const ExplainedNode* node : busy_nodes(sides[i].explanation)) {
      rows.push_back({std::exchange(label, ""), node->of.text(), node->exact.text(), node->result.text(),
                      ulps_off_text(node->ulps)});
    }
  }
  return table_text(rows, 34);
}

}  // namespace

std::string ExplainedOf::marked_name() const { return tcnum::marked_name(instruction, lowered_to); }

std::uint64_t ExplainedSide::differing_bits() const {
  if (explanation.exact.kind() != ExactValue::Kind::finite) return 0;
  return explanation.d ^ explanation.exact.nearest(format(datapath.numerics.result));
}

ExplainedSide make_side(ExplainedOf of, Datapath datapath, Problem problem) {
  Explanation explanation = explain(datapath, problem);
  of.operands = operands_of(datapath);
  return {{std::move(of)}, std::move(datapath), std::move(problem), std::move(explanation)};
}

std::vector<ExplainedSide> fold(std::vector<ExplainedSide> sides) {
  return folded_by(std::move(sides), [](const ExplainedSide& x, const ExplainedSide& y) {
    return same_formats(x, y) && computes_alike(x, y);
  });
}

std::string sides_text(const std::vector<ExplainedSide>& all) {
  // The formats of operands are no part of the table.
  const std::vector<ExplainedSide> sides = folded_by(all, computes_alike);
  const bool steps =
      std::ranges::any_of(sides, [](const ExplainedSide& side) { return busy_nodes(side.explanation).size() > 1; });
  return operands_text(all) + "\n" + results_text(sides) +
         "\nBits, with ^ below those that are not the true value's:\n\n" + bits_text(sides) +
         (steps ? "\nAfter each sum, but those that nothing but zeros comes into:\n\n" + steps_text(sides) : "");
}

// --- As JSON: docs/schemas says what each member of tcnum.explain/1 means

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
  json["of"] = {{"c", node.of.c}, {"products", runs_json(node.of.products)}};
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
