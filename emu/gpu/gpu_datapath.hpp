// A datapath as plain data, which code that a GPU compiles as well as a CPU evaluates: what the CUDA emulator runs and
// the tests run without a GPU. It covers what hardware was found to do; the rest is the other emulators'.
#pragma once

#include <cstdint>
#include <optional>

#include "emu/evaluators.hpp"
#include "emu/integer_sums.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

/// A node sums the `count` products at place `first` (GpuDatapath::place) and on, and up to two other terms.
struct GpuNode {
  static constexpr int kNone = -2, kAccumulator = -1;  // else the node of that number
  static constexpr int kMostOthers = 2;
  std::int16_t unit = 0, first = 0, count = 0;
  std::int16_t others[kMostOthers] = {kNone, kNone};
  bool is_pair = false;         ///< exact, of the two others alone
  bool other_is_first = false;  ///< of the node's terms, others[0] comes first
};

/// How an operand's code of at most 32 bits is taken apart.
struct GpuFields {
  int storage_bits = 32, fraction_bits = 0, padding_bits = 0, bias = 0;
  std::uint32_t top = 0;            ///< the largest exponent field, which may be special
  std::uint32_t first_special = 0;  ///< codes without sign and padding from this on are infinities or NaNs
  std::uint32_t infinity = 0;       ///< that of infinity; first_special − 1 if there is none
  std::uint32_t smallest = 1;       ///< codes below this are read as zero
  int floor = 0;                    ///< no number takes part in alignment with a smaller exponent
  bool zero_is_nan = false;         ///< the code of a negative zero is the one NaN
};

/// How patches round, to codes of fp32 or fp16: as hardware's conversions do.
enum class PatchRounding : std::uint8_t {
  fp32_toward_zero,
  fp32_nearest,
  fp16_nearest,
  fp16_nearest_of_fp32,  ///< toward zero to fp32 first
};

/// What patches of problems (emu/gpu/patch.hpp) want to know of a node. High words are those of doubles.
struct PatchNode {
  static constexpr int kLowest = -900;  ///< alignment where all is zero: below every other, and doubles have it

  int first = 0, count = 0;  ///< as of GpuNode
  std::uint32_t places = 0;  ///< of its products, as bits
  bool takes_c = false, takes_before = false, is_pair = false;
  bool before_is_half = false;  ///< the result before has 16 bits, not 32
  int alignment = kLowest;      ///< at least this
  /// As high words: the least exponents that c and the result before take part with, unless they are zero.
  std::uint32_t c_floor = 0, before_floor = 0;
  std::uint32_t grid = 0;  ///< from an alignment to 1.5 · 2^52 units of the sum, as high words

  PatchRounding rounding = PatchRounding::fp32_toward_zero;
  std::uint32_t kept_bits = ~0u;  ///< of the code of a number that is rounded toward zero
  double overflow = 0;            ///< the least magnitude whose rounding toward zero overflows, to `beyond`
  std::uint32_t beyond = 0;
  std::uint32_t dropped = 0;  ///< −0, if a number that becomes zero loses its sign
};

/// What accumulations (emu/gpu/accumulation_patch.hpp) want to know besides their sums' PatchNodes. All steps have the
/// same rules, and high words are those of doubles.
struct Accumulations {
  struct Step {
    int products[2] = {-1, -1};  ///< nodes of products alone; no second one where they are not in pairs
    std::uint32_t places = 0;    ///< of all their products, as bits
    int count = 0;
  };
  static constexpr int kMostSteps = 8;
  static constexpr int kMostExponent = 100;  ///< above it, of c or of a product, a sum is left over

  int steps = 0;
  Step step[kMostSteps];
  bool in_pairs = false;
  bool negative_zeros = false;  ///< zero sums of negative terms alone are negative
  std::uint32_t grid = 0;       ///< from an alignment of products, as high words, to the grid of their sum
  // Floors under alignments, and what leads from one to a grid: of a pair, and of a sum with c.
  std::uint32_t pair_floor = 0, floor = 0;
  std::uint32_t first_grid = 0, second_grid = 0;
  std::uint32_t drop_below = 0;  ///< the second term is left out whose exponent is further below the alignment
  // The sum is cut down before it is rounded:
  std::uint32_t kept_bits = ~0u;  ///< of its first term's grid, below the alignment
  bool cuts_below_leading = false;
  std::uint32_t least = 0, cut_grid = 0;  ///< or below its leading bit, whose exponent counts as at least this
};

/// What single precision does besides the machine's additions.
struct GpuSingles {
  bool rounds_products = false;  ///< before they are added; else a product and another term are an FMA
  bool flushes_products = false;
  bool flushes[kMaxUnits] = {};  ///< the results of a unit
};

/// Block scales, of products of whole matrices: each multiplies the operands of a block of a line, or a sum of their
/// products.
struct GpuScaling {
  int block_k = 0;  ///< 0: none
  Format format{};
};

struct GpuDatapath {
  static constexpr int kMostNodes = 32, kMostProducts = 256;

  GpuEvaluator evaluator = GpuEvaluator::patches;
  Format a{}, b{}, c{}, result{};
  OperandRule a_rule, b_rule, c_rule;
  ProductRule product;
  GpuFields a_fields, b_fields, c_fields;
  NanRule nan;
  std::uint64_t quiet = 0;  ///< bits that make a NaN of the result's format quiet
  Unit units[kMaxUnits];
  IntegerUnits integers;
  Rounding fma_rounding = Rounding::nearest_even;
  GpuSingles singles;
  int k = 0, nodes = 0;
  /// Of scaled sums the last, which adds them to c, may have more terms than there is room for, and needs none.
  GpuNode node[kMostNodes];
  std::uint16_t place[kMostProducts] = {};  ///< of each product, by k: nodes have theirs side by side
  /// 4, 2 or 1: each so many products, from a multiple of it on, have places side by side, from a multiple of it on.
  int adjacent = 1;
  static constexpr int kMostPatchNodes = 8;
  PatchNode patch[kMostPatchNodes];  ///< where patches give every result that is ordinary
  std::uint32_t kept = 0;            ///< nodes, as bits, whose result another than the next takes
  Accumulations accumulations;
  GpuScaling scaling;

  TCNUM_HOST_DEVICE constexpr bool takes_patches() const { return evaluator == GpuEvaluator::patches; }
};

/// A datapath that gives the same along k, k-step after k-step, in shorter k-steps: one for each sum, if they are alike
/// and each takes the result before as the first takes c. Else the datapath itself. All k-steps of a longer one must be
/// there.
Datapath in_shortest_k_steps(const Datapath& datapath);

/// The datapath as plain data; if no evaluator takes it, none, and why the one that takes most does not.
struct MadeGpuDatapath {
  std::optional<GpuDatapath> datapath;
  WhyNot why_not;
};
MadeGpuDatapath make_gpu_datapath(const Datapath& datapath, GpuWork work = GpuWork::tiles);

}  // namespace tcnum
