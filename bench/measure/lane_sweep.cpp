#include "lane_sweep.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "bench/device/timing.hpp"
#include "steady.hpp"

namespace tcnum::bench {
namespace {

float as_float(std::uint64_t code) { return std::bit_cast<float>(static_cast<std::uint32_t>(code)); }

template <class Function>
std::vector<std::byte> registers(int bits, int count, const Function& code_at) {
  const auto bytes = static_cast<std::size_t>(bits / 8);
  std::vector<std::byte> data(static_cast<std::size_t>(count) * bytes);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t code = code_at(i);
    std::memcpy(data.data() + static_cast<std::size_t>(i) * bytes, &code, bytes);
  }
  return data;
}

}  // namespace

std::vector<Axis> lane_axes() {
  return {swept({"ilp", "independent chains of a warp", numbers_by(1, 1, kMostLaneChains)}),
          swept({"warps", "warps of an SM", doubled(1, 32)})};
}

LaneTimer::LaneTimer(TimingDevice& device, LaneOperation operation)
    : device_(device), operation_(std::move(operation)) {
  const LaneOperation& op = operation_;
  require_kernel(device, op.kernel);
  TimedOperands operands;
  operands.a = registers(op.bits, kLanes, op.a);
  operands.b = registers(op.bits, kLanes, op.b);
  operands.c = registers(op.bits, kMostLaneChains * kLanes, [&](int i) { return op.start(i % kLanes, i / kLanes); });
  device_.load(operands);
  for (int i = 0; i < kMostLaneChains * kLanes; ++i) expected_.push_back(op.end(i % kLanes, i / kLanes));
}

TimedWork LaneTimer::work(unsigned warps, unsigned chains) const {
  const std::size_t registers = std::size_t{warps} * chains * kLanes;
  return {operation_.kernel,
          TimingLoop::back_to_back,
          true,
          warps,
          chains,
          kLaneSteps,
          1,
          registers * static_cast<std::size_t>(operation_.bits / 8)};
}

double LaneTimer::interval_cycles(unsigned warps, unsigned chains) {
  const double cycles = median_cycles(device_, work(warps, chains));
  check(chains);
  return cycles / lane_instructions(warps, chains);
}

/// Results are [warp][chain][lane].
void LaneTimer::check(unsigned chains) const {
  const LaneOperation& op = operation_;
  const std::vector<std::byte> results = device_.result();
  const auto bytes = static_cast<std::size_t>(op.bits / 8);
  for (std::size_t i = 0; i * bytes < results.size(); ++i) {
    std::uint64_t code = 0;
    std::memcpy(&code, results.data() + i * bytes, bytes);
    const std::uint64_t right = expected_[i % (chains * kLanes)];
    const double tolerance = op.error * kLaneSteps * std::abs(as_float(right));
    const bool agrees = op.error == 0 ? code == right : std::abs(as_float(code) - as_float(right)) <= tolerance;
    if (!agrees) {
      throw WrongResult(fmt::format("{}: a timed kernel's result is 0x{:x}, and 0x{:x} on the CPU (chain {}, lane {})",
                                    op.name, code, right, i / kLanes % chains, i % kLanes));
    }
  }
}

LanePoint sweep_lanes(LaneTimer& timer, const Row& row) {
  row.record.set("latency_cycles", timer.interval_cycles(1, 1));
  LanePoint best{1, 1, std::numeric_limits<double>::infinity()};
  Points sweep{"sweep_ilp", "sweep_warps", "sweep_interval_cycles"};
  for (const unsigned chains : row.numbers("ilp")) {
    for (const unsigned warps : row.numbers("warps")) {
      const double cycles = timer.interval_cycles(warps, chains);
      if (cycles < best.interval_cycles) best = {chains, warps, cycles};
      sweep.add(chains, warps, cycles);
    }
  }
  row.record.set("best_ilp", std::int64_t{best.chains});
  row.record.set("best_warps", std::int64_t{best.warps});
  sweep.put(row.record);
  return best;
}

}  // namespace tcnum::bench
