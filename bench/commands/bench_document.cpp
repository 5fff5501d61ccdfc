#include "bench_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bench/measure/gemm/product_model.hpp"
#include "bench/measure/memory/memory.hpp"
#include "bench/measure/report/pages.hpp"
#include "bench/measure/report/printers.hpp"
#include "src/commands/interrupt.hpp"
#include "src/commands/output.hpp"
#include "src/commands/records.hpp"

namespace tcnum {
namespace {

std::vector<bench::Field> recorded_settings(const BenchOptions& options) {
  std::vector<bench::Field> settings = {{"seconds", options.seconds},
                                        {"seed", static_cast<std::int64_t>(options.seed)}};
  if (options.oversubscribe) settings.push_back({"oversubscribe", true});
  return settings;
}

}  // namespace

RunDocument::RunDocument(const BenchOptions& options)
    : options_(options), records_(TCNUM_VERSION, recorded_settings(options)) {
  for (const std::string& path : {options.json, options.checkpoint}) {
    if (!path.empty() && path != "-") kept_up_to_date_.push_back(path);
  }
  if (!options.checkpoint.empty() && is_there(options.checkpoint)) before_ = bench::read_document(options.checkpoint);
}

void RunDocument::set_facts(const TimingFacts& facts) {
  const std::lock_guard lock(mutex_);
  records_.set_facts(facts);
  if (!before_) return;
  const std::string difference = records_.go_on_from(std::move(*before_), options_.checkpoint);
  before_.reset();
  if (!difference.empty()) {
    complain(fmt::format("{}: {}: all rows are measured again", options_.checkpoint, difference));
  }
}

bool RunDocument::has(const bench::Record& row) const {
  const std::lock_guard lock(mutex_);
  return records_.has(row);
}

std::size_t RunDocument::rows() const {
  const std::lock_guard lock(mutex_);
  return measured_;
}

bool RunDocument::any() const {
  const std::lock_guard lock(mutex_);
  return !records_.document().records.empty();
}

void RunDocument::add(bench::Record record) {
  const std::lock_guard lock(mutex_);
  // Who measures ends early then, and may leave points out.
  if (interrupted && !record.values.empty()) record.set(bench::kInterrupted, true);
  records_.add(std::move(record));
  ++measured_;
  if (kept_up_to_date_.empty()) return;
  const std::string text = records_.text(seconds());
  for (const std::string& path : kept_up_to_date_) write_text(path, text);
}

void RunDocument::add_sums(const bench::Measurement& measurement, const std::vector<std::string>& axes,
                           const std::vector<bench::Field>& settings) {
  const auto is_label = [&](const bench::Field& f) { return std::ranges::find(axes, f.name) != axes.end(); };
  using Row = std::pair<std::string, std::string>;  // the subject, and the other axes
  std::map<Row, std::vector<const bench::Record*>> rows;
  std::vector<bench::Record> sums;
  {
    const std::lock_guard lock(mutex_);
    for (const bench::Record& r : records_.document().records) {
      const bool here = std::ranges::all_of(
          settings, [&](const bench::Field& f) { return std::ranges::find(r.settings, f) != r.settings.end(); });
      const bool of_one = std::ranges::count_if(r.axes, is_label) == static_cast<std::ptrdiff_t>(axes.size()) &&
                          r.text(axes.back()) != bench::kAllDevices;
      if (r.measurement != measurement.name || !here || !of_one) continue;
      std::string others;
      for (const bench::Field& axis : r.axes) {
        if (!is_label(axis)) others += fmt::format("{}={} ", axis.name, r.text(axis.name));
      }
      rows[{r.subject, others}].push_back(&r);
    }
    for (const auto& [row, of_devices] : rows) {
      if (of_devices.size() < 2) continue;
      auto sum = measurement.add_up(of_devices);
      if (!sum) continue;
      sum->axes = of_devices.front()->axes;
      for (bench::Field& axis : sum->axes) {
        if (is_label(axis)) axis.value = std::string(bench::kAllDevices);
      }
      sum->settings = of_devices.front()->settings;
      sums.push_back(std::move(*sum));
    }
  }
  for (bench::Record& sum : sums) add(std::move(sum));
}

void RunDocument::show(const bench::Document& document, std::size_t taken_over, double all_seconds) const {
  const auto arch = find_arch(document.facts.arch);
  say(bench::header_text(document.facts) + bench::run_text(document, arch ? find_sass(*arch) : SassTable{}) +
      bench::notes_text(document));
  say(fmt::format("\n{} rows in {:.0f} s{}{}\n", measured_, all_seconds,
                  taken_over == 0 ? "" : fmt::format(", and {} of {}", taken_over, options_.checkpoint),
                  interrupted ? " (interrupted)" : ""));
}

void RunDocument::finish(Attempts& attempts) {
  const double all_seconds = seconds();
  bench::Document document = std::move(records_).finish(all_seconds);
  const std::size_t taken_over = document.records.size() - measured_;
  bench::put_shares(document);
  bench::put_product_models(document);
  std::vector<std::string> json = kept_up_to_date_;
  if (options_.json == "-") json.push_back(options_.json);
  // What was there before is worth more than nothing.
  if (document.records.empty()) std::erase(json, options_.checkpoint);
  for (const std::string& path : json) attempts.attempt([&] { write_text(path, bench::json_text(document)); });
  if (!options_.csv.empty()) attempts.attempt([&] { write_text(options_.csv, bench::csv_text(document)); });
  wrong_rows_ = static_cast<std::size_t>(
      std::ranges::count_if(document.records, [](const bench::Record& r) { return !r.error.empty(); }));
  if (options_.json != "-" && options_.csv != "-") show(document, taken_over, all_seconds);
}

}  // namespace tcnum
