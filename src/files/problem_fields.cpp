#include "problem_fields.hpp"

#include <fmt/ranges.h>

#include <cctype>

#include "io/memory.hpp"
#include "io/printable.hpp"
#include "isa/sparsity.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

using Of = ProblemField::Of;

/// The number of products, of elements of a row of A, and of block scales.
struct Lengths {
  std::size_t k, stored, blocks;
};

std::vector<ProblemField> fields_of(FormatId a, FormatId b, FormatId c, FormatId d, FormatId scales,
                                    const Lengths& along) {
  const bool sparse = along.stored != along.k;
  const std::string_view stored = sparse ? "K/2" : "K";
  std::vector<ProblemField> fields = {{"a", a, along.stored, stored, Of::row, &Tiles::a}};
  if (sparse) fields.push_back({"e", FormatId::u8, along.stored, stored, Of::row, &Tiles::e});
  fields.push_back({"b", b, along.k, "K", Of::column, &Tiles::b});
  if (along.blocks != 0) {
    fields.push_back({"sa", scales, along.blocks, "K/block", Of::row, &Tiles::sa});
    fields.push_back({"sb", scales, along.blocks, "K/block", Of::column, &Tiles::sb});
  }
  fields.push_back({"c", c, 1, "", Of::element, &Tiles::c});
  fields.push_back({"d", d, 1, "", Of::element, &Tiles::d});
  return fields;
}

/// That there are tensors of these names, and no others.
void check_names(const Subject& subject, const SafetensorsHeader& header, const std::vector<ProblemField>& fields) {
  std::vector<std::string> names;
  for (const ProblemField& field : fields) names.push_back(field.tensor());
  for (const TensorEntry& tensor : header.tensors) {
    if (std::ranges::find(names, tensor.name) == names.end()) {
      subject.fail(tensor_field(tensor.name), "is none of the instruction's; expected {}", fmt::join(names, ", "));
    }
  }
}

}  // namespace

std::size_t ProblemField::index(const Tiles& tiles, std::size_t t, std::size_t i, std::size_t j, std::size_t s) const {
  switch (of) {
    case Of::row:
      return (t * tiles.m + i) * count + s;
    case Of::column:
      return (t * count + s) * tiles.n + j;
    default:
      return tiles.c_index(t, i, j);
  }
}

std::string ProblemField::tensor() const {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

std::vector<std::uint64_t> ProblemField::shape(std::uint64_t tiles, std::uint64_t m, std::uint64_t n) const {
  if (of == Of::element) return {tiles, m, n};
  return of == Of::row ? std::vector<std::uint64_t>{tiles, m, count} : std::vector<std::uint64_t>{tiles, count, n};
}

std::string ProblemField::axes() const {
  if (of == Of::element) return "[T, M, N]";
  return of == Of::row ? fmt::format("[T, M, {}]", along) : fmt::format("[T, {}, N]", along);
}

std::vector<ProblemField> problem_fields(const Instruction& in) {
  const auto k = static_cast<std::size_t>(in.k), blocks = static_cast<std::size_t>(in.scaled() ? in.scale_blocks() : 0);
  return fields_of(in.a, in.b, in.c, in.d, in.scales.format, {k, in.sparse() ? k / 2 : k, blocks});
}

std::vector<ProblemField> problem_fields(const Tiles& t, FormatId scales) {
  const std::size_t blocks = t.scale_block == 0 ? 0 : t.k / static_cast<std::size_t>(t.scale_block);
  return fields_of(t.a_format, t.b_format, t.c_format, t.d_format, scales, {t.k, t.a_depth(), blocks});
}

Tiles read_tiles(const ByteSource& file, const SafetensorsHeader& header, const Instruction& in, Results results) {
  const Subject subject{file.path()};
  std::vector<ProblemField> fields = problem_fields(in);
  if (results == Results::none)
    fields.pop_back();
  else
    check_names(subject, header, fields);
  std::vector<const TensorEntry*> tensors;
  for (const ProblemField& field : fields)
    tensors.push_back(find_tensor(subject, header, field, field.codes != &Tiles::d || results == Results::required));
  const auto extent = [&](std::string_view name, std::size_t axis, const char* what) {
    const std::uint64_t length = header.find(name)->shape[axis];
    if (length == 0) subject.fail(tensor_field(name, "shape"), "{} is 0; expected 1 or more", what);
    return length;
  };
  const std::uint64_t count = extent("A", 0, "T"), m = extent("A", 1, "M"), n = extent("B", 2, "N");
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::vector<std::uint64_t> shape = fields[i].shape(count, m, n);
    if (tensors[i] == nullptr || tensors[i]->shape == shape) continue;
    subject.fail(tensor_field(tensors[i]->name, "shape"), "{}; expected {} = {}, with T and M of A, N of B and K of {}",
                 shape_text(tensors[i]->shape), fields[i].axes(), shape_text(shape), in.name());
  }
  const SafetensorsData data(file, header);
  Tiles tiles = with_room_for(subject.path + ": data", [&] { return make_operands(in, count, m, n); });
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (tensors[i] != nullptr) read_tensor(data, subject, *tensors[i], fields[i], tiles);
  }
  check_positions(subject, tensor_field("E", "data"), tiles, in);
  return tiles;
}

std::vector<TensorEntry> tensor_entries(std::span<const ProblemField> fields, const Tiles& tiles) {
  std::vector<TensorEntry> entries;
  for (const ProblemField& field : fields) {
    entries.push_back({field.tensor(), std::string(format(field.format_id).safetensors),
                       field.shape(tiles.count, tiles.m, tiles.n), 0, 0});
  }
  return entries;
}

const TensorEntry* find_tensor(const Subject& subject, const SafetensorsHeader& header, const ProblemField& field,
                               bool required) {
  const std::string name = field.tensor();
  const TensorEntry* const tensor = header.find(name);
  if (tensor == nullptr && required) subject.fail(tensor_field(name), "missing; expected a tensor {}", field.axes());
  const Format& f = format(field.format_id);
  if (tensor != nullptr && tensor->dtype != f.safetensors) {
    subject.fail(tensor_field(name, "dtype"), "{}; expected \"{}\", as it holds {}", in_quotes(tensor->dtype),
                 f.safetensors, field.codes == &Tiles::e ? "positions" : f.name);
  }
  return tensor;
}

void read_tensor(const SafetensorsData& data, const Subject& subject, const TensorEntry& tensor,
                 const ProblemField& field, Tiles& tiles) {
  const std::span<std::byte> bytes = (tiles.*field.codes).bytes();
  data.read(tensor, 0, bytes);
  if (field.format_id == FormatId::ue4m3) {  // may come as an e4m3, whose sign the hardware ignores
    for (std::byte& byte : bytes) byte &= static_cast<std::byte>(format(field.format_id).code_mask());
  }
  unpack_codes(subject, tensor_field(tensor.name, "data"), format(field.format_id), bytes);
}

void check_positions(const Subject& subject, std::string_view field, const Tiles& tiles,
                     const Instruction& instruction) {
  if (!instruction.sparse()) return;
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
  subject.fail(field, "[{}, {}, {}] on: {}; expected {} ({})", row / tiles.m, row % tiles.m, first % tiles.a_depth(),
               fmt::join(positions, ", "), right, instruction.name());
}

}  // namespace tcnum
