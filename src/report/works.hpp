// What works have published of instructions, held against recorded answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "accounts.hpp"
#include "property_table.hpp"
#include "src/catalogue/statements.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

enum class StatementVerdict : std::uint8_t {
  holds,    ///< it explains every answer, and no alternative does
  open,     ///< an alternative does, too
  refuted,  ///< it does not
};
/// "holds".
std::string_view name(StatementVerdict verdict);

struct StatementFinding {
  struct Alternative {
    StatedValue value;
    Judgement by;
  };
  const Statement* statement;
  StatementVerdict verdict;
  StatedValue measured;
  Judgement by;                           ///< the measured datapath with the stated value
  std::vector<Alternative> alternatives;  ///< the same with these
};

/// What is published of an instruction.
struct PublishedFindings {
  const Instruction* instruction;
  std::string file;      ///< of the answers
  std::size_t answers;   ///< that it has
  std::string measured;  ///< the measured datapath in short; empty if nothing was fitted here
  std::vector<AccountFinding> accounts;
  std::vector<StatementFinding> statements;
};

/// Whether anything is.
bool is_published(const std::vector<CatalogueEntry>& accounts, const std::vector<const Statement*>& statements);

/// Holds all that is not fitted here against answers. The first account is what was fitted here, if anything was; only
/// then are fields looked at, and there may be statements. Throws std::logic_error if one is of sums that it does not
/// have.
PublishedFindings judge_published(const Instruction& instruction, const std::vector<CatalogueEntry>& accounts,
                                  const std::vector<const Statement*>& statements, Tiles answered, std::string file);

struct Work {
  std::string name, origin;
};
/// In the order in which they are met, those with accounts first.
std::vector<Work> works_of(const std::vector<PublishedFindings>& all);

/// What a work comes to for an instruction: "explains all", "all but units.sum.underflow_sign", "refuted"; of
/// statements how many "hold", are "open" or "refuted"; empty where it says nothing.
std::string works_cell(const PublishedFindings& of, std::string_view work);

/// Works by instructions, and what refutes or settles what they say.
std::string works_text(const std::vector<PublishedFindings>& all, std::string_view arch);
/// The same without the evidence: a row for each instruction, a column for each work.
std::vector<TableRow> works_rows(const std::vector<PublishedFindings>& all);
nlohmann::ordered_json works_document(const std::vector<PublishedFindings>& all, std::string_view arch);

}  // namespace tcnum
