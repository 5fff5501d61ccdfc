// tcnum bench: latency, throughput and energy.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "commands.hpp"
#include "emu/parallel.hpp"
#include "failure.hpp"
#include "file_lock.hpp"
#include "interrupt.hpp"
#include "names.hpp"
#include "output.hpp"
#include "probes/timing.hpp"
#include "product_shapes.hpp"
#include "records.hpp"
#include "src/bench/gemm/product_model.hpp"
#include "src/bench/measurement.hpp"
#include "src/bench/memory/memory.hpp"
#include "src/bench/pages.hpp"
#include "src/bench/printers.hpp"
#include "src/bench/run_records.hpp"
#include "src/bench/tensor.hpp"
#include "src/campaign/record.hpp"
#include "src/report/layout.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

std::span<const BenchSuite> bench_suites() {
  static const auto kSuites = std::to_array<BenchSuite>({
      {"tensor", "Tensor-core instructions", {"mma", "wmma", "wgmma", "integer wgmma"}},
      {"incore", "Plain arithmetic", {"incore"}},
      {"dpx", "DPX functions", {"dpx"}},
      {"launch", "Starting kernels", {"launch"}},
      {"sync", "Atomics, barriers and clusters", {"atomics", "barriers", "clusters", "histogram"}},
      {"memory", "Latency and rates of memories", {"latency", "strides", "bandwidth", "streams", "host"}},
      {"copy", "Copies from global to shared memory", {"copy latency", "copies", "tiled product"}},
      {"gemm", "Matrix products", {"gemm", "skinny"}},
      {"linear", "Linear layers, of fp8 with casts", {"linear", "transformer"}},
      {"roofline", "Arithmetic whose operands come from DRAM", {"roofline"}},
      {"all", "Everything", {}},
  });
  return kSuites;
}

