#include "section_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

std::vector<const Record*> rows_of(const Document& document, const Measurement& measurement) {
  return select(document, [&](const Record& r) { return is(r, measurement.name()); });
}

std::vector<std::pair<double, double>> points_of(const Record& record, std::string_view x, std::string_view y) {
  const std::vector<double>*const xs = record.numbers(x), *const ys = record.numbers(y);
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; xs != nullptr && ys != nullptr && i < std::min(xs->size(), ys->size()); ++i) {
    points.emplace_back((*xs)[i], (*ys)[i]);
  }
  return points;
}

std::string size_text(const std::optional<double>& bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (!bytes || !(*bytes >= 0)) return "–";
  double number = *bytes;
  std::size_t unit = 0;
  for (; number >= 1024 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  return fmt::format("{:.4g} {}", number, kUnits[unit]);
}

std::vector<std::string> plots_of(std::vector<Plot> plots) {
  std::vector<std::string> drawn;
  for (Plot& plot : plots) {
    if (std::string text = svg(std::move(plot)); !text.empty()) drawn.push_back(std::move(text));
  }
  return drawn;
}

}  // namespace tcnum::bench
