// Batches as programs are asked them and answer: what reads is written and read back the same.
#include "harnesses.hpp"

#include <cstddef>
#include <optional>
#include <span>

#include "io/input_file.hpp"
#include "src/files/batch.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum::fuzz {
namespace {

/// A dense dot product, a sparse instruction, and one with block scales.
const Instruction& dense() {
  static const Instruction in = make_dot(FormatId::fp32, FormatId::fp16, FormatId::fp8e4m3, FormatId::fp32, 4);
  return in;
}
const Instruction& sparse() { return *find_instruction("mma.sp::ordered_metadata.m16n8k64.s32.s4.s4.s32"); }
const Instruction& scaled() {
  static const Instruction in = make_dot(FormatId::fp32, FormatId::fp4e2m1, FormatId::fp4e2m1, FormatId::fp32, 8,
                                         {ScaleKind::dot, FormatId::ue4m3, 4});
  return in;
}
/// The first byte says what the others are read as.
constexpr char kDenseQuestion = 'd', kSparseQuestion = 's', kScaledQuestion = 'b', kAnswer = 'a';

Tiles some_tiles(const Instruction& in, std::size_t count) {
  Tiles tiles = make_operands(in, count, 2, 3);
  for (std::size_t i = 0; i < tiles.sb.size(); ++i) tiles.sb.set(i, 0x38 + i);
  for (std::size_t i = 0; i < tiles.b.size(); ++i) tiles.b.set(i, i % 16);
  for (std::size_t i = 0; i < tiles.d.size(); ++i) tiles.d.set(i, 0x3f800000 + i);
  return tiles;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string text_of(char kind, std::span<const std::byte> bytes) {
  return kind + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool read_a_question(std::string_view input, const Instruction& in) {
  const MemorySource source("q", bytes_of(input));
  std::optional<Tiles> tiles;
  if (!accepted([&] { tiles = read_question(source, in); }, source.path())) return false;
  const std::vector<std::byte> written = question_bytes(*tiles, {});
  const Tiles again = read_question(MemorySource("q", written), in);
  if (again.a != tiles->a || again.b != tiles->b || again.c != tiles->c || again.e != tiles->e ||
      again.sa != tiles->sa || again.sb != tiles->sb || question_bytes(again, {}) != written)
    wrong("a question changes when it is written again");
  return true;
}

bool read_some_answer(std::string_view input) {
  const MemorySource source("a", bytes_of(input));
  Tiles tiles = some_tiles(dense(), 1);
  if (!accepted([&] { read_answer(source, tiles); }, source.path())) return false;
  Tiles again = some_tiles(dense(), 1);
  read_answer(MemorySource("a", answer_bytes(tiles)), again);
  if (again.d != tiles.d) wrong("an answer changes when it is written again");
  return true;
}

}  // namespace

bool read_a_batch(std::string_view input) {
  if (input.empty()) return false;
  const std::string_view rest = input.substr(1);
  switch (input.front()) {
    case kDenseQuestion:
      return read_a_question(rest, dense());
    case kSparseQuestion:
      return read_a_question(rest, sparse());
    case kScaledQuestion:
      return read_a_question(rest, scaled());
    case kAnswer:
      return read_some_answer(rest);
    default:
      return false;
  }
}

std::vector<std::string> batches() {
  return {text_of(kDenseQuestion, question_bytes(some_tiles(dense(), 1), {})),
          text_of(kDenseQuestion, question_bytes(some_tiles(dense(), 2), {{"arch", "sm_90"}})),
          text_of(kSparseQuestion, question_bytes(some_tiles(sparse(), 1), {})),
          text_of(kScaledQuestion, question_bytes(some_tiles(scaled(), 2), {{kScaleBlockKey, "4"}})),
          text_of(kAnswer, answer_bytes(some_tiles(dense(), 1)))};
}

}  // namespace tcnum::fuzz
