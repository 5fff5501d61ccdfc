#include "tcnum/cublaslt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "performer.hpp"
#include "reduction.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kWhere = "cublaslt";

/// Of what has not been measured, or what the library does not have.
[[noreturn]] void refuse(const CublasLtConfiguration& of, std::string_view expected) {
  throw InputError(fmt::format(
      "{}: id {} with a {}, b {}, d {}, k {}, stages {}, split_k {}, reduction {} and custom {}: no plan is known; "
      "expected {}",
      kWhere, of.id, format(of.a).name, format(of.b).name, format(of.d).name, of.k, of.stages, of.split_k, of.reduction,
      of.custom, expected));
}

constexpr std::string_view kFp64 = "fp64", kVectorFormats = "fp16, bf16, fp32 or fp64", kHalfFormats = "fp16 or bf16",
                           kFp16 = "fp16";
constexpr int kAsNeeded = -1;  ///< SPLITK_NUM of kernels that divide k as the device has room

/// How k is cut where there are several parts.
enum class Cut : std::uint8_t {
  tiles,     ///< contiguous parts of whole tiles
  cutlass2,  ///< as cutlass2_chunk() says
  by_turns,  ///< a tile for each part, again and again
  threads,   ///< k is left to threads, and what they take is cut as their kernel does
  octets,    ///< as parts_of_octets() says
  none,      ///< k is whole
};

/// Ids of kernels that leave k to threads.
constexpr int kFewColumns = 11, kVectors = 13, kBlocks = 14;

/// Id of kernels of FMAs that add up sums of 512 products, or parts of whole eights.
constexpr int kOctets = 10;

/// Id of kernels that have no STAGES_ID where k is 1, and each element of D is a product.
constexpr int kSingleProducts = 12;

/// Id of kernels that are those of 43, of fp16 and bf16.
constexpr int kHalves = 42;

/// Id of the library's own kernels for tensor cores.
constexpr int kNvjet = 66;

/// What becomes of operands of fp32.
enum class Fp32 : std::uint8_t {
  unknown,  ///< nobody has measured it
  to_tf32,  ///< they are rounded, to nearest even
  fmas,     ///< they are multiplied and added as they are, by no tensor core; such kernels take nothing else
};

/// What becomes of sums, by kernels that do it alike: epilogue_of().
enum class Finish : std::uint8_t { unknown, few_columns, vectors, blocks, octets, narrow, cutlass2, cutlass3, nvjet };

/// Of one id.
struct Algorithm {
  int id;
  std::string_view kernels;
  Residue residue;
  Cut cut;
  Finish finish = Finish::unknown;
  Fp32 fp32 = Fp32::unknown;
};
constexpr std::array<Algorithm, 22> kAlgorithms = {{
    {kOctets, "fp32", Residue::last, Cut::octets, Finish::octets, Fp32::fmas},
    {kFewColumns, kVectorFormats, Residue::last, Cut::threads, Finish::few_columns, Fp32::fmas},
    {kSingleProducts, "CUTLASS 2", Residue::first, Cut::cutlass2, Finish::unknown, Fp32::to_tf32},
    {kVectors, kVectorFormats, Residue::last, Cut::threads, Finish::vectors, Fp32::fmas},
    {kBlocks, kVectorFormats, Residue::last, Cut::threads, Finish::blocks, Fp32::fmas},
    {16, kHalfFormats, Residue::last, Cut::none, Finish::narrow, Fp32::fmas},
    {20, "CUTLASS 2", Residue::first, Cut::cutlass2, Finish::cutlass2, Fp32::fmas},
    {21, "CUTLASS 2", Residue::first, Cut::cutlass2, Finish::cutlass2, Fp32::to_tf32},
    {22, kFp64, Residue::first, Cut::cutlass2, Finish::cutlass2},
    {23, "CUTLASS 2", Residue::first, Cut::cutlass2, Finish::cutlass2, Fp32::to_tf32},
    {24, "CUTLASS 2", Residue::first, Cut::cutlass2, Finish::cutlass2, Fp32::to_tf32},
    {35, kFp64, Residue::last, Cut::by_turns, Finish::cutlass3},
    {36, kFp64, Residue::last, Cut::by_turns, Finish::cutlass3},
    {39, "CUTLASS 3", Residue::last, Cut::tiles},
    {41, "CUTLASS 3", Residue::last, Cut::tiles},
    {kHalves, "CUTLASS 3", Residue::last, Cut::tiles, Finish::cutlass3},
    {43, "CUTLASS 3", Residue::last, Cut::tiles, Finish::cutlass3, Fp32::to_tf32},
    {55, "fp32", Residue::last, Cut::by_turns, Finish::cutlass3, Fp32::fmas},
    {56, kFp16, Residue::last, Cut::none, Finish::unknown, Fp32::fmas},
    {63, "CUTLASS 3", Residue::last, Cut::by_turns, Finish::cutlass3, Fp32::to_tf32},
    {kNvjet, "nvjet", Residue::last, Cut::tiles, Finish::nvjet},
    {74, "CUTLASS 3", Residue::last, Cut::tiles},
}};

