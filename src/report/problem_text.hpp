// A dot problem and its codes, for people and for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "src/files/written_number.hpp"
#include "tcnum/format.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

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
