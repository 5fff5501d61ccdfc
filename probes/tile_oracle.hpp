// What the oracles of GPUs have in common: problems on instruction tiles, in every way in which the results must agree.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "placement.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

class TileOracle : public Oracle {
 public:
  /// `variants`: the ways in which operands reach the instruction, if there are several; what they are of stays alive.
  TileOracle(const Instruction& instruction, std::span<const std::string_view> variants, bool check_positions)
      : instruction_(instruction), variants_(variants), check_positions_(check_positions) {}

  void answer(Tiles& tiles) final;
  OracleKind kind() const final { return OracleKind::gpu; }

 protected:
  const Instruction& instruction() const { return instruction_; }
  /// Puts packed.count tiles through the instruction in one of its ways, and leaves the results in packed.d.
  virtual void run(PackedTiles& packed, int variant) = 0;

 private:
  void put(const Placement& placement, const Tiles& tiles, std::size_t first, std::size_t count, int variant = 0);

  Instruction instruction_;
  std::span<const std::string_view> variants_;
  bool check_positions_;
  PackedTiles packed_;
};

/// What a report says of a kernel whose answers of an architecture are the first that it gives.
std::string never_run_on(std::string_view arch);

}  // namespace tcnum