/// Values of cublasLtMatmulStages_t (cublasLt.h of CUDA 13.0), whose names are TILExSTAGES. Only the tile matters.
struct Stages {
  int first, last;
  std::size_t tile;  ///< products of k
};
constexpr std::array<Stages, 15> kStages = {{{1, 6, 16},
                                             {7, 12, 32},
                                             {13, 18, 64},
                                             {19, 24, 128},
                                             {25, 25, 32},
                                             {26, 26, 8},
                                             {27, 27, 16},
                                             {28, 28, 8},
                                             {31, 32, 8},
                                             {33, 33, 16},
                                             {34, 34, 32},
                                             {35, 35, 64},
                                             {36, 36, 128},
                                             {37, 37, 256},
                                             {38, 38, 768}}};
std::size_t tile_of(const CublasLtConfiguration& of) {
  for (const Stages& each : kStages) {
    if (each.first <= of.stages && of.stages <= each.last) return each.tile;
  }
  refuse(of, "stages of cublasLtMatmulStages_t, 1 to 38");
}

const Algorithm& algorithm_of(const CublasLtConfiguration& of) {
  const auto found = std::ranges::find(kAlgorithms, of.id, &Algorithm::id);
  if (found != kAlgorithms.end()) return *found;
  std::string known;
  for (const Algorithm& each : kAlgorithms)
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", each.id, each.kernels);
  refuse(of, "id " + known);
}

bool is_fp8(const CublasLtConfiguration& of) { return format(of.a).floating && format(of.a).storage_bits == 8; }

/// Kernels of ALGO_ID 24 that no STAGES_ID names are for operands of 16 bits that are not aligned, as where a row of
/// them is no whole number of 16 bytes.
bool is_unaligned(const CublasLtConfiguration& of) {
  constexpr int kAlgorithm = 24, kNoStages = 0;
  return of.id == kAlgorithm && of.stages == kNoStages && format(of.a).storage_bits == 16;
}
constexpr std::size_t kUnalignedTile = 32;

/// The instruction whose chain a kernel's sums are. mma of the same formats gives the same bits as wgmma, but for fp8.
std::string instruction_for(const CublasLtConfiguration& of) {
  const FormatId a = of.a, b = of.b;
  const auto operand = [](FormatId id) { return format(id == FormatId::fp32 ? FormatId::tf32 : id); };
  const Format &x = operand(a), &y = operand(b);
  const int k = x.id == FormatId::tf32 ? 8 : 256 / x.storage_bits;
  if (is_unaligned(of) && b == a) return fmt::format("mma.m16n8k8.f32.{0}.{0}.f32", x.ptx);
  if (a == FormatId::fp64 && b == a) return "mma.m8n8k4.f64.f64.f64.f64";  // one chain of FMAs, as all fp64's are
  const std::string name = fmt::format("wgmma.m64n8k{}.{}.{}.{}", k, x.floating ? "f32" : "s32", x.ptx, y.ptx);
  if (find_instruction(name) != nullptr) return name;
  refuse(of, "formats of a and b that wgmma takes together");
}

