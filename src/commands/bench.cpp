// tcnum bench: latency, throughput and energy.
#include <chrono>
#include <memory>
#include <optional>

#include "command.hpp"
#include "interrupt.hpp"
#include "probes/timing.hpp"
#include "src/bench/measurement.hpp"
#include "src/bench/printers.hpp"
#include "src/bench/report.hpp"
#include "src/bench/tensor.hpp"
#include "src/campaign/campaign.hpp"
#include "src/report/report.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {
namespace {

using bench::Measurement;

/// What a command measures.
struct Suite {
  const char* name;
  const char* meaning;
  std::vector<std::string> measurements;  ///< empty: all
};
const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = {
      {"tensor", "Tensor-core instructions", {"mma", "wmma", "wgmma", "integer wgmma"}},
      {"incore", "Plain arithmetic", {"incore"}},
      {"all", "Everything", {}}};
  return all;
}

struct Options {
  std::vector<std::string> globs, axes;
  std::string arch, json, csv, devices = "0";
  bool list = false;
  double seconds = 0.25;
  std::uint64_t seed = 1;
};

std::vector<const Measurement*> measurements_of(const Suite& suite) {
  std::vector<const Measurement*> chosen;
  for (const Measurement* m : bench::measurements()) {
    if (suite.measurements.empty() || std::ranges::find(suite.measurements, m->name()) != suite.measurements.end()) {
      chosen.push_back(m);
    }
  }
  return chosen;
}

/// A measurement, and what of it the user wants.
struct Part {
  const Measurement* measurement;
  bench::Selection selection;
  std::vector<std::string> subjects;
};

