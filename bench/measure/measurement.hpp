// A measurement: a table of subjects (instructions, operations) with axes. Adding one is a class of its own; selecting,
// sampling, records, printing and reports are none of its business.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "axes.hpp"
#include "bench/device/gemm_timing.hpp"
#include "bench/device/timing.hpp"
#include "record.hpp"
#include "statistics.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum::bench {

struct Settings {
  StopRule stop;
  std::uint64_t seed = 1;
  unsigned threads = 1;                ///< for the emulator
  mutable double warm_up_seconds = 3;  ///< before the first steady load, for the clock to settle
  bool oversubscribe = false;          ///< managed memory beyond the device's own, too
  std::vector<GemmShape> shapes;       ///< of matrix products that are timed in place of the sets
  /// Whether a row, of which there are name and axes, was measured before: then it is passed over.
  std::function<bool(const Record& row)> has = [](const Record&) { return false; };
  /// Where several devices measure at the same time: called before the n-th point of all, in rising order; waits until
  /// all devices are as far.
  std::function<void(std::size_t n)> meet = [](std::size_t) {};
  /// Called before each row with what comes next; false: end here.
  std::function<bool(const std::string& next)> go_on = [](const std::string&) { return true; };
};

/// A timed kernel's results are not what they ought to be: an error of that row, which then has no numbers.
struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Calls `measure`, and makes WrongResult the record's error.
template <class Function>
void measure_into(Record& record, const Function& measure) {
  try {
    measure();
  } catch (const WrongResult& wrong) {
    record.values.clear();
    record.series.clear();
    record.error = wrong.what();
  }
}

class Measurement {
 public:
  virtual ~Measurement() = default;
  virtual std::string name() const = 0;
  virtual std::string meaning() const = 0;
  virtual const std::vector<Axis>& axes() const = 0;
  /// Names of what it can measure on an architecture.
  virtual std::vector<std::string> subjects(ArchId arch) const = 0;
  /// Whether a subject is measured if none is asked for by name: not if it only says otherwise what another is, or
  /// takes minutes for a special use.
  virtual bool by_default(const std::string&) const { return true; }
  /// Whether several devices measure their rows at the same time.
  virtual bool is_together() const { return false; }
  /// What all of them reach: of their records of one row, each with all values and series. Nothing if they cannot be
  /// added up.
  virtual std::optional<Record> add_up(const std::vector<const Record*>&) const { return std::nullopt; }
  /// Hands each record to `add` as soon as it is there. What the device or this build lacks is waived, with the reason.
  virtual void measure(TimingDevice& device, ArchId arch, const std::vector<std::string>& subjects,
                       const Selection& selection, const Settings& settings,
                       const std::function<void(Record)>& add) const = 0;
};

/// All measurements.
const std::vector<const Measurement*>& measurements();

}  // namespace tcnum::bench
