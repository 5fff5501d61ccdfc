#include "record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/files/json_fields.hpp"

namespace tcnum::bench {
namespace {

using nlohmann::ordered_json;

/// Six significant digits: more than any clock is good for, and files stay small.
double rounded(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(x))));
  return std::isfinite(scale) ? std::round(x * scale) / scale : x;
}

ordered_json json_of(const Value& value) {
  return std::visit([](const auto& x) { return ordered_json(x); }, value);
}

ordered_json json_of(const std::vector<Field>& fields) {
  ordered_json json = ordered_json::object();
  for (const Field& f : fields) json[f.name] = json_of(f.value);
  return json;
}

Value value_of(const ordered_json& json, const std::string& where) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    throw InputError(where + ": expected a number below 2^63");
  }
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  throw InputError(where + ": expected a number, a string, true or false");
}

/// A member that is an object, of far more members than a measurement writes, at most: some of what follows looks
/// through all of them for each.
const ordered_json& object_of(const JsonFields& json, const char* key) {
  constexpr std::size_t kMostMembers = 200;
  const ordered_json& object = json.any(key);
  if (!object.is_object() || object.size() > kMostMembers) {
    json.fail(key, fmt::format("expected an object of at most {} members", kMostMembers));
  }
  return object;
}

std::vector<Field> fields_of(const JsonFields& json, const char* key) {
  const ordered_json& object = object_of(json, key);
  std::vector<Field> fields;
  for (const auto& [name, value] : object.items()) {
    fields.push_back({name, value_of(value, fmt::format("{}.{}.{}", json.where(), key, name))});
  }
  return fields;
}

}  // namespace

const Value* Record::find(std::string_view name) const {
  for (const std::vector<Field>* fields : {&values, &axes}) {
    const auto found = std::ranges::find(*fields, name, &Field::name);
    if (found != fields->end()) return &found->value;
  }
  return nullptr;
}

std::optional<double> Record::number(std::string_view name) const {
  const Value* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (const double* const x = std::get_if<double>(value)) return *x;
  if (const std::int64_t* const x = std::get_if<std::int64_t>(value)) return static_cast<double>(*x);
  return std::nullopt;
}

std::string Record::text(std::string_view name) const {
  const Value* const value = find(name);
  if (value == nullptr) return "";
  if (const std::string* const s = std::get_if<std::string>(value)) return *s;
  return json_of(*value).dump();
}

const std::vector<double>* Record::numbers(std::string_view name) const {
  const auto found = std::ranges::find(series, name, &Series::name);
  return found == series.end() ? nullptr : &found->numbers;
}

std::optional<double> Record::number(std::string_view name, std::size_t i) const {
  const std::vector<double>* const all = numbers(name);
  return all != nullptr && i < all->size() ? std::optional((*all)[i]) : std::nullopt;
}

void Record::set(std::string name, Value value) {
  if (double* const x = std::get_if<double>(&value)) {
    if (!std::isfinite(*x)) return;  // JSON has no such number
    *x = rounded(*x);
  }
  const auto found = std::ranges::find(values, name, &Field::name);
  if (found != values.end()) {
    found->value = std::move(value);
  } else {
    values.push_back({std::move(name), std::move(value)});
  }
}

namespace {

ordered_json to_json(const Record& r, const TimingFacts& facts) {
  ordered_json json = {{"measurement", r.measurement}, {"subject", r.subject}, {"axes", json_of(r.axes)}};
  if (!r.settings.empty()) json["settings"] = json_of(r.settings);
  if (!r.date.empty() && r.date != facts.date) json["date"] = r.date;
  if (!r.waived.empty()) json["waived"] = r.waived;
  if (!r.error.empty()) json["error"] = r.error;
  json["values"] = json_of(r.values);
  ordered_json series = ordered_json::object();
  for (const Record::Series& s : r.series) {
    series[s.name] = ordered_json::array();
    for (double x : s.numbers) series[s.name].push_back(rounded(x));
  }
  json["series"] = std::move(series);
  return json;
}

}  // namespace

