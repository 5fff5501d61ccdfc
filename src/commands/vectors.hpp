// Vector files as commands take them: of an instruction, or of a datapath that stands alone.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "names.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

struct VectorsInFile {
  Vectors vectors;
  const Instruction* instruction = nullptr;  ///< of the table, or `dot`
  std::optional<ArchId> arch;                ///< none: the file names no instruction
  std::unique_ptr<const Instruction> dot;    ///< then it is this, of the user's datapath

  /// Makes it of these, with their names.
  void be_of(const Datapath& datapath);
  void be_of(ArchId its_arch, const Instruction& its_instruction);

  /// "wgmma.m64n8k16.f32.f16.f16 on sm_90"; "dot.k16.f32.f16.f16.f32".
  std::string subject() const;
};

/// What the user says without a file: an instruction of an architecture, or a datapath alone. Nothing, if it is neither
/// or both.
std::optional<VectorsInFile> named_subject(const std::string& arch, const std::string& instruction,
                                           const std::string& datapath);

struct WantedVectors {
  std::string arch, instruction;  ///< what the user says that the file is of, if anything
  std::string datapath = {};      ///< that named_datapath() finds; a file that names no instruction is of this
  std::string form = {};          ///< --in-form, if it is not as the file's name ends
  bool results = true;            ///< whether it must have some
};
/// Of any form; "-" is a text on standard input.
VectorsInFile read_vectors_in(const std::string& file, const WantedVectors& wanted);

/// The datapath of that name, or if it is empty the catalogue's; as choose_datapath().
NamedDatapath datapath_for(const VectorsInFile& of, const std::string& file, const std::string& datapath,
                           const std::string& account = {});

/// Fails before the work rather than after: if no file of that form (--form) can be made at --out.
void require_vectors_writable(const std::string& out, const std::string& form);
/// Writes vectors of the same instruction, or of the same datapath, to a path that has been found to be right.
void write_vectors_of(const VectorsInFile& like, const std::string& path, const Vectors& vectors,
                      const std::string& form = {});

}  // namespace tcnum
