#include "dpx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <random>

#include "lane_sweep.hpp"
#include "measurements.hpp"
#include "steady.hpp"

namespace tcnum::bench {
namespace {

const std::string kKernels = "dpx.", kValueKernels = "dpx.values.";

/// The same in each part of a word, but for what tells the parts apart.
std::uint32_t parts_of(const DpxFunction& f, std::uint32_t low, std::uint32_t high) {
  return f.parts() == 1 ? low : (low & 0xffff) | high << 16;
}

std::uint32_t start_of(const DpxFunction& f, int lane, int chain) {
  const auto l = static_cast<std::uint32_t>(lane), c = static_cast<std::uint32_t>(chain);
  return parts_of(f, 3 * l + 100 * c + 1, 5 * l + 200 * c + 2);
}

/// What is added again and again: so much that sums wrap around every few steps, and a chain's end tells how many
/// steps there were.
std::uint32_t addend_of(const DpxFunction& f, int lane) {
  const auto l = static_cast<std::uint32_t>(lane);
  return f.parts() == 1 ? 0x03000001 + l * 0x00010003 : parts_of(f, 0x0301 + 5 * l, 0x0503 + 3 * l);
}

/// What a sum is compared with: near the largest number for a minimum, and for a maximum a little below zero, or above
/// where nothing is below.
std::uint32_t bound_of(const DpxFunction& f, int lane) {
  const auto l = static_cast<std::uint32_t>(lane);
  if (f.is_max()) {
    return f.is_signed() ? parts_of(f, 0u - (7 * l + 1), 0u - (3 * l + 2)) : parts_of(f, 7 * l + 1, 3 * l + 2);
  }
  const std::uint32_t largest = (f.parts() == 1 ? 0xffffffffu : 0xffffu) >> (f.is_signed() ? 1 : 0);
  return parts_of(f, largest - 3 * l, largest - l - 1);
}

/// A function without c has the bound beside it all the same, and does not look at it. The complement says that an odd
/// count of predicates was true (bench/device/time_dpx.cu).
std::uint64_t end_of(const DpxFunction& f, int lane, int chain) {
  const DpxFunction& other = named(kDpxFunctions, f.in_turn_with);
  std::uint32_t x = start_of(f, lane, chain);
  bool odd = false;
  for (unsigned s = 0; s < kLaneSteps; ++s) {
    const bool turn = s % 2 != 0 && &other != &f;
    const DpxResult r =
        turn ? evaluate(other, x, bound_of(f, lane), 0) : evaluate(f, x, addend_of(f, lane), bound_of(f, lane));
    x = r.value;
    odd ^= r.predicates == 1 || r.predicates == 2;
  }
  return odd ? ~x : x;
}

LaneOperation operation_of(const DpxFunction& f) {
  return {std::string(f.name),
          kKernels + std::string(f.name),
          32,
          [&](int lane, int chain) { return start_of(f, lane, chain); },
          [&](int lane) { return addend_of(f, lane); },
          [&](int lane) { return bound_of(f, lane); },
          [&](int lane, int chain) { return end_of(f, lane, chain); }};
}

std::vector<std::byte> bytes_of(const std::vector<std::uint32_t>& words) {
  std::vector<std::byte> bytes(words.size() * sizeof(std::uint32_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

/// Applies the function once to each of many operands. Throws WrongResult.
std::size_t check_values(TimingDevice& device, const DpxFunction& f, std::uint64_t seed) {
  const DpxOperands operands = dpx_check_operands(seed);
  constexpr unsigned kWarps = 32;
  const std::size_t count = operands.a.size();
  TimedOperands timed;
  timed.a = bytes_of(operands.a);
  timed.b = bytes_of(operands.b);
  timed.c = bytes_of(operands.c);
  device.load(timed);
  constexpr std::size_t kResultBytes = 2 * sizeof(std::uint32_t);
  device.run({kValueKernels + std::string(f.name), TimingLoop::back_to_back, true, kWarps, 1,
              static_cast<unsigned>(count / (kWarps * kLanes)), 1, count * kResultBytes},
             1);
  const std::vector<std::byte> results = device.result();
  for (std::size_t i = 0; i < count; ++i) {
    std::array<std::uint32_t, 2> words{};
    std::memcpy(words.data(), results.data() + i * kResultBytes, kResultBytes);
    const DpxResult right = evaluate(f, operands.a[i], operands.b[i], operands.c[i]);
    if (DpxResult{words[0], words[1]} == right) continue;
    throw WrongResult(fmt::format(
        "{} of 0x{:08x}, 0x{:08x}, 0x{:08x} is 0x{:08x} with predicates {:02b}, and 0x{:08x} "
        "with {:02b} on the CPU",
        f.name, operands.a[i], operands.b[i], operands.c[i], words[0], words[1], right.value, right.predicates));
  }
  return count;
}

/// Results a second of the device, over one to four blocks for each SM, in quarters.
void put_blocks(const LaneTimer& timer, const LanePoint& best, double results_per_instruction, Record& record) {
  constexpr double kBlockCycles = 3e5;  // of a block, at least: the timer's steps are a hundredth of this
  constexpr unsigned kQuarters = 16, kLaunches = 3;
  TimedWork work = timer.work(best.warps, best.chains);
  const double instructions = lane_instructions(best.warps, best.chains);
  work.rounds = static_cast<unsigned>(std::ceil(kBlockCycles / (instructions * best.interval_cycles))) + 1;
  const auto sms = static_cast<unsigned>(timer.device().facts().sms);
  Points points{"grid_blocks", "grid_giga_results"};
  for (unsigned quarter = 1; quarter <= kQuarters; ++quarter) {
    work.blocks = std::max(1U, sms * quarter / 4);
    const double seconds = summarise(timer.device().run(work, kLaunches).seconds).median;
    timer.check(best.chains);
    points.add(work.blocks, work.blocks * instructions * work.rounds * results_per_instruction / seconds * 1e-9);
  }
  record.set("giga_results", std::ranges::max(points[1]));
  points.put(record);
}

void measure_function(const Row& row) {
  const DpxFunction& f = named(kDpxFunctions, row.record.subject);
  require_kernel(row.device, kKernels + row.record.subject);
  const std::size_t checked = check_values(row.device, f, row.settings.seed);
  LaneTimer timer(row.device, operation_of(f));
  LanePoint best = sweep_lanes(timer, row);
  const Steady steady = run_steadily(row.device, timer.work(best.warps, best.chains), row.settings);
  timer.check(best.chains);
  put_steady(row.record, steady, lane_instructions(best.warps, best.chains));
  best.interval_cycles = *row.record.number("interval_cycles");
  const double results = kLanes * f.parts();
  row.record.set("results_per_clock", results / best.interval_cycles);
  put_blocks(timer, best, results, row.record);
  row.record.set("checked", fmt::format("{} operands, and every chain's end, against the CPU's", checked));
}

/// The number that a part's bits stand for.
std::int64_t number_of(const DpxFunction& f, std::uint64_t bits) {
  const std::uint64_t part = bits & ((std::uint64_t{1} << f.bits()) - 1);
  const bool negative = f.is_signed() && part >> (f.bits() - 1) != 0;
  return static_cast<std::int64_t>(part) - (negative ? std::int64_t{1} << f.bits() : 0);
}

}  // namespace

DpxResult evaluate(const DpxFunction& f, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const auto extreme = [&](std::int64_t x, std::int64_t y) { return f.is_max() ? std::max(x, y) : std::min(x, y); };
  DpxResult result;
  for (int part = 0; part < f.parts(); ++part) {
    const int shift = part * f.bits();
    const std::int64_t x = number_of(f, a >> shift), y = number_of(f, b >> shift), z = number_of(f, c >> shift);
    std::int64_t value = f.form == DpxForm::sum ? number_of(f, static_cast<std::uint64_t>(x + y)) : extreme(x, y);
    if (f.form == DpxForm::sum || f.form == DpxForm::three) value = extreme(value, z);
    if (f.relu()) value = std::max<std::int64_t>(value, 0);
    const std::uint64_t mask = (std::uint64_t{1} << f.bits()) - 1;
    result.value |= static_cast<std::uint32_t>((static_cast<std::uint64_t>(value) & mask) << shift);
    if (f.has_predicates() && extreme(x, y) == x) result.predicates |= 1u << part;
  }
  return result;
}

DpxOperands dpx_check_operands(std::uint64_t seed) {
  constexpr auto kEdges = std::to_array<std::uint32_t>(
      {0x00000000, 0x00000001, 0xffffffff, 0x7fffffff, 0x80000000, 0x7ffffffe, 0x80000001, 0x00007fff, 0x00008000,
       0x0000ffff, 0x00010000, 0x7fff8000, 0x80007fff, 0xffff0000, 0x8000ffff, 0x7fff0001});
  DpxOperands operands;
  for (std::uint32_t a : kEdges) {
    for (std::uint32_t b : kEdges) {
      for (std::uint32_t c : kEdges) {
        operands.a.push_back(a);
        operands.b.push_back(b);
        operands.c.push_back(c);
      }
    }
  }
  std::mt19937_64 random(seed);
  for (std::size_t i = operands.a.size(); i > 0; --i) {
    const std::uint64_t two = random();
    operands.a.push_back(static_cast<std::uint32_t>(two));
    operands.b.push_back(static_cast<std::uint32_t>(two >> 32));
    operands.c.push_back(static_cast<std::uint32_t>(random()));
  }
  return operands;
}

std::vector<Measurement> dpx_measurements() {
  return {
      {.name = "dpx",
       .meaning = "DPX functions: latency, reciprocal throughput over parallelism and warps, throughput over blocks",
       .axes = lane_axes(),
       .subjects = of_nvidia(names_in(kDpxFunctions)),
       .measure_row = measure_function}};
}

}  // namespace tcnum::bench
