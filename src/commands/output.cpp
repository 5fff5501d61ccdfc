#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "tcnum/error.hpp"

namespace tcnum {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail_writing(std::string_view what, int error) {
  if (error == EPIPE) throw OutputClosed{};
  throw InputError(fmt::format("{}: cannot be written: {}", what, std::generic_category().message(error)));
}

/// 0, or errno.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(descriptor, text.data(), text.size());
    if (n >= 0)
      text.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR)
      return errno;
  }
  return 0;
}

}  // namespace

void finish_stdout() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail_writing("standard output", errno);
}

void say(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_writing("standard output", errno);
  finish_stdout();
}

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") return say(text);
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  const bool direct = fs::exists(status) && !fs::is_regular_file(status);
  const fs::path target = fs::is_regular_file(status) ? fs::canonical(path, ignored) : fs::path(path);
  const fs::path temporary = target.parent_path() / fmt::format(".tcnum-{}.tmp", getpid());
  const std::string written = direct ? path : temporary.string();

  const int descriptor =
      open(written.c_str(), direct ? O_WRONLY | O_CLOEXEC : O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) fail_writing(path, errno);
  int error = write_all(descriptor, text);
  if (error == 0 && !direct && fsync(descriptor) != 0) error = errno;
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && !direct && std::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  if (!direct) unlink(temporary.c_str());
  fail_writing(path, error);
}

void write_json(const std::string& path, const nlohmann::ordered_json& json) {
  // Names of files may hold anything.
  write_text(path, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
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
