// A measurement: what is measured, along which axes, and how one row of it is. Choosing rows, records, tables and
// reports are the same for all.
#pragma once

#include <any>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/device/device.hpp"
#include "record.hpp"
#include "statistics.hpp"
#include "tcnum/error.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum::bench {

struct Axis {
  std::string name, meaning;
  std::vector<std::string> values;             ///< all that there are
  std::vector<std::string> defaults = values;  ///< those that are measured unless the user says otherwise
  bool swept = false;  ///< a row goes over all of them; otherwise each value has rows of its own
};

inline Axis swept(Axis axis) {
  axis.swept = true;
  return axis;
}

/// "1", "2", "4" …: numbers as values of an axis.
std::vector<std::string> numbers(std::initializer_list<unsigned> list);
/// Those from `least` to `most`, each the one before plus `step`, or times two.
std::vector<std::string> numbers_by(unsigned step, unsigned least, unsigned most);
std::vector<std::string> doubled(unsigned least, unsigned most);

/// Values of axes, by name.
using Selection = std::map<std::string, std::vector<std::string>>;

/// Reads "N=8,16,24" and "source=rs": for each axis its name, then values. An axis may be given twice: both lists
/// count. Axes that are not given have their defaults. Throws InputError naming `option`.
Selection parse_axes(const std::vector<std::string>& texts, const std::vector<Axis>& axes,
                     std::string_view option = "-a");

/// Whether one of the globs matches; with none, all do.
bool matches(const std::vector<std::string>& globs, const std::string& name);

struct Settings {
  StopRule stop;
  std::uint64_t seed = 1;
  unsigned threads = 1;                ///< for the emulator
  mutable double warm_up_seconds = 3;  ///< before the first steady load, for the clock to settle
  std::vector<GemmShape> shapes;       ///< of matrix products that are timed in place of the sets
  /// Whether a row, of which there are name and axes, was measured before: then it is passed over.
  std::function<bool(const Record& row)> has = [](const Record&) { return false; };
  /// Called before each row with what comes next; false: end here.
  std::function<bool(const std::string& next)> go_on = [](const std::string&) { return true; };

  std::uint32_t fill_seed() const { return static_cast<std::uint32_t>(seed); }  ///< of what buffers are filled with
};

/// A timed kernel's results are not what they ought to be: an error of that row, which then has no numbers.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A row that is being measured.
struct Row {
  TimingDevice& device;
  ArchId arch;
  const Selection& selection;
  const Settings& settings;
  Record& record;
  std::any& kept;

  /// What was chosen of an axis.
  const std::vector<std::string>& chosen(const std::string& axis) const { return selection.at(axis); }
  std::vector<unsigned> numbers(const std::string& axis) const;
  /// The row's value of an axis of its own.
  unsigned number(std::string_view axis) const { return static_cast<unsigned>(record.number(axis).value()); }
  /// Whether to measure a point of the row; false: the user interrupts.
  bool go_on(const std::string& point) const { return settings.go_on(record.subject + " " + point); }
  /// What the rows of a measurement share in a run.
  template <class Shared>
  Shared& shared() const {
    if (!kept.has_value()) kept.emplace<Shared>();
    return std::any_cast<Shared&>(kept);
  }
};

struct Measurement {
  std::string name, meaning;
  std::vector<Axis> axes;
  /// Names of what it can measure on an architecture.
  std::function<std::vector<std::string>(ArchId arch)> subjects;
  /// Fills in the record of a row. Throws WrongResult, and UnavailableError where the device, this build or the
  /// architecture cannot: the row is waived.
  std::function<void(const Row& row)> measure_row;
  /// Whether a subject is measured if none is asked for by name: not if it only says otherwise what another is, or
  /// takes minutes for a special use.
  std::function<bool(const std::string& subject)> by_default = [](const std::string&) { return true; };

  /// Hands the record of each row to `add` as soon as it is there, for each subject and each combination of the values
  /// of the axes, by their order.
  void measure(TimingDevice& device, ArchId arch, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const;
};

/// All measurements.
const std::vector<Measurement>& measurements();
const Measurement& measurement(std::string_view name);

/// Names of subjects, as every NVIDIA GPU has them; none on other architectures.
std::function<std::vector<std::string>(ArchId)> of_nvidia(std::vector<std::string> subjects);
template <class Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& each : table) names.emplace_back(each.name);
  return names;
}
/// The row of a table with that name, which is one of its names.
template <class Table>
const auto& named(const Table& table, std::string_view name) {
  for (const auto& each : table) {
    if (each.name == name) return each;
  }
  throw std::logic_error(std::string(name) + " is in no table");
}

/// Points of a sweep, which become a series of the record for each of their numbers.
class Points {
 public:
  explicit Points(std::initializer_list<const char*> names) {
    for (const char* name : names) series_.push_back({name, {}});
  }
  /// As many numbers as there are names.
  template <class... Numbers>
  void add(Numbers... numbers) {
    auto to = series_.begin();
    ((to++)->numbers.push_back(static_cast<double>(numbers)), ...);
  }
  bool empty() const { return series_.front().numbers.empty(); }
  const std::vector<double>& operator[](std::size_t which) const { return series_[which].numbers; }
  /// Throws UnavailableError if there is none: the user interrupted.
  void put(Record& record) const;

 private:
  std::vector<Record::Series> series_;
};

/// The least of these that gives 97 % of the highest rate.
double saturated_from(const std::vector<double>& places, const std::vector<double>& rates);

}  // namespace tcnum::bench
