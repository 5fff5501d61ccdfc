#include <fmt/ranges.h>

#include "datapath_text.hpp"
#include "probe_report.hpp"

namespace tcnum {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string_view witness_of(const Source& source) {
  if (source.kind == OracleKind::program) return "the program";
  return source.kind == OracleKind::datapath ? "the datapath" : "the hardware";
}

std::string properties_text(const ProbeReport& report) {
  const bool explained = report.result.verdict != Verdict::unexplained;
  Rows rows = {{"property", "value", explained ? "evidence" : ""}};
  for (std::size_t i = 0; i < kProperties; ++i) {
    const auto property = static_cast<Property>(i);
    const Finding finding(report.fit, report.result, property);
    if (!explained) {
      if (!finding.unobservable()) rows.push_back({std::string(name(property)), finding.value(), ""});
    } else if (finding.interesting()) {
      rows.push_back({std::string(name(property)), finding.value(), finding.evidence(witness_of(report.source))});
    }
  }
  if (rows.size() == 1) return "  Other values of its properties get as many wrong.\n";
  return table_text(rows, 24);
}

/// Of what is ambiguous: what the answers decide, and what they do not.
std::string settled_and_open(const ProbeReport& report) {
  std::vector<std::string_view> settled, open;
  for (std::size_t i = 0; i < kProperties; ++i) {
    const auto property = static_cast<Property>(i);
    const Finding finding(report.fit, report.result, property);
    if (finding.open() != nullptr)
      open.push_back(name(property));
    else if (finding.interesting() && !finding.unobservable())
      settled.push_back(name(property));
  }
  const bool is_example = !sentence_is_settled(report.fit.space(), report.result);
  return fmt::format(
      "Settled: {}. Open: {}.{}", settled.empty() ? "nothing" : fmt::format("{}", fmt::join(settled, ", ")),
      fmt::join(open, ", "),
      is_example ? fmt::format(" For example, of the {} datapaths that are left:", count_text(report.result.surviving))
                 : "");
}

std::string accounts_text(const ProbeReport& report) {
  if (report.accounts.empty()) return "";
  const Evidence& answers = report.fit.evidence();
  Rows rows = {{"published account", "verdict", "evidence"}};
  for (const AccountFinding& each : report.accounts) {
    if (!each.by.refutation) {
      rows.push_back(
          {each.account, "survives",
           fmt::format("gives all {} answers ({}; {})", count_text(answers.size()), each.origin, each.standing)});
      continue;
    }
    std::string fields;
    for (const RefutedField& field : each.fields)
      fields += fmt::format("{} {} {}", fields.empty() ? "; right but for" : ",", field.field, field.says);
    rows.push_back({each.account, "refuted",
                    fmt::format("by {} answers, the smallest {}{} ({}; {})", count_text(each.by.mismatches),
                                answer_text(answers.instruction(), *each.by.refutation, witness_of(report.source)),
                                fields, each.origin, each.standing)});
  }
  return "\n" + table_text(rows);
}

/// Rows of what is the same and what is not.
void add_relatives(const ProbeReport& report, Rows& rows) {
  std::string same;
  std::map<std::size_t, std::string> unlike;
  for (const Relative& each : report.relatives) {
    std::string& names = each.mismatches == 0 ? same : unlike[each.mismatches];
    names.append(names.empty() ? "" : ", ").append(each.instruction);
  }
  const auto answers = count_text(report.fit.evidence().size());
  if (!same.empty()) rows.push_back({"same as", fmt::format("{}: each explains all {} answers", same, answers)});
  for (const auto& [mismatches, names] : unlike) {
    rows.push_back({"unlike", fmt::format("{}: {} answers differ", names, count_text(mismatches))});
  }
  if (!report.compared) return;
  std::string text;
  if (report.compared->here > 0) text = fmt::format("{:.2g} dot products", report.compared->here);
  if (report.compared->widths > 0) {
    text += fmt::format("{}{:.2g} at {} other N", text.empty() ? "" : ", and ", report.compared->other_widths,
                        report.compared->widths);
  }
  rows.push_back({"compared", fmt::format("{} ({})", text, report.compared->file)});
}

/// How much was asked, of whom, and what else is known of the instruction.
std::string circumstances_text(const ProbeReport& report) {
  const FitResult& r = report.result;
  Rows rows = {{"datapaths", fmt::format("{} considered, {} left", count_text(r.considered), count_text(r.surviving))}};
  if (r.verdict == Verdict::identified && r.surviving > 0)
    rows.back().back() += " (in one class that no input tells apart)";
  std::string asked = count_text(report.fit.evidence().size());
  if (r.separating > 0)
    asked += fmt::format(", of which {} were asked because they separate two datapaths", r.separating);
  rows.push_back({"answers", std::move(asked)});
  if (r.verdict == Verdict::ambiguous && r.search_effort > 0) {
    rows.push_back({"search", fmt::format("{} dot problems tried that separate none of what is left",
                                          count_text(r.search_effort))});
  }
  if (!report.sass.empty()) rows.push_back({"SASS", report.sass});
  add_relatives(report, rows);
  rows.push_back({"source", source_text(report.source)});
  if (report.source.kind == OracleKind::recorded) rows.push_back({"file", report.source.file});
  return table_text(rows);
}

}  // namespace

std::string text_report(const ProbeReport& report) {
  const FitResult& r = report.result;
  const Space& space = report.fit.space();
  const std::string on = report.arch.empty() ? "" : " on " + report.arch;
  std::string text = fmt::format("{}{}: {}\n\n", space.instruction().name(), on, name(r.verdict));
  if (r.verdict == Verdict::unexplained) {
    text += wrapped(
        fmt::format("No datapath of the space explains every answer.{} The nearest gets {} of {} answers wrong:",
                    r.looked_among_rare
                        ? ""
                        : fmt::format(" Rare ones were not looked at, for which recorded answers must be {}.",
                                      count_text(kEnoughForRare)),
                    count_text(r.mismatches), count_text(report.fit.evidence().size())),
        2);
  }
  if (r.verdict == Verdict::ambiguous) text += wrapped(settled_and_open(report), 2) + "\n";
  text += wrapped(structure_sentence(space, r.choice, r.unobservable), 2) + "\n" + properties_text(report);
  if (r.counterexample) {
    text += "\n  A small problem that it gets wrong:\n\n" +
            problem_text(space.instruction(), r.counterexample->problem, {"this datapath", r.counterexample->expected},
                         {answerer(report.source), r.counterexample->observed});
  }
  return text + accounts_text(report) + "\n" + circumstances_text(report);
}

TableRow table_row(const ProbeReport& report) {
  const Space& space = report.fit.space();
  TableRow row;
  row.cells = {{"instruction", space.instruction().name()},
               {"verdict", std::string(name(report.result.verdict))},
               {"datapath", short_text(report.result.datapath)}};
  for (std::size_t i = 0; i < kProperties; ++i) {
    const auto property = static_cast<Property>(i);
    const Finding finding(report.fit, report.result, property);
    std::string value = finding.interesting() ? finding.value() : "";
    if (value == "does not apply") value.clear();
    row.cells.emplace_back(name(property), std::move(value));
  }
  row.cells.emplace_back("answers", std::to_string(report.fit.evidence().size()));
  return row;
}

}  // namespace tcnum
