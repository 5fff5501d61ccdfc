// The records of a run as they come in, and the files that have them.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench.hpp"
#include "bench/measure/record.hpp"
#include "src/commands/output.hpp"

namespace tcnum {

/// What is written to a file is written after each record, so that a program that is killed loses the row at hand.
class RunDocument {
 public:
  /// Reads what there is to go on from.
  explicit RunDocument(const BenchOptions& options);

  /// Takes over the records of the file that it goes on from. Those of another driver, CUDA, version or setting tell
  /// nothing of this run: then none is taken over, and a line says so. Throws InputError naming the file if it is of
  /// another device.
  void set_facts(const TimingFacts& facts);
  /// Whether there is a record of the row's name, axes and settings that was measured to its end and was right.
  bool has(const bench::Record& row) const;
  void add(bench::Record record);

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  /// That were measured in this run.
  std::size_t rows() const { return measured_; }
  /// Whether there is anything to show.
  bool any() const { return !document_.records.empty(); }

  /// Writes and shows all that there is.
  void finish(Attempts& attempts);
  /// After finish().
  std::size_t wrong_rows() const { return wrong_rows_; }

 private:
  using Clock = std::chrono::steady_clock;

  const BenchOptions& options_;
  bench::Document document_;
  bench::RowPlaces places_{document_};
  std::optional<bench::Document> before_;
  std::vector<std::string> kept_up_to_date_;
  Clock::time_point start_ = Clock::now();
  std::size_t measured_ = 0, wrong_rows_ = 0;
};

}  // namespace tcnum
