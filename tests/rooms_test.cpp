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
    {"src/gemm", {"include", "io", "emu", "src/files", "src/fit", "src/oracles"}},
    {"src/catalogue", {"include", "emu", "src/files"}},
    {"src/identify", {"include", "emu", "src/questions", "src/fit", "src/catalogue"}},
    {"src/report", {"include", "io", "src/catalogue", "src/files", "src/fit", "src/gemm"}},
    {"src/ranks", {"include"}},
    {"src/campaign", {"include", "io", "emu", "isa", "cuda", "probes", "src/questions", "src/files", "src/ranks"}},
    {"src/c", {"include", "io", "emu", "src/catalogue", "src/fit", "src/gemm", "src/report"}},
    {"src/commands",
     {"include", "io", "emu", "probes", "src/campaign", "src/catalogue", "src/files", "src/fit", "src/oracles",
      "src/questions", "src/ranks", "src/report"}},
    {"bench/device", {"include", "cuda", "probes"}},
    {"bench/measure",
     {"include", "io", "emu", "isa", "src/catalogue", "src/files", "src/questions", "src/report", "bench/device"}},
    {"bench/commands",
     {"include", "io", "emu", "src/campaign", "src/commands", "src/ranks", "src/report", "bench/device",
      "bench/measure"}},
};

/// The room of a file, by its path from the root or as an #include has it: "tcnum/…" is the public headers'.
std::string room_of(const std::string& path) {
  if (path.starts_with("tcnum/")) return "include";
  const std::size_t first = path.find('/');
  if (!path.starts_with("src/") && !path.starts_with("bench/")) return path.substr(0, first);
  return path.substr(0, path.find('/', first + 1));
}

/// Needs MPI, which is only where mpirun is: what includes it is a library of its own.
constexpr const char* kMpiRoom = "src/ranks/mpi/";

/// The lines of a file that include what its room may not.
std::vector<std::string> forbidden_includes(const std::string& path, const std::string& text) {
  std::vector<std::string> found;
  const std::string room = room_of(path);
  const auto row = std::ranges::find(kRooms, room, &std::pair<std::string, Rooms>::first);
  if (row == kRooms.end()) return {path + ": no room of the table; give it one in tests/rooms_test.cpp"};
  static const std::regex kInclude("^\\s*#\\s*include\\s+\"([^\"]+)\""), kMpi("^\\s*#\\s*include\\s+[<\"]mpi\\.h[>\"]");
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, kMpi) && !path.starts_with(kMpiRoom))
      found.push_back(path + ": mpi.h (which is for " + kMpiRoom + " alone)");
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
  EXPECT_EQ(forbidden_includes("probes/gpu_oracle.cpp", "#include \"emu/parallel.hpp\"\n").size(), 1u);
  EXPECT_EQ(forbidden_includes("src/fit/fit.cpp", "  # include \"src/report/layout.hpp\"\n").size(), 1u);
  EXPECT_EQ(forbidden_includes("src/attic/old.cpp", "").size(), 1u);
  EXPECT_EQ(forbidden_includes("src/commands/sass.cpp", "#include \"bench/device/timing.hpp\"\n").size(), 1u);
  EXPECT_EQ(forbidden_includes("bench/device/timing.cpp", "#include \"bench/measure/record.hpp\"\n").size(), 1u);
  EXPECT_EQ(forbidden_includes("src/ranks/launch.cpp", "#include <mpi.h>\n").size(), 1u);
  EXPECT_TRUE(forbidden_includes("src/ranks/mpi/mpi_ranks.cpp", "#include <mpi.h>\n").empty());
  EXPECT_EQ(forbidden_includes("src/fit/fit.cpp", "#include \"../emu/parallel.hpp\"\n").size(), 1u);
  EXPECT_TRUE(forbidden_includes("src/fit/fit.cpp", "#include \"space.hpp\"\n#include \"emu/parallel.hpp\"\n").empty());
}

TEST(Rooms, ArrowsPointOneWay) {
  const fs::path root = TCNUM_SOURCE_DIR;
  const std::set<std::string> sources = {".cpp", ".hpp", ".cu", ".cuh", ".hip", ".h", ".in"};
  std::size_t files = 0;
  for (const std::string top : {"include", "io", "cuda", "emu", "isa", "probes", "src", "bench"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file() || !sources.contains(entry.path().extension().string())) continue;
      ++files;
      std::stringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      for (const std::string& line : forbidden_includes(fs::relative(entry.path(), root).string(), text.str())) {
        ADD_FAILURE() << line;
      }
    }
  }
  EXPECT_GT(files, 100u);
}

}  // namespace
