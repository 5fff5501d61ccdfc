// The terminal that standard output may be: how wide it is, and whether it shows colour.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tcnum {

/// Columns of a line: as COLUMNS says, else as many as the terminal has, else those of a report.
std::size_t line_width();

enum class Colour : unsigned char { red = 31, green = 32, yellow = 33 };

/// Whether what is written to standard output, or to another stream, is seen in colour: it is a terminal that is not
/// "dumb", and NO_COLOR (no-color.org) is not set to anything.
bool shows_colour(int stream);
/// The text in that colour, in a terminal's escape sequences.
std::string painted(std::string_view text, Colour colour);

}  // namespace tcnum
