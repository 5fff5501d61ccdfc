// Threads that measure at the same time: none goes on before all are as far.
// Labels: threads sanitized
#include "bench/measure/rendezvous.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tcnum {
namespace {

/// Party 3 skips points, and party 2 leaves early.
TEST(Rendezvous, NoPartyIsAPointAhead) {
  constexpr std::size_t kParties = 4, kPoints = 200;
  Rendezvous rendezvous(kParties);
  std::vector<std::atomic<std::size_t>> begun(kParties);
  std::atomic<bool> ahead = false;
  {
    std::vector<std::jthread> threads;
    for (std::size_t party = 0; party < kParties; ++party) {
      threads.emplace_back([&, party] {
        for (std::size_t point = 1; point <= kPoints; ++point) {
          if (party == 3 && point % 3 == 0) continue;
          if (party == 2 && point > kPoints / 2) break;
          begun[party] = point;
          rendezvous.meet(party, point);
          for (std::size_t other = 0; other < 2; ++other) {
            if (begun[other] < point) ahead = true;
          }
        }
        begun[party] = kPoints;
        rendezvous.leave(party);
      });
    }
  }
  EXPECT_FALSE(ahead);
}

}  // namespace
}  // namespace tcnum
