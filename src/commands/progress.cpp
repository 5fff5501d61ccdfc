#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "io/printable.hpp"

namespace tcnum {

ProgressLine::ProgressLine(std::string_view text) : terminal_(isatty(STDERR_FILENO) == 1) {
  if (!text.empty()) show(text);
}

void ProgressLine::show(std::string_view text) const {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  static_cast<void>(std::fprintf(stderr, "\r\033[K%s", printable(text).c_str()));
}

std::string progress_text(const FitProgress& progress) {
  std::string text(progress.phase);
  if (progress.all > 1) text += fmt::format(" {} of {}", std::min(progress.done, progress.all), progress.all);
  if (progress.candidates > 0) text += fmt::format(", {} left", progress.candidates);
  return text;
}

}  // namespace tcnum
