// What a run of the tests is told to draw with: of what would take many minutes, each tries a part that this says
// (./run test --fresh draws another).
#pragma once

#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

namespace tcnum::test {

/// RapidCheck's seed in RC_PARAMS, or 1.
inline std::size_t seed_of_run() {
  constexpr std::string_view kSeed = "seed=";
  const char* const parameters = std::getenv("RC_PARAMS");
  const std::string_view text = parameters == nullptr ? "" : parameters;
  const std::size_t at = text.find(kSeed);
  return at == std::string_view::npos ? 1 : std::strtoull(text.data() + at + kSeed.size(), nullptr, 10);
}

/// What takes minutes is cut into so many parts, of which a run takes one.
inline constexpr std::size_t kParts = 10;
inline std::size_t part_of_run() { return seed_of_run() % kParts; }

/// Whether a run takes this one of a list, of which it takes one in so many.
inline bool is_of_run(std::size_t index, std::size_t one_in) { return index % one_in == seed_of_run() % one_in; }

/// Those of a list that a run takes, or, shifted, that it leaves to others.
template <class Each>
std::vector<Each> those_of_run(std::vector<Each> all, std::size_t one_in, std::size_t shift = 0) {
  std::vector<Each> some;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_of_run(i + shift, one_in)) some.push_back(std::move(all[i]));
  }
  return some;
}

}  // namespace tcnum::test
