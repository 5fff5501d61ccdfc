// Campaigns on several ranks, which are threads here: rank 0 has in the end what one process has. The thread sanitizer
// watches these (`./run test --all`).
// Labels: threads sanitized
#include "src/campaign/on_ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <deque>
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/oracles/datapath_oracle.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

/// What all ranks of a job share.
struct PostOffice {
  explicit PostOffice(int ranks) : all(ranks) {}

  std::mutex mutex;
  std::deque<Message> received;  ///< by rank 0
  std::promise<std::string> told;
  std::shared_future<std::string> heard = told.get_future();
  std::barrier<> all;
};

class ThreadRank final : public Ranks {
 public:
  ThreadRank(PostOffice& office, int rank, int size) : office_(office), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return rank_; }
  int local_size() const override { return size_; }
  std::string broadcast(std::string text) override {
    if (rank_ == 0) office_.told.set_value(std::move(text));
    return office_.heard.get();
  }
  void send(const std::string& text) override {
    const std::lock_guard lock(office_.mutex);
    office_.received.push_back({rank_, text});
  }
  std::optional<Message> receive() override {
    const std::lock_guard lock(office_.mutex);
    if (office_.received.empty()) return std::nullopt;
    Message message = std::move(office_.received.front());
    office_.received.pop_front();
    return message;
  }
  void finish() override { office_.all.arrive_and_wait(); }
  void abort_unfinished(int /*status*/) override {}

 private:
  PostOffice& office_;
  int rank_, size_;
};

const Instruction& instruction() { return *find_instruction("mma.m16n8k16.f32.f16.f16.f32"); }

Campaign campaign(std::uint64_t seed = 1) {
  CampaignPlan request;
  request.instructions = {&instruction()};
  request.distributions = {Distribution::narrow, Distribution::cancellation, Distribution::edges};
  request.count = 3 << 15;
  request.chunk = 1 << 12;
  request.seed = seed;
  Campaign made(plan(request));
  made.set_identity({{"version", "1"}});
  return made;
}

/// Of a datapath with one bit fewer than it should have, so that there are disagreements.
std::unique_ptr<StreamVerifier> verifier_of(const Instruction& in) {
  const Datapath right = catalogue(ArchId::sm_90, in).at(0).datapath;
  Datapath wrong = right;
  wrong.numerics.units[0].fraction_bits -= 1;
  return make_cpu_stream_verifier(in, wrong, std::make_unique<DatapathOracle>(right, in, "datapath", 1), 1);
}

/// Distribution and first tile of a chunk.
using Place = std::pair<Distribution, std::uint64_t>;
using Before = std::function<void(const Place&)>;

/// A verifier that calls something before each chunk.
class Watched final : public StreamVerifier {
 public:
  Watched(std::unique_ptr<StreamVerifier> verifier, Before before)
      : verifier_(std::move(verifier)), before_(std::move(before)) {}
  StreamOutcome verify(Distribution distribution, std::uint64_t seed, std::uint64_t first_tile,
                       std::uint64_t count) override {
    before_({distribution, first_tile});
    return verifier_->verify(distribution, seed, first_tile, count);
  }
  OracleKind kind() const override { return verifier_->kind(); }
  std::string device() const override { return verifier_->device(); }
  std::map<std::string, std::string> provenance() const override { return verifier_->provenance(); }

 private:
  std::unique_ptr<StreamVerifier> verifier_;
  Before before_;
};

MakeVerifier watched(const Before& before) {
  return [=](const Instruction& in, std::size_t) { return std::make_unique<Watched>(verifier_of(in), before); };
}
const MakeVerifier kVerifiers = [](const Instruction& in, std::size_t) { return verifier_of(in); };

/// A job: what each rank verifies with, and what came of it.
class OnRanks : public testing::Test {
 protected:
  static constexpr int kRanks = 4;

  OnRanks() { makes.fill(kVerifiers); }

  /// Other ranks than 0 are threads.
  void run_job() {
    std::vector<std::jthread> others;
    for (int r = 1; r < kRanks; ++r) {
      others.emplace_back([this, r] {
        ThreadRank rank(office, r, kRanks);
        Campaign own = campaign(r == stranger ? 2 : 1);
        const auto checkpoint = rank.broadcast("");
        try {
          join_campaign(own, rank, checkpoint, makes[static_cast<std::size_t>(r)], 2, never);
        } catch (const std::exception& error) {
          failures[static_cast<std::size_t>(r)] = error.what();
          office.all.arrive_and_drop();
          if (at_failure) at_failure(r);
        }
      });
    }
    ThreadRank rank(office, 0, kRanks);
    try {
      lead_campaign(done, rank, makes[0], 1, stop, {[&] { ++chunks; }, [&] { ++waits; }});
    } catch (const std::exception& error) {
      failures[0] = error.what();
    }
    if (at_end) at_end();
  }

