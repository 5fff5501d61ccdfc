// Text in lines and columns, printable() whatever it holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tcnum {

/// No line of a text report is longer, but for a single word that is.
inline constexpr std::size_t kReportWidth = 110;

/// Rows of cells as aligned columns, the first row a heading. Cells of the last column are wrapped at kReportWidth; the
/// others from `wide` characters on. Each line is indented by two.
std::string table_text(const std::vector<std::vector<std::string>>& rows, std::size_t wide = 32);
/// Wraps text at a width, each line indented.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width = kReportWidth);

/// Characters of UTF-8 text.
std::size_t width_of(std::string_view text);
/// The text with spaces up to a width; as it is where it is wider.
std::string padded(std::string_view text, std::size_t width);

/// 12345678 as "12,345,678"; datapaths of a space, which may be fewer than exact, as "1.2e+12".
std::string count_text(double count);
inline std::string count_text(std::size_t count) { return count_text(static_cast<double>(count)); }
/// "1 product", "2 products".
std::string plural(std::size_t n, std::string_view noun);

}  // namespace tcnum