constexpr int kInPlace = 1, kComputeType = 2, kOutputType = 4;  // cublasLtReductionScheme_t

/// PTX's instruction that multiplies and adds such numbers as they are.
std::string_view fma_for(const CublasLtConfiguration& of, const Algorithm& algorithm) {
  const bool takes = algorithm.cut == Cut::threads ||
                     (algorithm.cut == Cut::none
                          ? of.a == FormatId::fp16 || (of.a == FormatId::bf16 && algorithm.kernels == kHalfFormats)
                          : of.a == FormatId::fp32);
  if (const std::string_view fma = fma_of(of.a); takes && of.a == of.b && !fma.empty()) return fma;
  refuse(of, fmt::format("{} for both a and b", algorithm.kernels));
}

SplitK split_of(const CublasLtConfiguration& of, Cut cut) {
  const auto parts = static_cast<std::size_t>(of.split_k);
  SplitK split;
  if (of.a == FormatId::fp64) split.type = split.parts = FormatId::fp64;
  if (cut == Cut::cutlass2) {
    split.chunk = cutlass2_chunk(of.k, parts, of.a, !of.a_k_outermost || !of.b_k_outermost);
  } else {
    const std::size_t tile = tile_of(of), products = of.k / parts;
    if (products == 0) refuse(of, "a product or more for each part");
    split.chunk = (products + tile - 1) / tile * tile;
    if (split.chunk == products && of.k % parts != 0) {
      if (of.id != kNvjet || of.reduction != kComputeType)
        refuse(of, fmt::format("k of whole parts, or id {} and reduction {}", kNvjet, kComputeType));
      split.rest = Rest::left_out;
    }
  }
  switch (of.reduction) {
    case kInPlace:  // each part is added to what D holds by then
      split.type = of.d;
      break;
    case kOutputType:
      split.parts = of.d;
      break;
    case kComputeType:
      break;
    default:
      refuse(of, "reduction 1, 2 or 4");
  }
  return split;
}

/// Sums of 512 products where k is whole, else parts of as many products as go into k so often, rounded up to eights.
/// (Measured: eleven pairs of k and SPLITK_NUM, and one part of up to 88 products.)
void parts_of_octets(const CublasLtConfiguration& of, GemmPlan& plan) {
  constexpr int kWhole = 0, kOnePart = 1;
  constexpr std::size_t kPromoteEvery = 512, kUnit = 8;
  if (of.split_k == kWhole) {
    // The same as one sum, up to 512; of 528 products 16 go on the sum of 512, and of 777 and others 265 and more do
    // not.
    constexpr std::size_t kLeastLeft = 256;
    const std::size_t left = of.k % kPromoteEvery;
    if (of.k > kPromoteEvery && left != 0 && left < kLeastLeft) {
      refuse(of, fmt::format("k that leaves none or {} and more products over {}s", kLeastLeft, kPromoteEvery));
    }
    plan.promote_every = kPromoteEvery;
  } else if (of.split_k == kOnePart && of.reduction == kInPlace && of.k <= kPromoteEvery) {
    // One sum, however many products would make another.
  } else if (of.split_k > 1 && of.reduction == kInPlace) {
    const std::size_t products = of.k / static_cast<std::size_t>(of.split_k);
    plan.split_k = SplitK{.chunk = std::max<std::size_t>(1, (products + kUnit - 1) / kUnit) * kUnit};
  } else {
    refuse(of, fmt::format("split_k {}, or 2 or more with reduction {}", kWhole, kInPlace));
  }
}

