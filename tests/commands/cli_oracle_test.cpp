// Programs as oracles on the command line: tcnum's own emulator, C and NumPy, wrong models, and what goes wrong.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cli.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/fit.hpp"
#include "tcnum/program_oracle.hpp"

namespace tcnum {
namespace {

using Words = std::vector<std::string>;

const Words kFp16Dot = {"--a", "fp16", "--d", "fp32", "--k", "16"};
const Words kFp32Dot = {"--a", "fp32", "--d", "fp32", "--k", "16"};

class CliOracle : public Cli {
 protected:
  /// This program, serving a datapath.
  static std::string served(const std::string& datapath) {
    return "exec:'" + std::string(kProgram) + "' emulate --serve --datapath '" + datapath + "'";
  }
  static Words probe(const std::string& from, const Words& of, const Words& more = {}) {
    Words all = {"probe", "--from", from};
    all.insert(all.end(), of.begin(), of.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static Words verify(const std::string& from, const std::string& datapath, const Words& of, const Words& more = {}) {
    Words all = {"verify", "--from", from, "--datapath", datapath};
    all.insert(all.end(), of.begin(), of.end());
    all.insert(all.end(), more.begin(), more.end());
    if (std::ranges::find(all, "--count") == all.end()) all.insert(all.end(), {"--count", "2e5"});
    return all;
  }
  json probed(const std::string& from, const Words& of, int status = 0, const Words& more = {}) const {
    Words arguments = probe(from, of, more);
    arguments.insert(arguments.end(), {"--json", "-"});
    const Result r = run(arguments);
    EXPECT_EQ(r.status, status) << r.err;
    return r.out.empty() ? json() : json::parse(r.out);
  }
  static std::string misbehaving(const std::string& mode) {
    return std::string("exec:'") + TCNUM_MISBEHAVING_ORACLE + "' " + mode;
  }
};

// --- Programs that answer as they should.

TEST_F(CliOracle, FindsTheDatapathThatAProgramServes) {
  const json report = probed(served(kDatapath), kFp16Dot);
  EXPECT_EQ(report.at("arch"), nullptr);
  EXPECT_EQ(report.at("format"), "fp16");
  EXPECT_EQ(report.at("source").at("kind"), "program");
  EXPECT_NE(report.at("source").at("device").get<std::string>().find("emulate --serve"), std::string::npos);
  const json& found = report.at("instructions").at(0);
  EXPECT_EQ(found.at("name"), "dot.k16.f32.f16.f16.f32");
  EXPECT_EQ(found.at("verdict"), "identified");
  EXPECT_EQ(found.at("summary").at("fraction_bits"), 25);
  EXPECT_EQ(found.at("mismatches"), 0);
}

TEST_F(CliOracle, AFilePairIsAsGoodAsPipes) {
  // The bits of one batch of problems, by either way.
  const std::string by_files = "exec:sh -c '\"" + std::string(kProgram) +
                               "\" emulate --in \"$1\" --out \"$2\" --datapath \"" + kDatapath + "\"' sh {in} {out}";
  const Words of = {"--arch", "sm_90", "--instr", kInstruction};
  const json files = probed(by_files, of), pipes = probed(served(kDatapath), of);
  EXPECT_EQ(files.at("instructions"), pipes.at("instructions"));
}

TEST_F(CliOracle, ExplainsTheExampleInC) {
  const json report = probed(std::string("exec:") + TCNUM_ORACLE_EXAMPLE, kFp32Dot, 0, {"--any-nan"});
  EXPECT_EQ(report.at("source").at("nan"), "any");
  const json& found = report.at("instructions").at(0);
  EXPECT_EQ(found.at("verdict"), "identified");
  EXPECT_EQ(found.at("summary").at("structure"), "fp_add_tree");
  EXPECT_EQ(found.at("summary").at("block_k"), 1);
  EXPECT_EQ(found.at("summary").at("accumulator"), "after");
  EXPECT_EQ(found.at("summary").at("output_rounding"), "nearest_even");
  // The datapath that was found is what it computes, also where nobody has looked before.
  write("found.json", found.at("datapath").dump());
  printed(verify(std::string("exec:") + TCNUM_ORACLE_EXAMPLE, "found.json", kFp32Dot, {"--any-nan"}),
          {"dot.k16.f32.f32.f32.f32: ", " 0 mismatches"});
}

/// A Python that has NumPy; empty if there is none.
std::string python_with_numpy() {
  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    if (std::system((python + " -c 'import numpy' >/dev/null 2>&1").c_str()) == 0) return python;
  }
  return "";
}

TEST_F(CliOracle, SaysOfNumPyWhatItsAnswersBear) {
  const std::string python = python_with_numpy();
  if (python.empty()) GTEST_SKIP() << "no python3 with numpy (Debian's python3-numpy)";
  // Which BLAS multiplies is the machine's business: the verdict may be any, if it is what the answers say.
  const Instruction dot = make_dot(FormatId::fp32, FormatId::fp32, FormatId::fp32, FormatId::fp32, 16);
  const auto program = tcnum::start_program(python + " '" TCNUM_SOURCE_DIR "/examples/oracles/oracle.py'");
  const auto oracle = make_program_oracle(dot, std::nullopt, program, NanBits::any);
  const FittedDatapath fitted = fit_datapath(dot, *oracle, {.tiles_per_distribution = 2, .search_tiles = 20});
  finish_program(*program);

  ASSERT_GT(fitted.answers.size(), 1000u);
  Tiles recomputed = fitted.answers;
  emulate_exact(fitted.datapath, recomputed);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < recomputed.size(); ++i) wrong += recomputed.d[i] != fitted.answers.d[i] ? 1 : 0;
  EXPECT_EQ(wrong, fitted.mismatches);
  EXPECT_EQ(wrong == 0, fitted.verdict != Verdict::unexplained);
  if (fitted.verdict == Verdict::unexplained) {
    ASSERT_TRUE(fitted.counterexample);
    EXPECT_NE(fitted.counterexample->expected, fitted.counterexample->observed);
  }
}

// --- Models that are nearly right.

struct WrongModel {
  std::string what, pointer;
  json value;
};

TEST_F(CliOracle, FindsWhatIsWrongWithAModel) {
  for (const auto& [what, pointer, value] : std::vector<WrongModel>{
           {"one bit less", "/units/fused/fraction_bits", 24},
           {"one bit more", "/units/fused/fraction_bits", 26},
           {"another floor", "/units/fused/zero_exponent", {{"floor", -122}}},
           {"another rounding", "/units/fused/result/0/rounding", "nearest_even"},
           {"another cut", "/units/fused/align_rounding", "down"},
       }) {
    SCOPED_TRACE(what);
    write_datapath("wrong.json", pointer, value);
    const std::string wrong = served((folder_ / "wrong.json").string());
    // Beside the right one, a small problem shows that it is wrong.
    const std::string r = printed(verify(wrong, kDatapath, kFp16Dot, {"--json", "-"}), {}, 1);
    std::size_t fewest = 17;
    const json report = json::parse(r);
    for (const json& example : report.at("instructions").at(0).at("examples")) {
      EXPECT_NE(example.at("expected"), example.at("observed"));
      std::size_t terms = example.at("c") == "0x00000000" ? 0 : 1;
      for (const json& code : example.at("a")) terms += code == "0x0000" ? 0 : 1;
      fewest = std::min(fewest, terms);
    }
    EXPECT_LE(fewest, 3u) << r;
    // By itself, the model is what it is.
    EXPECT_EQ(probed(wrong, kFp16Dot).at("instructions").at(0).at("verdict"), "identified");
  }
}

// --- Block scales.

const Words kNvfp4Dot = {"--a", "fp4e2m1",       "--d", "fp32",           "--k",
                         "64",  "--scale-block", "16",  "--scale-format", "ue4m3"};
const std::string kNvfp4 = TCNUM_SOURCE_DIR "/docs/datapaths/blackwell-nvfp4.json",
                  kMxf8 = TCNUM_SOURCE_DIR "/docs/datapaths/blackwell-mxf8f6f4.json";

TEST_F(CliOracle, BlockScalesAreAsked) {
  for (const auto& [arch, instruction] : std::vector<std::pair<std::string, std::string>>{
           {"sm_120", "mma.m16n8k32.mxf8f6f4.1x.f32.e4m3.e2m1.f32.ue8m0"},
           {"sm_100", "tcgen05.mma.m128n8k64.mxf4.2x.f32.e2m1.e2m1.ue8m0"},
           {"sm_120", "mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3"}}) {
    const std::string from =
        "exec:'" + std::string(kProgram) + "' emulate --serve --exact --arch " + arch + " --instr " + instruction;
    printed({"verify", "--count", "4096", "--distribution", "specials", "--arch", arch, "--instr", instruction,
             "--from", from},
            {instruction + " on " + arch, " 0 mismatches"});
  }
  // A scale of a sparse row is one for as many elements, half of which are stored.
  const std::string sparse = "mma.sp::ordered_metadata.m16n8k64.mxf8f6f4.1x.f32.e4m3.e4m3.f32.ue8m0";
  const Words of_sparse = {"--arch", "sm_120", "--instr", sparse};
  printed(verify(served(kMxf8) + " --arch sm_120 --instr " + sparse, kMxf8, of_sparse,
                 {"--count", "4096", "--distribution", "wide"}),
          {" 0 mismatches"});
  printed(verify(served(kNvfp4), kNvfp4, kNvfp4Dot, {"--count", "4096", "--distribution", "wide"}),
          {"dot.k64.block16.f32.e2m1.e2m1.f32.ue4m3: "});
}

/// What the tensors mean is not tcnum's word alone.
TEST_F(CliOracle, BlockScalesMeanTheSameToOthers) {
  const std::string python = python_with_numpy();
  if (python.empty()) GTEST_SKIP() << "no python3 with numpy (Debian's python3-numpy)";
  json exact = json::parse(contents(kMxf8));
  exact["k"] = 6;
  for (const char* operand : {"a", "b"}) exact["operands"][operand]["format"] = "fp4e2m1";
  json& unit = exact["units"]["fused"];
  unit["fraction_bits"] = "exact";
  unit.erase("zero_exponent");
  unit["result"][0]["rounding"] = "nearest_even";
  exact["tree"] = {"fused", "c", "0..5"};
  const std::string from = "exec:" + python + " '" TCNUM_SOURCE_DIR "/tests/oracles/scaled.py'";
  for (const std::string format : {"ue8m0", "ue4m3"}) {
    exact["scales"] = {{"format", format}, {"block_k", 2}};
    write("exact.json", exact.dump());
    const Words of = {"--a", "fp4e2m1", "--d", "fp32", "--k", "6", "--scale-block", "2", "--scale-format", format};
    for (const char* distribution : {"narrow", "gaussian"}) {
      const Result r =
          run(verify(from, "exact.json", of, {"--count", "8192", "--distribution", distribution, "--any-nan"}));
      EXPECT_EQ(r.status, 0) << r.out << r.err;
      EXPECT_NE(r.out.find("8,192 dot products, 0 mismatches"), std::string::npos) << r.out;
    }
  }
}

TEST_F(CliOracle, AWrongModelOfBlockScalesIsFoundAndKept) {
  const std::string instruction = "mma.m16n8k32.mxf8f6f4.1x.f32.e4m3.e4m3.f32.ue8m0";
  json wrong = json::parse(contents(kMxf8));
  wrong.at("units").at("fused").at("zero_exponent").at("floor") = -132;  // not -133
  write("wrong.json", wrong.dump());
  const std::string model = (folder_ / "wrong.json").string();
  // One of these problems shows it.
  const Words of = {"verify", "--arch",  "sm_120", "--instr",         instruction, "--distribution", "edges", "--seed",
                    "37",     "--count", "4096",   "--disagreements", "kept"};
  std::vector<std::string> asked = of;
  asked.insert(asked.end(), {"--from", served(model), "--json", "results.json"});
  printed(asked, {"scales from k = 0 "}, 1);
  const json report = json::parse(text("results.json"));
  const json& examples = report.at("instructions").at(0).at("examples");
  ASSERT_EQ(examples.size(), 1u);
  EXPECT_EQ(examples.at(0).at("sa").size(), 1u);
  // What is kept has the scales with which it disagrees.
  const std::string file = "kept/" + instruction + ".safetensors";
  EXPECT_EQ(run({"verify", "--vectors", file, "--datapath", model}).status, 0);
  EXPECT_EQ(run({"verify", "--vectors", file}).status, 1);
}

// --- Programs that do not.

TEST_F(CliOracle, MisbehaviourIsSaidInOneLine) {
  for (const Words& command : {probe(misbehaving("dies"), kFp16Dot), verify(misbehaving("dies"), kDatapath, kFp16Dot)})
    expect_failure(command, 2, {"ended with status 3 before answer 1", "no licence", "expected"});
  for (const Words& command : {probe(misbehaving("hangs"), kFp16Dot, {"--time-limit", "0.05"}),
                               verify(misbehaving("hangs"), kDatapath, kFp16Dot, {"--time-limit", "0.05"})})
    expect_failure(command, 2, {"gave no answer in 0.05 s"});
  expect_failure(probe(misbehaving("dtype"), kFp16Dot), 2, {"tensor D: dtype: \"I32\"; expected \"F32\""});
  expect_failure(probe(misbehaving("differs"), kFp16Dot), 1, {"answers differently the second time: batch 1"});
  expect_failure(verify(misbehaving("differs"), kDatapath, kFp16Dot), 1, {"answers differently the second time"});
  expect_failure(probe("exec:./there-is-no-such-program", kFp16Dot), 2, {"cannot be started: No such file"});
  EXPECT_FALSE(fs::exists(folder_ / "results.json"));
}

TEST_F(CliOracle, AStatusAfterTheLastAnswerHidesNoResults) {
  const Result r = run(probe(misbehaving("status"), kFp16Dot));
  EXPECT_EQ(r.status, 1) << "a program that says zero to everything is unexplained, and that comes first";
  EXPECT_NE(r.out.find("unexplained"), std::string::npos);
  EXPECT_NE(r.err.find("ended with status 4 after its last answer"), std::string::npos) << r.err;
}

TEST_F(CliOracle, CtrlCEndsTheProgramToo) {
  for (const bool verifies : {false, true}) {
    // When it is asked, it says which process it is, and waits.
    const std::string waits = "exec:sh -c 'head -c 8 > /dev/null; echo $$ > pid.new; mv pid.new pid; exec sleep 1000'";
    const pid_t child = start(verifies ? verify(waits, kDatapath, kFp16Dot) : probe(waits, kFp16Dot));
    while (!fs::exists(folder_ / "pid")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const pid_t program = std::stoi(text("pid"));
    kill(child, SIGINT);
    const Result r = finish(child);
    EXPECT_EQ(r.status, 3) << r.err;
    EXPECT_NE(r.err.find(": interrupted"), std::string::npos) << r.err;
    EXPECT_EQ(std::ranges::count(r.err, '\n'), 1) << r.err;
    EXPECT_EQ(kill(program, 0), -1) << "it runs on";
    fs::remove(folder_ / "pid");
  }
}

TEST_F(CliOracle, SaysWhatIsWrongWithTheOptions) {
  const std::string from = "exec:true";
  expect_failure({"probe", "--from", from}, 2, {"--instr: missing; expected what the program computes"});
  expect_failure({"probe", "--from", from, "--a", "fp16", "--d", "fp32"}, 2, {"--a requires --k"});
  expect_failure({"probe", "--from", from, "--a", "s8", "--d", "fp32", "--k", "16"}, 2, {"--a: s8, and d is fp32"});
  expect_failure({"probe", "--from", from, "--a", "fp16", "--d", "fp32", "--k", "999"}, 2,
                 {"--k: 999; expected 1 to 256"});
  expect_failure(probe(from, kFp16Dot, {"--arch", "sm_90"}), 2, {"--a", "excludes", "--arch"});
  expect_failure(probe(from, kFp16Dot, {"--format", "fp16"}), 2, {"--format: chooses instructions"});
  expect_failure(probe(from, kFp16Dot, {"--record", "r.safetensors"}), 2, {"--record: a vector file is of an instr"});
  expect_failure(probe(from, kFp16Dot, {"--scale-block", "5"}), 2, {"--scale-block: 5; expected", "divides k, 16"});
  expect_failure(probe(from, kFp16Dot, {"--scale-format", "ue4m3"}), 2, {"--scale-format requires --scale-block"});
  expect_failure(probe(from, {"--a", "s8", "--d", "s32", "--k", "16", "--scale-block", "8"}), 2,
                 {"--scale-block: expected none, as integers have no scales"});
  expect_failure(verify(from, kDatapath, kFp16Dot, {"--scale-block", "8"}), 2,
                 {"scales: expected ue8m0 for every 8 products"});
  expect_failure(probe("exec:", kFp16Dot), 2, {"names no program"});
  expect_failure({"probe", "--arch", "sm_90", "--a", "fp16"}, 2, {"--a"});
  expect_failure({"probe", "--arch", "sm_90", "--any-nan"}, 2, {"--any-nan: is of a program"});
  expect_failure({"verify", "--from", from, "--count", "1e3", "--a", "fp16", "--d", "fp32", "--k", "16"}, 2,
                 {"--datapath: missing"});
  expect_failure(verify(from, kDatapath, kFp32Dot), 2, {"operands.a.format: fp16; expected fp32"});
  expect_failure(verify(from, kDatapath, kFp16Dot, {"--record", "r.json"}), 2, {"--record: is kept of instructions"});
  expect_failure({"verify", "--from", from, "--vectors", "x.safetensors"}, 2, {"--from: exec:COMMAND answers streams"});
}

// --- Serving.

class CliServe : public CliOracle {
 protected:
  /// Serves what a file holds.
  Result serve(const std::string& input, const Words& more = {"--datapath", kDatapath}) const {
    write("input", input);
    Words arguments = {"emulate", "--serve"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments, "out", [] { dup2(open("input", O_RDONLY), STDIN_FILENO); });
  }
  static std::string framed(const std::string& bytes) {
    const std::uint64_t length = bytes.size();
    std::string frame(8, '\0');
    std::memcpy(frame.data(), &length, 8);
    return frame + bytes;
  }
};

TEST_F(CliServe, AnswersUntilItsInputEnds) {
  EXPECT_EQ(serve("").status, 0);
  EXPECT_EQ(serve("").out, "");
}

TEST_F(CliServe, RefusesWhatIsNoQuestion) {
  const auto refused = [&](const std::string& input, const std::string& part) {
    const Result r = serve(input);
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_NE(r.err.find(part), std::string::npos) << r.err;
    EXPECT_EQ(r.out, "");
  };
  refused("abc", "standard input: question 1: ends after 3 bytes");
  refused(std::string(7, '\0') + '\x10', "question 1: its length is 1152921504606846976 bytes");
  refused(framed("").replace(0, 1, "\x09") + "abc", "question 1: ends after 11 bytes; expected 8");
  refused(framed("abc"), "question 1: header length: the file has 3 bytes");
  refused(framed(framed("{}")), "question 1: tensor A: missing");
  const std::string wrong = R"({"A":{"dtype":"F32","shape":[1,1,16],"data_offsets":[0,64]}})";
  refused(framed(framed(wrong) + std::string(64, '\0')), "question 1: tensor A: dtype: \"F32\"; expected \"F16\"");
}

/// Formats may share a dtype, and then nothing else tells them apart.
TEST_F(CliServe, RefusesQuestionsOfOtherFormats) {
  constexpr const char* kServed = "mma.m16n8k32.s32.u8.u8.s32";
  const std::string metadata = R"({"__metadata__":{"format_a":"FORMAT","format_d":"s32"},)",
                    tensors = R"("A":{"dtype":"U8","shape":[1,1,32],"data_offsets":[0,32]},)"
                              R"("B":{"dtype":"U8","shape":[1,32,1],"data_offsets":[32,64]},)"
                              R"("C":{"dtype":"I32","shape":[1,1,1],"data_offsets":[64,68]}})";
  const auto ask = [&](const std::string& format) {
    std::string header = metadata + tensors;
    header.replace(header.find("FORMAT"), 6, format);
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return serve(framed(framed(header) + std::string(68, '\1')), {"--arch", "sm_90", "--instr", kServed});
  };
  EXPECT_EQ(ask("u8").status, 0);
  for (const char* other : {"fp6e2m3", "b1", "nothing"}) {
    const Result r = ask(other);
    EXPECT_EQ(r.status, 2);
    EXPECT_NE(r.err.find("question 1: __metadata__.format_a: \"" + std::string(other) + "\"; expected u8"),
              std::string::npos)
        << r.err;
    EXPECT_EQ(r.out, "");
  }
}

TEST_F(CliServe, NeedsOneDatapath) {
  expect_failure({"emulate", "--serve"}, 2, {"--serve: expected --datapath FILE, or --arch and --instr"});
  expect_failure({"emulate", "--serve", "--arch", "sm_90"}, 2, {"--serve: expected"});
  expect_failure({"emulate", "--serve", "--datapath", kDatapath, "--in", "x"}, 2, {"--serve", "excludes", "--in"});
}

}  // namespace
}  // namespace tcnum
