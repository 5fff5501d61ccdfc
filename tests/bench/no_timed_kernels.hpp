// A made-up device without the kernels that TimingDevice itself runs: what it times is one of the others' that it
// names.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/device/timing.hpp"

namespace tcnum {

class NoTimedKernels : public TimingDevice {
 public:
  const TimingFacts& facts() const override { return facts_; }
  unsigned most_warps(const std::string&, unsigned) const override { return 0; }
  void load(const TimedOperands&) override {}
  TimedBatch run(const TimedWork&, unsigned) override { throw std::logic_error("nothing to run"); }
  std::vector<std::byte> result() override { throw std::logic_error("nothing ran"); }
  std::optional<double> energy_joules() const override { return std::nullopt; }

 protected:
  TimingFacts facts_;
};

}  // namespace tcnum
