// Dot problems as text, one a line: for spreadsheets, for a simulator's $readmemh, and as TestFloat prints its cases.
// docs/files.md describes the forms.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safetensors.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

enum class TextForm : std::uint8_t {
  csv,        ///< a column an element; numbers, or codes as 0x…
  hex,        ///< a word a problem, its elements between underscores; comments begin with //
  testfloat,  ///< codes between spaces, and nothing else
};
inline constexpr std::size_t kTextForms = 3;
std::string_view name(TextForm form);
std::optional<TextForm> find_text_form(std::string_view name);
/// By how a file's name ends: .csv, .hex and .mem, .testfloat.
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
