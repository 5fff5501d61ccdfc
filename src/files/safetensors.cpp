#include "safetensors.hpp"

#include <fmt/ranges.h>

#include <bit>
#include <cctype>
#include <cstring>

#include "io/json.hpp"
#include "io/printable.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kLengthBytes = 8;
/// Far above any real header (a few tensors and notes), far below what could hurt.
constexpr std::uint64_t kMostMetadataBytes = std::uint64_t{1} << 20;
/// The header's object holds the tensors' objects, and these hold arrays.
constexpr std::size_t kMaxHeaderDepth = 3;
/// Data starts at a multiple of this, so that a reader may map the file and use it in place.
constexpr std::size_t kDataAlignment = 8;

/// Those of safetensors 0.8.
constexpr std::array<ElementType, 22> kDtypes = {{
    {"F64", 64, FormatId::fp64, false},
    {"F32", 32, FormatId::fp32, false},
    {"F16", 16, FormatId::fp16, false},
    {"BF16", 16, FormatId::bf16, false},
    {"F8_E4M3", 8, FormatId::fp8e4m3, false},
    {"F8_E5M2", 8, FormatId::fp8e5m2, false},
    {"F8_E4M3FNUZ", 8, FormatId::fp8e4m3fnuz, false},
    {"F8_E5M2FNUZ", 8, FormatId::fp8e5m2fnuz, false},
    {"F8_E8M0", 8, FormatId::ue8m0, false},
    {"I8", 8, FormatId::s8, true},
    {"U8", 8, FormatId::u8, true},
    {"I32", 32, FormatId::s32, true},
    {"U32", 32, {}, true},
    {"I16", 16, {}, true},
    {"U16", 16, {}, true},
    {"I64", 64, {}, true},
    {"U64", 64, {}, true},
    {"BOOL", 8, FormatId::b1, false},
    {"C64", 64, {}, false},
    {"F6_E3M2", 6, {}, false},
    {"F6_E2M3", 6, {}, false},
    {"F4", 4, {}, false},
}};

/// A value of the header as a message may show it.
std::string shown_value(const ordered_json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  return value.dump();
}

// --- Reading ----------------------------------------------------------------------------------------------------

std::uint64_t read_header_length(const ByteSource& file) {
  const Subject subject{file.path()};
  constexpr std::string_view kField = "header length";
  if (file.size() < kLengthBytes) {
    subject.fail(kField,
                 "the file has {} bytes; expected a safetensors file, which starts "
                 "with the 8-byte length of its header",
                 file.size());
  }
  std::array<std::byte, kLengthBytes> bytes;
  file.read(0, bytes);
  const auto length = std::bit_cast<std::uint64_t>(bytes);
  const std::uint64_t most = std::min(file.size() - kLengthBytes, kMostMetadataBytes);
  if (length > most) {
    subject.fail(kField, "{} bytes; expected at most {} ({})", length, most,
                 most == kMostMetadataBytes ? "the longest header that tcnum reads" : "what follows in the file");
  }
  return length;
}

Metadata take_metadata(const Subject& subject, ordered_json& header, const SafetensorsRules& rules) {
  const auto found = header.find(kMetadata);
  if (found == header.end()) {
    if (rules.metadata_right.empty()) return {};
    subject.fail(kMetadata, "missing; expected {}", rules.metadata_right);
  }
  if (!found->is_object()) subject.fail(kMetadata, "not an object; expected an object of strings");
  Metadata metadata;
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) {
      subject.fail(metadata_field(in_quotes(key)), "{}; expected a string", shown_value(value));
    }
    metadata.emplace(key, value.get<std::string>());
  }
  header.erase(found);
  return metadata;
}

/// The keys are those of safetensors, no fewer and no more.
void check_keys(const Subject& subject, std::string_view name, const ordered_json& tensor) {
  constexpr std::array<const char*, 3> kKeys = {"dtype", "shape", "data_offsets"};
  if (!tensor.is_object()) {
    subject.fail(tensor_field(name), "not an object; expected one with dtype, shape and data_offsets");
  }
  for (const char* key : kKeys) {
    if (!tensor.contains(key)) subject.fail(tensor_field(name, key), "missing");
  }
  for (const auto& [key, value] : tensor.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      subject.fail(tensor_field(name, in_quotes(key)), "unknown; expected dtype, shape and data_offsets alone");
    }
  }
}

