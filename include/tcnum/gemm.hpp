// Whole matrix products with the bits of a kernel: the instruction it is made of, how it goes through k, and what it
// does with the sums. docs/plans.md describes plans and their JSON form.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tcnum/datapath.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum {

enum class KOrder : std::uint8_t { ascending, descending };
/// Where the products are taken that are left over when k is no multiple of the kernel's tile.
enum class Residue : std::uint8_t {
  last,
  first,  ///< a first tile, filled up with zeros, holds the k mod tile products at the front
};
/// In which order the sums of slices are added.
enum class SliceOrder : std::uint8_t {
  ascending,  ///< to the first, one after the other
  folded,  ///< of s, each of the last ⌊s/2⌋ to one of the first ⌈s/2⌉, as folded_onto() says; then these, ascending
  /// Those from the largest power of two below s on to those from the first on; of what is left again, until one is, as
  /// the lanes of a warp do.
  halves,
  neighbours,  ///< first each other one to the one before it, as threads of two sums do; then these, by halves
};
/// In which order a scale of A's and one of B's come to a sum. The last one's product is rounded, or added to a total
/// in one fused multiply-add; what comes before is rounded.
enum class ScaleOrder : std::uint8_t {
  product,   ///< (scale of A · scale of B) · sum
  a_first,   ///< scale of B · (scale of A · sum)
  b_first,   ///< scale of A · (scale of B · sum)
  in_alpha,  ///< (alpha · scale of A) · scale of B is what alpha is; of scales for all of k
};
/// alpha · sum + …
enum class AlphaPlace : std::uint8_t {
  first,  ///< the product alpha · sum is rounded before anything is added
  fused,  ///< one fused multiply-add of alpha, sum and what is to be added
  // Of FMAs, whose operands an alpha other than 1 makes numbers of the sums' format: the rounded products …
  on_a,  ///< … alpha · A are multiplied by B
  on_b,  ///< … alpha · B are multiplied with A
};
/// beta · C
enum class BetaPlace : std::uint8_t {
  rounded,    ///< is rounded before it is added
  fused,      ///< is added by a fused multiply-add, if alpha is not fused; else rounded
  on_result,  ///< is rounded, and added to all else in D's format
};
enum class BiasPlace : std::uint8_t {
  last,       ///< added when all else but what comes to results is done
  first,      ///< added to beta · C, or in its place
  on_result,  ///< added to all else, but a C on results, in D's format
  as_c,       ///< where there is no C, as a C with a beta of 1; else on_result
};
/// Whose the epilogue is where k is divided.
enum class EpilogueOf : std::uint8_t {
  total,
  /// Each part's in its turn, whose result is the C, with a beta of 1, of the next. C itself comes to the first; a
  /// bias, too, if it is `first` or takes C's place, else to the last.
  parts,
};

/// In which order the parts of k are added.
enum class PartOrder : std::uint8_t {
  ascending,   ///< one after the other, the first to +0, so that no sum of zeros is -0
  descending,  ///< the same from the last on
  pairs,       ///< from the last on, neighbours two by two, an odd one left as it is; and so with their sums, until one
               ///< is left
  fours,       ///< every 64th one after the other, from each of the first 64 on, to +0; the second 32 of these sums to
               ///< the first; of what is left every fourth one after the other; and so these four sums
};
/// What becomes of products that parts of a chunk each leave over.
enum class Rest : std::uint8_t {
  last_part,  ///< they are one more part
  left_out,   ///< no part takes them, so that they are not in D, where there is a part at all
};
/// Lines of blocks of D, which are taken one there, the next one back.
enum class BlockLines : std::uint8_t { rows, columns };

/// Clusters of thread blocks take blocks of D in turn, so many at a time. Of the blocks that whole rounds leave over k
/// is divided, so that no multiprocessor is idle.
struct Tail {
  std::size_t rows = 0, columns = 0;    ///< of D, in the block of a cluster
  BlockLines lines = BlockLines::rows;  ///< the order of blocks, from the first of D on
  std::size_t band = 1;                 ///< so many lines are taken side by side, as one that is so wide
  std::size_t blocks = 0;               ///< that are left over: the last ones
  friend bool operator==(const Tail&, const Tail&) = default;
};

/// A kernel whose k is divided among several blocks of threads, whose sums are then added.
struct SplitK {
  /// Products of each part; the last takes what is left, unless `rest` says otherwise. 0: `count` says how many parts
  /// there are.
  std::size_t chunk = 0;
  Rest rest = Rest::last_part;
  /// Parts of whole tiles, as equal as can be, the larger ones last. 0: `chunk` says how large they are.
  std::size_t count = 0;
  /// So many parts take `chunk` products each in turn, again and again. 0: once.
  std::size_t turns = 0;
  PartOrder order = PartOrder::ascending;
  FormatId type = FormatId::fp32;   ///< each addition is rounded to it
  FormatId parts = FormatId::fp32;  ///< what the parts are rounded to before
  EpilogueOf epilogue = EpilogueOf::total;
  std::optional<Tail> tail = {};  ///< whose k alone is divided; none: that of all of D
  friend bool operator==(const SplitK&, const SplitK&) = default;
};