std::string json_text(const Document& document) {
  const auto dumped = [](const ordered_json& json, int indent) {
    return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
  };
  const TimingFacts& f = document.facts;
  ordered_json device = {{"name", f.device},   {"arch", f.arch}, {"sms", f.sms},
                         {"driver", f.driver}, {"cuda", f.cuda}, {"date", f.date}};
  if (f.power_limit_watts) device["power_limit_watts"] = *f.power_limit_watts;
  if (f.max_sm_clock_mhz) device["max_sm_clock_mhz"] = *f.max_sm_clock_mhz;
  std::string text = dumped({{"schema", kSchema},
                             {"version", document.version},
                             {"device", std::move(device)},
                             {"settings", json_of(document.settings)}},
                            2);
  text.erase(text.rfind("\n}"));  // the end of the object comes behind the records
  text += ",\n  \"records\": [";
  for (const Record& r : document.records) {
    text += &r == &document.records.front() ? "\n    " : ",\n    ";
    text += dumped(to_json(r, document.facts), -1);
  }
  return text + "\n  ]\n}\n";
}

std::string listed(std::vector<Field> fields) {
  std::ranges::sort(fields, {}, &Field::name);
  std::string text;
  for (const Field& f : fields) {
    Record holder;
    holder.values.push_back(f);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", f.name, holder.text(f.name));
  }
  return text;
}

namespace {

std::string row_of(const Record& record) {
  return fmt::format("{}\n{}\n{}", record.measurement, record.subject, listed(record.axes));
}

}  // namespace

RowPlaces::RowPlaces(const Document& document) {
  for (std::size_t i = 0; i < document.records.size(); ++i) places_.emplace(row_of(document.records[i]), i);
}

const Record* RowPlaces::find(const Document& document, const Record& row) const {
  const auto found = places_.find(row_of(row));
  return found == places_.end() ? nullptr : &document.records[found->second];
}

void RowPlaces::put(Document& document, Record record) {
  const auto [place, is_new] = places_.try_emplace(row_of(record), document.records.size());
  if (is_new) {
    document.records.push_back(std::move(record));
  } else {
    document.records[place->second] = std::move(record);
  }
}

Document document_from_json(const ordered_json& json, const std::string& path) {
  const JsonFields fields(json, path);
  Document document;
  document.version = fields.text("version");
  const JsonFields device(fields.any("device"), path + ".device");
  TimingFacts& f = document.facts;
  f.device = device.text("name");
  f.arch = device.text("arch");
  constexpr std::uint64_t kMostSms = 100'000;  // far beyond any device
  if (device.whole("sms") > kMostSms) device.fail("sms", fmt::format("expected at most {}", kMostSms));
  f.sms = static_cast<int>(device.whole("sms"));
  f.driver = device.text("driver");
  f.cuda = device.text("cuda");
  f.date = device.text("date");
  const auto optional_number = [&](const char* key) -> std::optional<double> {
    if (!fields.any("device").contains(key)) return std::nullopt;
    if (!device.any(key).is_number()) device.fail(key, "expected a number");
    return device.any(key).get<double>();
  };
  f.power_limit_watts = optional_number("power_limit_watts");
  f.max_sm_clock_mhz = optional_number("max_sm_clock_mhz");
  document.settings = fields_of(fields, "settings");
  // Everything that can be measured on the GPUs of a machine, several times over. Reports compare rows with each other.
  constexpr std::size_t kMostRecords = 20'000;
  if (fields.array("records").size() > kMostRecords) {
    fields.fail("records", fmt::format("expected at most {}", kMostRecords));
  }
  std::size_t i = 0;
  for (const ordered_json& one : fields.array("records")) {
    const JsonFields from(one, fmt::format("{}.records[{}]", path, i++));
    Record r;
    r.measurement = from.text("measurement");
    r.subject = from.text("subject");
    r.axes = fields_of(from, "axes");
    r.values = fields_of(from, "values");
    if (one.contains("settings")) r.settings = fields_of(from, "settings");
    if (one.contains("date")) r.date = from.text("date");
    if (one.contains("waived")) r.waived = from.text("waived");
    if (one.contains("error")) r.error = from.text("error");
    for (const auto& [name, numbers] : object_of(from, "series").items()) {
      const bool right =
          numbers.is_array() && std::ranges::all_of(numbers, [](const auto& x) { return x.is_number(); });
      if (!right) from.fail("series." + name, "expected an array of numbers");
      r.series.push_back({name, numbers.get<std::vector<double>>()});
    }
    document.records.push_back(std::move(r));
  }
  return document;
}

Document read_document(const std::string& path) { return document_from_json(read_json_file(path, kSchema), path); }

}  // namespace tcnum::bench
