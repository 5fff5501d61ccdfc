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

class BarriersMeasurement final : public Measurement {
 public:
  std::string name() const override { return "barriers"; }
  std::string meaning() const override {
    return "barriers of a block and of a cluster: cycles by the number of threads";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<std::string> threads = {"32", "64", "128", "256", "512", "1024"},
                                          clusters = {"1", "2", "4", "8", "16"};
    static const std::vector<Axis> axes = {{"threads", "threads of a block", threads, threads},
                                           {"cluster", "blocks of a cluster", clusters, clusters}};
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    if (!tcnum::arch(arch).name.starts_with("sm_")) return names;
    for (const Kind& kind : kKinds) names.emplace_back(kind.name);
    return names;
  }

  void measure(TimingDevice& device, ArchId arch, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    for (const std::string& subject : subjects) {
      const Kind& kind = *std::ranges::find_if(kKinds, [&](const Kind& k) { return k.name == subject; });
      for (const std::string& cluster : selection.at("cluster")) {
        const auto blocks = static_cast<unsigned>(std::stoi(cluster));
        if (kind.of_clusters != (blocks > 1)) continue;
        Record record{name(), subject, {{"cluster", std::int64_t{blocks}}}, {}, {}, "", ""};
        if (settings.has(record)) continue;
        if (!settings.go_on(fmt::format("{}, {} blocks", subject, cluster))) return;
        SyncDevice* const sync = device.sync();
        if (sync == nullptr) {
          record.waived = "this device or build does not time barriers";
        } else if (blocks > sync->most_cluster_blocks()) {
          record.waived = fmt::format("clusters of this device have at most {} blocks", sync->most_cluster_blocks());
        } else if (kind.barrier == Barrier::mbarrier && arch < ArchId::sm_90) {
          record.waived = "mbarriers are waited for as of sm_90";
        } else {
          measure_into(record, [&] { measure_one(*sync, kind, blocks, selection, settings.stop, record); });
        }
        add(std::move(record));
      }
    }
  }

 private:
  static void measure_one(SyncDevice& device, const Kind& kind, unsigned cluster, const Selection& selection,
                          const StopRule& stop, Record& record) {
    std::vector<double> all_threads, all_cycles, spreads;
    for (const std::string& threads : selection.at("threads")) {
      const BarrierWork work{kind.barrier, static_cast<unsigned>(std::stoi(threads)), cluster};
      const Summary s = summarise(sample_until(stop, [&] {
        const BarrierTimes times = device.barriers(work, kLaunches);
        if (times.checks == 0 || times.right != times.checks) {
          throw WrongResult(fmt::format("{} of {} threads: after it, {} of {} reads found what was written before it",
                                        kind.name, threads, times.right, times.checks));
        }
        return summarise(times.cycles).mean / work.steps;
      }));
      all_threads.push_back(work.threads);
      all_cycles.push_back(s.median);
      spreads.push_back(s.spread_percent());
    }
    record.set("least_cycles", *std::ranges::min_element(all_cycles));
    record.set("most_cycles", *std::ranges::max_element(all_cycles));
    record.set("spread_percent", *std::ranges::max_element(spreads));
    record.set("checked", std::string("what every thread's neighbour wrote before it"));
    record.series.push_back({"sweep_threads", std::move(all_threads)});
    record.series.push_back({"sweep_cycles", std::move(all_cycles)});
  }
};

}  // namespace

const Measurement& barriers_measurement() {
  static const BarriersMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
