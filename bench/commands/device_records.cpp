#include "device_records.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/measure/report/sections.hpp"
#include "src/commands/output.hpp"
#include "src/commands/records.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {
namespace {

/// What was measured of the devices of an architecture.
constexpr auto kBenchFiles = std::to_array<std::string_view>({"bench.json", "bench_h100.json"});

std::vector<std::string> bench_files() {
  std::vector<std::string> files;
  for (const Arch& each : kArchs) {
    for (const std::string_view name : kBenchFiles) {
      if (const auto file = find_record(each.id, name)) files.push_back(file->string());
    }
  }
  return files;
}

}  // namespace

DeviceRecord find_device_record(const std::string& asked) {
  if (!asked.empty() && is_there(asked)) return {bench::read_document(asked), asked, ""};
  const std::string own = asked.empty() ? gpu_info().device : "";
  std::optional<DeviceRecord> first;
  std::vector<std::string> names;
  for (const std::string& file : bench_files()) {
    DeviceRecord record{bench::read_document(file), file, ""};
    const std::string& name = record.document.facts.device;
    const bool is_asked =
        !asked.empty() && bench::in_lower_case(name).find(bench::in_lower_case(asked)) != std::string::npos;
    if (is_asked || (!own.empty() && name == own)) return record;
    names.push_back(name);
    if (!first) first = std::move(record);
    if (asked.empty() && own.empty()) break;  // nothing else can be it
  }
  if (asked.empty() && first) {
    first->in_place_of = own;
    return std::move(*first);
  }
  throw InputError(fmt::format(
      "--device: {}; expected a file of `tcnum bench report --json`, or part of the name of a recorded device{}",
      asked.empty() ? "none is recorded here" : asked,
      names.empty() ? "" : fmt::format(": {}", fmt::join(names, ", "))));
}

std::string record_line(const DeviceRecord& record) {
  return fmt::format("Record: {} ({}){}", bench::device_line(record.document), shown_path(record.file),
                     record.in_place_of.empty() ? "" : fmt::format("; there is none of {}", record.in_place_of));
}

}  // namespace tcnum
