// Results that several threads make and one takes, in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "emu/parallel.hpp"

namespace tcnum {

/// Calls take(i, make(i)) for 0 … count − 1, in that order and on this thread. So many other threads make; with one
/// thread, or where the system gives no other, this one does. Throws what make(i) threw once those before are taken;
/// what comes after is not begun any more.
template <class Result, class Make, class Take>
void in_order(std::size_t count, unsigned threads, const Make& make, const Take& take) {
  struct Place {
    std::optional<Result> result;
    std::exception_ptr failure;
    bool done = false;
  };
  std::vector<Place> places(count);
  std::mutex mutex;
  std::condition_variable news;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  const auto work_on = [&](std::size_t i) {
    std::optional<Result> result;
    std::exception_ptr failure;
    try {
      result.emplace(make(i));
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    places[i].result = std::move(result);
    places[i].failure = failure;
    places[i].done = true;
    news.notify_all();
  };
  const auto work = [&](std::size_t /*thread*/) {
    for (std::size_t i = next++; i < count && !stopped; i = next++) work_on(i);
  };
  const std::vector<std::jthread> others = threads_of(0, threads > 1 ? threads : 0, work);
  try {
    for (std::size_t i = 0; i < count; ++i) {
      if (others.empty()) work_on(i);
      std::unique_lock lock(mutex);
      news.wait(lock, [&] { return places[i].done; });
      lock.unlock();
      if (places[i].failure) std::rethrow_exception(places[i].failure);
      take(i, std::move(*places[i].result));
      places[i].result.reset();
    }
  } catch (...) {
    stopped = true;  // the threads end when what they are at is made
    throw;
  }
}

}  // namespace tcnum
