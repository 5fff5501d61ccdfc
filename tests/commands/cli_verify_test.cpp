// `tcnum verify` and `tcnum sass` where answers disagree, are several files', or are missing: nothing is left out in
// silence.
#include <set>
#include <sstream>

#include "cli.hpp"
#include "labels.hpp"
#include "src/questions/packing.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {
namespace {

class CliVerify : public CliStreams {
 protected:
  /// Answers of the documented datapath with 24 fraction bits in place of 25.
  void record_other(const std::string& name) const {
    write_datapath("other.json", "/units/fused/fraction_bits", 24);
    ASSERT_EQ(run(probe_datapath({"--record", name}, "other.json")).status, 0);
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
};

TEST_F(CliVerify, DisagreementsOfFilesAreKept) {
  TCNUM_NOT_SANITIZED();
  record_other("one.safetensors");
  fs::create_directory(folder_ / "more");
  fs::copy(folder_ / "one.safetensors", folder_ / "more/one.safetensors");
  const std::string r = printed({"verify", "--vectors", "one.safetensors", "more/one.safetensors", "--datapath",
                                 kDatapath, "--disagreements", "kept", "--json", "v.json"},
                                {}, 1);
  const json v = json::parse(text("v.json"));
  const std::uint64_t each = v["files"][0]["mismatches"], all = v["mismatches"];
  EXPECT_GT(each, 3u);
  EXPECT_EQ(all, 2 * each);
  EXPECT_EQ(v["files"][0]["disagreements"], "kept/one.safetensors");
  EXPECT_EQ(v["files"][1]["disagreements"], "kept/one-2.safetensors");
  EXPECT_EQ(v["count"], v["files"][0]["count"].get<std::uint64_t>() + v["files"][1]["count"].get<std::uint64_t>());
  EXPECT_NE(r.find("2 files: "), std::string::npos) << r;
  EXPECT_NE(r.find("mismatches in 2 files"), std::string::npos) << r;
  for (const char* file : {"kept/one.safetensors", "kept/one-2.safetensors"}) {
    EXPECT_EQ(read_vectors(path(file)).tiles.size(), each);
    EXPECT_EQ(run({"verify", "--vectors", file, "--datapath", "other.json"}).status, 0);
    // Every one of them, and nothing else, disagrees with the other.
    EXPECT_EQ(json::parse(
                  printed({"verify", "--vectors", file, "--datapath", kDatapath, "--json", "-"}, {}, 1))["mismatches"],
              each);
  }
}

/// What is kept is what the instruction made of its operands: signs turned, and c left out.
TEST_F(CliVerify, ModifiersAreAppliedToWhatIsKept) {
  const Instruction& in = *find_instruction("wgmma.m64n8k16.f32.f16.f16");
  constexpr std::uint64_t kOne = 0x3c00, kFive = 0x40a00000, kSixteen = 0x41800000;
  Vectors vectors;
  vectors.tiles = tiles_of(in, 1, 1, 1, [&](std::size_t) {
    Problem problem = zero_problem(in);
    problem.a.assign(problem.a.size(), kOne);
    problem.b.assign(problem.b.size(), kOne);
    problem.c = kFive;
    return problem;
  });
  vectors.tiles.d.set(0, kSixteen);  // of the opposite sign, so that it disagrees
  vectors.instruction = in.name();
  vectors.arch = "sm_90";
  vectors.metadata = {{"scale_a", "-1"}, {"scale_d", "0"}};
  write_vectors(path("m.safetensors"), vectors);
  const std::string r =
      printed({"verify", "--vectors", "m.safetensors", "--disagreements", "kept"}, {"0xbc00 = -1"}, 1);
  EXPECT_EQ(r.find("0x40a00000"), std::string::npos) << r;
  const Vectors kept = read_vectors(path("kept/m.safetensors"));
  EXPECT_FALSE(kept.metadata.contains("scale_a"));
  EXPECT_EQ(kept.tiles.a[0], kOne | 0x8000);
  EXPECT_EQ(kept.tiles.c[0], 0u);
  EXPECT_EQ(kept.tiles.d[0], kSixteen);
}

/// The answers that tcnum has, where nothing else is named to compare with.
TEST_F(CliVerify, TakesRecordedAnswersWhereThereAreSome) {
  write_datapath("mine.json", "/units/fused/fraction_bits", 24);
  const std::vector<std::string> mine = {"verify",  "--datapath", "mine.json", "--arch", "sm_90",
                                         "--instr", kInstruction, "--json",    "v.json"};
  expect_failure(mine, 3, {"there are no recorded answers of mma.m16n8k16.f32.f16.f16.f32 on sm_90"});
  setenv("TCNUM_VECTORS", TCNUM_SOURCE_DIR "/vectors", 1);
  const Result wrong = run(mine);
  std::vector<std::string> right = mine;
  right[2] = kDatapath;
  const Result agrees = run(right);
  unsetenv("TCNUM_VECTORS");
  EXPECT_EQ(wrong.status, 1) << wrong.err;
  EXPECT_NE(wrong.out.find("  mine.json"), std::string::npos) << wrong.out;
  EXPECT_NE(wrong.out.find("  NVIDIA H200"), std::string::npos) << wrong.out;
  EXPECT_EQ(agrees.status, 0) << agrees.out << agrees.err;
}

TEST_F(CliVerify, WithoutAGpuItSaysWhatElseThereIs) {
  const Result r = run({"verify", "--arch", "sm_90", "--instr", kInstruction, "--count", "1e4"});
  if (r.status != 3) GTEST_SKIP() << "a GPU is here";
  EXPECT_NE(r.err.find("--from datapath:"), std::string::npos) << r.err;
}

/// On a terminal: of all disagreements, not of the few that are kept.
TEST_F(CliVerify, TheProgressLineCountsEveryDisagreement) {
  write_datapath("other.json", "/units/fused/fraction_bits", 3);
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(grantpt(terminal) + unlockpt(terminal), 0);
  const std::string name = ptsname(terminal);
  std::vector<std::string> arguments = verify("1e5", {"--distribution", "wide", "--json", "v.json"});
  arguments[8] = "datapath:other.json";
  const Result r = run(arguments, "out", [&] { dup2(open(name.c_str(), O_RDWR | O_NOCTTY), STDERR_FILENO); });
  EXPECT_EQ(r.status, 1);
  ASSERT_EQ(fcntl(terminal, F_SETFL, O_NONBLOCK), 0);
  std::string shown;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(terminal, buffer, sizeof buffer)) > 0;)
    shown.append(buffer, static_cast<std::size_t>(n));
  close(terminal);
  const std::size_t end = shown.rfind(" disagreements");
  ASSERT_NE(end, std::string::npos) << shown;
  std::string digits = shown.substr(0, end);
  digits.erase(0, digits.rfind(' ') + 1);
  std::erase(digits, ',');
  EXPECT_EQ(std::stoull(digits), json::parse(text("v.json"))["mismatches"]) << shown;
  EXPECT_GT(std::stoull(digits), 16u);
}

