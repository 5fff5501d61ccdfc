#include "section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace tcnum::bench {
namespace {

constexpr const char* kNone = "–";

std::map<double, double> highest_by(const std::vector<std::pair<double, double>>& points) {
  std::map<double, double> highest;
  for (const auto& [x, y] : points) {
    const auto [place, is_new] = highest.emplace(x, y);
    if (!is_new) place->second = std::max(place->second, y);
  }
  return highest;
}

Plot plot_of(const Records& rows, const Curves& curves) {
  Plot plot = curves.plot;
  for (const Record* r : rows) {
    Line line{curves.name(*r), {}};
    if (line.name.empty()) continue;
    line.points = points_of(*r, curves.x, curves.y);
    if (curves.highest) {
      const auto highest = highest_by(line.points);
      line.points = {highest.begin(), highest.end()};
    }
    for (auto& [x, y] : line.points) {
      x /= curves.x_unit;
      y /= curves.y_unit;
    }
    plot.lines.push_back(std::move(line));
  }
  if (curves.more) curves.more(rows, plot);
  return plot;
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
Column short_subject(std::string heading) { return {std::move(heading), short_name}; }
Column over(const char* x, const char* y, std::function<std::string(double)> heading_of, int digits, double unit) {
  return {"", {}, x, y, std::move(heading_of), digits, unit};
}

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
      sweeps.push_back(highest_by(points_of(*r, column.x, column.y)));
      for (const auto& [x, y] : sweeps.back()) places.insert(x);
    }
    for (const double x : places) {
      table[0].push_back(column.heading_of(x));
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto found = sweeps[i].find(x);
        const bool there = found != sweeps[i].end();
        table[1 + i].push_back(there ? fmt::format("{:.{}f}", found->second / column.unit, column.digits) : kNone);
      }
    }
  }
  return table;
}

Section section_of(const Document& document, const SectionTable& table) {
  const Records rows = rows_of(document, table.measurement);
  std::vector<Plot> plots;
  for (const Curves& curves : table.curves) plots.push_back(plot_of(rows, curves));
  return {table.title, table.prose, table_of(rows, table.columns), plots_of(std::move(plots)), table.folded};
}

bool is(const Record& r, std::string_view measurement) { return r.measurement == measurement && !r.values.empty(); }

Records select(const Document& document, const std::function<bool(const Record&)>& wanted) {
  Records found;
  for (const Record& r : document.records) {
    if (wanted(r)) found.push_back(&r);
  }
  return found;
}

Records rows_of(const Document& document, std::string_view measurement) {
  return select(document, [&](const Record& r) { return is(r, measurement); });
}

std::string cell(const Record& record, std::string_view name, int digits) {
  const auto x = record.number(name);
  return x ? fmt::format("{:.{}f}", *x, digits) : kNone;
}

std::string short_name(const Record& record) { return record.subject.substr(record.subject.find('.') + 1); }

std::string size_text(const std::optional<double>& bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (!bytes || !(*bytes >= 0)) return kNone;
  double number = *bytes;
  std::size_t unit = 0;
  for (; number >= 1024 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  return fmt::format("{:.4g} {}", number, kUnits[unit]);
}

std::string whole(double number) { return fmt::format("{:.0f}", number); }

std::vector<std::pair<double, double>> points_of(const Record& record, std::string_view x, std::string_view y) {
  const std::vector<double>*const xs = record.numbers(x), *const ys = record.numbers(y);
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; xs != nullptr && ys != nullptr && i < std::min(xs->size(), ys->size()); ++i) {
    points.emplace_back((*xs)[i], (*ys)[i]);
  }
  return points;
}

std::vector<std::string> plots_of(std::vector<Plot> plots) {
  std::vector<std::string> drawn;
  for (Plot& plot : plots) {
    if (std::string text = svg(std::move(plot)); !text.empty()) drawn.push_back(std::move(text));
  }
  return drawn;
}

}  // namespace tcnum::bench
