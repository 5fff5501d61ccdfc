// The table of instructions: its names, PTX's spellings, and where sub-byte elements live.
#include "tcnum/instruction.hpp"
#include "isa/fragment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
        Spelling{"mma.sp.m16n8k32.f32.f16.f16.f32", "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"},
        Spelling{"mma.sp::ordered_metadata.m16n8k16.f32.tf32.tf32.f32",
                 "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"},
        Spelling{"mma.sp.m16n8k64.f32.e4m3.e5m2.f32", "mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e5m2.f32"},
        Spelling{"mma.sp::ordered_metadata.m16n8k128.s32.u4.s4.s32.satfinite",
                 "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.satfinite.s32.u4.s4.s32"},
        Spelling{"mma.m16n8k256.s32.b1.b1.s32.xor.popc", "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc"},
        Spelling{"mma.m8n8k128.s32.b1.b1.s32.and.popc", "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc"},
        Spelling{"wgmma.m64n48k32.s32.u8.s8.satfinite", "wgmma.mma_async.sync.aligned.m64n48k32.satfinite.s32.u8.s8"},
        Spelling{"wgmma.m64n24k256.s32.b1.b1.and.popc", "wgmma.mma_async.sync.aligned.m64n24k256.s32.b1.b1.and.popc"},
        Spelling{"wgmma.sp.m64n40k16.f32.tf32.tf32", "wgmma.mma_async.sp.sync.aligned.m64n40k16.f32.tf32.tf32"},
        Spelling{"wgmma.sp.m64n256k64.s32.s8.s8", "wgmma.mma_async.sp.sync.aligned.m64n256k64.s32.s8.s8"},
        Spelling{"mma.m8n8k4.f32.f16.f16.f16", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16"},
        Spelling{"wmma.m16n16k16.f16.f16.f16.f32", "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32"},
        Spelling{"wmma.m8n32k16.f32.f16.f16.f16", "wmma.mma.sync.aligned.row.col.m8n32k16.f32.f16"},
        Spelling{"wmma.m32n8k16.f32.bf16.bf16.f32", "wmma.mma.sync.aligned.row.col.m32n8k16.f32.bf16.bf16.f32"},
        Spelling{"wmma.m8n8k4.f64.f64.f64.f64", "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64"},
        Spelling{"wmma.m16n16k16.s32.u8.u8.s32.satfinite",
                 "wmma.mma.sync.aligned.row.col.m16n16k16.s32.u8.u8.s32.satfinite"},
        Spelling{"wmma.m8n8k128.s32.b1.b1.s32.xor.popc",
                 "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"}}) {
    const Instruction* found = find_instruction(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->name(), name);
    EXPECT_EQ(found->ptx(), ptx);
    EXPECT_EQ(find_instruction(ptx), found);
  }
  for (const char* none :
       {"mma.m16n8k32.s32.s8.s4.s32", "mma.m16n8k256.s32.b1.b1.s32.satfinite",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32.satfinite", "mma.sp.m16n8k32.f32.e4m3.e4m3.f32",
        "wgmma.m64n40k32.s32.s8.s8", "wgmma.m64n4k16.f32.f16.f16", "mma::ordered_metadata.m16n8k32.f32.f16.f16.f32",
        "wmma.m16n16k16.f32.f16.f16"}) {
    EXPECT_EQ(find_instruction(none), nullptr) << none;
  }
  for (const Instruction& row : instructions()) EXPECT_EQ(find_instruction(row.name()), &row);
}

