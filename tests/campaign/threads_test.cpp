// What runs on several threads gives what one gives. The thread sanitizer watches these (`./run test --all`).
// Labels: threads sanitized
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "at_once.hpp"
#include "edge_tiles.hpp"
#include "emu/cpu/wide_product.hpp"
#include "reference/any_datapath.hpp"
#include "src/campaign/campaign.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/fit.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum {
namespace {

using test::at_once, test::kThreads;

const Instruction& instruction(const char* name) { return *find_instruction(name); }

/// The first to ask make what others find.
TEST(Threads, ShareTheTables) {
  std::array<std::size_t, kThreads> found{};
  at_once([&](unsigned i) {
    for (const Instruction* each : instructions_of(ArchId::sm_90, FormatId::fp8e4m3)) {
      if (find_instruction(each->name()) == each) found[i] += catalogue(ArchId::sm_90, *each).size();
    }
  });
  EXPECT_GT(found[0], 0u);
  for (const std::size_t each : found) EXPECT_EQ(each, found[0]);
}

/// Of every evaluator; those of fp64 change how the machine rounds, which is a thread's own.
TEST(Threads, ShareAnEmulator) {
  constexpr int kDatapaths = 40, kSize = 100;
  const rc::Gen<Datapath> any = test::any_datapath(), chain = rc::gen::exec(test::random_fma_chain);
  for (int number = 0; number < kDatapaths; ++number) {
    const rc::Random random(static_cast<std::uint64_t>(number));
    const Datapath datapath = (number % 4 == 0 ? chain : any)(random, kSize).value();
    const Emulator emulator(datapath);
    const Tiles problems = test::edge_tiles(datapath, 7, 3, 11, 1);
    Tiles expected = problems;
    emulator.run(expected);
    std::array<Tiles, kThreads> results;
    at_once([&](unsigned i) {
      results[i] = problems;
      emulator.run(results[i], 1 + i);
    });
    for (const Tiles& each : results) ASSERT_EQ(each.d, expected.d) << to_json(datapath).dump();
  }
}

/// Of panels, whose parts each thread packs for itself: numbers, edges, infinities and NaNs have kernels of their own.
TEST(Threads, ShareWideTiles) {
  constexpr int kDatapaths = 8, kMostDraws = 200, kSize = 100;
  const rc::Gen<Datapath> sums = rc::gen::exec(test::random_patch_datapath),
                          integers = rc::gen::exec(test::random_chain_of_integers);
  int taken = 0;
  for (std::uint64_t number = 0; taken < kDatapaths && number < kMostDraws; ++number) {
    const Datapath datapath = (number % 4 == 0 ? integers : sums)(rc::Random(number), kSize).value();
    if (!WideProduct(datapath.numerics, SortedTree(datapath.tree)).is_taken()) continue;
    ++taken;
    const Emulator emulator(datapath);
    const Tiles problems = test::edge_tiles(datapath, 2, 19, 130, number);
    Tiles expected = problems;
    emulate_exact(datapath, expected);
    std::array<Tiles, kThreads> results;
    at_once([&](unsigned i) {
      results[i] = problems;
      emulator.run(results[i], 1 + i);
    });
    for (const Tiles& each : results) ASSERT_EQ(each.d, expected.d) << to_json(datapath).dump();
  }
  EXPECT_EQ(taken, panels::are_here() ? kDatapaths : 0);
}

TEST(Threads, ShareAMatrixProduct) {
  std::mt19937_64 random(1);
  const auto any = [&](FormatId id, std::size_t rows, std::size_t columns) {
    Matrix matrix(id, rows, columns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) matrix.set(i, j, random() & format(id).code_mask());
    }
    return matrix;
  };
  for (const char* name :
       {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k32.s32.s8.s8.s32", "mma.m8n8k4.f64.f64.f64.f64"}) {
    const Instruction& in = instruction(name);
    const Matrix a = any(in.a, 70, 50), b = any(in.b, 50, 90), c = any(in.c, 70, 90);
    const auto product = [&](unsigned threads) {
      return matmul(a, b, c, {.arch = "sm_90", .instruction = name, .threads = threads});
    };
    const Matrix expected = product(1);
    at_once([&](unsigned i) {
      const Matrix d = product(1 + i);
      for (std::size_t row = 0; row < d.rows(); ++row) {
        for (std::size_t column = 0; column < d.columns(); ++column) {
          if (d(row, column) != expected(row, column)) ADD_FAILURE() << name << ": " << row << ", " << column;
        }
      }
    });
  }
}

/// Compares two instructions with datapaths of which the second is wrong, so that there is something to report.
class Verifiers {
 public:
  std::unique_ptr<StreamVerifier> operator()(const Instruction& in, std::size_t) const {
    const Datapath right = catalogue(ArchId::sm_90, in).at(0).datapath;
    Datapath wrong = right;
    if (&in == &instruction("wgmma.m64n8k32.f32.e4m3.e4m3")) wrong.numerics.units[0].fraction_bits -= 1;
    return make_cpu_stream_verifier(in, wrong, std::make_unique<DatapathOracle>(right, in, "datapath", 1), 2);
  }
};

Campaign campaign() {
  CampaignPlan request;
  request.instructions = {&instruction("mma.m16n8k16.f32.f16.f16.f32"), &instruction("wgmma.m64n8k32.f32.e4m3.e4m3")};
  request.distributions = {Distribution::narrow, Distribution::cancellation};
  request.count = 1 << 16;
  request.chunk = 1 << 13;
  return Campaign(plan(request));
}

std::vector<ChunkResult> results_of(const Campaign& campaign) {
  std::vector<ChunkResult> results;
  for (const StreamTask& task : campaign.tasks()) {
    for (const auto& chunk : task.chunks) results.push_back(chunk.value_or(ChunkResult{}));
  }
  return results;
}

TEST(Threads, ShareACampaign) {
  const std::atomic<bool> go_on = false;
  Campaign alone = campaign();
  alone.run(Verifiers(), 1, go_on, [] {});

  std::atomic<bool> stop = false;
  Campaign shared = campaign();
  std::size_t calls = 0, bytes = 0;
  const auto progress = [&] {  // one thread at a time, as its header says, also for checkpoints
    bytes += shared.checkpoint().size();
    if (++calls == 5) stop = true;
  };
  shared.run(Verifiers(), kThreads, stop, progress);
  EXPECT_GE(calls, 5u);
  EXPECT_GT(bytes, 0u);
  stop = false;
  shared.run(Verifiers(), kThreads, stop, progress);  // stops again, or is done
  stop = false;
  calls = 6;
  shared.run(Verifiers(), kThreads, stop, progress);
  EXPECT_EQ(results_of(shared), results_of(alone));
  EXPECT_EQ(shared.disagreements().size(), alone.disagreements().size());
  EXPECT_FALSE(shared.disagreements().empty());
}

TEST(Threads, ShareAFit) {
  const Instruction& in = instruction("mma.m8n8k4.f32.f16.f16.f32");
  const Datapath hidden = catalogue(ArchId::sm_90, in).at(0).datapath;
  FitOptions options;
  options.tiles_per_distribution = 2;
  options.search_tiles = 4;
  const auto fitted = [&](unsigned threads) {
    options.threads = threads;
    DatapathOracle oracle(hidden, in, "datapath", 1);
    return fit_datapath(in, oracle, options);
  };
  const FittedDatapath one = fitted(1), several = fitted(kThreads);
  EXPECT_EQ(several.verdict, one.verdict);
  EXPECT_EQ(several.datapath, one.datapath);
  EXPECT_EQ(several.surviving, one.surviving);
}

}  // namespace
}  // namespace tcnum
