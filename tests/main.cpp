// Every test program's main(): --file=NAME runs the tests of NAME.cpp alone, of a program that has many files'. All
// else is GoogleTest's.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "seed_of_run.hpp"

namespace {

bool is_of(const testing::TestInfo& test, std::string_view file) {
  return std::filesystem::path(test.file()).stem() == file;
}

/// All tests but those of one file, as a filter names them: whole suites, where no test of a suite is of that file.
/// Nothing if no test is.
std::optional<std::string> all_but(std::string_view file) {
  std::string others;
  bool found = false;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    std::string beside_its_own;
    bool has_its_own = false;
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (is_of(test, file)) {
        has_its_own = true;
      } else {
        beside_its_own += std::string(":") + suite.name() + "." + test.name();
      }
    }
    found = found || has_its_own;
    others += has_its_own ? beside_its_own : std::string(":") + suite.name() + ".*";
  }
  return found ? std::optional(others) : std::nullopt;
}

/// Of one test in so many as TCNUM_TEST_SAMPLE says, the run's seed chooses which: they are a shard to GoogleTest.
void take_sample() {
  const char* const parts = std::getenv("TCNUM_TEST_SAMPLE");
  if (parts == nullptr || *parts == '\0') return;
  setenv("GTEST_TOTAL_SHARDS", parts, 1);
  setenv("GTEST_SHARD_INDEX", std::to_string(tcnum::test::seed_of_run() % std::stoul(parts)).c_str(), 1);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  take_sample();
  if (argc == 1) return RUN_ALL_TESTS();
  constexpr std::string_view kFile = "--file=";
  const std::string_view argument = argv[1];
  const auto others = argc == 2 && argument.starts_with(kFile) ? all_but(argument.substr(kFile.size())) : std::nullopt;
  if (!others) {
    std::cerr << "tests: " << argument << "; expected --file=NAME, where NAME.cpp has tests of this program\n";
    return 2;
  }
  std::string filter = testing::GTEST_FLAG(filter);
  if (!others->empty())  // what follows a - is left out
    filter += filter.find('-') == std::string::npos ? "-" + others->substr(1) : *others;
  testing::GTEST_FLAG(filter) = std::move(filter);
  return RUN_ALL_TESTS();
}
