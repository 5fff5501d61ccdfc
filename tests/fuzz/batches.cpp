// Batches as programs are asked them and answer: what reads is written and read back the same.
#include "harnesses.hpp"

#include <cstddef>
#include <optional>
#include <span>

#include "io/byte_source.hpp"
#include "src/files/batch.hpp"

namespace tcnum::fuzz {
namespace {

constexpr QuestionForm kDense = {FormatId::fp16, FormatId::s4, FormatId::fp32, FormatId::fp32, 4};
constexpr QuestionForm kSparse = {FormatId::fp8e4m3, FormatId::fp4e2m1, FormatId::fp32, FormatId::fp32, 8, 4};
constexpr QuestionForm kScaled = {FormatId::fp4e2m1, FormatId::fp4e2m1, FormatId::fp32, FormatId::fp32, 8, 0, 4,
                                  FormatId::ue4m3};
/// The first byte says what the others are read as.
constexpr char kDenseQuestion = 'd', kSparseQuestion = 's', kScaledQuestion = 'b', kAnswer = 'a';

Tiles some_tiles(const QuestionForm& form, std::size_t count) {
  Tiles tiles = make_tiles(form.a, form.b, form.c, form.d, count, 2, 3, form.k);
  if (form.sparse_group != 0) {
    tiles.sparse_group = form.sparse_group;
    tiles.a = Codes(1, count * 2 * form.k / 2);
    tiles.e = tiles.a;
  }
  if (form.scale_block != 0) {
    const std::size_t blocks = form.k / static_cast<std::size_t>(form.scale_block);
    tiles.scale_block = form.scale_block;
    tiles.sa = Codes(1, count * 2 * blocks);
    tiles.sb = Codes(1, count * blocks * 3);
    for (std::size_t i = 0; i < tiles.sb.size(); ++i) tiles.sb.set(i, 0x38 + i);
  }
  for (std::size_t i = 0; i < tiles.b.size(); ++i) tiles.b.set(i, i % 16);
  for (std::size_t i = 0; i < tiles.d.size(); ++i) tiles.d.set(i, 0x3f800000 + i);
  return tiles;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string text_of(char kind, std::span<const std::byte> bytes) {
  return kind + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool read_a_question(std::string_view input, const QuestionForm& form) {
  const MemorySource source("q", bytes_of(input));
  std::optional<Tiles> tiles;
  if (!accepted([&] { tiles = read_question(source, form); }, source.path())) return false;
  const std::vector<std::byte> written = question_bytes(*tiles, {});
  const Tiles again = read_question(MemorySource("q", written), form);
  if (again.a != tiles->a || again.b != tiles->b || again.c != tiles->c || again.e != tiles->e ||
      again.sa != tiles->sa || again.sb != tiles->sb || question_bytes(again, {}) != written)
    wrong("a question changes when it is written again");
  return true;
}

bool read_some_answer(std::string_view input) {
  const MemorySource source("a", bytes_of(input));
  Tiles tiles = some_tiles(kDense, 1);
  if (!accepted([&] { read_answer(source, tiles); }, source.path())) return false;
  Tiles again = some_tiles(kDense, 1);
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
      return read_a_question(rest, kDense);
    case kSparseQuestion:
      return read_a_question(rest, kSparse);
    case kScaledQuestion:
      return read_a_question(rest, kScaled);
    case kAnswer:
      return read_some_answer(rest);
    default:
      return false;
  }
}

std::vector<std::string> batches() {
  return {text_of(kDenseQuestion, question_bytes(some_tiles(kDense, 1), {})),
          text_of(kDenseQuestion, question_bytes(some_tiles(kDense, 2), {{"arch", "sm_90"}})),
          text_of(kSparseQuestion, question_bytes(some_tiles(kSparse, 1), {})),
          text_of(kScaledQuestion, question_bytes(some_tiles(kScaled, 2), {{kScaleBlockKey, "4"}})),
          text_of(kAnswer, answer_bytes(some_tiles(kDense, 1)))};
}

}  // namespace tcnum::fuzz
