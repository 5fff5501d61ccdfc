#include "batch.hpp"

#include "io/printable.hpp"
#include "problem_fields.hpp"

namespace tcnum {
namespace {

std::vector<std::byte> bytes_of(const Tiles& tiles, std::span<const ProblemField> fields, const Metadata& metadata) {
  const std::string head = safetensors_head("a batch", metadata, tensor_entries(fields, tiles));
  const auto head_bytes = std::as_bytes(std::span(head));
  std::vector<std::byte> bytes(head_bytes.begin(), head_bytes.end());
  for (const ProblemField& field : fields) {
    pack_codes(format(field.format_id), (tiles.*field.codes).bytes(),
               [&](std::span<const std::byte> packed) { bytes.insert(bytes.end(), packed.begin(), packed.end()); });
  }
  return bytes;
}

/// Formats that share a dtype are told apart by what the metadata says, of each by its name or by all that it is.
void check_formats(const Subject& subject, const SafetensorsHeader& header, const Instruction& in) {
  const auto check = [&](const char* key, const auto& is_right, std::string_view expected) {
    const auto found = header.metadata.find(key);
    if (found == header.metadata.end() || is_right(found->second)) return;
    subject.fail(metadata_field(key), "{}; expected {}, as what answers here takes it", in_quotes(found->second),
                 expected);
  };
  const auto check_format = [&](const char* key, FormatId id) {
    const std::string_view name = format(id).name;
    check(
        key, [&](const std::string& said) { return said == name || find_format_or_own(said) == id; }, name);
  };
  check_format("format_a", in.a);
  check_format("format_b", in.b);
  check_format("format_c", in.c);
  check_format("format_d", in.d);
  if (in.scaled()) {
    check_format(kScaleFormatKey, in.scales.format);
    const std::string block = std::to_string(in.scales.block_k);
    check(
        kScaleBlockKey, [&](const std::string& said) { return said == block; }, block);
    return;
  }
  for (const std::string_view name : {"SA", "SB"}) {
    if (header.find(name) != nullptr)
      subject.fail(tensor_field(name), "what answers here has no block scales; expected a question without");
  }
}

}  // namespace

std::vector<std::byte> question_bytes(const Tiles& tiles, const Metadata& about) {
  Metadata metadata = about;
  metadata["format_a"] = format(tiles.a_format).name;
  metadata["format_b"] = format(tiles.b_format).name;
  metadata["format_c"] = format(tiles.c_format).name;
  metadata["format_d"] = format(tiles.d_format).name;
  const std::vector<ProblemField> fields = problem_fields(tiles);
  return bytes_of(tiles, std::span(fields).first(fields.size() - 1), metadata);
}

std::vector<std::byte> answer_bytes(const Tiles& tiles) {
  const std::vector<ProblemField> fields = problem_fields(tiles);
  return bytes_of(tiles, std::span(fields).last(1), {});
}

Tiles read_question(const ByteSource& source, const Instruction& instruction) {
  const SafetensorsHeader header = read_safetensors_header(source, {.metadata_right = {}, .rank = 3});
  check_formats({source.path()}, header, instruction);
  return read_tiles(source, header, instruction, Results::none);
}

void read_answer(const ByteSource& source, Tiles& tiles) {
  const Subject subject{source.path()};
  const SafetensorsHeader header = read_safetensors_header(source);
  const ProblemField d = problem_fields(tiles).back();
  const TensorEntry& tensor = *find_tensor(subject, header, d, /*required=*/true);
  if (const auto shape = d.shape(tiles.count, tiles.m, tiles.n); tensor.shape != shape) {
    subject.fail(tensor_field(tensor.name, "shape"), "{}; expected {}", shape_text(tensor.shape), shape_text(shape));
  }
  tiles.d = Codes(format(d.format_id).storage_bytes(), tiles.size());
  read_tensor(SafetensorsData(source, header), subject, tensor, d, tiles);
}

std::size_t most_answer_bytes(const Tiles& tiles, std::size_t question) {
  constexpr std::size_t kHeader = std::size_t{2} << 20;
  return question + tiles.size() * static_cast<std::size_t>(format(tiles.d_format).storage_bytes()) + kHeader;
}

}  // namespace tcnum
