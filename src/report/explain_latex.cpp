// An explanation as a paper has it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "explain_sides.hpp"
#include "problem_text.hpp"
#include "property_table.hpp"

namespace tcnum {
namespace {

std::string ulps_text(const std::optional<double>& ulps) {
  return ulps ? latex_text(fmt::format("{:.4g}", *ulps)) : "";
}

std::string results(const std::vector<ExplainedSide>& sides) {
  std::vector<std::vector<std::string>> rows = {{"Architecture", "Instruction", "Result", "Code", "Error (ulps)"}};
  for (const ExplainedSide& side : sides) {
    const Format& d = format(side.datapath.numerics.result);
    std::vector<std::string> archs;
    for (const ExplainedOf& of : side.of) {
      const std::string name = latex_text(of.arch);
      if (!name.empty() && std::ranges::find(archs, name) == archs.end()) archs.push_back(name);
    }
    rows.push_back({fmt::format("{}", fmt::join(archs, ", ")),
                    fmt::format("\\texttt{{{}}}", latex_text(side.of.front().marked_name())),
                    latex_text(number_text(d, side.explanation.d)),
                    fmt::format("\\texttt{{{}}}", hex(d, side.explanation.d)), ulps_text(side.explanation.ulps)});
  }
  return latex_table("llrlr", rows);
}

/// "-1.1 * 2^3" as LaTeX sets it, from a number in binary.
std::string number(const TracedNumber& n) {
  if (n.kind == TracedNumber::Kind::nan) return "NaN";
  const std::string sign = n.negative ? "-" : "";
  if (n.kind == TracedNumber::Kind::infinity) return fmt::format("${}\\infty$", sign);
  const std::size_t last = n.bits.find_last_of('1');
  if (last == std::string::npos) return fmt::format("${}0$", sign);
  const std::string fraction = n.bits.substr(1, last);
  return fmt::format("${}1{}{}_2 \\cdot 2^{{{}}}$", sign, fraction.empty() ? "" : ".", fraction,
                     n.lsb + static_cast<int>(n.bits.size()) - 1);
}

std::string sums(const ExplainedSide& side) {
  std::string text;
  const Explanation& all = side.explanation;
  for (std::size_t i = 0; i < all.nodes.size(); ++i) {
    const ExplainedNode& node = all.nodes[i];
    if (node.idle) continue;
    std::vector<std::vector<std::string>> rows = {{"Term", "Value", "Kept"}};
    for (const TracedTerm& t : node.traced.terms) {
      if (t.term.kind == Term::Kind::product && t.value.bits == "0" && t.value.kind == TracedNumber::Kind::finite)
        continue;
      rows.push_back({latex_text(all.term_name(i, t.term)), number(t.value), number(t.kept)});
    }
    if (node.traced.alignment) rows.push_back({"Sum", "", number(node.traced.sum)});
    rows.push_back({"Result", "", number(node.traced.result)});
    text += fmt::format("\n% sum {} of {}\n", i + 1, node.of.text()) + latex_table("lll", rows);
  }
  return text;
}

}  // namespace

std::string sides_latex(const std::vector<ExplainedSide>& sides) {
  std::string text = fmt::format("% Made by tcnum {} explain; \\usepackage{{booktabs}}\n% The true value is {}.\n",
                                 TCNUM_VERSION, sides.front().explanation.exact.text()) +
                     results(sides);
  if (sides.size() == 1) text += sums(sides.front());
  return text;
}

}  // namespace tcnum
