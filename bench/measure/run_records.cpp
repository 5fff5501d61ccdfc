#include "run_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "tcnum/error.hpp"

namespace tcnum::bench {
namespace {

/// The members of a JSON object have no order.
std::vector<Field> sorted(std::vector<Field> fields) {
  std::ranges::sort(fields, {}, &Field::name);
  return fields;
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
       {"settings", listed(sorted(before.settings)), listed(sorted(document_.settings))}}};
  for (const Difference& each : compared) {
    if (each.there != each.here) return fmt::format("{} {}; here {}", each.what, each.there, each.here);
  }
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

void RunRecords::add(Record record) { places_.put(document_, std::move(record)); }

}  // namespace tcnum::bench
