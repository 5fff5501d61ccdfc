// Vector files: safetensors whose metadata names the instruction that the tensors belong to. See docs/files.md.
#include <fmt/ranges.h>

#include "dot_vectors.hpp"
#include "io/nearest.hpp"
#include "io/printable.hpp"
#include "problem_fields.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

constexpr std::size_t kRank = 3;

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

// --- The metadata -----------------------------------------------------------------------------------------------

const std::string& required_metadata(const Subject& subject, const Metadata& metadata, const std::string& key,
                                     std::string_view right) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) subject.fail(metadata_field(key), "missing; expected {}", right);
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
      subject.fail(metadata_field(scale.key), "{} is not what {} can have; expected \"{}\" or no such key",
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
    subject.fail(metadata_field("instruction"), "{} is unknown; expected a name that `tcnum list` shows, such as {}",
                 in_quotes(name), nearest_names(name, names));
  }
  const std::string arch_right = fmt::format("one of {}", arch_names());
  const std::string& arch_name = required_metadata(subject, metadata, "arch", arch_right);
  const std::optional<ArchId> arch_id = find_arch(arch_name);
  if (!arch_id) {
    subject.fail(metadata_field("arch"), "{} is unknown; expected {}", in_quotes(arch_name), arch_right);
  }
  if (!instruction->archs.contains(*arch_id)) {
    subject.fail(metadata_field("arch"), "{} does not have {}; expected one of {}", arch(*arch_id).name,
                 instruction->name(), names_of(instruction->archs));
  }
  check_modifiers(subject, metadata, *instruction);
  return {instruction, *arch_id};
}

/// Of a file that names no instruction, nothing may speak of one.
void check_no_instruction(const Subject& subject, const Metadata& metadata, const Instruction& dot) {
  if (const auto found = metadata.find("arch"); found != metadata.end()) {
    subject.fail(metadata_field("arch"), "{} has no instruction beside it; expected both or neither",
                 in_quotes(found->second));
  }
  check_modifiers(subject, metadata, dot);
}

// --- Writing ----------------------------------------------------------------------------------------------------

/// Tiles that are not the instruction's are the caller's bug, not the user's.
void check_tiles(const Tiles& tiles, const Instruction& instruction) {
  const Tiles like = make_operands(instruction, 1, tiles.m, tiles.n);
  bool right = tiles.size() != 0 && tiles.k == like.k && tiles.scale_block == like.scale_block &&
               tiles.sparse_group == like.sparse_group && tiles.a_format == like.a_format &&
               tiles.b_format == like.b_format && tiles.c_format == like.c_format && tiles.d_format == like.d_format;
  for (const ProblemField& field : problem_fields(instruction)) {
    const Codes &codes = tiles.*field.codes, &of_one = like.*field.codes;
    right = right && codes.bytes_each() == of_one.bytes_each() && codes.size() == tiles.count * of_one.size();
  }
  right = right && (!instruction.sparse() || first_illegal_group(instruction, tiles.e) == tiles.e.size());
  if (!right) throw std::invalid_argument("write_vectors: the tiles are not of " + instruction.name());
}

void write_of(const std::string& path, const Vectors& vectors, const Metadata& metadata,
              const Instruction& instruction) {
  const Tiles& tiles = vectors.tiles;
  check_tiles(tiles, instruction);
  const std::vector<ProblemField> fields = problem_fields(instruction);
  SafetensorsWriter file(path, metadata, tensor_entries(fields, tiles));
  for (const ProblemField& field : fields) {
    pack_codes(format(field.format_id), (tiles.*field.codes).bytes(),
               [&](std::span<const std::byte> bytes) { file.write(bytes); });
  }
  file.commit();
}

constexpr const char* kWhat = "a vector file";

/// Its tensors, and its metadata.
Vectors read_of(const InputFile& file, const SafetensorsHeader& header, const Instruction& instruction,
                bool results_required) {
  Vectors vectors;
  vectors.tiles = read_tiles(file, header, instruction, results_required ? Results::required : Results::optional);
  put_metadata(header.metadata, vectors);
  return vectors;
}

}  // namespace

Metadata metadata_of(const Vectors& vectors) {
  Metadata metadata = vectors.metadata;
  for (const MetadataField& each : kMetadataFields) {
    const std::string& value = vectors.*each.field;
    if (!value.empty()) metadata.insert_or_assign(std::string(each.key), value);
  }
  return metadata;
}

void put_metadata(const Metadata& metadata, Vectors& vectors) {
  vectors.metadata = metadata;
  for (const MetadataField& each : kMetadataFields) {
    const auto entry = vectors.metadata.extract(std::string(each.key));
    if (!entry.empty()) vectors.*each.field = entry.mapped();
  }
}

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
