// Names as people write them: datapaths of the catalogue wherever one is asked for, devices for architectures, and what
// may have been meant by a name that there is not.
#include <map>

#include "cli.hpp"
#include "io/nearest.hpp"
#include "src/catalogue/names.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum {
namespace {

using CliNames = CliStreams;

const std::string kHopper = std::string("sm_90:") + kInstruction;
const std::string kAmpere = std::string("sm_80:") + kInstruction;

TEST(Nearest, BeginningsThenPartsThenLetters) {
  const std::vector<std::string> names = {"bf16", "fp16", "fp64", "fp8e4m3", "fp8e5m2", "ue4m3"};
  EXPECT_EQ(nearest_names("fp8", names), "fp8e4m3, fp8e5m2 or fp16");
  EXPECT_EQ(nearest_names("E4M3", names), "ue4m3, fp8e4m3 or bf16");
  EXPECT_EQ(nearest_names("fp17", names), "fp16, fp64 or bf16");
  EXPECT_EQ(nearest_names("", {"a", "b"}), "a or b");
  EXPECT_EQ(nearest_names("x", {"a"}), "a");
  EXPECT_EQ(nearest_names("x", {}), "");
  EXPECT_EQ(nearest_names(std::string(100'000, 'x'), {"a"}), "a");
}

TEST(CatalogueNames, HaveAnArchitectureAnInstructionAndPerhapsAnAccount) {
  const auto parts = [](std::string_view text) {
    const auto name = catalogue_name_of(text);
    return name ? std::string(arch(name->arch).name) + "|" + name->instruction + "|" + name->account : "";
  };
  EXPECT_EQ(parts("sm_90:mma.x"), "sm_90|mma.x|");
  EXPECT_EQ(parts("h100:mma.x:MMA-Sim"), "sm_90|mma.x|MMA-Sim");
  EXPECT_EQ(parts("90:mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32"),
            "sm_90|mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32|");
  EXPECT_EQ(parts("sm_90a:mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32:Khattak & Mikaitis"),
            "sm_90|mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32|Khattak & Mikaitis");
  EXPECT_EQ(parts("MI300X:v_mfma_f32_16x16x16_f16"), "gfx942|v_mfma_f32_16x16x16_f16|");
  EXPECT_EQ(parts("sm_90:::"), "sm_90|::|");
  for (const char* file : {"file.json", "a:b", "sm_91:x", ":", "", "datapath:x", "C:\\x.json", "./sm_90:x"})
    EXPECT_EQ(parts(file), "") << file;
}

TEST_F(CliNames, AnyCommandTakesADatapathOfTheCatalogue) {
  Result r = run({"list", "--datapath", kAmpere});
  EXPECT_EQ(r.status, 0) << r.err;
  write("ampere.json", r.out);
  const Datapath ampere = catalogue(ArchId::sm_80, *find_instruction(kInstruction)).front().datapath;
  EXPECT_EQ(read_datapath((folder_ / "ampere.json").string()), ampere);
  EXPECT_EQ(run({"list", "--datapath", kAmpere, "--json", "same.json"}).out, "");
  EXPECT_EQ(text("same.json"), text("ampere.json"));

  // Whatever takes the file takes the name, and does the same.
  const auto with = [&](std::vector<std::string> words, const std::string& datapath) {
    std::ranges::replace(words, std::string("NAME"), datapath);
    std::ranges::replace(words, std::string("datapath:NAME"), "datapath:" + datapath);
    Result result = run(words);
    if (json::accept(result.out)) {
      json out = json::parse(result.out);
      for (const char* varying : {"source", "dot_products_per_second", "multiply_adds_per_second"}) out.erase(varying);
      if (out.contains("explained")) out["explained"][0].erase("of");
      for (json& each : out.contains("instructions") ? out["instructions"] : out["files"]) each.erase("datapath");
      result.out = out.dump();
    }
    return result;
  };
  ASSERT_EQ(run(probe_datapath({"--record", "p.safetensors"})).status, 0);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"explain", "--datapath", "NAME", "--a", "1,2^-24", "--b", "1,1", "--json", "-"},
        {"list", "--evaluators", "--datapath", "NAME"},
        {"verify", "--vectors", "p.safetensors", "--datapath", "NAME", "--json", "-"},
        {"verify", "--arch", "sm_90", "--instr", kInstruction, "--count", "1e4", "--from", "datapath:NAME",
         "--distribution", "wide", "--json", "-"},
        {"verify", "--arch", "sm_90", "--instr", kInstruction, "--count", "1e4", "--from", "datapath:" + kDatapath,
         "--datapath", "NAME", "--distribution", "wide", "--json", "-"},
        {"probe", "--arch", "sm_90", "--instr", kInstruction, "--from", "datapath:NAME", "--json", "-"}}) {
    SCOPED_TRACE(testing::PrintToString(words));
    const Result by_file = with(words, "ampere.json"), by_name = with(words, kAmpere);
    EXPECT_EQ(by_name.err, "");
    EXPECT_EQ(by_name.status, by_file.status);
    EXPECT_EQ(by_name.out, by_file.out);
  }
  ASSERT_EQ(run({"emulate", "--in", "p.safetensors", "--datapath", kAmpere, "--out", "e.safetensors"}).status, 0);
  EXPECT_EQ(run({"verify", "--vectors", "e.safetensors", "--datapath", "ampere.json"}).status, 0);
  EXPECT_EQ(run({"verify", "--vectors", "e.safetensors", "--datapath", kHopper}).status, 1);
}

/// Without a prefix too; then it says whose instruction is probed.
TEST_F(CliNames, ASourceMayBeANameAlone) {
  const json p = json::parse(printed({"probe", "--from", std::string("a100:") + kInstruction, "--json", "-"}));
  EXPECT_EQ(p["arch"], "sm_80");
  EXPECT_EQ(p["instructions"][0]["name"], kInstruction);
  EXPECT_EQ(p["instructions"][0]["verdict"], "identified");
  std::vector<std::string> arguments = verify("1e4", {"--distribution", "wide"});
  arguments[8] = kHopper;
  EXPECT_EQ(run(arguments).status, 0);
  arguments[8] = kAmpere;
  EXPECT_EQ(run(arguments).status, 1);
}

TEST_F(CliNames, AnAccountIsPartOfTheName) {
  std::map<std::string, std::vector<CatalogueEntry>> accounts;  // of some instruction that has several
  for (CatalogueEntry& each : catalogue(ArchId::sm_89)) accounts[each.instruction->name()].push_back(std::move(each));
  const auto several = std::ranges::find_if(accounts, [](const auto& of) { return of.second.size() > 1; });
  ASSERT_NE(several, accounts.end());
  for (const CatalogueEntry& each : several->second) {
    const std::string r = printed({"list", "--datapath", "l40s:" + several->first + ":" + each.account});
    write("one.json", r);
    EXPECT_EQ(read_datapath((folder_ / "one.json").string()), each.datapath) << each.account;
    EXPECT_NE(json::parse(r)["source"].get<std::string>().find(each.origin), std::string::npos);
  }
}

TEST_F(CliNames, WrongOnesGetTheNearest) {
  const std::vector<std::string> explain = {"explain", "--arch", "sm_90", "--instr"};
  const auto instruction = [&](const std::string& name, const std::vector<std::string>& parts) {
    std::vector<std::string> arguments = explain;
    arguments.push_back(name);
    expect_failure(arguments, 2, parts);
  };
  instruction("mma.m16n8k16.f32.f16.f16", {"--instr: mma.m16n8k16.f32.f16.f16 is unknown", kInstruction});
  expect_failure({"explain", "--arch", "sm_80", "--instr", "wgmma.m64n8k16.f32.f16.f16"}, 2,
                 {"sm_80 does not have", "tcnum list --arch sm_80"});
  expect_failure({"explain", "--datapath", kHopper + ":nobody"}, 2, {"--datapath: account: nobody", "fitted"});
  expect_failure({"explain", "--datapath", "sm_90:mma"}, 2, {"--instr: mma is unknown", "such as mma."});
  expect_failure({"list", "--arch", "gfx940"}, 2, {"--arch: gfx940 is unknown", "nearest are gfx9"});
  expect_failure({"explain", "--arch", "RTX 4095", "--format", "fp16"}, 2, {"nearest are RTX 4090 (sm_89), RTX 4080"});
  for (const char* none : {"Strix Halo", "gfx950", "sm_121"})
    expect_failure({"explain", "--arch", none, "--format", "fp16"}, 2, {": no datapath is known of its instructions"});
  expect_failure({"explain", "--all", "--format", "e4m4"}, 2, {"--format: e4m4 is unknown", "ue4m3"});
}

}  // namespace
}  // namespace tcnum