  void expect_all_is_done() {
    Campaign alone = campaign();
    alone.run(kVerifiers, 1, never, [] {});
    EXPECT_TRUE(done.unfinished().empty());
    EXPECT_EQ(done.checkpoint(), alone.checkpoint());
    EXPECT_FALSE(alone.disagreements().empty());
    for (const std::string& failure : failures) EXPECT_EQ(failure, "");
  }

  PostOffice office{kRanks};
  std::array<MakeVerifier, kRanks> makes;
  Campaign done = campaign();
  const std::atomic<bool> never = false;
  std::atomic<bool> stop = false;
  int stranger = 0;  ///< a rank whose campaign is another one
  std::function<void()> at_end;
  std::function<void(int rank)> at_failure;
  std::array<std::string, kRanks> failures;
  std::atomic<std::size_t> chunks = 0, waits = 0;
};

TEST_F(OnRanks, DoWhatOneProcessDoes) {
  std::array<std::atomic<std::size_t>, kRanks> counts = {};
  for (std::size_t r = 0; r < kRanks; ++r) makes[r] = watched([&counts, r](const Place&) { ++counts[r]; });
  run_job();
  expect_all_is_done();
  EXPECT_EQ(chunks, 24u);
  for (const auto& count : counts) EXPECT_EQ(count, 6u);
}

/// A checkpoint of any number of ranks goes on with any other, and the rest is shared out.
TEST_F(OnRanks, DoWhatACheckpointLacks) {
  Campaign before = campaign();
  std::atomic<bool> enough = false;
  before.run(kVerifiers, 1, enough, [&] { enough = before.unfinished().size() == 5; });
  done.resume_from_text(before.checkpoint(), "before");
  run_job();
  expect_all_is_done();
  EXPECT_EQ(chunks, 5u);
}

/// Another program, other files or another kind of GPU would give other answers. The job ends with the rank that
/// throws.
TEST_F(OnRanks, ARankOfAnotherCampaignThrows) {
  stranger = 3;
  std::latch thrown(1);
  makes[0] = watched([&](const Place&) { thrown.wait(); });
  at_failure = [&](int) {
    stop = true;
    thrown.count_down();
  };
  at_end = [&] { office.all.arrive_and_drop(); };
  run_job();
  EXPECT_TRUE(failures[3].starts_with("rank 0: campaign.streams[0]: is of another run")) << failures[3];
}

/// Rank 0 ends after its chunk at hand, and waits for no other rank.
TEST_F(OnRanks, StopAfterTheChunksAtHand) {
  std::latch stopped(1);
  makes[0] = watched([&](const Place&) { stop = true; });
  for (std::size_t r = 1; r < kRanks; ++r) makes[r] = watched([&](const Place&) { stopped.wait(); });
  at_end = [&] {
    stopped.count_down();
    office.all.arrive_and_drop();
  };
  run_job();
  EXPECT_EQ(chunks, 1u);
  EXPECT_EQ(done.unfinished().size(), 23u);
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

TEST_F(OnRanks, AFailureOfRank0DoesNotWaitForOthers) {
  std::latch failed(1);
  makes[0] = [](const Instruction&, std::size_t) -> std::unique_ptr<StreamVerifier> { throw InputError("wrong"); };
  for (std::size_t r = 1; r < kRanks; ++r) makes[r] = watched([&](const Place&) { failed.wait(); });
  at_end = [&] {
    failed.count_down();
    office.all.arrive_and_drop();
  };
  run_job();
  EXPECT_EQ(failures[0], "wrong");
}

/// Whoever finds them, in whatever order: the first 16 of an instruction, as its streams have them.
TEST(Campaigns, TheFirstDisagreementsAreKept) {
  Campaign forth = campaign(), back = campaign();
  std::vector<ChunkNumber> all = forth.unfinished();
  const auto outcome = [&](const ChunkNumber& number) {
    const std::uint64_t first = forth.tasks()[number.stream].first_of(number.chunk);
    return StreamOutcome{0, 3, {first, first + 7, first + 9}};
  };
  for (const ChunkNumber& number : all) forth.finish(number, outcome(number));
  std::ranges::reverse(all);
  for (const ChunkNumber& number : all) back.finish(number, outcome(number));
  EXPECT_EQ(forth.disagreements(), back.disagreements());
  ASSERT_EQ(forth.disagreements().size(), 16u);
  EXPECT_EQ(forth.disagreements().back().index, 5u * 4096);
}

}  // namespace
}  // namespace tcnum
