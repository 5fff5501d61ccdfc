// tcnum gemm as a user runs it: products by plans, and plans of products.
#include <bit>
#include <cstring>
#include <random>

#include "cli.hpp"
#include "src/files/matrix_file.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {
namespace {

class CliGemm : public Cli {
 protected:
  static Matrix random_matrix(FormatId id, std::size_t rows, std::size_t columns, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<double> numbers(rows * columns);
    for (double& x : numbers) x = static_cast<double>(static_cast<std::int64_t>(random() % 4001) - 2000) / 1024;
    return Matrix::from(numbers, rows, columns, format(id).name);
  }
  static StoredTensor stored(const Matrix& matrix) {
    StoredTensor tensor{matrix.format(),
                        {matrix.rows(), matrix.columns()},
                        Codes(format(matrix.format()).storage_bytes(), matrix.rows() * matrix.columns())};
    std::ranges::copy(matrix.bytes(), tensor.codes.bytes().begin());
    return tensor;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write_ab(const std::string& name, const Matrix& a, const Matrix& b) const {
    const StoredTensor stored_a = stored(a), stored_b = stored(b);
    const std::array<NamedTensor, 2> tensors = {{{"A", stored_a}, {"B", stored_b}}};
    write_matrices(path(name), tensors);
  }
  Matrix a_ = random_matrix(FormatId::fp16, 33, 300, 1), b_ = random_matrix(FormatId::fp16, 300, 65, 2);
};

TEST_F(CliGemm, MultipliesByAPlanAndFindsItAgain) {
  write_ab("ab.safetensors", a_, b_);
  ASSERT_EQ(
      run({"gemm", "--in", "ab.safetensors", "--plan", "nvjet", "--output", "fp32", "--out", "abd.safetensors"}).status,
      0);
  const Matrix d = gemm(named_plan("nvjet", FormatId::fp16, FormatId::fp32), a_, b_);
  EXPECT_EQ(MatrixFile(path("abd.safetensors")).read("D"), stored(d));
  EXPECT_EQ(MatrixFile(path("abd.safetensors")).read("A"), stored(a_));

  const Result fit = run({"gemm", "--in", "abd.safetensors", "--fit", "--json", "fit.json"});
  EXPECT_EQ(fit.status, 0) << fit.err;
  EXPECT_NE(fit.out.find("33 × 65 × 300: identified"), std::string::npos) << fit.out;
  const json report = json::parse(text("fit.json"));
  EXPECT_EQ(report.at("schema"), "tcnum.gemm_fit/1");
  EXPECT_EQ(report.at("verdict"), "identified");
  EXPECT_EQ(report.at("mismatches"), 0);
  EXPECT_EQ(report.at("elements"), 33 * 65);

  // The plan that was found multiplies to the same.
  write("plan.json", report.at("plan").dump());
  ASSERT_EQ(run({"gemm", "--in", "ab.safetensors", "--plan", "plan.json", "--out", "again.safetensors"}).status, 0);
  EXPECT_EQ(text("again.safetensors"), text("abd.safetensors"));
}

TEST_F(CliGemm, TakesArraysOfNumPy) {
  write_npy(path("a.npy"), stored(a_));
  write_npy(path("b.npy"), stored(b_));
  ASSERT_EQ(run({"gemm", "--a", "a.npy", "--b", "b.npy", "--plan", "nvjet", "--out", "d.npy"}).status, 0);
  EXPECT_EQ(read_npy(NpyFile(path("d.npy"))), stored(gemm(named_plan("nvjet", FormatId::fp16), a_, b_)));
  const Result fit = run({"gemm", "--a", "a.npy", "--b", "b.npy", "--d", "d.npy", "--fit"});
  EXPECT_EQ(fit.status, 0) << fit.err;
}

TEST_F(CliGemm, AddsCAndABias) {
  const Matrix c = random_matrix(FormatId::fp32, 33, 65, 3), bias = random_matrix(FormatId::fp32, 1, 65, 4);
  StoredTensor stored_bias = stored(bias);
  stored_bias.shape = {65};
  const StoredTensor a = stored(a_), b = stored(b_), stored_c = stored(c);
  const std::array<NamedTensor, 4> tensors = {{{"A", a}, {"B", b}, {"C", stored_c}, {"bias", stored_bias}}};
  write_matrices(path("all.safetensors"), tensors);
  ASSERT_EQ(run({"gemm", "--in", "all.safetensors", "--plan", "nvjet", "--alpha", "0.75", "--beta", "-1.5", "--out",
                 "d.safetensors"})
                .status,
            0);
  const MatrixView c_view = c, bias_view = bias;
  const Matrix d = gemm(named_plan("nvjet", FormatId::fp16), a_, b_,
                        {.c = &c_view, .bias = &bias_view, .alpha = 0.75, .beta = -1.5});
  EXPECT_EQ(MatrixFile(path("d.safetensors")).read("D"), stored(d));
}

TEST_F(CliGemm, FindsAPlantedFault) {
  write_ab("ab.safetensors", a_, b_);
  ASSERT_EQ(run({"gemm", "--in", "ab.safetensors", "--plan", "nvjet", "--out", "abd.safetensors"}).status, 0);
  std::string bytes = text("abd.safetensors");
  bytes[bytes.size() - 2 * (65 * 11 + 7)] ^= 1;
  write("abd.safetensors", bytes);
  const Result fit = run({"gemm", "--in", "abd.safetensors", "--fit"});
  EXPECT_EQ(fit.status, 1) << fit.out;
  EXPECT_NE(fit.out.find("unexplained"), std::string::npos);
  EXPECT_NE(fit.out.find("1 of them not as it says"), std::string::npos) << fit.out;
  EXPECT_NE(fit.out.find("element [21, 58]"), std::string::npos) << fit.out;
}

TEST_F(CliGemm, AsksAProgram) {
  // It multiplies as a plan says, with this very program.
  write("multiply", std::string("#!/bin/sh\nexec ") + kProgram +
                        " gemm --in \"$1\" --plan nvjet-fp8-slow --output bf16 --out \"$2\"\n");
  fs::permissions(folder_ / "multiply", fs::perms::owner_all);
  const Result fit = run({"gemm", "--fit", "--from", "exec:./multiply", "--formats", "fp8e4m3:bf16", "--shape",
                          "17x40x512", "--json", "-"});
  EXPECT_EQ(fit.status, 0) << fit.err;
  const json report = json::parse(fit.out);
  EXPECT_EQ(report.at("verdict"), "identified") << fit.out;
  EXPECT_EQ(report.at("plan").at("promote_every"), 128);
  EXPECT_GE(report.at("products"), 6);
}

TEST_F(CliGemm, SaysWhatIsWrong) {
  write_ab("ab.safetensors", a_, b_);
  const auto with = [](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"gemm"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  expect_failure(with({}), 2, {"--plan: missing"});
  expect_failure(with({"--plan", "nvjet"}), 2, {"--out: missing"});
  expect_failure(with({"--plan", "nvjet", "--out", "d"}), 2, {"either --in FILE, or --a A.npy and --b B.npy"});
  expect_failure(with({"--in", "ab.safetensors", "--a", "x", "--plan", "nvjet", "--out", "d"}), 2,
                 {"either --in FILE"});
  expect_failure(with({"--in", "ab.safetensors", "--plan", "jet", "--out", "d"}), 2,
                 {"--plan: jet is neither", "nvjet-fp8"});
  expect_failure(with({"--in", "ab.safetensors", "--plan", "deepgemm", "--out", "d"}), 2,
                 {"plan deepgemm takes no operands of fp16", "fp8e4m3"});
  expect_failure(with({"--in", "ab.safetensors", "--plan", "nvjet", "--out", "no/where"}), 2, {"no/where"});
  expect_failure(with({"--in", "ab.safetensors", "--plan", "nvjet", "--beta", "1", "--out", "d"}), 2,
                 {"beta is 1 and there is no C"});
  expect_failure(with({"--in", "ab.safetensors", "--fit"}), 2, {"ab.safetensors: tensor D: missing"});
  expect_failure(with({"--fit", "--from", "cublaslt2"}), 2, {"--formats and --shape"});
  expect_failure(with({"--fit", "--from", "x", "--formats", "fp16:fp16", "--shape", "1x2x3"}), 2,
                 {"--from: x; right would be exec:"});
  expect_failure(with({"--fit", "--from", "exec:false", "--formats", "fp16:fp16", "--shape", "1x2x3"}), 2,
                 {"false ended with status 1"});
  expect_failure(with({"--fit", "--from", "exec:true", "--formats", "fp16", "--shape", "1x2x3"}), 2,
                 {"--formats: fp16; right would be A:D"});
  expect_failure(with({"--fit", "--from", "exec:true", "--formats", "fp16:fp16", "--shape", "1x2"}), 2,
                 {"--shape: 1x2; right would be M×N×K"});
  EXPECT_FALSE(fs::exists(folder_ / "d"));
}

}  // namespace
}  // namespace tcnum
