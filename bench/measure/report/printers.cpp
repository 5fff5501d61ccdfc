#include "printers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/measure/peaks.hpp"
#include "bench/measure/run_records.hpp"
#include "src/report/layout.hpp"

namespace tcnum::bench {
namespace {

std::string row_name(const Record& r) {
  std::string name = r.subject;
  for (const Field& axis : r.axes) name += fmt::format(" {}={}", axis.name, r.text(axis.name));
  return name;
}

/// The field in quotes where CSV needs them.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// The peaks of the dense instructions, by format; empty if none are known.
std::string peaks_text(const TimingFacts& f) {
  const auto arch = find_arch(f.arch);
  std::string text;
  for (FormatId id : {FormatId::fp16, FormatId::tf32, FormatId::fp8e4m3, FormatId::s8, FormatId::fp64}) {
    const auto peak = arch ? peak_operations_per_clock(*arch, id, false) : std::nullopt;
    if (!peak) continue;
    text += fmt::format("{}{} {:.0f}", text.empty() ? "" : ", ", format(id).name, *peak);
    if (f.max_sm_clock_mhz) text += fmt::format(" ({:.0f} Tops/s)", *peak * f.sms * *f.max_sm_clock_mhz * 1e-6);
  }
  return text;
}

}  // namespace

std::string header_text(const TimingFacts& f) {
  std::vector<std::vector<std::string>> rows = {{"device", fmt::format("{} ({})", f.device, f.arch)},
                                                {"SMs", std::to_string(f.sms)},
                                                {"driver", fmt::format("{}, CUDA {}", f.driver, f.cuda)},
                                                {"date", f.date}};
  if (f.max_sm_clock_mhz) rows.push_back({"SM clock", fmt::format("at most {:.0f} MHz", *f.max_sm_clock_mhz)});
  if (f.power_limit_watts) rows.push_back({"power", fmt::format("at most {:.0f} W", *f.power_limit_watts)});
  if (const std::string peaks = peaks_text(f); !peaks.empty()) {
    rows.push_back({"peaks", fmt::format("dense, operations of an SM in a clock{}: {}",
                                         f.max_sm_clock_mhz ? " (of all at the highest clock)" : "", peaks)});
  }
  return table_text(rows);
}

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

std::string csv_text(const Document& document) {
  std::vector<std::string> columns;
  for (const Record& r : document.records) {
    for (const std::vector<Field>* fields : {&r.axes, &r.values}) {
      for (const Field& f : *fields) {
        if (std::ranges::find(columns, f.name) == columns.end()) columns.push_back(f.name);
      }
    }
  }
  std::string text = "measurement,subject";
  for (const std::string& c : columns) text += "," + quoted(c);
  text += ",waived,error\n";
  for (const Record& r : document.records) {
    text += quoted(r.measurement) + "," + quoted(r.subject);
    for (const std::string& c : columns) text += "," + quoted(r.text(c));
    text += "," + quoted(r.waived) + "," + quoted(r.error) + "\n";
  }
  return text;
}

std::string json_line(const Record& record, const TimingFacts& facts) {
  return to_json(record, facts).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string json_text(const Document& document, const std::vector<std::string>& lines) {
  using nlohmann::ordered_json;
  ordered_json json = to_json(Document{document.version, document.facts, document.settings, {}});
  json.erase("records");
  std::string text = json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
  text.erase(text.rfind("\n}"));  // the end of the object comes behind the records
  text += ",\n  \"records\": [";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += i == 0 ? "\n    " : ",\n    ";
    text += lines[i];
  }
  return text + "\n  ]\n}\n";
}

std::string json_text(const Document& document) {
  std::vector<std::string> lines;
  for (const Record& r : document.records) lines.push_back(json_line(r, document.facts));
  return json_text(document, lines);
}

}  // namespace tcnum::bench
