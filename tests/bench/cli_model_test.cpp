// tcnum model gemm, as a user runs it.
#include <sstream>

#include "tests/cli.hpp"

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
  const Result result = run_model({"--shapes", "shapes.csv", "--csv", "times.csv"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "");
  const auto lines = lines_of(text("times.csv"));
  ASSERT_EQ(lines.size(), 1U + 2 * 8);  // seven tiles, and the fastest tiling of any
  EXPECT_EQ(lines[0], "m,n,k,format,kernel,tile,microseconds,tera_ops,clock_mhz,waves,limit,light_microseconds,calls");
  EXPECT_TRUE(lines[1].starts_with("4096,4096,4096,bf16,tcnum,"));
  EXPECT_TRUE(lines.back().starts_with("1,1,1,fp8e4m3,any,"));
  for (const std::string& line : lines) EXPECT_EQ(std::ranges::count(line, ','), 12) << line;
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1);
  EXPECT_TRUE(result.err.starts_with("tcnum: Record: NVIDIA H200 (sm_90), 2026-")) << result.err;

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

TEST_F(CliModel, SaysWhichRecordAndConditionsItHasNumbersOf) {
  const std::vector<std::string> large = {"--m", "8192", "--n", "8192", "--k", "8192", "--format", "fp8e4m3"};
  const auto model_of = [&](std::vector<std::string> shape, const std::vector<std::string>& more) {
    shape.insert(shape.end(), more.begin(), more.end());
    const Result r = run_model(shape);
    EXPECT_EQ(r.status, 0) << r.err;
    return r.out;
  };
  const auto has = [](const std::string& out, const std::string& line) {
    EXPECT_NE(out.find("\n" + line), std::string::npos) << line << " is not in\n" << out;
  };
  const std::string by_default = model_of(large, {});
  has(by_default, "Record: NVIDIA H200 (sm_90), 2026-11-21 to 2026-");
  has(by_default, "Conditions: sustained for about 2 ms, calls back to back, operands in DRAM, at ");
  EXPECT_NE(by_default.find(" MHz for the first (power-limited; "), std::string::npos) << by_default;
  EXPECT_EQ(by_default, model_of(large, {"--device", "h200"}));
  has(model_of(large, {"--device", "h100"}), "Record: NVIDIA H100 80GB HBM3 (sm_90), 2026-");
  const std::string small = model_of({"--m", "64", "--n", "64", "--k", "64"}, {});
  EXPECT_NE(small.find(" MHz for the first (not power-limited)\n"), std::string::npos) << small;
  EXPECT_NE(model_of(large, {"--clock", "1500"}).find("at 1500 MHz (--clock)\n"), std::string::npos);
}

/// The tensor cores and what else is counted in cycles follow the clock; the L2's bytes, DRAM and the start do not.
TEST_F(CliModel, TakesTheClockThatIsAskedFor) {
  const auto number = [&](const std::string& clock, const std::string& before) {
    const std::string out =
        run_model({"--m", "8192", "--n", "8192", "--k", "8192", "--tile", "128x256/2x1", "--clock", clock}).out;
    const std::size_t at = out.find(before);
    if (at == std::string::npos) throw std::runtime_error(before + " is not in\n" + out);
    return std::stod(out.substr(at + before.size()));
  };
  for (const char* part : {"in µs: tensor cores ", "epilogue ", "DRAM, alone: "}) {
    EXPECT_NEAR(number("600", part) / number("1200", part), 2, 2e-3) << part;
  }
  for (const char* part : {"L2 bytes ", ", DRAM ", "start "})
    EXPECT_EQ(number("600", part), number("1200", part)) << part;
  const std::string time = "128x256/2x1  ";
  EXPECT_NEAR(number("600", time) / number("1200", time), 2, 0.05);
  for (const char* clock : {"600", "1980"}) EXPECT_GT(number(clock, time), number(clock, "DRAM, alone: ")) << clock;
}

