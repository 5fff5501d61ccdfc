#include "output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <nlohmann/json.hpp>
#include <system_error>

#include "io/failures.hpp"
#include "io/printable.hpp"
#include "io/replacement_file.hpp"
#include "src/campaign/launch.hpp"

namespace tcnum {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kAttempt = "cannot be written";

/// The first write to standard output that failed: errno, or 0.
int stdout_error = 0;

/// Whether writing makes or replaces a file; folders are refused where that is done.
bool is_replaced(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return !fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status);
}

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
  const std::string lines = printable_lines(text);
  if (!is_replaced(path)) return write_directly(path, lines);
  ReplacementFile file(path);
  file.write(lines);
  file.commit();
}

void write_json(const std::string& path, const nlohmann::ordered_json& json) {
  // Names of files may hold anything.
  write_text(path, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void report(const std::string& json_path, std::string_view text, const nlohmann::ordered_json& json) {
  if (json_path != "-") say(text);
  if (!json_path.empty()) write_json(json_path, json);
}

void require_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  if (is_replaced(path))
    const ReplacementFile made_and_removed(path);
  else if (access(path.c_str(), W_OK) != 0)
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

// --- Failures

namespace {

/// Of a path that the user gave: no such file, a loop of links, a name too long.
bool is_wrong_path(const std::filesystem::filesystem_error& error) {
  constexpr std::array kWrong = {ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG, EACCES, EPERM, EEXIST, EROFS, EINVAL};
  return !error.path1().empty() && std::ranges::find(kWrong, error.code().value()) != kWrong.end();
}

/// Empty if it has none.
std::string message_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "";
  }
}

}  // namespace

void complain(std::string_view message) {
  constexpr std::size_t kMostBytes = 4000;
  static_cast<void>(std::fprintf(stderr, "tcnum: %s\n", shortened(message, kMostBytes).c_str()));
}

ExitStatus report_failure(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const InputError& error) {
    complain(error.what());
    return kWrongInput;
  } catch (const ContradictionError& error) {
    complain(error.what());
    return kDisagreed;
  } catch (const std::filesystem::filesystem_error& error) {
    complain(error.what());
    return is_wrong_path(error) ? kWrongInput : kUnavailable;
  } catch (const std::bad_alloc&) {  // for the line too, perhaps
    static_cast<void>(std::fputs("tcnum: not enough memory on this machine\n", stderr));
  } catch (const std::exception& error) {
    complain(error.what());
  } catch (...) {
    complain("failed, and nothing says why");
  }
  return kUnavailable;
}

void Attempts::failed(const std::exception_ptr& why) {
  const auto is_why = [&](const std::exception_ptr& other) {
    return other == why || (!message_of(why).empty() && message_of(other) == message_of(why));
  };
  if (std::ranges::none_of(failures_, is_why)) failures_.push_back(why);
}

ExitStatus Attempts::finish(ExitStatus earned) const {
  for (const std::exception_ptr& failure : failures_) {
    const ExitStatus status = report_failure(failure);
    if (earned == kAgreed) earned = status;
  }
  return earned;
}

// --- Progress

ProgressLine::ProgressLine(std::string_view text, std::chrono::milliseconds interval)
    : terminal_(isatty(STDERR_FILENO) == 1) {
  const std::optional<Launch> launched = launch();
  if (!terminal_ && (!launched || launched->rank == 0)) {
    try {
      speaker_ = std::jthread([this, interval](const std::stop_token& stop) { say_now_and_then(stop, interval); });
    } catch (const std::system_error&) {  // there is no room for a thread: the work goes on unsaid
    }
  }
  if (!text.empty()) show(text);
}

void ProgressLine::show(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  text_ = text;
  if (terminal_) static_cast<void>(std::fprintf(stderr, "\r\033[K%s", printable(text).c_str()));
}

void ProgressLine::say_now_and_then(const std::stop_token& stop, std::chrono::milliseconds interval) const {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, stop, interval, [] { return false; }) && !stop.stop_requested()) {
    if (text_.empty()) continue;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    static_cast<void>(std::fprintf(stderr, "tcnum: %.0f s: %s\n", seconds, printable(text_).c_str()));
  }
}

std::string progress_text(const FitProgress& progress) {
  std::string text(progress.phase);
  if (progress.all > 1) text += fmt::format(" {} of {}", std::min(progress.done, progress.all), progress.all);
  if (progress.candidates > 0) text += fmt::format(", {} left", progress.candidates);
  return text;
}

}  // namespace tcnum
