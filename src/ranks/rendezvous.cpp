#include "rendezvous.hpp"

#include <algorithm>

namespace tcnum {

Rendezvous::Rendezvous(std::size_t parties) : points_(parties) {}

void Rendezvous::arrive(std::size_t party, std::size_t point) {
  const std::lock_guard lock(mutex_);
  points_.at(party) = std::max(points_.at(party), point);
  changed_.notify_all();
}

void Rendezvous::meet(std::size_t party, std::size_t point) {
  arrive(party, point);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return least_of(points_.size()) >= point; });
}

bool Rendezvous::has_left(std::size_t party) const {
  const std::lock_guard lock(mutex_);
  return points_.at(party) == kLeft;
}

std::size_t Rendezvous::least(std::size_t parties) const {
  const std::lock_guard lock(mutex_);
  return least_of(parties);
}

std::size_t Rendezvous::least_of(std::size_t parties) const {
  if (parties == 0) return kLeft;
  return *std::ranges::min_element(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(parties));
}

}  // namespace tcnum
