// The fast emulator equals the exact one, bit for bit, on random datapaths and operands.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include "generators.hpp"
#include <nlohmann/json.hpp>

#include "tcnum/exact.hpp"
#include "tcnum/fast.hpp"

namespace tcnum {
namespace {

RC_GTEST_PROP(Emulators, FastEqualsExact, ()) {
  const Datapath datapath = test::random_datapath();
  Tiles exact = test::random_tiles(datapath, 2, 3, *rc::gen::element<std::size_t>(1, 3, 8, 11));
  Tiles fast = exact;
  emulate_exact(datapath, exact);
  const FastEmulator emulator(datapath);
  emulator.run(fast);
  RC_CLASSIFY(emulator.falls_back());
  for (std::size_t i = 0; i < exact.d.size(); ++i) {
    if (exact.d[i] != fast.d[i]) {
      std::string text = to_json(datapath).dump() + fmt::format("\nelement {}: exact {:#x}, fast {:#x}", i, exact.d[i], fast.d[i]);
      const Problem problem = problem_at(exact, i);
      for (std::size_t k = 0; k < problem.a.size(); ++k) text += fmt::format(" {:#x}*{:#x}", problem.a[k], problem.b[k]);
      text += fmt::format(" + {:#x}", problem.c);
      RC_FAIL(text);
    }
  }
}

}  // namespace
}  // namespace tcnum
