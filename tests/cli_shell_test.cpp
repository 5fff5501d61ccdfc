// What shells, manuals, terminals and bibliographies get of the program.
#include <pty.h>

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
  /// Of a program whose output is a terminal.
  std::string on_terminal(const std::vector<std::string>& arguments, const std::string& no_color) const {
    int terminal = -1;
    std::vector<std::string> words = arguments;
    words.insert(words.begin(), kProgram);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
      setenv("TERM", "xterm", 1);
      setenv("NO_COLOR", no_color.c_str(), 1);
      setenv("XDG_CACHE_HOME", "/nowhere", 1);
      execv(kProgram, argv.data());
      _exit(127);
    }
    std::string out;
    char buffer[4096];
    for (ssize_t n; (n = read(terminal, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
    close(terminal);
    waitpid(child, nullptr, 0);
    return out;
  }
};

const std::vector<std::vector<std::string>> kCommands = {
    {},       {"probe"}, {"verify"}, {"emulate"}, {"explain"},         {"diff"},
    {"gemm"}, {"list"},  {"sass"},   {"bench"},   {"bench", "tensor"}, {"bench", "report"}};

TEST_F(CliShell, EveryOptionIsCompletedAndInTheManual) {
  const std::string man = written({"--man"});
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
      EXPECT_NE(man.find(std::regex_replace("--" + name, std::regex("-"), "\\-")), std::string::npos) << name;
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
  EXPECT_EQ(proposed("tcnum probe --arch sm_90 --fr"), (std::set<std::string>{"--from", "--fresh"}));
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

TEST_F(CliShell, TheManualIsOne) {
  write("tcnum.1", written({"--man"}));
  const Result r = run_other("groff", {"-man", "-ww", "-Tutf8", "-Kutf8", "tcnum.1"});
  if (r.status == -1) GTEST_SKIP() << "no groff here";
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_NE(r.out.find("0 done and all agreed; 1 a disagreement was found"), std::string::npos) << r.out;
}

TEST_F(CliShell, ColoursVerdictsOnATerminalUnlessItMayNot) {
  const std::string colour = on_terminal(probe_datapath({}), "");
  EXPECT_NE(colour.find("\033[32midentified\033[0m"), std::string::npos) << colour;
  const std::string plain = on_terminal(probe_datapath({}), "1");
  EXPECT_NE(plain.find("on sm_90: identified"), std::string::npos);
  EXPECT_EQ(plain.find("\033["), plain.find("\033[K")) << plain;  // but for what erases a line
  EXPECT_EQ(plain.find("\033[3"), std::string::npos);
  EXPECT_EQ(run(probe_datapath({})).out.find('\033'), std::string::npos);
  EXPECT_NE(on_terminal({"prove"}, "").find("\033[31mtcnum:\033[0m prove is no command"), std::string::npos);
  EXPECT_NE(on_terminal({"prove"}, "1").find("tcnum: prove is no command"), std::string::npos);
}

TEST_F(CliShell, SaysHowItIsCited) {
  const std::string bibtex = written({"--bibtex"}), version = written({"--version"}),
                    citation = contents(TCNUM_SOURCE_DIR "/CITATION.cff");
  const std::string number = version.substr(6, version.size() - 7);
  EXPECT_TRUE(bibtex.starts_with("@software{tcnum,\n"));
  EXPECT_NE(bibtex.find("version = {" + number + "}"), std::string::npos) << bibtex;
  EXPECT_NE(citation.find("\nversion: " + number + "\n"), std::string::npos);
  for (const char* part :
       {"tcnum: what a tensor core computes, and the same bits without one", "The tcnum authors", "Apache-2.0"}) {
    EXPECT_NE(bibtex.find(part), std::string::npos) << part;
    EXPECT_NE(citation.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace tcnum
