// Records: what a measurement found, as tagged values. Printers, models and reports read them by name.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/device/timing.hpp"

namespace tcnum::bench {

using Value = std::variant<bool, std::int64_t, double, std::string>;

struct Field {
  std::string name;
  Value value;
  friend bool operator==(const Field&, const Field&) = default;
};

struct Record {
  std::string measurement;    ///< "tensor"
  std::string subject;        ///< "wgmma.m64nNk16.f32.f16.f16", "fma.rn.f32"
  std::vector<Field> axes;    ///< N, source, data, …
  std::vector<Field> values;  ///< units are in the names
  /// Numbers that belong together: the samples, or one value for each point of a sweep.
  struct Series {
    std::string name;
    std::vector<double> numbers;
    friend bool operator==(const Series&, const Series&) = default;
  };
  std::vector<Series> series;
  std::string waived;  ///< why it was not measured; empty: it was
  std::string error;   ///< what was wrong with its results; empty: they were right. Then there are no values.
  /// Of axes that are not the row's own, and of which it was to have only some values: those, as "8,16".
  std::vector<Field> settings = {};
  std::string date = {};  ///< when it was measured, if not when its document was begun

  /// A value or an axis.
  const Value* find(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  /// As text: numbers as JSON has them; empty if there is none.
  std::string text(std::string_view name) const;
  const std::vector<double>* numbers(std::string_view name) const;
  /// The i-th of a series, where there are so many.
  std::optional<double> number(std::string_view series, std::size_t i) const;
  void set(std::string name, Value value);

  friend bool operator==(const Record&, const Record&) = default;
};

/// Records, what they were measured on, and how. Schema tcnum.bench/1.
struct Document {
  std::string version;
  TimingFacts facts;
  std::vector<Field> settings;
  std::vector<Record> records;
};

inline constexpr std::string_view kSchema = "tcnum.bench/1";

/// Throws InputError naming the file and the field.
Document document_from_json(const nlohmann::ordered_json& json, const std::string& path);
Document read_document(const std::string& path);
/// As a file has it, one line a record.
std::string json_text(const Document& document);
/// "seconds 0.25, seed 1": by their names, as the members of a JSON object have no order.
std::string listed(std::vector<Field> fields);

/// The value of a row that was measured while its run was interrupted: it may lack points.
inline constexpr const char* kInterrupted = "interrupted";

/// Which of a document's records is of a row: of the same measurement, subject and axes.
class RowPlaces {
 public:
  explicit RowPlaces(const Document& document);
  /// Null if none is.
  const Record* find(const Document& document, const Record& row) const;
  /// Adds a record, or puts it in the place of the one of the same row.
  void put(Document& document, Record record);

 private:
  std::map<std::string, std::size_t> places_;
};

}  // namespace tcnum::bench
