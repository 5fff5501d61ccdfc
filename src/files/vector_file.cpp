// Vector files: safetensors whose metadata names the instruction that the tensors belong to. See docs/files.md.
//
// A file is a stranger's: the header is checked in full, against the instruction and against the size of the file,
// before anything is allocated for the data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/input_file.hpp"
#include "io/printable.hpp"
#include "isa/sparsity.hpp"
#include "safetensors.hpp"
#include "stored_codes.hpp"
#include "subject.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {
namespace {

enum class Axis : std::uint8_t { t, m, k, n, half_k };
constexpr std::array<std::string_view, 5> kAxisNames = {"T", "M", "K", "N", "K/2"};
constexpr std::size_t kRank = 3;
using Shape = std::array<std::uint64_t, kRank>;

/// One tensor of a file and where it belongs in memory.
struct TensorRule {
  std::string_view name;
  std::array<Axis, kRank> axes;
  FormatId Instruction::*operand;  ///< whose format it has; null: sparsity metadata
  FormatId Tiles::*tiles_format;
  Codes Tiles::*codes;

  FormatId format_id(const Instruction& instruction) const {
    return operand == nullptr ? FormatId::u8 : instruction.*operand;
  }
};
constexpr TensorRule kB = {"B", {Axis::t, Axis::k, Axis::n}, &Instruction::b, &Tiles::b_format, &Tiles::b};
constexpr TensorRule kC = {"C", {Axis::t, Axis::m, Axis::n}, &Instruction::c, &Tiles::c_format, &Tiles::c};
constexpr TensorRule kD = {"D", {Axis::t, Axis::m, Axis::n}, &Instruction::d, &Tiles::d_format, &Tiles::d};
constexpr std::array<TensorRule, 4> kDenseTensors = {{
    {"A", {Axis::t, Axis::m, Axis::k}, &Instruction::a, &Tiles::a_format, &Tiles::a},
    kB,
    kC,
    kD,
}};
constexpr std::array<TensorRule, 5> kSparseTensors = {{
    {"A", {Axis::t, Axis::m, Axis::half_k}, &Instruction::a, &Tiles::a_format, &Tiles::a},
    {"E", {Axis::t, Axis::m, Axis::half_k}, nullptr, nullptr, &Tiles::e},
    kB,
    kC,
    kD,
}};
/// The tensors of an instruction's files, in the order in which they are written.
std::span<const TensorRule> tensors_of(const Instruction& instruction) {
  if (instruction.sparse()) return kSparseTensors;
  return kDenseTensors;
}
constexpr std::string_view kResults = kD.name;
constexpr std::string_view kPositions = "E";

/// Tensors that the format knows but the instruction at hand does not have.
struct RefusedTensor {
  std::string_view name, why;
};
constexpr std::array<RefusedTensor, 3> kRefusedTensors = {{
    {"E", "sparsity metadata is not supported for a dense instruction"},
    {"SA", "block scales are not supported for an instruction without them"},
    {"SB", "block scales are not supported for an instruction without them"},
}};

/// Modifiers of wgmma: the neutral value, and the other.
struct ScaleKey {
  std::string_view key, neutral, other;
  bool floating;  ///< integers have none such
};
constexpr std::array<ScaleKey, 3> kScaleKeys = {
    {{"scale_a", "1", "-1", true}, {"scale_b", "1", "-1", true}, {"scale_d", "1", "0", false}}};

/// Keys of the metadata that are fields of Vectors.
struct MetadataField {
  std::string_view key;
  std::string Vectors::*field;
};
constexpr std::array<MetadataField, 3> kMetadataFields = {
    {{"instruction", &Vectors::instruction}, {"arch", &Vectors::arch}, {"device", &Vectors::device}}};

std::string axes_text(const std::array<Axis, kRank>& axes) {
  std::vector<std::string_view> names;
  for (const Axis axis : axes) names.push_back(kAxisNames[static_cast<std::size_t>(axis)]);
  return fmt::format("[{}]", fmt::join(names, ", "));
}

// --- The metadata -----------------------------------------------------------------------------------------------

const std::string& required_metadata(const Subject& subject, const Metadata& metadata, const std::string& key,
                                     std::string_view right) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) subject.fail(metadata_field(key), "missing; right would be {}", right);
  return found->second;
}

