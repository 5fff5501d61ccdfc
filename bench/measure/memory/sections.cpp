#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/measure/plot.hpp"
#include "bench/measure/published.hpp"
#include "bench/measure/section_parts.hpp"
#include "memory.hpp"

namespace tcnum::bench {
namespace {

constexpr double kKibi = 1024, kMebi = kKibi * kKibi;
std::vector<std::pair<double, double>> in_mebi(std::vector<std::pair<double, double>> points) {
  for (auto& [x, y] : points) x /= kMebi;
  return points;
}

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
  const auto rows = select(document, [](const Record& r) { return is(r, latency_measurement().name()); });
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
    const std::string name = fmt::format("{}, {}", r->subject.substr(r->subject.find('.') + 1), r->text("address"));
    curves.lines.push_back({name, in_mebi(points_of(*r, "sweep_bytes", "sweep_latency_cycles"))});
  }
  section.plots = plots_of({std::move(curves)});
  return section;
}

Section bandwidth_section(const Document& document) {
  Section section{
      "Memory: bandwidth",
      "All SMs read at once, 1024 threads each, loads of so many bytes. B/clk/SM: each SM's bytes by its own clocks, "
      "the mean over the SMs, with the slowest and the fastest; TB/s: the sum of these rates at the measured clock; of "
      "launch: all bytes from the first block's begin to the last one's end. Shared memory and L1: each SM reads a "
      "buffer of its own. L2 and DRAM: all read the same buffer, each from a place of its own on, past the L1; "
      "one_sm: one of them, while the others are idle. The best size of those that are the level's alone; of the L2 "
      "the largest, as in smaller ones SMs are near enough to get what another one has just asked for: coalesced, the "
      "highest B/clk/SM of these. Holds: the largest buffer with 97 % of the rate. % pins: of memory clock × 2 × bus.",
      {{"where", "load bytes", "B/clk/SM", "slowest SM", "fastest SM", "TB/s", "of launch", "% pins", "buffer",
        "coalesced", "holds", "spread %", "MHz", "W"}},
      {}};
  Plot own{"Bandwidth over the size of each SM's buffer", "KiB of an SM", "bytes of an SM in a clock", {}, true, true};
  Plot common{"Bandwidth over the size of the buffer that all read", "MiB", "TB/s", {}, true, true};
  for (const Record* r : select(document, [](const Record& r) { return is(r, bandwidth_measurement().name()); })) {
    section.table.push_back({r->subject, r->text("read_bytes"), cell(*r, "bytes_per_clock", 1),
                             cell(*r, "slowest_bytes_per_clock", 1), cell(*r, "fastest_bytes_per_clock", 1),
                             cell(*r, "tera_bytes_per_second", 2), cell(*r, "launch_tera_bytes_per_second", 2),
                             cell(*r, "percent_of_pins", 1), size_text(r->number("best_bytes")),
                             cell(*r, "coalesced_bytes_per_clock", 1), size_text(r->number("holds_bytes")),
                             cell(*r, "spread_percent", 2), cell(*r, "clock_mhz", 0), cell(*r, "power_watts", 0)});
    const std::string name =
        fmt::format("{}, {} bytes", r->subject.substr(r->subject.find('.') + 1), r->text("read_bytes"));
    if (r->subject == "bandwidth.l2.one_sm") continue;  // too little to be seen beside all SMs
    if (r->subject == "bandwidth.shared" || r->subject == "bandwidth.l1") {
      auto points = points_of(*r, "sweep_bytes", "sweep_bytes_per_clock");
      for (auto& point : points) point.first /= kKibi;
      own.lines.push_back({name, std::move(points)});
    } else {
      common.lines.push_back({name, in_mebi(points_of(*r, "sweep_bytes", "sweep_tera_bytes_per_second"))});
    }
  }
  section.plots = plots_of({std::move(own), std::move(common)});
  return section;
}

