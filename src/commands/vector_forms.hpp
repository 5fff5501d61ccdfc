// The forms that files of dot problems have: vector files, texts and arrays.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/files/text_vectors.hpp"

namespace tcnum {

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
