// `tcnum explain` side by side: what it shows of each datapath is what the exact emulator gives.
#include <fmt/format.h>

#include <array>
#include <map>
#include <random>
#include <sstream>

#include "cli.hpp"
#include "src/files/matrix_file.hpp"
#include "src/report/problem_text.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

class CliExplain : public Cli {
 protected:
  /// Arguments with spaces between them.
  Result explain(const std::string& arguments) const {
    std::istringstream words("explain " + arguments);
    return run(std::vector<std::string>(std::istream_iterator<std::string>(words), {}));
  }
  json document(const std::string& arguments) const {
    const Result r = explain(arguments + " --json -");
    EXPECT_EQ(r.status, 0) << r.err;
    return json::parse(r.out);
  }
};

/// Products 2^23, -2^23, -0.5, -0.25, -0.125, the first of them in c.
const std::string kClassic = " --c 2^23 --a -2^12,-0.5,-0.25,-0.125 --b 2^11,1,1,1";

std::vector<std::uint64_t> codes(const json& of) {
  std::vector<std::uint64_t> all;
  for (const json& code : of) all.push_back(*parse_code(code.get<std::string>()));
  return all;
}

TEST_F(CliExplain, EverySideIsWhatTheEmulatorGives) {
  const json found = document("--all --format fp16 --a 1.5,-2^-14,0x1.ffcp15,3,0.25 --b 65504,7,2^-20,-1,5 --c -2^-3");
  EXPECT_EQ(found.at("schema"), "tcnum.explain/1");
  std::size_t instructions = 0;
  for (const json& side : found.at("explained")) {
    const std::vector<std::uint64_t> a = codes(side.at("a")), b = codes(side.at("b"));
    EXPECT_EQ(side.at("sums").back().at("of").at("products").size(), 1u);
    for (const json& of : side.at("of")) {
      ++instructions;
      const ArchId id = *find_arch(of.at("arch").get<std::string>());
      const auto entries = catalogue(id, *find_instruction(of.at("instruction").get<std::string>()));
      const Datapath& datapath = entries.at(0).datapath;
      const auto k = static_cast<std::size_t>(datapath.tree.k);
      std::uint64_t d = *parse_code(side.at("c").get<std::string>());
      // One that takes fewer or more products than the first of those alike is filled up with zeros otherwise.
      for (std::size_t first = 0; first < 5; first += k) {
        std::vector<std::uint64_t> x(k, 0), y(k, 0);
        for (std::size_t i = 0; i < k && first + i < a.size(); ++i) x[i] = a[first + i], y[i] = b[first + i];
        d = emulate_exact(datapath, x, y, d);
      }
      EXPECT_EQ(hex(format(datapath.numerics.result), d), side.at("d").get<std::string>()) << of.dump();
    }
  }
  EXPECT_GT(instructions, 100u);
}

TEST_F(CliExplain, ShowsSidesWithTheirBits) {
  const Result r = explain("--arch sm_80 --arch sm_90 --arch gfx908 --format fp16" + kClassic);
  EXPECT_EQ(r.status, 0) << r.err;
  for (const char* part : {"  1  sm_80          fp16      -0.5    +6.291e+06  mma.m16n8k16.f32.f16.f16.f32\n",
                           "     1 01111110 11000000000000000000000  the true value in fp32: -0.875\n"
                           "  1  1 01111110 00000000000000000000000  0xbf000000\n"
                           "                ^^\n"
                           "  2  1 01111110 10000000000000000000000  0xbf400000\n"
                           "                 ^\n"
                           "  3  1 01111110 11000000000000000000000  0xbf600000\n"})
    EXPECT_NE(r.out.find(part), std::string::npos) << part << "\n" << r.out;
  // What is the same twice is one row.
  const Result same = explain("--arch sm_80 --arch sm_86 --format fp16" + kClassic);
  EXPECT_NE(same.out.find("  1  sm_80, sm_86 "), std::string::npos) << same.out;
}

