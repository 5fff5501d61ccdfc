#include "works.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "short_datapath.hpp"

namespace tcnum {
namespace {

StatementFinding statement_finding(const Statement& statement, const Datapath& measured, const Evidence& evidence) {
  const auto judged = [&](const StatedValue& value) { return judge(with(measured, value).value(), evidence); };
  const auto own = stated_value(measured, statement.read_as.property);
  if (!own) {
    throw std::logic_error(
        fmt::format("{}: {} has no {}", statement.work, statement.instruction, name(statement.read_as.property)));
  }
  StatementFinding found{&statement, StatementVerdict::holds, *own, judged(statement.read_as), {}};
  for (const StatedValue& each : statement.read_as.alternatives()) {
    found.alternatives.push_back({each, judged(each)});
    if (!found.alternatives.back().by.refutation) found.verdict = StatementVerdict::open;
  }
  if (found.by.refutation) found.verdict = StatementVerdict::refuted;
  return found;
}

}  // namespace

std::string_view name(StatementVerdict verdict) {
  static constexpr std::array<std::string_view, 3> kNames = {"holds", "open", "refuted"};
  return kNames[static_cast<std::size_t>(verdict)];
}

bool is_published(const std::vector<CatalogueEntry>& accounts, const std::vector<const Statement*>& statements) {
  return !statements.empty() || std::ranges::any_of(accounts, [](const CatalogueEntry& each) { return !each.fitted; });
}

PublishedFindings judge_published(const Instruction& instruction, const std::vector<CatalogueEntry>& accounts,
                                  const std::vector<const Statement*>& statements, Tiles answered, std::string file) {
  Evidence evidence(instruction);
  evidence.add(std::move(answered), "recorded");
  evidence.name_battery();
  const Datapath* const measured = !accounts.empty() && accounts.front().fitted ? &accounts.front().datapath : nullptr;
  PublishedFindings found{&instruction,
                          std::move(file),
                          evidence.size(),
                          measured == nullptr ? "" : short_text(*measured),
                          judge_accounts(evidence, accounts, measured),
                          {}};
  for (const Statement* each : statements) {
    if (measured == nullptr)
      throw std::logic_error(fmt::format("{}: {} was not measured", each->work, each->instruction));
    found.statements.push_back(statement_finding(*each, *measured, evidence));
  }
  return found;
}

std::vector<Work> works_of(const std::vector<PublishedFindings>& all) {
  std::vector<Work> works;
  const auto add = [&](std::string_view name, std::string_view origin) {
    if (std::ranges::find(works, name, &Work::name) == works.end())
      works.push_back({std::string(name), std::string(origin)});
  };
  for (const PublishedFindings& each : all) {
    for (const AccountFinding& account : each.accounts) add(account.account, account.origin);
  }
  for (const PublishedFindings& each : all) {
    for (const StatementFinding& one : each.statements) add(one.statement->work, one.statement->origin);
  }
  return works;
}

std::string works_cell(const PublishedFindings& of, std::string_view work) {
  for (const AccountFinding& each : of.accounts) {
    if (each.account != work) continue;
    if (!each.by.refutation) return "explains all";
    std::vector<std::string_view> fields;
    for (const RefutedField& field : each.fields) fields.push_back(field.field);
    return fields.empty() ? "refuted" : fmt::format("all but {}", fmt::join(fields, ", "));
  }
  std::array<std::size_t, 3> verdicts{};
  for (const StatementFinding& each : of.statements) {
    if (each.statement->work == work) ++verdicts[static_cast<std::size_t>(each.verdict)];
  }
  std::vector<std::string> parts;
  const auto [hold, open, refuted] = verdicts;
  for (const auto& [count, verdict] :
       {std::pair{hold, "hold"}, std::pair{open, "open"}, std::pair{refuted, "refuted"}}) {
    if (count != 0) parts.push_back(fmt::format("{} {}", count, verdict));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<TableRow> works_rows(const std::vector<PublishedFindings>& all) {
  const auto works = works_of(all);
  std::vector<TableRow> rows;
  for (const PublishedFindings& each : all) {
    TableRow& row = rows.emplace_back();
    row.cells = {{"instruction", each.instruction->name()}, {"answers", std::to_string(each.answers)}};
    for (const Work& work : works) row.cells.emplace_back(work.name, works_cell(each, work.name));
  }
  return rows;
}

}  // namespace tcnum
