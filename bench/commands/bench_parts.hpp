// What of a suite of measurements the user wants, and measuring it on a GPU.
#pragma once

#include <string>
#include <vector>

#include "bench.hpp"
#include "bench/measure/measurement.hpp"
#include "bench_document.hpp"
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

/// Measures the parts on one GPU, until interrupted: all rows that the document does not have.
void measure_parts(TimingDevice& timing, const std::vector<SuitePart>& parts, bench::Settings settings,
                   RunDocument& document);

/// Throws UnavailableError if tcnum knows nothing of it.
ArchId arch_of(const TimingFacts& facts);

}  // namespace tcnum