TEST(Instructions, WithBlockScalesOrNarrowOperandsAreFoundByEachSpelling) {
  struct Spelling {
    const char *name, *ptx, *other;
  };
  for (const auto& [name, ptx, other] :
       {Spelling{"mma.m16n8k32.mxf8f6f4.1x.f32.e4m3.e4m3.f32.ue8m0",
                 "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0",
                 "mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0"},
        Spelling{"mma.m16n8k64.mxf4.2x.f32.e2m1.e2m1.f32.ue8m0",
                 "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
                 "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"},
        Spelling{"mma.sp::ordered_metadata.m16n8k128.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3",
                 "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32."
                 "e2m1.e2m1.f32.ue4m3",
                 "mma.sp::ordered_metadata.m16n8k128.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3"},
        Spelling{"mma.m16n8k32.f16.e3m2.e2m1.f16", "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e3m2.e2m1.f16",
                 "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f16.e3m2.e2m1.f16"},
        Spelling{"mma.m16n8k32.f32.e4m3.e5m2.f32", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32",
                 "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e5m2.f32"},
        Spelling{"v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x16f16", "v_mfma_f32_16x16x16f16"},
        Spelling{"v_mfma_f32_32x32x4_2b_bf16", "v_mfma_f32_32x32x4bf16_1k", "v_mfma_f32_32x32x4_2b_bf16_1k"},
        Spelling{"v_mfma_f32_32x32x4_bf16", "v_mfma_f32_32x32x4bf16", "v_mfma_f32_32x32x4bf16"},
        Spelling{"v_mfma_f64_4x4x4_4b_f64", "v_mfma_f64_4x4x4f64", "v_mfma_f64_4x4x4f64"},
        Spelling{"v_mfma_f32_32x32x4_xf32", "v_mfma_f32_32x32x4_xf32", "v_mfma_f32_32x32x4xf32"},
        Spelling{"v_mfma_f32_16x16x32_bf8_fp8", "v_mfma_f32_16x16x32_bf8_fp8", "v_mfma_f32_16x16x32_bf8_fp8"},
        Spelling{"v_smfmac_i32_16x16x64_i8", "v_smfmac_i32_16x16x64_i8", "v_smfmac_i32_16x16x64_i8"},
        Spelling{"v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_f16"}}) {
    const Instruction* found = find_instruction(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->name(), name);
    EXPECT_EQ(found->ptx(), ptx);
    EXPECT_EQ(find_instruction(ptx), found);
    EXPECT_EQ(find_instruction(other), found);
  }
  for (const char* none :
       {"mma.m16n8k64.mxf4.4x.f32.e2m1.e2m1.f32.ue8m0", "mma.m16n8k64.mxf4.2x.f32.e2m1.e2m1.f32.ue4m3",
        "mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue8m0", "mma.m16n8k32.mxf8f6f4.1x.f16.e4m3.e4m3.f16.ue8m0",
        "mma.sp.m16n8k64.mxf8f6f4.1x.f32.e4m3.e4m3.f32.ue8m0", "v_mfma_f32_32x32x4f16_1k", "v_mfma_f32_16x16x8_f16"}) {
    EXPECT_EQ(find_instruction(none), nullptr) << none;
  }
}

