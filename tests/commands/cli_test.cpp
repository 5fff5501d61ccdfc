// The program as a user runs it: arguments in; standard output, standard error, exit status and files out.
// Labels: sanitized
#include "cli.hpp"
#include "labels.hpp"

#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "tcnum/instruction.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

TEST_F(Cli, HelpAndVersion) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                    {"probe", "--help"},
                                                    {"verify", "--help"},
                                                    {"emulate", "--help"},
                                                    {"bench", "--help"},
                                                    {"bench", "tensor", "--help"},
                                                    {"list", "--help"}}) {
    const Result r = run(arguments);
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(r.err, "");
    EXPECT_NE(r.out.find("Usage: tcnum"), std::string::npos) << r.out;
  }
  const std::string r = printed({"--version"});
  EXPECT_TRUE(r.starts_with("tcnum ")) << r;
}

TEST_F(Cli, WrongUsageIsOneLineThatNamesWhatIsRight) {
  expect_failure({}, 2, {"subcommand"});
  expect_failure({"prove"}, 2, {"prove"});
  expect_failure({"probe", "--bogus"}, 2, {"--bogus"});
  expect_failure({"probe", "--arch"}, 2, {"--arch"});
  expect_failure({"probe", "--seed", "many"}, 2, {"--seed", "many"});
  expect_failure({"probe", "--format", "fp16"}, 2, {"--arch", "sm_90"});
  expect_failure({"probe", "--arch", "sm_91", "--format", "fp16"}, 2, {"sm_91", "sm_90", "gfx942"});
  expect_failure({"probe", "--arch", "sm_90", "--format", "fp17"}, 2, {"fp17", "fp16", "fp8e4m3"});
  expect_failure({"probe", "--arch", "sm_80", "--format", "fp8e4m3"}, 2, {"fp8e4m3", "sm_80", "bf16"});
  expect_failure({"probe", "--arch", "sm_90", "--instr", "mma.m1n1k1"}, 2, {"mma.m1n1k1", "tcnum list"});
  expect_failure({"probe", "--arch", "sm_80", "--instr", "wgmma.m64n8k16.f32.f16.f16"}, 2, {"sm_80", "wgmma"});
  expect_failure({"probe", "--arch", "sm_90", "--format", "bf16", "--instr", kInstruction}, 2, {"bf16"});
  expect_failure({"verify"}, 2, {"--vectors", "--count"});
  expect_failure({"verify", "--count", "lots", "--arch", "sm_90"}, 2, {"--count", "lots", "1e8"});
  expect_failure({"verify", "--campaign", "--arch", "sm_90"}, 2, {"--campaign needs a value", "--arch"});
  expect_failure({"emulate", "--in", "x"}, 2, {"--out"});
  expect_failure({"list", "--arch", "sm_1"}, 2, {"sm_1", "sm_90"});
  expect_failure({"list", "--evaluators"}, 2, {"--evaluators", "--datapath"});
  expect_failure({"list", "--evaluators", "--arch", "sm_90"}, 2, {"--evaluators", "--instr"});
}

TEST_F(Cli, MissingRecordsAreStatus3) {
  expect_failure({"probe", "--arch", "sm_90", "--instr", kInstruction, "--from", "recorded"}, 3,
                 {kInstruction, "empty"});
}

/// tests/files/vector_file_test.cpp has what else may be wrong with a file.
TEST_F(Cli, WrongVectorFilesAreNamed) {
  ASSERT_EQ(run(probe_datapath({"--record", "good.safetensors"})).status, 0);
  write("cut.safetensors", contents(folder_ / "good.safetensors").substr(0, 1000));
  for (const std::string name : {"cut.safetensors", "none.safetensors", "empty"}) {
    expect_failure({"probe", "--from", name}, 2, {name});
    expect_failure({"verify", "--vectors", name}, 2, {name});
    expect_failure({"emulate", "--in", name, "--out", "o.safetensors"}, 2, {name});
  }
  EXPECT_FALSE(fs::exists(folder_ / "o.safetensors"));
  // The file and the options must agree.
  expect_failure({"probe", "--from", "good.safetensors", "--arch", "sm_80"}, 2, {"good.safetensors", "arch", "sm_80"});
  expect_failure({"emulate", "--in", "good.safetensors", "--out", "o", "--instr", "mma.m16n8k8.f32.f16.f16.f32"}, 2,
                 {"good.safetensors", "instruction"});
}

