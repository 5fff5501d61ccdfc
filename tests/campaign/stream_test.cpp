// Streams: the same on a GPU as on a CPU, whatever the part; exhaustive where they say so; and able to refute what is
// wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/campaign/verifier.hpp"
#include "src/questions/packing.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"

namespace tcnum::stream_test {
namespace {

const Instruction& instruction(const char* name) { return *find_instruction(name); }

const std::vector<const char*> kScaled = {"mma.m16n8k32.mxf8f6f4.1x.f32.e4m3.e5m2.f32.ue8m0",
                                          "mma.m16n8k64.mxf4.2x.f32.e2m1.e2m1.f32.ue8m0",
                                          "mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3",
                                          "mma.sp::ordered_metadata.m16n8k128.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3"};

TEST(Stream, APartIsThePartOfTheWhole) {
  std::vector<const char*> names = kScaled;
  names.push_back("mma.m16n8k16.f32.f16.f16.f32");
  for (const char* each : names) {
    const Instruction& in = instruction(each);
    for (const Distribution distribution : kAllRandom) {
      const Tiles whole = make_stream_tiles(in, distribution, 3, 0, 4),
                  part = make_stream_tiles(in, distribution, 3, 2, 1);
      for (Codes Tiles::*const codes : {&Tiles::a, &Tiles::b, &Tiles::c, &Tiles::sa, &Tiles::sb}) {
        const std::size_t size = (part.*codes).size();
        ASSERT_EQ((whole.*codes).size(), 4 * size);
        for (std::size_t i = 0; i < size; ++i) ASSERT_EQ((part.*codes)[i], (whole.*codes)[2 * size + i]);
      }
      EXPECT_EQ(part.sa.size(), part.m * static_cast<std::size_t>(in.scale_blocks()));
      EXPECT_EQ(part.sb.size(), part.n * static_cast<std::size_t>(in.scale_blocks()));
      EXPECT_NE(make_stream_tiles(in, distribution, 4, 2, 1).a, part.a) << name(distribution);
    }
  }
}

TEST(Stream, OnlySpecialsAreNotFinite) {
  for (const char* each :
       {"mma.m16n8k8.f32.tf32.tf32.f32", "mma.m16n8k32.f16.e4m3.e5m2.f16", "mma.m8n8k4.f64.f64.f64.f64"}) {
    const Instruction& in = instruction(each);
    for (const Distribution distribution : kAllRandom) {
      const Tiles tiles = make_stream_tiles(in, distribution, 1, 0, 20);
      std::size_t others = 0;
      const auto count = [&](const Codes& codes, FormatId id) {
        for (std::size_t i = 0; i < codes.size(); ++i) others += decode(format(id), codes[i]).is_finite() ? 0 : 1;
      };
      count(tiles.a, in.a);
      count(tiles.b, in.b);
      count(tiles.c, in.c);
      EXPECT_EQ(others != 0, distribution == Distribution::specials) << in.name() << ' ' << name(distribution);
    }
  }
}

/// Sums of parts are the sum of the whole, and every result and every index counts.
TEST(Stream, DigestsAddUp) {
  const Instruction& in = instruction("mma.m16n8k8.f32.bf16.bf16.f32");
  const Datapath datapath = catalogue(ArchId::sm_90, in)[0].datapath;
  const auto verifier = make_cpu_stream_verifier(in, datapath, nullptr, 2);
  const auto digest_of = [&](std::uint64_t first, std::uint64_t count) {
    return verifier->verify(Distribution::wide, 5, first, count).digest;
  };
  EXPECT_EQ(digest_of(10, 23), digest_of(10, 4) + digest_of(14, 19));
  EXPECT_NE(digest_of(10, 1), digest_of(11, 1));
  Tiles tiles = make_stream_tiles(in, Distribution::wide, 5, 10, 1);
  Emulator(datapath).run(tiles);
  const std::uint64_t first = 10 * stream_shape(in).problems(), before = digest(tiles, first);
  EXPECT_EQ(before, digest_of(10, 1));
  EXPECT_NE(before, digest(tiles, first + 1));
  tiles.d.set(17, tiles.d[17] ^ 1);
  EXPECT_NE(before, digest(tiles, first));
}

TEST(Stream, SweepsHoldEveryProblemOnce) {
  const Instruction& in = instruction("mma.m16n8k16.f16.e4m3.e5m2.f16");
  constexpr std::uint64_t kSeed = 3 + 16 * 9;  // places 3 and 9
  const StreamShape shape = stream_shape(in);
  ASSERT_EQ(sweep_size(in, Distribution::product_pairs, kSeed), std::uint64_t{1} << 32);
  ASSERT_EQ(sweep_size(in, Distribution::product_and_accumulator, kSeed), std::uint64_t{1} << 32);
  EXPECT_FALSE(sweep_size(in, Distribution::operand_pairs, kSeed));
  EXPECT_FALSE(sweep_size(in, Distribution::product_pairs, 3 + 16 * 3)) << "one place twice";
  EXPECT_FALSE(sweep_size(in, Distribution::wide, kSeed));

  // The first tile of each row of tiles has all rows of A, the tiles of the first row all columns of B.
  const std::uint64_t across = 65536 / static_cast<std::uint64_t>(shape.n),
                      down = 65536 / static_cast<std::uint64_t>(shape.m);
  std::set<std::uint64_t> rows, columns;
  for (std::uint64_t i = 0; i < down; ++i) {
    const Tiles tiles = make_stream_tiles(in, Distribution::product_pairs, kSeed, i * across, 1);
    for (std::size_t r = 0; r < tiles.m; ++r)
      rows.insert(tiles.a[tiles.a_index(0, r, 3)] << 8 | tiles.a[tiles.a_index(0, r, 9)]);
    EXPECT_EQ(tiles.a[tiles.a_index(0, 5, 4)], 0u);
  }
  for (std::uint64_t j = 0; j < across; ++j) {
    const Tiles tiles = make_stream_tiles(in, Distribution::product_pairs, kSeed, j, 1);
    for (std::size_t c = 0; c < tiles.n; ++c)
      columns.insert(tiles.b[tiles.b_index(0, 3, c)] << 8 | tiles.b[tiles.b_index(0, 9, c)]);
  }
  EXPECT_EQ(rows.size(), 65536u);
  EXPECT_EQ(columns.size(), 65536u);

  const std::uint64_t last = (std::uint64_t{1} << 32) / shape.problems() - 1;
  EXPECT_EQ(make_stream_tiles(in, Distribution::product_and_accumulator, kSeed, last, 1).c[0], 0xffffu);

  const Instruction& half = instruction("mma.m16n8k8.f32.f16.f16.f32");
  EXPECT_EQ(sweep_size(half, Distribution::operand_pairs, 0), std::uint64_t{1} << 32);
  EXPECT_EQ(make_stream_tiles(half, Distribution::operand_pairs, 2 + 8 * std::uint64_t{0x3f800000}, 7, 1).c[9],
            0x3f800000u);
}

// --- Block scales.

TEST(ScaledStream, HasScalesFromEndToEnd) {
  for (const char* each : kScaled) {
    const Instruction& in = instruction(each);
    const Format& f = format(in.scales.format);
    std::set<std::uint64_t> all;
    for (const Distribution distribution : kAllRandom) {
      const Tiles tiles = make_stream_tiles(in, distribution, 1, 0, 20);
      std::size_t nans = 0;
      for (const Codes* codes : {&tiles.sa, &tiles.sb}) {
        for (std::size_t i = 0; i < codes->size(); ++i) {
          ASSERT_EQ((*codes)[i] & ~f.code_mask(), 0u);
          all.insert((*codes)[i]);
          nans += decode(f, (*codes)[i]).is_finite() ? 0 : 1;
        }
      }
      EXPECT_EQ(nans != 0, distribution == Distribution::specials) << each << ' ' << name(distribution);
    }
    EXPECT_EQ(all.size(), f.code_mask() + 1) << each;
  }
}

/// Some of the problems of many tiles of a stream.
Tiles problems_of_many_tiles(const Instruction& in, Distribution distribution, std::size_t count) {
  constexpr std::size_t kOfEach = 24;
  const StreamShape shape = stream_shape(in);
  std::vector<Problem> problems;
  for (std::size_t t = 0; t < count; ++t) {
    const Tiles tiles = make_stream_tiles(in, distribution, 1, t, 1);
    for (std::size_t i = 0; i < kOfEach; ++i)
      problems.push_back(problem_at(tiles, i * (static_cast<std::size_t>(shape.n) + 1)));
  }
  return tiles_of(in, problems.size(), 1, 1, [&](std::size_t i) { return problems[i]; });
}

struct ScaledChange {
  const char* what;
  Distribution shows_in;
  std::size_t tiles;
  std::function<void(Numerics&)> change;
};

/// How many results the change turns into others.
std::size_t results_changed(const Instruction& in, const ScaledChange& change) {
  Datapath changed = catalogue(ArchId::sm_120, in).at(0).datapath;
  const Emulator right(changed);
  change.change(changed.numerics);
  Tiles tiles = problems_of_many_tiles(in, change.shows_in, change.tiles), other = tiles;
  right.run(tiles);
  Emulator(changed).run(other);
  std::size_t differ = 0;
  for (std::size_t i = 0; i < tiles.d.size(); ++i) differ += tiles.d[i] != other.d[i] ? 1 : 0;
  return differ;
}

/// Streams whose scales did not meet would tell nothing.
TEST(ScaledStream, RefutesWhatDiffersInOneRule) {
  const auto each_sum = [](const std::function<void(Unit&)>& change) {
    return [change](Numerics& n) {
      for (Unit& unit : n.units) {
        if (unit.fraction_bits != kExact) change(unit);
      }
    };
  };
  const std::vector<ScaledChange> changes = {
      {"one bit less", Distribution::cancellation, 20, each_sum([](Unit& u) { --u.fraction_bits; })},
      {"one bit more", Distribution::cancellation, 20, each_sum([](Unit& u) { ++u.fraction_bits; })},
      {"another cut", Distribution::sparse, 20, each_sum([](Unit& u) { u.align_rounding = Rounding::down; })},
      {"a higher floor", Distribution::edges, 250, each_sum([](Unit& u) { ++u.zero_exponent.value; })},
      {"a lower floor", Distribution::edges, 250, each_sum([](Unit& u) { --u.zero_exponent.value; })},
      {"another rounding", Distribution::narrow, 20,
       each_sum([](Unit& u) { u.result.step[0].rounding = Rounding::nearest_even; })},
      {"another NaN", Distribution::specials, 20, [](Numerics& n) { n.nan.code ^= 1; }},
  };
  for (const char* each : kScaled) {
    const Instruction& in = instruction(each);
    if (in.sparse()) continue;  // whose datapath nobody has published
    // Of ue4m3, the smallest products are far above the floor.
    const bool reach_floor = in.scales.format == FormatId::ue8m0;
    for (const ScaledChange& change : changes) {
      if (change.shows_in == Distribution::edges && !reach_floor) continue;
      EXPECT_GT(results_changed(in, change), 0u) << each << ": " << change.what;
    }
  }
  const ScaledChange by_value = {"aligned by the sums", Distribution::cancellation, 20, [](Numerics& n) {
                                   for (Unit& u : n.units) u.scale_exponents_alone = false;
                                 }};
  EXPECT_GT(results_changed(instruction(kScaled[2]), by_value), 0u);
}

class StreamsOnGpu : public testing::TestWithParam<const Instruction*> {};

/// The digest of what the instruction gives for operands made on the GPU is that of what the CPU's emulator gives for
/// operands made on the CPU; and the CUDA emulator sees no mismatch.
TEST_P(StreamsOnGpu, AreThoseOfTheCpu) {
  const Instruction& in = *GetParam();
  const GpuInfo gpu = gpu_info();
  if (!gpu.present) GTEST_SKIP() << gpu.why_not;
  const auto arch = find_arch(gpu.arch);
  if (!arch || !in.archs.contains(*arch)) GTEST_SKIP() << gpu.arch << " does not have this instruction";
  const auto entries = catalogue(*arch, in);
  if (entries.empty()) GTEST_SKIP() << "the catalogue has no datapath of it";
  const Datapath& datapath = entries[0].datapath;
  std::unique_ptr<StreamVerifier> on_gpu;
  try {
    on_gpu = make_gpu_stream_verifier(in, datapath);
  } catch (const UnavailableError& error) {  // a wgmma of a width that was not built
    GTEST_SKIP() << error.what();
  }
  const auto on_cpu = make_cpu_stream_verifier(in, datapath, nullptr, 4);
  for (std::size_t i = 0; i < kDistributions; ++i) {
    const auto distribution = static_cast<Distribution>(i);
    constexpr std::uint64_t kSeed = 1;  // of sweeps: places 1 and 0
    if (is_sweep(distribution) && !sweep_size(in, distribution, kSeed)) continue;
    const StreamOutcome gpu_outcome = on_gpu->verify(distribution, kSeed, 1000, 3);
    const StreamOutcome cpu_outcome = on_cpu->verify(distribution, kSeed, 1000, 3);
    EXPECT_EQ(gpu_outcome.mismatches, 0u) << name(distribution);
    EXPECT_EQ(gpu_outcome.digest, cpu_outcome.digest) << name(distribution);
  }
}

/// A datapath that differs in one rule is refuted, by problems of which the CPU says the same.
TEST(StreamsOnOneGpu, AWrongDatapathIsRefuted) {
  const GpuInfo gpu = gpu_info();
  const Instruction& in = instruction("mma.m16n8k16.f32.f16.f16.f32");
  if (!gpu.present) GTEST_SKIP() << gpu.why_not;
  Datapath datapath = catalogue(ArchId::sm_90, in)[0].datapath;
  datapath.numerics.units[0].fraction_bits -= 1;
  const StreamOutcome outcome = make_gpu_stream_verifier(in, datapath)->verify(Distribution::narrow, 1, 0, 5);
  ASSERT_GT(outcome.mismatches, 0u);
  ASSERT_FALSE(outcome.examples.empty());
  Tiles tiles = make_stream_tiles(in, Distribution::narrow, 1, 0, 5), wrong = tiles;
  Emulator(catalogue(ArchId::sm_90, in)[0].datapath).run(tiles);
  Emulator(datapath).run(wrong);
  std::uint64_t mismatches = 0;
  for (std::size_t i = 0; i < tiles.d.size(); ++i) mismatches += tiles.d[i] != wrong.d[i] ? 1 : 0;
  EXPECT_EQ(outcome.mismatches, mismatches);
  for (const std::uint64_t index : outcome.examples) EXPECT_NE(tiles.d[index], wrong.d[index]);
}

std::vector<const Instruction*> all_of_a_gpu() {
  std::vector<const Instruction*> all = instructions_of(ArchId::sm_90);
  // And widths that do, or do not, go into 64 columns.
  for (const char* each :
       {"wgmma.m64n16k16.f32.bf16.bf16", "wgmma.m64n64k32.f16.e4m3.e4m3", "wgmma.m64n256k16.f32.f16.f16"}) {
    all.push_back(&instruction(each));
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Hopper, StreamsOnGpu, testing::ValuesIn(all_of_a_gpu()), [](const auto& test) {
  std::string text = test.param->name();
  std::ranges::replace_if(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return text;
});

}  // namespace
}  // namespace tcnum::stream_test