Section streams_section(const Document& document) {
  Section section{
      "Memory: streams",
      fmt::format(
          "Kernels that go once over arrays of doubles, eight times the L2 each, 16 elements a thread. Shared memory "
          "that nothing uses lets an SM have few blocks at a time: 3 % of its threads are one of 64. Saturated: the "
          "least occupancy with 97 % of the highest rate. % highest: of the highest rate of these kernels. % pins: of "
          "memory clock and bus. The study's H800 PCIe: {} GB/s.",
          kPublishedDramGigaBytes),
      {{"stream", "GB/s", "% highest", "% pins", "at occupancy %", "saturated from %", "spread %", "W", "GB/J"}},
      {}};
  Plot plot{"Streams over occupancy", "% of the threads that an SM can have", "GB/s", {}};
  for (const Record* r : select(document, [](const Record& r) { return is(r, streams_measurement().name()); })) {
    section.table.push_back({r->subject, cell(*r, "giga_bytes_per_second", 0), cell(*r, "percent_of_highest", 1),
                             cell(*r, "percent_of_pins", 1), cell(*r, "best_occupancy_percent", 0),
                             cell(*r, "saturated_occupancy_percent", 0), cell(*r, "spread_percent", 2),
                             cell(*r, "power_watts", 0), cell(*r, "giga_bytes_per_joule", 1)});
    plot.lines.push_back({r->subject, points_of(*r, "sweep_occupancy_percent", "sweep_giga_bytes_per_second")});
  }
  section.plots = plots_of({std::move(plot)});
  return section;
}

Section host_section(const Document& document) {
  Section section{
      "Memory: the host's",
      "Copies with cudaMemcpyAsync, each waited for, of 1 KiB to 1 GiB: locked memory (pinned) or as a program gets it "
      "(pageable), to the device, from it, and both at once by two threads (then bytes of both count). Fit: time is "
      "start + bytes / rate. Managed: a triad over arrays that the host wrote last (first), and again (GB/s).",
      {{"what", "1 KiB takes µs", "GB/s", "fit: start µs", "fit: GB/s", "first GB/s", "spread %"}},
      {}};
  Plot plot{"Copies over their size", "MiB", "GB/s", {}, true, true};
  for (const Record* r : select(document, [](const Record& r) { return is(r, host_measurement().name()); })) {
    section.table.push_back({r->subject, cell(*r, "least_us", 2), cell(*r, "giga_bytes_per_second", 1),
                             cell(*r, "fit_start_us", 2), cell(*r, "fit_giga_bytes_per_second", 1),
                             cell(*r, "first_giga_bytes_per_second", 1), cell(*r, "spread_percent", 1)});
    plot.lines.push_back({r->subject, in_mebi(points_of(*r, "sweep_bytes", "sweep_giga_bytes_per_second"))});
  }
  section.plots = plots_of({std::move(plot)});
  return section;
}

Section strides_section(const Record& record) {
  return {fmt::format("Memory: {}, elements of {} bytes", record.subject, record.text("width")),
          "Bytes that an SM gets in a clock of loads whose lanes lie so many elements apart: the stride is the row's "
          "number and the column's together.",
          strides_table(record),
          plots_of({{fmt::format("Bytes of an SM in a clock over the stride, {}, {} bytes", record.subject,
                                 record.text("width")),
                     "stride",
                     "bytes of an SM in a clock",
                     {{record.subject, points_of(record, "sweep_stride", "sweep_bytes_per_clock")}}}}),
          true};
}

}  // namespace

std::vector<std::vector<std::string>> strides_table(const Record& record) {
  constexpr int kRows = 16, kColumns = 8;
  const auto points = points_of(record, "sweep_stride", "sweep_bytes_per_clock");
  std::vector<std::vector<std::string>> rows = {{"stride"}};
  for (int column = 1; column <= kColumns; ++column) rows[0].push_back(fmt::format("+ {}", column));
  for (int row = 0; row < kRows; ++row) {
    rows.push_back({std::to_string(row * kColumns)});
    for (int column = 1; column <= kColumns; ++column) {
      const auto point = std::ranges::find(points, row * kColumns + column, &std::pair<double, double>::first);
      rows.back().push_back(point == points.end() ? "–" : fmt::format("{:.1f}", point->second));
    }
  }
  return rows;
}

bool is_of_memory(const Record& record) {
  return std::ranges::any_of(std::array{&latency_measurement(), &strides_measurement(), &bandwidth_measurement(),
                                        &streams_measurement(), &host_measurement(), &roofline_measurement()},
                             [&](const Measurement* m) { return is(record, m->name()); });
}

std::vector<Section> memory_sections(const Document& document) {
  std::vector<Section> all = {latency_section(document), bandwidth_section(document), streams_section(document),
                              host_section(document)};
  for (const Record* r : select(document, [](const Record& r) { return is(r, strides_measurement().name()); })) {
    all.push_back(strides_section(*r));
  }
  return all;
}

}  // namespace tcnum::bench