namespace {

using bench::Measurement;

std::vector<const Measurement*> measurements_of(const BenchSuite& suite) {
  std::vector<const Measurement*> chosen;
  for (const Measurement* m : bench::measurements()) {
    if (suite.measurements.empty() || std::ranges::find(suite.measurements, m->name()) != suite.measurements.end()) {
      chosen.push_back(m);
    }
  }
  return chosen;
}

/// A measurement, and what of it the user wants.
struct SuitePart {
  const Measurement* measurement;
  bench::Selection selection;
  std::vector<std::string> subjects;
};

/// An axis counts for the measurements that have it; one that none has is an error.
std::vector<SuitePart> parts_of(const BenchSuite& suite, const BenchOptions& options) {
  std::vector<SuitePart> parts;
  std::vector<bench::Axis> all;
  for (const Measurement* m : measurements_of(suite)) {
    for (const bench::Axis& axis : m->axes()) {
      if (std::ranges::find(all, axis.name, &bench::Axis::name) == all.end()) all.push_back(axis);
    }
  }
  bench::parse_axes(options.axes, all);
  for (const Measurement* m : measurements_of(suite)) {
    std::vector<std::string> mine;
    for (const std::string& text : options.axes) {
      const std::string name = text.substr(0, text.find('='));
      if (std::ranges::find(m->axes(), name, &bench::Axis::name) != m->axes().end()) mine.push_back(text);
    }
    parts.push_back({m, bench::parse_axes(mine, m->axes()), {}});
  }
  return parts;
}

void choose_subjects(std::vector<SuitePart>& parts, const BenchOptions& options, const BenchSuite& suite, ArchId id) {
  bool any = false;
  for (SuitePart& part : parts) {
    for (std::string& name : part.measurement->subjects(id)) {
      const bool wanted =
          options.globs.empty() ? part.measurement->by_default(name) : bench::matches(options.globs, name);
      if (wanted) part.subjects.push_back(std::move(name));
    }
    any = any || !part.subjects.empty();
  }
  if (!any) {
    throw InputError(
        fmt::format("--instr: {} matches nothing of {}; right would be a name or a glob of those that `tcnum "
                    "bench {} --list` shows, such as 'wgmma.*'",
                    fmt::join(options.globs, ", "), arch(id).name, suite.name));
  }
}

int list_parts(std::vector<SuitePart> parts, const BenchOptions& options, const BenchSuite& suite) {
  const GpuInfo gpu = options.arch.empty() ? gpu_info() : GpuInfo{};
  const std::optional<ArchId> own = gpu.present ? find_arch(gpu.arch) : std::nullopt;
  const ArchId id = options.arch.empty() ? own.value_or(ArchId::sm_90) : parse_arch(options.arch);
  BenchOptions every = options;
  if (every.globs.empty()) every.globs = {"*"};
  choose_subjects(parts, every, suite, id);
  for (const SuitePart& part : parts) {
    if (part.subjects.empty()) continue;
    say(fmt::format("{}: {}\n\n", part.measurement->name(), part.measurement->meaning()));
    std::vector<std::vector<std::string>> rows = {{"axis", "meaning", "values (by default)"}};
    for (const bench::Axis& axis : part.measurement->axes()) {
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

/// The records of a run as they come in. What is written to a file is written after each, so that a program that is
/// killed loses the row at hand.
class RunDocument {
 public:
  /// Reads what there is to go on from.
  explicit RunDocument(const BenchOptions& options)
      : options_(options), records_(TCNUM_VERSION, recorded_settings(options)) {
    for (const std::string& path : {options.json, options.checkpoint}) {
      if (!path.empty() && path != "-") kept_up_to_date_.push_back(path);
    }
    if (!options.checkpoint.empty() && is_there(options.checkpoint)) before_ = bench::read_document(options.checkpoint);
  }

  void set_facts(const TimingFacts& facts) {
    records_.set_facts(facts);
    if (!before_) return;
    const std::string difference = records_.go_on_from(std::move(*before_), options_.checkpoint);
    before_.reset();
    if (!difference.empty()) {
      complain(fmt::format("{}: {}: all rows are measured again", options_.checkpoint, difference));
    }
  }
  bool has(const bench::Record& row) const { return records_.has(row); }
  void add(bench::Record record) {
    // Who measures ends early then, and may leave points out.
    if (interrupted && !record.values.empty()) record.set(bench::kInterrupted, true);
    records_.add(std::move(record));
    ++measured_;
    if (kept_up_to_date_.empty()) return;
    const std::string text = records_.text(seconds());
    for (const std::string& path : kept_up_to_date_) write_text(path, text);
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  std::size_t rows() const { return measured_; }
  /// Whether there is anything to show.
  bool any() const { return !records_.document().records.empty(); }

  /// Writes and shows all that there is.
  void finish(Attempts& attempts) {
    const double all_seconds = seconds();
    bench::Document document = std::move(records_).finish(all_seconds);
    const std::size_t taken_over = document.records.size() - measured_;
    bench::put_shares(document);
    bench::put_product_model(document);
    for (const std::string& path : kept_up_to_date_) {
      if (path == options_.checkpoint && document.records.empty()) continue;  // what it has is worth more than nothing
      attempts.attempt([&] { write_text(path, bench::json_text(document)); });
    }
    if (options_.json == "-") attempts.attempt([&] { write_text(options_.json, bench::json_text(document)); });
    if (!options_.csv.empty()) attempts.attempt([&] { write_text(options_.csv, bench::csv_text(document)); });
    wrong_rows_ = static_cast<std::size_t>(
        std::ranges::count_if(document.records, [](const bench::Record& r) { return !r.error.empty(); }));
    if (options_.json == "-" || options_.csv == "-") return;
    say(bench::header_text(document.facts) + bench::tables_text(document));
    say(fmt::format("\n{} rows in {:.0f} s{}{}\n", measured_, all_seconds,
                    taken_over == 0 ? "" : fmt::format(", and {} of {}", taken_over, options_.checkpoint),
                    interrupted ? " (interrupted)" : ""));
  }
  /// After finish().
  std::size_t wrong_rows() const { return wrong_rows_; }

 private:
  using Clock = std::chrono::steady_clock;

  static std::vector<bench::Field> recorded_settings(const BenchOptions& options) {
    std::vector<bench::Field> settings = {{"seconds", options.seconds},
                                          {"seed", static_cast<std::int64_t>(options.seed)}};
    if (options.oversubscribe) settings.push_back({"oversubscribe", true});
    return settings;
  }

  const BenchOptions& options_;
  bench::RunRecords records_;
  std::optional<bench::Document> before_;
  std::vector<std::string> kept_up_to_date_;
  Clock::time_point start_ = Clock::now();
  std::size_t measured_ = 0, wrong_rows_ = 0;
};

/// Those of the user's own table, in place of the sets.
std::vector<GemmShape> own_shapes(const BenchOptions& options) {
  const std::string& file = options.shapes;
  std::vector<GemmShape> shapes;
  if (file.empty()) return shapes;
  if (std::ranges::any_of(options.axes, [](const std::string& axis) { return axis.starts_with("shapes="); })) {
    throw InputError("-a shapes: right would be either that or --shapes");
  }
  for (const ShapeRow& row : read_shapes(file, false)) {
    const GemmShape& s = row.shape;
    for (const std::size_t size : {s.m, s.n, s.k}) {
      if (size % kGemmGranule == 0) continue;
      throw InputError(fmt::format("{}: {} × {} × {}: right would be multiples of {}", file, s.m, s.n, s.k,
                                   kGemmGranule));
    }
    shapes.push_back(s);
  }
  return shapes;
}

bench::Settings settings_of(const BenchOptions& options) {
  bench::Settings settings;
  settings.stop.least_seconds = options.seconds;
  settings.stop.most_seconds = 4 * options.seconds;
  settings.seed = options.seed;
  settings.threads = all_threads();
  settings.oversubscribe = options.oversubscribe;
  return settings;
}

ArchId arch_of(const TimingFacts& facts) {
  if (const auto id = find_arch(facts.arch)) return *id;
  throw UnavailableError(
      fmt::format("the GPU ({}, {}) is of no architecture that tcnum knows", facts.device, facts.arch));
}

/// Of the axes that a row goes over, those of which the user wants some values only.
std::vector<bench::Field> settings_of_row(const SuitePart& part, const bench::Record& row) {
  std::vector<bench::Field> settings;
  for (const bench::Axis& axis : part.measurement->axes()) {
    const std::vector<std::string>& wanted = part.selection.at(axis.name);
    const bool is_own = std::ranges::find(row.axes, axis.name, &bench::Field::name) != row.axes.end();
    if (is_own || wanted == axis.defaults) continue;
    settings.push_back({axis.name, fmt::format("{}", fmt::join(wanted, ","))});
  }
  return settings;
}

/// Measures the parts on one GPU, until interrupted. Records carry its number if there are others.
void measure_parts(TimingDevice& timing, const std::vector<SuitePart>& parts, ArchId id, std::optional<int> device,
                   bench::Settings settings, RunDocument& document) {
  for (const SuitePart& part : parts) {
    if (part.subjects.empty() || interrupted) continue;
    const auto complete = [&](bench::Record record) {
      record.settings = settings_of_row(part, record);
      if (device) record.axes.insert(record.axes.begin(), {"device", std::int64_t{*device}});
      return record;
    };
    settings.has = [&](const bench::Record& row) { return document.has(complete(row)); };
    part.measurement->measure(timing, id, part.subjects, part.selection, settings,
                              [&](bench::Record record) { document.add(complete(std::move(record))); });
  }
}

}  // namespace

int run_bench(const BenchSuite& suite, const BenchOptions& asked) {
  BenchOptions options = asked;
  if (!options.shapes.empty() && options.globs.empty()) options.globs = {"gemm.*"};
  std::vector<SuitePart> parts = parts_of(suite, options);
  if (options.list) return list_parts(std::move(parts), options, suite);
  require_writable(options.json);
  require_writable(options.csv);
  require_no_stdout({"--checkpoint", options.checkpoint});
  require_writable(options.checkpoint);
  require_different({{"--json", options.json}, {"--checkpoint", options.checkpoint}, {"--csv", options.csv}},
                    {{"--shapes", options.shapes}});
  std::vector<GemmShape> shapes = own_shapes(options);
  const GpuInfo gpu = gpu_info();
  if (!gpu.present) throw UnavailableError(fmt::format("no GPU: {}", gpu.why_not));
  const std::vector<int> devices = parse_devices(options.devices, gpu_count());

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
  bool going_on = true;
  for (std::size_t i = 0; i < devices.size() && going_on; ++i) {
    going_on = attempts.attempt([&] {
      const std::unique_ptr<TimingDevice> timing = make_timing_device(devices[i]);
      if (i == 0) document.set_facts(timing->facts());
      const ArchId id = arch_of(timing->facts());
      std::vector<SuitePart> here = parts;
      choose_subjects(here, options, suite, id);
      settings.warm_up_seconds = bench::Settings{}.warm_up_seconds;
      measure_parts(*timing, here, id, devices.size() > 1 ? std::optional(devices[i]) : std::nullopt, settings,
                    document);
    });
  }
  progress.clear();
  if (going_on || document.any()) document.finish(attempts);  // what was finished is kept
  if (document.wrong_rows() > 0) complain(fmt::format("{} rows had wrong results", document.wrong_rows()));
  return attempts.finish(document.wrong_rows() > 0 ? kDisagreed : kAgreed);
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

}  // namespace

int run_bench_report(const BenchReportOptions& options) {
  for (const std::string& path : {options.markdown, options.html, options.json}) require_writable(path);
  std::vector<NamedFile> read;
  for (const std::string& file : options.files) read.emplace_back("files", file);
  require_different({{"--markdown", options.markdown}, {"--html", options.html}, {"--json", options.json}}, {});
  require_different({{"--markdown", options.markdown}, {"--html", options.html}}, read);
  std::optional<FileLock> lock;  // of what may be one of the files, with more added
  if (!options.json.empty() && options.json != "-") lock.emplace(options.json, FileLock::IfHeld::wait);
  bench::Document document = read_with_models(options.files.front());
  for (std::size_t i = 1; i < options.files.size(); ++i) {
    bench::Document more = read_with_models(options.files[i]);
    if (more.facts.device != document.facts.device) {
      throw InputError(fmt::format("{}: device.name: {}; right would be {}, as in {}", options.files[i],
                                   more.facts.device, document.facts.device, options.files.front()));
    }
    merge(document, std::move(more));
  }
  const auto arch = find_arch(document.facts.arch);
  const SassTable sass = arch ? find_sass(*arch) : SassTable{};
  const auto markdown = [&] { return bench::markdown_page(document, sass); };
  bench::put_shares(document);
  bench::put_product_model(document);
  Attempts attempts;
  if (!options.json.empty()) attempts.attempt([&] { write_text(options.json, bench::json_text(document)); });
  if (!options.html.empty()) attempts.attempt([&] { write_text(options.html, bench::html_page(document, sass)); });
  if (!options.markdown.empty()) attempts.attempt([&] { write_text(options.markdown, markdown()); });
  if (options.markdown.empty() && options.html.empty() && options.json.empty()) say(markdown());
  return attempts.finish(kAgreed);
}

}  // namespace tcnum
