// The safetensors container: the header's length in 8 bytes, a JSON header, and the tensors' bytes. What tensors there
// should be is up to those who read it. A file is a stranger's: of what its header says, nothing is believed unchecked.
//
// Source of its rules: https://github.com/huggingface/safetensors, "Format".
#pragma once

#include <map>

#include "elements.hpp"
#include "io/input_file.hpp"
#include "io/replacement_file.hpp"

namespace tcnum {

using Metadata = std::map<std::string, std::string>;

/// All dtypes. Of sub-byte ones several elements share a byte, which no format of tcnum's does.
std::span<const ElementType> safetensors_types();

/// A tensor as a header declares it.
struct TensorEntry {
  std::string name, dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< in the data
};

struct SafetensorsRules {
  std::string_view metadata_right;  ///< what right metadata would be, where a file must have some
  std::size_t rank = 0;             ///< of every tensor; 0: any
};

/// A header that is well-formed. Whether it fits the data, SafetensorsData checks: rules of one's own come before, as a
/// wrong dtype says more than that its size is not that of the data.
struct SafetensorsHeader {
  Metadata metadata;
  std::vector<TensorEntry> tensors;  ///< in the order in which they stand there
  std::uint64_t data_offset = 0, data_size = 0;

  /// Null if there is none of that name.
  const TensorEntry* find(std::string_view name) const;
};
SafetensorsHeader read_safetensors_header(const ByteSource& file, const SafetensorsRules& rules = {});

/// The tensors' bytes.
class SafetensorsData {
 public:
  /// Both must outlive it. Throws InputError unless each tensor has as many bytes as its dtype and shape take, and all
  /// cover the data once and completely.
  SafetensorsData(const ByteSource& file, const SafetensorsHeader& header);

  /// Fills `bytes` from that byte of the tensor on.
  void read(const TensorEntry& tensor, std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  const ByteSource& file_;
  const SafetensorsHeader& header_;
};

/// What stands before the data: the header's length and the header. `tensors` in the order in which their data follows;
/// where they begin and end is worked out here. Throws InputError, with `where` in front, for metadata that nobody
/// could read.
std::string safetensors_head(const std::string& where, const Metadata& metadata,
                             const std::vector<TensorEntry>& tensors);

/// Writes tensors one after the other. Their data begins at a multiple of 8 bytes.
class SafetensorsWriter {
 public:
  /// `tensors` in the order in which they will be written; where they begin and end is worked out here. Throws
  /// InputError if the file cannot be written, and for metadata that nobody could read.
  SafetensorsWriter(const std::string& path, const Metadata& metadata, const std::vector<TensorEntry>& tensors);

  /// The next bytes, of one tensor or of several.
  void write(std::span<const std::byte> bytes);
  /// When all are written.
  void commit();

 private:
  std::string head_;
  ReplacementFile file_;
  std::uint64_t left_;
};

/// How messages name a tensor, and a part of it.
std::string tensor_field(std::string_view name, std::string_view part = "");
std::string metadata_field(std::string_view key);
std::string shape_text(std::span<const std::uint64_t> shape);

}  // namespace tcnum
