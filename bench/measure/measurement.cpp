#include "measurement.hpp"

#include <algorithm>
#include <iterator>

#include "measurements.hpp"

namespace tcnum::bench {
namespace {

/// The rows of a subject, with their axes.
std::vector<Record> rows_of(const Measurement& measurement, const std::string& subject, const Selection& selection) {
  std::vector<Record> rows = {{measurement.name, subject, {}, {}, {}, "", ""}};
  for (const Axis& axis : measurement.axes) {
    if (axis.swept) continue;
    std::vector<Record> more;
    for (const Record& row : rows) {
      for (const std::string& value : selection.at(axis.name)) {
        const bool whole = value.find_first_not_of("0123456789") == std::string::npos;
        more.push_back(row);
        more.back().axes.push_back({axis.name, whole ? Value(std::int64_t{std::stoll(value)}) : Value(value)});
      }
    }
    rows = std::move(more);
  }
  return rows;
}

}  // namespace

std::vector<unsigned> Row::numbers(const std::string& axis) const {
  std::vector<unsigned> all;
  for (const std::string& value : chosen(axis)) all.push_back(static_cast<unsigned>(std::stoul(value)));
  return all;
}

void Measurement::measure(TimingDevice& device, ArchId arch, const std::vector<std::string>& subjects,
                          const Selection& selection, const Settings& settings,
                          const std::function<void(Record)>& add) const {
  std::any kept;
  for (const std::string& subject : subjects) {
    for (Record& record : rows_of(*this, subject, selection)) {
      if (settings.has(record)) continue;
      std::string next = subject;
      for (const Field& axis : record.axes) next += " " + axis.name + "=" + record.text(axis.name);
      if (!settings.go_on(next)) return;
      const auto clear = [&](std::string& why, const std::exception& error) {
        record.values.clear();
        record.series.clear();
        why = error.what();
      };
      try {
        measure_row({device, arch, selection, settings, record, kept});
      } catch (const WrongResult& wrong) {
        clear(record.error, wrong);
      } catch (const UnavailableError& unavailable) {
        clear(record.waived, unavailable);
      }
      add(std::move(record));
    }
  }
}

const std::vector<Measurement>& measurements() {
  static const std::vector<Measurement> all = [] {
    std::vector<Measurement> measurements;
    for (auto& group : {instruction_measurements(), arithmetic_measurements(), dpx_measurements(),
                        cluster_measurements(), memory_measurements(), copy_measurements(), product_measurements()}) {
      std::ranges::copy(group, std::back_inserter(measurements));
    }
    return measurements;
  }();
  return all;
}

const Measurement& measurement(std::string_view name) { return named(measurements(), name); }

std::function<std::vector<std::string>(ArchId)> of_nvidia(std::vector<std::string> subjects) {
  return [subjects = std::move(subjects)](ArchId id) {
    return arch(id).name.starts_with("sm_") ? subjects : std::vector<std::string>();
  };
}

void Points::put(Record& record) const {
  if (empty()) throw UnavailableError("interrupted");
  std::ranges::copy(series_, std::back_inserter(record.series));
}

double saturated_from(const std::vector<double>& places, const std::vector<double>& rates) {
  constexpr double kSaturated = 0.97;
  const double enough = kSaturated * std::ranges::max(rates);
  double least = std::ranges::max(places);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (rates[i] >= enough) least = std::min(least, places[i]);
  }
  return least;
}

}  // namespace tcnum::bench
