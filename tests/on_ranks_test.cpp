// Campaigns on several ranks, which are threads here: whatever becomes of them, what rank 0 has in the end is what one
// process has. The thread sanitizer watches these (`./run test --all`).
#include "src/campaign/on_ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <latch>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
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
  explicit PostOffice(int ranks) : received(static_cast<std::size_t>(ranks)) {}

  void set_silent(int rank) {
    const std::lock_guard lock(mutex);
    silent.insert(rank);
    changed.notify_all();
  }
  void wait_for_silent(std::size_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return silent.size() >= count; });
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::deque<Message>> received;
  std::set<int> silent;
};

class ThreadRank final : public Ranks {
 public:
  ThreadRank(PostOffice& office, int rank) : office_(office), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(office_.received.size()); }
  int local_rank() const override { return rank_; }
  int local_size() const override { return size(); }
  bool outlive_each_other() const override { return true; }
  void send(int to, std::string text) override {
    const std::lock_guard lock(office_.mutex);
    office_.received[static_cast<std::size_t>(to)].push_back({rank_, std::move(text)});
    office_.changed.notify_all();
  }
  std::optional<Message> receive(std::chrono::milliseconds patience) override {
    std::unique_lock lock(office_.mutex);
    auto& own = office_.received[static_cast<std::size_t>(rank_)];
    if (!office_.changed.wait_for(lock, patience, [&] { return !own.empty(); })) return std::nullopt;
    Message message = std::move(own.front());
    own.pop_front();
    return message;
  }
  bool is_silent(int rank) const override {
    const std::lock_guard lock(office_.mutex);
    return office_.silent.contains(rank);
  }
  void leave(bool /*together*/) override {}

 private:
  PostOffice& office_;
  int rank_;
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

Campaign::MakeVerifier watched(const Before& before) {
  return [=](const Instruction& in, std::size_t) { return std::make_unique<Watched>(verifier_of(in), before); };
}
const Campaign::MakeVerifier kVerifiers = [](const Instruction& in, std::size_t) { return verifier_of(in); };

/// A job: what each rank verifies with, and what came of it.
class OnRanks : public testing::Test {
 protected:
  static constexpr int kRanks = 4, kStatus = 1;

  OnRanks() { makes.fill(kVerifiers); }

  /// The ranks but 0 are threads; each is sent home.
  void run_job() {
    std::vector<std::jthread> others;
    for (int r = 1; r < kRanks; ++r) {
      others.emplace_back([this, r] {
        ThreadRank ranks(office, r);
        statuses[static_cast<std::size_t>(r)] = work_for_rank_0(theirs, ranks, makes[static_cast<std::size_t>(r)], 2,
                                                                sent_home[static_cast<std::size_t>(r)]);
      });
    }
    ThreadRank ranks(office, 0);
    {
      CampaignOnRanks job(done, ranks, makes[0], 1);
      try {
        job.run(stop, {[&] { ++chunks; },
                       [&](const std::string& what) {
                         lost.push_back(what);
                         if (on_lost) on_lost();
                       }});
      } catch (const std::exception& error) {
        failure = error.what();
      }
      if (at_end) at_end();
    }
    dismiss(ranks, kStatus);
  }

  void expect_all_is_done() {
    const std::atomic<bool> go_on = false;
    Campaign alone = campaign();
    alone.run(kVerifiers, 1, go_on, [] {});
    EXPECT_TRUE(done.is_finished());
    EXPECT_EQ(done.checkpoint(), alone.checkpoint());
    EXPECT_FALSE(alone.disagreements().empty());
    EXPECT_EQ(failure, "");
    for (int r = 1; r < kRanks; ++r) EXPECT_EQ(statuses[static_cast<std::size_t>(r)], kStatus) << r;
  }

  PostOffice office{kRanks};
  std::array<Campaign::MakeVerifier, kRanks> makes;
  Campaign theirs = campaign(), done = campaign();
  std::atomic<bool> stop = false;
  std::array<std::atomic<bool>, kRanks> sent_home = {};
  std::function<void()> on_lost, at_end;
  std::array<int, kRanks> statuses = {};
  std::size_t chunks = 0;
  std::vector<std::string> lost;
  std::string failure;
};

TEST_F(OnRanks, DoWhatOneProcessDoes) {
  run_job();
  expect_all_is_done();
  EXPECT_EQ(chunks, 24u);
  EXPECT_TRUE(lost.empty());
}

/// Its chunks at hand are done by others. Here it does them in the end, too, which nobody needs any more.
TEST_F(OnRanks, ASilentRankLosesItsChunksAtHand) {
  std::latch others_are_done(1);
  makes[2] = watched([&](const Place&) {
    office.set_silent(2);
    others_are_done.wait();
  });
  for (const std::size_t r : {0, 1, 3}) makes[r] = watched([&](const Place&) { office.wait_for_silent(1); });
  at_end = [&] { others_are_done.count_down(); };
  run_job();
  expect_all_is_done();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_NE(lost[0].find("rank 2"), std::string::npos) << lost[0];
}

TEST_F(OnRanks, ARankThatFailsIsNamedWithTheReason) {
  std::latch told(1);
  on_lost = [&] { told.count_down(); };
  makes[3] = [](const Instruction&, std::size_t) -> std::unique_ptr<StreamVerifier> {
    throw UnavailableError("no such GPU");
  };
  for (const std::size_t r : {0, 1, 2}) makes[r] = watched([&](const Place&) { told.wait(); });
  run_job();
  expect_all_is_done();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_NE(lost[0].find("rank 3"), std::string::npos) << lost[0];
  EXPECT_NE(lost[0].find("no such GPU"), std::string::npos) << lost[0];
}

