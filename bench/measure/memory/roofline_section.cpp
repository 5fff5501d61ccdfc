#include "roofline_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/measure/plot.hpp"
#include "bench/measure/run_records.hpp"
#include "bench/measure/section_parts.hpp"
#include "memory.hpp"

namespace tcnum::bench {
namespace {

constexpr double kGigaOfTera = 1e3;

/// The subject without what is measured, and of which GPU it is where there are several.
std::string unit_of(const Record& record) {
  std::string unit = record.subject.substr(record.subject.find('.') + 1);
  const std::string device = record.text("device"), host = record.text("host");
  if (device == kAllDevices) return fmt::format("{}, {} GPUs", unit, record.text("devices"));
  if (!device.empty()) unit += fmt::format(", GPU {}", device);
  return host.empty() ? unit : fmt::format("{} of {}", unit, host);
}

/// The memory's roof over these points, by the highest rate of any unit, as far up as one of them comes.
Line memory_roof(const std::vector<const Record*>& rows, const std::vector<Line>& measured) {
  double giga_bytes = 0, tera_flops = 0;
  for (const Record* r : rows) {
    giga_bytes = std::max(giga_bytes, r->number("giga_bytes_per_second").value_or(0));
    tera_flops = std::max(tera_flops, r->number("tera_flops").value_or(0));
  }
  std::set<double> intensities;
  for (const Line& line : measured) {
    for (const auto& [intensity, rate] : line.points) intensities.insert(intensity);
  }
  Line roof{fmt::format("DRAM, {:.0f} GB/s", giga_bytes), {}, true};
  for (double intensity : intensities) {
    const double rate = intensity * giga_bytes / kGigaOfTera;
    if (rate <= tera_flops) roof.points.emplace_back(intensity, rate);
  }
  return roof;
}

Section roofs_section(const Document& document) {
  Section section{
      "Roofline",
      "Each unit multiplies and adds so many times for each byte that comes from DRAM, from 1/8 to 256 operations: two "
      "for each product. The roofs are the highest rates of the unit and of the memory that were measured, and where "
      "they meet is the ridge. % peak: of the architecture's operations in a clock, at the measured clock; % pins: of "
      "memory clock × 2 × bus. Power and temperature: the highest of all points. Several GPUs measure each point at "
      "the same time, and a row of all of "
      "them has the sums of their rates and powers. Every result is compared with the "
      "CPU's, by a sum.",
      {{"unit", "TFLOP/s", "% peak", "GB/s", "% pins", "ridge, FLOP/B", "spread %", "MHz", "W", "°C"}},
      {}};
  Plot plot{"Roofline", "FLOP/B", "TFLOP/s", {}, true, true};
  const auto rows = select(document, [](const Record& r) { return is(r, roofline_measurement().name()); });
  for (const Record* r : rows) {
    section.table.push_back({unit_of(*r), cell(*r, "tera_flops", 1), cell(*r, "percent_of_peak", 1),
                             cell(*r, "giga_bytes_per_second", 0), cell(*r, "percent_of_pins", 1),
                             cell(*r, "ridge_flops_per_byte", 1), cell(*r, "spread_percent", 2),
                             cell(*r, "clock_mhz", 0), cell(*r, "power_watts", 0), cell(*r, "temperature_celsius", 0)});
    plot.lines.push_back({unit_of(*r), points_of(*r, "sweep_intensity", "sweep_tera_flops")});
  }
  plot.lines.push_back(memory_roof(rows, plot.lines));
  section.plots = plots_of({std::move(plot)});
  return section;
}

Section points_section(const Document& document) {
  struct Column {
    const char *heading, *series;
    int digits;
  };
  static constexpr Column kColumns[] = {{"FLOP/B", "sweep_intensity", 3},
                                        {"TFLOP/s", "sweep_tera_flops", 2},
                                        {"GB/s", "sweep_giga_bytes_per_second", 0},
                                        {"% of the roof", "sweep_percent_of_roof", 1},
                                        {"MHz", "sweep_clock_mhz", 0},
                                        {"W", "sweep_power_watts", 0},
                                        {"°C", "sweep_temperature_celsius", 0}};
  Section section{"Roofline: all points",
                  "The roof of a point is the lower one of the unit's and the memory's.",
                  {{"unit"}},
                  {},
                  true};
  for (const Column& column : kColumns) section.table[0].emplace_back(column.heading);
  for (const Record* r : select(document, [](const Record& r) { return is(r, roofline_measurement().name()); })) {
    const std::vector<double>* const intensities = r->numbers("sweep_intensity");
    for (std::size_t i = 0; intensities != nullptr && i < intensities->size(); ++i) {
      std::vector<std::string> row = {unit_of(*r)};
      for (const Column& column : kColumns) {
        const std::vector<double>* const numbers = r->numbers(column.series);
        const bool has = numbers != nullptr && i < numbers->size();
        row.push_back(has ? fmt::format("{:.{}f}", (*numbers)[i], column.digits) : "–");
      }
      section.table.push_back(std::move(row));
    }
  }
  return section;
}

}  // namespace

std::vector<Section> roofline_sections(const Document& document) {
  return {roofs_section(document), points_section(document)};
}

}  // namespace tcnum::bench