struct Epilogue {
  AlphaPlace alpha = AlphaPlace::fused;
  BetaPlace beta = BetaPlace::rounded;
  BiasPlace bias = BiasPlace::last;
  /// What it computes in; none: fp64 where sums are, else fp32. s32, where both sums and D are: integers modulo 2^32,
  /// of which alpha and beta are some.
  std::optional<FormatId> type = {};
  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

/// What a kernel does. Sums begin from +0 and C takes no part in them. Additions that are not the instruction's are
/// those of IEEE 754 in the format of the instruction's results, or in fp32 where these are narrower; and so is the
/// epilogue, but in fp32 where results are integers and it has something to do, unless its `type` says otherwise.
struct GemmPlan {
  std::string name;         ///< what people call it; may be empty
  std::string arch;         ///< "sm_90"
  std::string instruction;  ///< by its name; a dense one, without block scales
  std::string account;      ///< of its datapath; empty: the one to believe first
  /// A datapath of your own: then `arch` and `instruction` may be empty.
  std::optional<Datapath> datapath;

  /// How fp32 operands become tf32; none: the instruction reads what it reads of them.
  std::optional<Rounding> convert_a, convert_b;

  KOrder k_order = KOrder::ascending;  ///< of the instructions
  Residue residue = Residue::last;
  /// Products of the kernel's tile along k, a multiple of the instruction's; none: the instruction's. It matters where
  /// the residue comes first, where there are slices, and where k is divided into a number of parts.
  std::optional<std::size_t> k_tile;
  /// So many sums side by side, each of its share of every tile, which are added in the end, the first to nothing.
  int slices = 1;
  SliceOrder slices_order = SliceOrder::ascending;
  /// After so many products, a multiple of the instruction's, the sum is added to a total and begins anew.
  std::optional<std::size_t> promote_every;
  Rounding promote_rounding = Rounding::nearest_even;
  ScaleOrder scales = ScaleOrder::product;  ///< of products that have scales: GemmInputs
  std::optional<SplitK> split_k;

  Epilogue epilogue;
  FormatId output = FormatId::fp32;
  Rounding output_rounding = Rounding::nearest_even;
  /// What becomes of results that are too large; none: what IEEE 754 says where the format has infinities, else the
  /// largest number.
  std::optional<Overflow> output_overflow;

  friend bool operator==(const GemmPlan&, const GemmPlan&) = default;
};

/// A kernel that is known by name, and where what is said of it comes from.
struct NamedPlan {
  std::string_view name;
  std::string_view does;  ///< in a few words
  std::string_view source;
  std::vector<FormatId> operands;  ///< formats that it takes, both of one
};
std::span<const NamedPlan> named_plans();
/// The plan of that name for operands of that format; `output` if it is to be another than the plan's usual. Throws
/// InputError if there is no such plan, or none for the format.
GemmPlan named_plan(std::string_view name, FormatId operands, std::optional<FormatId> output = {});

/// tcnum.gemm_plan/1. Throws InputError; `where` is what its message begins with, such as the file's name.
GemmPlan plan_from_json(const nlohmann::ordered_json& json, std::string_view where);
nlohmann::ordered_json plan_to_json(const GemmPlan& plan);
/// From a file.
GemmPlan read_plan(const std::string& path);
/// Throws InputError if the plan contradicts itself or names what there is not.
void validate(const GemmPlan& plan, std::string_view where = "plan");
/// Whether the plan divides the k of that element of a D of m × n.
bool divides_k(const GemmPlan& plan, std::size_t m, std::size_t n, std::size_t row, std::size_t column);

/// What a product has beside A and B. What is not there is not read.
struct GemmInputs {
  /// M × N, of any format of at most 32 bits, rounded to the epilogue's; where that is fp64, of any floating-point one,
  /// and where it is s32, of integers.
  const MatrixView* c = nullptr;
  const MatrixView* bias = nullptr;  ///< 1 × N, or M × 1; likewise
  double alpha = 1;                  ///< rounded to the epilogue's format
  /// Rounded likewise. Not given: 1 where there is a C, else 0. 0 leaves C out.
  std::optional<double> beta = {};
  /// Scales, of fp32, of sums of fp32. Of A: for all rows or for each, so 1 or M of them along M. Of B: for all
  /// columns, each, or every 128, so 1, N or ⌈N / 128⌉ along N. Along k there is one for all of k, which comes to the
  /// sum before alpha does; or one for each promotion, so ⌈K / promote_every⌉, which comes to what is added to the
  /// total.
  const MatrixView* a_scales = nullptr;  ///< 1 or M × along k
  const MatrixView* b_scales = nullptr;  ///< along k × 1, ⌈N / 128⌉ or N

  double factor_of_c() const { return beta.value_or(c == nullptr ? 0 : 1); }
};

struct GemmOptions {
  unsigned threads = 0;  ///< of the CPU. 0: as many as the machine has
  /// Whose are the chains of instructions; all that comes after them (promotions, slices, parts of k, the epilogue) is
  /// the CPU's. The bits are the same. As matmul(), throws UnavailableError where the GPU is not there or does not take
  /// the instruction's datapath.
  Processor processor = Processor::cpu;
  /// Called now and then, also within a row, with the number of rows of D that are finished; false: stop.
  std::function<bool(std::size_t rows)> progress = {};
};

/// D = alpha · A · B + beta · C + bias with the bits of the plan, where A is M × K, B is K × N, and D is M × N, in the
/// plan's output format. The formats of A and B are the instruction's; fp32 codes may stand for tf32. Throws InputError
/// that says what is expected if shapes, formats or the plan are wrong.
Matrix gemm(const GemmPlan& plan, const MatrixView& a, const MatrixView& b, const GemmInputs& inputs = {},
            const GemmOptions& options = {});
/// The same into `d`, which must be of that shape and format. Returns how many of its rows, from the first on, are
/// finished: all, unless `progress` said to stop; the others are zero.
std::size_t gemm_into(Matrix& d, const GemmPlan& plan, const MatrixView& a, const MatrixView& b,
                      const GemmInputs& inputs = {}, const GemmOptions& options = {});

}  // namespace tcnum
