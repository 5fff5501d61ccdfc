// The CPU's emulator as the fit needs it; users have tcnum/emulator.hpp.
#pragma once

#include <cstdint>

#include "decoded_tiles.hpp"
#include "emu/consulted.hpp"
#include "plan.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// Beside whole tiles, the CPU's emulator evaluates single dot problems, tells what a result depended on, and takes
/// other numerics for the same tree, which is how a fit tries one datapath after the other. It trusts that datapaths
/// are valid and that tiles are what they take: Emulator (tcnum/emulator.hpp) checks.
class CpuEmulator {
 public:
  explicit CpuEmulator(const Datapath& datapath);
  /// Keeps the tree and changes the rest.
  void set_numerics(const Numerics& numerics);

  /// Result of element (i, j) of tile t. `decoded` was made with this datapath's operand rules.
  std::uint64_t dot(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j) const;
  /// Likewise, and sets in `consulted` what the result may depend on. No zero exponent up to `watch_exponent` changes a
  /// result that did not consult kConsultedZeroExponent.
  std::uint64_t dot(const DecodedTiles& decoded, std::size_t t, std::size_t i, std::size_t j, int watch_exponent,
                    unsigned& consulted) const;

  /// Fills tiles.d, on `threads` threads.
  void run(Tiles& tiles, unsigned threads = 1) const;

  const Numerics& numerics() const { return plan_.numerics; }
  const Tree& tree() const { return plan_.tree->tree; }

 private:
  void run(Tiles& tiles, std::size_t first, std::size_t count) const;
  bool run_in_panels(Tiles& tiles, unsigned threads) const;
  std::uint64_t dot_exactly(const Tiles& tiles, std::size_t t, std::size_t i, std::size_t j) const;

  CpuPlan plan_;
};

}  // namespace tcnum
