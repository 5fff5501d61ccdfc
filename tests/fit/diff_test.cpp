// tcnum/diff.hpp and `tcnum diff`: what is found is what the exact emulator gives, and what is the same is said to be.
#include "tcnum/diff.hpp"
#include "labels.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/error.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

Datapath catalogued(const char* name, ArchId id) { return catalogue(id, *find_instruction(name)).at(0).datapath; }
Datapath with(Datapath datapath, const char* field, const ordered_json& value) {
  ordered_json json = to_json(datapath);
  json[ordered_json::json_pointer(field)] = value;
  return datapath_from_json(json);
}

/// The exact emulator, instruction after instruction.
std::uint64_t chained(const Datapath& datapath, const Problem& problem) {
  const auto k = static_cast<std::size_t>(datapath.tree.k);
  const std::size_t links = problem.a.size() / k, blocks = problem.sa.size() / links;
  std::uint64_t c = problem.c;
  for (std::size_t link = 0; link < links; ++link) {
    const auto part = [&](const std::vector<std::uint64_t>& of, std::size_t each) {
      return std::span(of).subspan(link * each, each);
    };
    c = emulate_exact(datapath, part(problem.a, k), part(problem.b, k), c, part(problem.sa, blocks),
                      part(problem.sb, blocks));
  }
  return c;
}

void expect_right(const DatapathDiff& found, const Datapath& one, const Datapath& other) {
  ASSERT_TRUE(found.smallest.has_value());
  EXPECT_EQ(found.smallest->expected, chained(one, found.smallest->problem));
  EXPECT_EQ(found.smallest->observed, chained(other, found.smallest->problem));
  EXPECT_NE(found.smallest->expected, found.smallest->observed);
  EXPECT_GT(found.different(), 0u);
  EXPECT_LT(found.different(), found.tried());
}

