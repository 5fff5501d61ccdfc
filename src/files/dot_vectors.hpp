// Vector files that name no instruction: dot products of a datapath that stands alone.
#pragma once

#include <string>

#include "safetensors.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// What metadata with the keys instruction and arch names. Throws InputError, with `path` in front, if there is no such
/// instruction, the architecture does not have it, or another key does not go with it.
struct NamedInstruction {
  const Instruction* instruction;
  ArchId arch;
};
NamedInstruction instruction_of_metadata(const std::string& path, const Metadata& metadata);

/// Whether the metadata of a vector file names an instruction; it need not be one that there is. Throws InputError if
/// the file is no safetensors.
bool names_instruction(const std::string& path);

/// As read_vectors() and write_vectors(), of a file that names none; `dot` (InstructionKind::dot) says what its
/// formats, k and block scales must be. `instruction` and `arch` of the vectors are empty.
Vectors read_dot_vectors(const std::string& path, const Instruction& dot, bool results_required = true);
void write_dot_vectors(const std::string& path, const Vectors& vectors, const Instruction& dot);

}  // namespace tcnum
