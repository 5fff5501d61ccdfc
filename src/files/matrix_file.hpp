// Matrices in files: tensors of a safetensors file, or one array in a .npy file.
#pragma once

#include "npy.hpp"
#include "safetensors.hpp"
#include "tcnum/matrix.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// A vector, a matrix, or a batch of matrices.
struct StoredTensor {
  FormatId format = FormatId::fp32;
  std::vector<std::size_t> shape;  ///< one to three axes, each 1 or more
  Codes codes;                     ///< the last axis varies fastest
  /// Of two axes: the first varies fastest. Element (i, j) is code number j · shape[0] + i.
  bool column_major = false;

  friend bool operator==(const StoredTensor&, const StoredTensor&) = default;
};

/// A matrix of a batch; of a tensor with fewer than three axes the one that it is, whichever batch it serves. A vector
/// is one row.
MatrixView view_of(const StoredTensor& tensor, std::size_t batch = 0);

/// What a file says of a matrix before its elements are read.
struct TensorDescription {
  FormatId format;
  std::vector<std::size_t> shape;
};

/// A safetensors file, open for reading. Its header has been checked in full; of its data, only what is asked for is
/// read. The metadata's `format_` and a tensor's name in small letters says which format a tensor has, where its dtype
/// does not.
class MatrixFile {
 public:
  /// Throws InputError.
  explicit MatrixFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const Metadata& metadata() const { return header_.metadata; }
  /// Where the metadata would say which format a tensor has, as messages name it.
  static std::string format_field(std::string_view name);
  bool has(std::string_view name) const { return header_.find(name) != nullptr; }

  /// Of a tensor that is there. `asked`: the format that it must have, where someone says so. Throws InputError if it
  /// has another, or none that the file tells, or not one to three axes.
  TensorDescription describe(std::string_view name, std::optional<FormatId> asked = std::nullopt) const;
  StoredTensor read(std::string_view name, std::optional<FormatId> asked = std::nullopt) const;

  /// Writes all that the file holds, and `tensor` as its last one, in place of one of that name. `path` may be the
  /// file's own.
  void write_with(const std::string& path, std::string_view name, const StoredTensor& tensor) const;

 private:
  const TensorEntry& entry(std::string_view name) const;

  InputFile file_;
  SafetensorsHeader header_;
  SafetensorsData data_;
};

/// A tensor and what a file calls it.
struct NamedTensor {
  std::string_view name;
  const StoredTensor& tensor;
};
/// A safetensors file of these and nothing else.
void write_matrices(const std::string& path, std::span<const NamedTensor> tensors);

/// Of an array that has been opened, as MatrixFile does.
TensorDescription describe_npy(const NpyFile& file, std::optional<FormatId> asked = std::nullopt);
StoredTensor read_npy(const NpyFile& file, std::optional<FormatId> asked = std::nullopt);
void write_npy(const std::string& path, const StoredTensor& tensor);

}  // namespace tcnum
