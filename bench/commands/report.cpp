// tcnum bench report: recorded measurements as pages.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "bench.hpp"
#include "bench/measure/gemm/product_model.hpp"
#include "bench/measure/memory/memory.hpp"
#include "bench/measure/report/sections.hpp"
#include "bench/measure/tensor.hpp"
#include "src/commands/output.hpp"
#include "src/commands/records.hpp"
#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {
namespace {

/// The files of what was measured of the devices of an architecture.
std::vector<std::string> bench_files() {
  constexpr auto kNames = std::to_array<std::string_view>({"bench.json", "bench_h100.json"});
  std::vector<std::string> files;
  for (const Arch& each : kArchs) {
    for (const std::string_view name : kNames) {
      if (const auto file = find_record(each.id, name)) files.push_back(file->string());
    }
  }
  return files;
}

/// All files' records as one: of a row that several have, the last one's. Settings are those that all have.
DeviceRecord read_together(const std::vector<std::string>& files) {
  DeviceRecord all;
  bench::RowPlaces places(all.document);
  for (const std::string& file : files) {
    bench::Document more = bench::read_document(file);
    bench::put_models(more, file);
    if (all.file.empty()) {
      all = {std::move(more), file, ""};
      places = bench::RowPlaces(all.document);
      continue;
    }
    bench::Document& document = all.document;
    if (more.facts.device != document.facts.device) {
      throw InputError(fmt::format("{}: device.name: {}; expected {}, as in {}", file, more.facts.device,
                                   document.facts.device, files.front()));
    }
    std::erase_if(document.settings,
                  [&](const bench::Field& f) { return std::ranges::find(more.settings, f) == more.settings.end(); });
    for (bench::Record& record : more.records) {
      if (record.date.empty()) record.date = more.facts.date;
      places.put(document, std::move(record));
    }
  }
  bench::put_shares(all.document);
  bench::put_product_models(all.document);
  return all;
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

int run_bench_report(const BenchReportOptions& options) {
  for (const std::string& path : {options.markdown, options.json}) require_writable(path);
  std::optional<FileLock> lock;  // of what may be one of the files, with more added
  if (!options.json.empty() && options.json != "-") lock.emplace(options.json, FileLock::IfHeld::wait);
  const DeviceRecord record = options.files.empty() ? find_device_record(options.device) : read_together(options.files);
  const bench::Document& document = record.document;
  const auto arch = find_arch(document.facts.arch);
  const SassTable sass = arch ? find_sass(*arch) : SassTable{};
  const std::string& section = options.section;
  Attempts attempts;
  const auto write = [&](const std::string& path, const auto& text) {
    if (!path.empty()) attempts.attempt([&] { write_text(path, text()); });
  };
  const auto markdown = [&] { return bench::markdown_page(document, sass, section); };
  write(options.json, [&] { return bench::json_text(document); });
  write(options.markdown, markdown);
  if (options.markdown.empty() && options.json.empty()) {
    say(section.empty() ? markdown() : record_line(record) + "\n\n" + bench::text_page(document, sass, section));
  }
  return attempts.finish(kAgreed);
}

}  // namespace tcnum