void take_turns(const CublasLtConfiguration& of, GemmPlan& plan) {
  constexpr int kAscending = 0, kFolded = 1, kAscendingToo = 2, kNotMeasuredOf = 63;
  if (of.split_k > kMostSlices) refuse(of, fmt::format("split_k of at most {}", kMostSlices));
  const bool is_known = of.custom == kAscending || of.custom == kFolded ||
                        (of.custom == kAscendingToo && of.id != kNotMeasuredOf) || of.split_k <= 2;
  if (!is_known) refuse(of, fmt::format("custom {} or {}", kAscending, kFolded));
  plan.slices = of.split_k;
  plan.slices_order = of.custom == kFolded ? SliceOrder::folded : SliceOrder::ascending;
  plan.k_tile = tile_of(of) * static_cast<std::size_t>(of.split_k);
}

/// What kernels of products of a vector do with k, by CUSTOM_OPTION. (Measured: of operands of 16, 32 and 64 bits; what
/// an option says was the same of all that had it, 45 options of two of these sizes or all three.)
enum class Sharing : std::uint8_t {
  threads,  ///< so many threads of a warp: with an odd option each takes a product in turn, with an even one a stretch
  fours,    ///< so many threads take four products in turn
  sixteen,  ///< in_turn_on_sixteen(), with sums of so many products
  parts,    ///< in_parts_on_threads(), with so many parts
  one_thread,  ///< sums of so many products, by one thread
};
struct Option {
  Sharing sharing;
  int number;
  std::span<const int> customs;
  std::size_t most_k = std::numeric_limits<std::size_t>::max();  ///< more was not measured
};
constexpr std::array kOnTwo = {38, 39, 48, 49, 56, 57, 62, 63, 84, 85, 94, 95, 102, 103, 108, 109};
constexpr std::array kOnFour = {40, 41, 50, 51, 58, 59, 64, 76, 77, 86, 87, 96, 97, 104, 105, 110, 111, 114, 115};
constexpr std::array kOnEight = {33, 42, 43, 61, 67, 70, 71, 78, 79, 88, 89, 98, 99, 106, 107, 112, 113};
constexpr std::array kOnSixteen = {72, 73, 80, 81, 90, 91, 100, 101};
constexpr std::array kOnWarp = {74, 75, 82, 83, 92, 93};
constexpr std::array kZero = {0}, kOne = {1}, kTwo = {2}, kFive = {5}, kSix = {6}, kSeven = {7}, kTen = {10},
                     kEleven = {11};
constexpr std::array kTwelveAndMore = {12, 13, 14};
constexpr auto kOptions = std::to_array<Option>({
    {Sharing::threads, 2, kOnTwo},
    {Sharing::threads, 4, kOnFour},
    {Sharing::threads, 8, kOnEight},
    {Sharing::threads, 16, kOnSixteen},
    {Sharing::threads, 32, kOnWarp},
    {Sharing::sixteen, 32, kEleven},
    {Sharing::sixteen, 16, kTwelveAndMore},
    {Sharing::fours, 32, kTen},
    {Sharing::parts, 1, kZero, 512},
    {Sharing::parts, 2, kOne, 512},
    {Sharing::parts, 4, kTwo, 512},
    {Sharing::parts, 32, kFive},
    {Sharing::one_thread, 256, kSix, 256},
    {Sharing::one_thread, 256, kSeven},
});
/// Null if none has been measured.
const Option* option_of(int custom) {
  const auto found = std::ranges::find_if(
      kOptions, [&](const Option& each) { return std::ranges::find(each.customs, custom) != each.customs.end(); });
  return found == kOptions.end() ? nullptr : &*found;
}
/// How much of k a part may have: of more than 128 rows or columns of operands of 32 or 64 bits, more in fours was not
/// explained.
std::size_t most_k(const CublasLtConfiguration& of, const Option& option) {
  constexpr std::size_t kMostLines = 128, kMostOfMany = 96;
  const bool are_many = format(of.a).storage_bits > 16 && std::max(of.m, of.n) > kMostLines;
  return option.sharing == Sharing::fours && are_many ? kMostOfMany : option.most_k;
}
/// Whether an option leaves k to the threads of a warp, whose sums are added by halves.
bool is_of_threads(int custom) {
  const Option* const option = option_of(custom);
  return option != nullptr && (option->sharing == Sharing::threads || option->sharing == Sharing::fours);
}

