#include "bench_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "bench/measure/axes.hpp"
#include "src/commands/interrupt.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using bench::Measurement;

bool has_axis(const std::vector<bench::Axis>& axes, const std::string& name) {
  return std::ranges::find(axes, name, &bench::Axis::name) != axes.end();
}

/// Of the axes that a row goes over, those of which the user wants some values only.
std::vector<bench::Field> settings_of_rows(const SuitePart& part) {
  std::vector<bench::Field> settings;
  for (const bench::Axis& axis : part.measurement->axes) {
    const std::vector<std::string>& wanted = part.selection.at(axis.name);
    if (!axis.swept || wanted == axis.defaults) continue;
    settings.push_back({axis.name, fmt::format("{}", fmt::join(wanted, ","))});
  }
  return settings;
}

}  // namespace

std::vector<SuitePart> parts_of(const BenchSuite& suite, const BenchOptions& options) {
  std::vector<SuitePart> parts;
  std::vector<bench::Axis> all;
  for (const Measurement& m : bench::measurements()) {
    const bool wanted =
        suite.measurements.empty() || std::ranges::find(suite.measurements, m.name) != suite.measurements.end();
    if (!wanted) continue;
    parts.push_back({&m, {}, {}});
    std::ranges::copy_if(m.axes, std::back_inserter(all),
                         [&](const bench::Axis& axis) { return !has_axis(all, axis.name); });
  }
  bench::parse_axes(options.axes, all);
  for (SuitePart& part : parts) {
    std::vector<std::string> mine;
    std::ranges::copy_if(options.axes, std::back_inserter(mine), [&](const std::string& text) {
      return has_axis(part.measurement->axes, text.substr(0, text.find('=')));
    });
    part.selection = bench::parse_axes(mine, part.measurement->axes);
  }
  return parts;
}

void choose_subjects(std::vector<SuitePart>& parts, const BenchOptions& options, const BenchSuite& suite, ArchId id) {
  bool any = false;
  for (SuitePart& part : parts) {
    for (std::string& name : part.measurement->subjects(id)) {
      const bool wanted =
          options.globs.empty() ? part.measurement->by_default(name) : bench::matches(options.globs, name);
      if (wanted) part.subjects.push_back(std::move(name));
    }
    any = any || !part.subjects.empty();
  }
  if (!any) {
    throw InputError(
        fmt::format("--instr: {} matches nothing of {}; expected a name or a glob of those that `tcnum "
                    "bench {} --list` shows, such as 'wgmma.*'",
                    fmt::join(options.globs, ", "), arch(id).name, suite.name));
  }
}

ArchId arch_of(const TimingFacts& facts) {
  if (const auto id = find_arch(facts.arch)) return *id;
  throw UnavailableError(
      fmt::format("the GPU ({}, {}) is of no architecture that tcnum knows", facts.device, facts.arch));
}

void measure_parts(TimingDevice& timing, const std::vector<SuitePart>& parts, bench::Settings settings,
                   RunDocument& document) {
  const ArchId id = arch_of(timing.facts());
  for (const SuitePart& part : parts) {
    if (part.subjects.empty() || interrupted) continue;
    const auto with_settings = [&](bench::Record record) {
      record.settings = settings_of_rows(part);
      return record;
    };
    settings.has = [&](const bench::Record& row) {
      return row.text("shapes") != "own" && document.has(with_settings(row));  // a record does not say which those were
    };
    part.measurement->measure(timing, id, part.subjects, part.selection, settings,
                              [&](bench::Record record) { document.add(with_settings(std::move(record))); });
  }
}

}  // namespace tcnum
