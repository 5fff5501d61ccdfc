#include "bench_document.hpp"

#include <fmt/format.h>

#include <algorithm>
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
  return {{"seconds", options.seconds}, {"seed", static_cast<std::int64_t>(options.seed)}};
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
  records_.set_facts(facts);
  if (!before_) return;
  const std::string difference = records_.go_on_from(std::move(*before_), options_.checkpoint);
  before_.reset();
  if (!difference.empty()) {
    complain(fmt::format("{}: {}: all rows are measured again", options_.checkpoint, difference));
  }
}

void RunDocument::add(bench::Record record) {
  // Who measures ends early then, and may leave points out.
  if (interrupted && !record.values.empty()) record.set(bench::kInterrupted, true);
  records_.add(std::move(record));
  ++measured_;
  if (kept_up_to_date_.empty()) return;
  const std::string text = bench::json_text(records_.document());
  for (const std::string& path : kept_up_to_date_) write_text(path, text);
}

void RunDocument::show(const bench::Document& document, std::size_t taken_over, double all_seconds) const {
  const auto arch = find_arch(document.facts.arch);
  say(bench::run_text(document, arch ? find_sass(*arch) : SassTable{}) + bench::notes_text(document));
  say(fmt::format("\n{} rows in {:.0f} s{}{}\n", measured_, all_seconds,
                  taken_over == 0 ? "" : fmt::format(", and {} of {}", taken_over, options_.checkpoint),
                  interrupted ? " (interrupted)" : ""));
}

void RunDocument::finish(Attempts& attempts) {
  const double all_seconds = seconds();
  bench::Document document = records_.document();
  const std::size_t taken_over = document.records.size() - measured_;
  bench::put_shares(document);
  bench::put_product_models(document);
  std::vector<std::string> json = kept_up_to_date_;
  if (options_.json == "-") json.push_back(options_.json);
  // What was there before is worth more than nothing.
  if (document.records.empty()) std::erase(json, options_.checkpoint);
  for (const std::string& path : json) attempts.attempt([&] { write_text(path, bench::json_text(document)); });
  wrong_rows_ = static_cast<std::size_t>(
      std::ranges::count_if(document.records, [](const bench::Record& r) { return !r.error.empty(); }));
  if (options_.json != "-") show(document, taken_over, all_seconds);
}

}  // namespace tcnum