/// Of a matrix and a few vectors, whether A is the matrix.
bool is_a_matrix(const CublasLtConfiguration& of) {
  constexpr std::size_t kFew = 16;
  return of.id == kFewColumns ? of.n <= kFew : of.n <= of.m;
}

/// Whether both operands have k side by side, as a single line has that does not lie apart.
bool have_k_side_by_side(const CublasLtConfiguration& of) {
  const auto has = [](bool k_outermost, std::size_t lines, std::size_t lead) {
    return !k_outermost || (lines == 1 && lead <= 1);
  };
  return has(of.a_k_outermost, of.m, of.a_lead) && has(of.b_k_outermost, of.n, of.b_lead);
}

/// Kernels of a matrix and of a few vectors, by how the matrix lies.
GemmPlan on_few_columns(const CublasLtConfiguration& of, const GemmPlan& plan) {
  constexpr std::size_t kPromoteEvery = 16;
  const bool has_k_innermost = !(is_a_matrix(of) ? of.a_k_outermost : of.b_k_outermost);
  if (has_k_innermost) return in_turn_on_sixteen(plan, kPromoteEvery);
  constexpr int kOfTwo = 0, kOfFour = 1;
  if (of.custom == kOfTwo || of.custom == kOfFour)
    return in_parts_on_threads(plan, of.k, of.custom == kOfTwo ? 2 : 4, of.a);
  refuse(of, fmt::format("custom {} or {} with a matrix whose k is outermost", kOfTwo, kOfFour));
}

GemmPlan left_to_threads(const CublasLtConfiguration& of, GemmPlan plan) {
  const auto parts = static_cast<std::size_t>(std::max(of.split_k, 1));
  if (parts > 1 && (of.reduction != kComputeType || of.id == kFewColumns))
    refuse(of, fmt::format("split_k 1, or reduction {} with id {} or {}", kComputeType, kVectors, kBlocks));
  if (of.id == kBlocks) {
    GemmPlan on = in_turn_on_blocks(plan, parts, of.a, have_k_side_by_side(of));
    constexpr std::size_t kMostParts = 128;
    const std::size_t turns = (of.k + *on.k_tile - 1) / *on.k_tile;
    if (std::min(parts, turns) > kMostParts) refuse(of, fmt::format("split_k of at most {}", kMostParts));
    return on;
  }
  if (parts > 1) plan.split_k = in_parts_of(of.k, parts, of.a);
  const std::size_t of_part = plan.split_k ? plan.split_k->chunk : of.k;
  if (of.id == kFewColumns) return on_few_columns(of, plan);
  const Option* const option = option_of(of.custom);
  const bool takes_parts =
      option != nullptr && option->sharing != Sharing::parts && option->sharing != Sharing::one_thread;
  if (option == nullptr || of_part > most_k(of, *option) || (parts > 1 && !takes_parts))
    refuse(of, "a custom option with which such k has been measured");
  switch (option->sharing) {
    case Sharing::threads:
      return on_threads(plan, option->number,
                        of.custom % 2 != 0 ? 1 : stretch_of_thread(of_part, option->number, of.a));
    case Sharing::fours: {
      constexpr std::size_t kAtATime = 4;
      return on_threads(plan, option->number, kAtATime);
    }
    case Sharing::sixteen:
      return in_turn_on_sixteen(plan, option->number);
    case Sharing::parts:
      return in_parts_on_threads(plan, of.k, static_cast<std::size_t>(option->number), of.a);
    case Sharing::one_thread:
      plan.promote_every = option->number;
  }
  return plan;
}

