#include "run_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "bench/measure/gemm/product_model.hpp"
#include "bench/measure/memory/memory.hpp"
#include "bench/measure/report/sections.hpp"
#include "src/commands/interrupt.hpp"
#include "src/commands/output.hpp"
#include "src/commands/records.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

std::string device_of(const TimingFacts& facts) {
  return fmt::format("{} ({}, {} SMs)", facts.device, facts.arch, facts.sms);
}

}  // namespace

RunDocument::RunDocument(const BenchOptions& options)
    : options_(options),
      document_{
          TCNUM_VERSION, {}, {{"seconds", options.seconds}, {"seed", static_cast<std::int64_t>(options.seed)}}, {}} {
  for (const std::string& path : {options.json, options.checkpoint}) {
    if (!path.empty() && path != "-") kept_up_to_date_.push_back(path);
  }
  if (!options.checkpoint.empty() && is_there(options.checkpoint)) before_ = bench::read_document(options.checkpoint);
}

void RunDocument::set_facts(const TimingFacts& facts) {
  document_.facts = facts;
  if (!before_) return;
  const TimingFacts& there = before_->facts;
  if (device_of(there) != device_of(facts)) {
    throw InputError(fmt::format("{}: device: {}; expected {}, or another file", options_.checkpoint, device_of(there),
                                 device_of(facts)));
  }
  struct Difference {
    const char* what;
    std::string there, here;
  };
  const std::array<Difference, 4> compared = {
      {{"driver", there.driver, facts.driver},
       {"CUDA", there.cuda, facts.cuda},
       {"tcnum", before_->version, document_.version},
       {"settings", bench::listed(before_->settings), bench::listed(document_.settings)}}};
  for (const Difference& each : compared) {
    if (each.there == each.here) continue;
    return complain(fmt::format("{}: {} {}; here {}: all rows are measured again", options_.checkpoint, each.what,
                                each.there, each.here));
  }
  for (bench::Record& record : before_->records) {
    if (record.date.empty()) record.date = there.date;
    places_.put(document_, std::move(record));
  }
}

bool RunDocument::has(const bench::Record& row) const {
  const bench::Record* const found = places_.find(document_, row);
  return found != nullptr && found->waived.empty() && found->error.empty() &&
         found->find(bench::kInterrupted) == nullptr && bench::listed(found->settings) == bench::listed(row.settings);
}

void RunDocument::add(bench::Record record) {
  // Who measures ends early then, and may leave points out.
  if (interrupted && !record.values.empty()) record.set(bench::kInterrupted, true);
  places_.put(document_, std::move(record));
  ++measured_;
  if (kept_up_to_date_.empty()) return;
  const std::string text = bench::json_text(document_);
  for (const std::string& path : kept_up_to_date_) write_text(path, text);
}

void RunDocument::finish(Attempts& attempts) {
  const double all_seconds = seconds();
  const std::size_t taken_over = document_.records.size() - measured_;
  bench::put_shares(document_);
  bench::put_product_models(document_);
  std::vector<std::string> json = kept_up_to_date_;
  if (options_.json == "-") json.push_back(options_.json);
  // What was there before is worth more than nothing.
  if (document_.records.empty()) std::erase(json, options_.checkpoint);
  for (const std::string& path : json) attempts.attempt([&] { write_text(path, bench::json_text(document_)); });
  wrong_rows_ = static_cast<std::size_t>(
      std::ranges::count_if(document_.records, [](const bench::Record& r) { return !r.error.empty(); }));
  if (options_.json == "-") return;
  const auto arch = find_arch(document_.facts.arch);
  say(bench::run_text(document_, arch ? find_sass(*arch) : SassTable{}));
  say(fmt::format("\n{} rows in {:.0f} s{}{}\n", measured_, all_seconds,
                  taken_over == 0 ? "" : fmt::format(", and {} of {}", taken_over, options_.checkpoint),
                  interrupted ? " (interrupted)" : ""));
}

}  // namespace tcnum
