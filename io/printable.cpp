#include "printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace tcnum {
namespace {

/// A character of UTF-8 at the beginning of a text.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0: what the text begins with is none
};

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t code = lead & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kLeast[bytes] || surrogate || code > 0x10ffff ? Character{} : Character{code, bytes};
}

/// What a person cannot see, or what makes them see something else.
bool is_hidden(char32_t code) {
  struct Range {
    char32_t first, last;
  };
  constexpr std::array<Range, 10> kHidden = {{
      {0x00, 0x1f},        // controls, the escape character among them
      {0x7f, 0x9f},        // more of them
      {0xad, 0xad},        // soft hyphen
      {0x61c, 0x61c},      // Arabic letter mark
      {0x200b, 0x200f},    // characters without width, and marks of direction
      {0x2028, 0x202e},    // ends of lines and paragraphs; embeddings and overrides of direction
      {0x2060, 0x206f},    // more of both
      {0xfeff, 0xfeff},    // byte order mark
      {0xfff9, 0xfffb},    // annotations
      {0xe0000, 0xe007f},  // tags
  }};
  return std::ranges::any_of(kHidden, [&](const Range& r) { return code >= r.first && code <= r.last; });
}

/// As JSON has it.
std::string escaped(char32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  if (code < 0x10000) return fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
  const std::uint32_t rest = static_cast<std::uint32_t>(code) - 0x10000;
  return fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
}

std::string printable(std::string_view text, bool lines) {
  std::string out;
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(
        std::ranges::find_if_not(text, [](char c) { return c >= ' ' && c <= '~'; }) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Character c = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(c.bytes, 1);
    if (c.bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[0]));
    } else if (is_hidden(c.code) && !(lines && c.code == '\n')) {
      out += escaped(c.code);
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

bool continues_character(char c) { return (static_cast<std::uint8_t>(c) & 0xc0) == 0x80; }

constexpr std::string_view kCut = "…";

/// The bytes of the first so many characters.
std::size_t bytes_of(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  for (std::size_t n = 0; at < text.size(); ++at) {
    if (!continues_character(text[at]) && n++ == characters) break;
  }
  return at;
}

}  // namespace

std::string printable(std::string_view text) { return printable(text, false); }
std::string printable_lines(std::string_view text) { return printable(text, true); }

std::string shown(std::string_view text, std::size_t most) {
  // What is cut off below is not looked at: a character has four bytes at most.
  const std::string line = printable(text.substr(0, 4 * (most + 1)));
  const std::size_t bytes = bytes_of(line, most);
  if (bytes == line.size()) return line;
  return line.substr(0, bytes).append(kCut);
}

std::string in_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : shown(text)) {
    if (c == '"') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string shortened(std::string_view text, std::size_t most) {
  std::string line = printable(text);
  if (line.size() <= most) return line;
  std::size_t first = (most - kCut.size()) / 2, last = line.size() - first;
  while (first > 0 && continues_character(line[first])) --first;
  while (last < line.size() && continues_character(line[last])) ++last;
  return line.substr(0, first).append(kCut).append(line, last);
}

}  // namespace tcnum
