// Results that several threads make and one takes.
// Labels: threads sanitized
#include "src/commands/in_order.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tcnum {
namespace {

TEST(InOrder, TakesAllOnceInOrderOnThisThread) {
  for (const unsigned threads : {0u, 1u, 2u, 7u}) {
    constexpr std::size_t kCount = 200;
    std::vector<std::atomic<int>> made(kCount);
    std::vector<std::size_t> taken;
    in_order<std::size_t>(
        kCount, threads,
        [&](std::size_t i) {
          ++made[i];
          return i * i;
        },
        [&, here = std::this_thread::get_id()](std::size_t i, std::size_t result) {
          EXPECT_EQ(std::this_thread::get_id(), here);
          EXPECT_EQ(result, i * i);
          taken.push_back(i);
        });
    std::vector<std::size_t> all(kCount);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(taken, all);
    for (const auto& times : made) EXPECT_EQ(times, 1);
  }
}

/// The first is made while the second has begun, and the second once all others are made.
TEST(InOrder, OneThatTakesLongKeepsNoThreadFromTheOthers) {
  constexpr int kCount = 5;
  std::atomic<int> made = 0;
  std::atomic<bool> has_begun = false;
  const auto wait_until = [deadline =
                               std::chrono::steady_clock::now() + std::chrono::seconds(20)](const auto& is_true) {
    while (!is_true() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return is_true();
  };
  in_order<int>(
      kCount, 2,
      [&](std::size_t i) {
        if (i == 0) {
          EXPECT_TRUE(wait_until([&] { return has_begun.load(); }));
        }
        if (i == 1) {
          has_begun = true;
          EXPECT_TRUE(wait_until([&] { return made == kCount - 1; }));
        }
        return ++made;
      },
      [](std::size_t, int) {});
}

TEST(InOrder, ThrowsWhatAMakerThrewAfterWhatComesBefore) {
  for (const unsigned threads : {1u, 4u}) {
    std::vector<std::size_t> taken;
    const auto work = [&] {
      in_order<int>(
          100, threads, [](std::size_t i) { return i == 5 ? throw std::runtime_error("five") : 0; },
          [&](std::size_t i, int) { taken.push_back(i); });
    };
    EXPECT_THROW(work(), std::runtime_error);
    EXPECT_EQ(taken, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  }
}

TEST(InOrder, BeginsNothingMoreWhereTakingFails) {
  std::atomic<int> made = 0;
  const auto work = [&] {
    in_order<int>(
        100, 1, [&](std::size_t) { return ++made; }, [](std::size_t, int) { throw std::runtime_error("full"); });
  };
  EXPECT_THROW(work(), std::runtime_error);
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace tcnum
