// Latency of one copy, by its size: nothing else goes on on the device.
#include <algorithm>

#include "copies.hpp"
#include "sums.hpp"

namespace tcnum::bench {
namespace {

void measure_latency(const Row& row, const CopyMethod& method) {
  CopyLatencyWork work{.method = method, .from_l2 = row.record.text("from") == "l2"};
  // Whether from DRAM or not: more would only cost page walks, which are the measurement of memories' business.
  work.buffer_bytes = copy_buffer_bytes(row, true);
  row.device.fill(work.buffer_bytes, row.settings.fill_seed());
  Points sweep{"latency_bytes", "latency_cycles", "latency_min_cycles", "latency_max_cycles"};
  double spread = 0;
  std::size_t samples = 0;
  for (const unsigned bytes : row.numbers("latency_bytes")) {
    work.copy_bytes = bytes;
    if (bytes < least_copy_bytes(method) || bytes > most_copy_bytes(method)) continue;
    if (bytes > row.device.ring_bytes()) continue;
    std::vector<double> cycles, of_launches;
    while (of_launches.size() < row.settings.stop.least_samples) {
      const CopyLatencies found = row.device.copy_latencies(work);
      check_latencies(work, found, row.settings.fill_seed());
      cycles.insert(cycles.end(), found.cycles.begin(), found.cycles.end());
      of_launches.push_back(median_of(found.cycles));
    }
    const Summary all = summarise(std::move(cycles));
    sweep.add(bytes, all.median, all.min, all.max);
    spread = std::max(spread, summarise(of_launches).spread_percent());
    samples = all.count;
  }
  if (sweep.empty()) no_such_size();
  Record& record = row.record;
  record.set("least_bytes", static_cast<std::int64_t>(sweep[0].front()));
  record.set("least_cycles", sweep[1].front());
  record.set("most_bytes", static_cast<std::int64_t>(sweep[0].back()));
  record.set("most_cycles", sweep[1].back());
  record.set("spread_percent", spread);
  record.set("samples_of_a_size", static_cast<std::int64_t>(samples));
  record.set("checked", std::string("the sum by place of every copy"));
  sweep.put(record);
}

}  // namespace

Measurement copy_latency_measurement() {
  return measurement_of_methods(
      "copy latency", "one copy from global to shared memory, from its first instruction until its last word is read",
      kLatencyOf, {swept({"latency_bytes", "bytes of the copy; a row has them all", doubled(128, 65536)})},
      measure_latency);
}

}  // namespace tcnum::bench
