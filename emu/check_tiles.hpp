// Whether operands are what a datapath takes: what every public call asks before it reads them.
#pragma once

#include <span>

#include "tcnum/datapath.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// Whether a datapath's rule for operands of `rule` reads the codes of `operand`: those of the same format; and fp32's
/// rule those of tf32, of which the hardware is given 32 bits.
constexpr bool reads_codes_of(FormatId rule, FormatId operand) {
  return rule == operand || (rule == FormatId::fp32 && operand == FormatId::tf32);
}

/// Throws InputError ("tiles: k is 8; expected 16, the datapath's") unless tiles are dense, have the datapath's
/// k, formats and scale blocks, and hold as many codes as their count, m and n say, of their formats' width. Tiles
/// without a dot problem pass, whatever else they are. The datapath is valid.
void check_tiles(const Numerics& numerics, int k, const Tiles& tiles);

/// Throws InputError unless one dot problem has the datapath's k elements of a and of b, and as many scales of each as
/// it has scale blocks. The datapath is valid.
void check_operands(const Numerics& numerics, int k, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                    std::span<const std::uint64_t> sa, std::span<const std::uint64_t> sb);

}  // namespace tcnum