TEST(Diff, OfTheSameIsEqual) {
  const Datapath hopper = catalogued("mma.m16n8k16.f32.f16.f16.f32", ArchId::sm_90);
  const DatapathDiff found = diff(hopper, hopper);
  EXPECT_TRUE(found.equal);
  EXPECT_FALSE(found.smallest.has_value());
  EXPECT_EQ(found.different(), 0u);
  EXPECT_GT(found.tried(), 100'000u);
  EXPECT_TRUE(found.fields.empty());
}

TEST(Diff, FindsTheFieldThatDoesIt) {
  const Datapath one = catalogued("mma.m16n8k16.f32.f16.f16.f32", ArchId::sm_90);
  struct Case {
    const char* field;
    ordered_json value;
  };
  for (const auto& [field, value] : {Case{"/units/sum/fraction_bits", 24}, Case{"/units/sum/align_rounding", "down"},
                                     Case{"/units/sum/zero_sign", "ieee"}}) {
    const Datapath other = with(one, field, value);
    const DatapathDiff found = diff(one, other, {.tiles = 64});
    expect_right(found, one, other);
    ASSERT_EQ(found.fields.size(), 1u) << field;
    EXPECT_TRUE(found.fields[0].decides) << field;
    EXPECT_EQ("units.sum." + std::string(field).substr(sizeof "/units/sum"), found.fields[0].field);
  }
}

TEST(Diff, ChainsTheOneThatTakesFewerProducts) {
  const Datapath volta = catalogued("mma.m8n8k4.f32.f16.f16.f32", ArchId::sm_70),
                 hopper = catalogued("mma.m16n8k16.f32.f16.f16.f32", ArchId::sm_90);
  const DatapathDiff found = diff(volta, hopper, {.tiles = 32});
  EXPECT_EQ(found.k, 16);
  expect_right(found, volta, hopper);
  const DatapathDiff back = diff(hopper, volta, {.tiles = 32});
  EXPECT_EQ(back.different(), found.different());
  // A chain of FMAs is the same however many an instruction takes.
  const DatapathDiff chains = diff(catalogued("mma.m8n8k4.f64.f64.f64.f64", ArchId::sm_90),
                                   catalogued("mma.m16n8k16.f64.f64.f64.f64", ArchId::sm_90), {.tiles = 16});
  EXPECT_EQ(chains.different(), 0u);
  EXPECT_FALSE(chains.equal);
}

TEST(Diff, RefusesWhatCannotBeCompared) {
  const Datapath fp16 = catalogued("mma.m16n8k16.f32.f16.f16.f32", ArchId::sm_90),
                 bf16 = catalogued("mma.m16n8k16.f32.bf16.bf16.f32", ArchId::sm_90);
  EXPECT_EQ(refusal([&] { return diff(fp16, bf16); }),
            "diff: one is of fp16 · fp16 + fp32 → fp32, the other of bf16 · bf16 + fp32 → fp32; expected the same "
            "formats");
  Datapath scaled = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/blackwell-mxf8f6f4.json"), plain = scaled;
  plain.numerics.scales.reset();
  EXPECT_EQ(refusal([&] { return diff(scaled, plain); }),
            "diff: one is of fp8e4m3 · fp8e4m3 + fp32 → fp32, scales of ue8m0 for 32, the other of fp8e4m3 · fp8e4m3 + "
            "fp32 → fp32; expected the same formats");
}

/// With block scales, that of a chain of half as many products too.
TEST(Diff, TakesBlockScales) {
  TCNUM_TAKES_LONG();
  const Datapath one = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/blackwell-nvfp4.json");
  const Datapath other = with(one, "/units/group/scale_exponents_alone", false);
  const DatapathDiff found = diff(one, other, {.tiles = 32});
  expect_right(found, one, other);
  ASSERT_EQ(found.fields.size(), 1u);
  EXPECT_EQ(found.fields[0].field, "units.group.scale_exponents_alone");
  EXPECT_TRUE(found.fields[0].decides);
  EXPECT_EQ(found.smallest->problem.sa.size(), 4u);

  ordered_json half = to_json(one);
  half["k"] = 32;
  half["tree"] = ordered_json::parse(R"(["fused", "c", ["group", "0..15"], ["group", "16..31"]])");
  const Datapath shorter = datapath_from_json(half);
  const DatapathDiff chained_too = diff(shorter, one, {.tiles = 16});
  EXPECT_EQ(chained_too.k, 64);
  expect_right(chained_too, shorter, one);
}

class CliDiff : public Cli {
 protected:
  /// Arguments with spaces between them.
  Result run_words(const std::string& arguments) const {
    std::istringstream words(arguments);
    return run(std::vector<std::string>(std::istream_iterator<std::string>(words), {}));
  }
};

TEST_F(CliDiff, SaysWhereArchitecturesPart) {
  const Result text = run_words("diff --arch sm_80 --arch sm_90 --format fp16");
  EXPECT_EQ(text.status, 1);
  EXPECT_EQ(text.err, "");
  for (const char* part : {"They differ, in dot products of 16 products:", "gaussian", "units.sum.fraction_bits"})
    EXPECT_NE(text.out.find(part), std::string::npos) << text.out;
  const Result json = run_words("diff --arch sm_80 --arch sm_86 --format fp16 --json -");
  EXPECT_EQ(json.status, 0);
  EXPECT_TRUE(ordered_json::parse(json.out).at("equal"));
  const Result all = run_words("diff --all --format e5m2");
  EXPECT_EQ(all.status, 1);
  EXPECT_NE(all.out.find("sm_100"), std::string::npos) << all.out;
  // fp8 means wgmma on Hopper and tcgen05 on Blackwell, which differ; mma is another class, and marked.
  for (const char* part :
       {"sm_90 wgmma.m64n8k32.f32.e5m2.e5m2", "sm_90 mma.m16n8k32.f32.e5m2.e5m2.f32 (lowered to HMMA of"})
    EXPECT_NE(all.out.find(part), std::string::npos) << all.out;
  Result fp8 = run_words("diff --arch sm_90 --arch sm_100 --format fp8e4m3");
  std::ranges::replace(fp8.out, '\n', ' ');
  EXPECT_EQ(fp8.status, 1);
  EXPECT_TRUE(
      fp8.out.starts_with("fp8e4m3 on sm_90: wgmma.m64n8k32.f32.e4m3.e4m3, of which cuBLASLt 13.1 "
                          "(vectors/sm_90/gemm.json) makes large products. Others whose datapath differs: mma."))
      << fp8.out;
  EXPECT_NE(fp8.out.find("fp8e4m3 on sm_100: tcgen05.mma."), std::string::npos) << fp8.out;
  EXPECT_EQ(fp8.out.find("observed"), std::string::npos) << fp8.out;
  const Result file = run_words("diff --datapath " TCNUM_SOURCE_DIR
                                "/docs/datapaths/ampere-fp16.json --arch sm_80 --instr mma.m16n8k8.f32.f16.f16.f32");
  EXPECT_EQ(file.err, "");
  EXPECT_EQ(file.status, 0) << file.out;
}

TEST_F(CliDiff, DrawsTheMatrix) {
  const Result r = run_words("diff --all --format e5m2 --svg m.svg --json m.json");
  EXPECT_EQ(r.status, 1) << r.err;
  const std::string svg = contents(folder_ / "m.svg");
  const json found = json::parse(contents(folder_ / "m.json"));
  EXPECT_TRUE(svg.starts_with("<svg ")) << svg;
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  std::size_t rectangles = 0;
  for (std::size_t at = svg.find("<rect x="); at != std::string::npos; at = svg.find("<rect x=", at + 1)) ++rectangles;
  const std::size_t names = found.at("classes").size();
  EXPECT_GE(rectangles, names * names);
  const json& pair = found.at("pairs").at(0);
  EXPECT_NE(
      svg.find(fmt::format("{:.2g} %", 100 * pair.at("different").get<double>() / pair.at("tried").get<double>())),
      std::string::npos);
}

TEST_F(CliDiff, SaysWherePlansPart) {
  const Result r = run_words("diff --plan nvjet-fp8 --plan nvjet-fp8-slow --format fp8e4m3 --most-k 512 --json p.json");
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_NE(r.out.find("  *  promote_every       none  128\n"), std::string::npos) << r.out;
  const json found = json::parse(contents(folder_ / "p.json"));
  EXPECT_EQ(found.at("schema"), "tcnum.plan_diff/1");
  EXPECT_GT(found.at("smallest_k"), 128);
  EXPECT_EQ(found.at("lengths").size(), 10u);
  // Half of the bits hide most of what differs, but not all.
  const Result narrow =
      run_words("diff --plan nvjet-fp8 --plan deepgemm --format fp8e4m3 --output bf16 --most-k 512 --json p.json");
  EXPECT_EQ(narrow.status, 1) << narrow.err;
  const json half = json::parse(contents(folder_ / "p.json"));
  EXPECT_EQ(half.at("output"), "bf16");
  EXPECT_LT(half.at("lengths").back().at("different"), found.at("lengths").back().at("different"));
  const Result none = run_words("diff --plan nvjet --plan nvjet --format fp16 --most-k 64");
  EXPECT_EQ(none.status, 0) << none.err;
  EXPECT_NE(none.out.find("They never differ"), std::string::npos) << none.out;
}

TEST_F(CliDiff, RefusesWhatIsWrong) {
  for (const auto& [arguments, message] : std::vector<std::pair<std::string, std::string>>{
           {"diff", "diff: --arch: missing; expected two of them, or two of --datapath, or one of each"},
           {"diff --arch sm_80 --arch sm_90", "diff: --format or --instr: expected one of the two"},
           {"diff --arch sm_80 --arch sm_86 --arch sm_90 --format fp16", "--arch: 3 are given; expected one or two"},
           {"diff --arch sm_80 --arch sm_91 --format fp16", "sm_91"},
           {"diff --arch 80 --arch 91 --format fp16", "91 is unknown"},
           {"diff --datapath h100:nothing --datapath h100:nothing", "nothing is unknown"},
           {"diff --all", "--all requires --format"},
           {"diff --all --format fp99", "--format: fp99 is unknown"},
           {"diff --datapath /nowhere.json --arch sm_80 --format fp16", "/nowhere.json"},
           {"diff --arch sm_80 --arch sm_90 --format fp16 --svg x.svg", "--svg"},
           {"diff --all --format fp16 --svg x --json x", "--svg"},
           {"diff --plan nvjet --format fp16", "--plan: expected two"},
           {"diff --plan nvjet --plan nvjet --arch sm_90 --format fp16", "--arch excludes --plan"},
           {"diff --plan nvjet --plan nvjet", "--format: missing"},
           {"diff --plan nvjet --plan /nowhere.json --format fp16", "/nowhere.json is neither"},
           {"diff --plan nvjet --plan nvjet --format fp99", "--format: fp99"},
           {"diff --plan nvjet --plan nvjet --format fp16 --most-k 0", "--most-k"},
           {"diff --plan nvjet-fp8 --plan deepgemm --format fp8e4m3", "--output: missing, as nvjet-fp8 gives fp32 and"},
           {"diff --plan nvjet --plan nvjet --format fp16 --output fp99", "--output: fp99"},
           {"diff --plan nvjet --plan nvjet --format fp16 --output ue8m0", "output"},
       }) {
    const Result done = run_words(arguments);
    EXPECT_EQ(done.status, 2) << arguments;
    EXPECT_NE(done.err.find(message), std::string::npos) << arguments << ": " << done.err;
    EXPECT_EQ(std::ranges::count(done.err, '\n'), 1) << done.err;
  }
}

}  // namespace
}  // namespace tcnum
