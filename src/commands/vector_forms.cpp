#include "vector_forms.hpp"

#include <fmt/format.h>

#include "io/input_file.hpp"
#include "io/replacement_file.hpp"
#include "output.hpp"
#include "src/files/array_vectors.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kStandard = "-", kArrayExtension = ".npy";

}  // namespace

VectorForm vector_form(std::string_view option, const std::string& path, std::string_view form_option,
                       const std::string& form) {
  VectorForm found;
  if (form.empty()) {
    found.text = text_form_of(path);
    found.arrays = path.ends_with(kArrayExtension);
  } else if (form == "npy") {
    found.arrays = true;
  } else if (form != "safetensors") {
    found.text = find_text_form(form);
    if (!found.text) {
      throw InputError(
          fmt::format("{}: {} is unknown; expected csv, hex, testfloat, npy or safetensors", form_option, form));
    }
  }
  if (found.arrays && !names_arrays(path))
    throw InputError(fmt::format("{}: {}; expected such as golden.{{}}.npy, as each operand is a file", option, path));
  if (path == kStandard && !found.text)
    throw InputError(fmt::format("{}: -; expected a file, or {} csv, hex or testfloat", option, form_option));
  return found;
}

TextVectors open_text(const std::string& path, TextForm form) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 36;
  if (path != kStandard) return {path, form, read_text(path, "a text of dot products", kMostBytes)};
  const std::vector<std::byte> bytes = read_standard_input(kMostBytes);
  return {"standard input", form, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
}

void write_text_vectors(const std::string& path, TextForm form, const Vectors& vectors,
                        const Instruction& instruction) {
  if (path == kStandard) return print_vectors(vectors, instruction, form, [](std::string_view piece) { say(piece); });
  ReplacementFile file(path);
  print_vectors(vectors, instruction, form, [&](std::string_view piece) { file.write(piece); });
  file.commit();
}

}  // namespace tcnum
