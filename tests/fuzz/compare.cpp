#include "compare.hpp"

#include "fuzz.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/exact.hpp"
#include "tests/difference.hpp"

namespace tcnum::fuzz {

void compare_emulators(const Datapath& datapath, Tiles tiles) {
  Tiles exact = tiles;
  emulate_exact(datapath, exact);
  Emulator(datapath).run(tiles);
  for (std::size_t i = 0; i < exact.d.size(); ++i) {
    if (exact.d[i] == tiles.d[i]) continue;
    wrong("the fast emulator differs from the exact one",
          test::difference(datapath, problem_at(exact, i), "exact, fast", exact.d[i], tiles.d[i]));
  }
}

}  // namespace tcnum::fuzz