std::string names_of(const ArchSet& set) {
  std::vector<std::string_view> names;
  for (const Arch& each : kArchs) {
    if (set.contains(each.id)) names.push_back(each.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

struct Identity {
  const Instruction* instruction;
  ArchId arch;
};

/// What the metadata says that the vectors are. Refuses what tcnum cannot take at its word.
Identity identify(const Subject& subject, const Metadata& metadata) {
  const std::string& name =
      required_metadata(subject, metadata, "instruction", "an instruction's name such as mma.m16n8k16.f32.f16.f16.f32");
  const Instruction* instruction = find_instruction(name);
  if (instruction == nullptr) {
    subject.fail(metadata_field("instruction"), "{} is unknown; right would be a name that `tcnum list` shows",
                 in_quotes(name));
  }
  const std::string arch_right = fmt::format("one of {}", arch_names());
  const std::string& arch_name = required_metadata(subject, metadata, "arch", arch_right);
  const std::optional<ArchId> arch_id = find_arch(arch_name);
  if (!arch_id) {
    subject.fail(metadata_field("arch"), "{} is unknown; right would be {}", in_quotes(arch_name), arch_right);
  }
  if (!instruction->archs.contains(*arch_id)) {
    subject.fail(metadata_field("arch"), "{} does not have {}; right would be one of {}", arch(*arch_id).name,
                 instruction->name(), names_of(instruction->archs));
  }
  for (const ScaleKey& scale : kScaleKeys) {
    const auto found = metadata.find(std::string(scale.key));
    if (found == metadata.end() || found->second == scale.neutral) continue;
    const bool has_it =
        instruction->kind == InstructionKind::wgmma && (!scale.floating || format(instruction->a).floating);
    if (!has_it) {
      subject.fail(metadata_field(scale.key), "{} is not what {} can have; right would be \"{}\" or no such key",
                   in_quotes(found->second), instruction->name(), scale.neutral);
    }
    if (found->second != scale.other) {
      subject.fail(metadata_field(scale.key), "{} is neither \"{}\" nor \"{}\"", in_quotes(found->second),
                   scale.neutral, scale.other);
    }
  }
  return {instruction, *arch_id};
}

// --- Reading: the tensors ---------------------------------------------------------------------------------------

std::string names_of(std::span<const TensorRule> rules) {
  std::string text;
  for (const TensorRule& rule : rules) {
    text.append(text.empty() ? "" : &rule == &rules.back() ? " and " : ", ").append(rule.name);
  }
  return text;
}

void check_names(const Subject& subject, const SafetensorsHeader& header, std::span<const TensorRule> rules,
                 bool results_required) {
  for (const TensorEntry& tensor : header.tensors) {
    const auto has_this_name = [&](const auto& row) { return row.name == tensor.name; };
    if (std::any_of(rules.begin(), rules.end(), has_this_name)) continue;
    const auto refused = std::find_if(kRefusedTensors.begin(), kRefusedTensors.end(), has_this_name);
    if (refused != kRefusedTensors.end()) subject.fail(tensor_field(tensor.name), "{}", refused->why);
    subject.fail(fmt::format("tensor {}", in_quotes(tensor.name)), "unknown; right would be {}", names_of(rules));
  }
  for (const TensorRule& rule : rules) {
    const bool required = results_required || rule.name != kResults;
    if (required && header.find(rule.name) == nullptr) {
      subject.fail(tensor_field(rule.name), "missing; right would be a tensor {}", axes_text(rule.axes));
    }
  }
}

void check_dtype(const Subject& subject, const TensorRule& rule, const TensorEntry& tensor,
                 const Instruction& instruction) {
  const Format& wanted = format(rule.format_id(instruction));
  if (tensor.dtype == wanted.safetensors) return;
  subject.fail(tensor_field(rule.name, "dtype"), "{}; right would be \"{}\" ({} of {})", in_quotes(tensor.dtype),
               wanted.safetensors, rule.operand == nullptr ? "positions" : wanted.name, instruction.name());
}

/// Extents of the axes, by Axis.
using Extents = std::array<std::uint64_t, kAxisNames.size()>;

Extents extents_of(std::uint64_t t, std::uint64_t m, std::uint64_t k, std::uint64_t n) { return {t, m, k, n, k / 2}; }

Shape shape_of(const TensorRule& rule, const Extents& extents) {
  Shape shape = {};
  for (std::size_t i = 0; i < kRank; ++i) shape[i] = extents[static_cast<std::size_t>(rule.axes[i])];
  return shape;
}

/// K is the instruction's; T and M are A's, N is B's. All other shapes must agree with these.
Extents read_extents(const Subject& subject, const SafetensorsHeader& header, const Instruction& instruction) {
  const std::vector<std::uint64_t>& a = header.find("A")->shape;
  const std::vector<std::uint64_t>& b = header.find("B")->shape;
  if (a[0] == 0) subject.fail(tensor_field("A", "shape"), "T is 0: the file holds no tiles; right would be 1 or more");
  if (a[1] == 0) subject.fail(tensor_field("A", "shape"), "M is 0; right would be 1 or more");
  if (b[2] == 0) subject.fail(tensor_field("B", "shape"), "N is 0; right would be 1 or more");
  return extents_of(a[0], a[1], static_cast<std::uint64_t>(instruction.k), b[2]);
}

void check_shape(const Subject& subject, const TensorRule& rule, const TensorEntry& tensor, const Extents& extents,
                 const Instruction& instruction) {
  const Shape wanted = shape_of(rule, extents);
  if (std::ranges::equal(tensor.shape, wanted)) return;
  subject.fail(tensor_field(rule.name, "shape"), "{}; right would be {} = {}, with T and M of A, N of B and K of {}",
               shape_text(tensor.shape), axes_text(rule.axes), shape_text(wanted), instruction.name());
}

/// The tensors are those of the instruction.
void check_tensors(const Subject& subject, const SafetensorsHeader& header, const Instruction& instruction,
                   const Extents& extents) {
  for (const TensorRule& rule : tensors_of(instruction)) {
    const TensorEntry* const tensor = header.find(rule.name);
    if (tensor == nullptr) continue;
    check_dtype(subject, rule, *tensor, instruction);
    check_shape(subject, rule, *tensor, extents, instruction);
  }
}

Tiles allocate(const Subject& subject, const Instruction& instruction, const Extents& extents) {
  const auto [t, m, k, n, half_k] = extents;
  try {
    return make_operands(instruction, t, m, n);
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  subject.fail("data", "larger than the memory of this machine; right would be a smaller file");
}

/// The stored elements of each group of A stand where the instruction can take them.
void check_positions(const Subject& subject, const Tiles& tiles, const Instruction& instruction) {
  const std::size_t first = first_illegal_group(instruction, tiles.e);
  if (first == tiles.e.size()) return;
  const SparseGroup group = group_of(instruction);
  std::vector<std::uint64_t> positions;
  for (int s = 0; s < group.stored(); ++s) positions.push_back(tiles.e[first + static_cast<std::size_t>(s)]);
  const std::size_t row = first / tiles.a_depth();
  const std::string_view order = instruction.sparsity == Sparsity::ascending ? "ascending" : "different";
  std::string right = fmt::format("{} positions from 0 to {}", order, group.size - 1);
  if (group.stored() == 1) right = "0 or 1";
  if (group.run() > 1) right += ", by pairs such as 2, 3";
  subject.fail(tensor_field(kPositions, "data"), "[{}, {}, {}] on: {}; right would be {} ({})", row / tiles.m,
               row % tiles.m, first % tiles.a_depth(), fmt::join(positions, ", "), right, instruction.name());
}

Tiles read_tiles(const InputFile& file, const SafetensorsHeader& header, const Instruction& instruction,
                 bool results_required) {
  const Subject subject{file.path()};
  check_names(subject, header, tensors_of(instruction), results_required);
  const Extents extents = read_extents(subject, header, instruction);
  check_tensors(subject, header, instruction, extents);
  const SafetensorsData data(file, header);
  Tiles tiles = allocate(subject, instruction, extents);
  for (const TensorRule& rule : tensors_of(instruction)) {
    const TensorEntry* const tensor = header.find(rule.name);
    if (tensor == nullptr) continue;
    const std::span<std::byte> bytes = (tiles.*rule.codes).bytes();
    data.read(*tensor, 0, bytes);
    unpack_codes(subject, tensor_field(rule.name, "data"), format(rule.format_id(instruction)), bytes);
  }
  if (instruction.sparse()) check_positions(subject, tiles, instruction);
  return tiles;
}

// --- Writing ----------------------------------------------------------------------------------------------------

/// All of __metadata__: the fields and the keys that were kept.
Metadata metadata_of(const Vectors& vectors) {
  Metadata metadata = vectors.metadata;
  for (const MetadataField& each : kMetadataFields) {
    const std::string& value = vectors.*each.field;
    if (!value.empty()) metadata.insert_or_assign(std::string(each.key), value);
  }
  return metadata;
}

/// Elements of a tensor that is in memory.
std::uint64_t size_of(const Shape& shape) { return shape[0] * shape[1] * shape[2]; }

/// Tiles that are not the instruction's are the caller's bug, not the user's.
void check_tiles(const Tiles& tiles, const Instruction& instruction, const Extents& extents) {
  bool right = tiles.size() != 0 && tiles.k == static_cast<std::size_t>(instruction.k) && tiles.scale_block == 0 &&
               tiles.sparse_group == (instruction.sparse() ? group_of(instruction).size : 0);
  for (const TensorRule& rule : tensors_of(instruction)) {
    const FormatId id = rule.format_id(instruction);
    const int bytes_each = format(id).storage_bytes();
    const Codes& codes = tiles.*rule.codes;
    right = right && (rule.tiles_format == nullptr || tiles.*rule.tiles_format == id) &&
            codes.bytes_each() == bytes_each && codes.size() == size_of(shape_of(rule, extents));
  }
  right = right && (!instruction.sparse() || first_illegal_group(instruction, tiles.e) == tiles.e.size());
  if (!right) throw std::invalid_argument("write_vectors: the tiles are not of " + instruction.name());
}

}  // namespace

Vectors read_vectors(const std::string& path, bool results_required) {
  const InputFile file(path, "a vector file");
  const SafetensorsHeader header = read_safetensors_header(
      file, {.metadata_right = "an object of strings with the keys instruction and arch", .rank = kRank});
  const Identity identity = identify({file.path()}, header.metadata);
  Vectors vectors;
  vectors.tiles = read_tiles(file, header, *identity.instruction, results_required);
  vectors.metadata = header.metadata;
  for (const MetadataField& each : kMetadataFields) {
    const auto entry = vectors.metadata.extract(std::string(each.key));
    if (!entry.empty()) vectors.*each.field = entry.mapped();
  }
  vectors.instruction = identity.instruction->name();
  vectors.arch = arch(identity.arch).name;
  return vectors;
}

void write_vectors(const std::string& path, const Vectors& vectors) {
  const Subject subject{path};
  const Tiles& tiles = vectors.tiles;
  const Metadata metadata = metadata_of(vectors);
  const Extents extents = extents_of(tiles.count, tiles.m, tiles.k, tiles.n);
  const Instruction& instruction = *identify(subject, metadata).instruction;
  check_tiles(tiles, instruction, extents);
  std::vector<TensorEntry> tensors;
  for (const TensorRule& rule : tensors_of(instruction)) {
    const Shape shape = shape_of(rule, extents);
    const std::string_view dtype = format(rule.format_id(instruction)).safetensors;
    tensors.push_back({std::string(rule.name), std::string(dtype), {shape.begin(), shape.end()}, 0, 0});
  }
  SafetensorsWriter file(path, metadata, tensors);
  for (const TensorRule& rule : tensors_of(instruction)) {
    pack_codes(format(rule.format_id(instruction)), (tiles.*rule.codes).bytes(),
               [&](std::span<const std::byte> bytes) { file.write(bytes); });
  }
  file.commit();
}

}  // namespace tcnum
