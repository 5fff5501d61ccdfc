#include "rendezvous.hpp"

#include <algorithm>
#include <limits>

namespace tcnum {

Rendezvous::Rendezvous(std::size_t parties) : points_(parties) {}

void Rendezvous::meet(std::size_t party, std::size_t point) {
  std::unique_lock lock(mutex_);
  points_.at(party) = point;
  changed_.notify_all();
  changed_.wait(lock, [&] { return *std::ranges::min_element(points_) >= point; });
}

void Rendezvous::leave(std::size_t party) {
  const std::lock_guard lock(mutex_);
  points_.at(party) = std::numeric_limits<std::size_t>::max();
  changed_.notify_all();
}

}  // namespace tcnum
