// Dot problems in files that tcnum/tiles.hpp does not know: vector files of no instruction, arrays, and texts.
#pragma once

#include "safetensors.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

// --- Vector files that name no instruction: dot products of a datapath that stands alone.

/// What metadata with the keys instruction and arch names. Throws InputError, with `path` in front, if there is no such
/// instruction, the architecture does not have it, or another key does not go with it.
struct NamedInstruction {
  const Instruction* instruction;
  ArchId arch;
};
NamedInstruction instruction_of_metadata(const std::string& path, const Metadata& metadata);

/// All of a file's metadata: the keys that vectors keep, and those that are fields of theirs; and back.
Metadata metadata_of(const Vectors& vectors);
void put_metadata(const Metadata& metadata, Vectors& vectors);

/// Whether the metadata of a vector file names an instruction; it need not be one that there is. Throws InputError if
/// the file is no safetensors.
bool names_instruction(const std::string& path);

/// As read_vectors() and write_vectors(), of a file that names none; `dot` (InstructionKind::dot) says what its
/// formats, k and block scales must be. `instruction` and `arch` of the vectors are empty.
Vectors read_dot_vectors(const std::string& path, const Instruction& dot, bool results_required = true);
void write_dot_vectors(const std::string& path, const Vectors& vectors, const Instruction& dot);

// --- Dot problems as NumPy arrays: a .npy file an operand, of the shapes and dtypes of a vector file's tensors.

/// Whether a path stands for several files: "golden.{}.npy" for golden.a.npy, golden.b.npy, golden.c.npy, golden.d.npy,
/// and where there are some golden.e.npy, golden.sa.npy and golden.sb.npy.
bool names_arrays(std::string_view path);
/// The file of one operand.
std::string array_path(const std::string& path, std::string_view operand);

/// Problems of an instruction of the table or of make_dot(). Of the files only that of d may be missing, unless results
/// are required. Throws InputError.
Tiles read_arrays(const std::string& path, const Instruction& instruction, bool results_required);
/// The files one after the other, each complete or not there.
void write_arrays(const std::string& path, const Tiles& tiles, const Instruction& instruction);

// --- Dot problems as text, one a line: for spreadsheets, and for a simulator's $readmemh. docs/files.md describes the
// forms.

enum class TextForm : std::uint8_t {
  csv,  ///< a column an element; numbers, or codes as 0x…
  hex,  ///< a word a problem, its elements between underscores; comments begin with //
};
std::string_view name(TextForm form);
std::optional<TextForm> find_text_form(std::string_view name);
/// By how a file's name ends: .csv, .hex and .mem.
std::optional<TextForm> text_form_of(std::string_view path);

/// A text of dot problems.
class TextVectors {
 public:
  /// Reads what stands before the first problem. `path` is what messages begin with.
  TextVectors(std::string path, TextForm form, std::string text);
  TextVectors(const TextVectors&) = delete;
  TextVectors& operator=(const TextVectors&) = delete;

  /// What comments say, as "key: value". A form without comments says nothing.
  const Metadata& metadata() const { return metadata_; }

  /// How many products the first problem has, of the formats of `one`, a dot product of one product; 0: none, or what
  /// stands there is no problem of these formats.
  std::size_t products(const Instruction& one) const;

  /// All problems, each a tile of 1 × 1, of an instruction of the table or of make_dot(). Results may be missing, in
  /// all lines or in none, unless they are required; they are then +0. Throws InputError that names the line and the
  /// element.
  Vectors read(const Instruction& instruction, bool results_required) const;

 private:
  std::string path_;
  TextForm form_;
  std::string text_;
  std::vector<std::string_view> lines_;  ///< of the text, without blanks around them
  std::size_t first_ = 0;                ///< of the lines, the first problem's
  Metadata metadata_;
};

/// Writes all of it, piece by piece: what the tiles hold is taken apart into dot problems, in the order of their
/// numbers.
void print_vectors(const Vectors& vectors, const Instruction& instruction, TextForm form,
                   const std::function<void(std::string_view)>& write);

}  // namespace tcnum
