#include "printers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/measure/run_records.hpp"

namespace tcnum::bench {
namespace {

std::string row_name(const Record& r) {
  std::string name = r.subject;
  for (const Field& axis : r.axes) name += fmt::format(" {}={}", axis.name, r.text(axis.name));
  return name;
}

}  // namespace

std::vector<std::string> off_model(const Document& document) {
  std::vector<std::string> names;
  for (const Record& r : document.records) {
    const auto residual = r.number("model_residual_percent");
    if (residual && std::abs(*residual) > kModelTolerancePercent) {
      names.push_back(fmt::format("{}: {:+.1f} %", row_name(r), *residual));
    }
  }
  return names;
}

std::string notes_text(const Document& document) {
  std::string text;
  for (const Record& r : document.records) {
    if (!r.waived.empty()) text += fmt::format("\nwaived: {}: {}", row_name(r), r.waived);
    if (!r.error.empty()) text += fmt::format("\nERROR: {}: {}", row_name(r), r.error);
    if (r.text("clock_moved") == "true") text += fmt::format("\nclock moved: {}", row_name(r));
    if (r.find(kInterrupted) != nullptr) text += fmt::format("\ninterrupted: {}", row_name(r));
  }
  const std::vector<std::string> off = off_model(document);
  if (!off.empty()) text += fmt::format("\n\nThe model is off by more than {:.0f} % for\n", kModelTolerancePercent);
  for (const std::string& name : off) text += fmt::format("  {}\n", name);
  return text;
}

std::string json_text(const Document& document) {
  using nlohmann::ordered_json;
  const auto dumped = [](const ordered_json& json, int indent) {
    return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
  };
  ordered_json json = to_json(Document{document.version, document.facts, document.settings, {}});
  json.erase("records");
  std::string text = dumped(json, 2);
  text.erase(text.rfind("\n}"));  // the end of the object comes behind the records
  text += ",\n  \"records\": [";
  for (const Record& r : document.records) {
    text += &r == &document.records.front() ? "\n    " : ",\n    ";
    text += dumped(to_json(r, document.facts), -1);
  }
  return text + "\n  ]\n}\n";
}

}  // namespace tcnum::bench
