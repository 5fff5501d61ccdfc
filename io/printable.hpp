// The text of strangers as people are shown it: nothing in it moves a terminal's cursor, ends a line, is invisible, or
// is read from right to left where the rest is not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tcnum {

/// On one line of UTF-8. Control characters and their like become "\u001b", bytes that are no UTF-8 "\xff"; all else
/// stays as it is, so that what is printable already does not change.
std::string printable(std::string_view text);
/// The same of lines: keeps what ends them. JSON stays the same JSON.
std::string printable_lines(std::string_view text);

/// So long may the text of a stranger be inside a message.
inline constexpr std::size_t kMostShown = 60;
/// And so long where it is what a line is about, such as the name of a device.
inline constexpr std::size_t kMostOfName = 200;
/// On one line, and cut behind so many characters.
std::string shown(std::string_view text, std::size_t most = kMostShown);
/// The same in quotes.
std::string in_quotes(std::string_view text);
/// On one line of so many bytes at most: cut in its middle, as what is right often stands at the end.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace tcnum
