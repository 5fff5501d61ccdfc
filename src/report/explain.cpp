#include "explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout.hpp"
#include "problem_text.hpp"
#include "tcnum/error.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

constexpr std::size_t kMostCutBits = 24;  // that are shown; more are counted

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

std::string term_name(const Term& t) {
  switch (t.kind) {
    case Term::Kind::accumulator:
      return "c";
    case Term::Kind::product:
      return fmt::format("a[{0}]*b[{0}]", t.index);
    case Term::Kind::node:
      return fmt::format("sum {}", t.index + 1);
  }
  return "";
}

std::string steps_text(const Unit& unit) {
  std::string text;
  for (const RoundStep& s : unit.result) {
    text += fmt::format("{}{}, {} fraction bits", text.empty() ? "" : "; then ", name(s.rounding), s.fraction_bits);
    if (s.from_alignment) text += " below the alignment";
  }
  return text.empty() ? "not rounded" : text;
}

std::string node_text(const Datapath& datapath, std::size_t number, const TracedNode& node) {
  const auto u = static_cast<std::size_t>(datapath.tree.nodes[number].unit);
  const Unit& unit = datapath.numerics.units[u];
  const bool aligned = node.alignment && unit.fraction_bits != kExact;
  const int alignment = node.alignment.value_or(0), lsb = alignment - (aligned ? unit.fraction_bits : 0);
  std::string text = fmt::format("  sum {} ({})", number + 1, datapath.unit_names[u]);
  if (!node.alignment)
    text += ": infinities and NaNs decide";
  else if (aligned)
    text += fmt::format(": aligned to 2^{}, cut {} below 2^{}", alignment, name(unit.align_rounding), lsb);
  else
    text += ": exact";
  text += "\n\n";
  std::vector<std::vector<std::string>> rows;
  rows.push_back(aligned ? std::vector<std::string>{"term", "exponent", "shift",
                                                    fmt::format("kept, in units of 2^{}", alignment), "cut off"}
                         : std::vector<std::string>{"term", "value"});
  std::size_t zeros = 0;
  for (const TracedTerm& t : node.terms) {
    const bool zero = t.value.kind == TracedNumber::Kind::finite && t.value.bits == "0";
    if (zero && t.term.kind == Term::Kind::product) {
      ++zeros;
      continue;
    }
    if (!aligned) {
      rows.push_back({term_name(t.term), scientific(t.value)});
    } else if (zero) {
      rows.push_back({term_name(t.term), "", "", binary(t.value, 0, 0), ""});
    } else {
      const bool gone = t.kept.bits == "0";
      rows.push_back({term_name(t.term), std::to_string(t.value.exponent), std::to_string(alignment - t.value.exponent),
                      gone ? "0" : binary(t.kept, alignment, lsb), cut_bits(t.value, lsb)});
    }
  }
  text += table_text(rows, 60);
  if (zeros != 0)
    text += fmt::format("  ({} that {} zero)\n", zeros == 1 ? "one product" : fmt::format("{} products", zeros),
                        zeros == 1 ? "is" : "are");
  text += "\n";
  if (node.alignment) {
    text += table_text({{"exact sum", aligned ? fmt::format("{} * 2^{}", binary(node.sum, alignment, lsb), alignment)
                                              : scientific(node.sum)},
                        {"rounded", fmt::format("{} ({})", scientific(node.result), steps_text(unit))}},
                       60);
  } else {
    text += table_text({{"result", scientific(node.result)}});
  }
  return text + "\n";
}

}  // namespace

std::string explain_text(const Datapath& datapath, const Problem& problem) {
  if (datapath.numerics.scales) throw InputError("explain: datapaths with block scales are not explained");
  std::vector<TracedNode> trace;
  const std::uint64_t code = trace_exact(datapath, problem.a, problem.b, problem.c, trace);
  std::string text;
  for (std::size_t i = 0; i < trace.size(); ++i) text += node_text(datapath, i, trace[i]);
  const Format& d = format(datapath.numerics.result);
  return text + fmt::format("  d = {} = {}\n", hex(d, code), number_text(d, code));
}

}  // namespace tcnum
