#include <fmt/ranges.h>

#include <algorithm>

#include "datapath_text.hpp"
#include "probe_report.hpp"

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

// --- As text

namespace {

using Rows = std::vector<std::vector<std::string>>;

/// Answers that are recorded are the hardware's.
std::string answer_text(const Instruction& in, const Judgement& by) {
  return tcnum::answer_text(in, *by.refutation, "the hardware");
}

// --- What is refuted --------------------------------------------------------------------------------------------

/// Something that works have otherwise than it was measured, of an instruction.
struct Refuted {
  std::string what;  ///< "units.sum.underflow_sign kept; measured: positive"
  const PublishedFindings* of;
  const Judgement* by;
  std::vector<std::string> works;
};

std::vector<Refuted> refuted_of(const PublishedFindings& of) {
  std::vector<Refuted> all;
  const auto add = [&](std::string what, const Judgement& by, const std::string& work) {
    const auto found = std::ranges::find(all, what, &Refuted::what);
    if (found == all.end())
      all.push_back({std::move(what), &of, &by, {work}});
    else
      found->works.push_back(work);
  };
  for (const AccountFinding& account : of.accounts) {
    for (const RefutedField& each : account.fields)
      add(fmt::format("{} {}; measured: {}", each.field, each.says, each.measured), each.by, account.account);
    if (account.by.refutation && account.fields.empty()) {
      const std::string measured = of.measured.empty() ? "" : fmt::format("; measured: {}", of.measured);
      add(account.says + measured, account.by, account.account);
    }
  }
  return all;
}

/// What is the same for several instructions, numbered from 1.
class RefutedGroups {
 public:
  explicit RefutedGroups(const std::vector<PublishedFindings>& all) {
    for (const PublishedFindings& of : all) {
      for (Refuted& each : refuted_of(of)) {
        const auto same = [&](const std::vector<Refuted>& group) {
          return group.front().what == each.what && group.front().works == each.works;
        };
        auto found = std::ranges::find_if(groups_, same);
        if (found == groups_.end()) found = groups_.insert(groups_.end(), std::vector<Refuted>{});
        found->push_back(std::move(each));
      }
    }
  }

  bool empty() const { return groups_.empty(); }

  /// " [1] [3]": what of the work is refuted for the instruction.
  std::string marks(const PublishedFindings& of, const std::string& work) const {
    std::string text;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const bool is = std::ranges::any_of(groups_[i], [&](const Refuted& each) {
        return each.of == &of && std::ranges::find(each.works, work) != each.works.end();
      });
      if (is) text += fmt::format(" [{}]", i + 1);
    }
    return text;
  }

  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const std::vector<Refuted>& group = groups_[i];
      Rows rows = {{"instruction", "refuted by", "the smallest of these answers"}};
      for (const Refuted& each : group) {
        rows.push_back({each.of->instruction->name(),
                        fmt::format("{} of {}", count_text(each.by->mismatches), count_text(each.of->answers)),
                        answer_text(*each.of->instruction, *each.by)});
      }
      out += "\n" +
             wrapped(fmt::format("[{}] {}: {}", i + 1, fmt::join(group.front().works, ", "), group.front().what), 0) +
             table_text(rows, 40);
    }
    return out;
  }

 private:
  std::vector<std::vector<Refuted>> groups_;
};

