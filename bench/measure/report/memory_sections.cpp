// What the pages show of memories.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "published.hpp"
#include "sections.hpp"

namespace tcnum::bench {
namespace {

constexpr double kKibi = 1024, kMebi = kKibi * kKibi, kGigaOfTera = 1e3;

/// A value that a record's levels have, by the beginning of its name, and what it is called.
struct LevelRow {
  const char* key;
  const char* text;
};
constexpr auto kLevelRows = std::to_array<LevelRow>({
    {"shared", "shared memory"},
    {"l1", "L1"},
    {"l2", "L2"},
    {"l2_far", "L2, a second level"},
    {"l2_3", "L2, a third level"},
    {"dram", "DRAM"},
    {"dram_2", "DRAM, beyond the reach of a TLB"},
    {"dram_3", "DRAM, beyond the reach of a further TLB"},
    {"pages_1", "L2, a line of each page of 2 MiB"},
    {"pages_2", "the same, beyond the reach of a TLB"},
    {"pages_3", "the same, beyond the reach of a second TLB"},
    {"pages_4", "the same, beyond the reach of a third TLB"},
});

Section latency_section(const Document& document) {
  Section section{
      "Memory: latency",
      "Cycles from a load to the next, which needs its result: one lane goes round a random cycle of pointers "
      "(address: pointer), or of indices in an array, where an instruction makes an address of each (index). A level "
      "is "
      "a range of buffer sizes over which the latency stays the same (docs/benchmarks.md has the rule), and fits up to "
      "the largest of them. Published: the H800 PCIe of the study below.",
      {{"where", "address", "cycles", "ns", "fits up to", "published cycles"}},
      {}};
  const Records rows = rows_of(document, "latency");
  for (const LevelRow& level : kLevelRows) {
    const std::string key = level.key;
    const auto published = std::ranges::find(published_latencies(), level.key, &PublishedLatency::level);
    for (const Record* r : rows) {
      const std::string cycles = key + "_latency_cycles", ns = key + "_latency_ns";
      if (!r->number(cycles)) continue;
      section.table.push_back(
          {level.text, r->text("address"), cell(*r, cycles.c_str(), 1), cell(*r, ns.c_str(), 1),
           size_text(r->number(key + "_fits_bytes")),
           published == published_latencies().end() ? "–" : fmt::format("{:.1f}", published->cycles)});
    }
  }
  Plot curves{"Latency over the size of the buffer", "MiB", "cycles", {}, true, true};
  for (const Record* r : rows) {
    Line line{fmt::format("{}, {}", short_name(*r), r->text("address")),
              points_of(*r, "sweep_bytes", "sweep_latency_cycles")};
    for (auto& [bytes, cycles] : line.points) bytes /= kMebi;
    curves.lines.push_back(std::move(line));
  }
  section.plots = plots_of({std::move(curves)});
  return section;
}

bool is_of_own_buffers(const Record& r) { return r.subject == "bandwidth.shared" || r.subject == "bandwidth.l1"; }
std::string bandwidth_line(const Record& r) { return fmt::format("{}, {} bytes", short_name(r), r.text("read_bytes")); }

SectionTable bandwidth_table() {
  return {
      "Memory: bandwidth",
      "All SMs read at once, 1024 threads each, loads of so many bytes. B/clk/SM: each SM's bytes by its own clocks, "
      "the mean over the SMs, with the slowest and the fastest; TB/s: the sum of these rates at the measured clock; of "
      "launch: all bytes from the first block's begin to the last one's end. Shared memory and L1: each SM reads a "
      "buffer of its own. L2 and DRAM: all read the same buffer, each from a place of its own on, past the L1; one_sm: "
      "one of them, while the others are idle. The best size of those that are the level's alone; of the L2 the "
      "largest, as in smaller ones SMs are near enough to get what another one has just asked for: coalesced, the "
      "highest B/clk/SM of these. Holds: the largest buffer with 97 % of the rate. % pins: of memory clock × 2 × bus.",
      "bandwidth",
      {subject("where"), text("load bytes", "read_bytes"), number("B/clk/SM", "bytes_per_clock", 1),
       number("slowest SM", "slowest_bytes_per_clock", 1), number("fastest SM", "fastest_bytes_per_clock", 1),
       number("TB/s", "tera_bytes_per_second", 2), number("of launch", "launch_tera_bytes_per_second", 2),
       number("% pins", "percent_of_pins", 1), size("buffer", "best_bytes"),
       number("coalesced", "coalesced_bytes_per_clock", 1), size("holds", "holds_bytes"),
       number("spread %", "spread_percent", 2), number("MHz", "clock_mhz", 0), number("W", "power_watts", 0)},
      {{{"Bandwidth over the size of each SM's buffer", "KiB of an SM", "bytes of an SM in a clock", {}, true, true},
        "sweep_bytes",
        "sweep_bytes_per_clock",
        [](const Record& r) { return is_of_own_buffers(r) ? bandwidth_line(r) : ""; },
        kKibi},
       {{"Bandwidth over the size of the buffer that all read", "MiB", "TB/s", {}, true, true},
        "sweep_bytes",
        "sweep_tera_bytes_per_second",
        [](const Record& r) {
          // One SM's is too little to be seen beside all SMs'.
          return is_of_own_buffers(r) || r.subject == "bandwidth.l2.one_sm" ? "" : bandwidth_line(r);
        },
        kMebi}}};
}

SectionTable streams_table() {
  return {"Memory: streams",
          fmt::format("Kernels that go once over arrays of doubles, eight times the L2 each, 16 elements a thread. "
                      "Shared memory that nothing uses lets an SM have few blocks at a time: 3 % of its threads are "
                      "one of 64. Saturated: the least occupancy with 97 % of the highest rate. % highest: of the "
                      "highest rate of these kernels. % pins: of memory clock and bus. The study's H800 PCIe: {} GB/s.",
                      kPublishedDramGigaBytes),
          "streams",
          {subject("stream"), number("GB/s", "giga_bytes_per_second", 0), number("% highest", "percent_of_highest", 1),
           number("% pins", "percent_of_pins", 1), number("at occupancy %", "best_occupancy_percent", 0),
           number("saturated from %", "saturated_occupancy_percent", 0), number("spread %", "spread_percent", 2),
           number("W", "power_watts", 0), number("GB/J", "giga_bytes_per_joule", 1)},
          {{{"Streams over occupancy", "% of the threads that an SM can have", "GB/s", {}},
            "sweep_occupancy_percent",
            "sweep_giga_bytes_per_second",
            [](const Record& r) { return r.subject; }}}};
}

/// The memory's roof over these points, by the highest rate of any unit, as far up as one of them comes.
Line memory_roof(const Records& rows, const std::vector<Line>& measured) {
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

SectionTable roofline_table() {
  return {"Roofline",
          "Each unit multiplies and adds so many times for each byte that comes from DRAM, from 1/8 to 256 operations: "
          "two for each product. The roofs are the highest rates of the unit and of the memory that were measured, and "
          "where they meet is the ridge. % peak: of the architecture's operations in a clock, at the measured clock; % "
          "pins: of memory clock × 2 × bus. Power and temperature: the highest of all points. Every "
          "result is compared with the CPU's, by a sum.",
          "roofline",
          {short_subject("unit"), number("TFLOP/s", "tera_flops", 1), number("% peak", "percent_of_peak", 1),
           number("GB/s", "giga_bytes_per_second", 0), number("% pins", "percent_of_pins", 1),
           number("ridge, FLOP/B", "ridge_flops_per_byte", 1), number("spread %", "spread_percent", 2),
           number("MHz", "clock_mhz", 0), number("W", "power_watts", 0), number("°C", "temperature_celsius", 0)},
          {{.plot = {"Roofline", "FLOP/B", "TFLOP/s", {}, true, true},
            .x = "sweep_intensity",
            .y = "sweep_tera_flops",
            .name = short_name,
            .more = [](const Records& rows, Plot& plot) { plot.lines.push_back(memory_roof(rows, plot.lines)); }}}};
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
  for (const Record* r : rows_of(document, "roofline")) {
    for (std::size_t i = 0; r->number("sweep_intensity", i); ++i) {
      std::vector<std::string> row = {short_name(*r)};
      for (const Column& column : kColumns) {
        const auto number = r->number(column.series, i);
        row.push_back(number ? fmt::format("{:.{}f}", *number, column.digits) : "–");
      }
      section.table.push_back(std::move(row));
    }
  }
  return section;
}

}  // namespace

std::vector<Section> memory_sections(const Document& document) {
  std::vector<Section> all = {latency_section(document)};
  for (const SectionTable& table : {bandwidth_table(), streams_table()}) {
    all.push_back(section_of(document, table));
  }
  all.push_back(section_of(document, roofline_table()));
  all.push_back(points_section(document));
  return all;
}

}  // namespace tcnum::bench