TEST_F(CliExplain, ADatapathStandsAlone) {
  const std::string name = TCNUM_SOURCE_DIR "/docs/datapaths/ampere-fp16.json";
  const Result r = explain("--datapath " + name + kClassic);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("d = 0xbf000000 = -0.5\n"), std::string::npos) << r.out;
  const json beside = document("--datapath " + name + " --arch sm_90 --format fp16" + kClassic);
  ASSERT_EQ(beside.at("explained").size(), 2u);
  EXPECT_EQ(beside.at("explained")[0].at("of")[0].at("datapath"), name);
  EXPECT_EQ(beside.at("explained")[0].at("value"), "-0.5");
  EXPECT_EQ(beside.at("explained")[1].at("value"), "-0.75");
  EXPECT_EQ(beside.at("true_value"), "-0x1.cp-1");
  const std::string other = std::string("h100:") + kInstruction;
  EXPECT_EQ(document("--datapath " + other + kClassic).at("explained")[0].at("value"), "-0.75");
  EXPECT_EQ(beside.at("explained")[1].at("differing_bits"), "0x00200000");
}

TEST_F(CliExplain, AFilesResultByOtherArchitectures) {
  ASSERT_EQ(run(probe_datapath({"--record", "p.safetensors"})).status, 0);
  const std::string ampere = " --datapath sm_80:mma.m16n8k16.f32.f16.f16.f32", hopper = " --datapath sm_90:";
  const json found = document("--in p.safetensors --at 3,3,3" + ampere + hopper + kInstruction);
  std::map<std::string, std::string> results;
  for (const json& side : found.at("explained")) {
    for (const json& of : side.at("of")) results[of.at("arch")] = side.at("d");
  }
  EXPECT_EQ(results.size(), 2u);
  EXPECT_EQ(results.at("sm_90"), found.at("observed").get<std::string>());
}

/// Of a product by a plan: what the steps come to is the D that `tcnum gemm` writes.
TEST_F(CliExplain, AnElementOfAMatrixProduct) {
  std::mt19937_64 random(1);
  const auto write_product = [&](const char* name, FormatId id, std::size_t m, std::size_t n, std::size_t k) {
    const auto tensor = [&](std::size_t rows, std::size_t columns) {
      StoredTensor made{id, {rows, columns}, Codes(format(id).storage_bytes(), rows * columns)};
      for (std::size_t i = 0; i < rows * columns; ++i) {
        const std::uint64_t significand = (std::uint64_t{1} << 20) + random() % (1 << 20);
        made.codes.set(i, encode(format(id), random() % 2 == 0, significand, -20 - static_cast<int>(random() % 6),
                                 false, Rounding::nearest_even));
      }
      return made;
    };
    const StoredTensor a = tensor(m, k), b = tensor(k, n);
    const std::vector<NamedTensor> both = {{"A", a}, {"B", b}};
    write_matrices((folder_ / name).string(), both);
  };
  write_product("half.safetensors", FormatId::fp16, 3, 2, 40);
  write_product("long.safetensors", FormatId::fp32, 2, 2, 300);
  write_product("fp8.safetensors", FormatId::fp8e4m3, 2, 2, 300);
  for (const auto& [name, plan, place] :
       std::vector<std::array<std::string, 3>>{{"half", "nvjet", "2,1"}, {"long", "cutlass2-tf32", "1,0"}}) {
    const std::string in = name + ".safetensors", out = name + "-d.safetensors";
    ASSERT_EQ(run({"gemm", "--in", in, "--plan", plan, "--out", out}).status, 0) << plan;
    const Result r = explain("--in " + out + " --plan " + plan + " --at " + place + " --json e.json");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.out.find("  ...") != std::string::npos, name == "long") << "300 products are too many to show";
    EXPECT_TRUE(r.out.ends_with(": the same\n")) << r.out;
    EXPECT_EQ(r.out.find("rounded to fp16") != std::string::npos, name == "half") << r.out;
    EXPECT_EQ(r.out.find("fp16 keeps the bits of the sum before the bar") != std::string::npos, name == "half");
    const json found = json::parse(contents(folder_ / "e.json"));
    const json& side = found.at("explained").at(0);
    EXPECT_GT(side.at("sums").size(), 1u);
    const json& steps = found.at("plans").at(0).at("steps");
    EXPECT_EQ(steps.back().at("result"), found.at("observed")) << plan;
    EXPECT_EQ(steps.back().at("step"), "output");
    EXPECT_EQ(steps.size(), side.at("sums").size() + 1);
  }
  // Two plans, from the first step on that differs: where one promotes for the first time.
  ASSERT_EQ(run({"gemm", "--in", "fp8.safetensors", "--plan", "nvjet-fp8", "--out", "fast.safetensors"}).status, 0);
  const Result both = explain("--in fast.safetensors --plan nvjet-fp8 --plan nvjet-fp8-slow --at 1,1 --json both.json");
  EXPECT_EQ(both.status, 0) << both.err;
  for (const char* part : {"promotes every 128 products to fp32", "promoted to the total", "  5     k-step  ",
                           "The sums after 4 steps are those of the other plan too; then:", ": the same\n"})
    EXPECT_NE(both.out.find(part), std::string::npos) << part << "\n" << both.out;
  const json plans = json::parse(contents(folder_ / "both.json")).at("plans");
  EXPECT_EQ(plans.at(0).at("shared_steps"), 4);
  EXPECT_EQ(plans.at(0).at("steps").size(), 10u + 1);
  EXPECT_EQ(plans.at(1).at("steps").size(), 10u + 3 + 1);
  // Another result than the plan's.
  std::string bytes = contents(folder_ / "half-d.safetensors");
  bytes[bytes.size() - 2] ^= 1;
  write("half-d.safetensors", bytes);
  const Result other = explain("--in half-d.safetensors --plan nvjet --at 2,1");
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_NE(other.out.find(": 1 ulp "), std::string::npos) << other.out;
  EXPECT_NE(other.out.find("No named plan gives the file's result here."), std::string::npos) << other.out;
  // Where a named plan gives it, both are shown.
  const Result found = explain("--in fast.safetensors --plan nvjet-fp8-slow --at 1,1 --json both.json");
  EXPECT_NE(found.out.find("\nnvjet-fp8: one chain of "), std::string::npos) << found.out;
  EXPECT_EQ(json::parse(contents(folder_ / "both.json")).at("plans").at(1).at("shared_steps"), 4);
}

