// Measures on several GPUs of this host at the same time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench_document.hpp"
#include "bench_parts.hpp"
#include "src/commands/failure.hpp"

namespace tcnum {

struct TogetherWork {
  std::vector<int> devices;
  bench::Settings settings;
  /// Measures all on one GPU.
  std::function<void(TimingDevice& timing, const Labels& labels, const bench::Settings& settings,
                     const RecordSink& sink)>
      measure;
};

/// The axis that the records of several GPUs have beside those of the measurement.
inline constexpr const char* kDeviceAxis = "device";

/// The settings of rows that these GPUs measure at the same time.
Fields together_settings(const std::vector<int>& devices);

/// Measures on all GPUs, a thread each. A GPU that fails is told of, and the others go on.
void measure_together(const TogetherWork& work, RunDocument& document, Attempts& attempts);

}  // namespace tcnum
