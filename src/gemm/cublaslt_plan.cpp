#include "tcnum/cublaslt.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "emu/format_set.hpp"
#include "performer.hpp"
#include "tcnum/instruction.hpp"
#include "walk.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kWhere = "cublaslt";

constexpr std::string_view kFp64 = "fp64", kVectorFormats = "fp16, bf16, fp32 or fp64";
constexpr int kAsNeeded = -1;  ///< SPLITK_NUM of kernels that divide k as the device has room

/// How k is cut where there are several parts.
enum class Cut : std::uint8_t {
  tiles,     ///< contiguous parts of whole tiles
  cutlass2,  ///< as cutlass2_chunk() says
  by_turns,  ///< a tile for each part, again and again
  threads,   ///< k is left to threads, and what they take is cut as their kernel does
  octets,    ///< as parts_of_octets() says
};

/// Ids of kernels that leave k to threads.
constexpr int kFewColumns = 11, kVectors = 13, kBlocks = 14;

/// Id of kernels of FMAs that add up sums of 512 products, or parts of whole eights.
constexpr int kOctets = 10;

/// What becomes of operands of fp32.
enum class Fp32 : std::uint8_t {
  unknown,  ///< nobody has measured it
  to_tf32,  ///< they are rounded, to nearest even
  fmas,     ///< they are multiplied and added as they are, by no tensor core; such kernels take nothing else
};

/// What becomes of sums, by kernels that do it alike: epilogue_of().
enum class Finish : std::uint8_t { unknown, few_columns, vectors, blocks, cutlass2, cutlass3, nvjet };

