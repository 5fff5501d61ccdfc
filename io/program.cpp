#include "program.hpp"

#include <fmt/format.h>

#include <string_view>
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

}  // namespace tcnum
