#include "dot_vectors.hpp"

#include <fmt/ranges.h>

#include <cerrno>

#include "matrix_file.hpp"
#include "problem_fields.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kPlace = "{}";

}  // namespace

std::string array_path(const std::string& path, std::string_view operand) {
  std::string one = path;
  return one.replace(one.rfind(kPlace), kPlace.size(), operand);
}

bool names_arrays(std::string_view path) { return path.ends_with(".npy") && path.find(kPlace) != path.npos; }

Tiles read_arrays(const std::string& path, const Instruction& instruction, bool results_required) {
  Tiles tiles;
  for (const ProblemField& field : problem_fields(instruction)) {
    const std::string file = array_path(path, field.name);
    std::error_code error;
    if (field.codes == &Tiles::d && !results_required && !std::filesystem::exists(file, error)) break;
    StoredTensor array = read_npy(NpyFile(file), field.format_id);
    if (field.codes == &Tiles::a) {
      if (array.shape.size() != 3)
        Subject{file}.fail("shape", "{} axes; expected three, [T, M, {}]", array.shape.size(), field.count);
      tiles = make_operands(instruction, array.shape[0], array.shape[1], 1);
    }
    if (field.codes == &Tiles::b && array.shape.size() == 3)
      tiles = [&] {
        Tiles wider = make_operands(instruction, tiles.count, tiles.m, array.shape[2]);
        wider.a = std::move(tiles.a);
        wider.e = std::move(tiles.e);
        return wider;
      }();
    const std::vector<std::size_t> wanted = field.shape(tiles.count, tiles.m, tiles.n);
    if (array.shape != wanted || array.column_major) {
      Subject{file}.fail("shape", "[{}]; expected [{}], with T and M of a, N of b and K of {}",
                         fmt::join(array.shape, ", "), fmt::join(wanted, ", "), instruction.name());
    }
    tiles.*field.codes = std::move(array.codes);
  }
  check_positions({path}, "e", tiles, instruction);
  return tiles;
}

void write_arrays(const std::string& path, const Tiles& tiles, const Instruction& instruction) {
  for (const ProblemField& field : problem_fields(instruction)) {
    write_npy(array_path(path, field.name),
              {field.format_id, field.shape(tiles.count, tiles.m, tiles.n), tiles.*field.codes, false});
  }
}

}  // namespace tcnum