/// A member of a tensor's object, as so many non-negative integers; 0: as many as there are.
std::vector<std::uint64_t> unsigned_array(const Subject& subject, std::string_view name, const ordered_json& tensor,
                                          const char* key, std::size_t count) {
  const ordered_json& value = tensor.at(key);
  const auto is_unsigned = [](const ordered_json& each) { return each.is_number_unsigned(); };
  if (!value.is_array() || (count != 0 && value.size() != count) ||
      !std::all_of(value.begin(), value.end(), is_unsigned)) {
    subject.fail(tensor_field(name, key), "expected an array of {}non-negative integers",
                 count == 0 ? "" : fmt::format("{} ", count));
  }
  return value.get<std::vector<std::uint64_t>>();
}

TensorEntry read_entry(const Subject& subject, const std::string& name, const ordered_json& tensor,
                       const SafetensorsRules& rules) {
  check_keys(subject, name, tensor);
  const ordered_json& dtype = tensor.at("dtype");
  if (!dtype.is_string()) {
    subject.fail(tensor_field(name, "dtype"), R"({}; expected a string such as "F32")", shown_value(dtype));
  }
  TensorEntry entry;
  entry.name = name;
  entry.dtype = dtype.get<std::string>();
  entry.shape = unsigned_array(subject, name, tensor, "shape", rules.rank);
  const auto offsets = unsigned_array(subject, name, tensor, "data_offsets", 2);
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return entry;
}

const ElementType& type_of(const Subject& subject, const TensorEntry& tensor) {
  const ElementType* const type = find_element_type(kDtypes, tensor.dtype);
  if (type != nullptr) return *type;
  subject.fail(tensor_field(tensor.name, "dtype"), "{} is unknown; expected one of {}", in_quotes(tensor.dtype),
               names_of(kDtypes));
}

void check_offsets(const Subject& subject, const TensorEntry& tensor, std::uint64_t data_size) {
  const std::optional<std::uint64_t> size = byte_size(tensor.shape, type_of(subject, tensor).bits);
  std::string right;
  if (tensor.begin > tensor.end) {
    right = "a begin that is not after the end";
  } else if (tensor.end > data_size) {
    right = fmt::format("an end within the {} bytes of data in the file", data_size);
  } else if (size != tensor.end - tensor.begin) {
    right = fmt::format("{} bytes apart, the size of {} {}", size ? fmt::to_string(*size) : "more than 2^64",
                        shape_text(tensor.shape), tensor.dtype);
  }
  if (!right.empty()) {
    subject.fail(tensor_field(tensor.name, "data_offsets"), "[{}, {}]; expected {}", tensor.begin, tensor.end, right);
  }
}

/// safetensors forbids holes: the tensors cover the data once and completely.
void check_coverage(const Subject& subject, const SafetensorsHeader& header) {
  std::vector<const TensorEntry*> tensors;
  for (const TensorEntry& each : header.tensors) tensors.push_back(&each);
  // Of those that begin together, all but the last are empty.
  std::ranges::sort(tensors, {}, [](const TensorEntry* each) { return std::pair(each->begin, each->end); });
  std::uint64_t covered = 0;
  for (const TensorEntry* tensor : tensors) {
    if (tensor->begin != covered) {
      subject.fail(tensor_field(tensor->name, "data_offsets"), "begins at {}, which {}; expected {}", tensor->begin,
                   tensor->begin < covered ? "overlaps another tensor" : "leaves a gap", covered);
    }
    covered = tensor->end;
  }
  if (covered != header.data_size) {
    subject.fail("data",
                 "{} bytes, of which the tensors cover {}; expected no bytes after the "
                 "last tensor",
                 header.data_size, covered);
  }
}

// --- Writing ----------------------------------------------------------------------------------------------------

bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(ordered_json(text).dump());
    return true;
  } catch (const ordered_json::type_error&) {
    return false;
  }
}

/// A tensor that is none, or too large for any file, is the caller's bug, not the user's.
std::uint64_t size_of(const TensorEntry& tensor) {
  const ElementType* const type = find_element_type(kDtypes, tensor.dtype);
  const auto size = type == nullptr ? std::nullopt : byte_size(tensor.shape, type->bits);
  if (!size) throw std::invalid_argument("SafetensorsWriter: no tensor has this dtype and shape: " + tensor.name);
  return *size;
}

std::uint64_t size_of(const std::vector<TensorEntry>& tensors) {
  std::uint64_t size = 0;
  for (const TensorEntry& each : tensors) size += size_of(each);
  return size;
}

