#include <nlohmann/json.hpp>

#include "problem_text.hpp"
#include "works.hpp"

namespace tcnum {
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
