#include "bench.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <iterator>

#include "io/input_file.hpp"
#include "io/program.hpp"
#include "src/commands/names.hpp"
#include "tcnum/error.hpp"

namespace tcnum {

std::size_t product_formats_of(std::string_view option, const std::string& text) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kGemmFormats.size(); ++i) {
    names.push_back(format(kGemmFormats[i].operands).name);
    if (names.back() == text) return i;
  }
  throw InputError(fmt::format("{}: {}; expected one of {}", option, text, fmt::join(names, ", ")));
}

std::vector<ShapeRow> read_shapes(const std::string& path, bool may_say_formats) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 28;
  constexpr std::string_view kHeading = "m,n,k", kWithFormats = "m,n,k,format";
  const std::string text = path == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                                       : read_text(path, "a table of m,n,k with commas", kMostBytes);
  std::vector<ShapeRow> all;
  bool with_formats = false;
  std::size_t number = 0;
  Lines lines(path, [&](const std::string& line) {
    const std::string where = fmt::format("{}: line {}", path, ++number);
    const std::string row = line.substr(0, line.find('\r'));
    if (number == 1) {
      with_formats = may_say_formats && row == kWithFormats;
      if (!with_formats && row != kHeading) {
        const std::string other = may_say_formats ? fmt::format(" or {}", kWithFormats) : "";
        throw InputError(fmt::format("{}: expected {}{}", where, kHeading, other));
      }
      return;
    }
    if (row.empty()) return;
    const std::vector<std::string> parts = split(row);
    const std::size_t columns = with_formats ? 4 : 3;
    if (parts.size() != columns) {
      throw InputError(fmt::format("{}: {} values; expected {}, as the heading has", where, parts.size(), columns));
    }
    ShapeRow found{
        {parse_whole(where, parts[0], 1, kMostProductLines), parse_whole(where, parts[1], 1, kMostProductLines),
         parse_whole(where, parts[2], 1, kMostProductDepth)},
        std::nullopt};
    if (with_formats) found.formats = product_formats_of(where, parts[3]);
    all.push_back(found);
  });
  lines.add(text);
  lines.finish();
  if (all.empty()) throw InputError(fmt::format("{}: has no product; expected lines of m,n,k below a heading", path));
  return all;
}

}  // namespace tcnum
