// Operands as lanes and shared memory hold them, and results taken from lanes: what the timing kernels in probes/ load
// and store, word for word.
#pragma once

#include "bench/device/timing.hpp"
#include "operands.hpp"

namespace tcnum::bench {

/// mma: A and B [slice][tile][register][lane], metadata [slice][tile][lane] for sparsity selector 0, C
/// [chain][tile][register][lane]. wmma: A [slice][tile][row][column], B [slice][tile][column][row], C
/// [chain][tile][row][column], packed. wgmma: A in registers [slice][register][thread], metadata [slice][thread], and
/// the image of shared memory.
TimedOperands timed_operands(const ChainOperands& operands);

/// Bytes of a block's results.
std::size_t result_bytes(const Instruction& instruction, unsigned warps, unsigned chains);

/// How many of a block's results, [warp][chain][register][lane] (of wgmma, [warpgroup][register][thread]; of wmma,
/// behind the registers of each warp, whose layout is unknown, [chain][row][column]), are not what `expected` says,
/// [chain][tile][m][n].
std::size_t count_wrong(const Instruction& instruction, const std::vector<std::byte>& results, unsigned warps,
                        unsigned chains, const Codes& expected);

}  // namespace tcnum::bench
