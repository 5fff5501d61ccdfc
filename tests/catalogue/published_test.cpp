// Hardware answers that others have published, against what the catalogue says of their hardware. The files are not
// part of the project: they are looked for in TCNUM_PUBLISHED, else in shared/published beside it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "tcnum/catalogue.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
  if (const char* named = std::getenv("TCNUM_PUBLISHED"); named != nullptr && *named != '\0') return named;
  return fs::path(TCNUM_SOURCE_DIR).parent_path() / "shared" / "published";
}

std::vector<fs::path> files() {
  std::vector<fs::path> found;
  std::error_code missing;
  for (const auto& file : fs::directory_iterator(folder(), missing)) {
    if (file.path().extension() == ".safetensors") found.push_back(file.path());
  }
  return found;
}

std::size_t mismatches(const Datapath& datapath, const Tiles& answered) {
  Tiles tiles = answered;
  Emulator(datapath).run(tiles);
  std::size_t count = 0;
  for (std::size_t i = 0; i < tiles.size(); ++i) count += tiles.d[i] != answered.d[i] ? 1 : 0;
  return count;
}

TEST(Published, AnswersRefuteWhatIsMarkedSoAndNothingElse) {
  if (files().empty()) GTEST_SKIP() << "no vector files in " << folder().string() << " (TCNUM_PUBLISHED names another)";
  std::set<std::string> run;
  for (const fs::path& file : files()) {
    const Vectors vectors = read_vectors(file.string());
    const auto arch = find_arch(vectors.arch);
    const Instruction* const instruction = find_instruction(vectors.instruction);
    ASSERT_TRUE(arch && instruction != nullptr) << file;
    const std::vector<CatalogueEntry> entries = catalogue(*arch, *instruction);
    EXPECT_FALSE(entries.empty()) << file;
    const auto stated = std::ranges::find_if(published_answers(), [&](const PublishedAnswers& each) {
      return each.arch == *arch && each.instruction == vectors.instruction;
    });
    ASSERT_NE(stated, published_answers().end()) << file << ": expected a row of kPublished";
    EXPECT_EQ(stated->count, vectors.tiles.size()) << file;
    run.insert(vectors.instruction + " " + vectors.arch);
    for (const CatalogueEntry& entry : entries) {
      const std::size_t wrong = mismatches(entry.datapath, vectors.tiles);
      EXPECT_EQ(wrong != 0, !entry.refuted_by.empty())
          << file << ": " << wrong << " of " << vectors.tiles.size() << " answers differ from " << entry.account;
      EXPECT_EQ(entry.standing == Standing::checked, wrong == 0) << file << ": " << entry.account;
      EXPECT_EQ(entry.answers, wrong == 0 ? vectors.tiles.size() : 0) << file << ": " << entry.account;
    }
  }
  EXPECT_EQ(run.size(), published_answers().size()) << "each row of kPublished is of a file";
}

}  // namespace
}  // namespace tcnum
