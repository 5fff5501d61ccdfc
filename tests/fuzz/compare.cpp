#include "compare.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "fuzz.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/exact.hpp"

namespace tcnum::fuzz {

void compare_emulators(const Datapath& datapath, Tiles tiles) {
  Tiles exact = tiles;
  emulate_exact(datapath, exact);
  Emulator(datapath).run(tiles);
  for (std::size_t i = 0; i < exact.d.size(); ++i) {
    if (exact.d[i] == tiles.d[i]) continue;
    std::string text = to_json(datapath).dump() + fmt::format("\nresult {}: exact {:#x}, fast {:#x}: {:#x}", i,
                                                              exact.d[i], tiles.d[i], problem_at(exact, i).c);
    const Problem problem = problem_at(exact, i);
    for (std::size_t k = 0; k < problem.a.size(); ++k)
      text += fmt::format(" + {:#x}*{:#x}", problem.a[k], problem.b[k]);
    wrong("the fast emulator differs from the exact one", text);
  }
}

}  // namespace tcnum::fuzz
