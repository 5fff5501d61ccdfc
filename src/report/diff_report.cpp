#include "diff_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/printable.hpp"
#include "layout.hpp"
#include "problem_text.hpp"
#include "src/fit/chain.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

std::string ulps(double number) { return number == 0 ? "-" : fmt::format("{:.3g}", number); }

/// How a side comes to so many products.
std::string chain_text(const DiffSide& side, int k) {
  const int links = k / side.datapath->tree.k;
  return links == 1 ? "" : fmt::format(", {} of {} products one after the other", links, side.datapath->tree.k);
}

/// A line for each kind of operands, or each K, that was tried: what `label` calls it.
template <class Tried, class Label>
std::string tried_text(const char* heading, const char* counted, const std::vector<Tried>& all, const Label& label) {
  Rows rows = {{heading, counted, "differ", "", "ulps, mean", "most"}};
  for (const Tried& each : all) {
    const auto tried = static_cast<double>(each.tried), different = static_cast<double>(each.different);
    rows.push_back({label(each), count_text(tried), count_text(different),
                    fmt::format("{:.3g} %", 100 * different / tried), ulps(each.mean_ulps), ulps(each.max_ulps)});
  }
  return table_text(rows);
}

template <class Tried>
ordered_json tried_json(const char* key, const ordered_json& label, const Tried& of) {
  return {{key, label},
          {"tried", of.tried},
          {"different", of.different},
          {"max_ulps", of.max_ulps},
          {"mean_ulps", of.mean_ulps}};
}

std::string fields_text(const std::vector<FieldDiff>& fields, const char* heading) {
  Rows rows = {{"", heading, "one", "other"}};
  for (const FieldDiff& each : fields) rows.push_back({each.decides ? "*" : "", each.field, each.one, each.other});
  return table_text(rows, 40);
}

ordered_json fields_json(const std::vector<FieldDiff>& fields) {
  ordered_json json = ordered_json::array();
  for (const FieldDiff& each : fields)
    json.push_back({{"field", each.field}, {"one", each.one}, {"other", each.other}, {"decides", each.decides}});
  return json;
}

}  // namespace

std::string diff_text(const DatapathDiff& diff, const DiffSide& one, const DiffSide& other) {
  constexpr const char* kSaid = "what the descriptions say";
  std::string text =
      fmt::format("one:   {} ({}){}\nother: {} ({}){}\n\n", printable(one.name), printable(one.origin),
                  chain_text(one, diff.k), printable(other.name), printable(other.origin), chain_text(other, diff.k));
  if (diff.equal) return text + "They never differ: their descriptions are the same.\n";
  if (!diff.smallest) {
    return text +
           fmt::format("No difference in {} dot products of {} products. Their descriptions are not the same:\n\n{}",
                       count_text(diff.tried()), diff.k, fields_text(diff.fields, kSaid));
  }
  text += fmt::format("They differ, in dot products of {} products:\n\n{}\n", diff.k,
                      tried_text("operands", "dot products", diff.operands,
                                 [](const OperandsDiff& each) { return std::string(each.operands); }));
  text += fmt::format("The smallest operands that were found for which they do:\n\n{}\n",
                      problem_text(dot_of(*one.datapath, diff.k), diff.smallest->problem,
                                   {one.name, diff.smallest->expected}, {other.name, diff.smallest->observed}));
  return text + fields_text(diff.fields, kSaid) +
         "  *: one, with this as the other has it, gives the other's result there\n";
}

ordered_json diff_document(const DatapathDiff& diff, const DiffSide& one, const DiffSide& other) {
  const auto side = [](const DiffSide& of) {
    return ordered_json{{"name", of.name}, {"origin", of.origin}, {"k", of.datapath->tree.k}};
  };
  ordered_json json = {{"schema", "tcnum.diff/1"},
                       {"version", TCNUM_VERSION},
                       {"one", side(one)},
                       {"other", side(other)},
                       {"k", diff.k},
                       {"equal", diff.equal},
                       {"tried", diff.tried()},
                       {"different", diff.different()}};
  json["operands"] = ordered_json::array();
  for (const OperandsDiff& each : diff.operands)
    json["operands"].push_back(tried_json("operands", each.operands, each));
  json["smallest"] = nullptr;
  if (diff.smallest) {
    json["smallest"] = json_problem(dot_of(*one.datapath, diff.k), diff.smallest->problem, diff.smallest->expected,
                                    diff.smallest->observed);
  }
  json["fields"] = fields_json(diff.fields);
  return json;
}

std::string plan_diff_text(const PlanDiff& diff, const std::string& one, const std::string& other) {
  std::string text = fmt::format("one:   {}\nother: {}\n\n", printable(one), printable(other));
  if (diff.equal) return text + "They never differ: the plans say the same.\n";
  text += fmt::format(
      "Products of {} · {} → {}:\n\n{}\n", format(diff.a).name, format(diff.b).name, format(diff.output).name,
      tried_text("K", "elements", diff.lengths, [](const PlansAtLength& at) { return std::to_string(at.k); }));
  // What becomes of alpha, C and a bias does not show in products that have none.
  const bool needs_terms = std::ranges::any_of(
      diff.fields, [](const FieldDiff& each) { return each.field.starts_with("epilogue") || each.field == "scales"; });
  text += diff.smallest_k
              ? fmt::format("The smallest K for which a product was found that differs: {}\n\n", *diff.smallest_k)
              : fmt::format("No product {}was found that differs. The plans do not say the same:\n\n",
                            needs_terms ? "without alpha, C, a bias and scales " : "");
  text += fields_text(diff.fields, "what the plans say");
  if (diff.smallest_k) text += "  *: one, with this as the other has it, gives the other's results there\n";
  return text;
}

