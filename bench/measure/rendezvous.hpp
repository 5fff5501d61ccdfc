// A rendezvous of threads that measure at the same time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

namespace tcnum {

/// Points have numbers. Each party reaches points in rising order, and may skip some.
class Rendezvous {
 public:
  /// All parties begin at point 0.
  explicit Rendezvous(std::size_t parties);
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Waits until every party has reached this point or a later one, or has left.
  void meet(std::size_t party, std::size_t point);
  /// No party waits for this one any more.
  void leave(std::size_t party);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> points_;  ///< that each party has reached
};

}  // namespace tcnum
