// What the measurements of memories share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/device/memory_timing.hpp"
#include "bench/measure/measurement.hpp"
#include "bench/measure/steady.hpp"

namespace tcnum::bench {

/// Loads of which each waits for the one before.
const Measurement& latency_measurement();
/// Loads that do not wait for each other, and whose lanes lie apart.
const Measurement& strides_measurement();
/// How fast all SMs read from each level.
const Measurement& bandwidth_measurement();
/// Kernels that go once over large arrays.
const Measurement& streams_measurement();

/// Arithmetic whose operands come from DRAM, by operations for each byte.
const Measurement& roofline_measurement();

/// Copies from and to the host's memory.
const Measurement& host_measurement();

/// A row of a measurement: its record so far, and the device's memories.
struct MemoryRow {
  TimingDevice& device;
  MemoryDevice& memory;
  const Settings& settings;
  Record& record;
};
/// A record of each subject with each combination of the values of the axes, by their order; waived where the device
/// has nothing to time memories with, or where `measure` says why (an empty text: it was measured).
void measure_rows(const std::string& measurement, const std::vector<Axis>& axes, TimingDevice& device,
                  const std::vector<std::string>& subjects, const Selection& selection, const Settings& settings,
                  const std::function<void(Record)>& add, const std::function<std::string(const MemoryRow&)>& measure);

/// Names of subjects and architectures that have them: every NVIDIA GPU.
std::vector<std::string> if_nvidia(ArchId arch, std::vector<std::string> subjects);

/// Gives each stream its share of the highest rate that the document has of one.
void put_shares(Document& document);

}  // namespace tcnum::bench
