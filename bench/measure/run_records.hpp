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

 private:
  Document document_;
  RowPlaces places_{document_};
};

}  // namespace tcnum::bench
