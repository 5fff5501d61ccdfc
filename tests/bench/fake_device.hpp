// A made-up device that times nothing, from which others are made, and measuring on such devices.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/device/device.hpp"
#include "bench/measure/measurement.hpp"

namespace tcnum::bench {

class BareDevice : public TimingDevice {
 public:
  const TimingFacts& facts() const override { return facts_; }

 protected:
  TimingFacts facts_ = {"sm_90", "fake", "1", "1", "2026-01-01", 4, {}, {}};
};

/// As few samples as there can be.
inline Settings quick() {
  Settings settings;
  settings.stop = {.least_samples = 3, .least_seconds = 0, .most_seconds = 1, .relative_deviation = 1};
  settings.warm_up_seconds = 0;
  settings.threads = 2;
  return settings;
}

inline std::vector<Record> measure(std::string_view name, TimingDevice& device,
                                   const std::vector<std::string>& subjects, const std::vector<std::string>& axes = {},
                                   ArchId arch = ArchId::sm_90, const Settings& settings = quick()) {
  const Measurement& m = measurement(name);
  std::vector<Record> records;
  m.measure(device, arch, subjects, parse_axes(axes, m.axes), settings,
            [&](Record r) { records.push_back(std::move(r)); });
  return records;
}

/// Of one row, which has values.
inline Record measure_one(std::string_view name, TimingDevice& device, const std::string& subject,
                          const std::vector<std::string>& axes = {}) {
  auto records = measure(name, device, {subject}, axes);
  EXPECT_EQ(records.size(), 1u);
  EXPECT_EQ(records.at(0).error + records.at(0).waived, "");
  return records.at(0);
}

}  // namespace tcnum::bench
