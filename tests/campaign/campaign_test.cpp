// The emulator against what is remembered of hardware's results by the trillion: a chunk of each record that a core
// does in a fraction of a second, for every instruction that was recorded.
// Labels: long parts=4
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/campaign/record.hpp"
#include "src/campaign/verifier.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum::campaign_test {
namespace {

constexpr std::uint64_t kSmall = 1u << 17;

struct Recorded {
  ArchId arch;
  std::string instruction;
  std::vector<CampaignRecord> records;
};

std::vector<Recorded> all_recorded() {
  std::vector<Recorded> all;
  for (const Arch& each : kArchs) {
    const auto path = std::filesystem::path(TCNUM_SOURCE_DIR) / "vectors" / each.name / "campaigns.json";
    if (!std::filesystem::exists(path)) continue;
    std::map<std::string, Recorded> by_name;
    for (CampaignRecord& r : read_campaigns(path.string())) {
      Recorded& to = by_name.try_emplace(r.instruction, Recorded{each.id, r.instruction, {}}).first->second;
      to.records.push_back(std::move(r));
    }
    for (auto& [name, recorded] : by_name) all.push_back(std::move(recorded));
  }
  return all;
}

constexpr int kShards = 8;  // few programs: each reads all records

class Campaigns : public testing::TestWithParam<int> {};

TEST_P(Campaigns, TheCatalogueGivesTheHardwaresDigests) {
  const std::vector<Recorded> all = all_recorded();
  for (std::size_t i = static_cast<std::size_t>(GetParam()); i < all.size(); i += kShards) {
    const auto& [arch, instruction, records] = all[i];
    SCOPED_TRACE(instruction);
    const Instruction& in = *find_instruction(instruction);
    const auto entries = catalogue(arch, in);
    ASSERT_FALSE(entries.empty());
    const auto verifier = make_cpu_stream_verifier(in, entries[0].datapath, nullptr, 1);
    const std::uint64_t tile = stream_shape(in).problems();
    std::size_t checked = 0;
    std::map<std::array<std::uint64_t, 4>, std::uint64_t> emulated;  // several devices may have done the same
    for (const CampaignRecord& r : records) {
      if (r.chunk > kSmall) continue;
      // Another chunk for each distribution.
      const std::uint64_t number = static_cast<std::uint64_t>(r.distribution) % r.digests.size();
      const std::uint64_t first = number * r.chunk, count = std::min(r.chunk, r.count - first);
      const auto [digest, is_new] =
          emulated.try_emplace({static_cast<std::uint64_t>(r.distribution), r.seed, r.first + first, count});
      if (is_new) {
        digest->second = verifier->verify(r.distribution, r.seed, (r.first + first) / tile, count / tile).digest;
      }
      EXPECT_EQ(digest->second, r.digests[number])
          << name(r.distribution) << ", chunk " << number << " on " << r.device;
      ++checked;
    }
    EXPECT_GE(checked, kRandomDistributions);
  }
}

/// How many problems are claimed to have been compared, at least.
double claimed(const Instruction& in) { return format(in.d).floating ? 1e11 : 1e9; }

/// Of architectures that have any: of every instruction, and of every N of a wgmma.
TEST(CampaignRecords, AreOfManyProblemsOfEveryInstruction) {
  std::map<ArchId, std::map<std::string, std::uint64_t>> counts;
  for (const Recorded& each : all_recorded()) {
    for (const CampaignRecord& r : each.records) counts[each.arch][each.instruction] += r.count;
  }
  ASSERT_FALSE(counts.empty());
  for (const auto& [arch, of_instructions] : counts) {
    for (const Instruction& in : instructions()) {
      if (!in.archs.contains(arch)) continue;
      const auto found = of_instructions.find(in.name());
      const double count = found == of_instructions.end() ? 0.0 : static_cast<double>(found->second);
      EXPECT_GE(count, claimed(in)) << in.name();
    }
  }
}

/// Hopper is two dies, H100's and H200's: where both did the same problems, they gave the same results.
TEST(CampaignRecords, OfSeveralDevicesAgree) {
  using Stream = std::tuple<ArchId, std::string, Distribution, std::uint64_t, std::uint64_t>;
  std::map<Stream, std::vector<CampaignRecord>> by_stream;
  for (const Recorded& each : all_recorded()) {
    for (const CampaignRecord& r : each.records) {
      by_stream[{each.arch, r.instruction, r.distribution, r.seed, r.first}].push_back(r);
    }
  }
  std::map<ArchId, std::set<std::string>> compared;
  for (const auto& [stream, records] : by_stream) {
    const CampaignRecord& one = records.front();
    for (const CampaignRecord& other : records) {
      if (other.device == one.device || other.chunk != one.chunk || other.count != one.count) continue;
      EXPECT_EQ(other.digests, one.digests)
          << one.instruction << ", " << name(one.distribution) << ": " << one.device << ", " << other.device;
      compared[std::get<0>(stream)].insert(one.instruction);
    }
  }
  const auto of_hopper =
      std::ranges::count_if(instructions(), [](const Instruction& in) { return in.archs.contains(ArchId::sm_90); });
  EXPECT_EQ(static_cast<std::ptrdiff_t>(compared[ArchId::sm_90].size()), of_hopper);
}

INSTANTIATE_TEST_SUITE_P(Recorded, Campaigns, testing::Range(0, kShards));

}  // namespace
}  // namespace tcnum::campaign_test
