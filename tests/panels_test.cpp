// Products of whole matrices by panels equal chains of the exact emulator, for every CPU that Highway compiled them
// for.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include <algorithm>

#include <hwy/targets.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "emu/cpu/matrix_product.hpp"
#include "emu/cpu/panels/kernels.hpp"
#include "generators.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

/// Some matrices; d is the chain's that the exact emulator computes.
struct Example {
  ProductShape shape;
  Codes a, b, c, d;
  OperandFormats formats;
};

/// What a product's operands are like: each has another way through the kernels.
enum class Operands : std::uint8_t { numbers, edges, codes, one_nan };

std::uint64_t draw_code(std::mt19937_64& random, const Format& f, Operands operands) {
  const std::uint64_t any = random() & f.code_mask();
  if (!f.floating) {
    // Accumulators near the ends of their range overflow now and then.
    if (f.storage_bits == 32 && random() % 2 == 0) return (any >> 12) ^ (random() % 2 == 0 ? 0x7fffffff : 0x80000000);
    return any;
  }
  switch (operands) {
    case Operands::numbers:
    case Operands::one_nan: {
      if (random() % 16 == 0) return any & ~(f.code_mask() >> 1);  // zero
      const std::uint64_t sign = any & ~(f.code_mask() >> 1);
      const int exponent = f.bias - 4 + static_cast<int>(random() % 8);
      const std::uint64_t fraction = any >> f.padding_bits & ((std::uint64_t{1} << f.fraction_bits) - 1);
      const int field = std::max(0, std::min(exponent, (1 << f.exponent_bits) - 2));
      return sign | (static_cast<std::uint64_t>(field) << f.fraction_bits | fraction) << f.padding_bits;
    }
    case Operands::edges: {
      constexpr std::uint64_t kSpread = 40;
      const std::uint64_t magnitude = any & (f.code_mask() >> 1);
      if (random() % 64 != 0 && magnitude >> f.padding_bits >= f.first_non_finite()) return 0;
      return random() % kSpread == 0 ? any & ~(f.code_mask() >> 1) : any;
    }
    case Operands::codes:
      return any;
  }
  return any;
}

Codes draw_codes(std::mt19937_64& random, FormatId id, std::size_t count, Operands operands) {
  const Format& f = format(id);
  Codes codes(f.storage_bytes(), count);
  for (std::size_t i = 0; i < count; ++i) codes.set(i, draw_code(random, f, operands));
  if (operands == Operands::one_nan && f.floating && f.non_finite != NonFinite::none)
    codes.set(random() % count, f.first_non_finite() << f.padding_bits);
  return codes;
}

void compute_exactly(const Datapath& datapath, Example& x) {
  const auto depth = static_cast<std::size_t>(datapath.tree.k);
  const auto& [m, n, k] = x.shape;
  Tiles tile = make_tiles(x.formats.a, x.formats.b, x.formats.c, x.formats.d, 1, m, n, depth);
  tile.c = x.c;
  for (std::size_t first = 0; first < k; first += depth) {
    if (first > 0) std::swap(tile.c, tile.d);
    for (std::size_t kk = 0; kk < depth; ++kk) {
      const bool there = first + kk < k;
      for (std::size_t i = 0; i < m; ++i) tile.a.set(i * depth + kk, there ? x.a[i * k + first + kk] : 0);
      for (std::size_t j = 0; j < n; ++j) tile.b.set(kk * n + j, there ? x.b[(first + kk) * n + j] : 0);
    }
    emulate_exact(datapath, tile);
  }
  x.d = tile.d;
}

Example draw_example(std::mt19937_64& random, const Datapath& datapath, const ProductShape& shape, Operands operands) {
  const Numerics& n = datapath.numerics;
  Example x;
  x.shape = shape;
  x.formats = {n.a.format, n.b.format, n.c.format, n.result};
  x.a = draw_codes(random, n.a.format, shape.m * shape.k, operands);
  x.b = draw_codes(random, n.b.format, shape.k * shape.n, operands);
  x.c = draw_codes(random, n.c.format, shape.m * shape.n, operands);
  compute_exactly(datapath, x);
  return x;
}

/// The first element that differs, in words; empty if none does.
std::string first_difference(const Datapath& datapath, const Example& x, unsigned threads) {
  const auto& [m, n, k] = x.shape;
  Codes d(x.d.bytes_each(), x.d.size());
  WideProduct(datapath.numerics, SortedTree(datapath.tree))
      .multiply(x.shape, codes_from(x.a.bytes().data(), k), codes_from(x.b.bytes().data(), n),
                codes_from(x.c.bytes().data(), n), codes_from(d.bytes().data(), n), threads);
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (d[i] == x.d[i]) continue;
    std::string terms = fmt::format("{:#x}", x.c[i]);
    for (std::size_t kk = 0; kk < k; ++kk)
      terms += fmt::format(" + {:#x} * {:#x}", x.a[i / n * k + kk], x.b[kk * n + i % n]);
    return fmt::format("{}\n{}: {} x {} x {}: element ({}, {}), {}, is {:#x}, not {:#x}", to_json(datapath).dump(),
                       panels::kernels()->name, m, n, k, i / n, i % n, terms, d[i], x.d[i]);
  }
  return {};
}

