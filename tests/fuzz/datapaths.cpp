// Datapaths in JSON: what reads is written and read back the same, and the fast emulator agrees with the exact one.
// After a zero byte, an input has operands.
#include <functional>
#include <nlohmann/json.hpp>

#include "compare.hpp"
#include "harnesses.hpp"
#include "tcnum/datapath.hpp"
#include "tests/edge_tiles.hpp"
#include "tests/reference/any_datapath.hpp"

namespace tcnum::fuzz {
namespace {

Tiles operands(const Datapath& datapath, Bytes& bytes, std::uint64_t seed) {
  // The first tile's are the input's, the second's are aimed at the edges of the datapath.
  constexpr std::size_t kTiles = 2, kRows = 2, kColumns = 9;  // so that columns are evaluated side by side, and alone
  constexpr int kFew = 64;                                    // products, above which the exact emulator takes long
  Tiles tiles = datapath.tree.k <= kFew ? test::edge_tiles(datapath, kTiles, kRows, kColumns, seed)
                                        : test::edge_tiles(datapath, 1, 1, 2, seed);
  for (Codes* codes : {&tiles.a, &tiles.b, &tiles.c, &tiles.sa, &tiles.sb}) {
    for (std::size_t i = 0; i < codes->size() / tiles.count && !bytes.empty(); ++i)
      codes->set(i, bytes.take(codes->bytes_each()));
  }
  return tiles;
}

}  // namespace

bool read_a_datapath(std::string_view input) {
  Bytes bytes(input);
  const InputPath file(bytes.until('\0'));
  Datapath datapath;
  if (!accepted([&] { datapath = read_datapath(file.path()); }, file.path())) return false;
  if (datapath_from_json(to_json(datapath)) != datapath) wrong("a datapath changes when it is written and read");
  compare_emulators(datapath, operands(datapath, bytes, std::hash<std::string_view>{}(input)));
  return true;
}

std::vector<std::string> datapath_files() {
  constexpr int kRandom = 100, kSize = 100;
  std::vector<std::string> files = contents_of("docs/datapaths", ".json");
  const rc::Gen<Datapath> any = test::any_datapath();
  for (std::uint64_t i = 0; i < kRandom; ++i) files.push_back(to_json(any(rc::Random(i), kSize).value()).dump());
  return files;
}

}  // namespace tcnum::fuzz
