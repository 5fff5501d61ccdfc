// What a run of the tests is told to draw with: of what would take many minutes, each tries a part that this says
// (./run test --fresh draws another).
#pragma once

#include <cstdlib>
#include <string_view>

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
inline constexpr std::size_t kParts = 6;
inline std::size_t part_of_run() { return seed_of_run() % kParts; }

/// Whether a run takes this one of a list, of which it takes one in so many.
inline bool is_of_run(std::size_t index, std::size_t one_in) { return index % one_in == seed_of_run() % one_in; }

}  // namespace tcnum::test
