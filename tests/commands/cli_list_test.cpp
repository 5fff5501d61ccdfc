// tcnum list as a user runs it.
#include <map>
#include <set>
#include <sstream>

#include "cli.hpp"

namespace tcnum {
namespace {

class CliList : public Cli {
 protected:
  /// With the recorded answers of the source tree.
  Result list(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "list");
    return run(arguments, "out", [] { setenv("TCNUM_VECTORS", TCNUM_SOURCE_DIR "/vectors", 1); });
  }
  json listed(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--json", "-"});
    return json::parse(list(arguments).out).at("architectures");
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  /// The line of an instruction.
  static std::string line_of(const std::string& text, const std::string& name) {
    for (const std::string& line : lines_of(text)) {
      if (line.starts_with("  " + name + " ")) return line;
    }
    return "";
  }
};

TEST_F(CliList, SaysDatapathsShortlyAndSourcesOnce) {
  const std::string hopper = list({"--arch", "sm_90"}).out;
  EXPECT_NE(line_of(hopper, kInstruction).find("1×16 F=25 RZ [1]"), std::string::npos) << line_of(hopper, kInstruction);
  EXPECT_NE(line_of(hopper, kInstruction).find("HMMA.16816.F32"), std::string::npos);
  EXPECT_NE(line_of(hopper, "mma.m16n8k32.f32.e4m3.e4m3.f32").find("2×16 F=25 RZ, +c RN (lowered to HMMA of fp16) [1]"),
            std::string::npos);
  EXPECT_NE(line_of(hopper, "wgmma.m64n8k32.f32.e4m3.e4m3").find("1×32 F=13 RZ m13 [1]"), std::string::npos);
  EXPECT_NE(line_of(hopper, "mma.m8n8k4.f64.f64.f64.f64").find("4×1 FMA RN [1]"), std::string::npos);
  EXPECT_EQ(hopper.find("fitted here"), hopper.rfind("fitted here"));

  const std::string volta = list({"--arch", "sm_70"}).out;
  EXPECT_NE(volta.find("Hickmann & Bradford"), std::string::npos);
  EXPECT_NE(volta.find("refuted by the V100's answers"), std::string::npos);
  EXPECT_EQ(volta.find("e4m3"), std::string::npos);
}

TEST_F(CliList, Filters) {
  const auto names = [&](const std::vector<std::string>& arguments) {
    std::map<std::string, std::set<std::string>> found;
    for (const json& arch : listed(arguments)) {
      for (const json& each : arch.at("instructions"))
        found[arch.at("arch")].insert(each.at("name").get<std::string>());
    }
    return found;
  };
  const auto everywhere = names({"--instr", kInstruction});
  EXPECT_TRUE(everywhere.contains("sm_80") && everywhere.contains("sm_90"));
  EXPECT_FALSE(everywhere.contains("sm_70") || everywhere.contains("gfx942"));
  for (const auto& [arch, found] : everywhere) EXPECT_EQ(found, std::set<std::string>{kInstruction}) << arch;

  const auto of_format = names({"--arch", "sm_89", "--format", "fp8e5m2"});
  EXPECT_GT(of_format.at("sm_89").size(), 1u);
  for (const std::string& name : of_format.at("sm_89")) EXPECT_NE(name.find("e5m2"), std::string::npos) << name;
  const auto all = names({"--arch", "sm_120"}), known = names({"--arch", "sm_120", "--known"});
  EXPECT_LT(known.at("sm_120").size(), all.at("sm_120").size());
  const json sm_120 = listed({"--arch", "sm_120", "--known"}).at(0);
  for (const json& each : sm_120.at("instructions")) {
    EXPECT_FALSE(each.at("datapaths").empty());
  }
  const auto measured = names({"--measured"});
  EXPECT_EQ(measured.size(), 1u);
  EXPECT_TRUE(measured.contains("sm_90"));
  EXPECT_EQ(list({"--arch", "sm_70", "--measured"}).out, "no instruction is so\n");

  expect_failure({"list", "--format", "fp17"}, 2, {"fp17", "tcnum list"});
  expect_failure({"list", "--instr", "mmma.*"}, 2, {"mmma.*", "tcnum list --arch sm_90"});
  expect_failure({"list", "--arch", "sm_80", "--instr", "wgmma.*"}, 2, {"wgmma.*", "sm_80"});
}

TEST_F(CliList, ATableHasARowForEachArchitectureAndDatapath) {
  const auto table = [&](std::vector<std::string> arguments, const char* style = "csv") {
    arguments.insert(arguments.end(), {"--table", style});
    const Result r = list(arguments);
    EXPECT_EQ(r.status, 0) << r.err;
    return r.out;
  };
  const std::vector<std::string> rows =
      lines_of(table({"--arch", "a100", "sm_90", "gfx942", "gfx950", "--format", "fp16", "fp8"}));
  EXPECT_EQ(rows.at(0),
            "architecture,instructions,formats,structure,block k,F,cut,output bits,rounding,accumulator,zero "
            "exponent,subnormals,evidence");
  const auto has = [&](const std::string& begin, const std::string& end) {
    return std::ranges::any_of(rows, [&](const auto& row) { return row.starts_with(begin) && row.ends_with(end); });
  };
  // One row, whatever the format of fp8.
  EXPECT_TRUE(has("sm_90,wgmma k32; wgmma.sp k64 (", ",32,13,RZ,13,RZ,aligned,none,kept,fitted here")) << rows.at(1);
  EXPECT_TRUE(has("sm_80,", "published, some checked (Khattak & Mikaitis)\""));
  EXPECT_TRUE(has("gfx950,", ",no datapath is known"));
  EXPECT_EQ(std::set<std::string>(rows.begin(), rows.end()).size(), rows.size()) << "each row once";

  EXPECT_EQ(lines_of(table({"--arch", "sm_80", "sm_120", "--format", "nvfp4"})).at(1),
            "sm_80,,,,,,,,,,,,no such instruction");
  EXPECT_TRUE(table({"--arch", "sm_90"}, "latex").starts_with("\\begin{tabular}{lllllllllllll}\n\\toprule\n"));
  EXPECT_NE(table({"--arch", "sm_90"}, "md").find("| sm\\_90 | mma k8; mma.sp k16 (3) | fp16 → fp32 |"),
            std::string::npos);
  EXPECT_NE(table({"--arch", "sm_90"}, "text").find("F: bits kept"), std::string::npos);
  expect_failure({"list", "--arch", "sm_80", "--table", "tsv"}, 2, {"tsv", "text, md, csv or latex"});
}

/// A name of several formats is all of them where several are taken, and none where one is meant.
TEST_F(CliList, NamesOfFormatsAreThoseOfTheArchitecture) {
  const auto names = [&](const char* arch, const char* format) {
    std::set<std::string> found;
    const json instructions = listed({"--arch", arch, "--format", format}).at(0).at("instructions");
    for (const json& each : instructions) found.insert(each.at("name").get<std::string>());
    return found;
  };
  auto both = names("sm_89", "fp8e4m3");
  both.merge(names("sm_89", "fp8e5m2"));
  EXPECT_EQ(names("sm_89", "fp8"), both);
  EXPECT_TRUE(names("gfx942", "fp8").contains("v_mfma_f32_16x16x32_bf8_fp8"));
  EXPECT_EQ(names("sm_120", "nvfp4"),
            (std::set<std::string>{"mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3",
                                   "mma.sp::ordered_metadata.m16n8k128.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3"}));
  EXPECT_TRUE(names("sm_120", "mxfp4").contains("mma.m16n8k64.mxf4.2x.f32.e2m1.e2m1.f32.ue8m0"));
  EXPECT_EQ(names("sm_120", "mxfp8").size(), 2u * 4u) << "of e4m3 and e5m2, dense and sparse";
  EXPECT_TRUE(names("gfx950", "mxfp4").contains("v_mfma_scale_f32_16x16x128_f8f6f4.fp4.fp4"));

  const std::string explained = printed({"explain", "--arch", "sm_89", "--format", "fp8", "--a", "1.5", "--b", "1"});
  for (const char* part : {".e4m3.e4m3.", ".e5m2.e5m2."}) EXPECT_NE(explained.find(part), std::string::npos) << part;
  EXPECT_EQ(run({"explain", "--arch", "sm_120", "--format", "nvfp4", "--a", "6", "--b", "1", "--sa", "448"}).status, 0);
  EXPECT_NE(run({"diff", "--arch", "sm_100", "sm_120", "--format", "nvfp4"}).out.find("mxf4nvf4.4x"),
            std::string::npos);

  expect_failure({"diff", "--arch", "sm_89", "sm_90", "--format", "fp8"}, 2, {"--format: fp8", "fp8e4m3 or fp8e5m2"});
  expect_failure({"diff", "--arch", "sm_120", "--format", "mxfp6"}, 2, {"--instr mma.m16n8k32.mxf8f6f4.1x.f32.e2m3"});
  expect_failure({"list", "--arch", "sm_80", "--format", "fp8"}, 2, {"fp8 is no input format of sm_80", "fp16"});
  expect_failure({"gemm", "--in", "x", "--plan", "nvjet", "--out", "y.safetensors", "--format", "nvfp4"}, 2,
                 {"nvfp4 is fp4e2m1 with a ue4m3 scale for each 16 elements"});
}

TEST_F(CliList, TellsWhoEvaluatesADatapath) {
  const std::string fused = printed({"list", "--evaluators", "--datapath", kDatapath, "--json", "-"});
  std::map<std::string, json> of;
  const json list = json::parse(fused);
  EXPECT_EQ(list.at("schema"), "tcnum.evaluators/1");
  for (const json& each : list.at("evaluators")) {
    of[each.at("processor").get<std::string>() + " " + each.at("name").get<std::string>()] = each;
  }
  EXPECT_GT(of.at("CPU columns").at("nodes"), 0);
  EXPECT_GT(of.at("GPU patches").at("nodes"), 0);
  EXPECT_EQ(of.at("CPU exact").at("nodes"), 0);
  EXPECT_EQ(of.at("CPU fma chain").at("why_not"), "its operands are not fp64");

  printed({"list", "--evaluators", "--arch", "sm_90", "--instr", "mma.m8n8k4.f64.f64.f64.f64"},
          {"4 of 4 nodes", "too many bits"});
}

}  // namespace
}  // namespace tcnum
