// The tables of probe kernels against the tables of instructions. Only where the GPU's parts are built; no GPU is
// asked.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "probes/kernels.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

/// Whether CUDA 13 compiles for an architecture that has it: Volta's are the last that it left.
bool is_compiled(const Instruction& in) {
  for (const Arch& arch : kArchs) {
    if (arch.id != ArchId::sm_70 && arch.name.starts_with("sm_") && in.archs.contains(arch.id)) return true;
  }
  return false;
}

TEST(ProbeTable, EveryMmaAndWmmaHasAKernel) {
  int count = 0;
  for (const Instruction& in : instructions()) {
    if (in.kind != InstructionKind::mma && in.kind != InstructionKind::wmma) continue;
    if (!is_compiled(in)) continue;
    ++count;
    const Kernel* const kernel = find_kernel(in.name());
    ASSERT_NE(kernel, nullptr) << in.name();
    EXPECT_EQ(kernel->instruction, in.name());
    EXPECT_TRUE(!in.scaled() || kernel->variants.size() == 4) << in.name();
  }
  EXPECT_GT(count, 360);
}

/// All but sparse ones whose metadata nobody describes in words.
bool is_probed(const Instruction& in) { return !in.sparse() || in.m >= 128; }

TEST(ProbeTable, EveryTcgen05ThatIsDescribedHasAKernelAtAnyShape) {
  if (find_kernel("tcgen05.mma.m64n8k16.f32.f16.f16") == nullptr) GTEST_SKIP() << "built for neither sm_100 nor sm_103";
  int count = 0;
  for (const Instruction& in : instructions()) {
    if (in.kind != InstructionKind::tcgen05) continue;
    const Kernel* const kernel = find_kernel(in.name());
    ASSERT_EQ(kernel != nullptr, is_probed(in)) << in.name();
    if (kernel == nullptr) continue;
    ++count;
    EXPECT_EQ(kernel->instruction, in.name());
    EXPECT_EQ(kernel, find_kernel(in.name()));
    EXPECT_GE(kernel->variants.size(), 5u) << in.name();
  }
  EXPECT_GT(count, 150);
  EXPECT_NE(find_kernel("tcgen05.mma.m128n256k16.f32.bf16.bf16"), nullptr);
  EXPECT_NE(find_kernel("tcgen05.mma.m256n256k16.f32.bf16.bf16"), nullptr);
  EXPECT_NE(find_kernel("tcgen05.mma.sp.m256n32k128.mxf4nvf4.4x.f32.e2m1.e2m1.ue4m3"), nullptr);
  EXPECT_EQ(find_kernel("tcgen05.mma.m128n7k16.f32.bf16.bf16"), nullptr);
}

TEST(ProbeTable, NothingElseIsThere) {
  std::set<std::string, std::less<>> seen;
  for (const auto& table : kernel_tables()) {
    for (const Kernel& kernel : table) {
      EXPECT_NE(find_instruction(kernel.instruction), nullptr) << kernel.instruction;
      EXPECT_TRUE(seen.emplace(kernel.instruction).second) << kernel.instruction << " twice";
    }
  }
}

}  // namespace
}  // namespace tcnum
