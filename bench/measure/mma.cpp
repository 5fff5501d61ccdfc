// mma, mma.sp and wmma: latency, and throughput over warps and independent accumulators.
#include <fmt/format.h>

#include <algorithm>

#include "bench/device/timing_layout.hpp"
#include "fragments.hpp"
#include "tensor.hpp"

namespace tcnum::bench {
namespace {

constexpr unsigned kSteps = 512;
/// Of the best point's throughput: where saturation begins.
constexpr double kSaturated = 0.97;

/// Of the instructions that a warp issues and waits for.
class WarpMeasurement final : public Measurement {
 public:
  WarpMeasurement(InstructionKind kind, std::string name, std::string instructions)
      : kind_(kind), name_(std::move(name)), instructions_(std::move(instructions)) {}

  std::string name() const override { return name_; }
  std::string meaning() const override {
    return instructions_ + ": completion latency, issue interval, throughput over warps and accumulators";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = [] {
      const std::vector<std::string> warps = {"1", "2", "4", "8", "16", "32"};
      std::vector<std::string> chains;
      for (int c = 1; c <= kTimedChains; ++c) chains.push_back(std::to_string(c));
      return std::vector<Axis>{{"warps", "warps of an SM", warps, warps},
                               {"chains", "independent accumulators of a warp", chains, chains},
                               {"data", "operands", {"zeros", "random"}, {"random"}}};
    }();
    return axes;
  }
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    for (const Instruction* i : instructions_of(arch)) {
      if (i->kind == kind_ && is_timed(*i)) names.push_back(i->name());
    }
    return names;
  }

  bool by_default(const std::string& subject) const override {
    const Instruction& i = *find_instruction(subject);
    // Those that are left out take the same cycles as others.
    const bool has_twin = i.modifier == Modifier::satfinite || (i.a == FormatId::fp64 && i.modifier != Modifier::none);
    return i.a == i.b && !has_twin && i.sparsity != Sparsity::ascending;
  }

  void measure(TimingDevice& device, ArchId arch, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    for (const std::string& subject : subjects) {
      for (const std::string& data : selection.at("data")) {
        Record record{name(), subject, {{"data", data}}, {}, {}, "", ""};
        if (settings.has(record)) continue;
        if (!settings.go_on(subject)) return;
        const Instruction& instruction = *find_instruction(subject);
        const auto datapaths = datapaths_of(arch, instruction);
        if (device.most_warps(subject) == 0) {
          record.waived = "this build has no timing kernel for it";
        } else if (!datapaths) {
          record.waived = "the catalogue has no datapath to check its results with";
        } else {
          measure_into(record,
                       [&] { measure_one(device, arch, instruction, *datapaths, selection, settings, record); });
        }
        add(std::move(record));
      }
    }
  }

 private:
  struct Point {
    unsigned warps, chains;
    double cycles;  ///< for each instruction of the SM
  };

  static void measure_one(TimingDevice& device, ArchId arch, const Instruction& instruction,
                          const std::vector<Datapath>& datapaths, const Selection& selection, const Settings& settings,
                          Record& record) {
    const ChainOperands operands = make_chain_operands(instruction, parse_data(record.text("data")), settings.seed);
    const Codes expected = replay(operands, datapaths, kSteps, operands.slices.size(), settings.threads);
    device.load(timed_operands(operands));

    const auto instructions_of = [&](unsigned warps, unsigned chains) {
      return static_cast<double>(kSteps * datapaths.size()) * warps * chains;
    };
    const auto work_of = [&](unsigned warps, unsigned chains) {
      return TimedWork{instruction.name(),
                       TimingLoop::back_to_back,
                       true,
                       warps,
                       chains,
                       kSteps,
                       1,
                       result_bytes(instruction, warps, chains)};
    };
    const auto time = [&](unsigned warps, unsigned chains) {
      const TimedWork work = work_of(warps, chains);
      const double cycles = median_cycles(device, work);
      check_results(device, instruction, work, expected);
      return cycles / instructions_of(warps, chains);
    };

    record.set("latency_cycles", time(1, 1));
    std::vector<Point> points;
    for (const std::string& warps : selection.at("warps")) {
      for (const std::string& chains : selection.at("chains")) {
        const auto w = static_cast<unsigned>(std::stoi(warps)), c = static_cast<unsigned>(std::stoi(chains));
        if (w <= device.most_warps(instruction.name(), c)) points.push_back({w, c, time(w, c)});
      }
    }
    if (points.empty()) {
      record.waived = "the registers of so many warps and accumulators do not fit";
      return;
    }
    const auto by_cycles = [](const Point& x, const Point& y) { return x.cycles < y.cycles; };
    const Point best = *std::ranges::min_element(points, by_cycles);
    const Point* one_warp = nullptr;
    Point saturated = best;
    for (const Point& p : points) {
      if (p.warps == 1 && (one_warp == nullptr || p.cycles < one_warp->cycles)) one_warp = &p;
      const auto size = [](const Point& x) { return std::pair(x.warps * x.chains, x.chains); };
      if (p.cycles * kSaturated <= best.cycles && size(p) < size(saturated)) saturated = p;
    }
    if (one_warp != nullptr) record.set("issue_interval_cycles", one_warp->cycles);

    // The best point under steady load.
    const TimedWork work = work_of(best.warps, best.chains);
    const Steady steady = run_steadily(device, work, settings);
    check_results(device, instruction, work, expected);
    put_steady(record, steady, instructions_of(best.warps, best.chains));
    put_rates(record, instruction, arch, device.facts(), true);
    record.set("best_warps", std::int64_t{best.warps});
    record.set("best_chains", std::int64_t{best.chains});
    record.set("saturated_warps", std::int64_t{saturated.warps});
    record.set("saturated_chains", std::int64_t{saturated.chains});
    record.set("checked", std::string("every accumulator against the emulator"));

    std::vector<double> warps, chains, cycles;
    for (const Point& p : points) {
      warps.push_back(p.warps);
      chains.push_back(p.chains);
      cycles.push_back(p.cycles);
    }
    record.series.push_back({"sweep_warps", std::move(warps)});
    record.series.push_back({"sweep_chains", std::move(chains)});
    record.series.push_back({"sweep_interval_cycles", std::move(cycles)});
  }

  InstructionKind kind_;
  std::string name_, instructions_;
};

}  // namespace

const Measurement& mma_measurement() {
  static const WarpMeasurement measurement(InstructionKind::mma, "mma", "mma and mma.sp");
  return measurement;
}

const Measurement& wmma_measurement() {
  static const WarpMeasurement measurement(InstructionKind::wmma, "wmma", "wmma");
  return measurement;
}

}  // namespace tcnum::bench