/// How many statements of a work hold, are open and refuted: "2 hold, 1 refuted"; empty where it says nothing.
std::string statements_cell(const PublishedFindings& of, std::string_view work) {
  std::array<std::size_t, 3> verdicts{};
  for (const StatementFinding& each : of.statements) {
    if (each.statement->work == work) ++verdicts[static_cast<std::size_t>(each.verdict)];
  }
  std::vector<std::string> parts;
  for (const StatementVerdict verdict : {StatementVerdict::holds, StatementVerdict::open, StatementVerdict::refuted}) {
    const std::size_t count = verdicts[static_cast<std::size_t>(verdict)];
    const std::string_view word = verdict == StatementVerdict::holds ? "hold" : name(verdict);
    if (count != 0) parts.push_back(fmt::format("{} {}", count, word));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string matrix_cell(const PublishedFindings& of, const std::string& work, const RefutedGroups& refuted) {
  for (const AccountFinding& each : of.accounts) {
    if (each.account != work) continue;
    if (!each.by.refutation) return "all " + count_text(of.answers);
    return (each.fields.empty() ? "refuted" : "all but") + refuted.marks(of, work);
  }
  return statements_cell(of, work);
}

// --- Single properties ------------------------------------------------------------------------------------------

std::string evidence_text(const Instruction& in, const StatementFinding& of) {
  std::vector<std::string> parts;
  if (of.verdict == StatementVerdict::refuted)
    parts.push_back(
        fmt::format("refuted by {} answers, the smallest {}", count_text(of.by.mismatches), answer_text(in, of.by)));
  for (const StatementFinding::Alternative& each : of.alternatives) {
    if (of.verdict == StatementVerdict::refuted) break;
    parts.push_back(each.by.refutation ? fmt::format("{} is refuted by {} answers, the smallest {}", each.value.text(),
                                                     count_text(each.by.mismatches), answer_text(in, each.by))
                                       : fmt::format("{} explains all answers, too", each.value.text()));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string statements_text(const PublishedFindings& of) {
  Rows said = {{"work", "where", "says", "read as", "verdict"}}, evidence = {{"read as", "evidence"}};
  for (const StatementFinding& each : of.statements) {
    const Statement& statement = *each.statement;
    std::string read_as = fmt::format("{} {}", name(statement.read_as.property), statement.read_as.text());
    said.push_back({std::string(statement.work), std::string(statement.where), fmt::format("\"{}\"", statement.says),
                    read_as, std::string(name(each.verdict))});
    if (std::ranges::find(evidence, read_as, [](const auto& row) { return row[0]; }) == evidence.end())
      evidence.push_back({std::move(read_as), evidence_text(*of.instruction, each)});
  }
  return fmt::format("\n{}\n{}\n{}", of.instruction->name(), table_text(said, 44), table_text(evidence));
}

}  // namespace

std::string works_text(const std::vector<PublishedFindings>& all, std::string_view arch) {
  const std::vector<Work> works = works_of(all);
  const RefutedGroups refuted(all);
  Rows rows = {{"instruction"}};
  for (const Work& work : works) rows[0].push_back(work.name);
  for (const PublishedFindings& each : all) {
    rows.push_back({each.instruction->name()});
    for (const Work& work : works) rows.back().push_back(matrix_cell(each, work.name, refuted));
  }
  std::string text =
      fmt::format("What is published of {}, against the recorded answers\n\n{}\n", arch, table_text(rows, 40));
  text += wrapped(
      "all N: the account explains all N answers. all but: it does with that as it was measured. hold: of "
      "statements about single properties. Empty: the work says nothing of the instruction.",
      2);
  for (const Work& work : works) text += wrapped(fmt::format("{}: {}", work.name, work.origin), 2);
  if (!refuted.empty()) {
    text += "\n" +
            wrapped(
                "What is refuted: the measured datapath with that alone as the works have it, or where these describe "
                "another one altogether, that.",
                0) +
            refuted.text();
  }
  bool first = true;
  for (const PublishedFindings& each : all) {
    if (each.statements.empty()) continue;
    if (std::exchange(first, false)) {
      text += "\n" + wrapped(
                         "What is said of single properties: it holds if the measured datapath with it explains every "
                         "answer, and with the nearest other values does not.",
                         0);
    }
    text += statements_text(each);
  }
  return text;
}

// --- As JSON

namespace {

using nlohmann::ordered_json;

void put(ordered_json& json, const Instruction& in, const Judgement& by) {
  json["mismatches"] = by.mismatches;
  if (!by.refutation) return;
  ordered_json answer = {{"probe", by.refutation->probe}};
  if (!by.refutation->name.empty()) answer["probe_name"] = by.refutation->name;
  answer.update(json_problem(in, by.refutation->problem, by.refutation->expected, by.refutation->observed));
  json["refuted_by"] = std::move(answer);
}

ordered_json account_json(const Instruction& in, const AccountFinding& of) {
  ordered_json json = {
      {"work", of.account}, {"datapath", of.says}, {"verdict", of.by.refutation ? "refuted" : "explains_all"}};
  put(json, in, of.by);
  json["fields"] = ordered_json::array();
  for (const RefutedField& each : of.fields) {
    ordered_json field = {{"field", each.field}, {"says", each.says}, {"measured", each.measured}};
    put(field, in, each.by);
    json["fields"].push_back(std::move(field));
  }
  return json;
}

ordered_json statement_json(const Instruction& in, const StatementFinding& of) {
  const Statement& statement = *of.statement;
  ordered_json json = {{"work", statement.work},
                       {"where", statement.where},
                       {"says", statement.says},
                       {"property", name(statement.read_as.property)},
                       {"read_as", statement.read_as.text()},
                       {"measured", of.measured.text()},
                       {"verdict", name(of.verdict)}};
  put(json, in, of.by);
  json["alternatives"] = ordered_json::array();
  for (const StatementFinding::Alternative& each : of.alternatives) {
    ordered_json alternative = {{"value", each.value.text()}};
    put(alternative, in, each.by);
    json["alternatives"].push_back(std::move(alternative));
  }
  return json;
}

}  // namespace

ordered_json works_document(const std::vector<PublishedFindings>& all, std::string_view arch) {
  ordered_json json = {{"schema", "tcnum.works/1"}, {"version", TCNUM_VERSION}, {"arch", arch}};
  json["works"] = ordered_json::array();
  for (const Work& work : works_of(all)) json["works"].push_back({{"work", work.name}, {"origin", work.origin}});
  json["instructions"] = ordered_json::array();
  for (const PublishedFindings& each : all) {
    ordered_json one = {{"name", each.instruction->name()}, {"file", each.file}, {"answers", each.answers}};
    one["accounts"] = ordered_json::array();
    for (const AccountFinding& account : each.accounts)
      one["accounts"].push_back(account_json(*each.instruction, account));
    one["statements"] = ordered_json::array();
    for (const StatementFinding& statement : each.statements)
      one["statements"].push_back(statement_json(*each.instruction, statement));
    json["instructions"].push_back(std::move(one));
  }
  return json;
}

}  // namespace tcnum