TEST_F(CliVerify, AnAmbiguousReportSaysWhatIsSettled) {
  TCNUM_NOT_SANITIZED();
  Vectors vectors = read_vectors(TCNUM_SOURCE_DIR "/vectors/sm_90/mma.m16n8k8.f32.f16.f16.f32.safetensors");
  vectors.tiles.count = 2;
  for (Codes Tiles::*codes : {&Tiles::a, &Tiles::b, &Tiles::c, &Tiles::d}) {
    Codes few((vectors.tiles.*codes).bytes_each(), 2 * 64);
    for (std::size_t i = 0; i < few.size(); ++i) few.set(i, (vectors.tiles.*codes)[i]);
    vectors.tiles.*codes = few;
  }
  write_vectors(path("few.safetensors"), vectors);
  const std::string r = printed({"probe", "--from", "few.safetensors", "--json", "p.json"},
                                {"Settled: nothing. Open: structure, fraction_bits", "For example"});
  const json one = json::parse(text("p.json"))["instructions"][0];
  EXPECT_EQ(one["verdict"], "ambiguous");
  EXPECT_TRUE(one["summary"]["sentence"].get<std::string>().starts_with("For example: ")) << one["summary"];
  EXPECT_GT(one["undetermined"]["structure"].size(), 20u);
  EXPECT_LT(r.find("fraction_bits    ") - r.find("structure     "), 300u) << "a few structures are enough";
}

