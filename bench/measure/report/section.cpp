#include "section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tcnum::bench {
namespace {

constexpr const char* kNone = "–";

/// By each number of the series x the highest one of y.
std::map<double, double> highest_by(const Record& record, std::string_view x, std::string_view y) {
  std::map<double, double> highest;
  for (std::size_t i = 0; record.number(x, i) && record.number(y, i); ++i) {
    const double value = *record.number(y, i);
    const auto [place, is_new] = highest.emplace(*record.number(x, i), value);
    if (!is_new) place->second = std::max(place->second, value);
  }
  return highest;
}

}  // namespace

Column number(std::string heading, std::string name, int digits) {
  return {std::move(heading), [name = std::move(name), digits](const Record& r) { return cell(r, name, digits); }};
}
Column text(std::string heading, std::string name) {
  return {std::move(heading), [name = std::move(name)](const Record& r) { return r.text(name); }};
}
Column size(std::string heading, std::string name) {
  return {std::move(heading), [name = std::move(name)](const Record& r) { return size_text(r.number(name)); }};
}
Column both(std::string heading, std::string first, std::string second) {
  return {std::move(heading), [first = std::move(first), second = std::move(second)](const Record& r) {
            const std::string text = r.text(first);
            return text.empty() ? kNone : text + " × " + r.text(second);
          }};
}
Column subject(std::string heading) {
  return {std::move(heading), [](const Record& r) { return r.subject; }};
}
Column over(const char* x, const char* y, std::function<std::string(double)> heading_of, int digits) {
  return {"", {}, x, y, std::move(heading_of), digits};
}

namespace {

/// The heading, and a row for each record.
std::vector<std::vector<std::string>> table_of(const Records& rows, const std::vector<Column>& columns) {
  std::vector<std::vector<std::string>> table(1 + rows.size());
  for (const Column& column : columns) {
    if (column.x == nullptr) {
      table[0].push_back(column.heading);
      for (std::size_t i = 0; i < rows.size(); ++i) table[1 + i].push_back(column.cell(*rows[i]));
      continue;
    }
    std::vector<std::map<double, double>> sweeps;
    std::set<double> places;
    for (const Record* r : rows) {
      sweeps.push_back(highest_by(*r, column.x, column.y));
      for (const auto& [x, y] : sweeps.back()) places.insert(x);
    }
    for (const double x : places) {
      table[0].push_back(column.heading_of(x));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto found = sweeps[i].find(x);
        const bool there = found != sweeps[i].end();
        table[1 + i].push_back(there ? fmt::format("{:.{}f}", found->second, column.digits) : kNone);
      }
    }
  }
  return table;
}

}  // namespace

Section section_of(const Document& document, const SectionTable& table) {
  return {table.title, table.prose, table_of(select(document, table.of), table.columns), table.of_report};
}

bool is(const Record& r, std::string_view measurement) { return r.measurement == measurement && !r.values.empty(); }

Records select(const Document& document, const std::function<bool(const Record&)>& wanted) {
  Records found;
  for (const Record& r : document.records) {
    if (wanted(r)) found.push_back(&r);
  }
  return found;
}

std::function<bool(const Record&)> of(std::string measurement) {
  return [name = std::move(measurement)](const Record& r) { return is(r, name); };
}

std::string cell(const Record& record, std::string_view name, int digits) {
  const auto x = record.number(name);
  return x ? fmt::format("{:.{}f}", *x, digits) : kNone;
}

std::string published_cycles(std::span<const PublishedCycles> published, std::string_view name) {
  const auto found = std::ranges::find(published, name, &PublishedCycles::name);
  return found == published.end() ? kNone : fmt::format("{:.1f}", found->cycles);
}

std::string size_text(const std::optional<double>& bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (!bytes || !(*bytes >= 0)) return kNone;
  double number = *bytes;
  std::size_t unit = 0;
  for (; number >= 1024 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  return fmt::format("{:.4g} {}", number, kUnits[unit]);
}

}  // namespace tcnum::bench
