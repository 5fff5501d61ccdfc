// tcnum bench: latency, throughput and energy.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "bench.hpp"
#include "bench/device/device.hpp"
#include "bench/measure/gemm/product_model.hpp"
#include "bench/measure/measurement.hpp"
#include "bench/measure/memory/memory.hpp"
#include "bench/measure/report/pages.hpp"
#include "bench/measure/report/printers.hpp"
#include "bench/measure/run_records.hpp"
#include "bench/measure/tensor.hpp"
#include "bench_document.hpp"
#include "bench_parts.hpp"
#include "device_records.hpp"
#include "emu/parallel.hpp"
#include "product_shapes.hpp"
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

int list_parts(std::vector<SuitePart> parts, const BenchOptions& options, const BenchSuite& suite) {
  const GpuInfo gpu = options.arch.empty() ? gpu_info() : GpuInfo{};
  const std::optional<ArchId> own = gpu.present ? find_arch(gpu.arch) : std::nullopt;
  const ArchId id = options.arch.empty() ? own.value_or(ArchId::sm_90) : parse_arch(options.arch);
  BenchOptions every = options;
  if (every.globs.empty()) every.globs = {"*"};
  choose_subjects(parts, every, suite, id);
  for (const SuitePart& part : parts) {
    if (part.subjects.empty()) continue;
    say(fmt::format("{}: {}\n\n", part.measurement->name, part.measurement->meaning));
    std::vector<std::vector<std::string>> rows = {{"axis", "meaning", "values (by default)"}};
    for (const bench::Axis& axis : part.measurement->axes) {
      std::string values = fmt::format("{}", fmt::join(axis.values, ", "));
      if (axis.defaults != axis.values) values += fmt::format(" ({})", fmt::join(axis.defaults, ", "));
      rows.push_back({axis.name, axis.meaning, values});
    }
    if (rows.size() > 1) say(table_text(rows) + "\n");
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
  if (std::ranges::any_of(options.axes, [](const std::string& axis) { return axis.starts_with("shapes="); })) {
    throw InputError("-a shapes: expected either that or --shapes");
  }
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

void require_good_files(const BenchOptions& options) {
  require_writable(options.json);
  require_no_stdout({"--checkpoint", options.checkpoint});
  require_writable(options.checkpoint);
}

void require_gpu() {
  const GpuInfo gpu = gpu_info();
  if (gpu.present) return;
  throw UnavailableError(
      fmt::format("no GPU: {}; `tcnum bench report --section NAME` shows what was recorded of one", gpu.why_not));
}

/// Measures what is asked for, and keeps it.
int measure_suite(const BenchSuite& suite, const BenchOptions& options, std::vector<SuitePart> parts) {
  require_good_files(options);
  std::vector<GemmShape> shapes = own_shapes(options);
  require_gpu();
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
    document.set_facts(timing->facts());
    choose_subjects(parts, options, suite, arch_of(timing->facts()));
    measure_parts(*timing, parts, settings, document);
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

namespace {

/// Adds another file's records, in place of those of the same rows, and keeps the settings that both have.
void merge(bench::Document& document, bench::Document more) {
  std::erase_if(document.settings,
                [&](const bench::Field& f) { return std::ranges::find(more.settings, f) == more.settings.end(); });
  bench::RowPlaces places(document);
  for (bench::Record& record : more.records) {
    if (record.date.empty()) record.date = more.facts.date;
    places.put(document, std::move(record));
  }
}

bench::Document read_with_models(const std::string& file) {
  bench::Document document = bench::read_document(file);
  bench::put_models(document, file);
  return document;
}

/// All files' records as one.
DeviceRecord read_together(const std::vector<std::string>& files) {
  DeviceRecord record{read_with_models(files.front()), files.front(), ""};
  for (std::size_t i = 1; i < files.size(); ++i) {
    bench::Document more = read_with_models(files[i]);
    const std::string& device = record.document.facts.device;
    if (more.facts.device != device) {
      throw InputError(fmt::format("{}: device.name: {}; expected {}, as in {}", files[i], more.facts.device, device,
                                   files.front()));
    }
    merge(record.document, std::move(more));
  }
  bench::put_shares(record.document);
  bench::put_product_models(record.document);
  return record;
}

}  // namespace

int run_bench_report(const BenchReportOptions& options) {
  for (const std::string& path : {options.markdown, options.html, options.json}) require_writable(path);
  std::optional<FileLock> lock;  // of what may be one of the files, with more added
  if (!options.json.empty() && options.json != "-") lock.emplace(options.json, FileLock::IfHeld::wait);
  const DeviceRecord record = options.files.empty() ? find_device_record(options.device) : read_together(options.files);
  const bench::Document& document = record.document;
  const auto arch = find_arch(document.facts.arch);
  const SassTable sass = arch ? find_sass(*arch) : SassTable{};
  const std::string& section = options.section;
  const auto markdown = [&] { return bench::markdown_page(document, sass, section); };
  Attempts attempts;
  if (!options.json.empty()) attempts.attempt([&] { write_text(options.json, bench::json_text(document)); });
  if (!options.html.empty()) {
    attempts.attempt([&] { write_text(options.html, bench::html_page(document, sass, section)); });
  }
  if (!options.markdown.empty()) attempts.attempt([&] { write_text(options.markdown, markdown()); });
  if (options.markdown.empty() && options.html.empty() && options.json.empty()) {
    say(section.empty() ? markdown() : record_line(record) + "\n\n" + bench::text_page(document, sass, section));
  }
  return attempts.finish(kAgreed);
}

}  // namespace tcnum
