// Where what the catalogue says comes from: answers that others have published, whose recorded answers stand for an
// instruction's, and which instructions the vendors' libraries use.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "emu/format_set.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum {
namespace {

using enum ArchId;
using enum FormatId;

// tests/catalogue/published_test.cpp runs these files, and checks that they have so many answers.
// clang-format off
constexpr auto kPublished = std::to_array<PublishedAnswers>({
    {sm_70,  "mma.m8n8k4.f32.f16.f16.f32",    "V100",          5000},
    {sm_70,  "mma.m8n8k4.f16.f16.f16.f16",    "V100",          5000},
    {sm_80,  "mma.m16n8k8.f32.f16.f16.f32",   "A100",          5000},
    {sm_80,  "mma.m16n8k8.f16.f16.f16.f16",   "A100",          5000},
    {sm_80,  "mma.m16n8k8.f32.bf16.bf16.f32", "A100",          5000},
    {sm_80,  "mma.m16n8k4.f32.tf32.tf32.f32", "A100",          5000},
    {sm_89,  "mma.m16n8k8.f32.f16.f16.f32",   "RTX 1000 Ada",  5000},
    {sm_89,  "mma.m16n8k8.f16.f16.f16.f16",   "RTX 1000 Ada",  5000},
    {sm_89,  "mma.m16n8k8.f32.bf16.bf16.f32", "RTX 1000 Ada",  5000},
    {sm_89,  "mma.m16n8k4.f32.tf32.tf32.f32", "RTX 1000 Ada",  5000},
    {sm_89,  "mma.m16n8k32.f32.e4m3.e4m3.f32", "RTX 1000 Ada", 5000},
    {sm_89,  "mma.m16n8k32.f32.e5m2.e5m2.f32", "RTX 1000 Ada", 5000},
    {sm_89,  "mma.m16n8k32.f16.e4m3.e4m3.f16", "RTX 1000 Ada", 5000},
    {sm_89,  "mma.m16n8k32.f16.e5m2.e5m2.f16", "RTX 1000 Ada", 5000},
    {sm_100, "mma.m16n8k32.f32.e5m2.e5m2.f32", "B200",         5000},
    {sm_100, "mma.m16n8k32.f16.e5m2.e5m2.f16", "B200",         5000},
});
// clang-format on

constexpr bool is_wgmma(const Instruction& in) { return in.kind == InstructionKind::wgmma; }
constexpr bool is_wmma(const Instruction& in) { return in.kind == InstructionKind::wmma; }
constexpr int bits_of(const Instruction& in) { return format(in.a).storage_bits; }

/// Instructions whose answers are recorded as another's, and what that one has in place of theirs.
struct StandIn {
  bool (*stands_for)(const Instruction&);
  void (*replace)(Instruction&);
};

// Applied in this order, each to what those before it have left.
// clang-format off
constexpr auto kStandIns = std::to_array<StandIn>({
    // Every width of wgmma has the datapath of the narrowest.
    {[](const Instruction& in) { return is_wgmma(in); },
     [](Instruction& in) { in.n = 8; }},
    // The shapes of wmma are cut into the same machine instructions.
    {[](const Instruction& in) { return is_wmma(in) && in.m != in.n; },
     [](Instruction& in) { in.m = in.n = 16; }},
    // fp64 with a rounding of its own: the mma with that k.
    {[](const Instruction& in) { return in.a == fp64 && in.modifier != Modifier::none; },
     [](Instruction& in) { in.kind = InstructionKind::mma; in.m = in.k == 4 ? 8 : 16; }},
    // Bits by wgmma: the mma.
    {[](const Instruction& in) { return is_wgmma(in) && in.a == b1; },
     [](Instruction& in) { in.kind = InstructionKind::mma; in.m = 16; }},
    // Integers of mma.sp in any order of metadata.
    {[](const Instruction& in) { return in.sparse() && !is_wgmma(in) && !format(in.a).floating; },
     [](Instruction& in) { in.sparsity = Sparsity::any_order; }},
    // Integers of any signs: the signed ones. A dense mma has records of each.
    {[](const Instruction& in) { return !format(in.a).floating && in.a != b1 && (is_wgmma(in) || is_wmma(in) || in.sparse()); },
     [](Instruction& in) { in.a = in.b = bits_of(in) == 8 ? s8 : s4; }},
    // fp8 by wgmma.sp: one format for each result.
    {[](const Instruction& in) { return is_wgmma(in) && in.sparse() && format(in.a).floating && bits_of(in) == 8; },
     [](Instruction& in) { in.a = in.b = in.d == fp32 ? fp8e4m3 : fp8e5m2; }},
});
// clang-format on

// Which instructions the vendors' libraries make large products of.
struct LibraryRow {
  ArchSet archs;
  FormatSet operands;  ///< of a and b
  InstructionKind kind;
  std::string_view library;  ///< and where that is from
};
constexpr auto kLibraryRows = std::to_array<LibraryRow>({
    {archs({sm_90}),
     {fp16, bf16, tf32, fp8e4m3, fp8e5m2, s8},
     InstructionKind::wgmma,
     "cuBLASLt 13.1 (vectors/sm_90/gemm.json)"},
    {archs({sm_100, sm_103}),
     {fp16, bf16, tf32, fp8e4m3, fp8e5m2, fp6e3m2, fp6e2m3, fp4e2m1, s8},
     InstructionKind::tcgen05,
     "CUTLASS (its documentation, \"Blackwell SM100 GEMMs\")"},
});

}  // namespace

std::string_view name(Standing standing) {
  constexpr std::array<std::string_view, 3> kNames = {"measured_here", "published_and_checked", "published_only"};
  return kNames[static_cast<std::size_t>(standing)];
}

std::string CatalogueEntry::standing_text() const {
  if (standing == Standing::measured) return "";
  if (!refuted_by.empty()) return fmt::format("refuted by {}", refuted_by);
  if (standing == Standing::published) return "published only";
  if (answers == 0)
    return fmt::format("published, and explains the answers recorded in vectors/{}", tcnum::arch(arch).name);
  return fmt::format("published, and explains {} published answers of the {}", answers, answered_by);
}

std::string CatalogueEntry::origin_and_standing() const {
  const std::string text = standing_text();
  return text.empty() ? origin : fmt::format("{}; {}", origin, text);
}

std::span<const PublishedAnswers> published_answers() { return kPublished; }

std::string recorded_as(Instruction instruction) {
  for (const StandIn& each : kStandIns) {
    if (each.stands_for(instruction)) each.replace(instruction);
  }
  return instruction.name();
}

std::string_view library_of(ArchId arch, const Instruction& instruction) {
  const auto found = std::ranges::find_if(kLibraryRows, [&](const LibraryRow& row) {
    return row.archs.contains(arch) && row.kind == instruction.kind && row.operands.contains(instruction.a) &&
           row.operands.contains(instruction.b);
  });
  return found == kLibraryRows.end() ? "" : found->library;
}

}  // namespace tcnum