TEST(Instructions, OfAnyShapeThatATcgen05HasAreFound) {
  const Instruction* const wide = find_instruction("tcgen05.mma.m256n48k32.f32.e4m3.e2m1");
  ASSERT_NE(wide, nullptr);
  EXPECT_EQ(wide->name(), "tcgen05.mma.m256n48k32.f32.e4m3.e2m1");
  EXPECT_EQ(wide->ptx(), "tcgen05.mma.cta_group::2.kind::f8f6f4");
  EXPECT_EQ(find_instruction(wide->name()), wide) << "it stays where it is";
  EXPECT_EQ(row_of(*wide).name(), "tcgen05.mma.m64n8k32.f32.e4m3.e2m1");
  EXPECT_EQ(&row_of(row_of(*wide)), &row_of(*wide));
  for (const char* one :
       {"tcgen05.mma.m64n8k16.f32.f16.f16", "tcgen05.mma.sp.m128n24k16.f32.tf32.tf32",
        "tcgen05.mma.ws.m32n64k16.f16.f16.f16", "tcgen05.mma.ws.sp.m128n128k64.f32.e5m2.e3m2",
        "tcgen05.mma.m256n16k64.mxf4nvf4.4x.f32.e2m1.e2m1.ue4m3",
        "tcgen05.mma.m128n248k32.mxf8f6f4.1x.f32.e3m2.e5m2.ue8m0", "tcgen05.mma.m256n64k32.s32.u8.s8.satfinite",
        "tcgen05.mma.m128n16k96.mxf4nvf4.block16.f32.e2m1.e2m1.ue4m3",
        "tcgen05.mma.m256n48k96.mxf4.block32.f32.e2m1.e2m1.ue8m0"}) {
    const Instruction* found = find_instruction(one);
    ASSERT_NE(found, nullptr) << one;
    EXPECT_EQ(found->name(), one);
  }
  for (const char* none :
       {"tcgen05.mma.m32n64k16.f32.f16.f16", "tcgen05.mma.m64n12k16.f32.f16.f16", "tcgen05.mma.m256n24k16.f32.f16.f16",
        "tcgen05.mma.m64n264k16.f32.f16.f16", "tcgen05.mma.m64n0k16.f32.f16.f16", "tcgen05.mma.m64n40k32.s32.s8.s8",
        "tcgen05.mma.ws.m32n8k16.f32.f16.f16", "tcgen05.mma.ws.sp.m32n256k32.f32.f16.f16",
        "tcgen05.mma.m64n8k32.mxf8f6f4.1x.f32.e4m3.e4m3.ue8m0",
        "tcgen05.mma.m128n8k96.mxf4.block32.f32.e2m1.e2m1.ue8m0",
        "tcgen05.mma.sp.m128n8k192.mxf4.block64.f32.e2m1.e2m1.ue8m0", "tcgen05.mma.m99999999999n8k16.f32.f16.f16",
        "tcgen05.mma.cta_group::1.kind::f16"}) {
    EXPECT_EQ(find_instruction(none), nullptr) << none;
  }
  EXPECT_FALSE(find_instruction("tcgen05.mma.m64n8k32.s32.s8.s8")->archs.contains(ArchId::sm_103));
  EXPECT_FALSE(
      find_instruction("tcgen05.mma.m128n16k96.mxf4.block32.f32.e2m1.e2m1.ue8m0")->archs.contains(ArchId::sm_100));
}

TEST(Architectures, GoByTheirDevicesAndGenerations) {
  const std::map<std::string_view, std::vector<std::string_view>> names = {
      {"sm_80", {"Ampere"}},
      {"sm_89", {"Ada", "RTX 4090", "L20", "GeForce RTX 4090"}},
      {"sm_90", {"sm_90a", "sm90", "90", "Hopper", "H20", "H800", "NVIDIA H200"}},
      {"sm_100", {"Blackwell", "GB200", "sm_100f"}},
      {"sm_103", {"GB300"}},
      {"sm_120", {"RTX PRO 6000"}},
      {"gfx908", {"AMD Instinct MI100"}},
      {"gfx90a", {"MI250X", "gfx90a"}},
      {"gfx942", {"MI300X", "MI300"}},
      {"gfx1151", {"Strix Halo"}}};
  for (const auto& [arch, of_arch] : names) {
    for (const std::string_view name : of_arch) {
      const std::optional<ArchId> id = find_arch(name);
      ASSERT_TRUE(id.has_value()) << name;
      EXPECT_EQ(tcnum::arch(*id).name, arch) << name;
    }
  }
  for (const char* name : {"", "sm_", "./sm_90", "sm_91", "h", "100h", "rtx", "mi", "a100 h100", "sm_90/x", "gfx90f"})
    EXPECT_FALSE(find_arch(name).has_value()) << name;
}

/// A near name is one of the same series, with the nearest number: an RTX 4095 is no sm_90.
TEST(Architectures, NearNamesGoBySeriesAndNumber) {
  const auto nearest = [](std::string_view text) {
    const std::string expected = expected_archs(text);
    EXPECT_TRUE(expected.starts_with("one of sm_70, ")) << expected;
    constexpr std::string_view kNearest = "; nearest are ";
    const std::size_t at = expected.find(kNearest);
    return at == std::string::npos ? "" : expected.substr(at + kNearest.size());
  };
  EXPECT_EQ(nearest("RTX 4095"), "RTX 4090 (sm_89), RTX 4080 (sm_89) or RTX 4070 (sm_89)");
  EXPECT_EQ(nearest("4090"), "RTX 4090 (sm_89)");
  EXPECT_EQ(nearest("NVIDIA H100 80GB HBM3"), "H100 (sm_90), H800 (sm_90) or H200 (sm_90)");
  EXPECT_EQ(nearest("mi310"), "MI308X (gfx942), MI300 (gfx942) or MI300A (gfx942)");
  EXPECT_EQ(nearest("strix hallo"), "Strix Halo (gfx1151)");
  EXPECT_EQ(nearest("sm_91"), "sm_90, sm_89 or sm_87");
  EXPECT_EQ(nearest("91"), nearest("sm_91"));
  for (const char* text : {"", "x", "./file", "TPU v5", "gaudi"}) EXPECT_EQ(nearest(text), "") << text;
}