/// The lines of blocks that an algorithm takes one after the other, where CTA_SWIZZLING is 0. (Measured on an H100,
/// with eight tiles and clusters of 29 shapes: 3,497 algorithms that leave blocks over, of which 2,932 would leave
/// others over by the other lines.)
BlockLines lines_of(const CublasLtTile& tile, std::size_t m, std::size_t n) {
  constexpr std::size_t kNarrow = 8;
  const std::size_t rows = (m + tile.rows - 1) / tile.rows, columns = (n + tile.columns - 1) / tile.columns;
  const bool is_tall = tile.rows * tile.cluster_rows > tile.columns * tile.cluster_columns;
  const bool is_narrow = columns <= kNarrow && rows >= 2 * columns;
  return is_tall && 2 * rows > columns && !is_narrow ? BlockLines::rows : BlockLines::columns;
}

/// Clusters take blocks of D, so many at once as the device has room for, and of those that whole rounds leave over k
/// is divided. The workspace has room for a sum of each of their parts, and of no tile where k is whole. (Measured: of
/// 6,086 algorithms of ALGO_ID 43 for 891 products on an H100, 3,638 divide k, and all as this says.)
void divide_as_needed(const CublasLtConfiguration& of, GemmPlan& plan) {
  const auto tile = cublaslt_tile(of.tile, of.cluster);
  if (!tile) refuse(of, "a cublasLtMatmulTile_t and a cublasLtClusterShape_t that name a shape");
  if (of.m == 0 || of.n == 0 || of.clusters_at_once < 1) refuse(of, "m, n and clusters_at_once of 1 or more");
  const std::size_t sums = of.workspace / (std::size_t{tile->rows} * tile->columns * sizeof(float));
  if (sums == 0) return;

  Tail tail;
  tail.rows = std::size_t{tile->rows} * tile->cluster_rows;
  tail.columns = std::size_t{tile->columns} * tile->cluster_columns;
  const std::size_t rows = (of.m + tail.rows - 1) / tail.rows, columns = (of.n + tail.columns - 1) / tail.columns;
  tail.blocks = rows * columns % static_cast<std::size_t>(of.clusters_at_once);
  const std::size_t tiles_left = tail.blocks * tile->cluster_rows * tile->cluster_columns;
  if (tiles_left == 0 || sums % tiles_left != 0 || sums == tiles_left) {
    refuse(of, fmt::format("a workspace for two parts or more of the {} tiles that {} clusters at once leave over",
                           tiles_left, of.clusters_at_once));
  }
  SplitK& split = plan.split_k.emplace();
  split.count = sums / tiles_left;
  plan.k_tile = tile_of(of);
  if (tail.blocks < rows * columns) {
    if (of.swizzle != 0) refuse(of, "swizzle 0 where blocks of D are left over");
    tail.lines = lines_of(*tile, of.m, of.n);
    split.tail = tail;
  }
  // Many long parts of all of D are added by a kernel of its own, one after the other.
  constexpr std::size_t kMostInPairs = 8, kLeastTiles = 33;
  const std::size_t tiles_of_k = (of.k + *plan.k_tile - 1) / *plan.k_tile;
  const bool has_own_kernel = !split.tail && split.count > kMostInPairs && tiles_of_k >= kLeastTiles * split.count;
  split.order = has_own_kernel ? PartOrder::descending : PartOrder::pairs;
}

/// divide_as_needed() of what the library solves: where A alone has k outermost, the product turned, B's rows by A's
/// columns. (Measured: ALGO_ID 43.)
void divide_as_solved(CublasLtConfiguration of, GemmPlan& plan) {
  const bool is_turned = of.a_k_outermost && !of.b_k_outermost;
  if (is_turned) std::swap(of.m, of.n);
  divide_as_needed(of, plan);
  if (!is_turned || !plan.split_k || !plan.split_k->tail) return;
  Tail& tail = *plan.split_k->tail;
  std::swap(tail.rows, tail.columns);
  tail.lines = tail.lines == BlockLines::rows ? BlockLines::columns : BlockLines::rows;
}

