#include "batch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "io/memory.hpp"
#include "io/printable.hpp"
#include "stored_codes.hpp"
#include "subject.hpp"

namespace tcnum {
namespace {

using Shape = std::vector<std::uint64_t>;

/// A tensor of a batch, and what of the tiles it holds.
struct Part {
  std::string_view name;
  FormatId format;
  Shape shape;
  Codes Tiles::*codes;
};

Part results_of(const Tiles& tiles) { return {"D", tiles.d_format, {tiles.count, tiles.m, tiles.n}, &Tiles::d}; }

/// Block scales share a dtype, whatever their format.
std::vector<Part> operands_of(const Tiles& tiles, FormatId scale_format = FormatId::ue8m0) {
  const Shape stored = {tiles.count, tiles.m, tiles.a_depth()};
  std::vector<Part> parts = {{"A", tiles.a_format, stored, &Tiles::a},
                             {"B", tiles.b_format, {tiles.count, tiles.k, tiles.n}, &Tiles::b},
                             {"C", tiles.c_format, {tiles.count, tiles.m, tiles.n}, &Tiles::c}};
  if (tiles.sparse_group != 0) parts.push_back({"E", FormatId::u8, stored, &Tiles::e});
  if (tiles.scale_block != 0) {
    const std::uint64_t blocks = tiles.k / static_cast<std::size_t>(tiles.scale_block);
    parts.push_back({"SA", scale_format, {tiles.count, tiles.m, blocks}, &Tiles::sa});
    parts.push_back({"SB", scale_format, {tiles.count, blocks, tiles.n}, &Tiles::sb});
  }
  return parts;
}

std::vector<std::byte> bytes_of(const Tiles& tiles, const std::vector<Part>& parts, const Metadata& metadata) {
  std::vector<TensorEntry> entries;
  for (const Part& part : parts)
    entries.push_back({std::string(part.name), std::string(format(part.format).safetensors), part.shape, 0, 0});
  const std::string head = safetensors_head("a batch", metadata, entries);
  const auto head_bytes = std::as_bytes(std::span(head));
  std::vector<std::byte> bytes(head_bytes.begin(), head_bytes.end());
  for (const Part& part : parts) {
    pack_codes(format(part.format), (tiles.*part.codes).bytes(),
               [&](std::span<const std::byte> packed) { bytes.insert(bytes.end(), packed.begin(), packed.end()); });
  }
  return bytes;
}

/// The entry of a tensor that must be there, of that dtype.
const TensorEntry& typed_entry(const Subject& subject, const SafetensorsHeader& header, std::string_view name,
                               FormatId id) {
  const TensorEntry* const entry = header.find(name);
  if (entry == nullptr) subject.fail(tensor_field(name), "missing; right would be a file that has it");
  const Format& f = format(id);
  if (entry->dtype != f.safetensors) {
    subject.fail(tensor_field(name, "dtype"), "{}; right would be \"{}\", as it holds {}", in_quotes(entry->dtype),
                 f.safetensors, f.name);
  }
  return *entry;
}

void check_shape(const Subject& subject, const TensorEntry& entry, const Shape& right) {
  if (entry.shape == right) return;
  subject.fail(tensor_field(entry.name, "shape"), "{}; right would be {}", shape_text(entry.shape), shape_text(right));
}

/// Whether a text that came with a question, or an answer, calls that format: by its name, or by all that it is.
bool calls(const std::string& text, FormatId id) { return text == format(id).name || find_format_or_own(text) == id; }

/// Formats that share a dtype are told apart by what the metadata says.
void check_formats(const Subject& subject, const SafetensorsHeader& header, const QuestionForm& form) {
  const std::array<std::pair<std::string_view, FormatId>, 4> rights = {
      {{"format_a", form.a}, {"format_b", form.b}, {"format_c", form.c}, {"format_d", form.d}}};
  for (const auto& [key, right] : rights) {
    const auto found = header.metadata.find(std::string(key));
    if (found == header.metadata.end() || calls(found->second, right)) continue;
    subject.fail(metadata_field(key), "{}; right would be {}, as what answers here takes it", in_quotes(found->second),
                 format(right).name);
  }
  if (form.scale_block == 0) {
    for (const std::string_view name : {"SA", "SB"}) {
      if (header.find(name) != nullptr)
        subject.fail(tensor_field(name), "what answers here has no block scales; right would be a question without");
    }
    return;
  }
  const auto format_name = header.metadata.find(kScaleFormatKey);
  if (format_name != header.metadata.end() && !calls(format_name->second, form.scale_format)) {
    subject.fail(metadata_field(kScaleFormatKey), "{}; right would be {}, as what answers here takes it",
                 in_quotes(format_name->second), format(form.scale_format).name);
  }
  const auto block = header.metadata.find(kScaleBlockKey);
  if (block != header.metadata.end() && block->second != std::to_string(form.scale_block)) {
    subject.fail(metadata_field(kScaleBlockKey), "{}; right would be {}, as what answers here takes it",
                 in_quotes(block->second), in_quotes(std::to_string(form.scale_block)));
  }
}

void read_codes(const Subject& subject, const SafetensorsData& data, const TensorEntry& entry, FormatId id,
                Codes& codes) {
  data.read(entry, 0, codes.bytes());
  if (id == FormatId::ue4m3) {  // may come as an e4m3, whose sign the hardware ignores
    for (std::byte& byte : codes.bytes()) byte &= static_cast<std::byte>(format(id).code_mask());
  }
  unpack_codes(subject, tensor_field(entry.name, "data"), format(id), codes.bytes());
}

}  // namespace

std::vector<std::byte> question_bytes(const Tiles& tiles, const Metadata& about) {
  Metadata metadata = about;
  metadata["format_a"] = format(tiles.a_format).name;
  metadata["format_b"] = format(tiles.b_format).name;
  metadata["format_c"] = format(tiles.c_format).name;
  metadata["format_d"] = format(tiles.d_format).name;
  return bytes_of(tiles, operands_of(tiles), metadata);
}

std::vector<std::byte> answer_bytes(const Tiles& tiles) { return bytes_of(tiles, {results_of(tiles)}, {}); }

Tiles read_question(const ByteSource& source, const QuestionForm& form) {
  const Subject subject{source.path()};
  const SafetensorsHeader header = read_safetensors_header(source, {.metadata_right = {}, .rank = 3});
  check_formats(subject, header, form);
  const TensorEntry& a = typed_entry(subject, header, "A", form.a);
  const TensorEntry& b = typed_entry(subject, header, "B", form.b);
  Tiles tiles;
  tiles.a_format = form.a;
  tiles.b_format = form.b;
  tiles.c_format = form.c;
  tiles.d_format = form.d;
  tiles.k = form.k;
  tiles.sparse_group = form.sparse_group;
  tiles.scale_block = form.scale_block;
  tiles.count = a.shape[0];
  tiles.m = a.shape[1];
  tiles.n = b.shape[2];
  if (tiles.count == 0 || tiles.m == 0) {
    subject.fail(tensor_field("A", "shape"), "{}; right would be extents of 1 or more", shape_text(a.shape));
  }
  if (tiles.n == 0) {
    subject.fail(tensor_field("B", "shape"), "{}; right would be extents of 1 or more", shape_text(b.shape));
  }
  const std::vector<Part> parts = operands_of(tiles, form.scale_format);
  for (const Part& part : parts) check_shape(subject, typed_entry(subject, header, part.name, part.format), part.shape);
  const SafetensorsData data(source, header);  // the operands are as large as the file is long
  return with_room_for(subject.path + ": data", [&] {
    for (const Part& part : parts) {
      const TensorEntry& entry = *header.find(part.name);
      const auto bytes_each = static_cast<std::size_t>(format(part.format).storage_bytes());
      tiles.*part.codes = Codes(format(part.format).storage_bytes(), (entry.end - entry.begin) / bytes_each);
      read_codes(subject, data, entry, part.format, tiles.*part.codes);
    }
    tiles.d = Codes(format(tiles.d_format).storage_bytes(), tiles.size());
    return std::move(tiles);
  });
}

void read_answer(const ByteSource& source, Tiles& tiles) {
  const Subject subject{source.path()};
  const SafetensorsHeader header = read_safetensors_header(source);
  const Part results = results_of(tiles);
  const TensorEntry& d = typed_entry(subject, header, results.name, results.format);
  check_shape(subject, d, results.shape);
  tiles.d = Codes(format(results.format).storage_bytes(), tiles.size());
  read_codes(subject, SafetensorsData(source, header), d, results.format, tiles.d);
}

std::size_t most_answer_bytes(const Tiles& tiles, std::size_t question) {
  constexpr std::size_t kHeader = std::size_t{2} << 20;
  return question + tiles.size() * static_cast<std::size_t>(format(tiles.d_format).storage_bytes()) + kHeader;
}

}  // namespace tcnum
