// Which instructions the vendors' libraries make large products of.
#include <algorithm>
#include <array>

#include "emu/format_set.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum {
namespace {

using enum ArchId;
using enum FormatId;

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

std::string_view library_of(ArchId arch, const Instruction& instruction) {
  const auto found = std::ranges::find_if(kLibraryRows, [&](const LibraryRow& row) {
    return row.archs.contains(arch) && row.kind == instruction.kind && row.operands.contains(instruction.a) &&
           row.operands.contains(instruction.b);
  });
  return found == kLibraryRows.end() ? "" : found->library;
}

}  // namespace tcnum