TEST_F(CliExplain, RefusesWhatIsWrong) {
  ASSERT_EQ(run(probe_datapath({"--record", "p.safetensors"})).status, 0);
  for (const auto& [arguments, part] : std::vector<std::pair<std::string, std::string>>{
           {"--arch sm_90", "--arch and --format"},
           {"--format fp16", "--arch and --format"},
           {"--arch sm_90 --format fp16 --instr mma.m16n8k16.f32.f16.f16.f32", "--arch and --format"},
           {"--arch sm_70 --arch sm_90 --format bf16", "bf16"},
           {"--all --arch sm_90", "--all"},
           {"--all --format fp99", "--format: fp99 is unknown"},
           {"--all --instr nothing", "--all: the catalogue has no such instruction"},
           {"--all --a 0.1", "--a: 0.1"},
           {"--in p.safetensors --arch sm_80 --arch sm_90", "--in: is of one instruction"},
           {"--in p.safetensors --datapath sm_80:mma.m16n8k16.f32.bf16.bf16.f32", "sm_80:mma.m16n8k16"},
           {"--in p.safetensors --json p.safetensors", "--json"},
           {"--plan nvjet", "--plan requires --at"},
           {"--alpha 2 --arch sm_90 --format fp16 --a 1 --b 1", "--alpha requires --plan"},
           {"--datapath " + kDatapath + " --json no/x.json", "no/x.json"},
       }) {
    const Result done = explain(arguments);
    EXPECT_EQ(done.status, 2) << arguments;
    EXPECT_NE(done.err.find(part), std::string::npos) << arguments << ": " << done.err;
    EXPECT_EQ(std::ranges::count(done.err, '\n'), 1) << done.err;
  }
}

}  // namespace
}  // namespace tcnum
