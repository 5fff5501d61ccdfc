// Loops over several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tcnum {

/// As many as the machine has.
inline unsigned all_threads() { return std::max(1u, std::thread::hardware_concurrency()); }

/// Threads that call work(first) … work(end − 1), or fewer: a system that gives no more of them makes the work slower,
/// not impossible.
template <class Work>
std::vector<std::jthread> threads_of(std::size_t first, std::size_t end, const Work& work) {
  std::vector<std::jthread> threads;
  try {
    threads.reserve(end - std::min(first, end));
    for (std::size_t i = first; i < end; ++i) threads.emplace_back([&work, i] { work(i); });
  } catch (const std::exception&) {  // std::system_error of the thread, std::bad_alloc of what is kept of it
  }
  return threads;
}

/// Calls body(0) … body(count − 1) on so many threads, this one included; throws what the first that failed threw, and
/// begins no other after that.
template <class Body>
void in_parallel(std::size_t count, unsigned threads, const Body& body) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&](std::size_t /*thread*/) {
    try {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    const std::vector<std::jthread> others = threads_of(1, std::min<std::size_t>(threads, count), work);
    work(0);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tcnum
