// Files in tests: a folder of their own, and safetensors made without the code under test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "refusal.hpp"

namespace tcnum {

namespace fs = std::filesystem;

/// A folder that vanishes with the test.
class Files : public testing::Test {
 protected:
  Files() {
    std::string name = (fs::temp_directory_path() / "tcnum-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    folder_ = name;
  }
  ~Files() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// Writes it, and gives its path.
  std::string file_of(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return path(name);
  }
  /// The names of all that is there.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }

  fs::path folder_;
};

inline std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// One line that begins with the file and has all that is expected.
inline void expect_line(const std::string& message, const std::string& path, const std::vector<std::string>& expected) {
  EXPECT_TRUE(message.starts_with(path + ": ")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  for (const std::string& part : expected) EXPECT_NE(message.find(part), std::string::npos) << message;
}

/// A safetensors file in the making.
struct Parts {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::string data;

  void add(const std::string& name, const std::string& dtype, const std::vector<std::uint64_t>& shape,
           const std::string& bytes) {
    header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
  }
  std::string bytes() const { return with_header(header.dump()); }
  std::string with_header(const std::string& text) const {
    const auto length = std::bit_cast<std::array<char, 8>>(static_cast<std::uint64_t>(text.size()));
    return std::string(length.begin(), length.end()) + text + data;
  }
};

inline Parts parts_of(const std::string& bytes) {
  std::array<char, 8> length = {};
  std::copy_n(bytes.begin(), length.size(), length.begin());
  const auto size = std::bit_cast<std::uint64_t>(length);
  return {nlohmann::ordered_json::parse(bytes.substr(8, size)), bytes.substr(8 + size)};
}

}  // namespace tcnum
