#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "failure.hpp"
#include "io/failures.hpp"
#include "io/printable.hpp"
#include "io/replacement_file.hpp"
#include "tcnum/error.hpp"

namespace tcnum {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kAttempt = "cannot be written";

/// The first write to standard output that failed: errno, or 0.
int stdout_error = 0;

/// What cannot be replaced, a pipe or a device, takes the text as it comes.
void write_directly(const std::string& path, std::string_view text) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail_system(path, kAttempt, errno);
  int error = write_all(descriptor, std::as_bytes(std::span(text)));
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0 && error != EPIPE) fail_system(path, kAttempt, error);
}

}  // namespace

void say(std::string_view text) {
  if (stdout_error != 0) return;
  const std::string lines = printable_lines(text);
  stdout_error = write_all(STDOUT_FILENO, std::as_bytes(std::span(lines)));
}

bool finish_stdout() {
  if (stdout_error == 0 || stdout_error == EPIPE) return true;
  complain("standard output: cannot be written: " + std::generic_category().message(stdout_error));
  return false;
}

std::vector<std::byte> read_standard_input(std::uint64_t most) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  std::vector<std::byte> bytes;
  while (bytes.size() < most) {
    const std::size_t before = bytes.size();
    bytes.resize(before + static_cast<std::size_t>(std::min(kPiece, most - before)));
    const ssize_t n = read(STDIN_FILENO, bytes.data() + before, bytes.size() - before);
    const int error = errno;
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n == 0) break;
    if (n < 0 && error != EINTR) fail_system("standard input", "cannot be read", error);
  }
  return bytes;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_directory(status);
}

bool is_there(const std::string& path) {
  std::error_code error;
  const bool there = fs::exists(path, error);
  if (error) fail_system(path, "cannot be read", error.value());
  return there;
}

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") return say(text);
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  const bool replaceable = !fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status);
  const std::string lines = printable_lines(text);
  if (!replaceable) return write_directly(path, lines);
  ReplacementFile file(path);
  file.write(lines);
  file.commit();
}

void write_json(const std::string& path, const nlohmann::ordered_json& json) {
  // Names of files may hold anything.
  write_text(path, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void require_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error && status.type() != fs::file_type::not_found) fail_system(path, kAttempt, error.value());
  if (fs::is_directory(status)) fail_system(path, kAttempt, EISDIR);
  const bool replaced = !fs::exists(status) || fs::is_regular_file(status);
  const fs::path target = fs::exists(status) ? fs::canonical(path, error) : fs::path(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (replaced && fs::exists(folder, error) && !fs::is_directory(folder, error)) fail_system(path, kAttempt, ENOTDIR);
  if (access(replaced ? folder.c_str() : path.c_str(), replaced ? W_OK | X_OK : W_OK) != 0)
    fail_system(path, kAttempt, errno);
}

void require_folder(const std::string& path) {
  constexpr std::string_view kMaking = "cannot be made a folder";
  fs::path there = path;  // the folder, or the nearest above it
  std::error_code error;
  while (!there.empty() && fs::status(there, error).type() == fs::file_type::not_found) there = there.parent_path();
  if (there.empty()) there = ".";
  const fs::file_status status = fs::status(there, error);
  if (error) fail_system(path, kMaking, error.value());
  if (!fs::is_directory(status)) fail_system(path, kMaking, ENOTDIR);
  if (access(there.c_str(), W_OK | X_OK) != 0) fail_system(path, kMaking, errno);
}

void require_no_stdout(const NamedFile& file) {
  const auto& [option, path] = file;
  if (path == "-") throw InputError(fmt::format("{}: -; expected a file, or ./- for one of that name", option));
}

void require_different(const std::vector<NamedFile>& written, const std::vector<NamedFile>& read) {
  std::map<std::string, std::string_view> taken;  // which option writes it
  const auto check = [&](const NamedFile& file, bool is_written) {
    const auto& [option, path] = file;
    std::error_code error;
    if (path.empty() || fs::is_character_file(path, error)) return;  // /dev/null takes all
    const fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
    const std::string same = error || path == "-" ? path : found.string();
    const auto other = taken.find(same);
    if (other != taken.end()) {
      throw InputError(fmt::format("{}: {}, which {} writes; expected another file", option, path, other->second));
    }
    if (is_written) taken.emplace(same, option);
  };
  for (const NamedFile& file : written) check(file, true);
  for (const NamedFile& file : read) check(file, false);
}

}  // namespace tcnum
