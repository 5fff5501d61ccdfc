// tcnum bench: latency, throughput and energy.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "bench.hpp"
#include "bench/device/device.hpp"
#include "bench/measure/measurement.hpp"
#include "emu/parallel.hpp"
#include "run_document.hpp"
#include "src/campaign/launch.hpp"
#include "src/campaign/record.hpp"
#include "src/commands/interrupt.hpp"
#include "src/commands/names.hpp"
#include "src/commands/output.hpp"
#include "src/commands/records.hpp"
#include "src/report/layout.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

std::span<const BenchSuite> bench_suites() {
  static const auto kSuites = std::to_array<BenchSuite>({
      {"tensor", "Tensor-core instructions", {"mma", "wmma", "wgmma", "integer wgmma"}},
      {"incore", "Plain arithmetic", {"incore"}},
      {"dpx", "DPX functions", {"dpx"}},
      {"clusters", "Distributed shared memory of clusters", {"clusters"}},
      {"memory", "Latency and rates of memories", {"latency", "bandwidth", "streams"}},
      {"copy", "Copies from global to shared memory", {"copy latency", "copies"}},
      {"gemm", "Matrix products", {"gemm", "single gemm"}},
      {"all", "Everything", {}},
  });
  return kSuites;
}

namespace {

using bench::Measurement;

/// A measurement, and what of it the user wants.
struct SuitePart {
  const Measurement* measurement;
  bench::Selection selection;
  std::vector<std::string> subjects;
};

bool has_axis(const std::vector<bench::Axis>& axes, const std::string& name) {
  return std::ranges::find(axes, name, &bench::Axis::name) != axes.end();
}

/// An axis counts for the measurements that have it; InputError for one that none has.
std::vector<SuitePart> parts_of(const BenchSuite& suite, const BenchOptions& options) {
  std::vector<SuitePart> parts;
  std::vector<bench::Axis> all;
  for (const Measurement& m : bench::measurements()) {
    const bool wanted =
        suite.measurements.empty() || std::ranges::find(suite.measurements, m.name) != suite.measurements.end();
    if (!wanted) continue;
    parts.push_back({&m, {}, {}});
    std::ranges::copy_if(m.axes, std::back_inserter(all),
                         [&](const bench::Axis& axis) { return !has_axis(all, axis.name); });
  }
  bench::parse_axes(options.axes, all);
  for (SuitePart& part : parts) {
    std::vector<std::string> mine;
    std::ranges::copy_if(options.axes, std::back_inserter(mine), [&](const std::string& text) {
      return has_axis(part.measurement->axes, text.substr(0, text.find('=')));
    });
    part.selection = bench::parse_axes(mine, part.measurement->axes);
  }
  return parts;
}

/// Fills in the subjects that an architecture has; InputError if there is none at all.
void choose_subjects(std::vector<SuitePart>& parts, const std::vector<std::string>& globs, const BenchSuite& suite,
                     ArchId id) {
  bool any = false;
  for (SuitePart& part : parts) {
    for (std::string& name : part.measurement->subjects(id)) {
      if (globs.empty() ? part.measurement->by_default(name) : bench::matches(globs, name)) {
        part.subjects.push_back(std::move(name));
        any = true;
      }
    }
  }
  if (any) return;
  throw InputError(
      fmt::format("--instr: {} matches nothing of {}; expected a name or a glob of those that `tcnum "
                  "bench {} --list` shows, such as 'wgmma.*'",
                  fmt::join(globs, ", "), arch(id).name, suite.name));
}

int list_parts(std::vector<SuitePart> parts, const BenchOptions& options, const BenchSuite& suite) {
  const GpuInfo gpu = options.arch.empty() ? gpu_info() : GpuInfo{};
  const std::optional<ArchId> own = gpu.present ? find_arch(gpu.arch) : std::nullopt;
  const ArchId id = options.arch.empty() ? own.value_or(ArchId::sm_90) : parse_arch(options.arch);
  choose_subjects(parts, options.globs.empty() ? std::vector<std::string>{"*"} : options.globs, suite, id);
  for (const SuitePart& part : parts) {
    if (part.subjects.empty()) continue;
    say(fmt::format("{}: {}\n\n", part.measurement->name, part.measurement->meaning));
    std::vector<std::vector<std::string>> rows = {{"axis", "meaning", "values (by default)"}};
    for (const bench::Axis& axis : part.measurement->axes) {
      std::string values = fmt::format("{}", fmt::join(axis.values, ", "));
      if (axis.defaults != axis.values) values += fmt::format(" ({})", fmt::join(axis.defaults, ", "));
      rows.push_back({axis.name, axis.meaning, values});
    }
    say(table_text(rows) + "\n");
    for (const std::string& subject : part.subjects) {
      say(fmt::format("  {}{}\n", subject, part.measurement->by_default(subject) ? "" : " (only if asked for)"));
    }
    say("\n");
  }
  return kAgreed;
}

/// Those of the user's own table, in place of the sets.
std::vector<GemmShape> own_shapes(const BenchOptions& options) {
  const std::string& file = options.shapes;
  std::vector<GemmShape> shapes;
  if (file.empty()) return shapes;
  for (const ShapeRow& row : read_shapes(file, false)) {
    const GemmShape& s = row.shape;
    for (const std::size_t size : {s.m, s.n, s.k}) {
      if (size % kGemmGranule == 0) continue;
      throw InputError(fmt::format("{}: {} × {} × {}: expected multiples of {}", file, s.m, s.n, s.k, kGemmGranule));
    }
    shapes.push_back(s);
  }
  return shapes;
}

bench::Settings settings_of(const BenchOptions& options) {
  bench::Settings settings;
  settings.stop.least_seconds = options.seconds;
  settings.stop.most_seconds = 4 * options.seconds;
  settings.warm_up_seconds *= std::min(1.0, options.seconds / BenchOptions{}.seconds);
  settings.seed = options.seed;
  settings.threads = all_threads();
  return settings;
}

/// Of the axes that a row goes over, those of which the user wants some values only.
std::vector<bench::Field> settings_of_rows(const SuitePart& part) {
  std::vector<bench::Field> settings;
  for (const bench::Axis& axis : part.measurement->axes) {
    const std::vector<std::string>& wanted = part.selection.at(axis.name);
    if (!axis.swept || wanted == axis.defaults) continue;
    settings.push_back({axis.name, fmt::format("{}", fmt::join(wanted, ","))});
  }
  return settings;
}

/// Measures the parts on one GPU, until interrupted: all rows that the document does not have.
void measure_parts(TimingDevice& device, ArchId id, const std::vector<SuitePart>& parts, bench::Settings settings,
                   RunDocument& document) {
  for (const SuitePart& part : parts) {
    if (part.subjects.empty() || interrupted) continue;
    const auto with_settings = [&](bench::Record record) {
      record.settings = settings_of_rows(part);
      return record;
    };
    settings.has = [&](const bench::Record& row) {
      return row.text("shapes") != "own" && document.has(with_settings(row));  // a record does not say which those were
    };
    part.measurement->measure(device, id, part.subjects, part.selection, settings,
                              [&](bench::Record record) { document.add(with_settings(std::move(record))); });
  }
}

/// Measures what is asked for, and keeps it.
int measure_suite(const BenchSuite& suite, const BenchOptions& options, std::vector<SuitePart> parts) {
  require_writable(options.json);
  require_no_stdout({"--checkpoint", options.checkpoint});
  require_writable(options.checkpoint);
  std::vector<GemmShape> shapes = own_shapes(options);
  if (const GpuInfo gpu = gpu_info(); !gpu.present) {
    throw UnavailableError(
        fmt::format("no GPU: {}; `tcnum bench report --section NAME` shows what was recorded of one", gpu.why_not));
  }
  std::optional<FileLock> json_lock, checkpoint_lock;  // of what is written after each row
  if (!options.json.empty() && options.json != "-") json_lock.emplace(options.json, FileLock::IfHeld::refuse);
  if (!options.checkpoint.empty()) checkpoint_lock.emplace(options.checkpoint, FileLock::IfHeld::refuse);
  const InterruptGuard guard;
  interrupted = false;
  const ProgressLine progress;
  RunDocument document(options);
  bench::Settings settings = settings_of(options);
  settings.shapes = std::move(shapes);
  settings.go_on = [&](const std::string& next) {
    progress.show(fmt::format("{:.0f} s, {} rows: {}", document.seconds(), document.rows(), next));
    return !interrupted;
  };
  Attempts attempts;
  const bool measured = attempts.attempt([&] {
    const std::unique_ptr<TimingDevice> timing = make_timing_device(0);
    const TimingFacts& facts = timing->facts();
    document.set_facts(facts);
    const auto id = find_arch(facts.arch);
    if (!id) {
      throw UnavailableError(
          fmt::format("the GPU ({}, {}) is of no architecture that tcnum knows", facts.device, facts.arch));
    }
    choose_subjects(parts, options.globs, suite, *id);
    measure_parts(*timing, *id, parts, settings, document);
  });
  progress.clear();
  if (measured || document.any()) document.finish(attempts);  // what was finished is kept
  if (document.wrong_rows() > 0) complain(fmt::format("{} rows had wrong results", document.wrong_rows()));
  return attempts.finish(document.wrong_rows() > 0 ? kDisagreed : kAgreed);
}

}  // namespace

int run_bench(const BenchSuite& suite, const BenchOptions& asked) {
  BenchOptions options = asked;
  if (!options.shapes.empty() && options.globs.empty()) options.globs = {"gemm.*"};
  if (const auto launched = launch()) {
    throw InputError(
        fmt::format("bench: {} is {}; expected one process, without mpirun", launched->size_variable, launched->size));
  }
  std::vector<SuitePart> parts = parts_of(suite, options);
  if (!options.shapes.empty()) {
    for (SuitePart& part : parts) {
      if (const auto shapes = part.selection.find("shapes"); shapes != part.selection.end()) shapes->second = {"own"};
    }
  }
  return options.list ? list_parts(std::move(parts), options, suite) : measure_suite(suite, options, std::move(parts));
}

}  // namespace tcnum
