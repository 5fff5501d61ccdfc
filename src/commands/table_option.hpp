// --table of the commands that have one.
#pragma once

#include <fmt/format.h>

#include <string>

#include "src/report/property_table.hpp"
#include "tcnum/error.hpp"

namespace tcnum {

inline TableStyle parse_table_style(const std::string& text) {
  if (const auto style = find_table_style(text)) return *style;
  throw InputError(fmt::format("--table: {} is no kind of table; expected {}", text, kTableStyles));
}

}  // namespace tcnum
