#include "explain.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "layout.hpp"
#include "problem_text.hpp"
#include "tcnum/error.hpp"

namespace tcnum {

using nlohmann::ordered_json;

// --- What each node does, and how far off that leaves the sum

namespace {

std::span<const std::uint64_t> part(const std::vector<std::uint64_t>& codes, std::size_t number, std::size_t parts) {
  const std::size_t each = codes.size() / parts;
  return std::span(codes).subspan(number * each, each);
}

/// Whether the result is the only one of these that is not zero, or a zero as all of them are.
bool passes_on(const std::vector<const TracedNumber*>& terms, const TracedNumber& result) {
  const auto same = [&](const TracedNumber* term) {
    return term->negative == result.negative && ExactValue::of(*term) == ExactValue::of(result);
  };
  if (std::ranges::all_of(terms, same)) return !terms.empty() || ExactValue::of(result).is_zero();
  return std::ranges::count_if(terms, [](const TracedNumber* term) { return !ExactValue::of(*term).is_zero(); }) == 1 &&
         std::ranges::any_of(terms, same);
}

}  // namespace

ExactValue exact_product(const Numerics& n, const Problem& problem, std::size_t k) {
  const ExactValue a = ExactValue::of(format(n.a.format), problem.a[k]),
                   b = ExactValue::of(format(n.b.format), problem.b[k]);
  if (n.product.operation == ProductOperation::exclusive_or) {
    return ExactValue::of(format(FormatId::b1), a == b ? 0 : 1);
  }
  ExactValue product = a * b;
  if (n.scales) {
    const std::size_t block = k / static_cast<std::size_t>(n.scales->block_k);
    const Format& f = format(n.scales->format);
    product = product * ExactValue::of(f, problem.sa[block]) * ExactValue::of(f, problem.sb[block]);
  }
  return product;
}

std::string runs_text(const std::vector<Stretch>& products) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const auto& [first, count] = products[i];
    if (products.size() <= kMost || i < kMost - 2 || i + 1 == products.size())
      runs.push_back(count == 1 ? fmt::format("{}", first) : fmt::format("{} to {}", first, first + count - 1));
    else if (i == kMost - 2)
      runs.emplace_back("...");
  }
  return fmt::format("{}", fmt::join(runs, ", "));
}

ordered_json runs_json(const std::vector<Stretch>& products) {
  ordered_json runs = ordered_json::array();
  for (const auto& [first, count] : products) runs.push_back({first, first + count - 1});
  return runs;
}

void Summed::add(const Summed& other) {
  c = c || other.c;
  products = joined(std::move(products), other.products);
}

std::string Summed::text() const {
  if (products.empty()) return c ? "c" : "";
  const bool is_one = products.size() == 1 && products[0].count == 1;
  return fmt::format("{}product{} {}", c ? "c, " : "", is_one ? "" : "s", runs_text(products));
}

std::optional<std::size_t> Explanation::node_of(std::size_t node, const Term& term) const {
  const std::size_t first = node / nodes_each * nodes_each;  // of this evaluation
  if (term.kind == Term::Kind::node) return first + static_cast<std::size_t>(term.index);
  if (term.kind == Term::Kind::accumulator && first > 0) return first - 1;
  return std::nullopt;
}

std::string Explanation::term_name(std::size_t node, const Term& term) const {
  if (const auto other = node_of(node, term)) return fmt::format("sum {}", *other + 1);
  if (term.kind == Term::Kind::accumulator) return "c";
  return fmt::format("a[{0}]*b[{0}]", node / nodes_each * products_each + static_cast<std::size_t>(term.index));
}

Explanation explain(const Datapath& datapath, const Problem& problem) {
  const Numerics& n = datapath.numerics;
  const auto k = static_cast<std::size_t>(datapath.tree.k);
  const std::size_t links = std::max<std::size_t>(1, problem.a.size() / k);
  const Format& d = format(n.result);
  Explanation all;
  all.nodes_each = datapath.tree.nodes.size();
  all.products_each = k;
  all.exact = ExactValue::of(format(n.c.format), problem.c);  // even if the datapath ignores it
  all.d = problem.c;
  for (std::size_t link = 0; link < links; ++link) {
    std::vector<TracedNode> trace;
    all.d = trace_exact(datapath, part(problem.a, link, links), part(problem.b, link, links), all.d, trace,
                        part(problem.sa, link, links), part(problem.sb, link, links));
    for (std::size_t i = 0; i < trace.size(); ++i) {
      const std::size_t number = all.nodes.size();
      ExplainedNode node;
      node.unit = static_cast<std::size_t>(datapath.tree.nodes[i].unit);
      bool only_zeros = true;
      std::vector<const TracedNumber*> others;
      Summed own;  // products, which a chain has many of: they are put in order once
      for (const TracedTerm& t : trace[i].terms) {
        if (t.term.kind == Term::Kind::product) {
          const std::size_t at = link * k + static_cast<std::size_t>(t.term.index);
          own.products.push_back({at, 1});
          const ExactValue product = exact_product(n, problem, at);
          only_zeros = only_zeros && product.is_zero();
          node.exact = node.exact + product;
          all.exact = all.exact + product;
          continue;
        }
        others.push_back(&t.value);
        if (const auto before = all.node_of(number, t.term)) {
          node.of.add(all.nodes[*before].of);
          node.exact = node.exact + all.nodes[*before].exact;
        } else {
          node.of.c = true;
          node.exact = node.exact + ExactValue::of(format(n.c.format), problem.c);
        }
      }
      node.of.add(own);
      node.result = ExactValue::of(trace[i].result);
      node.ulps = node.exact.ulps_to(node.result, d);
      node.idle = only_zeros && passes_on(others, trace[i].result);
      node.traced = std::move(trace[i]);
      all.nodes.push_back(std::move(node));
    }
  }
  all.ulps = all.exact.ulps_to(ExactValue::of(d, all.d), d);
  return all;
}

