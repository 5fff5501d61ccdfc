// The program of many files' tests: --file=NAME runs those of tests/NAME.cpp alone. All else is GoogleTest's.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

namespace {

bool is_of(const testing::TestInfo& test, std::string_view file) {
  return std::filesystem::path(test.file()).stem() == file;
}

/// All tests but those of one file, as a filter names them: whole suites, where no test of a suite is of that file.
/// Empty if no test is.
std::string all_but(std::string_view file) {
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
  return found ? others : "";
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kFile = "--file=";
  const std::string_view argument = argc == 2 ? argv[1] : "";
  if (!argument.starts_with(kFile)) {
    std::cerr << "tests: right would be --file=NAME, for what is in tests/NAME.cpp\n";
    return 2;
  }
  const std::string others = all_but(argument.substr(kFile.size()));
  if (others.empty()) {
    std::cerr << "tests: " << argument << ": no test is of that file\n";
    return 2;
  }
  std::string filter = testing::GTEST_FLAG(filter);
  filter += filter.find('-') == std::string::npos ? "-" + others.substr(1) : others;  // what follows a - is left out
  testing::GTEST_FLAG(filter) = std::move(filter);
  return RUN_ALL_TESTS();
}
