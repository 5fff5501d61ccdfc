// NumPy's .npy: one array, behind a header that is a Python dict. Versions 1.0 to 3.0 are read; 1.0 is written, byte
// for byte as NumPy does.
//
// Source: NumPy's format specification, numpy.lib.format, "Format Version 1.0" to "3.0".
#pragma once

#include "elements.hpp"
#include "io/input_file.hpp"
#include "io/replacement_file.hpp"

namespace tcnum {

/// The descr that are read: simple little-endian types, and what arrays of ml_dtypes are saved as.
std::span<const ElementType> npy_types();

/// A file of one array, whose header has been checked in full, against the size of the file too.
class NpyFile {
 public:
  /// Throws InputError.
  explicit NpyFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const ElementType& type() const { return *type_; }
  /// One to three axes.
  const std::vector<std::uint64_t>& shape() const { return shape_; }
  /// The first axis is the one that varies fastest, not the last.
  bool fortran_order() const { return fortran_order_; }

  /// Fills `bytes` from that byte of the data on.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const { file_.read(data_offset_ + offset, bytes); }

 private:
  InputFile file_;
  const ElementType* type_ = nullptr;
  std::vector<std::uint64_t> shape_;
  bool fortran_order_ = false;
  std::uint64_t data_offset_ = 0;
};

/// All that stands before the data of an array in C order. Formats without a type of NumPy's are written as unsigned
/// integers: their codes.
std::string npy_head(FormatId format, const std::vector<std::uint64_t>& shape);

}  // namespace tcnum
