// Dot problems and their results as commands take them: vector files, texts and arrays, of an instruction or of a
// datapath that stands alone.
#pragma once

#include "names.hpp"
#include "src/files/dot_vectors.hpp"

namespace tcnum {

// --- Vector files as commands take them: of an instruction, or of a datapath that stands alone.

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
NamedDatapath datapath_for(const VectorsInFile& of, const std::string& file, const std::string& datapath);

/// Fails before the work rather than after: if no file of that form (--form) can be made at --out.
void require_vectors_writable(const std::string& out, const std::string& form);
/// Writes vectors of the same instruction, or of the same datapath, to a path that has been found to be right.
void write_vectors_of(const VectorsInFile& like, const std::string& path, const Vectors& vectors,
                      const std::string& form = {});

// --- The forms that files of dot problems have: vector files, texts and arrays.

/// A vector file, unless it is one of the others.
struct VectorForm {
  std::optional<TextForm> text;
  bool arrays = false;
};

/// What the user says that a file's form is, or what its name ends in. `option` names the file, `form_option` its form,
/// in errors. Of "-", standard input or output, the user must say that it is a text.
VectorForm vector_form(std::string_view option, const std::string& path, std::string_view form_option,
                       const std::string& form);

/// Opens a text: of a file, or of standard input.
TextVectors open_text(const std::string& path, TextForm form);

/// Writes a text to a file that holds all of it or what it held before, or to standard output.
void write_text_vectors(const std::string& path, TextForm form, const Vectors& vectors, const Instruction& instruction);

}  // namespace tcnum
