#include "fuzz.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/printable.hpp"

namespace tcnum::fuzz {

namespace fs = std::filesystem;

void wrong(std::string_view what, std::string_view detail) {
  std::fprintf(stderr, "wrong: %.*s\n%.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(detail.size()), detail.data());
  std::abort();
}

void check_refusal(std::string_view message, std::string_view where) {
  constexpr std::size_t kLongest = 4000;
  const std::string line = where.empty() ? shortened(message, kLongest) : std::string(message);
  const auto hidden = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (line.empty()) wrong("an error without a message");
  if (line.size() > kLongest) wrong("an endless message", line);
  if (std::ranges::any_of(line, hidden)) wrong("a message with control characters", line);
  if (!line.starts_with(where)) wrong("a message that does not begin with what it is about", line);
}

InputPath::InputPath(std::string_view content) {
  static const int descriptor = memfd_create("input", MFD_CLOEXEC);  // in memory: thousands are made in a second
  const bool written = descriptor >= 0 && ftruncate(descriptor, 0) == 0 &&
                       pwrite(descriptor, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size());
  if (!written) wrong("the input cannot be written");
  path_ = "/proc/self/fd/" + std::to_string(descriptor);
}

const std::string& scratch_path() {
  struct Folder {
    Folder() {
      std::error_code none;
      const fs::path memory = "/dev/shm";
      std::string name =
          ((fs::is_directory(memory, none) ? memory : fs::temp_directory_path()) / "tcnum-XXXXXX").string();
      if (mkdtemp(name.data()) == nullptr) wrong("no folder can be made");
      path = name + "/written";
    }
    ~Folder() {
      std::error_code ignored;
      fs::remove_all(fs::path(path).parent_path(), ignored);
    }
    std::string path;
  };
  static const Folder folder;
  return folder.path;
}

std::string contents_of(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

std::vector<std::string> contents_of(std::string_view folder, std::string_view extension) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(TCNUM_SOURCE_DIR) / folder)) {
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> contents;
  for (const fs::path& path : paths) contents.push_back(contents_of(path.string()));
  return contents;
}

}  // namespace tcnum::fuzz
