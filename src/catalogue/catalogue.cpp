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

/// Whether a row speaks of mma of Volta's shape, of all others, or of both.
enum class VoltaShape : std::uint8_t { no, only, too };

/// Which instructions a row speaks of.
struct Match {
  ArchSet archs;
  Kinds kinds;
  FormatSet inputs;  ///< of a
  FormatId result;
  Modifier modifier = Modifier::none;
  VoltaShape volta = VoltaShape::no;
  std::optional<FormatId> c = {};  ///< if it is not the result's
};

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
/// Khattak and Mikaitis publish answers of a B200 to mma with e5m2 operands, which this explains and their own account
/// does not. ptxas 13.0 makes the same two HMMA of an mma with e4m3 operands.
constexpr Account kLowered{"lowered", "the B200's answers in Khattak & Mikaitis, MATLAB-tensor-core"};

struct Row {
  Match match;
  Account account;
  Description datapath;
  std::string_view refuted_by = {};  ///< answers, if any
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
constexpr BlockSums then_c(int block_k, int fraction_bits, Rounding rounding) {
  return {BlockShape::chain_then_c, block_k, fraction_bits, rounding};
}
constexpr BlockSums integers(Overflow overflow, ProductOperation product = ProductOperation::multiply) {
  return {.details = {.overflow = overflow, .product = product}};
}
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
constexpr ArchSet kHopper = archs({sm_90}), kVoltaArch = archs({sm_70}), kAda = archs({sm_89});
constexpr ArchSet kTuringToAda = archs({sm_75, sm_80, sm_86, sm_89}), kAmpereToAda = archs({sm_80, sm_86, sm_89});
constexpr ArchSet kBlackwell = archs({sm_100, sm_120});
constexpr ArchSet kWithFp64 = archs({sm_80, sm_86, sm_89, sm_100, sm_120});

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
    {{kHopper,         kMma,      {fp16},       fp32, kPlain, kVolta},                kFitted,   then_c(1, kExact, nearest_even)},
    {{kHopper,         kMma,      {fp16},       fp32, kPlain, kVolta, fp16},          kFitted,   then_c(1, kExact, nearest_even)},
    {{kHopper,         kMma,      {fp16},       fp16, kPlain, kVolta},                kFitted,   kPairsOntoC},
    {{kHopper,         kWgmma,    kFp8,         fp32},                                kFitted,   fused(32, 13, toward_zero, {.result_fraction_bits = 13})},
    {{kHopper,         kWgmma,    kFp8,         fp16},                                kFitted,   fused(32, 13, nearest_even, {.underflow_sign = positive})},
    {{kHopper,         kMma,      kFp8,         fp32},                                kFitted,   lowered(toward_zero)},
    {{kHopper,         kMma,      kFp8,         fp16},                                kFitted,   lowered(nearest_even)},
    {{kHopper,         kAny,      {fp64},       fp64},                                kFitted,   fmas(nearest_even, payload_of_b_c_a(Overflow::infinity))},
    {{kHopper,         kAny,      {fp64},       fp64, Modifier::toward_zero},         kFitted,   fmas(toward_zero, payload_of_b_c_a(Overflow::max_finite))},
    {{kHopper,         kAny,      {fp64},       fp64, Modifier::down},                kFitted,   fmas(down, payload_of_b_c_a(Overflow::ieee))},
    {{kHopper,         kAny,      {fp64},       fp64, Modifier::up},                  kFitted,   fmas(up, payload_of_b_c_a(Overflow::ieee))},
    {{kHopper,         kAny,      kIntegers,    s32},                                 kFitted,   integers(Overflow::wrap)},
    {{kHopper,         kAny,      kIntegers,    s32, Modifier::satfinite},            kFitted,   integers(Overflow::max_finite)},
    {{kHopper,         kAny,      {b1},         s32, Modifier::and_popc},             kFitted,   integers(Overflow::wrap)},
    {{kHopper,         kAny,      {b1},         s32, Modifier::xor_popc},             kFitted,   integers(Overflow::wrap, ProductOperation::exclusive_or)},

