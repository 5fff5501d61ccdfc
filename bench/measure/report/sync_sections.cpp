// What the pages show of how kernels start, and of how threads and blocks meet.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "published.hpp"
#include "sections.hpp"

namespace tcnum::bench {
namespace {

/// Times of copies over their size: what was measured, and the line of the fit through it. `prefix`: of the names of
/// series and values.
void add_fit(const Record& r, const std::string& prefix, const char* what, Plot& plot) {
  constexpr double kKibi = 1024;
  const auto start = r.number(prefix + "start_us"), rate = r.number(prefix + "giga_bytes_per_second");
  const std::string name = fmt::format("{}, {}", r.text("way"), what);
  Line measured{name, {}, false, true}, fitted{name + ": fit", {}, true};
  for (const auto& [bytes, us] : points_of(r, prefix + "copy_bytes", prefix + "copy_us")) {
    measured.points.emplace_back(bytes / kKibi, us);
    if (start && rate && *rate > 0) fitted.points.emplace_back(bytes / kKibi, *start + 2e-3 * bytes / *rate);
  }
  plot.lines.push_back(std::move(measured));
  plot.lines.push_back(std::move(fitted));
}

SectionTable launch_table() {
  return {
      "Starting kernels",
      "Kernels submitted one by one to a CUDA stream, or as one CUDA graph. Round trip: one empty kernel, from the "
      "host's call until the host knows that it is done. Submit: the host's time for each of 256. Each: the device's "
      "time for each of 256 behind each other; of copies, those of 1 KiB. Copies read and write 1 KiB to 16 MiB, which "
      "stay in the L2. Fits are the line start + bytes / bandwidth with the least squares of relative residuals, and "
      "off is its largest: of the device's time for each of 256 behind each other, without sizes for which the host "
      "took as long to submit them, and of one copy alone from the host's call until the host knows that it is done.",
      "launch",
      {subject("kernels"), text("way", "way"), number("round trip µs", "round_trip_us", 2),
       number("submit µs", "submit_us", 3), number("each µs", "kernel_us", 3), number("fit: start µs", "start_us", 3),
       number("GB/s", "giga_bytes_per_second", 0), number("off %", "fit_off_percent", 1),
       number("alone, fit: start µs", "alone_start_us", 2), number("GB/s", "alone_giga_bytes_per_second", 0),
       number("off %", "alone_fit_off_percent", 1)},
      {{.plot = {"Time of copies over their size, alone and each of 256", "KiB", "µs", {}, true, true},
        .more = [](const Records& rows, Plot& plot) {
          for (const Record* r : rows) {
            add_fit(*r, "", "each", plot);
            add_fit(*r, "alone_", "alone", plot);
          }
        }}}};
}

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

/// Of the latencies between the blocks of the largest cluster.
std::string heat_map(const Document& document) {
  constexpr double kMostBlocks = 64;  // far more than a cluster has
  std::string drawn;
  for (const Record* r : rows_of(document, "clusters")) {
    const std::vector<double>* const cycles = r->numbers("pair_cycles");
    const auto blocks = r->number("blocks");
    if (cycles == nullptr || !blocks || !(*blocks >= 1 && *blocks <= kMostBlocks)) continue;
    std::string map = svg_heat_map({fmt::format("Latency in a cluster of {:.0f} blocks, in cycles", *blocks),
                                    "block whose shared memory is read", "block that reads",
                                    static_cast<std::size_t>(*blocks), *cycles});
    if (!map.empty()) drawn = std::move(map);
  }
  return drawn;
}

SectionTable histogram_table() {
  return {"Clusters: histogram",
          "The programming guide's histogram with distributed shared memory: its bins are divided over the blocks of a "
          "cluster, and each thread adds 1 to the bin of each element, in whichever block's shared memory it is "
          "(red.shared where there are no clusters). Elements are made in registers, so that no other memory counts. "
          "As many clusters as run at the same time, several blocks on an SM where their bins leave room. Columns of "
          "bins: 10^9 elements a second of the whole device, with the best number of threads; – where a cluster has no "
          "room for so many. Every bin's count is compared with the CPU's.",
          "histogram",
          {text("blocks of a cluster", "cluster"), number("best", "giga_elements_per_second", 0),
           number("elements/clk/SM", "elements_per_clock", 2), both("bins × threads", "best_bins", "best_threads"),
           number("spread %", "spread_percent", 2), number("MHz", "clock_mhz", 0),
           over("sweep_bins", "sweep_giga_elements_per_second", whole, 0)},
          {{.plot = {"Histogram over bins", "bins", "10^9 elements a second", {}, true, true, true},
            .x = "sweep_bins",
            .y = "sweep_giga_elements_per_second",
            .name =
                [](const Record& r) {
                  return r.text("cluster") == "1" ? "no clusters" : fmt::format("clusters of {}", r.text("cluster"));
                },
            .highest = true}}};
}

}  // namespace

std::vector<Section> sync_sections(const Document& document) {
  std::vector<Section> all;
  for (const SectionTable& table :
       {launch_table(), atomics_table(), barriers_table(), clusters_table(), histogram_table()}) {
    all.push_back(section_of(document, table));
  }
  if (std::string map = heat_map(document); !map.empty()) all[3].plots.push_back(std::move(map));
  return all;
}

}  // namespace tcnum::bench
