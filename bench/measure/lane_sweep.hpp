// Operations that a lane does by itself, on registers: latency, and reciprocal throughput over independent chains and
// warps. Plain arithmetic and the DPX functions are such.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measurement.hpp"

namespace tcnum::bench {

inline constexpr int kLanes = 32;
inline constexpr unsigned kLaneSteps = 512;

/// What a timing kernel of bench/device/time_chains.cuh is given, and what it must end in.
struct LaneOperation {
  std::string name, kernel;
  int bits;  ///< of a register
  std::function<std::uint64_t(int lane, int chain)> start;
  std::function<std::uint64_t(int lane)> a, b;
  /// What a chain ends in after kLaneSteps applications.
  std::function<std::uint64_t(int lane, int chain)> end;
  /// What each application may be off by, relatively; 0: not at all.
  double error = 0;
};

/// Independent chains of a warp, and warps of an SM.
std::vector<Axis> lane_axes();

/// Runs one operation. Every result is checked: WrongResult. Throws UnavailableError if there is no such kernel.
class LaneTimer {
 public:
  LaneTimer(TimingDevice& device, LaneOperation operation);

  TimedWork work(unsigned warps, unsigned chains) const;
  /// Cycles of an SM for each instruction of a warp.
  double interval_cycles(unsigned warps, unsigned chains);
  /// Of the last launch.
  void check(unsigned chains) const;
  TimingDevice& device() const { return device_; }

 private:
  TimingDevice& device_;
  LaneOperation operation_;
  std::vector<std::uint64_t> expected_;  ///< [chain][lane]
};

constexpr double lane_instructions(unsigned warps, unsigned chains) {
  return static_cast<double>(kLaneSteps) * warps * chains;
}

struct LanePoint {
  unsigned chains, warps;
  double interval_cycles;
};
/// Sets latency_cycles, best_ilp and best_warps, and the series of the sweep; returns the point with the shortest
/// interval.
LanePoint sweep_lanes(LaneTimer& timer, const Row& row);

}  // namespace tcnum::bench
