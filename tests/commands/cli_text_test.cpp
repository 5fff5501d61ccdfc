// tcnum generate and convert, and texts wherever vector files are read and written.
#include "cli.hpp"

#include <sstream>

namespace tcnum::cli_text_test {
namespace {

class CliText : public Cli {};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_F(CliText, GoldenVectorsAgreeWithTheirDatapath) {
  for (const char* name : {"golden.safetensors", "golden.csv", "golden.hex", "golden.mem"}) {
    ASSERT_EQ(run({"generate", "--arch", "sm_90", "--instr", kInstruction, "--count", "100", "--out", name}).status, 0);
    printed({"verify", "--vectors", name}, {"100"});
  }
  // A datapath of another architecture gives other results somewhere.
  printed({"generate", "--arch", "sm_90", "--instr", kInstruction, "--distribution", "cancellation", "--datapath",
           "sm_80:mma.m16n8k16.f32.f16.f16.f32", "--out", "ampere.csv"});
  EXPECT_EQ(run({"verify", "--vectors", "ampere.csv"}).status, 1);
}

TEST_F(CliText, OneFormBecomesAnother) {
  printed({"generate", "--arch", "sm_90", "--instr", kInstruction, "--count", "50", "--seed", "3", "--out", "a.csv"});
  const std::vector<std::string> named = {"--arch", "sm_90", "--instr", kInstruction};
  const auto convert = [&](const std::string& from, const std::string& to, bool says_nothing) {
    std::vector<std::string> arguments = {"convert", "--in", from, "--out", to};
    if (says_nothing) arguments.insert(arguments.end(), named.begin(), named.end());
    printed(arguments);
  };
  convert("a.csv", "b.hex", false);
  convert("b.hex", "c.safetensors", false);
  convert("c.safetensors", "e.{}.npy", false);
  convert("e.{}.npy", "f.hex", true);
  EXPECT_EQ(lines_of(contents(folder_ / "f.hex")).back(), lines_of(contents(folder_ / "b.hex")).back());
  convert("c.safetensors", "g.csv", false);
  EXPECT_EQ(contents(folder_ / "g.csv"), contents(folder_ / "a.csv"));
  EXPECT_TRUE(fs::exists(folder_ / "e.a.npy"));
}

TEST_F(CliText, TheBatteryAndSweeps) {
  const auto problems = [&](const char* name) {
    return std::ranges::count_if(lines_of(contents(folder_ / name)),
                                 [](const std::string& line) { return line.starts_with("0x"); });
  };
  printed({"generate", "--arch", "sm_90", "--instr", kInstruction, "--distribution", "battery", "--out", "a.csv"});
  EXPECT_GT(problems("a.csv"), 500);
  printed({"generate", "--arch", "sm_90", "--instr", "wgmma.m64n8k32.f32.e4m3.e4m3", "--distribution", "product_pairs",
           "--count", "10", "--out", "b.csv"});
  EXPECT_EQ(problems("b.csv"), 10);
}

TEST_F(CliText, AnyNumberOfThreadsGivesTheSame) {
  const std::vector<std::string> all = {"generate", "--datapath", kDatapath, "--count", "500", "--out", "all.hex"};
  ASSERT_EQ(run(all).status, 0);
  for (const char* threads : {"1", "3"}) {
    printed({"emulate", "--in", "all.hex", "--datapath", kDatapath, "--threads", threads, "--out", "some.hex"});
    EXPECT_EQ(contents(folder_ / "some.hex"), contents(folder_ / "all.hex"));
  }
  for (const char* threads : {"0", "-1", "1e9", "two"}) {
    expect_failure({"emulate", "--in", "all.hex", "--datapath", kDatapath, "--threads", threads, "--out", "x.hex"}, 2,
                   {"--threads"});
  }
}

/// A name's ending says another form than would be written.
TEST_F(CliText, EndingsAreTrue) {
  const std::vector<std::string> generate = {"generate", "--arch", "sm_90", "--instr", kInstruction, "--count", "3"};
  std::vector<std::string> made = generate;
  made.insert(made.end(), {"--out", "x.safetensors"});
  ASSERT_EQ(run(made).status, 0);
  for (const char* name : {"y.npy", "x.csv.npy"})
    expect_failure({"convert", "--in", "x.safetensors", "--out", name}, 2, {"--out: ", "golden.{}.npy"});
  expect_failure({"convert", "--in", "y.npy", "--out", "z.csv"}, 2, {"--in: y.npy", "golden.{}.npy"});
  for (const char* name : {"r.csv", "r.hex", "r.npy"})
    expect_failure({"probe", "--from", "x.safetensors", "--record", name}, 2,
                   {"--record: ", "FILE.safetensors or a folder"});
  expect_failure({"gemm", "--in", "x.safetensors", "--plan", "nvjet", "--out", "d.npy"}, 2, {"--out: d.npy"});
  expect_failure({"gemm", "--a", "a.npy", "--b", "b.npy", "--plan", "nvjet", "--out", "d.safetensors"}, 2,
                 {"--out: d.safetensors"});
  for (const char* name : {"y.npy", "r.csv", "d.npy"}) EXPECT_FALSE(fs::exists(folder_ / name)) << name;
}

TEST_F(CliText, BadInputIsRefused) {
  const auto expect_refused = [&](const std::vector<std::string>& arguments, const char* said) {
    expect_failure(arguments, 2, {said});
  };
  std::vector<std::string> generate = {"generate", "--arch", "sm_90", "--instr", kInstruction, "--out", "x.csv"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = generate;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  expect_refused(with({"--distribution", "bell"}), "--distribution: bell is unknown; expected one of battery");
  expect_refused(with({"--distribution", "product_pairs"}), "--distribution");
  EXPECT_NE(run({"verify", "--help"}).out.find("gaussian: Normally distributed."), std::string::npos);
  expect_refused(with({"--count", "0"}), "--count");
  expect_refused(with({"--count", "1e12"}), "--count");
  expect_refused(with({"--form", "xml"}), "--form");
  expect_refused({"generate", "--out", "x.csv"}, "--arch: missing");
  expect_refused({"generate", "--arch", "sm_90", "--instr", kInstruction}, "--out is required");
  expect_refused({"generate", "--arch", "sm_90", "--instr", kInstruction, "--out", "nowhere/x.csv"}, "nowhere");
  expect_refused({"convert", "--in", "x.csv", "--out", "y.hex"}, "x.csv");
  std::ofstream(folder_ / "by-hand.csv") << "a0,a1,b0,b1,c\n1.5,-2^-14,2,1,0\n";
  expect_refused({"emulate", "--in", "by-hand.csv", "--datapath", kDatapath, "--out", "-", "--form", "csv"},
                 "by-hand.csv: line 1: column");
  std::ofstream(folder_ / "x.hex") << "00\n";
  expect_refused({"convert", "--in", "x.hex", "--out", "y.hex"}, "--instr");
  expect_refused({"convert", "--in", "x.hex", "--out", "y.hex", "--arch", "sm_90", "--instr", kInstruction},
                 "x.hex: line 1: a word of 2 digits");
  std::ofstream(folder_ / "x.csv") << "# instruction: mma.nothing\n# arch: sm_90\na0\n";
  expect_refused({"convert", "--in", "x.csv", "--out", "y.hex"}, "mma.nothing");
  EXPECT_FALSE(fs::exists(folder_ / "y.hex"));
}

}  // namespace
}  // namespace tcnum::cli_text_test
