// tcnum without tcnum-bench beside it: `bench` and `model` say how to get it, and everything else works.
// Labels: sanitized
#include "tests/cli.hpp"

namespace tcnum {
namespace {

class CliWithoutBench : public Cli {
 protected:
  CliWithoutBench() { fs::copy_file(kProgram, folder_ / "tcnum"); }

  Result run_alone(const std::vector<std::string>& arguments) const {
    return finish(start_program((folder_ / "tcnum").c_str(), arguments));
  }
};

TEST_F(CliWithoutBench, OneLineSaysHowToGetIt) {
  const std::vector<std::vector<std::string>> asked = {
      {"bench", "tensor", "--list"}, {"bench", "--help"}, {"bench"}, {"model", "gemm"}};
  for (const std::vector<std::string>& arguments : asked) {
    const Result r = run_alone(arguments);
    SCOPED_TRACE(testing::PrintToString(arguments) + "\n" + r.err);
    EXPECT_EQ(r.status, 3);
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(r.err.starts_with("tcnum: " + arguments[0] + ": needs the program "));
    EXPECT_NE(r.err.find((folder_ / "tcnum-bench").string()), std::string::npos);
    EXPECT_NE(r.err.find("expected"), std::string::npos);
    EXPECT_NE(r.err.find("`./run " + arguments[0]), std::string::npos);
    EXPECT_EQ(std::ranges::count(r.err, '\n'), 1);
  }
}

TEST_F(CliWithoutBench, OtherTextsNameItsCommands) {
  const Result help = run_alone({"--help"});
  EXPECT_EQ(help.status, 0) << help.err;
  for (const char* command : {"bench", "model", "probe"})
    EXPECT_NE(help.out.find(command), std::string::npos) << command;
  const Result wrong = run_alone({"benchmark"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("bench, model"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace tcnum
