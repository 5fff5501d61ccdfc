#include "problem_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "isa/sparsity.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {

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

std::vector<ProblemField> problem_fields(const Instruction& in) {
  using Of = ProblemField::Of;
  const auto k = static_cast<std::size_t>(in.k), depth = in.sparse() ? k / 2 : k;
  std::vector<ProblemField> fields = {{"a", in.a, depth, Of::row, &Tiles::a}};
  if (in.sparse()) fields.push_back({"e", FormatId::u8, depth, Of::row, &Tiles::e});
  fields.push_back({"b", in.b, k, Of::column, &Tiles::b});
  if (in.scaled()) {
    const auto blocks = static_cast<std::size_t>(in.scale_blocks());
    fields.push_back({"sa", in.scales.format, blocks, Of::row, &Tiles::sa});
    fields.push_back({"sb", in.scales.format, blocks, Of::column, &Tiles::sb});
  }
  fields.push_back({"c", in.c, 1, Of::element, &Tiles::c});
  fields.push_back({"d", in.d, 1, Of::element, &Tiles::d});
  return fields;
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
  subject.fail(field, "[{}, {}, {}] on: {}; right would be {} ({})", row / tiles.m, row % tiles.m,
               first % tiles.a_depth(), fmt::join(positions, ", "), right, instruction.name());
}

}  // namespace tcnum
