// Vector files: safetensors whose metadata names the instruction that the tensors belong to. See docs/files.md.
//
// Source of the container's rules: https://github.com/huggingface/safetensors, "Format".
//
// A file is a stranger's: the header is checked in full, against the instruction and against the size of the file,
// before anything is allocated for the data.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/input_file.hpp"
#include "io/json.hpp"
#include "io/printable.hpp"
#include "io/replacement_file.hpp"
#include "isa/sparsity.hpp"
#include "tcnum/error.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "vector files and Codes are little-endian");

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kLengthBytes = 8;
/// Far above any real header (a few tensors and notes), far below what could hurt.
constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{1} << 20;
/// The header's object holds the tensors' objects, and these hold arrays.
constexpr std::size_t kMaxHeaderDepth = 3;
/// Data starts at a multiple of this, so that a reader may map the file and use it in place.
constexpr std::size_t kDataAlignment = 8;

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

using Metadata = std::map<std::string, std::string>;

// --- Messages ---------------------------------------------------------------------------------------------------

/// The file that messages are about.
struct Subject {
  std::string path;

  template <class... Args>
  [[noreturn]] void fail(std::string_view field, fmt::format_string<Args...> problem, Args&&... args) const {
    throw InputError(fmt::format("{}: {}: {}", path, field, fmt::format(problem, std::forward<Args>(args)...)));
  }
};

/// A value of the header as a message may show it.
std::string shown_value(const ordered_json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  return value.dump();
}

std::string tensor_field(std::string_view name, std::string_view part = "") {
  return part.empty() ? fmt::format("tensor {}", name) : fmt::format("tensor {}: {}", name, part);
}

std::string metadata_field(std::string_view key) { return fmt::format("{}.{}", kMetadata, key); }

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string axes_text(const std::array<Axis, kRank>& axes) {
  std::vector<std::string_view> names;
  for (const Axis axis : axes) names.push_back(kAxisNames[static_cast<std::size_t>(axis)]);
  return fmt::format("[{}]", fmt::join(names, ", "));
}

// --- Reading: the container -------------------------------------------------------------------------------------

std::uint64_t read_header_length(const InputFile& file) {
  const Subject subject{file.path()};
  constexpr std::string_view kField = "header length";
  if (file.size() < kLengthBytes) {
    subject.fail(kField,
                 "the file has {} bytes; right would be a safetensors file, which starts "
                 "with the 8-byte length of its header",
                 file.size());
  }
  std::array<std::byte, kLengthBytes> bytes;
  file.read(0, bytes);
  const auto length = std::bit_cast<std::uint64_t>(bytes);
  const std::uint64_t most = std::min(file.size() - kLengthBytes, kMaxHeaderBytes);
  if (length > most) {
    subject.fail(kField, "{} bytes; right would be at most {} ({})", length, most,
                 most == kMaxHeaderBytes ? "the longest header that tcnum reads" : "what follows in the file");
  }
  return length;
}

ordered_json parse_header(const Subject& subject, std::string_view text) {
  ordered_json header = parse_json(text, subject.path + ": header", {.levels = kMaxHeaderDepth});
  if (!header.is_object()) subject.fail("header", "{}; right would be a JSON object", shown_value(header));
  return header;
}

struct Header {
  ordered_json tensors;  ///< an object: all keys but __metadata__
  Metadata metadata;
  std::uint64_t data_offset = 0, data_size = 0;  ///< of the byte buffer, in the file
};

Metadata take_metadata(const Subject& subject, ordered_json& header) {
  const auto found = header.find(kMetadata);
  if (found == header.end()) {
    subject.fail(kMetadata, "missing; right would be an object of strings with the keys instruction and arch");
  }
  if (!found->is_object()) subject.fail(kMetadata, "not an object; right would be an object of strings");
  Metadata metadata;
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) {
      subject.fail(metadata_field(in_quotes(key)), "{}; right would be a string", shown_value(value));
    }
    metadata.emplace(key, value.get<std::string>());
  }
  header.erase(found);
  return metadata;
}

