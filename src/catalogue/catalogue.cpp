// The catalogue as rows: a row says what the instructions of one kind have in common.
#include "tcnum/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "description.hpp"
#include "emu/format_set.hpp"

namespace tcnum {
namespace {

using enum ArchId;
using enum FormatId;
using enum Rounding;
using enum UnderflowSign;

struct Kinds {
  std::uint32_t bits = 0;
  constexpr Kinds(std::initializer_list<InstructionKind> kinds) {
    for (InstructionKind kind : kinds) bits |= 1u << static_cast<unsigned>(kind);
  }
  constexpr bool contains(InstructionKind kind) const { return (bits >> static_cast<unsigned>(kind)) & 1u; }
};
constexpr Kinds kMma{InstructionKind::mma}, kWmma{InstructionKind::wmma}, kWgmma{InstructionKind::wgmma};
constexpr Kinds kMmaWmma{InstructionKind::mma, InstructionKind::wmma};
constexpr Kinds kMmaWgmma{InstructionKind::mma, InstructionKind::wgmma};
constexpr Kinds kAny{InstructionKind::mma, InstructionKind::wmma, InstructionKind::wgmma};
constexpr Kinds kTcgen05{InstructionKind::tcgen05}, kMmaTcgen05{InstructionKind::mma, InstructionKind::tcgen05};
constexpr Kinds kWarps{InstructionKind::mma, InstructionKind::wmma, InstructionKind::tcgen05},
    kMfma{InstructionKind::mfma};

/// Whether a row speaks of mma of Volta's shape, of all others, or of both.
enum class VoltaShape : std::uint8_t { no, only, too };

/// Which instructions a row speaks of.
struct Match {
  ArchSet archs;
  Kinds kinds;
  FormatSet inputs;  ///< of a and b
  FormatId result;
  Modifier modifier = Modifier::none;
  VoltaShape volta = VoltaShape::no;
  std::optional<FormatId> c = {};  ///< if it is not the result's
  ScaleKind scales = ScaleKind::none;
  std::optional<int> k = {};          ///< of them with that k
  std::optional<int> per_lane = {};   ///< of AMD's, those of which a lane has so many elements of A
  std::optional<FormatId> some = {};  ///< of them, those with a or b of that
};
constexpr Match scaled(ScaleKind scales, Match match) {
  match.scales = scales;
  return match;
}
constexpr Match of_k(int k, Match match) {
  match.k = k;
  return match;
}
constexpr Match with_some(FormatId id, Match match) {
  match.some = id;
  return match;
}
constexpr Match per_lane(int elements, Match match) {
  match.per_lane = elements;
  return match;
}

/// Who says so. What was fitted here holds for the sparse instructions too, whose products are those of their stored
/// elements; the accounts of others are of dense ones.
struct Account {
  std::string_view name, origin;
  bool fitted = false;
};
constexpr Account kFitted{"fitted", "", true};  // its origin is the instruction's vectors
constexpr Account kKhattak{"Khattak & Mikaitis",
                           "Khattak & Mikaitis, Accurate Models of NVIDIA Tensor Cores (doi 10.1145/3830409)"};
constexpr Account kHickmann{
    "Hickmann & Bradford",
    "Hickmann & Bradford, Experimental Analysis of Matrix Multiplication Functional Units (ARITH 2019)"};
constexpr Account kMmaSim{"MMA-Sim", "Xie et al., MMA-Sim (arXiv 2511.10909)"};
/// What the code does that goes with the paper, where it is not what the paper's algorithms say: the code is what its
/// authors compared with hardware.
constexpr Account kMmaSimCode{"MMA-Sim's code", "the code of Xie et al., MMA-Sim (arXiv 2511.10909)"};
constexpr Account kHawkeye{"Hawkeye", "Badash et al., Hawkeye (arXiv 2603.20421), and its code"};
/// What the instruction set alone decides: sums of integers are exact, and rounding has one meaning.
constexpr Account kPtx{"PTX ISA", "PTX ISA 9.0: integers wrap, or are clamped with .satfinite; how fp64 is rounded"};
constexpr Account kLlvm{"LLVM", "LLVM's instruction tables: v_mfma_i32 has no clamp, so that its sums wrap"};
/// ptxas 13.0 makes the same of an mma with 8-bit operands, of any of their formats, for sm_100 and sm_103 as for sm_90:
/// conversions to fp16, two HMMA and an add. Khattak and Mikaitis publish answers of a B200 with e5m2 operands, which
/// this explains and their own account does not.
constexpr Account kLowered{"lowered", "ptxas 13.0, which makes two HMMA of fp16 and an add of it, as for sm_90"};

struct Row {
  Match match;
  Account account;
  Description datapath;
  std::string_view refuted_by = {};  ///< answers, if any
  std::string_view lowered_to = {};  ///< CatalogueEntry
};

// Short for the descriptions of several rows.

/// A block of products and the accumulator, which is c or the block before.
constexpr BlockSums fused(int block_k, int fraction_bits, Rounding rounding, BlockDetails details = {}) {
  return {BlockShape::chain, block_k, fraction_bits, rounding, details};
}
/// Fused multiply-adds.
constexpr BlockSums fmas(Rounding rounding, BlockDetails details) {
  return {BlockShape::chain, 1, kExact, rounding, details};
}
constexpr BlockSums lowered(Rounding rounding) { return {BlockShape::fp16_halves_then_c, kAllProducts, 25, rounding}; }
constexpr std::string_view kHmma = "HMMA of fp16", kFfma = "FMAs of fp32";
constexpr BlockSums then_c(int block_k, int fraction_bits, Rounding rounding) {
  return {BlockShape::chain_then_c, block_k, fraction_bits, rounding};
}
constexpr BlockSums integers(Overflow overflow, ProductOperation product = ProductOperation::multiply) {
  return {.details = {.overflow = overflow, .product = product}};
}
/// Each block of 16 products times its scales is one term.
constexpr BlockSums scaled_blocks(int fraction_bits, BlockDetails details) {
  return {BlockShape::scaled_blocks_with_c, 16, fraction_bits, toward_zero, details};
}
constexpr BlockDetails kAmd{.overflow = Overflow::ieee, .nan = NanRule{.code = 0x7fc0'0000}};
constexpr BlockDetails kAmdFma{
    .zero_sign = ZeroSign::ieee, .overflow = Overflow::ieee, .nan = NanRule{.code = 0x7fc0'0000}};
constexpr BlockDetails kAmdFma64{
    .zero_sign = ZeroSign::ieee, .overflow = Overflow::ieee, .nan = NanRule{.code = 0x7ff8'0000'0000'0000}};
constexpr BlockSums pairwise(int block_k) { return {BlockShape::pairwise_onto_c, block_k, kExact, nearest_even, kAmd}; }
/// Sums of two products in fp32, added to c one after the other in fp32.
constexpr BlockSums kPairsOntoC{
    BlockShape::sums_onto_c, 2, kExact, nearest_even, {.intermediate_format = fp32, .zero_sign = ZeroSign::ieee}};
/// Of Hopper's fp64 units.
constexpr BlockDetails payload_of_b_c_a(Overflow overflow) {
  constexpr NanRule kRule{0xfff8'0000'0000'0000, true, {NanOperand::b, NanOperand::c, NanOperand::a}};
  return {.zero_sign = ZeroSign::ieee, .overflow = overflow, .nan = kRule};
}

constexpr VoltaShape kVolta = VoltaShape::only, kVoltaToo = VoltaShape::too;
constexpr Modifier kPlain = Modifier::none;
constexpr FormatSet kFp8{fp8e4m3, fp8e5m2}, kIntegers{s8, u8, s4, u4};
constexpr FormatSet kF8f6f4{fp8e4m3, fp8e5m2, fp6e3m2, fp6e2m3, fp4e2m1}, kFnuz{fp8e4m3fnuz, fp8e5m2fnuz};
constexpr ArchSet kHopper = archs({sm_90}), kVoltaArch = archs({sm_70}), kAda = archs({sm_89});
constexpr ArchSet kTuringToAda = archs({sm_75, sm_80, sm_86, sm_87, sm_89});
constexpr ArchSet kAmpereToAda = archs({sm_80, sm_86, sm_87, sm_89});
constexpr ArchSet kBlackwell = archs({sm_100, sm_103, sm_120}), kSm100 = archs({sm_100, sm_103}),
                  kSm120 = archs({sm_120});
constexpr ArchSet kNotHopper = archs({sm_75, sm_80, sm_86, sm_87, sm_89, sm_100, sm_103, sm_120, sm_121});
constexpr ArchSet kWithFp64 = archs({sm_80, sm_86, sm_87, sm_89, sm_100, sm_103, sm_120});
constexpr ArchSet kCdna1 = archs({gfx908}), kCdna2 = archs({gfx90a}), kCdna3 = archs({gfx942});
constexpr ArchSet kCdna = archs({gfx908, gfx90a, gfx942});

constexpr std::string_view kRecorded = "the answers recorded in vectors/sm_90";
constexpr std::string_view kV100 = "the V100's answers to mma.m8n8k4 in Khattak & Mikaitis, MATLAB-tensor-core";
constexpr std::string_view kB200 =
    "the B200's answers to mma.m16n8k32 with e5m2 in Khattak & Mikaitis, MATLAB-tensor-core";

// Of several rows of an instruction the one to believe comes first.
// clang-format off
constexpr auto kRows = std::to_array<Row>({
    // architectures   kinds      a             d, modifier, shape, c                 account    datapath, refuted by
    // --- sm_90: fitted to vectors/sm_90
    {{kHopper,         kAny,      {bf16},       fp32},                                kFitted,   fused(16, 25, toward_zero, {.zero_floor = -133, .underflow_sign = positive})},
    {{kHopper,         kMmaWgmma, {tf32},       fp32},                                kFitted,   fused(8, 25, toward_zero, {.zero_floor = -133, .underflow_sign = positive})},
    {{kHopper,         kWmma,     {tf32},       fp32},                                kFitted,   fused(4, 25, toward_zero, {.zero_floor = -133, .underflow_sign = positive})},
    {{kHopper,         kAny,      {fp16},       fp32},                                kFitted,   fused(16, 25, toward_zero)},
    {{kHopper,         kAny,      {fp16},       fp16},                                kFitted,   fused(16, 25, nearest_even, {.zero_floor = -21, .underflow_sign = positive})},
    {{kHopper,         kWmma,     {fp16},       fp32, kPlain, VoltaShape::no, fp16},  kFitted,   fused(16, 25, toward_zero, {.c_subnormals = SubnormalExponent::normalised})},
    {{kHopper,         kWmma,     {fp16},       fp16, kPlain, VoltaShape::no, fp32},  kFitted,   fused(16, 25, nearest_even, {.to_c_format_first = toward_zero})},
    // What ptxas makes of Volta's shape: fp32 arithmetic, without a tensor core.
    {{kHopper,         kMma,      {fp16},       fp32, kPlain, kVolta},                kFitted,   then_c(1, kExact, nearest_even), {}, kFfma},
    {{kHopper,         kMma,      {fp16},       fp32, kPlain, kVolta, fp16},          kFitted,   then_c(1, kExact, nearest_even), {}, kFfma},
    {{kHopper,         kMma,      {fp16},       fp16, kPlain, kVolta},                kFitted,   kPairsOntoC, {}, kFfma},
    {{kHopper,         kWgmma,    kFp8,         fp32},                                kFitted,   fused(32, 13, toward_zero, {.result_fraction_bits = 13})},
    {{kHopper,         kWgmma,    kFp8,         fp16},                                kFitted,   fused(32, 13, nearest_even, {.underflow_sign = positive})},
    {{kHopper,         kMma,      kFp8,         fp32},                                kFitted,   lowered(toward_zero), {}, kHmma},
    {{kHopper,         kMma,      kFp8,         fp16},                                kFitted,   lowered(nearest_even), {}, kHmma},
    {{kHopper,         kAny,      {fp64},       fp64},                                kFitted,   fmas(nearest_even, payload_of_b_c_a(Overflow::infinity))},
    {{kHopper,         kAny,      {fp64},       fp64, Modifier::toward_zero},         kFitted,   fmas(toward_zero, payload_of_b_c_a(Overflow::max_finite))},
    {{kHopper,         kAny,      {fp64},       fp64, Modifier::down},                kFitted,   fmas(down, payload_of_b_c_a(Overflow::ieee))},
    {{kHopper,         kAny,      {fp64},       fp64, Modifier::up},                  kFitted,   fmas(up, payload_of_b_c_a(Overflow::ieee))},
    {{kHopper,         kAny,      kIntegers,    s32},                                 kFitted,   integers(Overflow::wrap)},
    {{kHopper,         kAny,      kIntegers,    s32, Modifier::satfinite},            kFitted,   integers(Overflow::max_finite)},
    {{kHopper,         kAny,      {b1},         s32, Modifier::and_popc},             kFitted,   integers(Overflow::wrap)},
    {{kHopper,         kAny,      {b1},         s32, Modifier::xor_popc},             kFitted,   integers(Overflow::wrap, ProductOperation::exclusive_or)},

    // --- sm_90, published: what `tcnum list --works` holds against vectors/sm_90. Khattak and Mikaitis publish a model of
    // an H100 that names no instruction; its fp8 is wgmma's. Hawkeye asked with wmma, and with wgmma of e4m3. A floor
    // stands for the exponent of MMA-Sim's zero terms, too: only where c is zero are all terms below it. A negative sum
    // that is rounded to zero has the sign that their code gives it. What a work leaves out is as measured: the bits
    // of NaNs, Hawkeye's infinities, the payloads of MMA-Sim's fp64.
    {{kHopper,         kWmma,     {fp16},       fp32},                                kHawkeye,  fused(16, 25, toward_zero, {.zero_floor = -133, .underflow_sign = positive})},
    {{kHopper,         kWmma,     {bf16},       fp32},                                kHawkeye,  fused(16, 25, toward_zero, {.zero_floor = -133, .underflow_sign = positive})},
    {{kHopper,         kWgmma,    {fp8e4m3},    fp32},                                kHawkeye,  fused(32, 13, toward_zero, {.zero_floor = -139, .result_fraction_bits = 13, .underflow_sign = positive})},
    {{kHopper,         kMmaWgmma, {fp16},       fp32},                                kKhattak,  fused(16, 25, toward_zero, {.zero_floor = -133})},
    {{kHopper,         kWgmma,    kFp8,         fp32},                                kKhattak,  fused(32, 13, toward_zero, {.zero_floor = -133, .result_fraction_bits = 13})},
    {{kHopper,         kWgmma,    {fp8e4m3},    fp16},                                kKhattak,  fused(32, 13, nearest_even, {.zero_floor = -133})},
    {{kHopper,         kMmaWgmma, {fp16},       fp32},                                kMmaSim,   fused(16, 25, toward_zero, {.zero_floor = -133})},
    {{kHopper,         kWgmma,    kFp8,         fp32},                                kMmaSim,   fused(32, 13, toward_zero, {.zero_floor = -133, .result_fraction_bits = 13})},
    {{kHopper,         kWgmma,    {fp8e4m3},    fp16},                                kMmaSim,   fused(32, 13, nearest_even, {.zero_floor = -133})},
    {{kHopper,         kMma,      {fp64},       fp64},                                kMmaSim,   fmas(nearest_even, payload_of_b_c_a(Overflow::infinity))},
    {{kHopper,         kMmaWgmma, {bf16},       fp32},                                kKhattak,  fused(16, 25, toward_zero, {.zero_floor = -133}), kRecorded},
    {{kHopper,         kMmaWgmma, {tf32},       fp32},                                kKhattak,  fused(8, 25, toward_zero, {.zero_floor = -133}), kRecorded},
    {{kHopper,         kMmaWgmma, {fp16},       fp16},                                kKhattak,  fused(16, 25, nearest_even, {.zero_floor = -21}), kRecorded},
    {with_some(fp8e5m2, {kHopper, kWgmma, kFp8, fp16}),                               kKhattak,  fused(32, 13, nearest_even, {.zero_floor = -133}), kRecorded},
    {{kHopper,         kMmaWgmma, {bf16},       fp32},                                kMmaSim,   fused(16, 25, toward_zero, {.zero_floor = -133}), kRecorded},
    {{kHopper,         kMmaWgmma, {tf32},       fp32},                                kMmaSim,   fused(8, 25, toward_zero, {.zero_floor = -133}), kRecorded},
    {{kHopper,         kMma,      {fp16},       fp16},                                kMmaSim,   fused(16, 25, nearest_even, {.zero_floor = -22}), kRecorded},
    {{kHopper,         kWgmma,    {fp16},       fp16},                                kMmaSim,   fused(16, 25, nearest_even, {.zero_floor = -133}), kRecorded},
    {with_some(fp8e5m2, {kHopper, kWgmma, kFp8, fp16}),                               kMmaSim,   fused(32, 13, nearest_even, {.zero_floor = -133}), kRecorded},

    // --- Published. Khattak and Mikaitis asked with wmma. Where accounts differ in the floor of fp16 results, theirs
    // comes first: on sm_90, where all such accounts were measured, their kind was right by one.
    {{kVoltaArch,      kMmaWmma,  {fp16},       fp32, kPlain, kVoltaToo},             kKhattak,  fused(4, 23, toward_zero)},
    {{kVoltaArch,      kMma,      {fp16},       fp32, kPlain, kVoltaToo, fp16},       kMmaSim,   fused(4, 23, toward_zero)},
    {{kVoltaArch,      kMmaWmma,  {fp16},       fp16, kPlain, kVoltaToo},             kKhattak,  fused(4, 23, nearest_even, {.zero_floor = -19})},
    {{kVoltaArch,      kMmaWmma,  {fp16},       fp16, kPlain, kVoltaToo},             kMmaSim,   fused(4, 23, nearest_even, {.zero_floor = -20})},
    {{kVoltaArch,      kMma,      {fp16},       fp32, kPlain, kVoltaToo},             kHickmann, then_c(4, 23, toward_zero), kV100},
    {{kVoltaArch,      kMma,      {fp16},       fp16, kPlain, kVoltaToo},             kHickmann, then_c(4, 23, nearest_even), kV100},
    {{kTuringToAda,    kMmaWmma,  {fp16},       fp16},                                kKhattak,  fused(8, 24, nearest_even, {.zero_floor = -20})},
    {{kTuringToAda,    kMmaWmma,  {fp16},       fp16},                                kMmaSim,   fused(8, 24, nearest_even, {.zero_floor = -21})},
    {{kTuringToAda,    kMmaWmma,  {fp16},       fp32},                                kKhattak,  fused(8, 24, toward_zero, {.zero_floor = -132})},
    {{kAmpereToAda,    kMmaWmma,  {bf16},       fp32},                                kKhattak,  fused(8, 24, toward_zero, {.zero_floor = -132})},
    {{kAmpereToAda,    kMmaWmma,  {tf32},       fp32},                                kKhattak,  fused(4, 24, toward_zero, {.zero_floor = -132})},
    {{kAda,            kMma,      kFp8,         fp32},                                kKhattak,  fused(16, 13, toward_zero, {.result_fraction_bits = 13})},
    {{kAda,            kMma,      kFp8,         fp16},                                kKhattak,  fused(16, 13, nearest_even)},
    {{kBlackwell,      kMmaWmma,  {fp16, bf16}, fp32},                                kKhattak,  fused(16, 25, toward_zero, {.zero_floor = -133})},
    {{kBlackwell,      kMmaWmma,  {tf32},       fp32},                                kKhattak,  fused(8, 25, toward_zero, {.zero_floor = -133})},
    {{kBlackwell,      kMmaWmma,  {fp16},       fp16},                                kKhattak,  fused(16, 25, nearest_even, {.zero_floor = -21})},
    {{kBlackwell,      kMmaWmma,  {fp16},       fp16},                                kMmaSim,   fused(16, 25, nearest_even, {.zero_floor = -22})},
    // sm_100 has no machine instruction for mma with 8-bit operands, as sm_90 has none (its fp8 is tcgen05's). sm_120
    // has one, QMMA; nobody has published answers of it.
    {{kSm100,          kMma,      kFp8,         fp32},                                kLowered,  lowered(toward_zero), {}, kHmma},
    {{kSm100,          kMma,      kFp8,         fp16},                                kLowered,  lowered(nearest_even), {}, kHmma},
    {{archs({sm_100}), kMma,      kFp8,         fp32},                                kKhattak,  fused(32, 25, toward_zero), kB200},
    {{archs({sm_100}), kMma,      kFp8,         fp16},                                kKhattak,  fused(32, 25, nearest_even), kB200},
    {{kSm120,          kMma,      kFp8,         fp32},                                kKhattak,  fused(32, 25, toward_zero)},
    {{kSm120,          kMma,      kFp8,         fp16},                                kKhattak,  fused(32, 25, nearest_even)},
    {{kSm120,          kMma,      kF8f6f4,      fp32},                                kMmaSim,   fused(32, 25, toward_zero, {.zero_floor = -133})},
    {{kSm120,          kMma,      kF8f6f4,      fp16},                                kMmaSim,   fused(32, 25, nearest_even, {.zero_floor = -22})},
    {{kSm100,          kTcgen05,  {fp16, bf16}, fp32},                                kMmaSim,   fused(16, 25, toward_zero, {.zero_floor = -133})},
    {{kSm100,          kTcgen05,  {tf32},       fp32},                                kMmaSim,   fused(8, 25, toward_zero, {.zero_floor = -133})},
    {{kSm100,          kTcgen05,  {fp16},       fp16},                                kKhattak,  fused(16, 25, nearest_even, {.zero_floor = -21})},
    {{kSm100,          kTcgen05,  {fp16},       fp16},                                kMmaSim,   fused(16, 25, nearest_even, {.zero_floor = -133})},
    {{kSm100,          kTcgen05,  kF8f6f4,      fp32},                                kMmaSim,   fused(32, 25, toward_zero, {.zero_floor = -133})},
    {{kSm100,          kTcgen05,  kF8f6f4,      fp16},                                kMmaSim,   fused(32, 25, nearest_even, {.zero_floor = -133})},
    {scaled(ScaleKind::mxf8f6f4,         {kBlackwell, kMmaTcgen05, kF8f6f4,   fp32}), kMmaSim,   fused(32, 25, toward_zero, {.zero_floor = -133})},
    {scaled(ScaleKind::mxf4,     of_k(64, {kBlackwell, kMmaTcgen05, {fp4e2m1}, fp32})), kMmaSim, scaled_blocks(35, {.zero_floor = -139})},
    {scaled(ScaleKind::mxf4nvf4, of_k(64, {kBlackwell, kMmaTcgen05, {fp4e2m1}, fp32})), kMmaSim, scaled_blocks(35, {.zero_floor = -139})},
    {{kWithFp64,       kMmaWmma,  {fp64},       fp64},                                kMmaSim,   fmas(nearest_even, {.zero_sign = ZeroSign::ieee})},
    {{kWithFp64,       kMmaWmma,  {fp64},       fp64, Modifier::toward_zero},         kPtx,      fmas(toward_zero, {.zero_sign = ZeroSign::ieee, .overflow = Overflow::ieee})},
    {{kWithFp64,       kMmaWmma,  {fp64},       fp64, Modifier::down},                kPtx,      fmas(down, {.zero_sign = ZeroSign::ieee, .overflow = Overflow::ieee})},
    {{kWithFp64,       kMmaWmma,  {fp64},       fp64, Modifier::up},                  kPtx,      fmas(up, {.zero_sign = ZeroSign::ieee, .overflow = Overflow::ieee})},
    {{kNotHopper,      kWarps,    kIntegers,    s32},                                 kPtx,      integers(Overflow::wrap)},
    {{kNotHopper,      kWarps,    kIntegers,    s32, Modifier::satfinite},            kPtx,      integers(Overflow::max_finite)},
    {{kNotHopper,      kWarps,    {b1},         s32, Modifier::and_popc},             kPtx,      integers(Overflow::wrap)},
    {{kNotHopper,      kWarps,    {b1},         s32, Modifier::xor_popc},             kPtx,      integers(Overflow::wrap, ProductOperation::exclusive_or)},

    // --- AMD.
    {{kCdna1,          kMfma,     {fp16},       fp32},                                kMmaSim,   fused(4, kExact, nearest_even, kAmd)},
    {{kCdna1,          kMfma,     {bf16},       fp32},                                kMmaSim,   fused(2, kExact, nearest_even, kAmd)},
    {{kCdna2,          kMfma,     {fp16},       fp32},                                kMmaSim,   pairwise(4)},
    {per_lane(2, {kCdna2, kMfma,  {bf16},       fp32}),                               kMmaSim,   pairwise(2)},
    {per_lane(4, {kCdna2, kMfma,  {bf16},       fp32}),                               kMmaSim,   pairwise(4)},
    {{kCdna3,          kMfma,     {fp16, bf16}, fp32},                                kMmaSimCode, CutSumOntoC{.block_k = 8, .renormalised = true}},
    {{kCdna3,          kMfma,     {fp16, bf16}, fp32},                                kMmaSim,   CutSumOntoC{.block_k = 8}},
    {{kCdna3,          kMfma,     {tf32},       fp32},                                kMmaSimCode, CutSumOntoC{.block_k = 4, .renormalised = true}},
    {{kCdna3,          kMfma,     {tf32},       fp32},                                kMmaSim,   CutSumOntoC{.block_k = 4}},
    {{kCdna3,          kMfma,     kFnuz,        fp32},                                kMmaSimCode, CutSumOntoC{.block_k = 16, .by_parity = true, .renormalised = true}},
    {{kCdna3,          kMfma,     kFnuz,        fp32},                                kMmaSim,   CutSumOntoC{.block_k = 16, .by_parity = true}},
    {{kCdna,           kMfma,     {fp32},       fp32},                                kMmaSim,   fmas(nearest_even, kAmdFma)},
    {{kCdna,           kMfma,     {fp64},       fp64},                                kMmaSim,   fmas(nearest_even, kAmdFma64)},
    {{kCdna,           kMfma,     {s8},         s32},                                 kLlvm,     integers(Overflow::wrap)},
});
// clang-format on

/// Of A, in AMD's.
int elements_per_lane(const Instruction& in) {
  constexpr int kLanes = 64;
  return in.m * in.k * in.blocks / kLanes;
}

bool applies(const Row& row, ArchId arch, const Instruction& in) {
  const Match& match = row.match;
  const bool has_shape = match.volta == VoltaShape::too || (match.volta == VoltaShape::only) == in.is_volta();
  return match.archs.contains(arch) && in.archs.contains(arch) && match.kinds.contains(in.kind) &&
         match.inputs.contains(in.a) && match.inputs.contains(in.b) &&
         (!match.some || in.a == *match.some || in.b == *match.some) && match.scales == in.scales.kind &&
         match.k.value_or(in.k) == in.k && match.per_lane.value_or(elements_per_lane(in)) == elements_per_lane(in) &&
         match.result == in.d && match.c.value_or(match.result) == in.c && match.modifier == in.modifier && has_shape &&
         (row.account.fitted || !in.sparse());
}

/// The published answers to an instruction of an architecture; null if there are none.
const PublishedAnswers* answers_of(ArchId arch, const Instruction& instruction) {
  const auto found = std::ranges::find_if(published_answers(), [&, name = instruction.name()](const PublishedAnswers& each) {
    return each.arch == arch && each.instruction == name;
  });
  return found == published_answers().end() ? nullptr : &*found;
}

}  // namespace

std::vector<CatalogueEntry> catalogue(ArchId arch, const Instruction& instruction) {
  std::vector<CatalogueEntry> entries;
  for (const Row& row : kRows) {
    if (!applies(row, arch, instruction)) continue;
    CatalogueEntry& entry = entries.emplace_back();
    entry.arch = arch;
    entry.instruction = &instruction;
    entry.datapath = build(row.datapath, instruction);
    entry.fitted = row.account.fitted;
    entry.account = row.account.name;
    entry.origin = row.account.origin;
    entry.refuted_by = row.refuted_by;
    entry.lowered_to = row.lowered_to.empty() ? entries.front().lowered_to : row.lowered_to;
    if (entry.fitted) {
      entry.origin =
          fmt::format("fitted to vectors/{}/{}.safetensors", tcnum::arch(arch).name, recorded_as(instruction));
      entry.standing = Standing::measured;
    } else if (entries.front().fitted) {
      if (row.refuted_by.empty()) entry.standing = Standing::checked;
    } else if (const PublishedAnswers* answers = answers_of(arch, instruction);
               answers != nullptr && row.refuted_by.empty()) {
      entry.standing = Standing::checked;
      entry.answers = answers->count;
      entry.answered_by = answers->device;
    }
  }
  return entries;
}

std::vector<CatalogueEntry> catalogue(ArchId arch) {
  std::vector<CatalogueEntry> entries;
  for (const Instruction* instruction : instructions_of(arch)) {
    for (CatalogueEntry& entry : catalogue(arch, *instruction)) entries.push_back(std::move(entry));
  }
  return entries;
}

std::optional<Datapath> scalar_instruction(ArchId arch, std::string_view name) {
  constexpr std::array<std::pair<std::string_view, FormatId>, 3> kOfFp32 = {
      {{"fma.rn.f32", fp32}, {"fma.rn.f32.f16", fp16}, {"fma.rn.f32.bf16", bf16}}};
  const auto found = std::ranges::find(kOfFp32, name, &std::pair<std::string_view, FormatId>::first);
  if (found != kOfFp32.end() && tcnum::arch(arch).family.starts_with("NVIDIA")) {
    const FormatId operand = found->second;
    return build(fmas(nearest_even, {.zero_sign = ZeroSign::ieee}), make_dot(fp32, operand, operand, fp32, 1));
  }
  if (name == "fma.rn.f64" && arch == sm_90)
    return build(fmas(nearest_even, payload_of_b_c_a(Overflow::infinity)), make_dot(fp64, fp64, fp64, fp64, 1));
  return std::nullopt;
}

}  // namespace tcnum
