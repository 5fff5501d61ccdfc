// Operands taken apart, for evaluators to read.
#pragma once

#include <cstdint>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

enum RowFlags : std::uint8_t { kHasSpecial = 1, kHasSubnormal = 2 };

/// One row of A, column of B, or all of C: value[i] = significand[i] · 2^(exponent[i] − fraction_bits).
struct DecodedNumbers {
  std::vector<std::int32_t> significand;       ///< signed; 0 for zeros and non-finite numbers
  std::vector<std::int64_t> wide_significand;  ///< instead, for formats whose significands need it
  std::vector<std::int32_t> exponent;          ///< for alignment; kNotAligned32 for zeros
  std::vector<std::int32_t> natural;           ///< the same, but zeros have their natural one
  std::vector<std::uint8_t> negative;          ///< 1 for a negative number, zeros included
  std::vector<std::uint8_t> flags;             ///< for each row: what occurs in it
  int fraction_bits = 0;
  bool wide = false;
  std::int64_t significand_at(std::size_t i) const { return wide ? wide_significand[i] : significand[i]; }
};

class DecodedTiles;

/// One dot problem: where its row, its column and its c lie in the decoded tiles.
struct DecodedProblem {
  const DecodedTiles& decoded;
  std::size_t a_row, b_row;  ///< of the decoded rows and columns
  std::size_t a, b, c;       ///< first element of the row, of the column; index of the decoded c
  std::size_t tile, row, column, code_of_c;
};

/// Operands of tiles taken apart once, for any number of datapaths that read them by the same rules.
class DecodedTiles {
 public:
  /// Takes apart tiles first … first + count − 1; the tiles must outlive this.
  DecodedTiles(const Tiles& tiles, const OperandRule& a, const OperandRule& b, const OperandRule& c, std::size_t first,
               std::size_t count);
  DecodedTiles(const Tiles& tiles, const OperandRule& a, const OperandRule& b, const OperandRule& c)
      : DecodedTiles(tiles, a, b, c, 0, tiles.count) {}

  const Tiles& tiles() const { return *tiles_; }
  const DecodedNumbers& a() const { return a_; }
  const DecodedNumbers& b() const { return b_; }  ///< transposed: [count, n, k]
  const DecodedNumbers& c() const { return c_; }

  /// Element (i, j) of tile t.
  DecodedProblem problem(std::size_t t, std::size_t i, std::size_t j) const {
    const std::size_t local = t - first_, a_row = local * tiles_->m + i, b_row = local * tiles_->n + j;
    return {*this, a_row, b_row, a_row * tiles_->k,       b_row * tiles_->k, tiles_->c_index(local, i, j),
            t,     i,     j,     tiles_->c_index(t, i, j)};
  }

 private:
  const Tiles* tiles_;
  std::size_t first_ = 0;
  DecodedNumbers a_, b_, c_;
};

}  // namespace tcnum
