// Threads that begin together.
#pragma once

#include <latch>
#include <thread>
#include <vector>

namespace tcnum::test {

inline constexpr unsigned kThreads = 4;

/// Calls it with the number of each of several threads, on all at once.
template <class Body>
void at_once(const Body& body) {
  std::latch start(kThreads);
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      body(i);
    });
  }
}

}  // namespace tcnum::test