/// Of several instructions, each has the file of its own answers.
TEST_F(CliVerify, EveryInstructionNamesItsSource) {
  fs::create_directories(folder_ / "v/sm_90");
  for (const char* name : {"mma.m8n8k4.f64.f64.f64.f64", "wmma.m8n8k4.f64.f64.f64.f64"}) {
    const std::string file = std::string("sm_90/") + name + ".safetensors";
    fs::copy(fs::path(TCNUM_SOURCE_DIR) / "vectors" / file, folder_ / "v" / file);
  }
  const Result r = run({"probe", "--arch", "sm_90", "--format", "fp64", "--from", "recorded", "--json", "p.json"},
                       "out", [] { setenv("TCNUM_VECTORS", "v", 1); });
  const json p = json::parse(text("p.json"));
  ASSERT_EQ(p["instructions"].size(), 2u) << r.err;
  EXPECT_FALSE(p["source"].contains("file")) << p["source"];
  EXPECT_EQ(p["source"]["kind"], "recorded");
  std::set<std::string> files;
  for (const json& each : p["instructions"]) {
    files.insert(each["source"]["file"].get<std::string>());
  }
  EXPECT_EQ(files.size(), 2u);
}

TEST_F(CliVerify, ProbesOfManyComeInOrderUpToTheFirstFailure) {
  const std::vector<std::string> names = {"mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k16.f32.bf16.bf16.f32",
                                          "wgmma.m64n8k16.f32.bf16.bf16"};
  fs::create_directories(folder_ / "records/sm_90");
  for (const std::string& name : names) {
    fs::copy_file(fs::path(TCNUM_SOURCE_DIR) / "vectors/sm_90" / (name + ".safetensors"),
                  folder_ / "records/sm_90" / (name + ".safetensors"));
  }
  const auto probe_all = [&] {
    return run({"probe", "--arch", "sm_90", "--format", "bf16", "--from", "recorded"}, "out",
               [] { setenv("TCNUM_VECTORS", "records", 1); });
  };
  const Result all = probe_all();
  std::size_t at = 0;
  for (const std::string& name : names) {
    at = all.out.find(name + " on sm_90: identified", at);
    ASSERT_NE(at, std::string::npos) << name;
  }
  fs::resize_file(folder_ / "records/sm_90" / (names[1] + ".safetensors"), 1000);
  const Result some = probe_all();
  EXPECT_EQ(some.status, 2);
  EXPECT_NE(some.err.find(names[1]), std::string::npos) << some.err;
  EXPECT_EQ(some.out, all.out.substr(0, some.out.size()));
  EXPECT_NE(some.out.find(names[0]), std::string::npos);
  EXPECT_EQ(some.out.find(names[2] + " on sm_90"), std::string::npos);
}

TEST_F(CliVerify, ProbesAreShownAsTables) {
  const auto probe = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"probe", "--from", "p.safetensors"});
    return more;
  };
  ASSERT_EQ(run(probe_datapath({"--record", "p.safetensors"})).status, 0);
  const std::string latex = run(probe({"--table", "latex"})).out;
  EXPECT_TRUE(latex.starts_with("\\begin{tabular}{l"));
  EXPECT_NE(latex.find("\nmma.m16n8k16.f32.f16.f16.f32 & identified & 1$\\times$16 F=25 RZ & "), std::string::npos)
      << latex;
  EXPECT_NE(latex.find("toward\\_zero"), std::string::npos);
  EXPECT_NE(run(probe({"--table", "md"})).out.find("| toward\\_zero |"), std::string::npos);
  expect_failure(probe({"--table", "html"}), 2, {"--table", "html", "text, md, csv or latex"});
  expect_failure(probe({"--table", "md", "--json", "-"}), 2, {"--table", "--json"});
  expect_failure({"probe", "--arch", "sm_80", "--from", "recorded", "--format", "fp16", "--table", "md"}, 3,
                 {"tcnum list --table"});
}

}  // namespace
}  // namespace tcnum
