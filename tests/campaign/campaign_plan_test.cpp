// Campaigns cut into shards, and records put together.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <algorithm>
#include <limits>
#include <vector>

#include "src/campaign/campaign.hpp"
#include "src/campaign/record.hpp"

namespace tcnum::campaign_plan_test {
namespace {

constexpr const char* kInstruction = "mma.m16n8k16.f32.f16.f16.f32";

CampaignPlan plan_of(std::uint64_t count, std::uint64_t shard, std::uint64_t shards) {
  CampaignPlan plan;
  plan.instructions = {find_instruction(kInstruction)};
  plan.distributions = {Distribution::wide};
  plan.count = count;
  plan.chunk = 1;
  plan.shard = shard;
  plan.shards = shards;
  return plan;
}

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

RC_GTEST_PROP(Plan, ShardsAreThePartsOfTheWhole, ()) {
  const auto tiles = *rc::gen::inRange<std::uint64_t>(1, 40), shards = *rc::gen::inRange<std::uint64_t>(1, 100);
  const std::uint64_t problems = stream_shape(*find_instruction(kInstruction)).problems();
  std::uint64_t end = 0;
  for (std::uint64_t shard = 1; shard <= shards; ++shard) {
    const std::vector<StreamTask> tasks = plan(plan_of(tiles * problems, shard, shards));
    RC_ASSERT(tasks.size() <= 1);
    if (tasks.empty()) continue;
    RC_ASSERT(tasks[0].first == end);
    end += tasks[0].count;
    // As even as whole chunks can be.
    RC_ASSERT(tasks[0].chunks.size() * shards < tiles + shards);
  }
  RC_ASSERT(end == tiles * problems);
}

TEST(Plan, ManyShardsAreExact) {
  // Of 2^64 - 1 shards, with fewer chunks, each chunk is in the one that ends just after it begins to be due.
  const std::uint64_t problems = stream_shape(*find_instruction(kInstruction)).problems();
  EXPECT_TRUE(plan(plan_of(3 * problems, 1, kMost)).empty());
  EXPECT_TRUE(plan(plan_of(3 * problems, kMost - 1, kMost)).empty());
  for (const std::uint64_t chunk : {1u, 2u, 3u}) {
    const std::vector<StreamTask> tasks = plan(plan_of(3 * problems, kMost / 3 * chunk, kMost));
    ASSERT_EQ(tasks.size(), 1u) << chunk;
    EXPECT_EQ(tasks[0].first, (chunk - 1) * problems);
    EXPECT_EQ(tasks[0].count, problems);
  }
  // 1e15 problems, one to a chunk as far as tiles allow: no product of chunks and shards fits into 64 bits.
  EXPECT_EQ(plan(plan_of(1'000'000'000'000'000, kMost, kMost)).size(), 1u);
}

CampaignRecord record(std::uint64_t count, std::vector<std::uint64_t> digests, std::uint64_t chunk = 4096) {
  return {kInstruction, Distribution::wide, 1, 0, count, chunk, std::move(digests), "a GPU", "1", "13", "2026-01-01"};
}

TEST(Records, TheLongerOneStays) {
  std::vector<CampaignRecord> all;
  EXPECT_TRUE(add_record(all, record(8192, {5, 6})));
  EXPECT_TRUE(add_record(all, record(4096, {5})));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].count, 8192u);
  EXPECT_TRUE(add_record(all, record(12288, {5, 6, 7})));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].count, 12288u);
  // The last chunk of the shorter one is of fewer problems, so that its digest is none of the longer one's.
  EXPECT_TRUE(add_record(all, record(4096 + 64, {5, 1})));
  EXPECT_EQ(all.size(), 1u);
  // As many in other chunks: the sums are the same, and the new one stays.
  EXPECT_TRUE(add_record(all, record(12288, {18}, 12288)));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].chunk, 12288u);
}

TEST(Records, OfOtherProblemsOrDevicesStandBesideEachOther) {
  std::vector<CampaignRecord> all;
  EXPECT_TRUE(add_record(all, record(8192, {5, 6})));
  CampaignRecord other = record(8192, {7, 8});
  other.seed = 2;
  EXPECT_TRUE(add_record(all, other));
  other.device = "another GPU";
  EXPECT_TRUE(add_record(all, other));
  other.first = 8192;
  EXPECT_TRUE(add_record(all, other));
  other.distribution = Distribution::narrow;
  EXPECT_TRUE(add_record(all, other));
  EXPECT_EQ(all.size(), 5u);
}

TEST(Records, ThatContradictEachOtherAreBothKept) {
  std::vector<CampaignRecord> all;
  EXPECT_TRUE(add_record(all, record(8192, {5, 6})));
  EXPECT_FALSE(add_record(all, record(8192, {5, 7})));
  EXPECT_EQ(all.size(), 2u);
  EXPECT_FALSE(add_record(all, record(8192, {12}, 8192)));  // 5 + 7, as the second has it
  EXPECT_EQ(all.size(), 2u);
  EXPECT_FALSE(add_record(all, record(8192, {13}, 8192)));
  EXPECT_EQ(all.size(), 3u);
  EXPECT_FALSE(add_record(all, record(4096, {4})));
  EXPECT_EQ(all.size(), 4u);
  EXPECT_FALSE(add_record(all, record(12288, {5, 6, 7})));
  EXPECT_EQ(all.size(), 4u) << "in place of the first alone";
}

}  // namespace
}  // namespace tcnum::campaign_plan_test