TEST(Instructions, OfEachArchitectureAreAsManyAsItsSourcesHave) {
  const auto count = [](ArchId arch, auto&& is) {
    const std::vector<const Instruction*> all = instructions_of(arch);
    return std::ranges::count_if(all, [&](const Instruction* i) { return is(*i); });
  };
  const auto any = [](const Instruction&) { return true; };
  EXPECT_EQ(count(ArchId::sm_87, any), count(ArchId::sm_80, any));
  EXPECT_EQ(count(ArchId::sm_86, any), count(ArchId::sm_80, any));
  const auto scaled = [](const Instruction& i) { return i.scaled() && !i.sparse(); };
  EXPECT_EQ(count(ArchId::sm_120, scaled), 25 + 3);
  EXPECT_EQ(count(ArchId::sm_121, any), count(ArchId::sm_120, any));
  EXPECT_EQ(count(ArchId::sm_100, scaled), 25 + 4);
  EXPECT_EQ(count(ArchId::sm_103, scaled), 25 + 8);
  EXPECT_EQ(count(ArchId::sm_90, scaled), 0);
  // LLVM's definitions that it has for these.
  EXPECT_EQ(count(ArchId::gfx908, any), 5 + 5 + 5 + 5);
  EXPECT_EQ(count(ArchId::gfx90a, any), 20 + 5 + 2);
  const auto dense = [](const Instruction& i) { return !i.sparse(); };
  EXPECT_EQ(count(ArchId::gfx942, dense), 5 + 2 + 2 + 5 + 5 + 5 + 8);
  EXPECT_EQ(count(ArchId::gfx942, any), 32 + 14);
  EXPECT_EQ(count(ArchId::gfx1100, any), 6);
  EXPECT_EQ(count(ArchId::gfx1151, any), 6);
}

