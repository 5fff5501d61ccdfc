// What of a suite of measurements the user wants, and measuring it on a GPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench.hpp"
#include "bench/measure/measurement.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

/// A measurement, and what of it the user wants.
struct SuitePart {
  const bench::Measurement* measurement;
  bench::Selection selection;
  std::vector<std::string> subjects;
};

/// An axis counts for the measurements that have it; InputError for one that none has.
std::vector<SuitePart> parts_of(const BenchSuite& suite, const BenchOptions& options);
/// Fills in the subjects that an architecture has; InputError if there is none at all.
void choose_subjects(std::vector<SuitePart>& parts, const BenchOptions& options, const BenchSuite& suite, ArchId id);

using Fields = std::vector<bench::Field>;

/// What a GPU's records have beside their own.
struct Labels {
  Fields axes;      ///< which GPU, where there are others
  Fields settings;  ///< which others measure at the same time
  /// The axes of all that do; a row that one of them lacks is measured on each.
  std::vector<Fields> together;
};

/// Where records go, and whether a row is there already.
struct RecordSink {
  std::function<bool(const bench::Record&)> has;
  std::function<void(bench::Record)> add;
};

/// Measures the parts on one GPU, until interrupted.
void measure_parts(TimingDevice& timing, const std::vector<SuitePart>& parts, const Labels& labels,
                   bench::Settings settings, const RecordSink& sink);

/// Throws UnavailableError if tcnum knows nothing of it.
ArchId arch_of(const TimingFacts& facts);

}  // namespace tcnum
