// wgmma and wgmma.sp: completion latency and issue interval over N, for A from shared memory and from registers.
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <stdexcept>

#include "fragments.hpp"
#include "tensor.hpp"

namespace tcnum::bench {
namespace {

constexpr unsigned kSteps = 1024, kCompletionSteps = 64;
constexpr unsigned kWarpgroup = 4;  // warps
constexpr int kSmallestN = 8, kLargestN = 256;

/// What chains of a family end in at the largest N that is measured. Those of a smaller N are its first columns.
struct Expected {
  int n = 0;
  Codes back_to_back, completion;

  static Codes columns(const Codes& from, int of, int n) {
    Codes to(from.bytes_each(), from.size() / static_cast<std::size_t>(of) * static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < to.size(); ++i) {
      const auto width = static_cast<std::size_t>(n);
      to.set(i, from[i / width * static_cast<std::size_t>(of) + i % width]);
    }
    return to;
  }
};

class WgmmaMeasurement final : public Measurement {
 public:
  /// Of floating-point numbers or of integers, with these N by default.
  WgmmaMeasurement(std::string name, bool floating, std::vector<std::string> default_widths)
      : name_(std::move(name)), floating_(floating) {
    std::vector<std::string> widths;
    for (int n = kSmallestN; n <= kLargestN; n += kSmallestN) widths.push_back(std::to_string(n));
    axes_ = {
        {"N", "columns of B", widths, std::move(default_widths)},
        {"source", "where A comes from", {"ss", "rs"}, {"ss", "rs"}},
        {"data", "operands", {"zeros", "random"}, {"zeros", "random"}},
        {"warpgroups", "of an SM, each with an accumulator tile", {"1", "2", "3", "4"}, {"1"}},
    };
  }

  std::string name() const override { return name_; }
  std::string meaning() const override {
    return fmt::format(
        "wgmma and wgmma.sp of {}: completion latency and issue interval over N, with A from shared memory (ss) and "
        "registers (rs)",
        floating_ ? "floating-point numbers" : "integers");
  }
  const std::vector<Axis>& axes() const override { return axes_; }
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    for (const Instruction* i : instructions_of(arch)) {
      if (i->kind == InstructionKind::wgmma && format(i->a).floating == floating_) names.push_back(family_of(*i));
    }
    return names;
  }

  bool by_default(const std::string& subject) const override {
    const Instruction& i = *find_in_family(subject, kSmallestN);
    return i.a == i.b && i.a != FormatId::fp8e5m2 && i.a != FormatId::u8 && i.modifier != Modifier::satfinite;
  }