/// Of each kind, by the format of A: shapes times pairs of formats times results or modifiers; a wgmma has them at
/// every width, of which the narrowest is counted.
TEST(Instructions, HopperHasAllOfPtx) {
  using enum FormatId;
  std::map<std::pair<std::string, FormatId>, int> count;
  for (const Instruction* i : instructions_of(ArchId::sm_90)) {
    const std::string name = i->name(), kind = name.substr(0, name.find(".m", 1));
    const bool dense_sum = i->kind == InstructionKind::mma && !i->sparse() && format(i->a).floating;
    if (!dense_sum && (i->kind != InstructionKind::wgmma || i->n == 8)) ++count[{kind, i->a}];
  }
  const std::map<std::string, std::map<FormatId, int>> expected = {
      {"mma", {{s8, 12}, {u8, 12}, {s4, 12}, {u4, 12}, {b1, 6}}},
      {"mma.sp", {{fp16, 4}, {bf16, 2}, {tf32, 2}, {fp8e4m3, 2}, {fp8e5m2, 2}, {s8, 8}, {u8, 8}, {s4, 8}, {u4, 8}}},
      {"wmma", {{fp16, 12}, {bf16, 3}, {tf32, 1}, {fp64, 4}, {s8, 6}, {u8, 6}, {s4, 2}, {u4, 2}, {b1, 2}}},
      {"wgmma", {{fp16, 2}, {bf16, 1}, {tf32, 1}, {fp8e4m3, 4}, {fp8e5m2, 4}, {s8, 4}, {u8, 4}, {b1, 1}}},
      {"wgmma.sp", {{fp16, 2}, {bf16, 1}, {tf32, 1}, {fp8e4m3, 4}, {fp8e5m2, 4}, {s8, 4}, {u8, 4}}}};
  for (const auto& [kind, of_kind] : expected) {
    for (const auto& [id, rows] : of_kind) {
      EXPECT_EQ((count[{kind, id}]), rows) << kind << " " << format(id).name;
      if (kind == "mma.sp") {
        EXPECT_EQ((count[{"mma.sp::ordered_metadata", id}]), rows) << format(id).name;
      }
    }
  }
  std::set<int> all, of_integers;
  for (int n = 8; n <= 256; n += 8) {
    all.insert(n);
    if (n % 16 == 0 || n == 8 || n == 24) of_integers.insert(n);
  }
  std::map<FormatId, std::set<int>> widths;
  for (const Instruction& i : instructions()) {
    if (i.kind == InstructionKind::wgmma) widths[i.a].insert(i.n);
  }
  for (const auto& [id, some] : widths) EXPECT_EQ(some, format(id).floating ? all : of_integers);

  const auto has = [](const char* name, ArchId arch) { return find_instruction(name)->archs.contains(arch); };
  EXPECT_TRUE(has("wmma.m8n32k16.f16.f16.f16.f32", ArchId::sm_70));
  EXPECT_FALSE(has("wmma.m8n32k16.s32.s8.s8.s32", ArchId::sm_70));
  EXPECT_FALSE(has("wmma.m8n8k128.s32.b1.b1.s32.and.popc", ArchId::sm_75));
  EXPECT_FALSE(has("wmma.m16n16k8.f32.tf32.tf32.f32", ArchId::gfx908));
  EXPECT_TRUE(has("mma.m8n8k4.f32.f16.f16.f16", ArchId::sm_120));
  EXPECT_TRUE(has("mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3", ArchId::sm_121));
  EXPECT_FALSE(has("mma.sp.m16n8k16.f16.f16.f16.f16", ArchId::sm_75));
  EXPECT_FALSE(has("mma.sp::ordered_metadata.m16n8k64.f32.e5m2.e4m3.f32", ArchId::sm_86));
}

/// PTX ISA, "Sparse matrix storage".
TEST(Sparsity, MetadataIsWhatPtxSays) {
  const auto legal = [](SparseGroup group, bool ascending) {
    std::set<unsigned> values;
    for (int n = 0; n < SparseGroup::kPatterns; ++n) {
      const SparseGroup::Pattern p = SparseGroup::pattern(n);
      if (group.legal(p, ascending)) values.insert(SparseGroup::metadata(p));
    }
    return values;
  };
  const std::set<unsigned> ordered = {0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110};
  for (const int bits : {16, 8, 4}) {
    EXPECT_EQ(legal(sparse_group(bits), true), ordered);
    const std::set<unsigned> any = legal(sparse_group(bits), false);
    EXPECT_EQ(any.size(), 12u);
    for (const unsigned invalid : {0b0000u, 0b0101u, 0b1010u, 0b1111u}) EXPECT_FALSE(any.contains(invalid));
  }
  for (const bool ascending : {true, false}) {
    EXPECT_EQ(legal(sparse_group(32), ascending), (std::set<unsigned>{0b0100, 0b1110}));
  }
}

TEST(Sparsity, PositionsAndPatternsAreEachOthersInverse) {
  struct Case {
    int bits;
    std::vector<int> positions;
    unsigned metadata;
  };
  for (const auto& [bits, positions, metadata] :
       {Case{32, {0}, 0b0100}, Case{32, {1}, 0b1110}, Case{16, {0, 3}, 0b1100}, Case{8, {2, 1}, 0b0110},
        Case{4, {0, 1, 4, 5}, 0b1000}, Case{4, {6, 7, 2, 3}, 0b0111}}) {
    const SparseGroup group = sparse_group(bits);
    const SparseGroup::Pattern pattern = group.pattern_of(positions.data());
    EXPECT_EQ(SparseGroup::metadata(pattern), metadata);
    for (int s = 0; s < group.stored(); ++s)
      EXPECT_EQ(group.position(pattern, s), positions[static_cast<std::size_t>(s)]);
  }
  for (const auto& [bits, positions] : {std::pair{32, std::vector{2}},
                                        {16, {1, 4}},
                                        {4, {1, 2, 4, 5}},
                                        {4, {0, 2, 4, 5}},
                                        {4, {1, 0, 4, 5}},
                                        {4, {0, 1, 8, 9}},
                                        {4, {0, 1, 0, 1}},
                                        {16, {2, 2}}}) {
    const SparseGroup group = sparse_group(bits);
    EXPECT_FALSE(group.legal(group.pattern_of(positions.data()), false)) << testing::PrintToString(positions);
  }
}

