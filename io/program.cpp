#include "program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "child.hpp"
#include "tcnum/error.hpp"

namespace tcnum {

int run_program(const std::string& program, const std::vector<std::string>& arguments, const Lines::Take& take) try {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), program);
  Child child(std::move(words), Child::Streams::output);
  Lines lines(program, take);
  static_cast<void>(child.await_end({}, [&](std::span<const std::byte> bytes) {
    lines.add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    return false;
  }));
  lines.finish();
  return child.status().value_or(0);
} catch (const std::system_error& error) {
  throw UnavailableError(fmt::format("{}: cannot be started: {}", program, error.code().message()));
}

// --- Lines

void Lines::add(std::string_view piece) {
  constexpr std::size_t kLongest = std::size_t{1} << 20;
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    line_ += piece.substr(0, end);
    if (line_.size() > kLongest) {
      throw InputError(fmt::format("{}: has a line longer than {} MiB; expected text", where_, kLongest >> 20));
    }
    if (end == piece.npos) return;
    take_(line_);
    line_.clear();
    piece.remove_prefix(end + 1);
  }
}

void Lines::finish() {
  if (!line_.empty()) take_(line_);
  line_.clear();
}

}  // namespace tcnum
