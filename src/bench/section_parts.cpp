#include "section_parts.hpp"

#include <fmt/format.h>

#include <utility>

namespace tcnum::bench {

std::string cell(const Record& record, const char* name, int digits) {
  const auto x = record.number(name);
  return x ? fmt::format("{:.{}f}", *x, digits) : "–";
}

bool is(const Record& r, std::string_view measurement) { return r.measurement == measurement && !r.values.empty(); }

std::vector<const Record*> select(const Document& document, const std::function<bool(const Record&)>& wanted) {
  std::vector<const Record*> found;
  for (const Record& r : document.records) {
    if (wanted(r)) found.push_back(&r);
  }
  return found;
}

std::vector<std::string> plots_of(std::vector<Plot> plots) {
  std::vector<std::string> drawn;
  for (Plot& plot : plots) {
    if (std::string text = svg(std::move(plot)); !text.empty()) drawn.push_back(std::move(text));
  }
  return drawn;
}

}  // namespace tcnum::bench
