// `--from exec:COMMAND`, where a program answers: what it is asked, and the program itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/program_oracle.hpp"

namespace tcnum {

/// Whether `--from` names a program. Throws InputError if it does not, and options are given that only a program has.
bool names_program(std::string_view from, const ProgramCommandOptions& options);

/// Whether the options describe a dot product.
bool describes_dot(const ProgramCommandOptions& options);

/// What a program stands for.
struct ProgramSubject {
  const Instruction* instruction = nullptr;  ///< of the table, or `dot`
  std::optional<ArchId> arch;                ///< of an instruction's
  std::unique_ptr<const Instruction> dot;    ///< where it is none
};
/// An instruction of an architecture, or the dot product that the options describe. Throws InputError.
ProgramSubject program_subject(const ProgramCommandOptions& options, const std::string& arch,
                               const std::string& instruction);

inline NanBits nan_bits(const ProgramCommandOptions& options) {
  return options.any_nan ? NanBits::any : NanBits::as_they_are;
}

/// Starts the program of `--from exec:COMMAND`. Ctrl-C stops it, where an InterruptGuard lives.
std::shared_ptr<Program> program_of(std::string_view from, const ProgramCommandOptions& options);

}  // namespace tcnum
