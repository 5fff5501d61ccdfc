#include "sync_sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "published.hpp"
#include "section_parts.hpp"
#include "sync.hpp"

namespace tcnum::bench {
namespace {

/// The rates of a ring's threads over its loads in flight.
Line ring_line(const Record& r, double threads) {
  const std::vector<double>* const all = r.numbers("ring_threads");
  Line line{fmt::format("{} blocks, {:.0f} threads", r.text("blocks"), threads), {}};
  const auto points = points_of(r, "ring_parallel", "ring_bytes_per_clock");
  for (std::size_t i = 0; all != nullptr && i < std::min(all->size(), points.size()); ++i) {
    if ((*all)[i] == threads) line.points.push_back(points[i]);
  }
  return line;
}

/// For each number of bins, the highest rate that any number of threads gave.
std::vector<std::pair<double, double>> best_of_bins(const Record& r) {
  std::map<double, double> best;
  for (const auto& [bins, rate] : points_of(r, "sweep_bins", "sweep_giga_elements_per_second")) {
    best[bins] = std::max(best[bins], rate);
  }
  return {best.begin(), best.end()};
}

HeatMap heat_map(const Record& r) {
  const std::vector<double>* const cycles = r.numbers("pair_cycles");
  const auto blocks = r.number("blocks");
  constexpr double kMostBlocks = 64;  // far more than a cluster has
  if (cycles == nullptr || !blocks || !(*blocks >= 1 && *blocks <= kMostBlocks)) return {};
  return {fmt::format("Latency in a cluster of {:.0f} blocks, in cycles", *blocks), "block whose shared memory is read",
          "block that reads", static_cast<std::size_t>(*blocks), *cycles};
}

}  // namespace

Section atomics_section(const Document& document) {
  Section section{
      "Atomics",
      "Latency: cycles of one thread of each SM whose operand is what the operation before gave. Interval: cycles of "
      "an "
      "SM for each operation of a warp, with 1024 threads on each SM at work, and how many operations of a thread that "
      "is in a clock: of an SM, and of all of them. Same: all threads of a block, or of the device where the memory is "
      "global, reach one word; own: each has its own. Cluster: the shared memory of the other block of a cluster of "
      "two. red gives nothing back; cas tries again with what it found. Every word at the end, and the sum of what was "
      "given, is what must be.",
      {{"operation", "memory", "address", "latency", "interval", "spread %", "operations/clk/SM", "operations/clk"}},
      {}};
  for (const Record* r : rows_of(document, atomics_measurement())) {
    section.table.push_back({r->subject, r->text("space"), r->text("address"), cell(*r, "latency_cycles", 1),
                             cell(*r, "interval_cycles", 2), cell(*r, "spread_percent", 2),
                             cell(*r, "results_per_clock", 3), cell(*r, "device_results_per_clock", 1)});
  }
  return section;
}

Section barriers_section(const Document& document) {
  Section section{
      "Barriers",
      "Cycles from one barrier to the next, all threads meeting, on all SMs at the same time. mbarrier: each "
      "thread arrives at an mbarrier in shared memory and waits for its phase. relaxed: the cluster's barrier "
      "without the fence of memory that it otherwise has before and behind. Beside the timed loop every "
      "thread reads what its neighbour wrote before the barrier.",
      {{"barrier", "blocks of a cluster"}},
      {}};
  const auto rows = rows_of(document, barriers_measurement());
  Plot plot{"Barriers over the threads of a block", "threads", "cycles", {}, true};
  std::set<double> all_threads;
  for (const Record* r : rows) {
    for (const auto& [threads, cycles] : points_of(*r, "sweep_threads", "sweep_cycles")) all_threads.insert(threads);
  }
  for (double threads : all_threads) section.table[0].push_back(fmt::format("{:.0f} threads", threads));
  for (const Record* r : rows) {
    std::vector<std::string> row = {r->subject, r->text("cluster")};
    Line line{r->text("cluster") == "1" ? r->subject : fmt::format("{}, {}", r->subject, r->text("cluster")), {}};
    line.points = points_of(*r, "sweep_threads", "sweep_cycles");
    for (double threads : all_threads) {
      const auto found = std::ranges::find(line.points, threads, &std::pair<double, double>::first);
      row.push_back(found == line.points.end() ? "–" : fmt::format("{:.1f}", found->second));
    }
    section.table.push_back(std::move(row));
    plot.lines.push_back(std::move(line));
  }
  section.plots = plots_of({std::move(plot)});
  return section;
}

Section clusters_section(const Document& document) {
  Section section{
      "Clusters: distributed shared memory",
      fmt::format(
          "Latency: one lane follows pointers through a block's shared memory, cycles for each: of another "
          "block's (the mean over the pairs, and the pairs with the least and the most), and of its own by the "
          "same way. Ring: every block reads the next one's shared memory, 16 bytes a thread; the best number of "
          "threads × loads in flight, with as many clusters as the device has room for. Published: {:.0f} "
          "cycles, and {:.2f} TB/s in rings of 2 ({}).",
          kPublishedClusters.latency_cycles, kPublishedClusters.tera_bytes_per_second, kPublishedStudy),
      {{"measured", "blocks", "latency", "least", "most", "own", "TB/s", "B/clk/SM", "best", "of SMs", "spread %",
        "MHz"}},
      {}};
  std::vector<Plot> plots = {
      {"Ring reads over the loads of a thread in flight", "loads", "bytes of an SM in a clock", {}}};
  std::vector<std::string> maps;
  for (const Record* r : rows_of(document, clusters_measurement())) {
    const std::string best = r->text("best_threads");
    section.table.push_back({r->subject, r->text("blocks"), cell(*r, "latency_cycles", 1), cell(*r, "least_cycles", 1),
                             cell(*r, "most_cycles", 1), cell(*r, "own_cycles", 1),
                             cell(*r, "tera_bytes_per_second", 2), cell(*r, "bytes_per_clock", 2),
                             best.empty() ? "–" : best + " × " + r->text("best_parallel"), cell(*r, "device_blocks", 0),
                             cell(*r, "spread_percent", 2), cell(*r, "clock_mhz", 0)});
    for (double threads : {128.0, 1024.0}) {
      // More lines could not be told apart.
      if (r->number("blocks") == 2 || r->number("blocks") == 16) plots[0].lines.push_back(ring_line(*r, threads));
    }
    if (std::string map = svg_heat_map(heat_map(*r)); !map.empty()) maps = {std::move(map)};  // of the largest cluster
  }
  section.plots = plots_of(std::move(plots));
  std::ranges::move(maps, std::back_inserter(section.plots));
  return section;
}

Section histogram_section(const Document& document) {
  Section section{
      "Clusters: histogram",
      "The programming guide's histogram with distributed shared memory: its bins are divided over the blocks of a "
      "cluster, and each thread adds 1 to the bin of each element, in whichever block's shared memory it is "
      "(red.shared "
      "where there are no clusters). Elements are made in registers, so that no other memory counts. As many clusters "
      "as "
      "run at the same time, several blocks on an SM where their bins leave room. Columns of bins: 10^9 elements a "
      "second of the whole device, with the best number of threads; – where a cluster has no room for so many. Every "
      "bin's count is compared with the CPU's.",
      {{"blocks of a cluster", "best", "elements/clk/SM", "bins × threads", "spread %", "MHz"}},
      {}};
  Plot plot{"Histogram over bins", "bins", "10^9 elements a second", {}, true, true, true};
  std::set<double> all_bins;
  const auto rows = rows_of(document, histogram_measurement());
  for (const Record* r : rows) {
    Line line{r->text("cluster") == "1" ? "no clusters" : fmt::format("clusters of {}", r->text("cluster")),
              best_of_bins(*r)};
    for (const auto& [bins, rate] : line.points) all_bins.insert(bins);
    plot.lines.push_back(std::move(line));
  }
  for (double bins : all_bins) section.table[0].push_back(fmt::format("{:.0f}", bins));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Record& r = *rows[i];
    std::vector<std::string> row = {r.text("cluster"),
                                    cell(r, "giga_elements_per_second", 0),
                                    cell(r, "elements_per_clock", 2),
                                    fmt::format("{} × {}", r.text("best_bins"), r.text("best_threads")),
                                    cell(r, "spread_percent", 2),
                                    cell(r, "clock_mhz", 0)};
    for (double bins : all_bins) {
      const auto& points = plot.lines[i].points;
      const auto found = std::ranges::find(points, bins, &std::pair<double, double>::first);
      row.push_back(found == points.end() ? "–" : fmt::format("{:.0f}", found->second));
    }
    section.table.push_back(std::move(row));
  }
  section.plots = plots_of({std::move(plot)});
  return section;
}

}  // namespace tcnum::bench
