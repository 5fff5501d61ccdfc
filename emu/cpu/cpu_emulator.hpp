// The CPU's emulator as the fit needs it; users have tcnum/emulator.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "decoded_tiles.hpp"
#include "emu/consulted.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

struct FmaChain;
struct IntegerUnits;

/// The CPU's emulator. Beside whole tiles it evaluates single dot problems, tells what a result depended on, and takes
/// other numerics for the same tree, which is how a fit tries one datapath after the other. It trusts that datapaths
/// are valid and that tiles are what the datapath takes: Emulator checks.
class CpuEmulator {
 public:
  explicit CpuEmulator(const Datapath& datapath);
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