/// Single calls have a law of their own, which a report fits to their rows.
TEST_F(CliModel, PredictsSingleCallsWhereTheyWereTimed) {
  const std::vector<std::string> shape = {"--m", "4096", "--n", "4096", "--k", "4096", "--tile", "128x256"};
  const auto and_also = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = shape;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string h100 = TCNUM_SOURCE_DIR "/vectors/sm_90/bench_h100.json";
  expect_refused(and_also({"--single", "--device", "h100"}),
                 {"bench_h100.json: ", "no single gemm model", "--instr 'single.*' -a shapes=fit"});

  // Single calls that take 1.25 times as long as those in bursts.
  json record = json::parse(contents(h100)), single = json::array();
  for (const json& row : record["records"]) {
    if (row["measurement"] != "gemm" || row["axes"]["shapes"] != "fit") continue;
    json slower = row;
    slower["measurement"] = "single gemm";
    slower["subject"] = "single" + row["subject"].get<std::string>().substr(std::string("gemm").size());
    for (json& time : slower["series"]["microseconds"]) time = time.get<double>() * 1.25;
    single.push_back(std::move(slower));
  }
  record["records"] = single;
  write("single.json", record.dump());
  const Result merged = run({"bench", "report", h100, "single.json", "--json", "both.json"});
  ASSERT_EQ(merged.status, 0) << merged.err;
  const auto time_of = [&](const std::vector<std::string>& more) {
    const Result r = run_model(and_also(more));
    EXPECT_EQ(r.status, 0) << r.err;
    const std::string kernel = "tcnum   128x256  ";
    const std::size_t at = r.out.find(kernel);
    return at == std::string::npos ? 0 : std::stod(r.out.substr(at + kernel.size()));
  };
  EXPECT_NEAR(time_of({"--single", "--device", "both.json"}) / time_of({"--device", "both.json"}), 1.25, 0.05);
  EXPECT_NE(run_model(and_also({"--single", "--device", "both.json"})).out.find("Conditions: one call at a time"),
            std::string::npos);
  const Result csv = run_model(and_also({"--single", "--device", "both.json", "--csv", "-"}));
  EXPECT_TRUE(csv.out.ends_with(",single\n")) << csv.out;
  const Result page = run({"bench", "report", "both.json", "--section", "one call at a time: the model"});
  EXPECT_NE(page.out.find("Matrix products, one call at a time: the model\n"), std::string::npos) << page.out;
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
  expect_refused({"--m", "0", "--n", "16", "--k", "16"}, {"--m: 0", "expected"});
  expect_refused({"--m", "1e3", "--n", "16", "--k", "16"}, {"--m: ", "expected"});
  expect_refused(and_also({"--format", "fp32"}), {"--format: fp32", "fp16, bf16, fp8e4m3"});
  expect_refused(and_also({"--tile", "100x100"}), {"--tile: 100x100", "128x256/2x1"});
  expect_refused(and_also({"--device", "a100"}), {"--device: a100", "NVIDIA H200, NVIDIA H100"});
  expect_refused(and_also({"--clock", "0"}), {"--clock: 0", "1 to 10000"});
  expect_refused(and_also({"--shapes", "x.csv"}), {"--m, --n, --k"});
  expect_refused(and_also({"--csv", "/nowhere/x.csv"}), {"/nowhere/x.csv"});
  write("bench.json", "{}");
  expect_refused(and_also({"--device", "bench.json"}), {"bench.json.schema: "});
  expect_refused({"--shapes", "none.csv"}, {"none.csv: "});
  for (const auto& [table, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "has no product"},
           {"m,n,k\n", "has no product"},
           {"a,b,c\n1,2,3\n", "line 1: expected m,n,k"},
           {"m,n,k\n1,2\n", "line 2: 2 values; expected 3"},
           {"m,n,k\n16,16,16\n16,-16,16\n", "line 3: -16; expected"},
           {"m,n,k,format\n16,16,16,fp4\n", "line 2: fp4; expected one of"},
           {"m,n,k\n16,16,99999999999\n", "line 2: 99999999999; expected"}}) {
    write("bad.csv", table);
    expect_refused({"--shapes", "bad.csv", "--csv", "kept.csv"}, {"bad.csv: " + part});
    EXPECT_FALSE(fs::exists(folder_ / "kept.csv"));
  }
  // Without any record there is no device to name.
  expect_failure(model(shape), 2, {"--device: none is recorded here", "expected a file"});
}

}  // namespace
}  // namespace tcnum
