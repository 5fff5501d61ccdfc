// Operands of timed instructions, and what their chains of accumulations end in.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/device/timing.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::bench {

enum class Data : std::uint8_t {
  zeros,
  random,  ///< uniform in −1 … 1; of integers, uniform over the codes
};

/// What a step of a chain is: the instruction. One whose D is of another format than its C, as
/// wmma.m16n16k16.f32.f16.f16.f16 is, can be the next one's C only by way of the instruction that turns them back,
/// which then follows it.
std::vector<const Instruction*> step_of(const Instruction& instruction);

/// The slices that a chain multiplies in turn, with `tiles` tiles each, and what each of `chains` accumulators of each
/// tile begins with.
struct ChainOperands {
  const Instruction* instruction;
  std::vector<Tiles> slices;
  Codes c;  ///< [chain][tile][m][n]
  std::size_t chains = 1, tiles = 1;
};

/// All is a function of the seed; an element of wgmma's B does not depend on N. Sparse ones have random legal metadata.
ChainOperands make_chain_operands(const Instruction& instruction, Data data, std::uint64_t seed);

/// The accumulators after `steps` steps, of which step s multiplies slice s % slices; laid out as operands.c. There is
/// a datapath for each instruction of a step.
Codes replay(const ChainOperands& operands, const std::vector<Datapath>& datapaths, unsigned steps, std::size_t slices,
             unsigned threads);

/// As the timing kernels take them.
TimedOperands timed_operands(const ChainOperands& operands);

/// Bytes of a block's results.
std::size_t result_bytes(const Instruction& instruction, unsigned warps, unsigned chains);

/// How many accumulators among a block's results are not what `expected` says, [chain][tile][m][n].
std::size_t count_wrong(const Instruction& instruction, const std::vector<std::byte>& results, unsigned warps,
                        unsigned chains, const Codes& expected);

/// A code uniform in −1 … 1, or of integers uniform over the codes; `random` are 64 random bits.
std::uint64_t uniform_code(const Format& format, std::uint64_t random);

}  // namespace tcnum::bench