/// An axis counts for the measurements that have it; one that none has is an error.
std::vector<Part> parts_of(const Suite& suite, const Options& options) {
  std::vector<Part> parts;
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

void choose_subjects(std::vector<Part>& parts, const Options& options, const Suite& suite, ArchId id) {
  bool any = false;
  for (Part& part : parts) {
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

int list(std::vector<Part> parts, const Options& options, const Suite& suite) {
  const GpuInfo gpu = options.arch.empty() ? gpu_info() : GpuInfo{};
  const std::optional<ArchId> own = gpu.present ? find_arch(gpu.arch) : std::nullopt;
  const ArchId id = options.arch.empty() ? own.value_or(ArchId::sm_90) : parse_arch(options.arch);
  Options every = options;
  if (every.globs.empty()) every.globs = {"*"};
  choose_subjects(parts, every, suite, id);
  for (const Part& part : parts) {
    if (part.subjects.empty()) continue;
    say(fmt::format("{}: {}\n\n", part.measurement->name(), part.measurement->meaning()));
    std::vector<std::vector<std::string>> rows = {{"axis", "meaning", "values (by default)"}};
    for (const bench::Axis& axis : part.measurement->axes()) {
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

int run(const Suite& suite, const Options& options) {
  if (!(options.seconds > 0 && options.seconds <= 60)) {
    throw InputError("--seconds: right would be a number above 0, up to 60");
  }
  std::vector<Part> parts = parts_of(suite, options);
  if (options.list) return list(std::move(parts), options, suite);
  require_writable(options.json);
  require_writable(options.csv);
  const GpuInfo gpu = gpu_info();
  if (!gpu.present) throw UnavailableError(fmt::format("no GPU: {}", gpu.why_not));
  const std::vector<int> devices = parse_devices(options.devices, gpu_count());

  bench::Document document;
  document.version = TCNUM_VERSION;
  document.settings = {{"seconds", options.seconds}, {"seed", static_cast<std::int64_t>(options.seed)}};
  const InterruptGuard guard;
  interrupted = false;
  const ProgressLine progress;
  bench::Settings settings;
  settings.stop.least_seconds = options.seconds;
  settings.stop.most_seconds = 4 * options.seconds;
  settings.seed = options.seed;
  settings.threads = all_threads();
  const auto start = std::chrono::steady_clock::now();
  auto saved = start;
  const auto save_sometimes = [&] {  // a program that is killed keeps most of it
    constexpr auto kInterval = std::chrono::seconds(10);
    const auto now = std::chrono::steady_clock::now();
    if (options.json.empty() || options.json == "-" || now - saved < kInterval) return;
    write_text(options.json, bench::json_text(document));
    saved = now;
  };
  std::string failure;
  for (int device : devices) {
    const std::unique_ptr<TimingDevice> timing = make_timing_device(device);
    const TimingFacts& facts = timing->facts();
    if (device == devices.front()) document.facts = facts;
    const auto id = find_arch(facts.arch);
    if (!id)
      throw UnavailableError(
          fmt::format("the GPU ({}, {}) is of no architecture that tcnum knows", facts.device, facts.arch));
    std::vector<Part> here = parts;
    choose_subjects(here, options, suite, *id);
    settings.warm_up_seconds = bench::Settings{}.warm_up_seconds;
    settings.go_on = [&](const std::string& next) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      progress.show(fmt::format("{:.0f} s, {} rows: {}", seconds, document.records.size(), next));
      return !interrupted;
    };
    try {
      for (const Part& part : here) {
        if (part.subjects.empty() || interrupted) continue;
        part.measurement->measure(*timing, *id, part.subjects, part.selection, settings, [&](bench::Record record) {
          if (devices.size() > 1) record.axes.insert(record.axes.begin(), {"device", std::int64_t{device}});
          document.records.push_back(std::move(record));
          save_sometimes();
        });
      }
    } catch (const std::exception& error) {  // what was finished is kept
      failure = error.what();
      break;
    }
  }
  progress.clear();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  document.settings.push_back({"suite_seconds", seconds});

  const auto write = [&] {
    if (!options.json.empty()) write_text(options.json, bench::json_text(document));
  };
  if (options.json != "-" && options.csv != "-") {
    say(bench::header_text(document.facts) + bench::tables_text(document));
    say(fmt::format("\n{} rows in {:.0f} s{}\n", document.records.size(), seconds,
                    interrupted ? " (interrupted)" : ""));
  }
  write();
  if (!options.csv.empty()) write_text(options.csv, bench::csv_text(document));
  if (!failure.empty()) throw std::runtime_error(failure);
  const auto wrong = std::ranges::count_if(document.records, [](const bench::Record& r) { return !r.error.empty(); });
  if (wrong > 0) throw std::runtime_error(fmt::format("{} rows had wrong results", wrong));
  return kAgreed;
}

struct ReportOptions {
  std::vector<std::string> files;
  std::string markdown, html, json;
};

int report(const ReportOptions& options) {
  require_writable(options.markdown);
  require_writable(options.html);
  require_writable(options.json);
  bench::Document document = bench::read_document(options.files.front());
  for (std::size_t i = 1; i < options.files.size(); ++i) {
    bench::Document more = bench::read_document(options.files[i]);
    if (more.facts.device != document.facts.device) {
      throw InputError(fmt::format("{}: device.name: {}; right would be {}, as in {}", options.files[i],
                                   more.facts.device, document.facts.device, options.files.front()));
    }
    std::erase_if(document.settings,
                  [&](const bench::Field& f) { return std::ranges::find(more.settings, f) == more.settings.end(); });
    for (bench::Record& record : more.records) {
      const auto same = std::ranges::find_if(document.records, [&](const bench::Record& r) {
        return r.measurement == record.measurement && r.subject == record.subject && r.axes == record.axes;
      });
      if (same == document.records.end()) {
        document.records.push_back(std::move(record));
      } else {
        *same = std::move(record);
      }
    }
  }
  bench::put_models(document);
  const auto arch = find_arch(document.facts.arch);
  const SassTable sass = arch ? find_sass(*arch) : SassTable{};
  const auto markdown = [&] { return bench::markdown_report(document, sass); };
  if (options.markdown.empty() && options.html.empty() && options.json.empty()) say(markdown());
  if (!options.markdown.empty()) write_text(options.markdown, markdown());
  if (!options.html.empty()) write_text(options.html, bench::html_report(document, sass));
  if (!options.json.empty()) write_text(options.json, bench::json_text(document));
  return kAgreed;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("bench", "Measure latency, throughput and energy");
  sub->require_subcommand(1);
  for (const Suite& suite : suites()) {
    CLI::App* one = sub->add_subcommand(suite.name, suite.meaning);
    const auto options = std::make_shared<Options>();
    one->add_flag("--list", options->list, "Show what can be measured, and along which axes");
    one->add_option("--instr", options->globs,
                    "Instructions or operations, names or globs such as 'wgmma.*'; '*' is all (default: not those that "
                    "only say otherwise what another is)");
    one->add_option("-a,--axis", options->axes, "Values of an axis, such as N=8,16,…,256 or source=ss,rs; repeatable")
        ->allow_extra_args(false);
    one->add_option("--arch", options->arch, "With --list: architecture (default: the GPU's)");
    one->add_option("--seconds", options->seconds, "Steady load for each row, at least")->capture_default_str();
    one->add_option("--seed", options->seed, "Seed of the operands")->capture_default_str();
    one->add_option("--devices", options->devices, "GPUs, such as 0, 0,1 or all")->capture_default_str();
    one->add_option("--json", options->json, "Write the records as JSON (- for standard output)");
    one->add_option("--csv", options->csv, "Write the records as CSV (- for standard output)");
    one->callback([options, &suite, &action] { action = [options, &suite] { return run(suite, *options); }; });
  }
  CLI::App* made = sub->add_subcommand("report", "Make a report of recorded measurements, beside published ones");
  const auto options = std::make_shared<ReportOptions>();
  made->add_option("files", options->files, "What --json wrote; of a row that several have, the last one's counts")
      ->required();
  made->add_option("--markdown", options->markdown, "Write it as Markdown (- for standard output)");
  made->add_option("--html", options->html, "Write it as one HTML page with plots (- for standard output)");
  made->add_option("--json", options->json, "Write the records of all files as one (- for standard output)");
  made->callback([options, &action] { action = [options] { return report(*options); }; });
}

}  // namespace tcnum