Header read_header(const InputFile& file) {
  const Subject subject{file.path()};
  const std::uint64_t length = read_header_length(file);
  std::string text(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  Header header;
  header.tensors = parse_header(subject, text);
  header.metadata = take_metadata(subject, header.tensors);
  header.data_offset = kLengthBytes + length;
  header.data_size = file.size() - header.data_offset;
  return header;
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

/// A tensor as the header declares it.
struct Declared {
  const TensorRule* rule;
  std::uint64_t begin, end;  ///< in the byte buffer
};

/// A member of a tensor's object, as that many non-negative integers.
template <std::size_t Count>
std::array<std::uint64_t, Count> unsigned_array(const Subject& subject, std::string_view name,
                                                const ordered_json& tensor, const char* key) {
  const ordered_json& value = tensor.at(key);
  const auto is_unsigned = [](const ordered_json& each) { return each.is_number_unsigned(); };
  if (!value.is_array() || value.size() != Count || !std::all_of(value.begin(), value.end(), is_unsigned)) {
    subject.fail(tensor_field(name, key), "right would be an array of {} non-negative integers", Count);
  }
  return value.get<std::array<std::uint64_t, Count>>();
}

/// The keys are those of safetensors, no fewer and no more.
void check_keys(const Subject& subject, std::string_view name, const ordered_json& tensor) {
  constexpr std::array<const char*, 3> kKeys = {"dtype", "shape", "data_offsets"};
  if (!tensor.is_object()) {
    subject.fail(tensor_field(name), "not an object; right would be one with dtype, shape and data_offsets");
  }
  for (const char* key : kKeys) {
    if (!tensor.contains(key)) subject.fail(tensor_field(name, key), "missing");
  }
  for (const auto& [key, value] : tensor.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      subject.fail(tensor_field(name, in_quotes(key)), "unknown; right would be dtype, shape and data_offsets alone");
    }
  }
}

std::string names_of(std::span<const TensorRule> rules) {
  std::string text;
  for (const TensorRule& rule : rules) {
    text.append(text.empty() ? "" : &rule == &rules.back() ? " and " : ", ").append(rule.name);
  }
  return text;
}

void check_names(const Subject& subject, const Header& header, std::span<const TensorRule> rules,
                 bool results_required) {
  for (const auto& [name, tensor] : header.tensors.items()) {
    const auto has_this_name = [&name = name](const auto& row) { return row.name == name; };
    if (std::any_of(rules.begin(), rules.end(), has_this_name)) continue;
    const auto refused = std::find_if(kRefusedTensors.begin(), kRefusedTensors.end(), has_this_name);
    if (refused != kRefusedTensors.end()) subject.fail(tensor_field(name), "{}", refused->why);
    subject.fail(tensor_field(in_quotes(name)), "unknown; right would be {}", names_of(rules));
  }
  for (const TensorRule& rule : rules) {
    const bool required = results_required || rule.name != kResults;
    if (required && !header.tensors.contains(rule.name)) {
      subject.fail(tensor_field(rule.name), "missing; right would be a tensor {}", axes_text(rule.axes));
    }
  }
}

void check_dtype(const Subject& subject, const TensorRule& rule, const ordered_json& tensor,
                 const Instruction& instruction) {
  const Format& wanted = format(rule.format_id(instruction));
  const ordered_json& dtype = tensor.at("dtype");
  if (dtype.is_string() && dtype.get_ref<const std::string&>() == wanted.safetensors) return;
  subject.fail(tensor_field(rule.name, "dtype"), "{}; right would be \"{}\" ({} of {})", shown_value(dtype),
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
Extents read_extents(const Subject& subject, const Header& header, const Instruction& instruction) {
  const auto shape = [&](const char* name) {
    return unsigned_array<kRank>(subject, name, header.tensors.at(name), "shape");
  };
  const Shape a = shape("A");
  const Shape b = shape("B");
  if (a[0] == 0) subject.fail(tensor_field("A", "shape"), "T is 0: the file holds no tiles; right would be 1 or more");
  if (a[1] == 0) subject.fail(tensor_field("A", "shape"), "M is 0; right would be 1 or more");
  if (b[2] == 0) subject.fail(tensor_field("B", "shape"), "N is 0; right would be 1 or more");
  return extents_of(a[0], a[1], static_cast<std::uint64_t>(instruction.k), b[2]);
}

void check_shape(const Subject& subject, const TensorRule& rule, const ordered_json& tensor, const Extents& extents,
                 const Instruction& instruction) {
  const Shape shape = unsigned_array<kRank>(subject, rule.name, tensor, "shape");
  const Shape wanted = shape_of(rule, extents);
  if (shape == wanted) return;
  subject.fail(tensor_field(rule.name, "shape"), "{}; right would be {} = {}, with T and M of A, N of B and K of {}",
               shape_text(shape), axes_text(rule.axes), shape_text(wanted), instruction.name());
}

/// Bytes of a tensor; nothing where they do not fit 64 bits.
std::optional<std::uint64_t> byte_size(const Shape& shape, int bytes_each) {
  auto bytes = static_cast<std::uint64_t>(bytes_each);
  for (const std::uint64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return bytes;
}

Declared check_offsets(const Subject& subject, const TensorRule& rule, const ordered_json& tensor, const Header& header,
                       const Shape& shape, FormatId id) {
  const auto [begin, end] = unsigned_array<2>(subject, rule.name, tensor, "data_offsets");
  const std::optional<std::uint64_t> size = byte_size(shape, format(id).storage_bytes());
  std::string right;
  if (begin > end) {
    right = "a begin that is not after the end";
  } else if (end > header.data_size) {
    right = fmt::format("an end within the {} bytes of data in the file", header.data_size);
  } else if (size != end - begin) {
    right = fmt::format("{} bytes apart, the size of {} {}", size ? fmt::to_string(*size) : "more than 2^64",
                        shape_text(shape), format(id).name);
  }
  if (!right.empty()) {
    subject.fail(tensor_field(rule.name, "data_offsets"), "[{}, {}]; right would be {}", begin, end, right);
  }
  return {&rule, begin, end};
}

/// safetensors forbids holes: the tensors cover the data once and completely.
void check_coverage(const Subject& subject, std::vector<Declared> tensors, std::uint64_t data_size) {
  std::sort(tensors.begin(), tensors.end(), [](const Declared& x, const Declared& y) { return x.begin < y.begin; });
  std::uint64_t covered = 0;
  for (const Declared& tensor : tensors) {
    if (tensor.begin != covered) {
      subject.fail(tensor_field(tensor.rule->name, "data_offsets"), "begins at {}, which {}; right would be {}",
                   tensor.begin, tensor.begin < covered ? "overlaps another tensor" : "leaves a gap", covered);
    }
    covered = tensor.end;
  }
  if (covered != data_size) {
    subject.fail("data",
                 "{} bytes, of which the tensors cover {}; right would be no bytes after the "
                 "last tensor",
                 data_size, covered);
  }
}

bool is_sub_byte(const Format& f) { return f.storage_bits < 8; }
bool is_signed_integer(const Format& f) { return !f.floating && f.has_sign; }

/// The byte that a file holds for a code of a sub-byte format: signed integers are I8 numbers, all others are the bare
/// code.
std::uint8_t stored_byte(const Format& f, std::uint8_t code) {
  const auto mask = static_cast<std::uint8_t>(f.code_mask());
  const bool negative = is_signed_integer(f) && ((code >> (f.storage_bits - 1)) & 1) != 0;
  return static_cast<std::uint8_t>(negative ? code | ~mask : code & mask);
}

/// From the file's bytes to codes, in place.
void unpack_sub_byte(const Subject& subject, const TensorRule& rule, const Format& f, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = std::to_integer<std::uint8_t>(bytes[i]);
    if (stored_byte(f, byte) != byte) {
      subject.fail(tensor_field(rule.name, "data"), "element {} is {:#04x}, which is no {}; right would be {} bits{}",
                   i, byte, f.name, f.storage_bits, is_signed_integer(f) ? ", sign-extended" : ", the rest zero");
    }
    bytes[i] &= static_cast<std::byte>(f.code_mask());
  }
}

std::vector<Declared> check_tensors(const Subject& subject, const Header& header, const Instruction& instruction,
                                    const Extents& extents) {
  std::vector<Declared> declared;
  for (const TensorRule& rule : tensors_of(instruction)) {
    const auto tensor = header.tensors.find(rule.name);
    if (tensor == header.tensors.end()) continue;
    check_dtype(subject, rule, *tensor, instruction);
    check_shape(subject, rule, *tensor, extents, instruction);
    declared.push_back(
        check_offsets(subject, rule, *tensor, header, shape_of(rule, extents), rule.format_id(instruction)));
  }
  check_coverage(subject, declared, header.data_size);
  return declared;
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

Tiles read_tiles(const InputFile& file, const Header& header, const Instruction& instruction, bool results_required) {
  const Subject subject{file.path()};
  check_names(subject, header, tensors_of(instruction), results_required);
  for (const auto& [name, tensor] : header.tensors.items()) check_keys(subject, name, tensor);
  const Extents extents = read_extents(subject, header, instruction);
  const std::vector<Declared> declared = check_tensors(subject, header, instruction, extents);
  Tiles tiles = allocate(subject, instruction, extents);
  for (const Declared& tensor : declared) {
    const std::span<std::byte> bytes = (tiles.*tensor.rule->codes).bytes();
    file.read(header.data_offset + tensor.begin, bytes);
    const Format& f = format(tensor.rule->format_id(instruction));
    if (is_sub_byte(f)) unpack_sub_byte(subject, *tensor.rule, f, bytes);
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

/// Tiles that are not the instruction's are the caller's bug, not the user's.
void check_tiles(const Tiles& tiles, const Instruction& instruction, const Extents& extents) {
  bool right = tiles.size() != 0 && tiles.k == static_cast<std::size_t>(instruction.k) && tiles.scale_block == 0 &&
               tiles.sparse_group == (instruction.sparse() ? group_of(instruction).size : 0);
  for (const TensorRule& rule : tensors_of(instruction)) {
    const FormatId id = rule.format_id(instruction);
    const int bytes_each = format(id).storage_bytes();
    const Codes& codes = tiles.*rule.codes;
    right = right && (rule.tiles_format == nullptr || tiles.*rule.tiles_format == id) &&
            codes.bytes_each() == bytes_each && byte_size(shape_of(rule, extents), bytes_each) == codes.bytes().size();
  }
  right = right && (!instruction.sparse() || first_illegal_group(instruction, tiles.e) == tiles.e.size());
  if (!right) throw std::invalid_argument("write_vectors: the tiles are not of " + instruction.name());
}

bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(ordered_json(text).dump());
    return true;
  } catch (const ordered_json::type_error&) {
    return false;
  }
}

std::string header_text(const Subject& subject, const Tiles& tiles, const Instruction& instruction,
                        const Extents& extents, const Metadata& metadata) {
  ordered_json header;
  ordered_json& entries = header[std::string(kMetadata)] = ordered_json::object();
  for (const auto& [key, value] : metadata) {
    if (!is_utf8(key) || !is_utf8(value)) {
      subject.fail(metadata_field(in_quotes(key)), "{}; right would be UTF-8", in_quotes(value));
    }
    entries[key] = value;
  }
  std::size_t offset = 0;
  for (const TensorRule& rule : tensors_of(instruction)) {
    const std::size_t end = offset + (tiles.*rule.codes).bytes().size();
    header[std::string(rule.name)] = {{"dtype", format(rule.format_id(instruction)).safetensors},
                                      {"shape", shape_of(rule, extents)},
                                      {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment, ' ');
  if (text.size() > kMaxHeaderBytes) {
    subject.fail(kMetadata, "makes a header of {} bytes; right would be at most {}", text.size(), kMaxHeaderBytes);
  }
  return text;
}

void write_codes(ReplacementFile& file, const Format& f, const Codes& codes) {
  if (!is_sub_byte(f)) return file.write(codes.bytes());
  std::vector<std::byte> bytes(codes.bytes().begin(), codes.bytes().end());
  for (std::byte& byte : bytes) byte = std::byte{stored_byte(f, std::to_integer<std::uint8_t>(byte))};
  file.write(bytes);
}

}  // namespace

Vectors read_vectors(const std::string& path, bool results_required) {
  const InputFile file(path, "a vector file");
  const Header header = read_header(file);
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
  const std::string header = header_text(subject, tiles, instruction, extents, metadata);

  const std::uint64_t length = header.size();
  ReplacementFile file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const TensorRule& rule : tensors_of(instruction)) {
    write_codes(file, format(rule.format_id(instruction)), tiles.*rule.codes);
  }
  file.commit();
}

}  // namespace tcnum
