// Operands of timed instructions, and what their chains of accumulations end in.
#pragma once

#include <cstdint>

#include "tcnum/datapath.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::bench {

enum class Data : std::uint8_t {
  zeros,
  random,  ///< uniform in −1 … 1; of integers, uniform over the codes
};

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

/// The accumulators after `steps` steps, of which step s multiplies slice s % slices; laid out as operands.c.
Codes replay(const ChainOperands& operands, const Datapath& datapath, unsigned steps, std::size_t slices,
             unsigned threads);

/// A code uniform in −1 … 1, or of integers uniform over the codes; `random` are 64 random bits.
std::uint64_t uniform_code(const Format& format, std::uint64_t random);

}  // namespace tcnum::bench
