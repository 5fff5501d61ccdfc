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

/// Calls body(0) … body(count − 1) on so many threads, this one included; throws what the first that failed threw, and
/// begins no other after that.
template <class Body>
void in_parallel(std::size_t count, unsigned threads, const Body& body) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) body(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tcnum