/// Of one id.
struct Algorithm {
  int id;
  std::string_view kernels;
  Residue residue;
  Cut cut;
  Finish finish = Finish::unknown;
  Fp32 fp32 = Fp32::unknown;
};
constexpr std::array<Algorithm, 20> kAlgorithms = {{
    {kOctets, "fp32", Residue::last, Cut::octets, Finish::unknown, Fp32::fmas},
    {kFewColumns, kVectorFormats, Residue::last, Cut::threads, Finish::few_columns, Fp32::fmas},
    {12, "CUTLASS 2", Residue::first, Cut::cutlass2, Finish::unknown, Fp32::to_tf32},
    {kVectors, kVectorFormats, Residue::last, Cut::threads, Finish::vectors, Fp32::fmas},
    {kBlocks, kVectorFormats, Residue::last, Cut::threads, Finish::blocks, Fp32::fmas},
    {20, "CUTLASS 2", Residue::first, Cut::cutlass2, Finish::cutlass2, Fp32::fmas},
    {21, "CUTLASS 2", Residue::first, Cut::cutlass2, Finish::cutlass2, Fp32::to_tf32},
    {22, kFp64, Residue::first, Cut::cutlass2, Finish::cutlass2},
    {23, "CUTLASS 2", Residue::first, Cut::cutlass2, Finish::cutlass2, Fp32::to_tf32},
    {24, "CUTLASS 2", Residue::first, Cut::cutlass2, Finish::cutlass2, Fp32::to_tf32},
    {35, kFp64, Residue::last, Cut::by_turns, Finish::cutlass3},
    {36, kFp64, Residue::last, Cut::by_turns, Finish::cutlass3},
    {39, "CUTLASS 3", Residue::last, Cut::tiles},
    {41, "CUTLASS 3", Residue::last, Cut::tiles},
    {42, "CUTLASS 3", Residue::last, Cut::tiles},
    {43, "CUTLASS 3", Residue::last, Cut::tiles, Finish::cutlass3, Fp32::to_tf32},
    {55, "fp32", Residue::last, Cut::by_turns, Finish::cutlass3, Fp32::fmas},
    {63, "CUTLASS 3", Residue::last, Cut::by_turns, Finish::cutlass3, Fp32::to_tf32},
    {66, "nvjet", Residue::last, Cut::tiles, Finish::nvjet},
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
std::size_t tile_of(int stages) {
  for (const Stages& each : kStages) {
    if (each.first <= stages && stages <= each.last) return each.tile;
  }
  throw InputError(fmt::format("{}: stages is {}; right would be a cublasLtMatmulStages_t, 1 to 38", kWhere, stages));
}

const Algorithm& algorithm_of(int id) {
  const auto found = std::ranges::find(kAlgorithms, id, &Algorithm::id);
  if (found != kAlgorithms.end()) return *found;
  std::string known;
  for (const Algorithm& each : kAlgorithms)
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", each.id, each.kernels);
  throw InputError(fmt::format("{}: id is {}, of which nobody has said what it adds in which order; right would be {}",
                               kWhere, id, known));
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
  throw InputError(fmt::format("{}: a is {} and b is {}; right would be formats that wgmma takes together", kWhere,
                               format(a).name, format(b).name));
}

constexpr int kInPlace = 1, kComputeType = 2, kOutputType = 4;  // cublasLtReductionScheme_t

/// PTX's instruction that multiplies and adds such numbers as they are.
std::string_view fma_for(const CublasLtConfiguration& of, const Algorithm& algorithm) {
  const bool takes = algorithm.cut == Cut::threads || of.a == FormatId::fp32;
  if (const std::string_view fma = fma_of(of.a); takes && of.a == of.b && !fma.empty()) return fma;
  throw InputError(fmt::format("{}: a is {} and b is {}, and id {} multiplies {} as it is; right would be both of {}",
                               kWhere, format(of.a).name, format(of.b).name, of.id, algorithm.kernels,
                               algorithm.kernels));
}

SplitK split_of(const CublasLtConfiguration& of, Cut cut) {
  const auto parts = static_cast<std::size_t>(of.split_k);
  SplitK split;
  if (of.a == FormatId::fp64) split.type = split.parts = FormatId::fp64;
  if (cut == Cut::cutlass2) {
    split.chunk = cutlass2_chunk(of.k, parts, of.a, !of.a_k_outermost || !of.b_k_outermost);
  } else {
    const std::size_t tile = tile_of(of.stages), tiles = (of.k + tile - 1) / tile;
    split.chunk = (tiles + parts - 1) / parts * tile;
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
      throw InputError(fmt::format("{}: reduction is {} with split_k {}; right would be 1, 2 or 4", kWhere,
                                   of.reduction, of.split_k));
  }
  return split;
}

/// Sums of 512 products where k is whole, else parts of as many products as go into k so often, rounded up to eights.
/// (Measured: eleven pairs of k and SPLITK_NUM.)
void parts_of_octets(const CublasLtConfiguration& of, GemmPlan& plan) {
  constexpr int kWhole = 0;
  constexpr std::size_t kPromoteEvery = 512, kUnit = 8;
  if (of.split_k == kWhole) {
    plan.promote_every = kPromoteEvery;
  } else if (of.split_k > 1 && of.reduction == kInPlace) {
    const std::size_t products = of.k / static_cast<std::size_t>(of.split_k);
    plan.split_k = SplitK{.chunk = std::max<std::size_t>(1, (products + kUnit - 1) / kUnit) * kUnit};
  } else {
    throw InputError(
        fmt::format("{}: split_k is {} with id {} and reduction {}; right would be {}, or 2 or more with reduction {}",
                    kWhere, of.split_k, of.id, of.reduction, kWhole, kInPlace));
  }
}

void take_turns(const CublasLtConfiguration& of, GemmPlan& plan) {
  constexpr int kAscending = 0, kFolded = 1, kAscendingToo = 2, kMeasuredOf = 36;
  if (of.split_k > kMostSlices)
    throw InputError(fmt::format("{}: split_k is {}; right would be 1 to {}", kWhere, of.split_k, kMostSlices));
  const bool is_known = of.custom == kAscending || of.custom == kFolded ||
                        (of.custom == kAscendingToo && of.id == kMeasuredOf) || of.split_k <= 2;
  if (!is_known) {
    throw InputError(
        fmt::format("{}: custom is {} with id {} and split_k {}, of which nobody has said what it adds in which order; "
                    "right would be {} or {}",
                    kWhere, of.custom, of.id, of.split_k, kAscending, kFolded));
  }
  plan.slices = of.split_k;
  plan.slices_order = of.custom == kFolded ? SliceOrder::folded : SliceOrder::ascending;
  plan.k_tile = tile_of(of.stages) * static_cast<std::size_t>(of.split_k);
}

/// Kernels of products of a vector, by CUSTOM_OPTION: threads, and how many products each takes at a time.
constexpr int kStretch = 0;  ///< as stretch_of_thread() says
struct Threads {
  int custom, count, at_a_time;
  FormatSet measured;                                            ///< of operands
  std::size_t most_k = std::numeric_limits<std::size_t>::max();  ///< of a part: more was not measured
};
constexpr FormatSet kOf16{FormatId::fp16, FormatId::bf16}, kOf32{FormatId::fp32}, kOf64{FormatId::fp64},
    kOf16And32{FormatId::fp16, FormatId::bf16, FormatId::fp32}, kOf32And64{FormatId::fp32, FormatId::fp64},
    kOf16And64{FormatId::fp16, FormatId::bf16, FormatId::fp64},
    kOfAll{FormatId::fp16, FormatId::bf16, FormatId::fp32, FormatId::fp64};
constexpr std::array<Threads, 46> kThreads = {{
    {10, 32, 4, kOf16},
    {10, 32, 4, kOf32And64, 128},
    {33, 8, 1, kOf64},
    {43, 8, 1, kOf64},
    {50, 4, kStretch, kOf16},
    {51, 4, 1, kOf16And64},
    {67, 8, 1, kOf16And64},
    {70, 8, kStretch, kOf32},
    {71, 8, 1, kOf64},
    {72, 16, kStretch, kOfAll},
    {73, 16, 1, kOfAll},
    {74, 32, kStretch, kOfAll},
    {75, 32, 1, kOfAll},
    {77, 4, 1, kOf32},
    {78, 8, kStretch, kOfAll},
    {80, 16, kStretch, kOfAll},
    {81, 16, 1, kOfAll},
    {82, 32, kStretch, kOfAll},
    {83, 32, 1, kOfAll},
    {85, 2, 1, kOf32},
    {86, 4, kStretch, kOf64},
    {87, 4, 1, kOf64},
    {88, 8, kStretch, kOf16And64},
    {89, 8, 1, kOf32And64},
    {90, 16, kStretch, kOf16And64},
    {91, 16, 1, kOf64},
    {92, 32, kStretch, kOfAll},
    {93, 32, 1, kOfAll},
    {94, 2, kStretch, kOf32},
    {95, 2, 1, kOf32},
    {96, 4, kStretch, kOf16And64},
    {97, 4, 1, kOf32},
    {98, 8, kStretch, kOf32And64},
    {100, 16, kStretch, kOfAll},
    {101, 16, 1, kOfAll},
    {102, 2, kStretch, kOf16And32},
    {103, 2, 1, kOfAll},
    {106, 8, kStretch, kOfAll},
    {107, 8, 1, kOf16},
    {108, 2, kStretch, kOf64},
    {110, 4, kStretch, kOfAll},
    {111, 4, 1, kOfAll},
    {112, 8, kStretch, kOf32And64},
    {113, 8, 1, kOf64},
    {114, 4, kStretch, kOf64},
    {115, 4, 1, kOf32},
}};
/// Likewise of sixteen threads, whose sums are added in turn: after so many products a thread begins a new sum.
struct Sixteen {
  int custom;
  std::size_t promote_every;
};
constexpr std::array<Sixteen, 3> kSixteen = {{{11, 32}, {12, 16}, {14, 16}}};

const Sixteen* sixteen_of(int custom) {
  const auto found = std::ranges::find(kSixteen, custom, &Sixteen::custom);
  return found == kSixteen.end() ? nullptr : &*found;
}

/// Of a matrix and a few vectors, whether the matrix has k side by side.
bool matrix_has_k_innermost(const CublasLtConfiguration& of) {
  return !(of.n <= of.m ? of.a_k_outermost : of.b_k_outermost);
}

/// Kernels of a matrix and of a few vectors, by how the matrix lies.
GemmPlan on_few_columns(const CublasLtConfiguration& of, const GemmPlan& plan) {
  constexpr std::size_t kPromoteEvery = 16;
  if (matrix_has_k_innermost(of)) return in_turn_on_sixteen(plan, kPromoteEvery);
  constexpr int kOfTwo = 0, kOfFour = 1;
  if (of.custom == kOfTwo || of.custom == kOfFour)
    return in_parts_on_threads(plan, of.k, of.custom == kOfTwo ? 2 : 4, of.a);
  throw InputError(
      fmt::format("{}: custom is {} with id {} and a matrix whose k is outermost, of which nobody has said what it "
                  "adds in which order; right would be {} or {}",
                  kWhere, of.custom, of.id, kOfTwo, kOfFour));
}

GemmPlan left_to_threads(const CublasLtConfiguration& of, GemmPlan plan) {
  const auto parts = static_cast<std::size_t>(std::max(of.split_k, 1));
  if (parts > 1 && (of.reduction != kComputeType || of.id == kFewColumns)) {
    throw InputError(
        fmt::format("{}: reduction is {} with split_k {} and id {}; right would be {} with id {} or {}, or "
                    "split_k 1: nobody has measured others",
                    kWhere, of.reduction, of.split_k, of.id, kComputeType, kVectors, kBlocks));
  }
  if (of.id == kBlocks) {
    GemmPlan on = in_turn_on_blocks(plan, parts, of.a, matrix_has_k_innermost(of));
    constexpr std::size_t kMostParts = 128;
    const std::size_t turns = (of.k + *on.k_tile - 1) / *on.k_tile;
    if (std::min(parts, turns) > kMostParts) {
      throw InputError(
          fmt::format("{}: split_k is {} with id {} and k {}; right would be at most {}: nobody has said how "
                      "more parts are added",
                      kWhere, of.split_k, of.id, of.k, kMostParts));
    }
    return on;
  }
  if (parts > 1) plan.split_k = in_parts_of(of.k, parts, of.a);
  const std::size_t of_part = plan.split_k ? plan.split_k->chunk : of.k;
  if (of.id == kFewColumns) return on_few_columns(of, plan);
  const auto is_threads = [&](const Threads& each) {
    return each.custom == of.custom && each.measured.contains(of.a) && of_part <= each.most_k;
  };
  if (const Sixteen* const found = sixteen_of(of.custom)) return in_turn_on_sixteen(plan, found->promote_every);
  if (const auto found = std::ranges::find_if(kThreads, is_threads); found != kThreads.end()) {
    const std::size_t at_a_time = found->at_a_time == kStretch ? stretch_of_thread(of_part, found->count, of.a)
                                                               : static_cast<std::size_t>(found->at_a_time);
    return on_threads(plan, found->count, at_a_time);
  }
  std::vector<int> known;
  for (const Sixteen& each : kSixteen) known.push_back(each.custom);
  for (const Threads& each : kThreads) {
    if (each.measured.contains(of.a) && of_part <= each.most_k) known.push_back(each.custom);
  }
  std::ranges::sort(known);
  throw InputError(
      fmt::format("{}: custom is {} with id {} and {}, of which nobody has said what it adds in which order; right "
                  "would be one of {}",
                  kWhere, of.custom, of.id, format(of.a).name, fmt::join(known, ", ")));
}

[[noreturn]] void fail(std::string_view field, std::size_t value, std::string_view right) {
  throw InputError(
      fmt::format("{}: {} is {} with split_k {}; right would be {}", kWhere, field, value, kAsNeeded, right));
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
  if (!tile) {
    throw InputError(
        fmt::format("{}: tile is {} and cluster {} with split_k {}; right would be a cublasLtMatmulTile_t and a "
                    "cublasLtClusterShape_t that name a shape",
                    kWhere, of.tile, of.cluster, kAsNeeded));
  }
  if (of.m == 0 || of.n == 0) fail("m or n", 0, "1 or more");
  if (of.clusters_at_once < 1) fail("clusters_at_once", 0, "1 or more");
  const std::size_t sums = of.workspace / (std::size_t{tile->rows} * tile->columns * sizeof(float));
  if (sums == 0) return;

  Tail tail;
  tail.rows = std::size_t{tile->rows} * tile->cluster_rows;
  tail.columns = std::size_t{tile->columns} * tile->cluster_columns;
  const std::size_t rows = (of.m + tail.rows - 1) / tail.rows, columns = (of.n + tail.columns - 1) / tail.columns;
  tail.blocks = rows * columns % static_cast<std::size_t>(of.clusters_at_once);
  const std::size_t tiles_left = tail.blocks * tile->cluster_rows * tile->cluster_columns;
  if (tiles_left == 0 || sums % tiles_left != 0 || sums == tiles_left) {
    fail("workspace", of.workspace,
         fmt::format("one for two parts or more of the {} tiles that {} clusters at once leave over", tiles_left,
                     of.clusters_at_once));
  }
  SplitK& split = plan.split_k.emplace();
  split.count = sums / tiles_left;
  plan.k_tile = tile_of(of.stages);
  if (tail.blocks < rows * columns) {
    if (of.swizzle != 0) fail("swizzle", static_cast<std::size_t>(of.swizzle), "0 where blocks of D are left over");
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

/// alpha · sum + RN(beta · C) in one FMA, or beta · C + RN(alpha · sum).
constexpr Epilogue kAlphaFused = {AlphaPlace::fused, BetaPlace::rounded},
                   kBetaFused = {AlphaPlace::first, BetaPlace::fused};

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

/// Of a few vectors, which are an operand that takes alpha, and a matrix.
Epilogue epilogue_of_vectors(const CublasLtConfiguration& of) {
  Epilogue epilogue = kBetaFused;
  epilogue.alpha = of.m < of.n ? AlphaPlace::on_a : AlphaPlace::on_b;
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
      return sixteen_of(of.custom) != nullptr ? epilogue_of_vectors(of) : kAlphaFused;
    case Finish::blocks:
      return kAlphaFused;
    case Finish::cutlass2: {
      constexpr int kUnproven = 21;
      if (!is_divided) return epilogue_of_cutlass2(of);
      if (of.reduction != kInPlace) return of_parts;
      return of.id == kUnproven ? std::nullopt : std::optional(epilogue_of_cutlass2(of));
    }
    case Finish::cutlass3:
      return with_bias(kAlphaFused, BiasPlace::as_c);
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
  if (!epilogue && of.has_epilogue) {
    throw InputError(
        fmt::format("{}: id is {} with split_k {} and reduction {}, and nobody has said what its kernels do with "
                    "alpha, C and a bias; right would be none of them, or another algorithm",
                    kWhere, of.id, of.split_k, of.reduction));
  }
  plan.epilogue = epilogue.value_or(Epilogue{});
  const bool adds_in_place = plan.split_k && of.split_k > 1 && of.reduction == kInPlace;
  if (epilogue && finish == Finish::cutlass2 && adds_in_place) plan.split_k->epilogue = EpilogueOf::parts;
  if (finish == Finish::nvjet && is_fp8(of)) plan.scales = ScaleOrder::in_alpha;
}

void go_through_tiles(const CublasLtConfiguration& of, const Algorithm& algorithm, GemmPlan& plan) {
  if (of.split_k < 1 && of.split_k != kAsNeeded) {
    throw InputError(fmt::format("{}: split_k is {}; right would be 1 or more, or {}", kWhere, of.split_k, kAsNeeded));
  }
  if (of.a == FormatId::fp32 || of.b == FormatId::fp32) {
    if (algorithm.fp32 == Fp32::unknown) {
      throw InputError(
          fmt::format("{}: an operand is fp32, and what kernels of id {} make of it has not been "
                      "measured; right would be tf32",
                      kWhere, of.id));
    }
    if (algorithm.fp32 == Fp32::to_tf32) plan.convert_a = plan.convert_b = Rounding::nearest_even;
  }
  if (is_fp8(of) && !of.fast_accumulation) plan.promote_every = 128;
  plan.residue = algorithm.residue;
  if (plan.residue == Residue::first) plan.k_tile = is_unaligned(of) ? kUnalignedTile : tile_of(of.stages);
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
  if (of.k == 0) throw InputError(fmt::format("{}: k is 0; right would be 1 or more", kWhere));
  GemmPlan plan;
  plan.arch = "sm_90";
  plan.instruction = std::move(instruction);
  plan.output = of.d;
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
  const Algorithm& algorithm = algorithm_of(of.id);
  const bool takes_fp64 = algorithm.kernels == kFp64 || algorithm.cut == Cut::threads;
  if (of.a == FormatId::fp64 ? !takes_fp64 : algorithm.kernels == kFp64) {
    throw InputError(fmt::format("{}: a is {}, and id {} is of {} kernels; right would be what goes together", kWhere,
                                 format(of.a).name, of.id, algorithm.kernels));
  }
  const bool of_fmas = algorithm.fp32 == Fp32::fmas;
  GemmPlan plan = plan_for(of, of_fmas ? std::string(fma_for(of, algorithm)) : instruction_for(of));
  if (algorithm.cut == Cut::threads) {
    plan = left_to_threads(of, plan);
  } else if (algorithm.cut == Cut::octets) {
    parts_of_octets(of, plan);
  } else {
    go_through_tiles(of, algorithm, plan);
  }
  add_epilogue(of, algorithm.finish, plan);
  validate(plan, kWhere);
  return plan;
}

}  // namespace tcnum
