// What the fuzzers begin with and what they found, without them: the harnesses abort where something is wrong.
// Labels: long
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "fuzz/fuzz.hpp"
#include "fuzz/json_mutator.hpp"

namespace tcnum::fuzz {

void PrintTo(const Harness& harness, std::ostream* out) { *out << harness.name; }

namespace {

namespace fs = std::filesystem;

class Harnesses : public testing::TestWithParam<Harness> {};

TEST_P(Harnesses, TakeTheirSeeds) {
  const auto seeds = GetParam().seeds();
  EXPECT_GE(seeds.size(), 4u);
  for (const std::string& seed : seeds) EXPECT_TRUE(GetParam().run(seed)) << seed;
}

/// Inputs that were once found to be wrong.
TEST_P(Harnesses, TakeWhatWasFound) {
  const fs::path folder = fs::path(TCNUM_SOURCE_DIR "/tests/fuzz/corpus") / GetParam().name;
  if (!fs::exists(folder)) return;  // nothing was
  for (const auto& entry : fs::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    std::ostringstream input;
    input << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    GetParam().run(input.str());
  }
}

std::string with_other_bytes(std::string text, std::mt19937& random) {
  for (std::size_t changes = random() % 4; changes > 0 && !text.empty(); --changes) {
    const std::size_t at = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text[at] = static_cast<char>(text[at] ^ 1 << random() % 8);
        break;
      case 2:
        text.erase(at, random() % 8);
        break;
      default:
        text.insert(at, text.substr(random() % text.size(), random() % 16));
    }
  }
  return text;
}

/// A short, blind search.
TEST_P(Harnesses, TakeSeedsThatWereChanged) {
  constexpr int kInputs = 300;
  std::mt19937 random(1);
  const auto seeds = GetParam().seeds();
  int refused = 0;
  for (int i = 0; i < kInputs; ++i) {
    std::string input = seeds[random() % seeds.size()];
    if (GetParam().json && random() % 4 != 0)
      input = mutated_json(input, static_cast<std::uint32_t>(random()));
    else
      input = with_other_bytes(input, random);
    refused += GetParam().run(input) ? 0 : 1;
  }
  EXPECT_LT(refused, kInputs);
}

INSTANTIATE_TEST_SUITE_P(Each, Harnesses, testing::ValuesIn(harnesses().begin(), harnesses().end()),
                         [](const auto& harness) { return std::string(harness.param.name); });

}  // namespace
}  // namespace tcnum::fuzz
