// The house: which room may include what. Arrows point one way, so that a room can be read without those above it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Rooms = std::set<std::string>;

/// Each room and all that its files may include, from the ground floor up: a room may only name rooms listed before it.
const std::vector<std::pair<std::string, Rooms>> kRooms = {
    {"include", {}},
    {"io", {"include"}},
    {"cuda", {}},
    {"emu", {"include", "io", "cuda"}},
    {"isa", {"include"}},
    {"probes", {"include", "isa", "cuda"}},
    {"src/questions", {"include", "emu", "isa"}},
    {"src/files", {"include", "io", "emu", "isa"}},
    {"src/oracles", {"include", "io", "emu", "isa", "src/questions", "src/files"}},
    {"src/fit", {"include", "emu", "src/questions"}},
    {"src/catalogue", {"include", "io", "emu", "src/files"}},
    {"src/gemm", {"include", "io", "emu", "src/catalogue", "src/files", "src/fit", "src/oracles"}},
    {"src/identify", {"include", "emu", "src/catalogue", "src/questions", "src/fit", "src/gemm"}},
    {"src/report", {"include", "io", "src/catalogue", "src/files", "src/fit", "src/gemm"}},
    {"src/campaign", {"include", "io", "emu", "isa", "cuda", "probes", "src/questions", "src/files"}},
    {"src/c",
     {"include", "io", "emu", "src/catalogue", "src/files", "src/oracles", "src/fit", "src/gemm", "src/report"}},
    {"src/commands",
     {"include", "io", "emu", "probes", "src/campaign", "src/catalogue", "src/files", "src/fit", "src/oracles",
      "src/questions", "src/report"}},
    {"bench/device", {"include", "cuda", "probes"}},
    {"bench/measure",
     {"include", "io", "emu", "isa", "src/catalogue", "src/files", "src/questions", "src/report", "bench/device"}},
    {"bench/commands",
     {"include", "io", "emu", "src/campaign", "src/commands", "src/report", "bench/device", "bench/measure"}},
};

/// The room of a file, by its path from the root or as an #include has it: "tcnum/…" is the public headers'.
std::string room_of(const std::string& path) {
  if (path.starts_with("tcnum/")) return "include";
  const std::size_t first = path.find('/');
  if (!path.starts_with("src/") && !path.starts_with("bench/")) return path.substr(0, first);
  return path.substr(0, path.find('/', first + 1));
}

/// The lines of a file that include what its room may not.
std::vector<std::string> forbidden_includes(const std::string& path, const std::string& text) {
  std::vector<std::string> found;
  const std::string room = room_of(path);
  const auto row = std::ranges::find(kRooms, room, &std::pair<std::string, Rooms>::first);
  if (row == kRooms.end()) return {path + ": no room of the table; give it one in tests/rooms_test.cpp"};
  static const std::regex kInclude("^\\s*#\\s*include\\s+\"([^\"]+)\"");
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_search(line, match, kInclude)) continue;
    const std::string included = match[1];
    if (included.find("..") != std::string::npos) {
      found.push_back(path + ": " + included + " (a path from the root says which room it is)");
    } else if (included.find('/') != std::string::npos && room_of(included) != room &&
               !row->second.contains(room_of(included))) {
      found.push_back(path + ": " + included + " (" + room + " may not know " + room_of(included) + ")");
    }
  }
  return found;
}

TEST(Rooms, AreListedFromTheGroundFloorUp) {
  Rooms below;
  for (const auto& [room, may_include] : kRooms) {
    for (const std::string& other : may_include) EXPECT_TRUE(below.contains(other)) << room << " includes " << other;
    below.insert(room);
  }
}

TEST(Rooms, AnArrowThatTurnsRoundIsFound) {
  EXPECT_EQ(
      forbidden_includes("emu/exact/exact.cpp", "#include \"tcnum/exact.hpp\"\n#include \"probes/gpu.hpp\"\n").size(),
      1u);
  EXPECT_EQ(forbidden_includes("src/attic/old.cpp", "").size(), 1u);
  EXPECT_EQ(forbidden_includes("src/fit/fit.cpp", "#include \"../emu/parallel.hpp\"\n").size(), 1u);
  EXPECT_TRUE(forbidden_includes("src/fit/fit.cpp", "#include \"space.hpp\"\n#include \"emu/parallel.hpp\"\n").empty());
}

/// Every source of the product, by its path from the root, with its text.
std::map<std::string, std::string> product_sources() {
  const fs::path root = TCNUM_SOURCE_DIR;
  const std::set<std::string> endings = {".cpp", ".hpp", ".cu", ".cuh", ".hip", ".h", ".in"};
  std::map<std::string, std::string> sources;
  for (const std::string top : {"include", "io", "cuda", "emu", "isa", "probes", "src", "bench"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file() || !endings.contains(entry.path().extension().string())) continue;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      sources[fs::relative(entry.path(), root).string()] = text.str();
    }
  }
  return sources;
}

TEST(Rooms, ArrowsPointOneWay) {
  const auto sources = product_sources();
  for (const auto& [path, text] : sources) {
    for (const std::string& line : forbidden_includes(path, text)) ADD_FAILURE() << line;
  }
  EXPECT_GT(sources.size(), 100u);
}

/// The types that a file defines outside of unnamed namespaces and of other types, each after its namespaces.
std::vector<std::string> types_of(const std::string& text) {
  static const std::regex kNamespace("^(?:inline )?namespace ?([A-Za-z0-9_:]*) \\{"), kEnd("^\\}  // namespace"),
      kType("^(?:template <.*> )?(?:struct|class|enum class) (?:alignas\\(.*\\) )?(\\w+)(?: final)?(?: :[^;]*)? \\{");
  std::vector<std::string> found, inside;
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == ' ' || line[0] == '#' || line[0] == '/') continue;
    if (std::regex_search(line, match, kNamespace)) {
      inside.push_back(match[1]);
    } else if (std::regex_search(line, kEnd) && !inside.empty()) {
      inside.pop_back();
    } else if (std::ranges::find(inside, "") == inside.end() && std::regex_search(line, match, kType)) {
      std::string name;
      for (const std::string& each : inside) name += each + "::";
      found.push_back(name + std::string(match[1]));
    }
  }
  return found;
}

/// Two types of one name in one program are one to the linker, which takes either's destructor for both.
TEST(Rooms, NoTwoTypesHaveOneName) {
  EXPECT_EQ(types_of("namespace tcnum {\nstruct A {\nnamespace {\nstruct B {\n}  // namespace\nenum class C : int {\n"),
            (std::vector<std::string>{"tcnum::A", "tcnum::C"}));
  std::map<std::string, std::string> file_of;
  for (const auto& [path, text] : product_sources()) {
    for (const std::string& type : types_of(text)) {
      const auto [known, is_new] = file_of.try_emplace(type, path);
      EXPECT_TRUE(is_new) << type << " is in " << known->second << " and in " << path;
    }
  }
  EXPECT_GT(file_of.size(), 300u);
}

}  // namespace
