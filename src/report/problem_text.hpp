// A dot problem and its codes, for people and for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tcnum/format.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// A code as 0x…, padded to the format's width.
std::string hex(const Format& f, std::uint64_t code);
/// Its number: decimal digits that read back to the same one, "inf", "nan".
std::string number_text(const Format& f, std::uint64_t code);
/// One dot problem term by term, each line indented by two; terms whose codes are both zero are left out.
std::string problem_text(const Instruction& instruction, const Problem& problem, std::uint64_t expected,
                         std::uint64_t observed);
nlohmann::ordered_json json_problem(const Instruction& instruction, const Problem& problem, std::uint64_t expected,
                                    std::uint64_t observed);

}  // namespace tcnum