    // --- Published. A wmma of Volta's is made of the machine instructions that are its mma.
    {{kVoltaArch,      kMmaWmma,  {fp16},       fp32, kPlain, kVoltaToo},             kKhattak,  fused(4, 23, toward_zero)},
    {{kVoltaArch,      kMmaWmma,  {fp16},       fp16, kPlain, kVoltaToo},             kKhattak,  fused(4, 23, nearest_even, {.zero_floor = -19})},
    {{kVoltaArch,      kMma,      {fp16},       fp32, kPlain, kVoltaToo},             kHickmann, then_c(4, 23, toward_zero), kV100},
    {{kVoltaArch,      kMma,      {fp16},       fp16, kPlain, kVoltaToo},             kHickmann, then_c(4, 23, nearest_even), kV100},
    {{kVoltaArch,      kWmma,     {fp16},       fp32},                                kHickmann, FullDescription{"volta-fp16-separate"}, kV100},
    {{kTuringToAda,    kMma,      {fp16},       fp16},                                kKhattak,  fused(8, 24, nearest_even, {.zero_floor = -20})},
    {{kTuringToAda,    kMma,      {fp16, bf16}, fp32},                                kKhattak,  fused(8, 24, toward_zero, {.zero_floor = -132})},
    {{kAmpereToAda,    kMma,      {tf32},       fp32},                                kKhattak,  fused(4, 24, toward_zero, {.zero_floor = -132})},
    {{kAda,            kMma,      kFp8,         fp32},                                kKhattak,  fused(16, 13, toward_zero, {.result_fraction_bits = 13})},
    {{kAda,            kMma,      kFp8,         fp16},                                kKhattak,  fused(16, 13, nearest_even)},
    {{kBlackwell,      kMma,      {fp16, bf16}, fp32},                                kKhattak,  fused(16, 25, toward_zero, {.zero_floor = -133})},
    {{kBlackwell,      kMma,      {tf32},       fp32},                                kKhattak,  fused(8, 25, toward_zero, {.zero_floor = -133})},
    {{kBlackwell,      kMma,      {fp16},       fp16},                                kKhattak,  fused(16, 25, nearest_even, {.zero_floor = -21})},
    // sm_100 has no machine instruction for mma with 8-bit operands, as sm_90 has none (its fp8 is tcgen05's). sm_120
    // has one, QMMA; nobody has published answers of it.
    {{archs({sm_100}), kMma,      kFp8,         fp32},                                kLowered,  lowered(toward_zero)},
    {{archs({sm_100}), kMma,      kFp8,         fp16},                                kLowered,  lowered(nearest_even)},
    {{archs({sm_100}), kMma,      kFp8,         fp32},                                kKhattak,  fused(32, 25, toward_zero), kB200},
    {{archs({sm_100}), kMma,      kFp8,         fp16},                                kKhattak,  fused(32, 25, nearest_even), kB200},
    {{archs({sm_120}), kMma,      kFp8,         fp32},                                kKhattak,  fused(32, 25, toward_zero)},
    {{archs({sm_120}), kMma,      kFp8,         fp16},                                kKhattak,  fused(32, 25, nearest_even)},
    {{kWithFp64,       kMma,      {fp64},       fp64},                                kMmaSim,   fmas(nearest_even, {.zero_sign = ZeroSign::ieee})},
});
// clang-format on

bool applies(const Row& row, ArchId arch, const Instruction& in) {
  const Match& match = row.match;
  const bool has_shape = match.volta == VoltaShape::too || (match.volta == VoltaShape::only) == in.is_volta();
  return match.archs.contains(arch) && in.archs.contains(arch) && match.kinds.contains(in.kind) &&
         match.inputs.contains(in.a) && match.result == in.d && match.c.value_or(match.result) == in.c &&
         match.modifier == in.modifier && has_shape && (row.account.fitted || !in.sparse());
}

}  // namespace

std::vector<CatalogueEntry> catalogue(ArchId arch, const Instruction& instruction) {
  std::vector<CatalogueEntry> entries;
  for (const Row& row : kRows) {
    if (!applies(row, arch, instruction)) continue;
    entries.push_back({.arch = arch,
                       .instruction = &instruction,
                       .datapath = build(row.datapath, instruction),
                       .fitted = row.account.fitted,
                       .account = std::string(row.account.name),
                       .origin = row.account.fitted ? fmt::format("fitted to vectors/{}/{}.safetensors",
                                                                  tcnum::arch(arch).name, recorded_as(instruction))
                                                    : std::string(row.account.origin),
                       .refuted_by = std::string(row.refuted_by)});
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

}  // namespace tcnum
