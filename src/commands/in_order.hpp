// Results that several threads make and one takes, in order.
#pragma once

#include <future>

#include "emu/parallel.hpp"

namespace tcnum {

/// Calls take(i, make(i)) for 0 … count − 1, in that order and on this thread. So many other threads make; with one
/// thread, or where the system gives no other, this one does. Throws what make(i) threw once those before are taken;
/// what comes after is not begun any more.
template <class Result, class Make, class Take>
void in_order(std::size_t count, unsigned threads, const Make& make, const Take& take) {
  std::vector<std::packaged_task<Result()>> tasks;
  std::vector<std::future<Result>> results;
  for (std::size_t i = 0; i < count; ++i) {
    tasks.emplace_back([&make, i] { return make(i); });
    results.push_back(tasks.back().get_future());
  }
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  const auto work = [&](std::size_t /*thread*/) {
    for (std::size_t i = next++; i < count && !stopped; i = next++) tasks[i]();
  };
  const std::vector<std::jthread> others = threads_of(0, threads > 1 ? threads : 0, work);
  try {
    for (std::size_t i = 0; i < count; ++i) {
      if (others.empty()) tasks[i]();
      take(i, results[i].get());
    }
  } catch (...) {
    stopped = true;  // the threads end when what they are at is made
    throw;
  }
}

}  // namespace tcnum