/// Of the CPUs that have fused multiply-adds, those that this machine can be.
std::vector<std::int64_t> targets() {
  std::vector<std::int64_t> found;
  for (std::int64_t all = hwy::SupportedTargets() & (HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL | HWY_NEON); all != 0;
       all &= all - 1)
    found.push_back(all & -all);
  return found;
}

class Panels : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().DeInit();  // all exported functions are chosen anew
    ASSERT_NE(panels::kernels(), nullptr);
    ASSERT_STREQ(panels::kernels()->name, hwy::TargetName(GetParam()));
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
};

bool is_taken(const Datapath& d) { return WideProduct(d.numerics, SortedTree(d.tree)).is_taken(); }

TEST_P(Panels, EqualTheExactEmulatorOnRandomDatapaths) {
  EXPECT_TRUE(rc::check([&] {
    const auto any = *rc::gen::inRange(0, 4) == 0 ? test::random_chain_of_integers : test::random_patch_datapath;
    const Datapath datapath = test::draw_until(any, is_taken);
    std::mt19937_64 random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()));
    const auto operands = static_cast<Operands>(*rc::gen::inRange(0, 4));
    const auto depth = static_cast<std::size_t>(datapath.tree.k);
    const ProductShape shape{
        *rc::gen::element<std::size_t>(1, 2, 3), *rc::gen::element<std::size_t>(1, 9, 65),
        depth * *rc::gen::element<std::size_t>(1, 2, 5) - *rc::gen::inRange<std::size_t>(0, depth)};
    const std::string difference = first_difference(datapath, draw_example(random, datapath, shape, operands), 1);
    if (!difference.empty()) RC_FAIL(difference);
  }));
}

TEST_P(Panels, EqualTheExactEmulatorOnTheCatalogue) {
  std::mt19937_64 random(1);
  std::vector<Datapath> seen;
  for (const Arch& of : kArchs) {
    for (const Instruction* in : instructions_of(of.id)) {
      for (const CatalogueEntry& entry : catalogue(of.id, *in)) {
        const Datapath& datapath = entry.datapath;
        if (!is_taken(datapath)) continue;
        if (std::ranges::find(seen, datapath) != seen.end()) continue;
        seen.push_back(datapath);
        const bool chained = datapath.numerics.c.format == datapath.numerics.result;
        const std::size_t k = static_cast<std::size_t>(datapath.tree.k) * (chained ? 3 : 1);
        for (const Operands operands : {Operands::numbers, Operands::edges, Operands::codes, Operands::one_nan}) {
          const std::string difference =
              first_difference(datapath, draw_example(random, datapath, {3, 65, k}, operands), 1);
          EXPECT_EQ(difference, "") << in->name();
        }
      }
    }
  }
  EXPECT_GT(seen.size(), 20u);
}

TEST_P(Panels, GiveTheSameBitsOnManyThreads) {
  std::mt19937_64 random(2);
  const Instruction& in = *find_instruction("mma.m16n8k8.f32.f16.f16.f32");
  const Datapath datapath = catalogue(ArchId::sm_80, in).at(0).datapath;
  Example x = draw_example(random, datapath, {70, 130, 40}, Operands::edges);
  EXPECT_EQ(first_difference(datapath, x, 1), "");
  EXPECT_EQ(first_difference(datapath, x, 7), "");
}

#ifdef __SSE2__
/// What other libraries tell the threads that they run on.
TEST_P(Panels, KeepSubnormalNumbersWhereTheThreadFlushesThem) {
  std::mt19937_64 random(3);
  Datapath datapath = catalogue(ArchId::sm_90, *find_instruction("mma.m16n8k16.f32.f16.f16.f32")).at(0).datapath;
  Example x = draw_example(random, datapath, {8, 64, 32}, Operands::numbers);
  for (std::size_t i = 0; i < x.a.size(); ++i) x.a.set(i, x.a[i] & 0x83ff);
  compute_exactly(datapath, x);
  constexpr unsigned kFlush = 0x8040;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kFlush);
  const std::string difference = first_difference(datapath, x, 1);
  EXPECT_EQ(_mm_getcsr() & kFlush, kFlush) << "the thread's own setting comes back";
  _mm_setcsr(before);
  EXPECT_EQ(difference, "");
}
#endif

INSTANTIATE_TEST_SUITE_P(Targets, Panels, testing::ValuesIn(targets()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

}  // namespace
}  // namespace tcnum
