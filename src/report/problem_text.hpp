// Dot problems, their codes, and who answers them, for people and for programs.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "src/files/written_number.hpp"
#include "tcnum/format.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

// --- A dot problem and its codes, for people and for programs.

/// "0x3c00 = 1".
std::string code_text(FormatId id, std::uint64_t code);

/// A heading, a row for each term that is not zero, of many the first, and one for c. `shown`: as which text.
std::vector<std::vector<std::string>> term_rows(
    const Problem& problem, FormatId a, FormatId b, FormatId c,
    const std::function<std::string(FormatId, std::uint64_t)>& shown = code_text);

/// The codes of a dot problem's operands, as hexadecimal texts.
nlohmann::ordered_json codes_json(FormatId id, const std::vector<std::uint64_t>& codes);

/// A result, and whose it is: "NVIDIA H200", "mine.json".
struct NamedResult {
  std::string who;
  std::uint64_t code = 0;
};

/// One dot problem term by term, each line indented by two, and two results that are not the same; terms whose codes
/// are both zero are left out.
std::string problem_text(const Instruction& instruction, const Problem& problem, const NamedResult& one,
                         const NamedResult& other);
nlohmann::ordered_json json_problem(const Instruction& instruction, const Problem& problem, std::uint64_t expected,
                                    std::uint64_t observed);

// --- Who gave the answers of a report, in words and in JSON.

/// Where answers come from.
struct Source {
  OracleKind kind;
  std::string device;
  std::string file;                               ///< that holds the answers or the datapath, if any
  std::map<std::string, std::string> provenance;  ///< of driver, cuda, date, kernel and nan, those that are known
  friend bool operator==(const Source&, const Source&) = default;
};

/// Who recorded the answers of vectors that a file has, as their metadata says.
Source source_of(const Vectors& recorded, const std::string& file);
/// One line: "recorded answers of NVIDIA … (driver …, CUDA …, 2026-01-31)".
std::string source_text(const Source& source);
/// Whose answers they are, in a word or two: the device, or the file.
std::string answerer(const Source& source);
nlohmann::ordered_json json_source(const Source& source);

/// Says of vectors that their results are now the emulator's. `datapath`: by which.
void attribute_to_emulator(Vectors& vectors, std::string_view datapath);

}  // namespace tcnum
