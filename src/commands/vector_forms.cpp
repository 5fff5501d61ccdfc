#include "vector_forms.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "io/failures.hpp"
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
          fmt::format("{}: {} is unknown; right would be csv, hex, testfloat, npy or safetensors", form_option, form));
    }
  }
  if (found.arrays && !names_arrays(path))
    throw InputError(
        fmt::format("{}: {}; right would be such as golden.{{}}.npy, as each operand is a file", option, path));
  if (path == kStandard && !found.text)
    throw InputError(fmt::format("{}: -; right would be a file, or {} csv, hex or testfloat", option, form_option));
  return found;
}

TextVectors open_text(const std::string& path, TextForm form) {
  if (path != kStandard) {
    auto file = std::make_shared<InputFile>(path, "a text of dot products");
    return {path, form, [file](std::span<char> to) { return file->read_some(to); }};
  }
  return {"standard input", form, [](std::span<char> to) {
            for (;;) {
              const ssize_t size = ::read(STDIN_FILENO, to.data(), to.size());
              if (size >= 0) return static_cast<std::size_t>(size);
              if (errno != EINTR) fail_system("standard input", "cannot be read", errno);
            }
          }};
}

void write_text_vectors(const std::string& path, TextForm form, const Vectors& vectors,
                        const Instruction& instruction) {
  if (path == kStandard) return print_vectors(vectors, instruction, form, [](std::string_view piece) { say(piece); });
  ReplacementFile file(path);
  print_vectors(vectors, instruction, form, [&](std::string_view piece) { file.write(piece); });
  file.commit();
}

}  // namespace tcnum
