// What the pages show of memories, and of clusters' shared memory.
#include <fmt/format.h>

#include <array>

#include "published.hpp"
#include "sections.hpp"

namespace tcnum::bench {
namespace {

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
  const Records rows = select(document, of("latency"));
  for (const LevelRow& level : kLevelRows) {
    const std::string key = level.key;
    for (const Record* r : rows) {
      const std::string cycles = key + "_latency_cycles", ns = key + "_latency_ns";
      if (!r->number(cycles)) continue;
      section.table.push_back({level.text, r->text("address"), cell(*r, cycles.c_str(), 1), cell(*r, ns.c_str(), 1),
                               size_text(r->number(key + "_fits_bytes")),
                               published_cycles(kPublishedLoads, level.key)});
    }
  }
  return section;
}

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
      of("bandwidth"),
      {subject("where"), text("load bytes", "read_bytes"), number("B/clk/SM", "bytes_per_clock", 1),
       number("slowest SM", "slowest_bytes_per_clock", 1), number("fastest SM", "fastest_bytes_per_clock", 1),
       number("TB/s", "tera_bytes_per_second", 2), number("of launch", "launch_tera_bytes_per_second", 2),
       number("% pins", "percent_of_pins", 1), size("buffer", "best_bytes"),
       number("coalesced", "coalesced_bytes_per_clock", 1), size("holds", "holds_bytes"),
       number("spread %", "spread_percent", 2), number("MHz", "clock_mhz", 0), number("W", "power_watts", 0)}};
}

SectionTable streams_table() {
  return {"Memory: streams",
          fmt::format("Kernels that go once over arrays of doubles, eight times the L2 each, 16 elements a thread. "
                      "Shared memory that nothing uses lets an SM have few blocks at a time: 3 % of its threads are "
                      "one of 64. Saturated: the least occupancy with 97 % of the highest rate. % highest: of the "
                      "highest rate of these kernels. % pins: of memory clock and bus. The study's H800 PCIe: {} GB/s.",
                      kPublishedDramGigaBytes),
          of("streams"),
          {subject("stream"), number("GB/s", "giga_bytes_per_second", 0), number("% highest", "percent_of_highest", 1),
           number("% pins", "percent_of_pins", 1), number("at occupancy %", "best_occupancy_percent", 0),
           number("saturated from %", "saturated_occupancy_percent", 0), number("spread %", "spread_percent", 2),
           number("W", "power_watts", 0), number("GB/J", "giga_bytes_per_joule", 1)}};
}

SectionTable clusters_table() {
  return {"Clusters: distributed shared memory",
          fmt::format("Latency: one lane follows pointers through a block's shared memory, cycles for each: of another "
                      "block's (the mean over the pairs, and the pairs with the least and the most), and of its own by "
                      "the same way. Ring: every block reads the next one's shared memory, 16 bytes a thread; the best "
                      "number of threads × loads in flight, with as many clusters as the device has room for. "
                      "Published: {:.0f} cycles, and {:.2f} TB/s in rings of 2 ({}).",
                      kPublishedClusterCycles, kPublishedRingTeraBytes, kPublishedStudy),
          of("clusters"),
          {subject("measured"), text("blocks", "blocks"), number("latency", "latency_cycles", 1),
           number("least", "least_cycles", 1), number("most", "most_cycles", 1), number("own", "own_cycles", 1),
           number("TB/s", "tera_bytes_per_second", 2), number("B/clk/SM", "bytes_per_clock", 2),
           both("best", "best_threads", "best_parallel"), number("of SMs", "device_blocks", 0),
           number("spread %", "spread_percent", 2), number("MHz", "clock_mhz", 0)}};
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