ordered_json plan_diff_document(const PlanDiff& diff, const std::string& one, const std::string& other) {
  ordered_json json = {{"schema", "tcnum.plan_diff/1"},
                       {"version", TCNUM_VERSION},
                       {"one", one},
                       {"other", other},
                       {"a", format(diff.a).name},
                       {"b", format(diff.b).name},
                       {"output", format(diff.output).name},
                       {"equal", diff.equal}};
  json["lengths"] = ordered_json::array();
  for (const PlansAtLength& at : diff.lengths) json["lengths"].push_back(tried_json("k", at.k, at));
  json["smallest_k"] = diff.smallest_k ? ordered_json(*diff.smallest_k) : ordered_json(nullptr);
  json["fields"] = fields_json(diff.fields);
  return json;
}

// --- As a picture

namespace {

constexpr int kCellWidth = 58, kCellHeight = 26, kLeft = 76, kTop = 62, kMargin = 14, kLegend = 34,
              kLeastWidth = 560;  // for the line below

struct Colours {
  std::string cell, text;
};

/// What is said of pairs that were not seen to differ, and their colours.
struct CellStyle {
  std::string_view text, in_picture;
  Colours colours;
};
const CellStyle& style_of(DiffCell::Kind kind) {
  static const std::array<CellStyle, 3> kStyles = {{{"same", "same", {"#e8f3ec", "#1b5e36"}},
                                                    {"none found", "–", {"#f7f7f7", "#555555"}},
                                                    {"other formats", "", {"#ffffff", "#999999"}}}};
  return kStyles[static_cast<std::size_t>(kind)];
}

/// The more differ, the darker: of one hue, which those who see few colours tell apart too.
Colours colours_of(const DiffCell& cell) {
  if (cell.kind != DiffCell::Kind::different) return style_of(cell.kind).colours;
  // A share of 40 % is as dark as it gets; its root, so that rare ones are seen.
  constexpr double kDarkest = 0.4;
  constexpr double kLight[] = {253, 231, 212}, kDark[] = {150, 45, 20};
  const double at = std::sqrt(std::min(cell.share / kDarkest, 1.0));
  const auto mixed = [&](int i) { return static_cast<int>(std::lround(kLight[i] + at * (kDark[i] - kLight[i]))); };
  return {fmt::format("#{:02x}{:02x}{:02x}", mixed(0), mixed(1), mixed(2)), at > 0.6 ? "#ffffff" : "#3a1408"};
}

std::string text_at(double x, double y, const std::string& text, const std::string& more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, text);
}

std::string cell_at(int x, int y, const Colours& colours, const std::string& text) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#ffffff\"/>\n", x, y,
                     kCellWidth, kCellHeight, colours.cell) +
         text_at(x + kCellWidth / 2.0, y + kCellHeight / 2.0 + 4, text,
                 fmt::format("text-anchor=\"middle\" fill=\"{}\"", colours.text));
}

}  // namespace

std::string DiffCell::text() const {
  return kind == Kind::different ? fmt::format("{:.2g} %", 100 * share) : std::string(style_of(kind).text);
}

std::string diff_svg(const std::string& title, const std::vector<std::string>& names,
                     const std::vector<std::vector<DiffCell>>& cells) {
  const auto count = static_cast<int>(names.size());
  const int width = std::max(kLeft + count * kCellWidth + kMargin, kLeastWidth),
            height = kTop + count * kCellHeight + kLegend + kMargin;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<title>{2}</title>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
      width, height, title);
  svg += text_at(kMargin, 22, title, "font-size=\"13\" font-weight=\"bold\"");
  for (int i = 0; i < count; ++i) {
    const int x = kLeft + i * kCellWidth, y = kTop + i * kCellHeight;
    svg += text_at(x + kCellWidth / 2.0, kTop - 8, names[static_cast<std::size_t>(i)], "text-anchor=\"middle\"");
    svg += text_at(kLeft - 8, y + kCellHeight / 2.0 + 4, names[static_cast<std::size_t>(i)], "text-anchor=\"end\"");
    svg += cell_at(x, y, {"#dddddd", "#dddddd"}, "");
    for (int j = 0; j < i; ++j) {
      const DiffCell& cell = cells[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      const bool differs = cell.kind == DiffCell::Kind::different;
      const std::string text = differs ? cell.text() : std::string(style_of(cell.kind).in_picture);
      svg += cell_at(kLeft + j * kCellWidth, y, colours_of(cell), text);
      svg += cell_at(x, kTop + j * kCellHeight, colours_of(cell), text);
    }
  }
  svg += text_at(kMargin, kTop + count * kCellHeight + 22,
                 "Share of the tried dot products that differ; –: none found, but not the same description",
                 "fill=\"#555555\"");
  return svg + "</svg>\n";
}

}  // namespace tcnum
