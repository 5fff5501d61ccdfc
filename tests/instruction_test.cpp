// The table of instructions: its names, PTX's spellings, and where sub-byte elements live.
#include "tcnum/instruction.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tcnum {
namespace {

TEST(Instructions, AreFoundByNameAndByPtxSpelling) {
  struct Spelling {
    const char *name, *ptx;
  };
  for (const auto& [name, ptx] :
       {Spelling{"mma.m16n8k16.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
        Spelling{"wgmma.m64n8k32.f32.e4m3.e5m2", "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2"},
        Spelling{"mma.m16n8k32.s32.s8.u8.s32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"},
        Spelling{"mma.m16n8k32.s32.s8.u8.s32.satfinite", "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32"},
        Spelling{"mma.m16n8k64.s32.u4.s4.s32.satfinite", "mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.s4.s32"},
        Spelling{"mma.m16n8k256.s32.b1.b1.s32.xor.popc", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc"},
        Spelling{"mma.m8n8k128.s32.b1.b1.s32.and.popc", "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc"}}) {
    const Instruction* found = find_instruction(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->name(), name);
    EXPECT_EQ(found->ptx(), ptx);
    EXPECT_EQ(find_instruction(ptx), found);
  }
  for (const char* none :
       {"mma.m16n8k32.s32.s8.s4.s32", "mma.m16n8k256.s32.b1.b1.s32", "mma.m16n8k256.s32.b1.b1.s32.satfinite",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32.satfinite", "mma.m16n8k8.s32.s8.s8.s32"}) {
    EXPECT_EQ(find_instruction(none), nullptr) << none;
  }
}

TEST(Instructions, HopperHasEveryIntegerMma) {
  std::size_t bytes = 0, nibbles = 0, bits = 0;
  std::set<std::string> names;
  for (const Instruction* i : instructions_of(ArchId::sm_90)) {
    if (i->d != FormatId::s32) continue;
    EXPECT_TRUE(names.insert(i->name()).second) << i->name();
    const int width = format(i->a).storage_bits;
    EXPECT_EQ(format(i->b).storage_bits, width);
    ++(width == 8 ? bytes : width == 4 ? nibbles : bits);
  }
  // Shapes times pairs of formats times modifiers.
  EXPECT_EQ(bytes, 3u * 4 * 2);
  EXPECT_EQ(nibbles, 3u * 4 * 2);
  EXPECT_EQ(bits, 3u * 2);
}

/// PTX ISA, "Matrix Fragments for mma.m16n8k64" and "… mma.m16n8k256": element i of a thread's fragment, counted over
/// its registers.
TEST(Fragments, OfSubByteFormatsAreAsPtxHasThem) {
  struct Case {
    const char* name;
    int elements;  ///< of a register
  };
  for (const auto& [name, elements] :
       {Case{"mma.m16n8k64.s32.s4.s4.s32", 8}, Case{"mma.m16n8k256.s32.b1.b1.s32.and.popc", 32}}) {
    const MmaGeometry g = find_instruction(name)->geometry();
    EXPECT_EQ(g.register_elements, elements);
    EXPECT_EQ(g.a_registers(), 4);
    EXPECT_EQ(g.b_registers(), 2);
    for (int lane = 0; lane < 32; ++lane) {
      const int group = lane / 4, in_group = lane % 4;
      for (int i = 0; i < 4 * elements; ++i) {
        const bool first_rows = i < elements || (2 * elements <= i && i < 3 * elements);
        const Element a = g.a(lane, i / elements, i % elements);
        EXPECT_EQ(a.row, first_rows ? group : group + 8);
        EXPECT_EQ(a.column, in_group * elements + i % elements + (i < 2 * elements ? 0 : 4 * elements));
      }
      for (int i = 0; i < 2 * elements; ++i) {
        const Element b = g.b(lane, i / elements, i % elements);
        EXPECT_EQ(b.row, in_group * elements + i % elements + (i < elements ? 0 : 4 * elements));
        EXPECT_EQ(b.column, group);
      }
    }
  }
}

}  // namespace
}  // namespace tcnum
