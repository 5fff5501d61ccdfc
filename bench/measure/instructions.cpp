// mma, wmma and wgmma: latency, issue interval, and throughput under steady load.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/device/timing.hpp"
#include "measurements.hpp"
#include "tensor.hpp"

namespace tcnum::bench {
namespace {

constexpr unsigned kWarpgroup = 4;  // warps

Data data_of(const Row& row) { return row.record.text("data") == "zeros" ? Data::zeros : Data::random; }

TimedWork work_of(const Instruction& instruction, TimingLoop loop, bool a_in_registers, unsigned warps, unsigned chains,
                  unsigned steps) {
  return {instruction.name(), loop, a_in_registers, warps, chains, steps, 1, result_bytes(instruction, warps, chains)};
}

/// Cycles of a work, of which the results are checked.
double checked_cycles(const Row& row, const Instruction& instruction, const TimedWork& work, const Codes& expected) {
  const double cycles = median_cycles(row.device, work);
  check_results(row.device, instruction, work, expected);
  return cycles;
}

/// The work under steady load: `each` instructions of an SM in a round.
void put_steady_load(const Row& row, const Instruction& instruction, const TimedWork& work, const Codes& expected,
                     double each) {
  const Steady steady = run_steadily(row.device, work, row.settings);
  check_results(row.device, instruction, work, expected);
  put_steady(row.record, steady, each);
  put_rates(row.record, instruction, row.arch, row.device.facts(), work.a_in_registers);
  row.record.set("checked", std::string("every accumulator against the emulator"));
}

struct WarpPoint {
  unsigned warps, chains;
  double cycles;  ///< for each instruction of the SM
};

/// Instructions that a warp issues and waits for, over warps and independent accumulators.
void measure_warps(const Row& row) {
  constexpr unsigned kSteps = 512;
  constexpr double kSaturated = 0.97;  // of the best point's throughput
  const Instruction& instruction = *find_instruction(row.record.subject);
  require_kernel(row.device, row.record.subject);
  const std::vector<Datapath> datapaths = datapaths_of(row.arch, instruction);
  const ChainOperands operands = make_chain_operands(instruction, data_of(row), row.settings.seed);
  const Codes expected = replay(operands, datapaths, kSteps, operands.slices.size(), row.settings.threads);
  row.device.load(timed_operands(operands));
  const auto work_with = [&](unsigned warps, unsigned chains) {
    return work_of(instruction, TimingLoop::back_to_back, true, warps, chains, kSteps);
  };
  const auto instructions_of = [&](unsigned warps, unsigned chains) {
    return static_cast<double>(kSteps * datapaths.size()) * warps * chains;
  };
  const auto time = [&](unsigned warps, unsigned chains) {
    return checked_cycles(row, instruction, work_with(warps, chains), expected) / instructions_of(warps, chains);
  };

  row.record.set("latency_cycles", time(1, 1));
  std::vector<WarpPoint> points;
  Points sweep{"sweep_warps", "sweep_chains", "sweep_interval_cycles"};
  for (const unsigned warps : row.numbers("warps")) {
    for (const unsigned chains : row.numbers("chains")) {
      if (warps > row.device.most_warps(instruction.name(), chains)) continue;
      points.push_back({warps, chains, time(warps, chains)});
      sweep.add(warps, chains, points.back().cycles);
    }
  }
  if (points.empty()) throw UnavailableError("the registers of so many warps and accumulators do not fit");
  const WarpPoint best = *std::ranges::min_element(points, {}, &WarpPoint::cycles);
  const auto size = [](const WarpPoint& x) { return std::pair(x.warps * x.chains, x.chains); };
  WarpPoint saturated = best;
  std::optional<double> one_warp;
  for (const WarpPoint& p : points) {
    if (p.warps == 1) one_warp = std::min(p.cycles, one_warp.value_or(p.cycles));
    if (p.cycles * kSaturated <= best.cycles && size(p) < size(saturated)) saturated = p;
  }
  if (one_warp) row.record.set("issue_interval_cycles", *one_warp);
  put_steady_load(row, instruction, work_with(best.warps, best.chains), expected,
                  instructions_of(best.warps, best.chains));
  row.record.set("best_warps", std::int64_t{best.warps});
  row.record.set("best_chains", std::int64_t{best.chains});
  row.record.set("saturated_warps", std::int64_t{saturated.warps});
  row.record.set("saturated_chains", std::int64_t{saturated.chains});
  sweep.put(row.record);
}

Measurement warp_measurement(InstructionKind kind, std::string name, const char* instructions) {
  return {.name = std::move(name),
          .meaning = fmt::format("{}: completion latency, issue interval, throughput over warps and accumulators",
                                 instructions),
          .axes = {{"data", "operands", {"zeros", "random"}, {"random"}},
                   swept({"warps", "warps of an SM", doubled(1, 32)}),
                   swept({"chains", "independent accumulators of a warp", numbers_by(1, 1, kTimedChains)})},
          .subjects =
              [kind](ArchId arch) {
                std::vector<std::string> names;
                for (const Instruction* i : instructions_of(arch)) {
                  if (i->kind == kind && is_timed(*i)) names.push_back(i->name());
                }
                return names;
              },
          .measure_row = measure_warps,
          .by_default =
              [](const std::string& subject) {
                const Instruction& i = *find_instruction(subject);
                // Those that are left out take the same cycles as others.
                const bool has_twin =
                    i.modifier == Modifier::satfinite || (i.a == FormatId::fp64 && i.modifier != Modifier::none);
                return i.a == i.b && !has_twin && i.sparsity != Sparsity::ascending;
              }};
}

constexpr unsigned kSteps = 1024, kCompletionSteps = 64;

/// What the chains of a family end in at the largest N that is measured. Those of a smaller N are its first columns.
struct FamilyEnds {
  std::string family, data;
  int n = 0;
  Codes back_to_back{1, 0}, completion{1, 0};
};

Codes first_columns(const Codes& from, int of, int count) {
  const auto all = static_cast<std::size_t>(of), width = static_cast<std::size_t>(count);
  Codes to(from.bytes_each(), from.size() / all * width);
  for (std::size_t i = 0; i < to.size(); ++i) to.set(i, from[i / width * all + i % width]);
  return to;
}

/// Of the row's family and data; made once for all of its rows.
const FamilyEnds& ends_of(const Row& row) {
  auto& ends = row.shared<FamilyEnds>();
  if (ends.family == row.record.subject && ends.data == row.record.text("data")) return ends;
  const Instruction* widest = nullptr;
  for (const unsigned n : row.numbers("N")) {
    const Instruction* const each = find_in_family(row.record.subject, static_cast<int>(n));
    if (each != nullptr && (widest == nullptr || each->n > widest->n)) widest = each;
  }
  const std::vector<Datapath> datapaths = datapaths_of(row.arch, *widest);
  const ChainOperands operands = make_chain_operands(*widest, data_of(row), row.settings.seed);
  ends = {row.record.subject, row.record.text("data"), widest->n,
          replay(operands, datapaths, kSteps, operands.slices.size(), row.settings.threads),
          replay(operands, datapaths, kCompletionSteps, 1, row.settings.threads)};
  return ends;
}

void measure_wgmma(const Row& row) {
  const Instruction* const instruction = find_in_family(row.record.subject, static_cast<int>(row.number("N")));
  if (instruction == nullptr) throw UnavailableError("there is no such N of integers");
  require_kernel(row.device, instruction->name());
  const unsigned warps = kWarpgroup * row.number("warpgroups");
  if (warps > row.device.most_warps(instruction->name())) {
    throw UnavailableError(
        fmt::format("the accumulators of {} warpgroups do not fit in the registers", row.number("warpgroups")));
  }
  const FamilyEnds& ends = ends_of(row);
  const bool a_in_registers = row.record.text("source") == "rs";
  row.device.load(timed_operands(make_chain_operands(*instruction, data_of(row), row.settings.seed)));
  const TimedWork alone =
      work_of(*instruction, TimingLoop::completion, a_in_registers, kWarpgroup, 1, kCompletionSteps);
  row.record.set("latency_cycles",
                 checked_cycles(row, *instruction, alone, first_columns(ends.completion, ends.n, instruction->n)) /
                     kCompletionSteps);
  put_steady_load(row, *instruction, work_of(*instruction, TimingLoop::back_to_back, a_in_registers, warps, 1, kSteps),
                  first_columns(ends.back_to_back, ends.n, instruction->n),
                  static_cast<double>(kSteps) * warps / kWarpgroup);
}

/// Of floating-point numbers or of integers, with these N by default.
Measurement wgmma_measurement(std::string name, bool floating, std::vector<std::string> default_widths) {
  return {.name = std::move(name),
          .meaning = fmt::format("wgmma and wgmma.sp of {}: completion latency and issue interval over N, with A from "
                                 "shared memory (ss) and registers (rs)",
                                 floating ? "floating-point numbers" : "integers"),
          // Neighbouring rows draw about the same power, so that the clock need not settle anew.
          .axes = {{"data", "operands", {"zeros", "random"}},
                   {"source", "where A comes from", {"ss", "rs"}},
                   {"N", "columns of B", numbers_by(kSmallestN, kSmallestN, kLargestN), std::move(default_widths)},
                   {"warpgroups", "of an SM, each with an accumulator tile", numbers_by(1, 1, 4), {"1"}}},
          .subjects =
              [floating](ArchId arch) {
                std::vector<std::string> names;
                for (const Instruction* i : instructions_of(arch)) {
                  if (i->kind == InstructionKind::wgmma && format(i->a).floating == floating) {
                    names.push_back(family_of(*i));
                  }
                }
                return names;
              },
          .measure_row = measure_wgmma,
          .by_default =
              [](const std::string& subject) {
                const Instruction& i = *find_in_family(subject, kSmallestN);
                return i.a == i.b && i.a != FormatId::fp8e5m2 && i.a != FormatId::u8 &&
                       i.modifier != Modifier::satfinite;
              }};
}

}  // namespace

std::vector<Measurement> instruction_measurements() {
  return {warp_measurement(InstructionKind::mma, "mma", "mma and mma.sp"),
          warp_measurement(InstructionKind::wmma, "wmma", "wmma"), wgmma_measurement("wgmma", true, doubled(8, 256)),
          wgmma_measurement("integer wgmma", false, numbers({8, 64, 256}))};
}

}  // namespace tcnum::bench
