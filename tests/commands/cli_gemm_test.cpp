// tcnum gemm as a user runs it: products by plans, and plans of products.
// Labels: sanitized
#include <bit>
#include <cstring>
#include <iterator>
#include <random>
#include <sstream>

#include "cli.hpp"
#include "labels.hpp"
#include "src/files/matrix_file.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/gemm_error.hpp"

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
  printed({"gemm", "--in", "ab.safetensors", "--plan", "nvjet", "--output", "fp32", "--out", "abd.safetensors"});
  const Matrix d = gemm(named_plan("nvjet", FormatId::fp16, FormatId::fp32), a_, b_);
  EXPECT_EQ(MatrixFile(path("abd.safetensors")).read("D"), stored(d));
  EXPECT_EQ(MatrixFile(path("abd.safetensors")).read("A"), stored(a_));

  printed({"gemm", "--in", "abd.safetensors", "--fit", "--json", "fit.json"},
          {"33 × 65 × 300: identified\n  The plan: one chain of wgmma.m64n8k16.f32.f16.f16 of sm_90.\n"});
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
  TCNUM_NOT_SANITIZED();
  write_npy(path("a.npy"), stored(a_));
  write_npy(path("b.npy"), stored(b_));
  ASSERT_EQ(run({"gemm", "--a", "a.npy", "--b", "b.npy", "--plan", "nvjet", "--out", "d.npy"}).status, 0);
  EXPECT_EQ(read_npy(NpyFile(path("d.npy"))), stored(gemm(named_plan("nvjet", FormatId::fp16), a_, b_)));
  printed({"gemm", "--a", "a.npy", "--b", "b.npy", "--d", "d.npy", "--fit"});
}

TEST_F(CliGemm, AddsCAndABias) {
  const Matrix c = random_matrix(FormatId::fp32, 33, 65, 3), bias = random_matrix(FormatId::fp32, 1, 65, 4);
  StoredTensor stored_bias = stored(bias);
  stored_bias.shape = {65};
  const StoredTensor a = stored(a_), b = stored(b_), stored_c = stored(c);
  const std::array<NamedTensor, 4> tensors = {{{"A", a}, {"B", b}, {"C", stored_c}, {"bias", stored_bias}}};
  write_matrices(path("all.safetensors"), tensors);
  printed({"gemm", "--in", "all.safetensors", "--plan", "nvjet", "--alpha", "0x1.8p-1", "--beta", "-0.75*2^1", "--out",
           "d.safetensors"});
  const MatrixView c_view = c, bias_view = bias;
  const Matrix d = gemm(named_plan("nvjet", FormatId::fp16), a_, b_,
                        {.c = &c_view, .bias = &bias_view, .alpha = 0.75, .beta = -1.5});
  EXPECT_EQ(MatrixFile(path("d.safetensors")).read("D"), stored(d));

  // A C that is there is added: as in C++, C and Python.
  ASSERT_EQ(run({"gemm", "--in", "all.safetensors", "--plan", "nvjet", "--out", "e.safetensors"}).status, 0);
  const Matrix with_c = gemm(named_plan("nvjet", FormatId::fp16), a_, b_, {.c = &c_view, .bias = &bias_view});
  EXPECT_EQ(MatrixFile(path("e.safetensors")).read("D"), stored(with_c));
}

// --- Scales.

/// Of fp8 operands, and of scales that are beside each other in every shape that a plan may have.
class CliScaledGemm : public CliGemm {
 protected:
  static constexpr std::size_t kM = 5, kN = 130, kK = 256;
  static Matrix scales(std::size_t rows, std::size_t columns, std::uint64_t seed) {
    return random_matrix(FormatId::fp32, rows, columns, seed);
  }
  void write_all(const std::string& name, const StoredTensor& sa, const StoredTensor& sb) const {
    const StoredTensor a = stored(fp8_a_), b = stored(fp8_b_);
    const std::array<NamedTensor, 4> tensors = {{{"A", a}, {"B", b}, {"SA", sa}, {"SB", sb}}};
    write_matrices(path(name), tensors);
  }
  Matrix product(const char* plan, const Matrix& sa, const Matrix& sb) const {
    const MatrixView of_a = sa, of_b = sb;
    return gemm(named_plan(plan, FormatId::fp8e4m3, FormatId::fp32), fp8_a_, fp8_b_,
                {.a_scales = &of_a, .b_scales = &of_b});
  }
  Matrix fp8_a_ = random_matrix(FormatId::fp8e4m3, kM, kK, 11), fp8_b_ = random_matrix(FormatId::fp8e4m3, kK, kN, 12);
};