TEST_F(Cli, WrongDatapathsNameTheField) {
  write_datapath("bits.json", "/units/fused/fraction_bits", "many");
  expect_failure(probe_datapath({}, "bits.json"), 2, {"bits.json", "fraction_bits"});
  expect_failure(
      {"probe", "--arch", "sm_90", "--instr", "mma.m16n8k8.f32.f16.f16.f32", "--from", "datapath:" + kDatapath}, 2,
      {"hopper-fp16.json", "k", "8"});
}

TEST_F(Cli, ProbesADatapath) {
  TCNUM_NOT_SANITIZED();
  const Result r = run(probe_datapath({"--json", "p.json"}));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_NE(r.out.find("identified"), std::string::npos);
  EXPECT_NE(r.out.find("One fused sum of 16 products and c"), std::string::npos) << r.out;
  const json document = json::parse(contents(folder_ / "p.json"));
  EXPECT_EQ(document.at("schema"), "tcnum.probe/1");
  EXPECT_EQ(document.at("arch"), "sm_90");
  EXPECT_EQ(document.at("format"), "fp16");
  EXPECT_EQ(document.at("source").at("kind"), "datapath");
  ASSERT_EQ(document.at("instructions").size(), 1u);
  const json& one = document.at("instructions").at(0);
  EXPECT_EQ(one.at("name"), kInstruction);
  EXPECT_EQ(one.at("verdict"), "identified");
  EXPECT_EQ(one.at("mismatches"), 0);
  const json& summary = one.at("summary");
  EXPECT_EQ(summary.at("structure"), "aligned_sum");
  EXPECT_EQ(summary.at("fraction_bits"), 25);
  const auto refutes = [&](const json& r24) { return r24.at("property") == "fraction_bits" && r24.at("value") == 24; };
  EXPECT_TRUE(std::any_of(one.at("rejected").begin(), one.at("rejected").end(), refutes));
  for (const json& rejected : one.at("rejected")) EXPECT_NE(rejected.at("expected"), rejected.at("observed"));

  // The datapath in the report is one that the program reads.
  write("again.json", one.at("datapath").dump());
  EXPECT_EQ(run(probe_datapath({"--record", "again.safetensors"}, "again.json")).status, 0);
  EXPECT_EQ(run({"verify", "--vectors", "again.safetensors", "--datapath", kDatapath}).status, 0);
}

TEST_F(Cli, ProbesEmulatesAndVerifiesIntegers) {
  TCNUM_NOT_SANITIZED();
  const std::string at_the_end = TCNUM_SOURCE_DIR "/docs/datapaths/ampere-s8.json";
  json on_the_way = json::parse(contents(at_the_end));
  on_the_way["tree"] = json::parse(R"(["sum", ["sum", "c", "0..15"], "16..31"])");
  write("on_the_way.json", on_the_way.dump());
  const std::string name = "mma.m16n8k32.s32.s8.s8.s32.satfinite";
  printed({"probe", "--arch", "sm_90", "--instr", name, "--from", "datapath:on_the_way.json", "--json", "p.json",
           "--record", "p.safetensors"},
          {"A chain of two integer sums in ascending k, each of 16 products"});
  const json document = json::parse(contents(folder_ / "p.json")), &one = document.at("instructions").at(0);
  EXPECT_EQ(one.at("verdict"), "identified");
  EXPECT_EQ(one.at("summary").at("structure"), "integer_sum");
  EXPECT_EQ(one.at("summary").at("block_k"), 16);
  EXPECT_EQ(one.at("summary").at("overflow"), "max_finite");
  EXPECT_FALSE(one.at("summary").contains("nan"));

  EXPECT_EQ(run({"verify", "--vectors", "p.safetensors", "--datapath", "on_the_way.json"}).status, 0);
  EXPECT_EQ(run({"verify", "--vectors", "p.safetensors", "--datapath", at_the_end}).status, 1);
  // A format is of every instruction that has it, if the datapath can be.
  EXPECT_EQ(run({"probe", "--arch", "sm_90", "--format", "s8", "--from", "datapath:on_the_way.json"}).status, 0);
}

