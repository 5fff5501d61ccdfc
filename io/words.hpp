// A command in one text, taken apart as a shell would, without a shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tcnum {

/// Words between blanks. As in a POSIX shell, '…' keeps all that it holds, "…" all but \" and \\, and a backslash
/// outside keeps the next character; nothing else means anything: no variables, no patterns, no pipes. Throws
/// InputError, with `where` in front, if a quote does not end or there is no word.
std::vector<std::string> split_words(std::string_view command, std::string_view where);

}  // namespace tcnum