  void measure(TimingDevice& device, ArchId arch, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    std::vector<int> widths;
    for (const std::string& n : selection.at("N")) widths.push_back(std::stoi(n));

    // The emulator works on what comes next while the device measures.
    struct Job {
      std::string family, data;
    };
    const auto row_of = [&](const Job& job, const std::string& source, int n, const std::string& warpgroups) {
      return Record{name(),
                    job.family,
                    {{"N", std::int64_t{n}},
                     {"source", source},
                     {"data", job.data},
                     {"warpgroups", std::int64_t{std::stoi(warpgroups)}}},
                    {},
                    {},
                    "",
                    ""};
    };
    const auto is_done = [&](const Job& job) {
      for (const std::string& source : selection.at("source")) {
        for (int n : widths) {
          for (const std::string& warpgroups : selection.at("warpgroups")) {
            if (!settings.has(row_of(job, source, n, warpgroups))) return false;
          }
        }
      }
      return true;
    };
    std::vector<Job> jobs;
    for (const std::string& family : subjects) {
      for (const std::string& data : selection.at("data")) {
        if (Job job{family, data}; !is_done(job)) jobs.push_back(std::move(job));
      }
    }
    const auto begin = [&](std::size_t job) -> std::future<Expected> {
      if (job >= jobs.size()) return {};
      const Instruction* widest = nullptr;
      for (int n : widths) {
        const Instruction* const each = find_in_family(jobs[job].family, n);
        if (each != nullptr && (widest == nullptr || each->n > widest->n)) widest = each;
      }
      if (widest == nullptr) return {};
      const auto datapaths = datapaths_of(arch, *widest);
      if (!datapaths) return {};
      return std::async(std::launch::async, [widest, &settings, datapaths = *datapaths, data = jobs[job].data] {
        const ChainOperands operands = make_chain_operands(*widest, parse_data(data), settings.seed);
        return Expected{widest->n, replay(operands, datapaths, kSteps, operands.slices.size(), settings.threads),
                        replay(operands, datapaths, kCompletionSteps, 1, settings.threads)};
      });
    };
    std::future<Expected> next = begin(0);
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      const std::optional<Expected> expected = next.valid() ? std::optional(next.get()) : std::nullopt;
      next = begin(job + 1);
      // Neighbouring rows draw about the same power, so that the clock need not settle anew.
      for (const std::string& source : selection.at("source")) {
        for (int n : widths) {
          const Instruction* const instruction = find_in_family(jobs[job].family, n);
          for (const std::string& warpgroups : selection.at("warpgroups")) {
            Record record = row_of(jobs[job], source, n, warpgroups);
            if (settings.has(record)) continue;
            if (!settings.go_on(fmt::format("{} N={} {} {}", jobs[job].family, n, source, jobs[job].data))) return;
            const unsigned warps = kWarpgroup * static_cast<unsigned>(std::stoi(warpgroups));
            const unsigned most = instruction == nullptr ? 0 : device.most_warps(instruction->name());
            if (instruction == nullptr) {
              record.waived = "there is no such N of integers";
            } else if (most == 0) {
              record.waived = "this build has no timing kernel for it (TCNUM_WGMMA_N in CMake)";
            } else if (!expected) {
              record.waived = "the catalogue has no datapath to check its results with";
            } else if (warps > most) {
              record.waived = fmt::format("the accumulators of {} warpgroups do not fit in the registers", warpgroups);
            } else {
              measure_into(record, [&] {
                measure_one(device, arch, *instruction, source == "rs", warps, *expected, settings, record);
              });
            }
            add(std::move(record));
          }
        }
      }
    }
  }

 private:
  static void measure_one(TimingDevice& device, ArchId arch, const Instruction& instruction, bool a_in_registers,
                          unsigned warps, const Expected& expected, const Settings& settings, Record& record) {
    const ChainOperands operands = make_chain_operands(instruction, parse_data(record.text("data")), settings.seed);
    device.load(timed_operands(operands));
    const auto columns = [&](const Codes& all) { return Expected::columns(all, expected.n, instruction.n); };

    TimedWork work{instruction.name(),
                   TimingLoop::completion,
                   a_in_registers,
                   kWarpgroup,
                   1,
                   kCompletionSteps,
                   1,
                   result_bytes(instruction, kWarpgroup, 1)};
    record.set("latency_cycles", median_cycles(device, work) / kCompletionSteps);
    check_results(device, instruction, work, columns(expected.completion));

    work = {instruction.name(),
            TimingLoop::back_to_back,
            a_in_registers,
            warps,
            1,
            kSteps,
            1,
            result_bytes(instruction, warps, 1)};
    const Steady steady = run_steadily(device, work, settings);
    check_results(device, instruction, work, columns(expected.back_to_back));
    put_steady(record, steady, static_cast<double>(kSteps) * warps / kWarpgroup);
    put_rates(record, instruction, arch, device.facts(), a_in_registers);
    record.set("checked", std::string("every accumulator against the emulator"));
  }

  std::string name_;
  bool floating_;
  std::vector<Axis> axes_;
};

}  // namespace

const Measurement& wgmma_measurement() {
  static const WgmmaMeasurement measurement("wgmma", true, {"8", "16", "32", "64", "128", "256"});
  return measurement;
}

const Measurement& integer_wgmma_measurement() {
  static const WgmmaMeasurement measurement("integer wgmma", false, {"8", "64", "256"});
  return measurement;
}

}  // namespace tcnum::bench
