// Whose recorded answers stand for an instruction's.
#include <array>

#include "tcnum/catalogue.hpp"

namespace tcnum {
namespace {

using enum FormatId;

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

}  // namespace

std::string recorded_as(Instruction instruction) {
  for (const StandIn& each : kStandIns) {
    if (each.stands_for(instruction)) each.replace(instruction);
  }
  return instruction.name();
}

}  // namespace tcnum
