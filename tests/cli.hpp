// The program as a user runs it, in a folder of its own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files.hpp"

namespace tcnum {

using nlohmann::json;

inline constexpr const char* kProgram = TCNUM_PROGRAM;
inline constexpr const char* kInstruction = "mma.m16n8k16.f32.f16.f16.f32";
inline const std::string kDatapath = TCNUM_SOURCE_DIR "/docs/datapaths/hopper-fp16.json";

struct Result {
  int status = -1;  ///< −signal if one ended the program
  std::string out, err;
};

/// A folder of its own, in which the program runs without a GPU's or an installation's records.
class Cli : public Files {
 protected:
  Cli() { fs::create_directory(folder_ / "empty"); }

  using Preparation = std::function<void()>;

  /// Starts the program, after what is to be done in its process; its output goes to `out` and `err` in the folder, or
  /// standard output elsewhere.
  pid_t start(const std::vector<std::string>& arguments, const std::string& out = "out",
              const Preparation& prepare = {}) const {
    return start_program(kProgram, arguments, out, prepare);
  }
  pid_t start_program(const char* program, std::vector<std::string> words, const std::string& out = "out",
                      const Preparation& prepare = {}) const {
    words.insert(words.begin(), program);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string folder = folder_.string(), records = (folder_ / "empty").string();
    const pid_t child = fork();
    if (child != 0) return child;
    setenv("TCNUM_VECTORS", records.c_str(), 0);
    if (chdir(folder.c_str()) != 0) _exit(126);
    dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), STDOUT_FILENO);
    dup2(open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666), STDERR_FILENO);
    if (prepare) prepare();
    execv(program, argv.data());
    _exit(127);
  }
  Result finish(pid_t child) const {
    int status = 0;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), contents(folder_ / "out"),
            contents(folder_ / "err")};
  }
  Result run(const std::vector<std::string>& arguments, const std::string& out = "out",
             const Preparation& prepare = {}) const {
    return finish(start(arguments, out, prepare));
  }

  /// What a run prints that ends with that status, and has all of `parts` in it.
  std::string printed(const std::vector<std::string>& arguments, const std::vector<std::string>& parts = {},
                      int status = 0) const {
    const Result r = run(arguments);
    EXPECT_EQ(r.status, status) << testing::PrintToString(arguments) << "\n" << r.out << r.err;
    for (const std::string& part : parts) EXPECT_NE(r.out.find(part), std::string::npos) << part << "\n" << r.out;
    return r.out;
  }

  /// Nobody reads standard output.
  static void close_reader() {
    int ends[2];
    if (pipe(ends) != 0) _exit(126);
    close(ends[0]);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[1]);
  }

  /// The run fails with that status and one line on standard error that has all of `parts`.
  void expect_failure(const std::vector<std::string>& arguments, int status, const std::vector<std::string>& parts,
                      const Preparation& prepare = {}) const {
    const Result r = run(arguments, "out", prepare);
    SCOPED_TRACE(testing::PrintToString(arguments) + "\n" + r.err);
    EXPECT_EQ(r.status, status);
    EXPECT_TRUE(r.err.starts_with("tcnum: "));
    EXPECT_EQ(std::ranges::count(r.err, '\n'), 1);
    EXPECT_TRUE(r.err.ends_with('\n'));
    for (const std::string& part : parts) EXPECT_NE(r.err.find(part), std::string::npos) << part;
  }

  std::vector<std::string> probe_datapath(const std::vector<std::string>& more,
                                          const std::string& datapath = kDatapath) const {
    std::vector<std::string> arguments = {
        "probe", "--arch", "sm_90", "--instr", kInstruction, "--from", "datapath:" + datapath};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  /// The documented datapath with one field replaced.
  void write_datapath(const std::string& name, const std::string& pointer, const json& value) const {
    json datapath = json::parse(contents(kDatapath));
    datapath[json::json_pointer(pointer)] = value;
    write(name, datapath.dump());
  }

  std::string text(const std::string& file) const { return contents(folder_ / file); }
};

/// Streams and campaigns, with a datapath in the hardware's place.
class CliStreams : public Cli {
 protected:
  static std::vector<std::string> verify(const std::string& count, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "verify", "--arch", "sm_90", "--instr", kInstruction, "--count", count, "--from", "datapath:" + kDatapath};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

}  // namespace tcnum
