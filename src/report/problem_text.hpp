// A dot problem and its codes, for people and for programs.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "src/files/written_number.hpp"
#include "tcnum/format.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

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

}  // namespace tcnum