// --- Epilogues. (Measured on an H100, cuBLASLt 13.1.0; what vectors/sm_90/gemm_epilogues*.json have of them is
// --- recorded.)

/// alpha · sum + RN(beta · C) in one FMA, or beta · C + RN(alpha · sum), or RN(alpha · sum) + RN(beta · C).
constexpr Epilogue kAlphaFused = {AlphaPlace::fused, BetaPlace::rounded},
                   kBetaFused = {AlphaPlace::first, BetaPlace::fused},
                   kAllRounded = {AlphaPlace::first, BetaPlace::rounded};

Epilogue with_bias(Epilogue epilogue, BiasPlace bias) {
  epilogue.bias = bias;
  return epilogue;
}

/// What one kernel of CUTLASS 2 does with what it adds up.
Epilogue epilogue_of_cutlass2(const CublasLtConfiguration& of) {
  constexpr int kTf32 = 21, kNarrow = 23, kBf16 = 24;
  const bool fuses_alpha = of.id == kTf32 || (of.id == kNarrow && format(of.d).storage_bits <= 16) ||
                           (of.id == kBf16 && of.d == FormatId::bf16);
  return with_bias(fuses_alpha ? kAlphaFused : kBetaFused, BiasPlace::as_c);
}

/// What one of CUTLASS 3 does. None: of ALGO_ID 42 and bf16 nobody has measured it.
std::optional<Epilogue> epilogue_of_cutlass3(const CublasLtConfiguration& of) {
  const Epilogue wide = with_bias(kAlphaFused, BiasPlace::as_c);
  if (of.id != kHalves || of.d == FormatId::fp32) return wide;
  return of.d == FormatId::fp16 ? std::optional(kAlphaFused) : std::nullopt;
}

/// Of a few vectors, which are an operand that takes alpha, and a matrix.
Epilogue epilogue_of_vectors(const CublasLtConfiguration& of) {
  Epilogue epilogue = kBetaFused;
  epilogue.alpha = is_a_matrix(of) ? AlphaPlace::on_b : AlphaPlace::on_a;
  return epilogue;
}

/// None: nobody has measured it.
std::optional<Epilogue> epilogue_of(const CublasLtConfiguration& of, Finish finish) {
  if (of.d == FormatId::s32) return Epilogue{.type = FormatId::s32};
  if (!format(of.a).floating) return kAlphaFused;
  const bool is_divided = of.split_k != 1;
  const Epilogue of_parts = with_bias(kBetaFused, BiasPlace::on_result);  // whose total another kernel adds up
  switch (finish) {
    case Finish::few_columns:
      return epilogue_of_vectors(of);
    case Finish::vectors:
      if (of.split_k > 1) return of_parts;
      return is_of_threads(of.custom) ? kAlphaFused : epilogue_of_vectors(of);
    case Finish::blocks:
      return kAlphaFused;
    case Finish::octets:  // to beta · C, which D holds by then
      return of.split_k == 1 ? std::optional(kAllRounded) : std::nullopt;
    case Finish::narrow:
      return kBetaFused;
    case Finish::cutlass2: {
      constexpr int kUnproven = 21;
      if (!is_divided) return epilogue_of_cutlass2(of);
      if (of.reduction != kInPlace) return of_parts;
      return of.id == kUnproven ? std::nullopt : std::optional(epilogue_of_cutlass2(of));
    }
    case Finish::cutlass3:
      return epilogue_of_cutlass3(of);
    case Finish::nvjet:
      if (is_divided) return kBetaFused;
      return of.adds_to_d ? Epilogue{AlphaPlace::first, BetaPlace::on_result} : kAlphaFused;
    case Finish::unknown:
      break;
  }
  return std::nullopt;
}

