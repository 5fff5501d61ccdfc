#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/measure/plot.hpp"
#include "bench/measure/published.hpp"
#include "bench/measure/section_parts.hpp"
#include "copies.hpp"

namespace tcnum::bench {
namespace {

constexpr double kKibi = 1024, kGigaOfTera = 1e3;

/// The series of a record side by side, as long as the shortest; none if one is missing.
std::vector<std::vector<double>> columns_of(const Record& record, const std::vector<const char*>& names) {
  std::vector<std::vector<double>> points;
  for (std::size_t i = 0;; ++i) {
    std::vector<double> point;
    for (const char* name : names) {
      const std::vector<double>* const numbers = record.numbers(name);
      if (numbers == nullptr || i >= numbers->size()) return points;
      point.push_back((*numbers)[i]);
    }
    points.push_back(std::move(point));
  }
}

/// PTX's name alone, without what is measured.
std::string method_name(const Record& record) {
  const std::size_t of = record.subject.find(kLatencyOf);
  return of == 0 ? record.subject.substr(kLatencyOf.size()) : record.subject;
}
/// As a plot's legend has room for.
std::string line_name(const Record& record) {
  constexpr std::string_view kLong = "cp.async.bulk.tensor", kShort = "tensor";
  std::string name = method_name(record);
  if (name.starts_with(kLong)) name.replace(0, kLong.size(), kShort);
  return name;
}

/// Plots leave out tensor copies of three dimensions and more: there are no colours for so many lines.
bool is_drawn(const Record& record) {
  constexpr unsigned kMostDimensions = 2;
  const auto method = std::ranges::find(copy_methods(), method_name(record), &NamedMethod::name);
  return method == copy_methods().end() || method->method.dimensions <= kMostDimensions;
}

std::vector<Plot> values_of(std::map<std::string, Plot> plots) {
  std::vector<Plot> values;
  for (auto& [name, plot] : plots) values.push_back(std::move(plot));
  return values;
}

Section latency_section(const Document& document) {
  Section section{
      "Copies to shared memory: latency",
      "Cycles from a copy's first instruction until a thread has read its last word in shared memory; nothing else "
      "goes on on the device. Up to 256 threads load and store, or copy with cp.async, 16 bytes each at a time, and "
      "meet at a barrier before that; cp.async.bulk is one thread's, and its mbarrier is waited for. Multicast: each "
      "block of the cluster copies its part of the bytes to all. From l2: read before, past the L1; from dram: not "
      "in the L2. Medians over the copies; what arrives is summed and compared with the CPU's. Plots have tensor "
      "copies of one and two dimensions alone.",
      {{"copy", "from"}},
      {}};
  const auto rows = rows_of(document, copy_latency_measurement());
  std::set<double> sizes;
  for (const Record* r : rows) {
    for (const auto& point : columns_of(*r, {"latency_bytes", "latency_cycles"})) sizes.insert(point[0]);
  }
  for (double size : sizes) section.table[0].push_back(size_text(size));
  section.table[0].push_back("spread %");
  std::map<std::string, Plot> plots;
  for (const Record* r : rows) {
    std::vector<std::string> row = {method_name(*r), r->text("from")};
    std::map<double, double> cycles;
    Line line{line_name(*r), {}};
    for (const auto& point : columns_of(*r, {"latency_bytes", "latency_cycles"})) {
      cycles[point[0]] = point[1];
      line.points.emplace_back(point[0] / kKibi, point[1]);
    }
    for (double size : sizes) row.push_back(cycles.contains(size) ? fmt::format("{:.0f}", cycles[size]) : "–");
    row.push_back(cell(*r, "spread_percent", 1));
    section.table.push_back(std::move(row));
    if (!is_drawn(*r)) continue;
    Plot& plot = plots[r->text("from")];
    plot.title = fmt::format("Latency of a copy from {} over its size", r->text("from"));
    plot.x_name = "KiB";
    plot.y_name = "cycles";
    plot.logarithmic_x = plot.logarithmic_y = true;
    plot.lines.push_back(std::move(line));
  }
  section.plots = plots_of(values_of(std::move(plots)));
  return section;
}

/// The highest rate for each number of bytes under way, with the best of the other axes.
Line best_over_flight(const Record& record) {
  std::map<double, double> best;
  for (const auto& point : columns_of(record, {"sweep_in_flight_bytes", "sweep_giga_bytes_per_second"})) {
    best[point[0]] = std::max(best[point[0]], point[1]);
  }
  Line line{line_name(record), {}};
  for (const auto& [bytes, rate] : best) line.points.emplace_back(bytes / kKibi, rate / kGigaOfTera);
  return line;
}

Section rates_section(const Document& document) {
  Section section{
      "Copies to shared memory: rates",
      "All SMs copy at once; each of an SM's warps has a ring of stages, waits for its oldest copy and gives the stage "
      "to the next one. TB/s: bytes that arrive in shared memory from the first block's begin to the last one's end; "
      "B/clk/SM: the same by the measured clock, of an SM at work. Fetched: from the memory, of a multicast once for "
      "all blocks of a cluster. From l2: every SM goes over a quarter of the L2's size, beginning at a place of its "
      "own; from dram: each byte of 32 times the L2's size is copied once. Saturated: the fewest bytes under way in "
      "an SM with 97 % of the best rate. % pins: of memory clock × 2 × bus. Every copy is summed by place in a launch "
      "beside the timed ones, and compared with the CPU's.",
      {{"copy", "from", "TB/s", "B/clk/SM", "fetched TB/s", "% pins", "bytes of a copy", "stages × warps", "under way",
        "saturated from", "SMs", "spread %", "MHz", "W"}},
      {}};
  std::map<std::string, Plot> plots;
  for (const Record* r : rows_of(document, copies_measurement())) {
    const std::string stages = r->text("best_stages");
    section.table.push_back({r->subject, r->text("from"), cell(*r, "tera_bytes_per_second", 2),
                             cell(*r, "bytes_per_clock", 1), cell(*r, "fetched_tera_bytes_per_second", 2),
                             cell(*r, "percent_of_pins", 1), size_text(r->number("best_copy_bytes")),
                             stages.empty() ? "–" : stages + " × " + r->text("best_warps"),
                             size_text(r->number("best_in_flight_bytes")),
                             size_text(r->number("saturated_in_flight_bytes")), cell(*r, "device_blocks", 0),
                             cell(*r, "spread_percent", 2), cell(*r, "clock_mhz", 0), cell(*r, "power_watts", 0)});
    Plot& plot = plots[r->text("from")];
    plot.title = fmt::format("Copies from {} over the bytes under way in an SM", r->text("from"));
    plot.x_name = "KiB under way";
    plot.y_name = "TB/s that arrive";
    plot.logarithmic_x = true;
    if (is_drawn(*r)) plot.lines.push_back(best_over_flight(*r));
  }
  section.plots = plots_of(values_of(std::move(plots)));
  return section;
}

/// The best of each size, and of each number of stages.
Section rates_by_size(const Document& document) {
  Section section{"Copies to shared memory: rates by the bytes of a copy and by stages",
                  "TB/s that arrive, at the best of the other axes.",
                  {{"copy", "from"}},
                  {},
                  true};
  const auto rows = rows_of(document, copies_measurement());
  std::vector<std::map<double, double>> by_size, by_stages;
  std::set<double> sizes, all_stages;
  for (const Record* r : rows) {
    auto& of_size = by_size.emplace_back();
    auto& of_stages = by_stages.emplace_back();
    for (const auto& point : columns_of(*r, {"sweep_copy_bytes", "sweep_stages", "sweep_giga_bytes_per_second"})) {
      const double rate = point[2] / kGigaOfTera;
      of_size[point[0]] = std::max(of_size[point[0]], rate);
      of_stages[point[1]] = std::max(of_stages[point[1]], rate);
      sizes.insert(point[0]);
      all_stages.insert(point[1]);
    }
  }
  for (double size : sizes) section.table[0].push_back(size_text(size));
  for (double stages : all_stages) {
    section.table[0].push_back(fmt::format("{:.0f} {}", stages, stages == 1 ? "stage" : "stages"));
  }
  const auto text = [](const std::map<double, double>& rates, double x) {
    const auto found = rates.find(x);
    return found == rates.end() ? "–" : fmt::format("{:.3f}", found->second);
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> row = {rows[i]->subject, rows[i]->text("from")};
    for (double size : sizes) row.push_back(text(by_size[i], size));
    for (double stages : all_stages) row.push_back(text(by_stages[i], stages));
    section.table.push_back(std::move(row));
  }
  return section;
}

Section product_section(const Document& document) {
  Section section{
      "Copies to shared memory: a product through tiles",
      fmt::format(
          "fp32, one element of C a thread: tiles of A and B are loaded and stored before each step along k, or "
          "copied with cp.async one step ahead. Shared memory that nothing uses lets an SM have so many blocks "
          "at a time. Published: {:.1f} times as fast with asynchronous copies ({}). Every element is compared with "
          "the CPU's.",
          kPublishedAsyncSpeedup, kPublishedStudy),
      {{"threads", "blocks of an SM", "GFLOP/s", "cp.async GFLOP/s", "gain %", "spread %", "cp.async spread %", "MHz"}},
      {}};
  for (const Record* r : rows_of(document, tiled_product_measurement())) {
    section.table.push_back({r->subject, r->text("product_blocks"), cell(*r, "giga_flops", 0),
                             cell(*r, "async_giga_flops", 0), cell(*r, "gain_percent", 1),
                             cell(*r, "spread_percent", 2), cell(*r, "async_spread_percent", 2),
                             cell(*r, "clock_mhz", 0)});
  }
  return section;
}

}  // namespace

bool is_of_copies(const Record& record) {
  return is(record, copy_latency_measurement().name()) || is(record, copies_measurement().name());
}

std::vector<Section> copy_sections(const Document& document) {
  return {latency_section(document), rates_section(document), rates_by_size(document), product_section(document)};
}

}  // namespace tcnum::bench
