// What the fuzz harnesses share. A harness is a function of an input's bytes: it does with them what the program would,
// and more, and aborts where the program would be wrong. A test replays its inputs (tests/fuzz_test.cpp);
// libFuzzer looks for more of them (driver.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tcnum/error.hpp"

namespace tcnum::fuzz {

struct Harness {
  std::string_view name;
  bool (*run)(std::string_view input);  ///< whether the program takes it
  /// Good inputs to begin with, small ones, from what the repository holds.
  std::vector<std::string> (*seeds)();
  bool json;  ///< inputs are JSON, for the most part: they are also changed as such (json_mutator.hpp)
};
std::span<const Harness> harnesses();

/// What a harness saw is wrong: prints it, and aborts.
[[noreturn]] void wrong(std::string_view what, std::string_view detail = "");

void check_refusal(std::string_view message, std::string_view where);

/// Runs what reads an input. Whether it took it; if not, it must have said so as users may see it: in an InputError of
/// one printable line, neither empty nor endless, that begins with `where`. Of words of the command line, which have no
/// such place, the program makes the line printable itself. Anything else is wrong.
template <class Action>
bool accepted(const Action& action, std::string_view where = "") {
  try {
    action();
    return true;
  } catch (const InputError& error) {
    check_refusal(error.what(), where);
    return false;
  }
}

/// A file with that content for those who read a path. There is one at a time.
class InputPath {
 public:
  explicit InputPath(std::string_view content);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Where a harness may write a file: in a folder that is in memory if the machine has one, and goes with the process.
const std::string& scratch_path();
std::string contents_of(const std::string& path);

/// An input's bytes as numbers, one after the other; zeros when there are no more.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::uint64_t take(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes && !bytes_.empty(); ++i, bytes_.remove_prefix(1))
      value |= std::uint64_t{static_cast<unsigned char>(bytes_.front())} << 8 * i;
    return value;
  }
  /// Up to the next `end`, which is left out.
  std::string_view until(char end) {
    const std::string_view part = bytes_.substr(0, bytes_.find(end));
    bytes_.remove_prefix(part.size() < bytes_.size() ? part.size() + 1 : part.size());
    return part;
  }

 private:
  std::string_view bytes_;
};

/// The files of a folder of the repository, and what they hold.
std::vector<std::string> contents_of(std::string_view folder, std::string_view extension);

}  // namespace tcnum::fuzz
