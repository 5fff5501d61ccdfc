// A batch of dot problems as one safetensors file in memory: what programs that answer are asked, and what they answer.
// Its tensors are those of a vector file; docs/oracles.md has the rest.
#pragma once

#include "safetensors.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// The formats and extents of a batch, and its codes, all but those of d. `about`: what its metadata says beside the
/// formats of operands and results.
std::vector<std::byte> question_bytes(const Tiles& tiles, const Metadata& about);
/// The results alone.
std::vector<std::byte> answer_bytes(const Tiles& tiles);

/// What the metadata of a question with block scales says of them: their format, and how many elements along k share
/// one.
inline constexpr const char *kScaleFormatKey = "format_scale", *kScaleBlockKey = "scale_block";

/// Tiles whose results are all zero, of an instruction of the table or of make_dot(). Throws InputError that names the
/// source, the tensor and what was expected, whatever the bytes are.
Tiles read_question(const ByteSource& source, const Instruction& instruction);
/// Fills tiles.d; throws likewise. Other tensors than D may be there, and are not looked at.
void read_answer(const ByteSource& source, Tiles& tiles);
/// So many bytes an answer has at most: D, what was asked, and room for a header.
std::size_t most_answer_bytes(const Tiles& tiles, std::size_t question);

}  // namespace tcnum
