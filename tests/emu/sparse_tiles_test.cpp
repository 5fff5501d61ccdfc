// Sparse tiles and the dense problems that they come down to, and a fit that asks a sparse instruction.
#include "tcnum/sparse_tiles.hpp"
#include "isa/sparsity.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>

#include "draw.hpp"
#include "same_tiles.hpp"
#include "sparse_operands.hpp"
#include "src/fit/fit.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum::sparse_tiles_test {
namespace {

/// One of each kind of group and order.
constexpr std::array kInstructions = {"mma.sp.m16n8k32.f32.f16.f16.f32",
                                      "wgmma.sp.m64n8k64.f32.e5m2.e4m3",
                                      "wgmma.sp.m64n8k64.s32.s8.u8.satfinite",
                                      "mma.sp::ordered_metadata.m16n8k16.f16.f16.f16.f16",
                                      "mma.sp.m16n8k8.f32.tf32.tf32.f32",
                                      "mma.sp::ordered_metadata.m16n8k64.f32.e4m3.e5m2.f32",
                                      "mma.sp.m16n8k32.s32.s8.u8.s32.satfinite",
                                      "mma.sp.m16n8k64.s32.u4.s4.s32",
                                      "mma.sp::ordered_metadata.m16n8k128.s32.s4.s4.s32",
                                      "mma.sp::ordered_metadata.m16n8k64.f32.e3m2.e2m1.f32",
                                      "mma.sp::ordered_metadata.m16n8k64.mxf8f6f4.1x.f32.e2m1.e4m3.f32.ue8m0",
                                      "tcgen05.mma.sp.m128n8k128.mxf4nvf4.4x.f32.e2m1.e2m1.ue4m3",
                                      "v_smfmac_f32_16x16x64_fp8_bf8"};

void fill(Codes& codes, FormatId id, std::mt19937_64& random) {
  for (std::size_t i = 0; i < codes.size(); ++i) codes.set(i, random() & format(id).code_mask());
}

Tiles random_dense(const Instruction& in, std::size_t count, std::size_t m, std::size_t n) {
  Tiles tiles = make_tiles(in.a, in.b, in.c, in.d, count, m, n, static_cast<std::size_t>(in.products()));
  std::mt19937_64 random(1);
  fill(tiles.a, in.a, random);
  fill(tiles.b, in.b, random);
  fill(tiles.c, in.c, random);
  fill(tiles.d, in.d, random);
  if (in.scaled()) {
    const Tiles operands = make_operands(in, count, m, n);
    tiles.sa = operands.sa;
    tiles.sb = operands.sb;
    tiles.scale_block = in.products_per_scale();
    fill(tiles.sa, in.scales.format, random);
    fill(tiles.sb, in.scales.format, random);
  }
  return tiles;
}

using test::expect_same;

class SparseTiles : public testing::TestWithParam<const char*> {
 protected:
  const Instruction& in_ = *find_instruction(GetParam());
};

TEST_P(SparseTiles, ScatteredAndGatheredTheyAreWhatTheyWere) {
  const Tiles dense = random_dense(in_, 5, 8, 8);
  for (const Scattering& scattering : {kPlainScattering, Scattering{0, true}, Scattering{7, true}}) {
    const Tiles sparse = scatter(in_, dense, scattering);
    EXPECT_EQ(sparse.k, static_cast<std::size_t>(in_.k));
    EXPECT_EQ(sparse.a_depth(), dense.k);
    EXPECT_EQ(first_illegal_group(in_, sparse.e), sparse.e.size());
    for (std::size_t i = 0; i < dense.size(); ++i) ASSERT_EQ(problem_at(sparse, i), problem_at(dense, i));
    expect_same(gather(sparse), dense);
    expect_same(scatter(in_, dense, scattering), sparse);
  }
  EXPECT_NE(scatter(in_, dense, {0, true}).b, scatter(in_, dense).b);
  EXPECT_EQ(scatter(in_, dense, {0, true}).e, scatter(in_, dense).e);
  EXPECT_NE(scatter(in_, dense, {1, false}).e, scatter(in_, dense).e);
}

TEST_P(SparseTiles, ATileIsScatteredAlikeWhateverStandsBesideIt) {
  const Tiles dense = random_dense(in_, 3, 8, 8);
  Tiles last = make_tiles(in_.a, in_.b, in_.c, in_.d, 1, 8, 8, dense.k);
  for (const auto member : {&Tiles::a, &Tiles::b, &Tiles::c, &Tiles::d}) {
    Codes& codes = last.*member;
    for (std::size_t i = 0; i < codes.size(); ++i) codes.set(i, (dense.*member)[2 * codes.size() + i]);
  }
  const Tiles all = scatter(in_, dense), alone = scatter(in_, last);
  for (std::size_t i = 0; i < alone.e.size(); ++i) ASSERT_EQ(alone.e[i], all.e[2 * alone.e.size() + i]);
  for (std::size_t i = 0; i < alone.b.size(); ++i) ASSERT_EQ(alone.b[i], all.b[2 * alone.b.size() + i]);
}

TEST_P(SparseTiles, EveryLegalPatternOccursAndRowsDiffer) {
  const Tiles sparse = scatter(in_, random_dense(in_, 40, 8, 8));
  const SparseGroup group = group_of(in_);
  const auto stored = static_cast<std::size_t>(group.stored());
  std::set<unsigned> seen;
  bool rows_differ = false;
  for (std::size_t first = 0; first < sparse.e.size(); first += stored) {
    std::array<int, 4> positions{};
    for (std::size_t s = 0; s < stored; ++s) positions[s] = static_cast<int>(sparse.e[first + s]);
    seen.insert(SparseGroup::metadata(group.pattern_of(positions.data())));
    const std::size_t row = first / sparse.a_depth();
    if (row % sparse.m == 0) continue;
    for (std::size_t s = 0; s < stored; ++s)
      rows_differ |= sparse.e[first + s] != sparse.e[first - sparse.a_depth() + s];
  }
  EXPECT_EQ(seen.size(), group.size == 2 ? 2u : in_.sparsity == Sparsity::ascending ? 6u : 12u);
  EXPECT_TRUE(rows_differ);
}

TEST_P(SparseTiles, OfAnyMetadataEachResultKeepsItsPlace) {
  for (const std::size_t m : {std::size_t{1}, std::size_t{16}}) {
    const Tiles sparse = random_tiles(in_, 3, m, 5);
    const Tiles dense = gather(sparse);
    EXPECT_EQ(dense.sparse_group, 0);
    EXPECT_EQ(dense.m, 1u);
    EXPECT_EQ(dense.count, 3 * m);
    EXPECT_EQ(dense.k, static_cast<std::size_t>(in_.products()));
    EXPECT_EQ(dense.a, sparse.a);
    EXPECT_EQ(dense.c, sparse.c);
    EXPECT_EQ(dense.d, sparse.d);
    for (std::size_t i = 0; i < sparse.size(); ++i) ASSERT_EQ(problem_at(sparse, i), problem_at(dense, i));
  }
}

TEST_P(SparseTiles, AnIllegalGroupIsFound) {
  const Tiles tiles = make_operands(in_, 2, 3, 1);
  EXPECT_EQ(first_illegal_group(in_, tiles.e), tiles.e.size());
  const auto stored = static_cast<std::size_t>(group_of(in_).stored());
  for (std::size_t i = 0; i < tiles.e.size(); ++i) {
    Codes beyond = tiles.e;
    beyond.set(i, static_cast<std::uint64_t>(group_of(in_).size));
    EXPECT_EQ(first_illegal_group(in_, beyond), i / stored * stored);
    if (stored == 1) continue;
    Codes twice = tiles.e;
    twice.set(i, tiles.e[i ^ 1]);
    EXPECT_EQ(first_illegal_group(in_, twice), i / stored * stored);
  }
}

INSTANTIATE_TEST_SUITE_P(Instructions, SparseTiles, testing::ValuesIn(kInstructions));

/// Sparse hardware: a datapath of the stored elements, behind what the metadata selects; and what may be wrong with it.
class SimulatedSparse final : public Oracle {
 public:
  using Flaw = std::function<void(Tiles&)>;
  SimulatedSparse(const Datapath& datapath, Flaw flaw) : emulator_(datapath), flaw_(std::move(flaw)) {}

