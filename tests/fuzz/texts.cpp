// Dot problems as text: what reads is printed and read back the same.
#include "harnesses.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "src/files/dot_vectors.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum::fuzz {
namespace {

const std::string kPath = "t";

/// The first byte says what the others are read as.
constexpr std::array kForms = {TextForm::csv, TextForm::hex};
constexpr char kFirst = 'a';

const std::array<Instruction, 3>& subjects() {
  static const std::array<Instruction, 3> all = {
      make_dot(FormatId::fp32, FormatId::fp16, FormatId::fp8e4m3, FormatId::fp32, 2),
      make_dot(FormatId::fp32, FormatId::fp4e2m1, FormatId::fp6e2m3, FormatId::fp32, 4,
               {ScaleKind::dot, FormatId::ue4m3, 2}),
      *find_instruction("mma.sp.m16n8k16.f32.f16.f16.f32")};
  return all;
}

Vectors read(std::string_view text, TextForm form, const Instruction& in) {
  return TextVectors(kPath, form, std::string(text)).read(in, false);
}

std::string print(const Vectors& vectors, TextForm form, const Instruction& in) {
  std::string text;
  print_vectors(vectors, in, form, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace

bool read_a_text(std::string_view input) {
  if (input.empty()) return false;
  const auto kind = static_cast<std::size_t>(static_cast<unsigned char>(input.front() - kFirst));
  if (kind >= kForms.size() * subjects().size()) return false;
  const TextForm form = kForms[kind % kForms.size()];
  const Instruction& in = subjects()[kind / kForms.size()];
  std::optional<Vectors> vectors;
  if (!accepted([&] { vectors = read(input.substr(1), form, in); }, kPath)) return false;
  const std::string printed = print(*vectors, form, in);
  const Vectors again = read(printed, form, in);
  const Tiles &was = vectors->tiles, &is = again.tiles;
  if (is.a != was.a || is.b != was.b || is.c != was.c || is.d != was.d || is.e != was.e || is.sa != was.sa ||
      is.sb != was.sb)
    wrong("dot problems change when they are printed", printed);
  return true;
}

std::vector<std::string> texts() {
  std::vector<std::string> all;
  for (std::size_t kind = 0; kind < kForms.size() * subjects().size(); ++kind) {
    const Instruction& in = subjects()[kind / kForms.size()];
    Vectors vectors;
    vectors.tiles = make_operands(in, 2, 1, 1);
    vectors.metadata = {{"seed", "1"}};
    all.push_back(static_cast<char>(kFirst + static_cast<int>(kind)) +
                  print(vectors, kForms[kind % kForms.size()], in));
  }
  const char csv = kFirst, hex = kFirst + 1;
  all.push_back(csv + std::string("# by hand\na0,a1,b0,b1,c\n1.5,-2^-14,0x1,7,nan\n"));
  all.push_back(hex + std::string("// a comment\n3c00_4000_01_02_00000000 3c004000010200000000 // two\n"));
  return all;
}

}  // namespace tcnum::fuzz
