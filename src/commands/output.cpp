#include "output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "io/failures.hpp"
#include "io/printable.hpp"
#include "io/replacement_file.hpp"

namespace tcnum {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_writing(std::string_view what, int error) {
  if (error == EPIPE) throw OutputClosed{};
  fail_system(what, "cannot be written", error);
}

/// What cannot be replaced, a pipe or a device, takes the text as it comes.
void write_directly(const std::string& path, std::string_view text) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail_writing(path, errno);
  int error = write_all(descriptor, std::as_bytes(std::span(text)));
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0) fail_writing(path, error);
}

}  // namespace

void finish_stdout() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail_writing("standard output", errno);
}

void say(std::string_view text) {
  const std::string lines = printable_lines(text);
  errno = 0;
  if (std::fwrite(lines.data(), 1, lines.size(), stdout) != lines.size()) fail_writing("standard output", errno);
  finish_stdout();
}

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") return say(text);
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  const bool replaceable = !fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status);
  if (!replaceable) return write_directly(path, text);
  ReplacementFile file(path);
  file.write(text);
  file.commit();
}

void write_json(const std::string& path, const nlohmann::ordered_json& json) {
  // Names of files may hold anything, and the library leaves some control characters as they are.
  write_text(path, printable_lines(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n");
}

void require_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) fail_writing(path, EISDIR);
  fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) folder = ".";
  if (!fs::exists(path, ignored) && access(folder.c_str(), W_OK) != 0) fail_writing(path, errno);
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::show(std::string_view text) const {
  if (terminal_) static_cast<void>(std::fprintf(stderr, "\r\033[K%.*s", static_cast<int>(text.size()), text.data()));
}

}  // namespace tcnum
