// The fast emulator equals the exact one, bit for bit, on random datapaths and operands.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include "generators.hpp"

#include "tcnum/exact.hpp"
#include "tcnum/fast.hpp"

namespace tcnum {
namespace {

void expect_fast_equals_exact(const Datapath& datapath) {
  Tiles exact = test::random_tiles(datapath, 2, 3, *rc::gen::element<std::size_t>(1, 3, 8, 11));
  Tiles fast = exact;
  emulate_exact(datapath, exact);
  const FastEmulator emulator(datapath);
  emulator.run(fast);
  RC_CLASSIFY(emulator.falls_back());
  const DecodedTiles decoded(fast, datapath.numerics.a, datapath.numerics.b, datapath.numerics.c);
  for (std::size_t i = 0; i < exact.d.size(); ++i) {
    const std::size_t per_tile = fast.m * fast.n, t = i / per_tile, row = i % per_tile / fast.n, column = i % fast.n;
    unsigned consulted = 0;
    const std::uint64_t single = emulator.dot(decoded, t, row, column);
    const std::uint64_t traced =
        emulator.dot(decoded, t, row, column, datapath.numerics.units[0].zero_exponent.value, consulted);
    if (exact.d[i] == fast.d[i] && exact.d[i] == single && exact.d[i] == traced) continue;
    std::string text =
        to_json(datapath).dump() + fmt::format("\nelement {}: exact {:#x}, of a tile {:#x}, alone {:#x}, traced {:#x}",
                                               i, exact.d[i], fast.d[i], single, traced);
    const Problem problem = problem_at(exact, i);
    for (std::size_t k = 0; k < problem.a.size(); ++k) text += fmt::format(" {:#x}*{:#x}", problem.a[k], problem.b[k]);
    text += fmt::format(" + {:#x}", problem.c);
    RC_FAIL(text);
  }
}

RC_GTEST_PROP(Emulators, FastEqualsExact, ()) { expect_fast_equals_exact(test::random_datapath()); }

RC_GTEST_PROP(Emulators, FastEqualsExactForFmaChains, ()) { expect_fast_equals_exact(test::random_fma_chain()); }

}  // namespace
}  // namespace tcnum