// --- As text

namespace {

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

constexpr std::size_t kMostCutBits = 24;  // that are shown; more are counted
constexpr std::size_t kWidestCell = 60;

/// Exponents of the first and of the last bit that is set, of a finite number that is not zero.
int first_bit(const TracedNumber& n) { return n.lsb + static_cast<int>(n.bits.size()) - 1; }
int last_bit(const TracedNumber& n) { return first_bit(n) - static_cast<int>(n.bits.find_last_of('1')); }

/// Bits of a number from 2^first down to 2^last; zeros where it has none.
std::string bits_between(const TracedNumber& n, int first, int last) {
  const int leading = first_bit(n);
  std::string text;
  for (int e = first; e >= last; --e)
    text += e > leading || e < n.lsb ? '0' : n.bits[static_cast<std::size_t>(leading - e)];
  return text;
}

std::string special(const TracedNumber& n) {
  if (n.kind == TracedNumber::Kind::nan) return "NaN";
  return n.negative ? "-infinity" : "+infinity";
}

/// In units of 2^exponent: "-1.011". At least one digit stands before the point.
std::string binary(const TracedNumber& n, int exponent, int last) {
  if (n.kind != TracedNumber::Kind::finite) return special(n);
  if (n.bits == "0") return n.negative ? "-0" : "+0";
  const int leading = first_bit(n);
  std::string text = (n.negative ? "-" : "+") + bits_between(n, std::max(leading, exponent), exponent);
  if (last < exponent) text += "." + bits_between(n, exponent - 1, last);
  return text;
}

/// "-1.011 * 2^5".
std::string scientific(const TracedNumber& n) {
  if (n.kind != TracedNumber::Kind::finite || n.bits == "0") return binary(n, 0, 0);
  const int leading = first_bit(n);
  const int last = last_bit(n);
  return fmt::format("{} * 2^{}", binary(n, leading, std::min(last, leading)), leading);
}

/// The bits of a number below 2^lsb.
std::string cut_bits(const TracedNumber& n, int lsb) {
  if (n.bits == "0" || n.lsb >= lsb) return "";
  const int leading = first_bit(n);
  const int last = last_bit(n);
  if (last >= lsb) return "";
  const int skipped = lsb - 1 - leading;  // zeros before its first bit
  std::string text = skipped > 8 ? fmt::format("({} zeros) ", skipped) : "";
  std::string bits = bits_between(n, skipped > 8 ? leading : lsb - 1, last);
  if (bits.size() > kMostCutBits) bits = bits.substr(0, kMostCutBits) + "...";
  return text + bits;
}

std::string steps_text(const Unit& unit) {
  std::string text;
  for (const RoundStep& s : unit.result) {
    text += fmt::format("{}{}, {} fraction bits", text.empty() ? "" : "; then ", name(s.rounding), s.fraction_bits);
    if (s.from_alignment) text += " below the alignment";
  }
  return text.empty() ? "not rounded" : text;
}

std::string heading(const Datapath& datapath, std::size_t number, const ExplainedNode& node) {
  const Unit& unit = datapath.numerics.units[node.unit];
  std::string text = fmt::format("  sum {} ({})", number + 1, datapath.unit_names[node.unit]);
  if (!node.traced.alignment) return text + ": infinities and NaNs decide\n\n";
  if (unit.fraction_bits == kExact) return text + ": exact\n\n";
  return text + fmt::format(": aligned to 2^{}, cut {} below 2^{}\n\n", *node.traced.alignment,
                            name(unit.align_rounding), *node.traced.alignment - unit.fraction_bits);
}

std::string terms_text(const Datapath& datapath, const Explanation& all, std::size_t number) {
  const ExplainedNode& node = all.nodes[number];
  const Unit& unit = datapath.numerics.units[node.unit];
  const bool aligned = node.traced.alignment && unit.fraction_bits != kExact;
  const int alignment = node.traced.alignment.value_or(0), lsb = alignment - (aligned ? unit.fraction_bits : 0);
  Rows rows = {aligned ? Row{"term", "exponent", "shift", fmt::format("kept, in units of 2^{}", alignment), "cut off"}
                       : Row{"term", "value"}};
  std::size_t zeros = 0;
  for (const TracedTerm& t : node.traced.terms) {
    const std::string term = all.term_name(number, t.term);
    const bool zero = t.value.kind == TracedNumber::Kind::finite && t.value.bits == "0";
    if (zero && t.term.kind == Term::Kind::product) {
      ++zeros;
    } else if (!aligned) {
      rows.push_back({term, scientific(t.value)});
    } else if (zero) {
      rows.push_back({term, "", "", binary(t.value, 0, 0), ""});
    } else {
      const bool gone = t.kept.bits == "0";
      rows.push_back({term, std::to_string(t.value.exponent), std::to_string(alignment - t.value.exponent),
                      gone ? "0" : binary(t.kept, alignment, lsb), cut_bits(t.value, lsb)});
    }
  }
  std::string text = table_text(rows, kWidestCell);
  if (zeros != 0)
    text += fmt::format("  ({} that {} zero)\n", zeros == 1 ? "one product" : fmt::format("{} products", zeros),
                        zeros == 1 ? "is" : "are");
  return text;
}

std::string node_text(const Datapath& datapath, const Explanation& all, std::size_t number) {
  const ExplainedNode& node = all.nodes[number];
  const TracedNode& traced = node.traced;
  const Unit& unit = datapath.numerics.units[node.unit];
  Rows rows;
  if (traced.alignment) {
    const int alignment = *traced.alignment;
    rows = {{"exact sum",
             unit.fraction_bits == kExact
                 ? scientific(traced.sum)
                 : fmt::format("{} * 2^{}", binary(traced.sum, alignment, alignment - unit.fraction_bits), alignment)},
            {unit.scaled ? "scaled" : "rounded", fmt::format("{} ({})", scientific(traced.result), steps_text(unit))}};
  } else {
    rows = {{"result", scientific(traced.result)}};
  }
  // Of the last one, the result's line says it.
  if (number + 1 < all.nodes.size()) {
    rows.push_back({"true value", fmt::format("{} ({}){}", node.exact.text(), node.of.text(),
                                              node.ulps ? "; " + error_text(*node.ulps) : "")});
  }
  return heading(datapath, number, node) + terms_text(datapath, all, number) + "\n" + table_text(rows, kWidestCell) +
         "\n";
}

/// All nodes, those that change nothing in one line.
std::string nodes_text(const Datapath& datapath, const Explanation& all) {
  std::string text;
  for (std::size_t i = 0; i < all.nodes.size();) {
    std::size_t end = i;
    while (end < all.nodes.size() && all.nodes[end].idle) ++end;
    if (end == all.nodes.size() && i == 0) --end;  // there is nothing but zeros: one shows them
    if (end == i) {
      text += node_text(datapath, all, i++);
      continue;
    }
    text += end == i + 1 ? fmt::format("  sum {}: only zeros come in, and change nothing\n\n", end)
                         : fmt::format("  sums {} to {}: only zeros come in, and change nothing\n\n", i + 1, end);
    i = end;
  }
  return text;
}

/// What the products of each block are multiplied with; where the block's products are no sum of their own, their
/// values below are with it.
std::string scales_text(const Datapath& datapath, const Problem& problem) {
  if (!datapath.numerics.scales) return "";
  const auto& [id, block_k] = *datapath.numerics.scales;
  std::vector<std::vector<std::string>> rows = {{"products", "scale of a", "scale of b"}};
  for (std::size_t i = 0; i < problem.sa.size(); ++i) {
    const std::size_t first = i * static_cast<std::size_t>(block_k);
    rows.push_back({fmt::format("{} to {}", first, first + static_cast<std::size_t>(block_k) - 1),
                    code_text(id, problem.sa[i]), code_text(id, problem.sb[i])});
  }
  return table_text(rows) + "\n";
}

}  // namespace

std::string error_text(double ulps) {
  if (ulps == 0) return "no error";
  return fmt::format("error {:+.4g} ulp{}", ulps, std::fabs(ulps) == 1 ? "" : "s");
}

std::string explain_text(const Datapath& datapath, const Problem& problem) {
  const Explanation all = explain(datapath, problem);
  const Format& d = format(datapath.numerics.result);
  std::string text =
      scales_text(datapath, problem) + nodes_text(datapath, all) +
      fmt::format("  d = {} = {}\n  true value {}", hex(d, all.d), number_text(d, all.d), all.exact.text());
  if (all.ulps) text += "; " + error_text(*all.ulps);
  if (all.ulps && *all.ulps != 0) {
    const std::uint64_t nearest = all.exact.nearest(d);
    text += nearest == all.d ? ": no number of the format is nearer"
                             : fmt::format("; the nearest is {} = {}", hex(d, nearest), number_text(d, nearest));
  }
  return text + "\n";
}

}  // namespace tcnum
