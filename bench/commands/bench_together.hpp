// Measuring on several GPUs at the same time: of one process, or of several that mpirun started.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench_document.hpp"
#include "bench_parts.hpp"
#include "src/commands/failure.hpp"
#include "src/ranks/ranks.hpp"

namespace tcnum {

struct TogetherWork {
  std::vector<int> devices;  ///< of this process
  bench::Settings settings;
  /// Measures all on one GPU.
  std::function<void(TimingDevice& timing, const Labels& labels, const bench::Settings& settings,
                     const RecordSink& sink)>
      measure;
};

/// The axes of their records, beside the measurements' own.
inline constexpr const char *kHostAxis = "host", *kDeviceAxis = "device";

/// The settings of rows that these GPUs measure at the same time.
Fields together_settings(const std::vector<int>& devices);

void measure_together(const TogetherWork& work, RunDocument& document, Attempts& attempts);
/// The same as rank 0, with those of all other ranks: their records come here. Those that fail are told of, and the
/// others go on.
void measure_with_ranks(const TogetherWork& work, Ranks& ranks, RunDocument& document, Attempts& attempts);
/// Sends the other ranks home, with the exit status of all, and leaves.
void end_ranks(Ranks& ranks, int status);
/// Another rank's part; returns the exit status. `prepare` makes ready what is to be done; what it throws is told to
/// rank 0.
int measure_for_rank_0(Ranks& ranks, const std::function<TogetherWork()>& prepare);

/// A host's GPUs, dealt out to its ranks. Throws UnavailableError where there are not enough: they would disturb each
/// other.
std::vector<int> own_devices(const std::vector<int>& devices, const Ranks& ranks);

}  // namespace tcnum
