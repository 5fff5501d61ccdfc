#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <system_error>

#include "io/printable.hpp"
#include "src/campaign/launch.hpp"

namespace tcnum {

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