TEST_F(CliScaledGemm, MultipliesThemAsTheLibraryDoes) {
  struct Shape {
    const char* plan;
    Matrix sa, sb;
  };
  for (const auto& [plan, sa, sb] :
       {Shape{"nvjet-fp8", scales(1, 1, 1), scales(1, 1, 2)}, Shape{"nvjet-fp8", scales(kM, 1, 3), scales(1, kN, 4)},
        Shape{"nvjet-fp8", scales(kM, 1, 5), scales(1, 2, 6)},
        Shape{"nvjet-fp8-slow", scales(kM, 2, 7), scales(2, 2, 8)},
        Shape{"nvjet-fp8-slow", scales(1, 2, 9), scales(2, kN, 10)}}) {
    const StoredTensor right = stored(product(plan, sa, sb));
    ASSERT_NE(right, stored(product(plan, scales(1, 1, 20), scales(1, 1, 21)))) << "scales count";
    write_all("all.safetensors", stored(sa), stored(sb));
    Result r = run({"gemm", "--in", "all.safetensors", "--plan", plan, "--output", "fp32", "--out", "d.safetensors"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(MatrixFile(path("d.safetensors")).read("D"), right);

    StoredTensor a = stored(fp8_a_), b = stored(fp8_b_);
    a.format = b.format = FormatId::u8;  // NumPy has no fp8
    write_npy(path("a.npy"), a);
    write_npy(path("b.npy"), b);
    write_npy(path("sa.npy"), stored(sa));
    write_npy(path("sb.npy"), stored(sb));
    r = run({"gemm", "--a", "a.npy", "--b", "b.npy", "--scale-a", "sa.npy", "--scale-b", "sb.npy", "--format",
             "fp8e4m3", "--plan", plan, "--output", "fp32", "--out", "d.npy"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(read_npy(NpyFile(path("d.npy"))), right);
  }
}

TEST_F(CliScaledGemm, IsComparedWithWhatItsOperandsWere) {
  const Matrix sa = scales(kM, 2, 7), sb = scales(2, 2, 8), was_a = random_matrix(FormatId::fp64, kM, kK, 13),
               was_b = random_matrix(FormatId::bf16, kK, kN, 14);
  const MatrixView of_a = sa, of_b = sb, exact_a = was_a, exact_b = was_b;
  const Matrix d = product("deepgemm", sa, sb);
  const ErrorReport right = error_of(d, fp8_a_, fp8_b_, {.a_scales = &of_a, .b_scales = &of_b}, {},
                                     {.exact_a = &exact_a, .exact_b = &exact_b});
  const auto expect = [&](const Result& result) {
    ASSERT_EQ(result.status, 0) << result.err;
    const json report = json::parse(text("error.json"));
    EXPECT_EQ(report.at("ulps").at("p90"), right.error.ulps.percentile(90));
    EXPECT_EQ(report.at("relative").at("median"), right.error.relative.percentile(50));
    EXPECT_EQ(report.at("arithmetic").at("relative").at("max"), right.arithmetic->relative.max());
    EXPECT_EQ(report.at("quantisation").at("ulps").at("mean"), right.quantisation->ulps.mean);
    EXPECT_EQ(report.at("exact_a"), "fp64");
    EXPECT_EQ(report.at("b_scale_block"), 128);
    EXPECT_NE(result.out.find("A: scales for every 128 of k, exact in fp64; B: "), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("quantisation, of Σ|a·b|"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("mean"), std::string::npos) << result.out;
  };
  const StoredTensor a = stored(fp8_a_), b = stored(fp8_b_), stored_sa = stored(sa), stored_sb = stored(sb),
                     stored_a = stored(was_a), stored_b = stored(was_b), stored_d = stored(d);
  const std::vector<NamedTensor> tensors = {{"A", a},
                                            {"B", b},
                                            {"SA", stored_sa},
                                            {"SB", stored_sb},
                                            {"D", stored_d},
                                            {"exact_B", stored_b},
                                            {"exact_A", stored_a}};
  write_matrices(path("all.safetensors"), tensors);
  expect(run({"gemm", "--in", "all.safetensors", "--error", "--json", "error.json"}));
}

TEST_F(CliScaledGemm, SaysWhatIsWrong) {
  const auto refused = [&](const StoredTensor& sa, const StoredTensor& sb, const std::vector<std::string>& parts,
                           const std::vector<std::string>& how = {"--plan", "nvjet-fp8-slow", "--out", "d"}) {
    write_all("all.safetensors", sa, sb);
    std::vector<std::string> all = {"gemm", "--in", "all.safetensors"};
    all.insert(all.end(), how.begin(), how.end());
    expect_failure(all, 2, parts);
    EXPECT_FALSE(fs::exists(folder_ / "d"));
  };
  const StoredTensor one = stored(scales(1, 1, 1));
  refused(stored(scales(4, 1, 1)), one, {"all.safetensors: tensor SA: shape: [4, 1]; expected [1 or M, parts"});
  refused(one, stored(scales(1, 3, 1)),
          {"all.safetensors: tensor SB: shape: [1, 3]; expected [parts of K, 1, N/128 or N] with N = 130"});
  refused(stored(scales(1, 2, 1)), one, {"tensor SB: shape: [1, 1]", "with parts of K = 2, as SA has"});
  refused(stored(scales(1, 3, 1)), stored(scales(3, 1, 1)),
          {"all.safetensors: tensor SA: 3 parts of K; expected 1, or 2 of 128 each"});
  refused(stored(scales(1, 2, 1)), stored(scales(2, 1, 1)),
          {"all.safetensors: tensor SA: 2 parts of K; expected 1, as the plan has no promote_every"},
          {"--plan", "nvjet-fp8", "--out", "d"});
  StoredTensor blocks{FormatId::ue8m0, {kM, 8}, Codes(1, kM * 8)}, of_b{FormatId::ue8m0, {8, kN}, Codes(1, 8 * kN)};
  refused(blocks, of_b, {"all.safetensors: tensor SA: scales of ue8m0", "no plan is of one"});
  expect_failure({"gemm", "--a", "a.npy", "--b", "b.npy", "--exact-a", "x.npy", "--plan", "nvjet-fp8", "--out", "d"}, 2,
                 {"--exact-a and --exact-b require --error"});

  // A fit is of A and B alone; the file says so.
  const StoredTensor a = stored(fp8_a_), b = stored(fp8_b_),
                     d = stored(product("nvjet-fp8", scales(1, 1, 1), scales(1, 1, 2)));
  const std::array<NamedTensor, 4> with_sb = {{{"A", a}, {"B", b}, {"SB", one}, {"D", d}}};
  write_matrices(path("sb.safetensors"), with_sb);
  expect_failure({"gemm", "--in", "sb.safetensors", "--fit"}, 2, {"sb.safetensors: tensor SB: --fit takes no scales"});
}

TEST_F(CliGemm, FindsAPlantedFault) {
  TCNUM_NOT_SANITIZED();
  write_ab("ab.safetensors", a_, b_);
  ASSERT_EQ(run({"gemm", "--in", "ab.safetensors", "--plan", "nvjet", "--out", "abd.safetensors"}).status, 0);
  std::string bytes = text("abd.safetensors");
  bytes[bytes.size() - 2 * (65 * 11 + 7)] ^= 1;
  write("abd.safetensors", bytes);
  const std::string fit =
      printed({"gemm", "--in", "abd.safetensors", "--fit"}, {"unexplained", "1 of them not as it says"}, 1);
  for (const char* part : {"  The nearest plan gets 1 of 2145 elements wrong: ", "  Searched: ", "  What to try:\n",
                           "Few elements are wrong", "Ask for a D of fp32"})
    EXPECT_NE(fit.find(part), std::string::npos) << part << "\n" << fit;
  EXPECT_NE(fit.find("element [21, 58]"), std::string::npos) << fit;
}

TEST_F(CliGemm, AsksAProgram) {
  TCNUM_NOT_SANITIZED();
  // It multiplies as a plan says, with this very program.
  write("multiply", std::string("#!/bin/sh\nexec ") + kProgram +
                        " gemm --in \"$1\" --plan nvjet-fp8-slow --output bf16 --out \"$2\"\n");
  fs::permissions(folder_ / "multiply", fs::perms::owner_all);
  const std::string fit = printed({"gemm", "--fit", "--from", "exec:./multiply", "--formats", "fp8e4m3:bf16", "--shape",
                                   "17x40x512", "--json", "-"});
  const json report = json::parse(fit);
  EXPECT_EQ(report.at("verdict"), "identified") << fit;
  EXPECT_EQ(report.at("plan").at("promote_every"), 128);
  EXPECT_GE(report.at("products"), 6);
  // The names of the files stand where the command has places for them.
  const Result placed =
      run({"gemm", "--fit", "--from",
           "exec:'" + std::string(kProgram) + "' gemm --out {out} --in {in} --plan nvjet-fp8-slow --output bf16",
           "--formats", "fp8e4m3:bf16", "--shape", "17x40x512", "--json", "-"});
  EXPECT_EQ(placed.out, fit) << placed.err;
}

TEST_F(CliGemm, SaysInAPipeWhatItIsAt) {
  write("slow", "#!/bin/sh\nsleep 6\nexit 9\n");
  fs::permissions(folder_ / "slow", fs::perms::owner_all);
  const Result fit =
      run({"gemm", "--fit", "--from", "exec:./slow", "--formats", "fp16:fp32", "--shape", "8x8x16", "--json", "-"});
  EXPECT_EQ(fit.status, 2) << fit.err;
  EXPECT_NE(fit.err.find("tcnum: 5 s: waiting for product 1\n"), std::string::npos) << fit.err;
  EXPECT_EQ(fit.err.find('\r'), std::string::npos);
  EXPECT_EQ(fit.out, "");
}

TEST_F(CliGemm, AsksWhatBecomesOfAlphaCAndABias) {
  TCNUM_NOT_SANITIZED();
  write("plan.json", R"({"schema": "tcnum.gemm_plan/1", "arch": "sm_90", "output": "fp16",
                         "instruction": "wgmma.m64n8k16.f32.f16.f16",
                         "epilogue": {"alpha": "first", "beta": "fused", "bias": "as_c"}})");
  const std::vector<std::string> with = {"gemm",      "--fit",     "--epilogue", "--from",   "plan:plan.json",
                                         "--formats", "fp16:fp16", "--shape",    "40x72x200"};
  const std::string fit = printed(with, {"alpha, C and a bias: identified"});
  EXPECT_NE(fit.find(R"(the epilogue: {"alpha":"first","beta":"fused","bias":"as_c"})"), std::string::npos);

  // A program that multiplies A and B, and adds C and the bias, but leaves alpha out.
  write("multiply", std::string("#!/bin/sh\ncp \"$1\" seen.$(ls | grep -c seen)\nexec ") + kProgram +
                        " gemm --in \"$1\" --plan nvjet --output fp16 --out \"$2\"\n");
  fs::permissions(folder_ / "multiply", fs::perms::owner_all);
  const json report = json::parse(printed({"gemm", "--fit", "--epilogue", "--from", "exec:./multiply", "--formats",
                                           "fp16:fp16", "--shape", "40x72x200", "--json", "-"},
                                          {}, 1));
  EXPECT_EQ(report.at("verdict"), "identified");
  EXPECT_EQ(report.at("epilogue").at("verdict"), "unexplained");
  EXPECT_EQ(report.at("epilogue").at("first_mismatch").at("product"), "alpha");
  const std::string seen = text("seen.6");  // the first that has more than A and B
  EXPECT_NE(seen.find(R"("alpha":{"dtype":"F64","shape":[1])"), std::string::npos) << seen.substr(0, 400);
  EXPECT_EQ(seen.find("\"beta\""), std::string::npos);

  expect_failure({"gemm", "--fit", "--epilogue", "--in", "ab.safetensors"}, 2, {"--epilogue requires --from"});
}

TEST_F(CliGemm, ComparesWithTheExactProduct) {
  write_ab("ab.safetensors", a_, b_);
  const Matrix d = gemm(named_plan("nvjet", FormatId::fp16, FormatId::fp32), a_, b_);
  const ErrorReport right = error_of(d, a_, b_);
  const auto expect = [&](const json& report) {
    EXPECT_EQ(report.at("schema"), "tcnum.gemm_error/1");
    EXPECT_EQ(report.at("elements"), 33 * 65);
    EXPECT_EQ(report.at("ulps").at("max"), right.error.ulps.max());
    EXPECT_EQ(report.at("relative").at("max"), right.error.relative.max());
    EXPECT_EQ(report.at("worst").at("row"), right.worst->row);
  };
  // That of a plan, whether it is written or not, and the one that is there.
  const std::string by_plan = printed({"gemm", "--in", "ab.safetensors", "--plan", "nvjet", "--output", "fp32",
                                       "--error", "--out", "abd.safetensors", "--json", "error.json"});
  expect(json::parse(text("error.json")));
  EXPECT_EQ(json::parse(text("error.json")).at("plan").at("name"), "nvjet");
  EXPECT_EQ(MatrixFile(path("abd.safetensors")).read("D"), stored(d));
  const auto& worst = *right.worst;
  EXPECT_NE(by_plan.find("[" + std::to_string(worst.row) + ", " + std::to_string(worst.column) + "]"),
            std::string::npos)
      << by_plan;
  EXPECT_NE(by_plan.find("19 instructions of 16 products"), std::string::npos) << by_plan;

  const std::string given = printed({"gemm", "--in", "abd.safetensors", "--error", "--json", "-"});
  expect(json::parse(given));
  EXPECT_EQ(json::parse(given).at("plan"), nullptr);
}

/// Products of forty bands of rows by a datapath whose sums take many words, with an infinity in each column: some ten
/// seconds of work, of which each band takes a moment.
class CliLongGemm : public CliGemm {
 protected:
  CliLongGemm() {
    Matrix b = random_matrix(FormatId::fp16, 64, kColumns, 7);
    for (std::size_t j = 0; j < kColumns; ++j) b.set(0, j, infinity_code(format(FormatId::fp16), j % 2 != 0));
    write_ab("ab.safetensors", random_matrix(FormatId::fp16, kRows, 64, 6), b);
    json plan = {{"schema", "tcnum.gemm_plan/1"}, {"output", "fp32"}};
    plan["datapath"] = json::parse(contents(kDatapath));
    json& unit = plan["datapath"]["units"]["fused"];
    unit["fraction_bits"] = 200;
    // More bits than doubles have, of largest numbers too, and of small ones after them.
    json many_bits = {{"fraction_bits", 60}, {"from", "leading_bit"}, {"rounding", "toward_zero"},
                      {"max_exponent", 20},  {"subnormals", "kept"},  {"overflow", "max_finite"}};
    json of_small = many_bits;
    of_small["min_exponent"] = -20;
    unit["result"].insert(unit["result"].begin(), {many_bits, of_small});
    write("plan.json", plan.dump());
  }
  std::vector<std::string> gemm_with(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"gemm", "--in", "ab.safetensors", "--plan", "plan.json", "--out", "d.safetensors"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  /// Waits until Ctrl-C is something that the program knows of.
  static void await_handler(pid_t child) {
    const std::string status = "/proc/" + std::to_string(child) + "/status";
    for (;;) {
      const std::string text = contents(status);
      const std::size_t at = text.find("SigCgt:");
      if (at == std::string::npos || text.find("State:\tZ") != std::string::npos) return;  // it has ended
      const std::uint64_t caught = std::stoull(text.substr(at + 7), nullptr, 16);
      if ((caught >> (SIGINT - 1) & 1) != 0) return;
      usleep(1000);
    }
  }

  static constexpr std::size_t kRows = 40 * 1024, kColumns = 160;
};

TEST_F(CliLongGemm, WritesNothingWhereItIsInterrupted) {
  TCNUM_NOT_SANITIZED();
  for (const auto& more : std::vector<std::vector<std::string>>{{}, {"--error", "--json", "error.json"}}) {
    const pid_t child = start(gemm_with(more));
    await_handler(child);
    kill(child, SIGINT);
    const Result r = finish(child);
    EXPECT_EQ(r.status, 3) << r.err;
    EXPECT_NE(r.err.find("interrupted after "), std::string::npos) << r.err;
    EXPECT_NE(r.err.find(" of 40960 rows"), std::string::npos) << r.err;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      EXPECT_FALSE(name.starts_with("d.safetensors") || name.starts_with("error.json")) << name;
    }
  }
}

TEST_F(CliLongGemm, ShowsOnATerminalHowFarItIs) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(grantpt(terminal) + unlockpt(terminal), 0);
  const std::string name = ptsname(terminal);
  const pid_t child = start(gemm_with({}), "out", [&] { dup2(open(name.c_str(), O_RDWR | O_NOCTTY), STDERR_FILENO); });
  std::string shown;
  char some[256];
  bool interrupts = false;
  for (ssize_t got = 0; (got = read(terminal, some, sizeof(some))) > 0;) {  // ends with the program
    shown.append(some, static_cast<std::size_t>(got));
    if (interrupts || shown.find(" s left") == std::string::npos) continue;
    kill(child, SIGINT);
    interrupts = true;
  }
  close(terminal);
  EXPECT_EQ(finish(child).status, 3) << shown;
  for (const char* part : {"multiplying: ", " rows/s, ", "interrupted after "})
    EXPECT_NE(shown.find(part), std::string::npos) << shown;
}

TEST_F(CliGemm, SaysWhatIsWrong) {
  write_ab("ab.safetensors", a_, b_);
  struct Wrong {
    const char* arguments;  ///< with spaces between them
    std::vector<std::string> parts;
  };
  for (const auto& [arguments, parts] : std::vector<Wrong>{
           {"", {"--plan: missing"}},
           {"--plan nvjet", {"--out: missing"}},
           {"--in ab.safetensors --a x --plan nvjet --out d", {"--in", "--a"}},
           {"--in ab.safetensors --plan jet --out d", {"--plan: jet is neither", "nvjet-fp8"}},
           {"--in ab.safetensors --plan deepgemm --out d", {"plan deepgemm takes no operands of fp16", "fp8e4m3"}},
           {"--in ab.safetensors --plan nvjet --beta 1 --out d", {"ab.safetensors: gemm: beta is 1 and there is no C"}},
           {"--in ab.safetensors --plan nvjet --processor tpu --out d", {"--processor: tpu", "cpu"}},
           {"--in ab.safetensors --error --processor gpu", {"--processor requires --plan"}},
           {"--in ab.safetensors --error --out d", {"--out requires --plan"}},
           {"--a a.npy --b b.npy --d d.npy --plan nvjet --error", {"--d", "excludes", "--plan"}},
           {"--in ab.safetensors --plan nvjet --out d --json j", {"--json: a product has no report"}},
           {"--in ab.safetensors --plan nvjet --error --json ab.safetensors",
            {"--in: ab.safetensors, which --json writes"}},
           {"--fit --from cublaslt2", {"--formats and --shape"}},
           {"--fit --from x --formats fp16:fp16 --shape 1x2x3", {"--from: x; expected exec:"}},
           {"--fit --from exec:false --formats fp16:fp16 --shape 1x2x3",
            {"false: ended with status 1; expected status 0"}},
           {"--fit --from exec:true --formats fp16:fp16 --shape 1x2x3", {"true: wrote no file {out}"}},
           {"--fit --from exec:true --formats fp16 --shape 1x2x3", {"--formats: fp16; expected A:D"}},
           {"--fit --from exec:true --formats fp16:fp16 --shape 1x2", {"--shape: 1x2; expected M×N×K"}},
           {"--fit --from cublaslt --algorithms 0", {"--algorithms: 0; expected a whole number from 1 to 100000"}}}) {
    std::istringstream words(std::string("gemm ") + arguments);
    expect_failure(std::vector<std::string>(std::istream_iterator<std::string>(words), {}), 2, parts);
  }
  expect_failure({"gemm", "--fit", "--from", "exec:sh -c 'sleep 100'", "--formats", "fp16:fp16", "--shape", "1x2x3",
                  "--time-limit", "0.05"},
                 2, {"gave no answer in 0.05 s"});
  EXPECT_FALSE(fs::exists(folder_ / "d"));
}

}  // namespace
}  // namespace tcnum
