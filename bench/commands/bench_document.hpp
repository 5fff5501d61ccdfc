// The records of a run as they come in, and the files that have them.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench.hpp"
#include "bench/measure/measurement.hpp"
#include "bench/measure/run_records.hpp"
#include "src/commands/output.hpp"

namespace tcnum {

/// What is written to a file is written after each record, so that a program that is killed loses the row at hand.
class RunDocument {
 public:
  /// Reads what there is to go on from.
  explicit RunDocument(const BenchOptions& options);

  void set_facts(const TimingFacts& facts);
  bool has(const bench::Record& row) const { return records_.has(row); }
  void add(bench::Record record);

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  /// That were measured in this run.
  std::size_t rows() const { return measured_; }
  /// Whether there is anything to show.
  bool any() const { return !records_.document().records.empty(); }

  /// Writes and shows all that there is.
  void finish(Attempts& attempts);
  /// After finish().
  std::size_t wrong_rows() const { return wrong_rows_; }

 private:
  using Clock = std::chrono::steady_clock;

  void show(const bench::Document& document, std::size_t taken_over, double all_seconds) const;

  const BenchOptions& options_;
  bench::RunRecords records_;
  std::optional<bench::Document> before_;
  std::vector<std::string> kept_up_to_date_;
  Clock::time_point start_ = Clock::now();
  std::size_t measured_ = 0, wrong_rows_ = 0;
};

}  // namespace tcnum
