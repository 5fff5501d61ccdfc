// The operands of dot problems, in the order in which files have them: as tensors of tiles, and problem by problem.
#pragma once

#include "safetensors.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// One operand.
struct ProblemField {
  enum class Of : std::uint8_t { row, column, element };  ///< of a tile: whose it is
  std::string_view name;                                  ///< a, e, b, sa, sb, c, d
  FormatId format_id;
  std::size_t count;       ///< elements of a problem
  std::string_view along;  ///< what these are along k, in messages: "K/2"; empty of c and d
  Of of;
  Codes Tiles::*codes;

  /// Where element s of problem (i, j) of tile t stands.
  std::size_t index(const Tiles& tiles, std::size_t t, std::size_t i, std::size_t j, std::size_t s) const;

  /// The name of its tensor in a safetensors file: "SA".
  std::string tensor() const;
  /// The shape of the tensor, and that shape in words: "[T, M, K/2]".
  std::vector<std::uint64_t> shape(std::uint64_t tiles, std::uint64_t m, std::uint64_t n) const;
  std::string axes() const;
};

/// The result, d, is the last.
std::vector<ProblemField> problem_fields(const Instruction& instruction);
/// The same of tiles that no instruction is known of. `scales`: the format of their block scales.
std::vector<ProblemField> problem_fields(const Tiles& tiles, FormatId scales = FormatId::ue8m0);

/// Whether the tensor D must be there.
enum class Results : std::uint8_t { required, optional, none };

/// The tensors of a safetensors file. Throws InputError that names the tensor and what is wrong with it, whatever the
/// file is: the header is checked in full, against the instruction and against the size of the file, before anything is
/// allocated. Results that are not there are zero. Tensors of other names are refused unless Results::none is asked
/// for.
Tiles read_tiles(const ByteSource& file, const SafetensorsHeader& header, const Instruction& instruction,
                 Results results);

/// The same tensors to write, but those of d alone, or all but d.
std::vector<TensorEntry> tensor_entries(std::span<const ProblemField> fields, const Tiles& tiles);

/// The entry of a field's tensor; null if it is not there, and need not be. Throws InputError unless it has the field's
/// dtype.
const TensorEntry* find_tensor(const Subject& subject, const SafetensorsHeader& header, const ProblemField& field,
                               bool required);
/// Fills the field's codes, of which there are as many as the tensor has.
void read_tensor(const SafetensorsData& data, const Subject& subject, const TensorEntry& tensor,
                 const ProblemField& field, Tiles& tiles);

/// Of tiles that were read: fails, of that field, if elements of a sparse A stand where the instruction cannot take
/// them.
void check_positions(const Subject& subject, std::string_view field, const Tiles& tiles,
                     const Instruction& instruction);

}  // namespace tcnum
