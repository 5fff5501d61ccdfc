// Steady load: the same work again and again, while cycles, clock and energy are read.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "measurement.hpp"

namespace tcnum::bench {

/// Throws UnavailableError if this build has no timing kernel of that name (some of wgmma: TCNUM_WGMMA_N in CMake).
void require_kernel(const TimingDevice& device, const std::string& kernel);

struct Steady {
  std::vector<double> samples;    ///< one for each batch of launches: cycles of a round, or a rate
  std::vector<double> clock_mhz;  ///< likewise; empty: the batches were too short to say
  std::optional<double> power_watts;
  double seconds = 0;
};

/// Runs the work (its rounds are chosen here) until settings.stop has enough. The device's clock settles before.
Steady run_steadily(TimingDevice& device, TimedWork work, const Settings& settings);

/// What a sample of steady load says; a clock of 0: it was too short to say.
struct TimedSample {
  double sample, clock_mhz;
};
/// Takes samples until settings.stop has enough.
Steady sample_steadily(const TimingDevice& device, const std::function<TimedSample()>& sample,
                       const Settings& settings);

/// Cycles of a round of the work, from a few launches: for points of a sweep.
double median_cycles(TimingDevice& device, TimedWork work);

/// Average power between the first and the last step that an energy counter was seen to take. None: it took too few.
struct EnergyReading {
  double seconds, joules;
};
std::optional<double> power_of(const std::vector<EnergyReading>& readings);

/// Keeps the device busy with `work` until its clock has settled: settings.warm_up_seconds, once.
void settle_clock(const Settings& settings, const std::function<void()>& work);

/// How far the samples are apart, and how many they are.
void put_samples(Record& record, const Summary& samples);

/// Adds to a record what all measurements say of steady load: cycles and their spread, clock, whether it moved, power.
/// `per_round`: instructions of an SM in a round.
void put_steady(Record& record, const Steady& steady, double per_round);
/// The same of rates, in that unit: the median, and with _min, _p5, _p95 and _max behind the name the others.
void put_rates(Record& record, const std::string& name, const Steady& steady, double unit = 1);

}  // namespace tcnum::bench
