#include "run_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "bench/measure/report/printers.hpp"
#include "tcnum/error.hpp"

namespace tcnum::bench {
namespace {

/// A setting that says nothing of how a row was measured.
constexpr const char* kSeconds = "suite_seconds";

/// The members of a JSON object have no order.
std::vector<Field> sorted(std::vector<Field> fields) {
  std::ranges::sort(fields, {}, &Field::name);
  return fields;
}

std::vector<Field> without_seconds(std::vector<Field> settings) {
  std::erase_if(settings, [](const Field& f) { return f.name == kSeconds; });
  return sorted(std::move(settings));
}

std::string listed(const std::vector<Field>& settings) {
  std::string text;
  for (const Field& f : settings) {
    Record holder;
    holder.values.push_back(f);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", f.name, holder.text(f.name));
  }
  return text;
}

}  // namespace

RowPlaces::Row RowPlaces::row_of(const Record& record) {
  Axes axes;
  for (const Field& axis : sorted(record.axes)) axes.emplace_back(axis.name, axis.value);
  return {record.measurement, record.subject, std::move(axes)};
}

RowPlaces::RowPlaces(const Document& document) {
  for (std::size_t i = 0; i < document.records.size(); ++i) places_.emplace(row_of(document.records[i]), i);
}

const Record* RowPlaces::find(const Document& document, const Record& row) const {
  const auto found = places_.find(row_of(row));
  return found == places_.end() ? nullptr : &document.records[found->second];
}

std::size_t RowPlaces::put(Document& document, Record record) {
  const auto [place, is_new] = places_.try_emplace(row_of(record), document.records.size());
  if (is_new) {
    document.records.push_back(std::move(record));
  } else {
    document.records[place->second] = std::move(record);
  }
  return place->second;
}

RunRecords::RunRecords(std::string version, std::vector<Field> settings) {
  document_.version = std::move(version);
  document_.settings = std::move(settings);
}

void RunRecords::set_facts(TimingFacts facts) { document_.facts = std::move(facts); }

std::string RunRecords::go_on_from(Document before, const std::string& path) {
  const TimingFacts &there = before.facts, &here = document_.facts;
  if (there.device != here.device || there.arch != here.arch || there.sms != here.sms) {
    throw InputError(fmt::format("{}: device: {} ({}, {} SMs); expected {} ({}, {} SMs), or another file", path,
                                 there.device, there.arch, there.sms, here.device, here.arch, here.sms));
  }
  struct Difference {
    const char* what;
    std::string there, here;
  };
  const std::array<Difference, 4> compared = {
      {{"driver", there.driver, here.driver},
       {"CUDA", there.cuda, here.cuda},
       {"tcnum", before.version, document_.version},
       {"settings", listed(without_seconds(before.settings)), listed(without_seconds(document_.settings))}}};
  for (const Difference& each : compared) {
    if (each.there != each.here) return fmt::format("{} {}; here {}", each.what, each.there, each.here);
  }
  Record settings;
  settings.values = before.settings;
  seconds_before_ = settings.number(kSeconds).value_or(0);
  for (Record& record : before.records) {
    if (record.date.empty()) record.date = there.date;
    add(std::move(record));
  }
  return "";
}

bool RunRecords::has(const Record& row) const {
  const Record* const found = places_.find(document_, row);
  return found != nullptr && found->waived.empty() && found->error.empty() && found->find(kInterrupted) == nullptr &&
         sorted(found->settings) == sorted(row.settings);
}

void RunRecords::add(Record record) {
  std::string line = json_line(record, document_.facts);
  const std::size_t place = places_.put(document_, std::move(record));
  if (place == lines_.size()) lines_.emplace_back();
  lines_[place] = std::move(line);
}

void RunRecords::set_seconds(double seconds) {
  std::erase_if(document_.settings, [](const Field& f) { return f.name == kSeconds; });
  document_.settings.push_back({kSeconds, seconds_before_ + seconds});
}

std::string RunRecords::text(double seconds) {
  set_seconds(seconds);
  return json_text(document_, lines_);
}

Document RunRecords::finish(double seconds) && {
  set_seconds(seconds);
  return std::move(document_);
}

}  // namespace tcnum::bench
