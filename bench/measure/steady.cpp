#include "steady.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

namespace tcnum::bench {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Reads the energy counter on a thread of its own, so that the device does not wait for it.
class EnergyLog {
 public:
  explicit EnergyLog(const TimingDevice& device)
      : thread_([this, &device](const std::stop_token& stop) {
          constexpr auto kInterval = std::chrono::milliseconds(2);
          const auto start = Clock::now();
          while (!stop.stop_requested()) {
            const auto joules = device.energy_joules();
            if (!joules) return;
            readings_.push_back({seconds_since(start), *joules});
            std::this_thread::sleep_for(kInterval);
          }
        }) {}
  std::vector<EnergyReading> finish() {
    thread_.request_stop();
    thread_.join();
    return std::move(readings_);
  }

 private:
  std::vector<EnergyReading> readings_;
  std::jthread thread_;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

constexpr double kLaunchCycles = 1e6;  // half a millisecond: what lies between launches does not show
constexpr double kBatchCycles = 2e7;
constexpr double kLeastSettleSeconds = 0.06, kMostSettleSeconds = 0.2;
constexpr unsigned kFewLaunches = 3;

/// Runs until the clock stays where it is, for so long at least.
void settle(TimingDevice& device, const TimedWork& work, unsigned launches, double seconds) {
  constexpr double kSame = 0.005;
  constexpr int kEnough = 3;
  const auto begin = Clock::now();
  double before = 0;
  for (int same = 0; same < kEnough || seconds_since(begin) < std::max(kLeastSettleSeconds, seconds);) {
    const double clock = device.run(work, launches).clock_mhz;
    same = std::abs(clock - before) <= kSame * clock ? same + 1 : 0;
    before = clock;
    if (seconds_since(begin) > std::max(kMostSettleSeconds, seconds)) return;
  }
}

}  // namespace

void require_kernel(const TimingDevice& device, const std::string& kernel) {
  if (device.most_warps(kernel) == 0) throw UnavailableError("this build has no timing kernel for it");
}

void settle_clock(const Settings& settings, const std::function<void()>& work) {
  const auto begin = Clock::now();
  while (seconds_since(begin) < settings.warm_up_seconds) work();
  settings.warm_up_seconds = 0;
}

double median_cycles(TimingDevice& device, TimedWork work) {
  work.rounds = 2;  // the second is checked against the first, and finds its code in the cache
  const TimedBatch batch = device.run(work, kFewLaunches);
  return summarise(batch.cycles).median / work.rounds;
}

Steady run_steadily(TimingDevice& device, TimedWork work, const Settings& settings) {
  const double round_cycles = std::max(1.0, median_cycles(device, work));
  work.rounds = static_cast<unsigned>(std::clamp(std::ceil(kLaunchCycles / round_cycles), 2.0, 1e5));
  const double launch_cycles = round_cycles * work.rounds;
  const auto launches = static_cast<unsigned>(std::clamp(std::ceil(kBatchCycles / launch_cycles), 1.0, 100.0));

  settle(device, work, launches, settings.warm_up_seconds);
  settings.warm_up_seconds = 0;  // once

  return sample_steadily(
      device,
      [&] {
        const TimedBatch batch = device.run(work, launches);
        return TimedSample{mean(batch.cycles) / work.rounds, batch.clock_mhz};
      },
      settings);
}

Steady sample_steadily(const TimingDevice& device, const std::function<TimedSample()>& sample,
                       const Settings& settings) {
  Steady steady;
  EnergyLog energy(device);
  const auto start = Clock::now();
  do {
    const TimedSample one = sample();
    steady.samples.push_back(one.sample);
    if (one.clock_mhz > 0) steady.clock_mhz.push_back(one.clock_mhz);
    steady.seconds = seconds_since(start);
  } while (!settings.stop.enough(steady.samples, steady.seconds));
  steady.power_watts = power_of(energy.finish());
  return steady;
}

std::optional<double> power_of(const std::vector<EnergyReading>& readings) {
  std::vector<EnergyReading> steps;
  for (std::size_t i = 1; i < readings.size(); ++i) {
    if (readings[i].joules != readings[i - 1].joules) steps.push_back(readings[i]);
  }
  constexpr std::size_t kLeastSteps = 2;
  if (steps.size() < kLeastSteps) return std::nullopt;
  return (steps.back().joules - steps.front().joules) / (steps.back().seconds - steps.front().seconds);
}

namespace {

/// What is not of cycles or rates.
void put_conditions(Record& record, const Summary& s, const Steady& steady) {
  put_samples(record, s);
  record.set("seconds", steady.seconds);
  if (!steady.clock_mhz.empty()) {
    constexpr double kMoved = 0.03;
    const Summary clock = summarise(steady.clock_mhz);
    record.set("clock_mhz", clock.median);
    record.set("clock_moved", (clock.max - clock.min) / clock.median > kMoved);
  }
  if (steady.power_watts) record.set("power_watts", *steady.power_watts);
}

}  // namespace

void put_samples(Record& record, const Summary& s) {
  record.set("spread_percent", s.spread_percent());
  record.set("samples", static_cast<std::int64_t>(s.count));
}

void put_steady(Record& record, const Steady& steady, double per_round) {
  std::vector<double> cycles;
  for (double c : steady.samples) cycles.push_back(c / per_round);
  const Summary s = summarise(cycles);
  record.set("interval_cycles", s.median);
  record.set("interval_min_cycles", s.min);
  record.set("interval_p5_cycles", s.p5);
  record.set("interval_p95_cycles", s.p95);
  record.set("interval_max_cycles", s.max);
  put_conditions(record, s, steady);
  record.series.push_back({"sample_interval_cycles", std::move(cycles)});
  record.series.push_back({"sample_clock_mhz", steady.clock_mhz});
}

void put_rates(Record& record, const std::string& name, const Steady& steady, double unit) {
  const Summary s = summarise(steady.samples);
  record.set(name, s.median / unit);
  record.set(name + "_min", s.min / unit);
  record.set(name + "_p5", s.p5 / unit);
  record.set(name + "_p95", s.p95 / unit);
  record.set(name + "_max", s.max / unit);
  put_conditions(record, s, steady);
}

}  // namespace tcnum::bench
