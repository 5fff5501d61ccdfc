// The records of a run as they come in, and of the file that it goes on from.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "record.hpp"

namespace tcnum::bench {

/// Which of a document's records is of a row: of the same measurement, subject and axes.
class RowPlaces {
 public:
  explicit RowPlaces(const Document& document);
  /// Null if none is.
  const Record* find(const Document& document, const Record& row) const;
  /// Adds a record, or puts it in the place of the one of the same row; returns its place.
  std::size_t put(Document& document, Record record);

 private:
  using Axes = std::vector<std::pair<std::string, Value>>;
  using Row = std::tuple<std::string, std::string, Axes>;
  static Row row_of(const Record& record);

  std::map<Row, std::size_t> places_;
};

/// What makes a record of a run that was interrupted meanwhile one that may lack points: it is measured again.
inline constexpr const char* kInterrupted = "interrupted";

/// In the place of a device's number: of a row that says what all devices reach together.
inline constexpr const char* kAllDevices = "all";

class RunRecords {
 public:
  RunRecords(std::string version, std::vector<Field> settings);

  void set_facts(TimingFacts facts);
  /// Takes over the records of a file, after set_facts(). Those of another driver, CUDA, version or setting tell
  /// nothing of this run: then none is taken over, and the result says in what they differ; empty if they do not.
  /// Throws InputError naming the file if it is of another device.
  std::string go_on_from(Document before, const std::string& path);

  /// Whether there is a record of the row's name, axes and settings that was measured to its end and was right.
  bool has(const Record& row) const;
  void add(Record record);

  const Document& document() const { return document_; }
  /// As a file has it: all records so far, and how many seconds their runs took together, this one so many.
  std::string text(double seconds);
  /// The document with these seconds, to be completed; text() no longer counts.
  Document finish(double seconds) &&;

 private:
  void set_seconds(double seconds);

  Document document_;
  RowPlaces places_{document_};
  std::vector<std::string> lines_;  ///< JSON of each record: a file is written after each
  double seconds_before_ = 0;
};

}  // namespace tcnum::bench
