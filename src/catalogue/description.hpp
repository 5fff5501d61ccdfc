// How a row of the catalogue says what a datapath is: in a few words, of blocks of products.
#pragma once

#include <limits>
#include <optional>
#include <variant>

#include "tcnum/datapath.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

/// Which products are summed together, and where c comes in. Blocks are taken in ascending k.
enum class BlockShape : std::uint8_t {
  chain,         ///< each block's sum takes in the result of the one before; the first takes in c
  chain_then_c,  ///< likewise, but the first block starts from nothing, and c is added at the end
  /// chain_then_c of two blocks: the first two of every four products, and the others. So compilers lower an
  /// instruction of 8-bit operands to two of fp16 operands, to which these are converted.
  fp16_halves_then_c,
  sums_onto_c,  ///< each block is summed alone; the sums are added to c one after the other
  /// Products are rounded, those of a block added two by two, the sums likewise, and the last onto c, block after
  /// block; all to fp32 and to nearest even, and what is subnormal on the way is flushed, as operands are. Zeros of c,
  /// and what is flushed of it, lose their sign.
  pairwise_onto_c,
  /// Each block is summed exactly and multiplied with its scales; one sum takes in c and all of these. A block is
  /// aligned by its scales alone.
  scaled_blocks_with_c,
};

/// Of a datapath made of blocks, what is not the same in most.
struct BlockDetails {
  std::optional<int> zero_floor = {};                ///< the alignment exponent is never below this
  std::optional<int> result_fraction_bits = {};      ///< what block sums keep, if less than their format has
  std::optional<Rounding> to_c_format_first = {};    ///< how block sums are rounded to c's format before the result's
  std::optional<FormatId> intermediate_format = {};  ///< of all but the result, which is rounded to it first
  SubnormalExponent c_subnormals = SubnormalExponent::minimum;
  ZeroSign zero_sign = ZeroSign::positive;
  UnderflowSign underflow_sign = UnderflowSign::kept;
  Overflow overflow = Overflow::infinity;
  std::optional<NanRule> nan = {};  ///< else every NaN is the positive one with all bits set (0 of integers)
  ProductOperation product = ProductOperation::multiply;
};

/// A block of more products than the instruction has is all of them.
inline constexpr int kAllProducts = std::numeric_limits<int>::max();

/// Exact products are summed in blocks of `block_k`. The terms of each sum are cut toward zero at `fraction_bits` below
/// the largest exponent, and the sum is rounded to the result's format. What is added outside a block is added to
/// nearest even.
struct BlockSums {
  BlockShape shape = BlockShape::chain;
  int block_k = kAllProducts;
  int fraction_bits = kExact;
  Rounding rounding = Rounding::toward_zero;
  BlockDetails details = {};
};

/// The products of a block are cut among themselves, their sum and c again, each at its own width; their sum is the
/// next block's c. All cuts but that of products are downward, and the last rounding is to fp32, to nearest even. AMD's
/// CDNA3.
struct CutSumOntoC {
  int block_k = kAllProducts;
  bool by_parity = false;  ///< products of even and odd k are cut and summed apart, then together; a small c is dropped
  /// The sum is rounded down below its own leading bit, and not below the exponent that it was aligned with; a c of
  /// zero is aligned as a subnormal one is.
  bool renormalised = false;
};

using Description = std::variant<BlockSums, CutSumOntoC>;

/// The datapath of that instruction: its formats and its number of products are what the description leaves open.
/// Throws std::logic_error, which names the instruction, if the description is not of such instructions.
Datapath build(const Description& description, const Instruction& instruction);

}  // namespace tcnum
