// Barriers: cycles from one to the next, by the number of threads that meet.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sync.hpp"

namespace tcnum::bench {
namespace {

constexpr unsigned kLaunches = 3;

struct Kind {
  const char* name;
  Barrier barrier;
  bool of_clusters;
};
constexpr auto kKinds = std::to_array<Kind>({{"__syncthreads", Barrier::block, false},
                                             {"mbarrier", Barrier::mbarrier, false},
                                             {"barrier.cluster", Barrier::cluster, true},
                                             {"barrier.cluster.relaxed", Barrier::relaxed_cluster, true}});

void measure_barrier(const Row& row) {
  const Kind& kind = named(kKinds, row.record.subject);
  const unsigned cluster = row.number("cluster");
  require_clusters(row, cluster);
  if (kind.barrier == Barrier::mbarrier && row.arch < ArchId::sm_90) {
    throw UnavailableError("mbarriers are waited for as of sm_90");
  }
  Points sweep{"sweep_threads", "sweep_cycles"};
  double spread = 0;
  for (const unsigned threads : row.numbers("threads")) {
    const BarrierWork work{kind.barrier, threads, cluster};
    const Summary s = summarise(sample_until(row.settings.stop, [&] {
      const BarrierTimes times = row.device.barriers(work, kLaunches);
      if (times.checks == 0 || times.right != times.checks) {
        throw WrongResult(fmt::format("{} of {} threads: after it, {} of {} reads found what was written before it",
                                      kind.name, threads, times.right, times.checks));
      }
      return summarise(times.cycles).mean / work.steps;
    }));
    sweep.add(threads, s.median);
    spread = std::max(spread, s.spread_percent());
  }
  row.record.set("least_cycles", std::ranges::min(sweep[1]));
  row.record.set("most_cycles", std::ranges::max(sweep[1]));
  row.record.set("spread_percent", spread);
  row.record.set("checked", std::string("what every thread's neighbour wrote before it"));
  sweep.put(row.record);
}

}  // namespace

Measurement barriers_measurement() {
  return {.name = "barriers",
          .meaning = "barriers of a block and of a cluster: cycles by the number of threads",
          .axes = {swept({"threads", "threads of a block", doubled(32, 1024)}),
                   {"cluster", "blocks of a cluster", doubled(1, 16)}},
          .subjects = of_nvidia(names_in(kKinds)),
          .measure_row = measure_barrier,
          .has_row = [](const Record& row) {
            return named(kKinds, row.subject).of_clusters == (row.number("cluster") > 1);
          }};
}

}  // namespace tcnum::bench
