// Accounts of other architectures as a user meets them: block scales from end to end, and who says what.
#include <map>
#include <random>
#include <set>

#include "cli.hpp"
#include "sparse_operands.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

class CliAccounts : public Cli {
 protected:
  std::string path(const char* name) const { return (folder_ / name).string(); }

  /// Operands of any bits, and scales near each other, so that all blocks count.
  Vectors operands(const char* instruction, const char* arch) {
    const Instruction& in = *find_instruction(instruction);
    Vectors vectors{
        .tiles = random_tiles(in, 3, 4, 5), .instruction = in.name(), .arch = arch, .device = "", .metadata = {}};
    std::mt19937_64 random(1);
    Tiles& t = vectors.tiles;
    for (std::size_t i = 0; i < t.c.size(); ++i) t.c.set(i, 0x3f80'0000 + (random() & 0xffffff));
    const std::uint64_t one = static_cast<std::uint64_t>(format(in.scales.format).bias)
                              << format(in.scales.format).fraction_bits;
    for (Codes* scales : {&t.sa, &t.sb}) {
      for (std::size_t i = 0; i < scales->size(); ++i) scales->set(i, one + random() % 16);
    }
    write_vectors(path("p.safetensors"), vectors);
    return vectors;
  }
};

TEST_F(CliAccounts, BlockScaledInstructionsAreEmulatedFromFiles) {
  struct Case {
    const char *instruction, *arch;
  };
  for (const auto& [name, arch] : {Case{"mma.m16n8k32.mxf8f6f4.1x.f32.e3m2.e2m3.f32.ue8m0", "sm_120"},
                                   Case{"mma.m16n8k64.mxf4.2x.f32.e2m1.e2m1.f32.ue8m0", "sm_120"},
                                   Case{"mma.m16n8k64.mxf4nvf4.2x.f32.e2m1.e2m1.f32.ue8m0", "sm_120"},
                                   Case{"mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3", "sm_120"},
                                   Case{"tcgen05.mma.m128n16k32.mxf8f6f4.1x.f32.e5m2.e4m3.ue8m0", "sm_100"},
                                   Case{"tcgen05.mma.m256n16k64.mxf4nvf4.4x.f32.e2m1.e2m1.ue4m3", "sm_103"}}) {
    SCOPED_TRACE(name);
    const Vectors asked = operands(name, arch);
    for (const char* way : {"", "--exact"}) {
      std::vector<std::string> arguments = {"emulate", "--in", "p.safetensors", "--out", "q.safetensors"};
      if (*way != '\0') arguments.emplace_back(way);
      printed(arguments);
      const Vectors answered = read_vectors(path("q.safetensors"));
      EXPECT_EQ(answered.tiles.sa, asked.tiles.sa);
      EXPECT_EQ(answered.tiles.sb, asked.tiles.sb);
      const CatalogueEntry entry = catalogue(*find_arch(arch), *find_instruction(name)).at(0);
      for (std::size_t i = 0; i < asked.tiles.size(); ++i) {
        const Problem p = problem_at(asked.tiles, i);
        EXPECT_EQ(answered.tiles.d[i], emulate_exact(entry.datapath, p.a, p.b, p.c, p.sa, p.sb));
      }
      EXPECT_NE(answered.metadata.at("datapath").find("published only"), std::string::npos);
    }
    EXPECT_EQ(run({"verify", "--vectors", "q.safetensors"}).status, 0);
    printed({"explain", "--in", "q.safetensors", "--index", "7"}, {"scale of a"});
  }
}

TEST_F(CliAccounts, AnAccountIsNamed) {
  const std::string name = "mma.m16n8k8.f16.f16.f16.f16", of = "sm_80:" + name + ":";
  Result r = run({"explain", "--arch", "sm_80", "--instr", name});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("datapath Khattak & Mikaitis"), std::string::npos);
  EXPECT_NE(r.out.find("explains 5000 published answers of the A100"), std::string::npos);
  r = run({"explain", "--datapath", of + "MMA-Sim"});
  EXPECT_NE(r.out.find("datapath MMA-Sim"), std::string::npos) << r.err;
  expect_failure({"explain", "--datapath", of + "nobody"}, 2, {"--datapath: account: nobody", "MMA-Sim", "Khattak"});
  r = run({"explain", "--datapath", of + "MMA-Sim", "--datapath", of + "Khattak & Mikaitis", "--a", "2^-12", "--b",
           "2^-9", "--json", "e.json"});
  ASSERT_EQ(r.status, 0) << r.err;
  std::vector<std::string> accounts;
  const json explained = json::parse(contents(folder_ / "e.json"));
  for (const json& side : explained.at("explained")) {
    for (const json& of : side.at("of")) accounts.push_back(of.at("account"));
  }
  EXPECT_EQ(accounts, (std::vector<std::string>{"MMA-Sim", "Khattak & Mikaitis"}));
  EXPECT_NE(run({"list", "--arch", "gfx950"}).out.find("nobody has published one"), std::string::npos);
}

TEST_F(CliAccounts, BlockScalesAreRefusedWhereNothingTakesThem) {
  const std::string scaled = "mma.m16n8k32.mxf8f6f4.1x.f32.e4m3.e4m3.f32.ue8m0";
  expect_failure({"explain", "--arch", "sm_120", "--instr", "mma.m16n8k16.f32.f16.f16.f32", "--sa", "0x7f"}, 2,
                 {"--sa", "no block scales"});
  expect_failure({"explain", "--arch", "sm_120", "--instr", scaled, "--sa", "0x7f,0x7f"}, 2, {"--sa", "1"});
  expect_failure({"explain", "--arch", "sm_100", "--instr", "tcgen05.mma.cta_group::1.kind::f16"}, 2,
                 {"--instr", "shape"});
}

}  // namespace
}  // namespace tcnum
