// What shells get of the program.
#include <regex>
#include <set>

#include "cli.hpp"

namespace tcnum {
namespace {

class CliShell : public Cli {
 protected:
  /// What a shell's program says to words; −1, where there is no such shell here.
  Result run_other(const std::string& program, const std::vector<std::string>& words) const {
    for (const char* folder : {"/usr/bin/", "/bin/"}) {
      if (fs::exists(folder + program)) return finish(start_program((folder + program).c_str(), words));
    }
    return {};
  }
  std::string written(const std::vector<std::string>& arguments) const {
    const Result r = run(arguments);
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(r.err, "");
    return r.out;
  }
  /// What bash proposes for the last of the words.
  std::set<std::string> proposed(const std::string& words) const {
    const Result r = run_other(
        "bash", {"-c", "source tcnum.bash; COMP_WORDS=('" + std::string(kProgram) + "'" + words.substr(5) +
                           "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tcnum; printf '%s\n' \"${COMPREPLY[@]}\""});
    std::set<std::string> found;
    std::istringstream lines(r.out);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) found.insert(line);
    }
    return found;
  }
};

const std::vector<std::vector<std::string>> kCommands = {
    {},       {"probe"}, {"verify"}, {"emulate"}, {"explain"},         {"diff"},
    {"gemm"}, {"list"},  {"sass"},   {"bench"},   {"bench", "tensor"}, {"bench", "report"}};

TEST_F(CliShell, EveryOptionIsCompleted) {
  for (const std::vector<std::string>& command : kCommands) {
    std::vector<std::string> words = command;
    words.emplace_back("--help");
    const std::string help = written(words);
    words.back() = "--";
    words.insert(words.begin(), "--complete");
    const std::string proposed = "\n" + written(words);
    static const std::regex kOption("\n  (?:-[a-z],)?--([a-z-]+)");
    std::size_t options = 0;
    for (std::sregex_iterator each(help.begin(), help.end(), kOption); each != std::sregex_iterator();
         ++each, ++options) {
      const std::string name = (*each)[1];
      EXPECT_NE(proposed.find("\n--" + name + "\n"), std::string::npos) << name;
    }
    EXPECT_GT(options, 0u) << help;
  }
  expect_failure({"--completion", "tcsh"}, 2, {"--completion", "tcsh", "bash, zsh or fish"});
  expect_failure({"--completion"}, 2, {"--completion"});
}

TEST_F(CliShell, BashProposesWhatCanFollow) {
  write("tcnum.bash", written({"--completion", "bash"}));
  ASSERT_EQ(run_other("bash", {"-n", "tcnum.bash"}).status, 0);
  EXPECT_EQ(proposed("tcnum pro"), std::set<std::string>{"probe"});
  EXPECT_EQ(proposed("tcnum bench ten"), std::set<std::string>{"tensor"});
  EXPECT_EQ(proposed("tcnum probe --arch sm_9"), std::set<std::string>{"sm_90"});
  EXPECT_EQ(proposed("tcnum probe --arch sm_90 --fr"), std::set<std::string>{"--from"});
  EXPECT_EQ(proposed("tcnum probe --table l"), std::set<std::string>{"latex"});
  EXPECT_EQ(proposed("tcnum list --mea"), std::set<std::string>{"--measured"});
  EXPECT_EQ(proposed("tcnum verify --distribution gau"), std::set<std::string>{"gaussian"});
  EXPECT_TRUE(proposed("tcnum probe --json x").empty());  // files, which bash proposes
  EXPECT_TRUE(proposed("tcnum list --mea --fr").empty());
}

TEST_F(CliShell, OtherShellsReadTheirs) {
  int read = 0;
  for (const std::string shell : {"zsh", "fish"}) {
    write("completion", written({"--completion", shell}));
    const Result r = run_other(shell, {"-n", "completion"});
    if (r.status == -1) continue;
    ++read;
    EXPECT_EQ(r.status, 0) << r.err;
  }
  if (read == 0) GTEST_SKIP() << "no zsh or fish here";
}

TEST_F(CliShell, TheCitationIsOfThisVersion) {
  const std::string version = written({"--version"});
  EXPECT_NE(contents(TCNUM_SOURCE_DIR "/CITATION.cff").find("\nversion: " + version.substr(6)), std::string::npos);
}

}  // namespace
}  // namespace tcnum
