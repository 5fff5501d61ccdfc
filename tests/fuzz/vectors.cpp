// Vector files: what reads is written and read back the same, and the emulators agree on its problems.
#include "harnesses.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "compare.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::fuzz {
namespace {

namespace fs = std::filesystem;

std::string written(const Vectors& vectors) {
  write_vectors(scratch_path(), vectors);
  return contents_of(scratch_path());
}

/// The first account that the catalogue has of what the file is of, if any.
const Datapath* datapath_of(const Vectors& vectors) {
  static std::map<std::pair<std::string, std::string>, std::vector<CatalogueEntry>> known;
  const auto [found, is_new] = known.try_emplace({vectors.arch, vectors.instruction});
  if (is_new) found->second = catalogue(*find_arch(vectors.arch), *find_instruction(vectors.instruction));
  return found->second.empty() ? nullptr : &found->second.front().datapath;
}

/// The first row and column of the first tile.
Vectors first_problem(const Vectors& vectors) {
  Vectors first = vectors;
  const Tiles& from = vectors.tiles;
  Tiles& to = first.tiles;
  to = make_operands(*find_instruction(vectors.instruction), 1, 1, 1);
  for (std::size_t s = 0; s < from.a_depth(); ++s) {
    to.a.set(s, from.a[s]);
    if (from.sparse_group != 0) to.e.set(s, from.e[s]);
  }
  for (std::size_t k = 0; k < from.k; ++k) to.b.set(k, from.b[from.b_index(0, k, 0)]);
  to.c.set(0, from.c[0]);
  to.d.set(0, from.d[0]);
  return first;
}

}  // namespace

bool read_a_vector_file(std::string_view input) {
  const InputPath file(input);
  Vectors vectors;
  if (!accepted([&] { vectors = read_vectors(file.path(), false); }, file.path())) return false;
  const std::string bytes = written(vectors);
  if (written(read_vectors(scratch_path())) != bytes) wrong("a vector file changes when it is written again");
  Tiles problems = dot_problems(vectors.tiles, vectors.metadata);
  const Datapath* const datapath = datapath_of(vectors);
  constexpr std::size_t kMostProducts = 1 << 14;
  if (datapath != nullptr && problems.size() * problems.k <= kMostProducts) {
    compare_emulators(*datapath, std::move(problems));
  }
  return true;
}

std::vector<std::string> vector_files() {
  std::vector<std::string> files;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(TCNUM_SOURCE_DIR "/vectors/sm_90")) {
    if (entry.path().extension() == ".safetensors") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const fs::path& path : paths) files.push_back(written(first_problem(read_vectors(path.string()))));
  return files;
}

}  // namespace tcnum::fuzz
