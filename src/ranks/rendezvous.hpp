// Where those who measure at the same time wait for each other.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <limits>
#include <mutex>
#include <vector>

namespace tcnum {

/// Points have numbers. Each party reaches them in rising order, and may leave some out.
class Rendezvous {
 public:
  /// All parties begin at point 0.
  explicit Rendezvous(std::size_t parties);
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Does not wait.
  void arrive(std::size_t party, std::size_t point);
  /// Arrives, and waits until no party is behind.
  void meet(std::size_t party, std::size_t point);
  /// Nobody waits for it any more.
  void leave(std::size_t party) { arrive(party, kLeft); }

  bool has_left(std::size_t party) const;

  static constexpr std::size_t kLeft = std::numeric_limits<std::size_t>::max();
  /// The point of whoever is last, of the first so many parties; kLeft if all have left.
  std::size_t least(std::size_t parties) const;
  std::size_t least() const { return least(points_.size()); }

 private:
  std::size_t least_of(std::size_t parties) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> points_;
};

}  // namespace tcnum
