// What the pages show of copies to shared memory.
#include <fmt/format.h>

#include "bench/measure/copies.hpp"
#include "sections.hpp"

namespace tcnum::bench {
namespace {

/// PTX's name alone, without what is measured.
std::string method_name(const Record& record) {
  const std::size_t of = record.subject.find(kLatencyOf);
  return of == 0 ? record.subject.substr(kLatencyOf.size()) : record.subject;
}
std::string size_heading(double bytes) { return size_text(bytes); }

SectionTable latency_table() {
  return {
      "Copies to shared memory: latency",
      "Cycles from a copy's first instruction until a thread has read its last word in shared memory; nothing else "
      "goes on on the device. Up to 256 threads load and store, or copy with cp.async, 16 bytes each at a time, and "
      "meet at a barrier before that; cp.async.bulk is one thread's, and its mbarrier is waited for. Multicast: each "
      "block of the cluster copies its part of the bytes to all. From l2: read before, past the L1; from dram: not in "
      "the L2. Medians over the copies; what arrives is summed and compared with the CPU's.",
      of("copy latency"),
      {{"copy", method_name},
       text("from", "from"),
       over("latency_bytes", "latency_cycles", size_heading, 0),
       number("spread %", "spread_percent", 1)}};
}

SectionTable rates_table() {
  return {
      "Copies to shared memory: rates",
      "All SMs copy at once; each of an SM's warps has a ring of stages, waits for its oldest copy and gives the stage "
      "to the next one. TB/s: bytes that arrive in shared memory from the first block's begin to the last one's end; "
      "B/clk/SM: the same by the measured clock, of an SM at work. Fetched: from the memory, of a multicast once for "
      "all blocks of a cluster. From l2: every SM goes over a quarter of the L2's size, beginning at a place of its "
      "own; from dram: each byte of 32 times the L2's size is copied once. Saturated: the fewest bytes under way in an "
      "SM with 97 % of the best rate. % pins: of memory clock × 2 × bus. Every copy is summed by place in a launch "
      "beside the timed ones, and compared with the CPU's.",
      of("copies"),
      {subject("copy"), text("from", "from"), number("TB/s", "tera_bytes_per_second", 2),
       number("B/clk/SM", "bytes_per_clock", 1), number("fetched TB/s", "fetched_tera_bytes_per_second", 2),
       number("% pins", "percent_of_pins", 1), size("bytes of a copy", "best_copy_bytes"),
       both("stages × warps", "best_stages", "best_warps"), size("under way", "best_in_flight_bytes"),
       size("saturated from", "saturated_in_flight_bytes"), number("SMs", "device_blocks", 0),
       number("spread %", "spread_percent", 2), number("MHz", "clock_mhz", 0), number("W", "power_watts", 0)}};
}

}  // namespace

std::vector<Section> copy_sections(const Document& document) {
  return {section_of(document, latency_table()), section_of(document, rates_table())};
}

}  // namespace tcnum::bench
