// Makes, reads and writes handles of tiles: their codes and their metadata.
#include <iterator>

#include "arguments.hpp"
#include "handles.hpp"
#include "io/printable.hpp"
#include "src/files/problem_fields.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

/// All tensors that the tiles have.
std::vector<ProblemField> tensors_of(const tcnum_tiles& of) {
  return problem_fields(of.vectors.tiles, of.scale_format);
}

void check_extents(std::size_t count, std::size_t m, std::size_t n) {
  for (const auto& [argument, extent] : {std::pair{"count", count}, std::pair{"m", m}, std::pair{"n", n}}) {
    if (extent == 0) throw InputError(fmt::format("{}: is 0; expected 1 or more", argument));
  }
}

/// A field of Vectors that is metadata in a file.
struct Field {
  std::string_view key;
  std::string Vectors::*text;
};
constexpr std::array<Field, 3> kFields = {
    {{"instruction", &Vectors::instruction}, {"arch", &Vectors::arch}, {"device", &Vectors::device}}};

/// Keys that callers cannot set, because they are part of what the tiles are.
constexpr std::array<std::string_view, 5> kFixed = {"instruction", "arch", "scale_a", "scale_b", "scale_d"};

std::string checked_value(std::string_view key, std::string_view value) {
  if (!is_utf8(value))
    throw InputError(fmt::format("value: of {} is not UTF-8; expected text in UTF-8", in_quotes(key)));
  return std::string(value);
}

}  // namespace

void check_written(const tcnum_tiles& of) {
  const Tiles& t = of.vectors.tiles;
  for (const ProblemField& each : tensors_of(of)) {
    if (each.codes != &Tiles::e)
      check_codes((t.*each.codes).bytes(), format(each.format_id), fmt::format("tiles: {}", each.tensor()));
  }
  if (t.sparse_group == 0) return;
  const std::size_t first = first_illegal_group(*of.instruction, t.e);
  if (first == t.e.size()) return;
  throw InputError(
      fmt::format("tiles: E: the group from code {} on begins with {}; expected places of stored elements that {} "
                  "can have (docs/files.md)",
                  first, t.e[first], of.instruction->name()));
}

}  // namespace tcnum

using namespace tcnum;

tcnum_status tcnum_tiles_new(const char* arch_name, const char* instruction, size_t count, size_t m, size_t n,
                             tcnum_tiles** tiles) {
  return handed_back(tiles, "tiles", [&] {
    const ArchId id = arch_of(arch_name);
    const Instruction& in = instruction_of(id, instruction);
    check_extents(count, m, n);
    auto made = std::make_unique<tcnum_tiles>();
    made->instruction = &in;
    made->vectors.tiles = make_operands(in, count, m, n);
    made->scale_format = in.scales.format;
    made->vectors.instruction = in.name();
    made->vectors.arch = arch(id).name;
    return made.release();
  });
}

tcnum_status tcnum_tiles_of_datapath(const tcnum_datapath* datapath, size_t count, size_t m, size_t n,
                                     tcnum_tiles** tiles) {
  return handed_back(tiles, "tiles", [&] {
    const Datapath& of = required(datapath, "datapath", "a datapath").datapath;
    check_extents(count, m, n);
    const Instruction dot = dot_of(of);
    auto made = std::make_unique<tcnum_tiles>();
    made->vectors.tiles = make_operands(dot, count, m, n);
    made->scale_format = dot.scales.format;
    return made.release();
  });
}

tcnum_status tcnum_tiles_read(const char* path, int without_results, tcnum_tiles** tiles) {
  return handed_back(tiles, "tiles", [&] {
    auto made = std::make_unique<tcnum_tiles>();
    made->vectors = read_vectors(std::string(text_of(path, "path", "the path of a vector file")), without_results == 0);
    made->instruction = find_instruction(made->vectors.instruction);
    made->scale_format = made->instruction->scales.format;
    return made.release();
  });
}

tcnum_status tcnum_tiles_write(const tcnum_tiles* tiles, const char* path) {
  return guarded([&] {
    const tcnum_tiles& of = required(tiles, "tiles", "tiles of an instruction");
    const std::string to(text_of(path, "path", "the path of a vector file"));
    if (of.instruction == nullptr) throw InputError("tiles: are of a datapath alone; expected tiles of an instruction");
    check_written(of);
    write_vectors(to, of.vectors);
  });
}

void tcnum_tiles_free(tcnum_tiles* tiles) { delete tiles; }

tcnum_status tcnum_tiles_tensor(tcnum_tiles* tiles, const char* name, tcnum_tensor* to) {
  return guarded([&] {
    tcnum_tiles& of = required(tiles, "tiles", "tiles");
    Tiles& t = of.vectors.tiles;
    const std::vector<ProblemField> tensors = tensors_of(of);
    std::string known;
    for (const ProblemField& each : tensors) known += (known.empty() ? "" : ", ") + each.tensor();
    const std::string_view wanted = text_of(name, "name", "one of " + known);
    const auto found = std::ranges::find(tensors, wanted, &ProblemField::tensor);
    if (found == tensors.end()) {
      throw InputError(
          fmt::format("name: {} is not a tensor of these tiles; expected one of {}", in_quotes(wanted), known));
    }
    tcnum_tensor tensor = {};
    tensor.codes = (t.*found->codes).bytes().data();
    tensor.bytes = (t.*found->codes).bytes().size();
    tensor.format = c_name(found->format_id);
    std::ranges::copy(found->shape(t.count, t.m, t.n), tensor.shape);
    hand_back(tensor, to, "tensor");
  });
}

const char* tcnum_tiles_text(const tcnum_tiles* tiles, const char* key) {
  if (tiles == nullptr || key == nullptr) return nullptr;
  for (const Field& field : kFields) {
    if (field.key != key) continue;
    const std::string& text = tiles->vectors.*field.text;
    return text.empty() ? nullptr : text.c_str();
  }
  const auto& metadata = tiles->vectors.metadata;
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : found->second.c_str();
}

const char* tcnum_tiles_key(const tcnum_tiles* tiles, size_t index) {
  if (tiles == nullptr) return nullptr;
  for (const Field& field : kFields) {
    if ((tiles->vectors.*field.text).empty()) continue;
    if (index-- == 0) return field.key.data();
  }
  const auto& metadata = tiles->vectors.metadata;
  if (index >= metadata.size()) return nullptr;
  return std::next(metadata.begin(), static_cast<std::ptrdiff_t>(index))->first.c_str();
}

tcnum_status tcnum_tiles_set_text(tcnum_tiles* tiles, const char* key, const char* value) {
  return guarded([&] {
    Vectors& vectors = required(tiles, "tiles", "tiles").vectors;
    const std::string name = checked_value("key", text_of(key, "key", "a key such as \"device\""));
    if (std::ranges::find(kFixed, name) != kFixed.end()) {
      throw InputError(fmt::format(
          "key: {} is part of what the tiles are; expected another key, such as \"device\" or \"note\"", name));
    }
    if (name == "device") {
      vectors.device = value == nullptr ? "" : checked_value(name, value);
    } else if (value == nullptr) {
      vectors.metadata.erase(name);
    } else {
      vectors.metadata.insert_or_assign(name, checked_value(name, value));
    }
  });
}