/// Whether each place of a rows × columns matrix is there once.
bool covers(std::vector<Element> places, int rows, int columns) {
  const auto number = [columns](Element e) {
    return 0 <= e.column && e.column < columns ? e.row * columns + e.column : -1;
  };
  std::ranges::sort(places, {}, number);
  bool once = std::ssize(places) == rows * columns;
  for (int i = 0; once && i < rows * columns; ++i) once = number(places[static_cast<std::size_t>(i)]) == i;
  return once;
}

TEST(Fragments, EachElementHasOnePlace) {
  for (const Instruction& row : instructions()) {
    if (row.kind != InstructionKind::mma || row.is_volta()) continue;
    const MmaGeometry g = geometry_of(row);
    std::vector<Element> a, b, c;
    std::map<int, std::vector<Element>> metadata;
    for (int lane = 0; lane < 32; ++lane) {
      for (int e = 0; e < g.register_elements; ++e) {
        for (int r = 0; r < g.a_registers(); ++r) a.push_back(g.a(lane, r, e));
        for (int r = 0; r < g.b_registers(); ++r) b.push_back(g.b(lane, r, e));
      }
      for (int i = 0; i < g.accumulators(); ++i) c.push_back(g.c(lane, i));
      for (int selector = 0; row.sparse() && selector < g.selectors(); ++selector) {
        for (int i = 0; g.has_metadata(lane, selector) && i < MmaGeometry::kMetadataGroups; ++i)
          metadata[selector].push_back(g.metadata(lane, i));
      }
    }
    EXPECT_TRUE(covers(a, row.m, g.a_columns()) && covers(b, row.k, row.n) && covers(c, row.m, row.n)) << row.name();
    for (const auto& [selector, groups] : metadata)
      EXPECT_TRUE(covers(groups, row.m, row.k / group_of(row).size)) << row.name() << ", selector " << selector;
  }
  for (int quad_pair = 0; quad_pair < VoltaFragments::kQuadPairs; ++quad_pair) {
    for (const bool columns : {false, true}) {
      std::vector<Element> a, b, c16, c32;
      for (int lane = 0; lane < 32; ++lane) {
        if (VoltaFragments::quad_pair(lane) != quad_pair) continue;
        for (int i = 0; i < VoltaFragments::kOperands; ++i) {
          a.push_back(VoltaFragments::a(lane, i, columns));
          b.push_back(VoltaFragments::b(lane, i, columns));
        }
        for (int i = 0; i < VoltaFragments::kAccumulators; ++i) {
          c16.push_back(VoltaFragments::c(lane, i, 16));
          c32.push_back(VoltaFragments::c(lane, i, 32));
        }
      }
      EXPECT_TRUE(covers(a, 8, 4) && covers(b, 4, 8) && covers(c16, 8, 8) && covers(c32, 8, 8)) << quad_pair;
    }
  }
  for (const int n : {8, 256}) {
    std::vector<Element> c;
    for (int thread = 0; thread < 128; ++thread) {
      for (int i = 0; i < n / 2; ++i) c.push_back(wgmma_accumulator(thread, i));
    }
    EXPECT_TRUE(covers(c, 64, n)) << n;
  }
}

