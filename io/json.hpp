// JSON that a stranger wrote: one reader for all of it, whose time and memory are in proportion to the text.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tcnum {

struct JsonLimits {
  std::size_t bytes = std::size_t{64} << 20;
  /// Levels of arrays and objects inside each other. A datapath's chain of 4096 nodes has as many.
  std::size_t levels = 4180;
  /// Members of one object.
  std::size_t members = 10'000;
  /// Of all: an empty array takes two bytes of text, and far more of memory.
  std::size_t values = 4'000'000;
};

/// One JSON value and nothing else, in UTF-8 without a byte order mark. Also refused: a key that stands twice in one
/// object, a number that no double holds, and what is beyond the limits. Throws InputError; `where` is what its message
/// begins with, such as the file's name.
nlohmann::ordered_json parse_json(std::string_view text, std::string_view where, const JsonLimits& limits = {});

/// The same of a regular file. `right` says what is expected where it is none, such as "a datapath in JSON".
nlohmann::ordered_json read_json(const std::string& path, std::string_view right, const JsonLimits& limits = {});

}  // namespace tcnum
