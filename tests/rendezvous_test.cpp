// Those who measure at the same time: nobody goes on before all are as far.
#include "src/ranks/rendezvous.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tcnum {
namespace {

TEST(Rendezvous, NobodyIsAPointAhead) {
  constexpr std::size_t kParties = 4, kPoints = 200;
  Rendezvous rendezvous(kParties);
  std::vector<std::atomic<std::size_t>> begun(kParties);
  std::atomic<bool> ahead = false;
  {
    std::vector<std::jthread> threads;
    for (std::size_t party = 0; party < kParties; ++party) {
      threads.emplace_back([&, party] {
        for (std::size_t point = 1; point <= kPoints; ++point) {
          if (party == 3 && point % 3 == 0) continue;  // which leaves some out
          begun[party] = point;
          rendezvous.meet(party, point);
          for (std::size_t other = 0; other + 1 < kParties; ++other) {
            if (begun[other] < point) ahead = true;
          }
        }
        begun[party] = kPoints;
        rendezvous.leave(party);
      });
    }
  }
  EXPECT_FALSE(ahead);
  EXPECT_EQ(rendezvous.least(), Rendezvous::kLeft);
}

TEST(Rendezvous, NobodyWaitsForWhoHasLeft) {
  Rendezvous rendezvous(3);
  rendezvous.arrive(0, 5);
  rendezvous.arrive(0, 4);  // nobody goes back
  rendezvous.leave(1);
  EXPECT_EQ(rendezvous.least(), 0u);
  EXPECT_EQ(rendezvous.least(2), 5u);
  EXPECT_EQ(rendezvous.least(0), Rendezvous::kLeft);
  EXPECT_TRUE(rendezvous.has_left(1));
  EXPECT_FALSE(rendezvous.has_left(2));
  std::jthread last([&] { rendezvous.leave(2); });
  rendezvous.meet(0, 6);
}

}  // namespace
}  // namespace tcnum
