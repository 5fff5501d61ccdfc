// Tiles of dot problems: what an oracle is asked and what a vector file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tcnum/format.hpp"

namespace tcnum {

/// A flat array of bit patterns, each stored little-endian in 1, 2, 4 or 8 bytes.
class Codes {
 public:
  Codes() = default;
  Codes(int bytes_each, std::size_t count) : bytes_each_(bytes_each), data_(count * static_cast<std::size_t>(bytes_each)) {}

  int bytes_each() const { return bytes_each_; }
  std::size_t size() const { return bytes_each_ == 0 ? 0 : data_.size() / static_cast<std::size_t>(bytes_each_); }
  bool empty() const { return data_.empty(); }

  std::uint64_t operator[](std::size_t i) const {
    switch (bytes_each_) {  // constant sizes, which the compiler turns into plain loads
      case 1: return load<std::uint8_t>(i);
      case 2: return load<std::uint16_t>(i);
      case 4: return load<std::uint32_t>(i);
      default: return load<std::uint64_t>(i);
    }
  }
  void set(std::size_t i, std::uint64_t code) {
    switch (bytes_each_) {
      case 1: return store<std::uint8_t>(i, code);
      case 2: return store<std::uint16_t>(i, code);
      case 4: return store<std::uint32_t>(i, code);
      default: return store<std::uint64_t>(i, code);
    }
  }
  std::span<std::byte> bytes() { return data_; }
  std::span<const std::byte> bytes() const { return data_; }
  void append(const Codes& other) { data_.insert(data_.end(), other.data_.begin(), other.data_.end()); }

  friend bool operator==(const Codes&, const Codes&) = default;

 private:
  template <class T>
  std::uint64_t load(std::size_t i) const {
    T code;
    std::memcpy(&code, data_.data() + i * sizeof(T), sizeof(T));
    return code;
  }
  template <class T>
  void store(std::size_t i, std::uint64_t code) {
    const auto narrow = static_cast<T>(code);
    std::memcpy(data_.data() + i * sizeof(T), &narrow, sizeof(T));
  }

  int bytes_each_ = 0;
  std::vector<std::byte> data_;
};

/// `count` matrix products D = A·B + C of shape m × n × k. Element (i, j) of tile t is the dot problem of row i of A
/// with column j of B and c = C(i, j). Layouts are row-major, as in vector files: a [count, m, k], b [count, k, n],
/// c and d [count, m, n]; scales, if any, sa [count, m, k/block] and sb [count, k/block, n]. A sparse A is
/// [count, m, k/2], and so is e, which says where in its group along k each element stands: that is the element of b
/// that it is multiplied with. Only instructions, files and sparse_tiles.hpp know sparse tiles; to all others a dot
/// problem is dense, and k the number of its products.
struct Tiles {
  FormatId a_format = FormatId::fp16, b_format = FormatId::fp16, c_format = FormatId::fp32, d_format = FormatId::fp32;
  std::size_t count = 0, m = 0, n = 0, k = 0;
  Codes a, b, c, d;
  Codes sa, sb;
  int scale_block = 0;  ///< 0: no scales
  Codes e;
  int sparse_group = 0;  ///< size of a group; 0: A is dense

  std::size_t size() const { return count * m * n; }  ///< number of dot problems
  std::size_t a_depth() const { return sparse_group == 0 ? k : k / 2; }
  /// Of a and e.
  std::size_t a_index(std::size_t t, std::size_t i, std::size_t kk) const { return (t * m + i) * a_depth() + kk; }
  std::size_t b_index(std::size_t t, std::size_t kk, std::size_t j) const { return (t * k + kk) * n + j; }
  std::size_t c_index(std::size_t t, std::size_t i, std::size_t j) const { return (t * m + i) * n + j; }
};

/// Tiles with all codes zero.
Tiles make_tiles(FormatId a, FormatId b, FormatId c, FormatId d, std::size_t count, std::size_t m, std::size_t n,
                 std::size_t k);

/// The row of b that holds the factor of element s of row i of a in tile t.
std::size_t factor_row(const Tiles& tiles, std::size_t t, std::size_t i, std::size_t s);

/// One dot problem, as codes; with scales, if there are any.
struct Problem {
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0;
  std::vector<std::uint64_t> sa = {}, sb = {};
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// The problem of element `index` (0 … size() − 1, row-major over tile, row, column).
Problem problem_at(const Tiles& tiles, std::size_t index);

/// Tiles and where their results come from: the contents of a vector file.
struct Vectors {
  Tiles tiles;
  std::string instruction;                      ///< canonical name
  std::string arch;                             ///< "sm_90"
  std::string device;
  std::map<std::string, std::string> metadata;  ///< all other keys of __metadata__, known or not, kept as they are
};

/// Reads a vector file (safetensors; see docs/files.md). Throws InputError naming the file, the field and what would
/// be right, whatever the bytes are. `results_required` = false accepts a file without the tensor D (problems that are
/// still to be answered); tiles.d is then all zero.
Vectors read_vectors(const std::string& path, bool results_required = true);
/// Writes a vector file through a temporary file and a rename: the path holds all of it or what it held before.
/// Throws InputError if it cannot be written.
void write_vectors(const std::string& path, const Vectors& vectors);

}  // namespace tcnum
