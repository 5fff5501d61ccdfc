// Vector files: safetensors whose metadata names the instruction that the tensors belong to. See docs/files.md.
//
// A file is a stranger's: the header is checked in full, against the instruction and against the size of the file,
// before anything is allocated for the data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dot_vectors.hpp"
#include "io/input_file.hpp"
#include "io/memory.hpp"
#include "io/nearest.hpp"
#include "io/printable.hpp"
#include "isa/sparsity.hpp"
#include "problem_fields.hpp"
#include "safetensors.hpp"
#include "stored_codes.hpp"
#include "subject.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {
namespace {

enum class Axis : std::uint8_t { t, m, k, n, half_k, blocks };
constexpr std::array<std::string_view, 6> kAxisNames = {"T", "M", "K", "N", "K/2", "K/block"};
constexpr std::size_t kRank = 3;
using Shape = std::array<std::uint64_t, kRank>;

/// One tensor of a file and where it belongs in memory.
struct TensorRule {
  std::string_view name;
  std::array<Axis, kRank> axes;
  FormatId Instruction::*operand;  ///< whose format it has; null: sparsity metadata, or block scales
  FormatId Tiles::*tiles_format;
  Codes Tiles::*codes;

  bool is_scales() const { return codes == &Tiles::sa || codes == &Tiles::sb; }
  FormatId format_id(const Instruction& instruction) const {
    if (is_scales()) return instruction.scales.format;
    return operand == nullptr ? FormatId::u8 : instruction.*operand;
  }
};
constexpr TensorRule kA = {"A", {Axis::t, Axis::m, Axis::k}, &Instruction::a, &Tiles::a_format, &Tiles::a};
constexpr TensorRule kStoredA = {"A", {Axis::t, Axis::m, Axis::half_k}, &Instruction::a, &Tiles::a_format, &Tiles::a};
constexpr TensorRule kE = {"E", {Axis::t, Axis::m, Axis::half_k}, nullptr, nullptr, &Tiles::e};
constexpr TensorRule kSa = {"SA", {Axis::t, Axis::m, Axis::blocks}, nullptr, nullptr, &Tiles::sa};
constexpr TensorRule kSb = {"SB", {Axis::t, Axis::blocks, Axis::n}, nullptr, nullptr, &Tiles::sb};
constexpr TensorRule kB = {"B", {Axis::t, Axis::k, Axis::n}, &Instruction::b, &Tiles::b_format, &Tiles::b};
constexpr TensorRule kC = {"C", {Axis::t, Axis::m, Axis::n}, &Instruction::c, &Tiles::c_format, &Tiles::c};
constexpr TensorRule kD = {"D", {Axis::t, Axis::m, Axis::n}, &Instruction::d, &Tiles::d_format, &Tiles::d};
constexpr std::array kDenseTensors = {kA, kB, kC, kD};
constexpr std::array kSparseTensors = {kStoredA, kE, kB, kC, kD};
constexpr std::array kScaledTensors = {kA, kSa, kB, kSb, kC, kD};
constexpr std::array kScaledSparseTensors = {kStoredA, kE, kSa, kB, kSb, kC, kD};
/// The tensors of an instruction's files, in the order in which they are written.
std::span<const TensorRule> tensors_of(const Instruction& instruction) {
  if (instruction.scaled()) {
    return instruction.sparse() ? std::span<const TensorRule>(kScaledSparseTensors) : kScaledTensors;
  }
  return instruction.sparse() ? std::span<const TensorRule>(kSparseTensors) : kDenseTensors;
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

/// Modifiers of wgmma and tcgen05.mma: the neutral value, and the other.
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

void check_modifiers(const Subject& subject, const Metadata& metadata, const Instruction& instruction) {
  for (const ScaleKey& scale : kScaleKeys) {
    const auto found = metadata.find(std::string(scale.key));
    if (found == metadata.end() || found->second == scale.neutral) continue;
    const bool of_descriptors =
        instruction.kind == InstructionKind::wgmma || instruction.kind == InstructionKind::tcgen05;
    const bool has_it = of_descriptors && (!scale.floating || format(instruction.a).floating);
    if (!has_it) {
      subject.fail(metadata_field(scale.key), "{} is not what {} can have; right would be \"{}\" or no such key",
                   in_quotes(found->second), instruction.name(), scale.neutral);
    }
    if (found->second != scale.other) {
      subject.fail(metadata_field(scale.key), "{} is neither \"{}\" nor \"{}\"", in_quotes(found->second),
                   scale.neutral, scale.other);
    }
  }
}

/// What the metadata says that the vectors are. Refuses what tcnum cannot take at its word.
NamedInstruction identify(const Subject& subject, const Metadata& metadata) {
  const std::string& name =
      required_metadata(subject, metadata, "instruction", "an instruction's name such as mma.m16n8k16.f32.f16.f16.f32");
  const Instruction* instruction = find_instruction(name);
  if (instruction == nullptr) {
    std::vector<std::string> names;
    for (const Instruction& each : instructions()) names.push_back(each.name());
    subject.fail(metadata_field("instruction"),
                 "{} is unknown; right would be a name that `tcnum list` shows, such as {}", in_quotes(name),
                 nearest_names(name, names));
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
  check_modifiers(subject, metadata, *instruction);
  return {instruction, *arch_id};
}

/// Of a file that names no instruction, nothing may speak of one.
void check_no_instruction(const Subject& subject, const Metadata& metadata, const Instruction& dot) {
  if (const auto found = metadata.find("arch"); found != metadata.end()) {
    subject.fail(metadata_field("arch"), "{} has no instruction beside it; right would be both or neither",
                 in_quotes(found->second));
  }
  check_modifiers(subject, metadata, dot);
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
               wanted.safetensors, rule.name == kPositions ? "positions" : wanted.name, instruction.name());
}

/// Extents of the axes, by Axis.
using Extents = std::array<std::uint64_t, kAxisNames.size()>;

Extents extents_of(const Instruction& in, std::uint64_t t, std::uint64_t m, std::uint64_t n) {
  const auto k = static_cast<std::uint64_t>(in.k);
  return {t, m, k, n, k / 2, static_cast<std::uint64_t>(in.scale_blocks())};
}

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
  return extents_of(instruction, a[0], a[1], b[2]);
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
  const auto extent = [&](Axis axis) { return extents[static_cast<std::size_t>(axis)]; };
  return with_room_for(subject.path + ": data",
                       [&] { return make_operands(instruction, extent(Axis::t), extent(Axis::m), extent(Axis::n)); });
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
    if (rule.is_scales()) {  // a ue4m3 may come as an e4m3, whose sign the hardware ignores
      for (std::byte& byte : bytes) byte &= static_cast<std::byte>(format(rule.format_id(instruction)).code_mask());
    }
    unpack_codes(subject, tensor_field(rule.name, "data"), format(rule.format_id(instruction)), bytes);
  }
  check_positions(subject, tensor_field(kPositions, "data"), tiles, instruction);
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
  bool right = tiles.size() != 0 && tiles.k == static_cast<std::size_t>(instruction.k) &&
               tiles.scale_block == instruction.scales.block_k &&
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

void write_of(const std::string& path, const Vectors& vectors, const Metadata& metadata,
              const Instruction& instruction) {
  const Tiles& tiles = vectors.tiles;
  const Extents extents = extents_of(instruction, tiles.count, tiles.m, tiles.n);
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

constexpr const char* kWhat = "a vector file";

/// Its tensors, and its metadata.
Vectors read_of(const InputFile& file, const SafetensorsHeader& header, const Instruction& instruction,
                bool results_required) {
  Vectors vectors;
  vectors.tiles = read_tiles(file, header, instruction, results_required);
  vectors.metadata = header.metadata;
  for (const MetadataField& each : kMetadataFields) {
    const auto entry = vectors.metadata.extract(std::string(each.key));
    if (!entry.empty()) vectors.*each.field = entry.mapped();
  }
  return vectors;
}

}  // namespace

Vectors read_vectors(const std::string& path, bool results_required) {
  const InputFile file(path, kWhat);
  const SafetensorsHeader header = read_safetensors_header(
      file, {.metadata_right = "an object of strings with the keys instruction and arch", .rank = kRank});
  const NamedInstruction identity = identify({file.path()}, header.metadata);
  Vectors vectors = read_of(file, header, *identity.instruction, results_required);
  vectors.instruction = identity.instruction->name();
  vectors.arch = arch(identity.arch).name;
  return vectors;
}

bool names_instruction(const std::string& path) {
  const InputFile file(path, kWhat);
  return read_safetensors_header(file, {.metadata_right = {}, .rank = kRank}).metadata.contains("instruction");
}

Vectors read_dot_vectors(const std::string& path, const Instruction& dot, bool results_required) {
  const InputFile file(path, kWhat);
  const SafetensorsHeader header = read_safetensors_header(file, {.metadata_right = {}, .rank = kRank});
  check_no_instruction({file.path()}, header.metadata, dot);
  return read_of(file, header, dot, results_required);
}

void write_vectors(const std::string& path, const Vectors& vectors) {
  const Metadata metadata = metadata_of(vectors);
  write_of(path, vectors, metadata, *identify({path}, metadata).instruction);
}

void write_dot_vectors(const std::string& path, const Vectors& vectors, const Instruction& dot) {
  const Metadata metadata = metadata_of(vectors);
  check_no_instruction({path}, metadata, dot);
  write_of(path, vectors, metadata, dot);
}

NamedInstruction instruction_of_metadata(const std::string& path, const Metadata& metadata) {
  return identify({path}, metadata);
}

}  // namespace tcnum