/// Throws where the header is one that reading refuses.
std::string header_text(const Subject& subject, const Metadata& metadata, const std::vector<TensorEntry>& tensors) {
  constexpr std::size_t kMostMembers = JsonLimits{}.members;
  if (metadata.size() > kMostMembers)
    subject.fail(kMetadata, "has {} members; expected at most {}", metadata.size(), kMostMembers);
  ordered_json header = ordered_json::object();
  for (const auto& [key, value] : metadata) {
    if (!is_utf8(key) || !is_utf8(value)) {
      subject.fail(metadata_field(in_quotes(key)), "{}; expected UTF-8", in_quotes(value));
    }
    header[std::string(kMetadata)][key] = value;
  }
  std::uint64_t offset = 0;
  for (const TensorEntry& each : tensors) {
    const std::uint64_t end = offset + size_of(each);
    header[each.name] = {{"dtype", each.dtype}, {"shape", each.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  if (header.size() > kMostMembers)
    subject.fail("header", "has {} members; expected at most {}", header.size(), kMostMembers);
  std::string text = header.dump();
  text.resize((text.size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment, ' ');
  if (text.size() > kMostMetadataBytes) {
    subject.fail(kMetadata, "makes a header of {} bytes; expected at most {}", text.size(), kMostMetadataBytes);
  }
  return text;
}

}  // namespace

std::span<const ElementType> safetensors_types() { return kDtypes; }

const TensorEntry* SafetensorsHeader::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &TensorEntry::name);
  return found == tensors.end() ? nullptr : &*found;
}

SafetensorsHeader read_safetensors_header(const ByteSource& file, const SafetensorsRules& rules) {
  const Subject subject{file.path()};
  const std::uint64_t length = read_header_length(file);
  std::string text(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  ordered_json json = parse_json(text, subject.path + ": header", {.levels = kMaxHeaderDepth});
  if (!json.is_object()) subject.fail("header", "{}; expected a JSON object", shown_value(json));
  SafetensorsHeader header;
  header.metadata = take_metadata(subject, json, rules);
  for (const auto& [name, tensor] : json.items()) header.tensors.push_back(read_entry(subject, name, tensor, rules));
  header.data_offset = kLengthBytes + length;
  header.data_size = file.size() - header.data_offset;
  return header;
}

SafetensorsData::SafetensorsData(const ByteSource& file, const SafetensorsHeader& header)
    : file_(file), header_(header) {
  const Subject subject{file.path()};
  for (const TensorEntry& each : header.tensors) check_offsets(subject, each, header.data_size);
  check_coverage(subject, header);
}

void SafetensorsData::read(const TensorEntry& tensor, std::uint64_t offset, std::span<std::byte> bytes) const {
  const std::uint64_t size = tensor.end - tensor.begin;
  if (offset > size || bytes.size() > size - offset) throw std::out_of_range("SafetensorsData: beyond " + tensor.name);
  file_.read(header_.data_offset + tensor.begin + offset, bytes);
}

std::string safetensors_head(const std::string& where, const Metadata& metadata,
                             const std::vector<TensorEntry>& tensors) {
  const std::string header = header_text({where}, metadata, tensors);
  std::string head(kLengthBytes, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(head.data(), &length, kLengthBytes);
  return head + header;
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, const Metadata& metadata,
                                     const std::vector<TensorEntry>& tensors)
    : head_(safetensors_head(path, metadata, tensors)), file_(path), left_(size_of(tensors)) {
  file_.write(head_);
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  if (bytes.size() > left_) throw std::logic_error("SafetensorsWriter: more bytes than the header says");
  left_ -= bytes.size();
  file_.write(bytes);
}

void SafetensorsWriter::commit() {
  if (left_ != 0) throw std::logic_error("SafetensorsWriter: fewer bytes than the header says");
  file_.commit();
}

std::string tensor_field(std::string_view name, std::string_view part) {
  // A name that could be taken for part of the message stands in quotes.
  const auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const bool is_word = !name.empty() && name.size() <= kMostShown && std::ranges::all_of(name, plain);
  const std::string tensor = fmt::format("tensor {}", is_word ? std::string(name) : in_quotes(name));
  return part.empty() ? tensor : fmt::format("{}: {}", tensor, part);
}

std::string metadata_field(std::string_view key) { return fmt::format("{}.{}", kMetadata, key); }

std::string shape_text(std::span<const std::uint64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace tcnum
