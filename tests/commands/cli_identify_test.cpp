// `tcnum identify` and `explain --d`: those named give the answers, those not named do not, and the input that is said
// to tell them apart does.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "cli.hpp"
#include "src/files/matrix_file.hpp"
#include "src/files/written_number.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum {
namespace {

class CliIdentify : public Cli {
 protected:
  json document(std::vector<std::string> arguments, int status = 0) const {
    arguments.insert(arguments.begin(), "identify");
    arguments.insert(arguments.end(), {"--json", "-"});
    const Result r = run(arguments);
    EXPECT_EQ(r.status, status) << r.err;
    return json::parse(r.out);
  }
};

using Who = std::pair<std::string, std::string>;

std::set<Who> names(const json& list) {
  std::set<Who> all;
  for (const json& each : list) all.emplace(each.at("arch"), each.at("instruction"));
  return all;
}

/// A row of A and a column of B, as one product by an instruction of the catalogue.
std::uint64_t result_of(const Who& who, const Matrix& a, const Matrix& b, double c) {
  const Instruction& in = *find_instruction(who.second);
  const std::array<double, 1> number = {c};
  return matmul(a, b, Matrix::from(number, 1, 1, format(in.c).name), {.arch = who.first, .instruction = who.second})(0,
                                                                                                                     0);
}

/// 2^23 − 2^23 − 0.5 − 0.25 − 0.125, of which architectures keep different bits.
TEST_F(CliIdentify, ThoseWhoGiveTheClassicAnswerAreNamed) {
  const std::vector<double> a = {-0x1p12, -0.5, -0.25, -0.125}, b = {0x1p11, 1, 1, 1};
  const Matrix row = Matrix::from(a, 1, 4, "fp16"), column = Matrix::from(b, 4, 1, "fp16");
  for (const double answer : {0.0, -0.5, -0.75, -0.875, -1.0}) {
    SCOPED_TRACE(answer);
    const json found = document({"--format", "fp16", "--a", "-2^12,-0.5,-0.25,-0.125", "--b", "2^11,1,1,1", "--c",
                                 "2^23", "--d", fmt::format("{}", answer), "--output", "fp32"},
                                answer == -1.0 ? 1 : 0);
    EXPECT_EQ(found.at("schema"), "tcnum.identify/1");
    const std::set<Who> agree = names(found.at("matches"));
    std::set<Who> others;
    for (const json& other : found.at("others")) others.merge(names(other.at("of")));
    EXPECT_GT(agree.size() + others.size(), 60u);
    const std::uint64_t code = code_of_written(format(FormatId::fp32), fmt::format("{}", answer), "");
    for (const Who& who : agree) EXPECT_EQ(result_of(who, row, column, 0x1p23), code) << who.first << who.second;
    for (const Who& who : others) EXPECT_NE(result_of(who, row, column, 0x1p23), code) << who.first << who.second;
    EXPECT_EQ(agree.contains({"sm_90", "wgmma.m64n8k16.f32.f16.f16"}), answer == -0.75);
    EXPECT_EQ(agree.contains({"sm_80", kInstruction}), answer == -0.5);
  }
}

/// Whoever's answers to the inputs that are offered come in leaves fewer each time, until his row is alone or nothing
/// tells it from the others.
TEST_F(CliIdentify, TheInputThatItOffersTellsApart) {
  constexpr std::size_t kProducts = 16;
  const auto line = [](std::vector<std::string> a, std::vector<std::string> b, const std::string& c,
                       const std::string& d) {
    a.resize(kProducts, "0x0000");
    b.resize(kProducts, "0x0000");
    return fmt::format("{},{},{},{}\n", fmt::join(a, ","), fmt::join(b, ","), c, d);
  };
  std::string table;
  for (const char* operand : {"a", "b"}) {
    for (std::size_t k = 0; k < kProducts; ++k) table += fmt::format("{}{},", operand, k);
  }
  table += "c,d\n" + line({"0x3c00"}, {"0x3c00"}, "0x00000000", "0x3f800000");
  const Who who = {"sm_90", "wgmma.m64n8k16.f32.f16.f16"};
  std::size_t rounds = 0;
  for (;; ++rounds) {
    write("answers.csv", table);
    const json found = document({"--in", "answers.csv", "--format", "fp16"});
    EXPECT_TRUE(names(found.at("matches")).contains(who));
    const json& separation = found.at("separation");
    if (separation.is_null() || separation.at("inputs") == 0) break;
    const json& next = separation.at("next");
    const auto a = next.at("a").get<std::vector<std::string>>(), b = next.at("b").get<std::vector<std::string>>();
    Matrix row(FormatId::fp16, 1, a.size()), column(FormatId::fp16, a.size(), 1);
    for (std::size_t k = 0; k < a.size(); ++k) {
      row.set(0, k, *parse_code(a[k]));
      column.set(k, 0, *parse_code(b[k]));
    }
    const Format& c_format = format(*find_format(next.at("c_format").get<std::string>()));
    const std::string c = number_text(c_format, *parse_code(next.at("c").get<std::string>()));
    const std::string code = hex(format(FormatId::fp32), result_of(who, row, column, std::stod(c)));
    EXPECT_NE(std::ranges::find(separation.at("results"), json(code)), separation.at("results").end());
    table += line(a, b, c, code);
    ASSERT_LT(rounds, 20u);
  }
  EXPECT_GE(rounds, 1u);
}

TEST_F(CliIdentify, RecordedAnswersAreTheirInstructions) {
  const std::string recorded = TCNUM_SOURCE_DIR "/vectors/sm_90/wgmma.m64n8k32.f32.e4m3.e4m3.safetensors";
  ASSERT_EQ(run({"convert", "--in", recorded, "--out", "v.csv"}).status, 0);
  // The last of them are random; the first speak of codes that all read alike.
  std::vector<std::string> lines;
  std::istringstream all(text("v.csv"));
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  const auto names_of_columns = std::ranges::find_if(lines, [](const std::string& line) { return line[0] != '#'; });
  const std::vector<std::string> said(lines.begin(), names_of_columns), last(lines.end() - 200, lines.end());
  const std::string table = fmt::format("{}\n{}\n", *names_of_columns, fmt::join(last, "\n"));
  write("few.csv", fmt::format("{}\n{}", fmt::join(said, "\n"), table));
  write("bare.csv", table);  // without a word on who answered
  for (const auto& arguments : {std::vector<std::string>{"--in", "few.csv"},
                                std::vector<std::string>{"--in", "bare.csv", "--format", "fp8e4m3"}}) {
    const json found = document(arguments);
    EXPECT_EQ(found.at("answers"), 200);
    const std::set<Who> agree = names(found.at("matches"));
    EXPECT_TRUE(agree.contains({"sm_90", "wgmma.m64n8k32.f32.e4m3.e4m3"}));
    EXPECT_FALSE(agree.contains({"sm_90", "mma.m16n8k32.f32.e4m3.e4m3.f32"}));  // which is lowered to fp16
    EXPECT_FALSE(agree.contains({"sm_100", "tcgen05.mma.m64n8k32.f32.e4m3.e4m3"}));
  }
}

TEST_F(CliIdentify, APlanIsToldFromAChain) {
  constexpr std::size_t kRows = 4, kDepth = 512, kColumns = 6;
  const auto operand = [](std::size_t rows, std::size_t columns, unsigned seed) {
    std::vector<float> numbers(rows * columns);
    for (float& x : numbers) {
      seed = seed * 1664525u + 1013904223u;
      x = static_cast<float>(static_cast<int>(seed >> 20) - 2048) / 512.0f;
    }
    return Matrix::from(numbers, rows, columns, "fp8e4m3");
  };
  const Matrix a = operand(kRows, kDepth, 1), b = operand(kDepth, kColumns, 2);
  const auto stored = [](const Matrix& m) { return StoredTensor{m.format(), {m.rows(), m.columns()}, m.codes()}; };
  const auto write_product = [&](const std::string& name, const Matrix& d) {
    const StoredTensor ta = stored(a), tb = stored(b), td = stored(d);
    const std::array<NamedTensor, 3> tensors = {{{"A", ta}, {"B", tb}, {"D", td}}};
    write_matrices((folder_ / name).string(), tensors);
  };
  write_product("promoted.safetensors", gemm(named_plan("deepgemm", FormatId::fp8e4m3, FormatId::bf16), a, b));
  const json promoted = document({"--in", "promoted.safetensors"});
  std::set<std::string> plans;
  for (const json& plan : promoted.at("plans")) plans.insert(plan.at("name").get<std::string>());
  EXPECT_TRUE(plans.contains("deepgemm"));
  EXPECT_TRUE(names(promoted.at("matches")).empty());

  write_product("chain.safetensors", matmul(a, b, {.arch = "sm_90"}));
  const json chain = document({"--in", "chain.safetensors"});
  EXPECT_EQ(names(chain.at("matches")), (std::set<Who>{{"sm_90", "wgmma.m64n8k32.f32.e4m3.e4m3"}}));
  EXPECT_TRUE(chain.at("plans").empty());
}

TEST_F(CliIdentify, ExplainSaysWhoseAnAnswerIs) {
  const std::vector<std::string> asked = {
      "explain", "--arch",     "sm_90", "--format", "fp16", "--a", "-2^12,-0.5,-0.25,-0.125",
      "--b",     "2^11,1,1,1", "--c",   "2^23",     "--d"};
  const auto with = [&](const std::string& d, bool as_json) {
    std::vector<std::string> arguments = asked;
    arguments.push_back(d);
    if (as_json) arguments.insert(arguments.end(), {"--json", "-"});
    return run(arguments).out;
  };
  EXPECT_NE(with("-0.75", false).find("this datapath gives it"), std::string::npos);
  EXPECT_NE(with("-0.5", false).find("this datapath gives -0.75"), std::string::npos);
  const json other = json::parse(with("-0.5", true)).at("asked");
  EXPECT_EQ(other.at("given_by"), json::array({false}));
  EXPECT_TRUE(names(other.at("matches")).contains({"sm_80", kInstruction}));
  EXPECT_FALSE(names(other.at("matches")).contains({"sm_90", kInstruction}));
}

/// Twenty answers that nothing explains: sums of numbers that no datapath rounds, some of them off by a quarter.
TEST_F(CliIdentify, AProbeOfFewAnswersSaysWhatItLeftOut) {
  const Instruction& in = *find_instruction(kInstruction);
  std::string table = fmt::format("# instruction: {}\n# arch: sm_90\n", in.name());
  for (const char* operand : {"a", "b"}) {
    for (int k = 0; k < in.k; ++k) table += fmt::format("{}{},", operand, k);
  }
  table += "c,d\n";
  for (int row = 0; row < 20; ++row) {
    double sum = row % 4 == 1 ? 0.25 : 0;
    std::string a, b;
    for (int k = 0; k < in.k; ++k) {
      const double x = (k * 7 + row) % 5 - 2, y = (k * 3 + row) % 4 + 1;
      sum += x * y;
      a += fmt::format("{},", x);
      b += fmt::format("{},", y);
    }
    table += fmt::format("{}{}0,{}\n", a, b, sum);
  }
  write("few.csv", table);
  ASSERT_EQ(run({"convert", "--in", "few.csv", "--out", "few.hex"}).status, 0);
  for (const char* file : {"few.csv", "few.hex"}) {
    const std::string r =
        printed({"probe", "--from", file}, {"Rare ones were not looked", "gets 5 of 20 answers wrong"}, 1);
    EXPECT_EQ(r.find("subnormal_inputs"), std::string::npos) << r;  // no answer speaks of them
  }
  expect_failure({"probe", "--from", "none.csv"}, 2, {"none.csv"});
  write("bare.csv", table.substr(table.find("a0")));
  expect_failure({"probe", "--from", "bare.csv"}, 2, {"bare.csv", "--instr"});
}

TEST_F(CliIdentify, RefusesWhatIsWrong) {
  expect_failure({"identify"}, 2, {"--in FILE", "--d"});
  expect_failure({"identify", "--format", "fp16", "--a", "1", "--b", "1", "--d", "0x123"}, 2, {"--d", "3 digits"});
  expect_failure({"identify", "--format", "fp17", "--a", "1", "--b", "1", "--d", "1"}, 2, {"--format", "fp17"});
  expect_failure({"identify", "--format", "fp16", "--a", "0.1", "--b", "1", "--d", "1"}, 2, {"--a", "nearest"});
  expect_failure({"identify", "--in", "x.csv", "--a", "1"}, 2, {"--in", "excludes"});
  write("odd.csv", "a0,b0\n1,1\n");
  expect_failure({"identify", "--in", "odd.csv", "--format", "fp16"}, 2, {"odd.csv", "0 products"});
  expect_failure({"identify", "--format", "fp6e2m3", "--a", "1", "--b", "1", "--d", "0x3c", "--output", "ue8m0"}, 2,
                 {"no datapath", "ue8m0"});
}

}  // namespace
}  // namespace tcnum