TEST_F(Cli, ProbesEmulatesAndVerifiesSparseInstructions) {
  TCNUM_NOT_SANITIZED();
  const std::string name = "mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32";
  expect_failure(
      {"probe", "--arch", "sm_90", "--instr", "mma.sp.m16n8k16.f32.f16.f16.f32", "--from", "datapath:" + kDatapath}, 2,
      {"hopper-fp16.json: k: 16", "expected 8, half the k of"});
  Result r = run({"probe", "--arch", "sm_90", "--instr", name, "--from", "datapath:" + kDatapath, "--json", "p.json",
                  "--record", "p.safetensors"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("One fused sum of 16 products and c"), std::string::npos) << r.out;
  const json live = json::parse(contents(folder_ / "p.json"));
  EXPECT_EQ(live.at("instructions").at(0).at("name"), name);
  EXPECT_EQ(live.at("instructions").at(0).at("verdict"), "identified");

  // The record has the operands as the instruction takes them.
  const std::string record = contents(folder_ / "p.safetensors");
  const json header = json::parse(record.substr(8, record.find("}}") - 8 + 2));
  EXPECT_EQ(header.at("A").at("shape").at(2), 16);
  EXPECT_EQ(header.at("E").at("shape"), header.at("A").at("shape"));
  EXPECT_EQ(header.at("E").at("dtype"), "U8");
  EXPECT_EQ(header.at("B").at("shape").at(1), 32);

  write_datapath("other.json", "/units/fused/fraction_bits", 24);
  for (const bool exact : {false, true}) {
    std::vector<std::string> emulate = {"emulate", "--in", "p.safetensors", "--out", "o.safetensors"};
    emulate.insert(emulate.end(), {"--datapath", "other.json"});
    if (exact) emulate.push_back("--exact");
    ASSERT_EQ(run(emulate).status, 0);
    EXPECT_EQ(run({"verify", "--vectors", "o.safetensors", "--datapath", "other.json"}).status, 0);
    r = run({"verify", "--vectors", "o.safetensors", "--datapath", kDatapath, "--json", "v.json"});
    EXPECT_EQ(r.status, 1) << r.err;
    const json example = json::parse(contents(folder_ / "v.json")).at("files").at(0).at("examples").at(0);
    EXPECT_EQ(example.at("a").size(), 16u);
    EXPECT_EQ(example.at("b").size(), 16u);
  }
}

TEST_F(Cli, RecordVerifyEmulateProbeAgain) {
  TCNUM_NOT_SANITIZED();
  ASSERT_EQ(run(probe_datapath({"--record", "records", "--json", "live.json"})).status, 0);
  const std::string record = std::string("records/") + kInstruction + ".safetensors";
  ASSERT_TRUE(fs::exists(folder_ / record));
  Result r = run({"verify", "--vectors", record, "--datapath", kDatapath, "--json", "v.json"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("0 mismatches"), std::string::npos) << r.out;
  EXPECT_EQ(json::parse(contents(folder_ / "v.json")).at("mismatches"), 0);

  // A probe of the record comes to the same datapath.
  r = run({"probe", "--from", record, "--json", "recorded.json"});
  EXPECT_EQ(r.status, 0) << r.err;
  const json live = json::parse(contents(folder_ / "live.json")),
             recorded = json::parse(contents(folder_ / "recorded.json"));
  EXPECT_EQ(recorded.at("source").at("kind"), "recorded");
  EXPECT_EQ(recorded.at("instructions").at(0).at("datapath"), live.at("instructions").at(0).at("datapath"));
  EXPECT_EQ(recorded.at("instructions").at(0).at("probes"), live.at("instructions").at(0).at("probes"));
  expect_failure({"probe", "--from", record, "--record", "again.safetensors"}, 2, {"--record"});

  // So does a probe of a folder of records.
  fs::create_directory(folder_ / "folder");
  fs::rename(folder_ / "records", folder_ / "folder" / "sm_90");
  setenv("TCNUM_VECTORS", (folder_ / "folder").c_str(), 1);
  r = run({"probe", "--arch", "sm_90", "--instr", kInstruction, "--from", "recorded"});
  unsetenv("TCNUM_VECTORS");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("recorded answers"), std::string::npos) << r.out;

  // The fast and the exact emulator fill in the same results, and another datapath others.
  const std::string moved = std::string("folder/sm_90/") + kInstruction + ".safetensors";
  write_datapath("other.json", "/units/fused/fraction_bits", 24);
  EXPECT_EQ(run({"emulate", "--in", moved, "--out", "fast.safetensors", "--datapath", "other.json"}).status, 0);
  printed({"emulate", "--in", moved, "--out", "exact.safetensors", "--datapath", "other.json", "--exact"});
  EXPECT_EQ(contents(folder_ / "fast.safetensors"), contents(folder_ / "exact.safetensors"));
  EXPECT_EQ(run({"verify", "--vectors", "fast.safetensors", "--datapath", "other.json"}).status, 0);

  r = run({"verify", "--vectors", "fast.safetensors", moved, "--datapath", kDatapath, "--json", "w.json"});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_NE(r.out.find("hopper-fp16.json  0x"), std::string::npos) << r.out;
  EXPECT_EQ(r.out.find("expected"), std::string::npos) << r.out;
  const json wrong = json::parse(contents(folder_ / "w.json"));
  EXPECT_GT(wrong.at("files").at(0).at("mismatches"), 0);
  EXPECT_EQ(wrong.at("files").at(1).at("mismatches"), 0);
  const json& example = wrong.at("files").at(0).at("examples").at(0);
  EXPECT_EQ(example.at("a").size(), 16u);
  EXPECT_NE(example.at("expected"), example.at("observed"));
}

TEST_F(Cli, ProbesAllOfAnArchitecture) {
  TCNUM_NOT_SANITIZED();
  const std::string sparse = "mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32";
  for (const std::string& name : {std::string(kInstruction), sparse}) {
    printed(
        {"probe", "--arch", "sm_90", "--instr", name, "--from", "datapath:" + kDatapath, "--record", "records/sm_90"});
  }
  setenv("TCNUM_VECTORS", (folder_ / "records").c_str(), 1);
  const Result r = run({"probe", "--arch", "sm_90", "--from", "recorded", "--json", "all.json"});
  unsetenv("TCNUM_VECTORS");
  EXPECT_EQ(r.status, 3);  // as the others' answers are not in the folder
  EXPECT_NE(r.err.find("mma.m16n8k8.f32.f16.f16.f32"), std::string::npos) << r.err;
  const json all = json::parse(contents(folder_ / "all.json"));
  EXPECT_EQ(all.at("format"), "all");
  std::set<std::string> names;
  for (const json& each : all.at("instructions")) names.insert(each.at("name"));
  EXPECT_EQ(names, (std::set<std::string>{kInstruction, sparse}));
  EXPECT_GT(all.at("missing").size(), 100u);
  expect_failure({"probe", "--arch", "gfx942"}, 3, {"gfx942"});
}

TEST_F(Cli, InterruptLeavesNoHalfWrittenFile) {
  for (int delay = 0; delay < 8; ++delay) {
    const pid_t child = start(probe_datapath({"--record", "r.safetensors", "--json", "p.json"}));
    std::this_thread::sleep_for(std::chrono::milliseconds(40 * delay));
    kill(child, SIGINT);
    const Result r = finish(child);
    EXPECT_TRUE(r.status == -SIGINT || r.status == 0) << r.status << r.err;  // it may have been done by then
    if (fs::exists(folder_ / "p.json")) {
      EXPECT_TRUE(json::accept(contents(folder_ / "p.json")));
    }
    if (fs::exists(folder_ / "r.safetensors")) {
      EXPECT_EQ(run({"verify", "--vectors", "r.safetensors", "--datapath", kDatapath}).status, 0);
    }
    fs::remove(folder_ / "p.json");
    fs::remove(folder_ / "r.safetensors");
  }
}

TEST_F(Cli, Explains) {
  TCNUM_NOT_SANITIZED();
  Result r = run({"explain", "--arch", "sm_90", "--instr", kInstruction, "--a", "0x3c00,0x4000", "--b", "0x3c00,0x4200",
                  "--c", "0x3f800000"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("d = 0x41000000 = 8"), std::string::npos) << r.out;  // 1 + 2 * 3 + 1

  ASSERT_EQ(run(probe_datapath({"--record", "p.safetensors"})).status, 0);
  r = run({"explain", "--in", "p.safetensors", "--index", "700", "--datapath", kDatapath});
  EXPECT_EQ(r.status, 0) << r.err;
  const auto result = r.out.find("d = 0x"), observed = r.out.find("the file has 0x");
  ASSERT_NE(observed, std::string::npos) << r.out;
  EXPECT_EQ(r.out.substr(result + 4, 10), r.out.substr(observed + 13, 10));
  // Tiles of 8 x 8: number 700 is in row 7 and column 4 of tile 10.
  EXPECT_EQ(run({"explain", "--in", "p.safetensors", "--at", "10,7,4", "--datapath", kDatapath}).out, r.out);

  const auto refuse = [&](std::vector<std::string> arguments, const std::vector<std::string>& parts) {
    arguments.insert(arguments.begin(), "explain");
    expect_failure(arguments, 2, parts);
  };
  refuse({"--in", "p.safetensors", "--index", "1000000000"}, {"--index", "p.safetensors"});
  refuse({"--arch", "sm_90", "--instr", kInstruction, "--a", "0.1"},
         {"--a: 0.1; expected a number of fp16, of which 0.0999755859375 = 0x2e66 and 0.10003662109375 = 0x2e67"});
  refuse({"--arch", "sm_90", "--instr", "wmma.m16n16k16.f16.f16.f16.f32", "--b", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"},
         {"--b", "16"});
  for (const char* wrong : {"0,0", "0,0,8", "0,-1,0", "1000000,0,0", "0,0,0,0", "x,0,0"})
    refuse({"--in", "p.safetensors", "--at", wrong}, {"--at", wrong, "tile,row,column, below "});
}

TEST_F(Cli, ExplainTakesOperandsAsTheyAreWritten) {
  const auto explained = [&](const std::vector<std::string>& operands) {
    std::vector<std::string> arguments = {"explain", "--arch", "sm_90", "--instr", kInstruction};
    arguments.insert(arguments.end(), operands.begin(), operands.end());
    return printed(arguments);
  };
  const std::string numbers = explained({"--c", "2^23", "--a", "-2^12,-0.5,-0x1p-2,-1.25e-1", "--b", "2^11,1,1,1"});
  EXPECT_NE(numbers.find("d = 0xbf400000 = -0.75\n  true value -0.875; error +2.097e+06 ulps; the nearest is "
                         "0xbf600000 = -0.875\n"),
            std::string::npos)
      << numbers;
  EXPECT_EQ(numbers, explained({"--c", "0x4b000000", "--a", "0xec00,0xb800,0xb400,0xb000", "--b",
                                "0x6800,0x3c00,0x3c00,0x3c00"}));
  // 17 products are a chain of two, of which the second begins with the first's result.
  const std::string chain =
      explained({"--a", "1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1", "--b", "2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,3", "--c", "5"});
  for (const char* part : {"sum 2 (sum)", "sum 1 ", "a[16]*b[16]", "true value  7 (c, products 0 to 15); no error",
                           "d = 0x41200000 = 10\n  true value 10; no error\n"})
    EXPECT_NE(chain.find(part), std::string::npos) << part << "\n" << chain;
}

/// A file can say that an instruction took operands of the opposite sign, or no c.
TEST_F(Cli, ExplainTakesOperandsAsTheInstructionDid) {
  const Instruction& in = *find_instruction("wgmma.m64n8k16.f32.f16.f16");
  Vectors vectors;
  vectors.tiles = make_operands(in, 1, 1, 1);
  vectors.tiles.a.set(0, 0x3c00);      // 1
  vectors.tiles.b.set(0, 0x4000);      // 2
  vectors.tiles.c.set(0, 0x42c80000);  // 100
  vectors.instruction = in.name();
  vectors.arch = "sm_90";
  vectors.metadata = {{"scale_a", "-1"}, {"scale_d", "0"}};
  write_vectors((folder_ / "signs.safetensors").string(), vectors);
  printed({"explain", "--in", "signs.safetensors", "--index", "0"},
          {"d = 0xc0000000 = -2\n", "scale_a is -1: each a has the opposite sign of the file's\n",
           "scale_d is 0: c is 0, and not the file's 0x42c80000 = 100\n"});
}

// --- Streams and campaigns, with a datapath in the hardware's place.

TEST_F(CliStreams, ACampaignIsRecordedAndChecked) {
  Result r = run(verify("2e5", {"--record", "c.json", "--json", "v.json"}));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("0 mismatches"), std::string::npos);
  EXPECT_NE(r.out.find("multiply-adds emulated a second"), std::string::npos);
  const json v = json::parse(text("v.json"));
  EXPECT_EQ(v["instructions"][0]["distributions"].size(), 11u);
  EXPECT_GE(v["instructions"][0]["count"], 200000);
  EXPECT_EQ(json::parse(text("c.json"))["schema"], "tcnum.campaigns/1");

  EXPECT_EQ(run({"verify", "--arch", "sm_90", "--campaign", "c.json"}).status, 0);
  r = run({"verify", "--arch", "sm_90", "--campaign", "c.json", "--all", "--json", "-"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(json::parse(r.out)["dot_products"], v["instructions"][0]["count"]);

  // A digest that is not the emulator's is a disagreement.
  json wrong = json::parse(text("c.json"));
  wrong["campaigns"][3]["digests"][0] = "0x0123456789abcdef";
  write("wrong.json", wrong.dump());
  r = run({"verify", "--arch", "sm_90", "--campaign", "wrong.json", "--all"});
  EXPECT_EQ(r.status, 1);
  EXPECT_NE(r.out.find("0x0123456789abcdef"), std::string::npos);

  // Recorded again, in parts: the same file.
  for (const char* shard : {"2/3", "3/3", "1/3"}) {
    EXPECT_EQ(run(verify("2e5", {"--chunk", "4096", "--record", "parts.json", "--shard", shard})).status, 0);
  }
  EXPECT_EQ(run({"verify", "--arch", "sm_90", "--campaign", "parts.json", "--all"}).status, 0);
  std::uint64_t parts = 0;
  const json recorded = json::parse(text("parts.json"));
  for (const json& record : recorded["campaigns"]) parts += record["count"].get<std::uint64_t>();
  EXPECT_EQ(parts, v["instructions"][0]["count"]);
}

TEST_F(CliStreams, DisagreementsAreMadeSmallAndKept) {
  write_datapath("other.json", "/units/fused/fraction_bits", 24);
  std::vector<std::string> arguments = verify("1e5", {"--disagreements", "found", "--json", "v.json"});
  arguments[8] = "datapath:other.json";
  printed(arguments, {}, 1);
  const json v = json::parse(text("v.json"));
  EXPECT_GT(v["mismatches"], 0);
  ASSERT_FALSE(v["instructions"][0]["examples"].empty());
  const std::string found = std::string("found/") + kInstruction + ".safetensors";
  EXPECT_EQ(run({"verify", "--vectors", found, "--datapath", "other.json"}).status, 0);
  EXPECT_EQ(run({"verify", "--vectors", found, "--datapath", kDatapath}).status, 1);
}

/// kill −9 at any moment, ten times over: the count and the digests are those of an unbroken run.
TEST_F(CliStreams, SurvivesBeingKilledAtAnyMoment) {
  constexpr const char* kCount = "1.5e6";
  ASSERT_EQ(run(verify(kCount, {"--record", "unbroken.json", "--json", "unbroken_v.json"})).status, 0);
  const std::vector<std::string> arguments =
      verify(kCount, {"--checkpoint", "checkpoint.json", "--record", "broken.json", "--json", "broken_v.json"});
  std::uint32_t random = static_cast<std::uint32_t>(getpid());
  for (int kills = 0; kills < 10; ++kills) {
    random = random * 1664525u + 1013904223u;
    const pid_t child = start(arguments);
    std::this_thread::sleep_for(std::chrono::milliseconds(10 + random / 65536 % 120));
    kill(child, SIGKILL);
    finish(child);
  }
  printed(arguments);
  EXPECT_EQ(text("broken.json"), text("unbroken.json"));
  EXPECT_EQ(json::parse(text("broken_v.json"))["instructions"], json::parse(text("unbroken_v.json"))["instructions"]);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().extension() == ".tmp") fs::remove(entry);  // of writes that were cut off
  }
}

TEST_F(CliStreams, BadInput) {
  expect_failure(verify("1e5", {"--distribution", "normal"}), 2, {"--distribution", "normal"});
  expect_failure(verify("1e5", {"--distribution", "product_pairs"}), 2, {"--distribution", "none"});
  expect_failure(verify("1e5", {"--shard", "4/3"}), 2, {"--shard", "4/3"});
  expect_failure(verify("1e5", {"--chunk", "many"}), 2, {"--chunk", "many"});
  expect_failure(verify("1e5", {"--devices", "0"}), 2, {"--devices"});
  expect_failure(verify("1e5", {"--record", "no/such/folder.json"}), 2, {"no/such/folder.json"});
  expect_failure({"verify", "--distribution", "wide", "--arch", "sm_90"}, 2, {"--count"});
  expect_failure({"verify", "--count", "1e5", "--campaign", "c.json"}, 2, {"--campaign"});
  expect_failure({"verify", "--arch", "sm_90", "--campaign", "none.json"}, 2, {"none.json"});

  ASSERT_EQ(run(verify("1e5", {"--checkpoint", "cp.json", "--record", "c.json"})).status, 0);
  expect_failure({"verify", "--campaign", "c.json"}, 2, {"--arch", "c.json"});
  write("cut.json", text("cp.json").substr(0, 1000));
  expect_failure(verify("1e5", {"--checkpoint", "cut.json"}), 2, {"cut.json", "JSON"});

  const json good = json::parse(text("c.json"));
  const auto refuse = [&](const std::string& pointer, const json& value, const std::string& field) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    write("bad.json", bad.dump());
    expect_failure({"verify", "--arch", "sm_90", "--campaign", "bad.json"}, 2, {"bad.json", field});
    expect_failure(verify("1e5", {"--record", "bad.json"}), 2, {"bad.json", field});
  };
  refuse("/schema", "tcnum.campaigns/7", "schema");
  refuse("/campaigns", 3, "campaigns");
  refuse("/campaigns/2/instruction", "mma.m1n1k1", "campaigns[2].instruction");
  refuse("/campaigns/2/distribution", "odd", "campaigns[2].distribution");
  refuse("/campaigns/2/count", 5, "campaigns[2].count");
  refuse("/campaigns/2/digests/0", "0x12345678123456781", "campaigns[2].digests[0]");
  refuse("/campaigns/2/device", 7, "campaigns[2].device");
}

TEST_F(CliStreams, APatternWithAWidthTakesEveryWidth) {
  TCNUM_NOT_SANITIZED();
  const std::string campaigns = TCNUM_SOURCE_DIR "/vectors/sm_90/campaigns.json";
  const auto names = [&](const char* pattern) {
    const Result r =
        run({"verify", "--campaign", campaigns, "--instr", pattern, "--distribution", "narrow", "--json", "-"});
    EXPECT_EQ(r.status, 0) << r.err;
    std::set<std::string> found;
    const json checked = json::parse(r.out);
    for (const json& record : checked["records"]) found.insert(record["instruction"].get<std::string>());
    return found;
  };
  std::set<std::string> all;
  for (int n = 8; n <= 256; n += 8) all.insert("wgmma.m64n" + std::to_string(n) + "k16.f16.f16.f16");
  EXPECT_EQ(names("wgmma.m64n*k16.f16.*"), all);
  EXPECT_EQ(names("wgmma.m64n[36]*k16.f16.*"),
            (std::set<std::string>{"wgmma.m64n32k16.f16.f16.f16", "wgmma.m64n64k16.f16.f16.f16"}));
  EXPECT_EQ(names("wgmma.*k16.f16.*"), std::set<std::string>{"wgmma.m64n8k16.f16.f16.f16"});
}

TEST_F(Cli, ShowsMachineInstructions) {
  write("sass.txt",
        "\t\tFunction : _ZN5tcnum10mma_kernelINS_28mma_m16n8k16_f32_f16_f16_f32EEEvNS_11DeviceTilesE\n"
        "        /*07e0*/                   HMMA.16816.F32 R20, R8, R12, R20 ;  /* 0x0 */\n");
  printed({"sass", "--arch", "sm_90", "--text", "sass.txt", "--nvcc", "13.0", "--json", "sass.json"},
          {"HMMA.16816.F32"});
  const json table = json::parse(contents(folder_ / "sass.json"));
  EXPECT_EQ(table["schema"], "tcnum.sass/1");
  EXPECT_EQ(table["instructions"][0]["name"], "mma.m16n8k16.f32.f16.f16.f32");
}

}  // namespace
}  // namespace tcnum