  void answer(Tiles& tiles) override {
    if (tiles.sparse_group == 0) throw std::logic_error("not sparse");
    Tiles given = tiles;
    if (flaw_) flaw_(given);
    Tiles dense = gather(std::move(given));
    emulator_.run(dense, 1);
    tiles.d = dense.d;
  }
  OracleKind kind() const override { return OracleKind::datapath; }
  std::string device() const override { return "simulated"; }

 private:
  Emulator emulator_;
  Flaw flaw_;
};

class SparseFit : public testing::TestWithParam<const char*> {
 protected:
  const Instruction& in_ = *find_instruction(GetParam());
  const Space space_{in_};

  Choice hidden() const {
    std::mt19937_64 random(5);
    return space_.canonical(draw(space_, random));
  }
  std::unique_ptr<Oracle> oracle(const Choice& choice, SimulatedSparse::Flaw flaw = {}) const {
    return make_scattering_oracle(in_, std::make_unique<SimulatedSparse>(space_.datapath(choice), std::move(flaw)));
  }
  static FitOptions quick_options() {
    FitOptions options;
    options.search_tiles = 60;
    options.tiles_per_distribution = 8;
    return options;
  }
};

TEST_P(SparseFit, TheHiddenDatapathIsIdentifiedAndSoItIsFromTheRecord) {
  const Choice choice = hidden();
  const auto hardware = oracle(choice);
  Fit live(in_, hardware.get(), quick_options());
  const FitResult result = live.run();
  EXPECT_EQ(result.verdict, Verdict::identified);
  EXPECT_EQ(result.choice, choice);
  EXPECT_EQ(result.datapath.tree.k, in_.k / 2);

  const Tiles record = scatter(in_, live.evidence().all());
  SimulatedSparse again(space_.datapath(choice), {});
  Tiles answered = record;
  again.answer(answered);
  EXPECT_EQ(answered.d, record.d);
  Fit recorded(in_, nullptr, quick_options());
  recorded.add_recorded(gather(record));
  const FitResult replayed = recorded.run();
  EXPECT_EQ(replayed.verdict, Verdict::identified);
  EXPECT_EQ(replayed.choice, choice);
}

TEST_P(SparseFit, ResultsThatDependOnWhatMustNotMatterAreRefused) {
  const auto refusal = [&](SimulatedSparse::Flaw flaw) -> std::string {
    Tiles tiles = make_random_tiles(in_, Distribution::narrow, 1, 0, 4, 8, 8);
    try {
      oracle(hidden(), std::move(flaw))->answer(tiles);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({}), "");
  // The first stored element is always multiplied with the first element of B.
  const std::string selection = refusal([](Tiles& tiles) {
    const auto stored = static_cast<std::size_t>(tiles.sparse_group) / 2;
    for (std::size_t i = 0; i < tiles.e.size(); i += stored) tiles.e.set(i, 0);
  });
  EXPECT_NE(selection.find(in_.name() + ": a result depends on "), std::string::npos) << selection;
  EXPECT_EQ(selection.find('\n'), std::string::npos);
  // Positions are right but for one in sixteen.
  const std::string one = refusal([](Tiles& tiles) {
    for (std::size_t i = 3; i < tiles.e.size(); i += 16) tiles.e.set(i, tiles.e[i] ^ 1);
  });
  EXPECT_NE(one.find("a result depends on "), std::string::npos) << one;
}

INSTANTIATE_TEST_SUITE_P(Instructions, SparseFit,
                         testing::Values("mma.sp::ordered_metadata.m16n8k16.f32.f16.f16.f32",
                                         "mma.sp.m16n8k32.s32.s8.u8.s32"));

TEST(SparseTiles, EmulatorsTakeDenseTilesOnly) {
  const Instruction& in = *find_instruction("mma.sp.m16n8k32.s32.s8.u8.s32");
  const Space space(in);
  std::mt19937_64 random(5);
  Tiles tiles = make_operands(in, 1, 1, 1);
  EXPECT_THROW(Emulator(space.datapath(draw(space, random))).run(tiles, 1), InputError);
  EXPECT_THROW(scatter(in, make_operands(in, 1, 1, 1)), std::logic_error);
}

/// By the definition: each product is negated once for each operand that is.
TEST(DotProblems, AreWhatTheModifiersMakeThem) {
  for (const char* name : {"wgmma.m64n8k32.f32.e4m3.e5m2", "wgmma.sp.m64n8k16.f32.tf32.tf32"}) {
    const Instruction& in = *find_instruction(name);
    const Tiles given = in.sparse() ? random_tiles(in, 2, 4, 8) : random_dense(in, 2, 4, 8);
    const Tiles plain = dot_problems(given, {});
    expect_same(plain, gather(given));
    const Tiles changed = dot_problems(given, {{"scale_a", "-1"}, {"scale_b", "1"}, {"scale_d", "0"}});
    const std::uint64_t sign = std::uint64_t{1} << (format(in.a).storage_bits - 1);
    for (std::size_t i = 0; i < plain.a.size(); ++i) ASSERT_EQ(changed.a[i], plain.a[i] ^ sign);
    EXPECT_EQ(changed.b, plain.b);
    for (std::size_t i = 0; i < plain.c.size(); ++i) ASSERT_EQ(changed.c[i], 0u);
    const Tiles other = dot_problems(given, {{"scale_b", "-1"}});
    EXPECT_EQ(other.a, plain.a);
    EXPECT_EQ(other.c, plain.c);
    for (std::size_t i = 0; i < plain.b.size(); ++i) ASSERT_EQ(other.b[i], plain.b[i] ^ sign);
  }
}

}  // namespace
}  // namespace tcnum::sparse_tiles_test
