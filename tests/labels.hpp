// What a case asks of the run: it is skipped where the run is not of that kind, and the counts say why. What is so of all
// cases of a file stands in its line "// Labels: …" (tests/CMakeLists.txt).
#pragma once

#include <cstdlib>

#include "sanitizers.hpp"

namespace tcnum::test {

/// Whether the run takes what needs seconds: `./run test --all`.
inline bool takes_all() {
  const char* const all = std::getenv("TCNUM_TEST_ALL");
  return all != nullptr && *all != '\0';
}

}  // namespace tcnum::test

/// The case takes seconds.
#define TCNUM_TAKES_LONG() \
  if (!tcnum::test::takes_all()) GTEST_SKIP() << "takes long: ./run test --all"

/// With sanitizers the case would take minutes, and others show them the same code.
#define TCNUM_NOT_SANITIZED() \
  if (tcnum::test::kAddressesAreWatched || tcnum::test::kThreadsAreWatched) GTEST_SKIP() << "is for the release build"
