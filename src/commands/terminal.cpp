#include "terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "src/report/layout.hpp"

namespace tcnum {

std::size_t line_width() {
  constexpr std::size_t kNarrowest = 20, kWidest = 10'000;
  const auto is_usable = [](std::size_t width) { return width >= kNarrowest && width <= kWidest; };
  if (const char* const columns = std::getenv("COLUMNS"); columns != nullptr) {
    const std::string_view text = columns;
    std::size_t width = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error == std::errc() && end == text.data() + text.size() && is_usable(width)) return width;
  }
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && is_usable(size.ws_col)) return size.ws_col;
  return kReportWidth;
}

bool shows_colour(int stream) {
  const auto value_of = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return std::string_view(value == nullptr ? "" : value);
  };
  return isatty(stream) == 1 && value_of("NO_COLOR").empty() && value_of("TERM") != "dumb";
}

std::string painted(std::string_view text, Colour colour) {
  return fmt::format("\033[{}m{}\033[0m", static_cast<int>(colour), text);
}

}  // namespace tcnum