void add_epilogue(const CublasLtConfiguration& of, Finish finish, GemmPlan& plan) {
  const std::optional<Epilogue> epilogue = epilogue_of(of, finish);
  if (!epilogue && of.has_epilogue) refuse(of, "no alpha, C or bias, or another algorithm");
  plan.epilogue = epilogue.value_or(Epilogue{});
  const bool adds_in_place = plan.split_k && of.split_k > 1 && of.reduction == kInPlace;
  if (epilogue && finish == Finish::cutlass2 && adds_in_place) plan.split_k->epilogue = EpilogueOf::parts;
  if (finish == Finish::nvjet && is_fp8(of)) plan.scales = ScaleOrder::in_alpha;
}

void go_through_tiles(const CublasLtConfiguration& of, const Algorithm& algorithm, GemmPlan& plan) {
  if (of.split_k < 1 && of.split_k != kAsNeeded) refuse(of, fmt::format("split_k of 1 or more, or {}", kAsNeeded));
  if (of.a == FormatId::fp32 || of.b == FormatId::fp32) {
    if (algorithm.fp32 == Fp32::unknown) refuse(of, "operands of tf32");
    if (algorithm.fp32 == Fp32::to_tf32) plan.convert_a = plan.convert_b = Rounding::nearest_even;
  }
  if (is_fp8(of) && !of.fast_accumulation) plan.promote_every = 128;
  plan.residue = algorithm.residue;
  if (plan.residue == Residue::first) plan.k_tile = is_unaligned(of) ? kUnalignedTile : tile_of(of);
  if (of.split_k == kAsNeeded) {
    divide_as_solved(of, plan);
  } else if (of.split_k > 1) {
    if (algorithm.cut == Cut::by_turns)
      take_turns(of, plan);
    else
      plan.split_k = split_of(of, algorithm.cut);
  }
}

GemmPlan plan_for(const CublasLtConfiguration& of, std::string instruction) {
  if (of.k == 0) refuse(of, "k of 1 or more");
  GemmPlan plan;
  plan.arch = "sm_90";
  plan.instruction = std::move(instruction);
  plan.output = of.d;
  return plan;
}

/// Kernels for a k of 1.
bool is_single_product(const CublasLtConfiguration& of) {
  constexpr int kNoStages = 0;
  return of.id == kSingleProducts && of.stages == kNoStages && of.k == 1 && of.a == of.b && !fma_of(of.a).empty();
}
GemmPlan plan_of_single_products(const CublasLtConfiguration& of, const Algorithm& algorithm) {
  GemmPlan plan = plan_for(of, std::string(fma_of(of.a)));
  add_epilogue(of, algorithm.finish, plan);
  return plan;
}

/// Their sums are the same in any order, whatever the algorithm.
GemmPlan plan_of_integers(const CublasLtConfiguration& of) {
  GemmPlan plan = plan_for(of, instruction_for(of));
  add_epilogue(of, Finish::unknown, plan);
  return plan;
}

}  // namespace

GemmPlan cublaslt_plan(const CublasLtConfiguration& of) {
  if (!format(of.a).floating) return plan_of_integers(of);
  const Algorithm& algorithm = algorithm_of(of);
  if (is_single_product(of)) return plan_of_single_products(of, algorithm);
  const bool takes_fp64 = algorithm.kernels == kFp64 || algorithm.cut == Cut::threads;
  if (of.a == FormatId::fp64 ? !takes_fp64 : algorithm.kernels == kFp64)
    refuse(of, fmt::format("formats that {} kernels take", algorithm.kernels));
  const bool of_fmas = algorithm.fp32 == Fp32::fmas;
  GemmPlan plan = plan_for(of, of_fmas ? std::string(fma_for(of, algorithm)) : instruction_for(of));
  if (algorithm.cut == Cut::threads) {
    plan = left_to_threads(of, plan);
  } else if (algorithm.cut == Cut::octets) {
    parts_of_octets(of, plan);
  } else if (algorithm.cut == Cut::none) {
    if (of.split_k != 1) refuse(of, "split_k 1");
  } else {
    go_through_tiles(of, algorithm, plan);
  }
  add_epilogue(of, algorithm.finish, plan);
  validate(plan, kWhere);
  return plan;
}

}  // namespace tcnum
