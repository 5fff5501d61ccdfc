// The fast emulator: the same bits as emulate_exact(), in machine integers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

struct FmaChain;
struct IntegerUnits;

/// Rules of a datapath that a dot problem can depend on only if it does something out of the ordinary. The fit uses
/// this: a wrong result that consulted none of them cannot be mended by changing them.
enum Consulted : unsigned {
  kConsultedNothing = 0,
  kConsultedSubnormalInput = 1u << 0,  ///< an operand is subnormal
  kConsultedZeroExponent = 1u << 1,    ///< aligning to the watched exponent instead would cut something
  kConsultedTinyResult = 1u << 2,      ///< a rounding step gave a subnormal number or zero
  kConsultedZeroSum = 1u << 3,         ///< aligned terms added up to zero
  kConsultedOverflow = 1u << 4,        ///< a rounding step overflowed
  kConsultedNan = 1u << 5,             ///< the result is NaN
  kConsultedRounding = 1u << 6,        ///< a rounding step dropped bits that were not zero
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

 private:
  friend class Emulator;

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

class Emulator {
 public:
  explicit Emulator(const Datapath& datapath);
  /// Keeps the tree and what was worked out for it, and changes the rest.
  void set_numerics(const Numerics& numerics);

  /// Result of element (i, j) of tile t. `decoded` was made with this datapath's operand rules.
  std::uint64_t dot(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j) const;
  /// Likewise, and sets in `consulted` what the result may depend on. No zero exponent up to `watch_exponent` changes a
  /// result that did not consult kConsultedZeroExponent.
  std::uint64_t dot(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j, int watch_exponent,
                    unsigned& consulted) const;

  /// Fills tiles.d, on `threads` threads.
  void run(Tiles& tiles, unsigned threads = 1) const;

  /// Whether the datapath is outside what machine integers hold (block scales, exact sums that are not rounded), so
  /// that run() and dot() call the exact emulator.
  bool falls_back() const { return falls_back_; }

  const Numerics& numerics() const { return numerics_; }

 private:
  struct CompiledNode {
    int unit = 0;
    std::vector<int> products;  // k, ascending as in the tree
    std::vector<Term> others;   // accumulator and nodes
    std::vector<Term> terms;    // all, in the tree's order
    bool contiguous = false;    // products are products[0], products[0] + 1, …
  };
  struct CompiledTree {
    Tree tree;
    std::vector<CompiledNode> nodes;
  };
  struct Value;
  template <std::size_t N>
  class Scratch;
  struct Problem;
  template <bool kTrace>
  struct Run;
  class TileRun;

  /// How a node is evaluated when all its terms are finite.
  enum class Path : std::uint8_t {
    general,    ///< in 128 bits or more
    sum,        ///< finite fraction_bits; products in 64 bits or, if quick32_, in 32
    pair,       ///< two terms, exact, in 64 bits
    wide_pair,  ///< likewise, in 128 bits
  };

  void choose_paths();
  Path path(const CompiledNode& node, unsigned narrow_units) const;
  static Problem problem(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j);
  void run_fma_chain(Tiles& tiles, std::size_t t) const;
  std::uint64_t integer_dot(const Problem& problem, unsigned& consulted) const;
  std::uint64_t dot_exactly(const Tiles& tiles, std::size_t t, std::size_t i, std::size_t j) const;

  std::shared_ptr<const CompiledTree> tree_;
  Numerics numerics_;
  std::vector<Path> paths_;  // of each node
  bool quick32_ = false;     // products fit in 32 bits
  bool columnwise_ = false;  // sums of products can be evaluated for several columns side by side
  bool falls_back_ = false;
  std::shared_ptr<const FmaChain> fma_chain_;     // where it is a chain of the machine's FMAs
  std::shared_ptr<const IntegerUnits> integers_;  // where it sums integers and nothing else
};

}  // namespace tcnum
