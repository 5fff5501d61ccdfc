// Operands taken apart, for evaluators to read.
#pragma once

#include <cstdint>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// Alignment exponent of what does not take part. Two of them still add up to an int, far below any real exponent.
inline constexpr std::int32_t kNoExponent = -(1 << 24);

enum RowFlags : std::uint8_t { kHasSpecial = 1, kHasSubnormal = 2 };

/// Operands of tiles taken apart once, for any number of datapaths that read them by the same rules.
class DecodedTiles {
 public:
  /// Takes apart tiles first … first + count − 1; the tiles must outlive this.
  DecodedTiles(const Tiles& tiles, const OperandRule& a, const OperandRule& b, const OperandRule& c, std::size_t first,
               std::size_t count);
  DecodedTiles(const Tiles& tiles, const OperandRule& a, const OperandRule& b, const OperandRule& c)
      : DecodedTiles(tiles, a, b, c, 0, tiles.count) {}

  const Tiles& tiles() const { return *tiles_; }

 private:
  friend class CpuEmulator;

  struct Number;
  class Reader;
  /// One row of A, column of B, or all of C: value[i] = significand[i] · 2^(exponent[i] − fraction_bits).
  struct Numbers {
    std::vector<std::int32_t> significand;       ///< signed; 0 for zeros and non-finite numbers
    std::vector<std::int64_t> wide_significand;  ///< instead, for formats whose significands need it
    std::vector<std::int32_t> exponent;          ///< for alignment; a number below any other for zeros
    std::vector<std::int32_t> natural;           ///< the same, but zeros have their natural one
    std::vector<std::uint8_t> negative;          ///< 1 for a negative number, zeros included
    std::vector<std::uint8_t> flags;             ///< for each row: what occurs in it
    int fraction_bits = 0;
    bool wide = false;
    std::int64_t significand_at(std::size_t i) const { return wide ? wide_significand[i] : significand[i]; }
  };
  static Number read(const OperandRule& rule, std::uint64_t code);

  const Tiles* tiles_;
  std::size_t first_ = 0;
  Numbers a_, b_, c_;  // b_ is transposed: [count, n, k]
};

}  // namespace tcnum
