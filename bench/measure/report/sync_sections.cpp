// What the pages show of how threads and blocks meet.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "published.hpp"
#include "sections.hpp"

namespace tcnum::bench {
namespace {

SectionTable atomics_table() {
  return {"Atomics",
          "Latency: cycles of one thread of each SM whose operand is what the operation before gave. Interval: cycles "
          "of an SM for each operation of a warp, with 1024 threads on each SM at work, and how many operations of a "
          "thread that is in a clock: of an SM, and of all of them. Same: all threads of a block, or of the device "
          "where the memory is global, reach one word; own: each has its own. Cluster: the shared memory of the other "
          "block of a cluster of two. red gives nothing back; cas tries again with what it found. Every word at the "
          "end, and the sum of what was given, is what must be.",
          "atomics",
          {subject("operation"), text("memory", "space"), text("address", "address"),
           number("latency", "latency_cycles", 1), number("interval", "interval_cycles", 2),
           number("spread %", "spread_percent", 2), number("operations/clk/SM", "results_per_clock", 3),
           number("operations/clk", "device_results_per_clock", 1)}};
}

SectionTable barriers_table() {
  return {"Barriers",
          "Cycles from one barrier to the next, all threads meeting, on all SMs at the same time. mbarrier: each "
          "thread arrives at an mbarrier in shared memory and waits for its phase. relaxed: the cluster's barrier "
          "without the fence of memory that it otherwise has before and behind. Beside the timed loop every thread "
          "reads what its neighbour wrote before the barrier.",
          "barriers",
          {subject("barrier"), text("blocks of a cluster", "cluster"),
           over(
               "sweep_threads", "sweep_cycles", [](double threads) { return whole(threads) + " threads"; }, 1)},
          {{{"Barriers over the threads of a block", "threads", "cycles", {}, true},
            "sweep_threads",
            "sweep_cycles",
            [](const Record& r) {
              return r.text("cluster") == "1" ? r.subject : fmt::format("{}, {}", r.subject, r.text("cluster"));
            }}}};
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

std::vector<Section> sync_sections(const Document& document) {
  std::vector<Section> all;
  for (const SectionTable& table : {atomics_table(), barriers_table(), clusters_table()}) {
    all.push_back(section_of(document, table));
  }
  return all;
}

}  // namespace tcnum::bench