/// PTX ISA, the figures "Sparse MMA .m16n8k… metadata layout": the lane of each four that has bit 0 of a row's columns
/// from `column` on, and from which of its bits on.
TEST(Fragments, OfMetadataAreAsPtxHasThem) {
  struct Case {
    const char* name;
    int selector, row, column, lane_in_four, bit;
  };
  for (const Case& c :
       {Case{"mma.sp.m16n8k16.f32.f16.f16.f32", 0, 3, 0, 0, 0}, Case{"mma.sp.m16n8k16.f32.f16.f16.f32", 3, 3, 4, 3, 4},
        Case{"mma.sp.m16n8k16.f32.bf16.bf16.f32", 2, 11, 0, 2, 16},
        Case{"mma.sp.m16n8k32.f32.f16.f16.f32", 0, 3, 12, 0, 12},
        Case{"mma.sp.m16n8k32.f32.f16.f16.f32", 0, 11, 16, 1, 16},
        Case{"mma.sp.m16n8k32.f32.f16.f16.f32", 1, 11, 16, 3, 16},
        Case{"mma.sp.m16n8k8.f32.tf32.tf32.f32", 1, 3, 6, 1, 12},
        Case{"mma.sp.m16n8k16.f32.tf32.tf32.f32", 1, 11, 8, 3, 16},
        Case{"mma.sp.m16n8k32.s32.s8.s8.s32", 0, 3, 28, 0, 28}, Case{"mma.sp.m16n8k32.s32.s8.s8.s32", 1, 11, 0, 3, 0},
        Case{"mma.sp.m16n8k64.f32.e4m3.e4m3.f32", 0, 3, 32, 2, 0},
        Case{"mma.sp.m16n8k64.s32.s8.s8.s32", 0, 11, 36, 3, 4}, Case{"mma.sp.m16n8k64.s32.s4.s4.s32", 1, 11, 56, 3, 28},
        Case{"mma.sp.m16n8k128.s32.s4.s4.s32", 0, 11, 64, 3, 0}}) {
    const Instruction& instruction = *find_instruction(c.name);
    const MmaGeometry g = geometry_of(instruction);
    const int lane = c.row % 8 * 4 + c.lane_in_four;
    ASSERT_TRUE(g.has_metadata(lane, c.selector)) << c.name;
    const Element at = g.metadata(lane, c.bit / SparseGroup::kMetadataBits);
    EXPECT_EQ(at.row, c.row) << c.name;
    EXPECT_EQ(at.column * group_of(instruction).size, c.column) << c.name;
  }
  EXPECT_EQ(geometry_of(*find_instruction("mma.sp.m16n8k16.f16.f16.f16.f16")).selectors(), 4);
  EXPECT_EQ(geometry_of(*find_instruction("mma.sp.m16n8k32.f16.f16.f16.f16")).selectors(), 2);
  EXPECT_EQ(geometry_of(*find_instruction("mma.sp.m16n8k64.s32.u8.u8.s32")).selectors(), 1);
}

/// PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type": where an element of a lane's fragment is.
TEST(Fragments, OfVoltasShapeAreAsPtxHasThem) {
  using V = VoltaFragments;
  const auto at = [](Element e) { return std::pair{e.row, e.column}; };
  EXPECT_EQ(V::quad_pair(6), 1);
  EXPECT_EQ(V::quad_pair(22), 1);
  EXPECT_EQ(at(V::a(6, 3, false)), std::pair(2, 3));
  EXPECT_EQ(at(V::a(22, 3, false)), std::pair(6, 3));
  EXPECT_EQ(at(V::a(6, 3, true)), std::pair(3, 2));
  EXPECT_EQ(at(V::a(22, 3, true)), std::pair(7, 2));
  EXPECT_EQ(at(V::b(6, 3, false)), std::pair(2, 3));
  EXPECT_EQ(at(V::b(22, 3, false)), std::pair(2, 7));
  EXPECT_EQ(at(V::b(6, 3, true)), std::pair(3, 2));
  EXPECT_EQ(at(V::b(22, 3, true)), std::pair(3, 6));
  EXPECT_EQ(at(V::c(22, 5, 16)), std::pair(6, 5));
  EXPECT_EQ(at(V::c(7, 6, 32)), std::pair(3, 6));
  EXPECT_EQ(at(V::c(20, 3, 32)), std::pair(6, 1));
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
    const MmaGeometry g = geometry_of(*find_instruction(name));
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
