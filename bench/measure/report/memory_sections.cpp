// What the pages show of memories, and of clusters' shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "published.hpp"
#include "sections.hpp"

namespace tcnum::bench {
namespace {

constexpr double kKibi = 1024, kMebi = kKibi * kKibi;

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

/// The rates of a ring's threads over its loads in flight; of the clusters that can be told apart.
void add_rings(const Records& rows, Plot& plot) {
  for (const Record* r : rows) {
    const std::vector<double>* const all = r->numbers("ring_threads");
    const auto points = points_of(*r, "ring_parallel", "ring_bytes_per_clock");
    if (all == nullptr || (r->number("blocks") != 2 && r->number("blocks") != 16)) continue;
    for (const double threads : {128.0, 1024.0}) {
      Line line{fmt::format("{} blocks, {:.0f} threads", r->text("blocks"), threads), {}};
      for (std::size_t i = 0; i < std::min(all->size(), points.size()); ++i) {
        if ((*all)[i] == threads) line.points.push_back(points[i]);
      }
      plot.lines.push_back(std::move(line));
    }
  }
}

SectionTable clusters_table() {
  return {"Clusters: distributed shared memory",
          fmt::format("Latency: one lane follows pointers through a block's shared memory, cycles for each: of another "
                      "block's (the mean over the pairs, and the pairs with the least and the most), and of its own by "
                      "the same way. Ring: every block reads the next one's shared memory, 16 bytes a thread; the best "
                      "number of threads × loads in flight, with as many clusters as the device has room for. "
                      "Published: {:.0f} cycles, and {:.2f} TB/s in rings of 2 ({}).",
                      kPublishedClusters.latency_cycles, kPublishedClusters.tera_bytes_per_second, kPublishedStudy),
          "clusters",
          {subject("measured"), text("blocks", "blocks"), number("latency", "latency_cycles", 1),
           number("least", "least_cycles", 1), number("most", "most_cycles", 1), number("own", "own_cycles", 1),
           number("TB/s", "tera_bytes_per_second", 2), number("B/clk/SM", "bytes_per_clock", 2),
           both("best", "best_threads", "best_parallel"), number("of SMs", "device_blocks", 0),
           number("spread %", "spread_percent", 2), number("MHz", "clock_mhz", 0)},
          {{.plot = {"Ring reads over the loads of a thread in flight", "loads", "bytes of an SM in a clock", {}},
            .more = add_rings}}};
}

}  // namespace

std::vector<Section> memory_sections(const Document& document) {
  std::vector<Section> all = {latency_section(document)};
  for (const SectionTable& table : {bandwidth_table(), streams_table(), clusters_table()}) {
    all.push_back(section_of(document, table));
  }
  return all;
}

}  // namespace tcnum::bench