TEST_F(OnRanks, ARankOfAnotherCampaignHelpsNobody) {
  theirs = campaign(2);
  std::latch told(3);
  on_lost = [&] { told.count_down(); };
  makes[0] = watched([&](const Place&) { told.wait(); });
  run_job();
  expect_all_is_done();
  ASSERT_EQ(lost.size(), 3u);
  for (const std::string& what : lost)
    EXPECT_NE(what.find("its streams is not that of rank 0"), std::string::npos) << what;
}

TEST_F(OnRanks, WhatRank0CannotDoEndsAll) {
  makes[0] = [](const Instruction&, std::size_t) -> std::unique_ptr<StreamVerifier> { throw InputError("wrong"); };
  run_job();
  EXPECT_EQ(failure, "wrong");
}

/// That who answers contradicts himself is a finding, on whatever rank.
TEST_F(OnRanks, AContradictionEndsAll) {
  makes[1] = [](const Instruction&, std::size_t) -> std::unique_ptr<StreamVerifier> {
    throw ContradictionError("twice");
  };
  std::latch stopped(1);
  for (const std::size_t r : {0, 2, 3}) makes[r] = watched([&](const Place&) { stopped.wait(); });
  at_end = [&] { stopped.count_down(); };
  run_job();
  EXPECT_EQ(failure, "twice");
}

/// Whoever does that one falls silent.
TEST_F(OnRanks, AChunkThatEndsThreeRanksEndsTheCampaign) {
  std::latch ended(1);
  std::mutex mutex;
  std::optional<Place> deadly;
  for (int r = 1; r < kRanks; ++r) {
    makes[static_cast<std::size_t>(r)] = watched([&, r](const Place& place) {
      {
        const std::lock_guard lock(mutex);
        if (!deadly) deadly = place;
        if (*deadly != place) return;
      }
      office.set_silent(r);
      ended.wait();
    });
  }
  makes[0] = watched([&](const Place&) { ended.wait(); });
  at_end = [&] { ended.count_down(); };
  run_job();
  EXPECT_NE(failure.find("3 ranks were lost"), std::string::npos) << failure;
}

/// What has come by then is kept; what somebody is at is not waited for.
TEST_F(OnRanks, StopWithoutTheChunksAtHand) {
  std::latch stopped(1);
  makes[0] = watched([&](const Place&) {
    stop = true;
    stopped.wait();
  });
  for (std::size_t r = 1; r < kRanks; ++r) makes[r] = watched([&](const Place&) { stopped.wait(); });
  at_end = [&] { stopped.count_down(); };
  run_job();
  EXPECT_EQ(failure, "");
  EXPECT_FALSE(done.is_finished());
  EXPECT_EQ(done.done_now(), 0u);
  EXPECT_EQ(statuses, (std::array<int, kRanks>{0, kStatus, kStatus, kStatus}));
}

/// A verifier that can be stopped ends by an exception.
TEST_F(OnRanks, WhatFailsAtAStopIsNoFailure) {
  makes[0] = watched([&](const Place&) {
    stop = true;
    throw UnavailableError("interrupted");
  });
  run_job();
  EXPECT_EQ(failure, "");
  EXPECT_TRUE(lost.empty());
}

TEST(OnRanksAlone, ARankWithoutRank0Ends) {
  PostOffice office(2);
  office.set_silent(0);
  ThreadRank rank(office, 1);
  const Campaign theirs = campaign();
  std::atomic<bool> stop = false;
  EXPECT_THROW(work_for_rank_0(theirs, rank, kVerifiers, 1, stop), UnavailableError);
  EXPECT_TRUE(stop);
  EXPECT_THROW(fail_for_rank_0(rank, std::make_exception_ptr(InputError("wrong"))), UnavailableError);
}

StreamOutcome outcome_of(std::uint64_t digest, std::uint64_t mismatches = 0) { return {digest, mismatches, {}}; }

TEST(Campaigns, AChunkWithTwoResultsIsAContradiction) {
  Campaign one = campaign();
  const ChunkNumber first = one.take().value();
  one.finish(first, outcome_of(1));
  EXPECT_NO_THROW(one.finish(first, outcome_of(1)));
  EXPECT_THROW(one.finish(first, outcome_of(2)), ContradictionError);
  EXPECT_THROW(one.finish(first, outcome_of(1, 1)), ContradictionError);
}

TEST(Campaigns, WhatIsGivenBackIsTakenAgainUnlessItIsDone) {
  Campaign one = campaign();
  const ChunkNumber first = one.take().value(), second = one.take().value();
  EXPECT_NE(first, second);
  one.give_back(second);
  one.give_back(first);
  one.finish(first, outcome_of(1));
  EXPECT_EQ(one.take(), second);
  std::set<ChunkNumber> rest;
  while (const auto number = one.take()) rest.insert(*number);
  EXPECT_EQ(rest.size(), 22u);
  EXPECT_FALSE(rest.contains(first) || rest.contains(second));
}

/// Whoever finds them, in whatever order: the first 16 of an instruction, as its streams have them.
TEST(Campaigns, TheFirstDisagreementsAreKept) {
  Campaign forth = campaign(), back = campaign();
  std::vector<ChunkNumber> all;
  while (const auto number = forth.take()) all.push_back(*number);
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
