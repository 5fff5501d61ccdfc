// tcnum model gemm, as a user runs it.
#include <sstream>

#include "cli.hpp"

namespace tcnum {
namespace {

class CliModel : public Cli {
 protected:
  static std::vector<std::string> model(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"model", "gemm"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  /// With the recorded devices.
  Result run_model(const std::vector<std::string>& more, const Preparation& also = {}) const {
    return run(model(more), "out", [&] {
      with_records();
      if (also) also();
    });
  }
  void expect_refused(const std::vector<std::string>& more, const std::vector<std::string>& parts) const {
    expect_failure(model(more), 2, parts, with_records);
  }
  static void with_records() { setenv("TCNUM_VECTORS", TCNUM_SOURCE_DIR "/vectors", 1); }
};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST_F(CliModel, SaysHowLongAProductTakesAndWhy) {
  const Result result = run_model({"--m", "4096", "--n", "7168", "--k", "16384", "--format", "fp8e4m3"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* part : {"4096 × 7168 × 16384, fp8e4m3, on NVIDIA H200: predicted, not measured", "128x256/2x1",
                           "tensor cores", "any", "alone, in µs"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part;
  }
  const Result one = run_model({"--m", "64", "--n", "64", "--k", "64", "--tile", "128x64", "--device", "H200"});
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(one.out.find("any"), std::string::npos);
  EXPECT_EQ(one.out.find("128x128"), std::string::npos);
}

TEST_F(CliModel, TakesATableAndWritesOne) {
  write("shapes.csv", "m,n,k,format\n4096,4096,4096,bf16\r\n\n1,1,1,fp8e4m3\n");
  const Result result = run_model({"--shapes", "shapes.csv", "--csv", "times.csv", "--svg", "rates.svg"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "");
  const auto lines = lines_of(text("times.csv"));
  ASSERT_EQ(lines.size(), 1U + 2 * 8);  // seven tiles, and the fastest tiling of any
  EXPECT_EQ(lines[0], "m,n,k,format,kernel,tile,microseconds,tera_ops,clock_mhz,waves,limit,light_microseconds");
  EXPECT_TRUE(lines[1].starts_with("4096,4096,4096,bf16,tcnum,"));
  EXPECT_TRUE(lines.back().starts_with("1,1,1,fp8e4m3,any,"));
  for (const std::string& line : lines) EXPECT_EQ(std::ranges::count(line, ','), 11) << line;
  EXPECT_TRUE(text("rates.svg").starts_with("<svg"));
  EXPECT_TRUE(text("rates.svg").ends_with("</svg>\n"));

  write("three.csv", "");
  const Result piped =
      run_model({"--shapes", "-", "--tile", "128x128"}, [] { dup2(open("three.csv", O_RDONLY), STDIN_FILENO); });
  EXPECT_EQ(piped.status, 2) << "an empty table: " << piped.out;
  write("three.csv", "m,n,k\n16,16,16\n32,32,32\n48,48,48\n");
  const Result three =
      run_model({"--shapes", "-", "--tile", "128x128"}, [] { dup2(open("three.csv", O_RDONLY), STDIN_FILENO); });
  ASSERT_EQ(three.status, 0) << three.err;
  EXPECT_EQ(lines_of(three.out).size(), 4U);
  EXPECT_TRUE(lines_of(three.out)[3].starts_with("48,48,48,fp16,tcnum,128x128,"));
}

TEST_F(CliModel, TheFileOfADeviceIsAsGoodAsItsName) {
  const std::string file = TCNUM_SOURCE_DIR "/vectors/sm_90/bench.json";
  const std::vector<std::string> shape = {"--m", "512", "--n", "512", "--k", "512"};
  std::vector<std::string> by_file = shape, by_name = shape;
  by_file.insert(by_file.end(), {"--device", file});
  by_name.insert(by_name.end(), {"--device", "nvidia h200"});
  EXPECT_EQ(run_model(by_file).out, run_model(by_name).out);
}

TEST_F(CliModel, SaysWhatWouldBeRight) {
  const std::vector<std::string> shape = {"--m", "512", "--n", "512", "--k", "512"};
  const auto and_also = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = shape;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  expect_refused({}, {"--m, --n, --k", "or --shapes"});
  expect_refused({"--m", "16", "--n", "16"}, {"--m, --n, --k", "all three"});
  expect_refused({"--m", "0", "--n", "16", "--k", "16"}, {"--m: 0", "right would be"});
  expect_refused({"--m", "1e3", "--n", "16", "--k", "16"}, {"--m: ", "right would be"});
  expect_refused(and_also({"--format", "fp32"}), {"--format: fp32", "fp16, bf16, fp8e4m3"});
  expect_refused(and_also({"--tile", "100x100"}), {"--tile: 100x100", "128x256/2x1"});
  expect_refused(and_also({"--device", "a100"}), {"--device: a100", "NVIDIA H200"});
  expect_refused(and_also({"--shapes", "x.csv"}), {"--m, --n, --k"});
  expect_refused(and_also({"--csv", "/nowhere/x.csv"}), {"/nowhere/x.csv"});
  expect_refused(and_also({"--csv", "x", "--svg", "x"}), {"--csv", "--svg"});
  write("bench.json", "{}");
  expect_refused(and_also({"--device", "bench.json"}), {"bench.json.schema: "});
  expect_refused({"--shapes", "none.csv"}, {"none.csv: "});
  for (const auto& [table, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "has no product"},
           {"m,n,k\n", "has no product"},
           {"a,b,c\n1,2,3\n", "line 1: right would be m,n,k"},
           {"m,n,k\n1,2\n", "line 2: 2 values; right would be 3"},
           {"m,n,k\n16,16,16\n16,-16,16\n", "line 3: -16; right would be"},
           {"m,n,k,format\n16,16,16,fp4\n", "line 2: fp4; right would be one of"},
           {"m,n,k\n16,16,99999999999\n", "line 2: 99999999999; right would be"}}) {
    write("bad.csv", table);
    expect_refused({"--shapes", "bad.csv", "--csv", "kept.csv"}, {"bad.csv: " + part});
    EXPECT_FALSE(fs::exists(folder_ / "kept.csv"));
  }
  // Without any record there is no device to name.
  expect_failure(model(shape), 2, {"--device: h200", "right would be a file"});
}

}  // namespace
}  // namespace tcnum
