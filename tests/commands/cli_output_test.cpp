// What the system refuses the program (a reader, space, memory, threads, names) spoils and hides nothing else.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <linux/capability.h>

#include <array>
#include <map>

#include "cli.hpp"
#include "labels.hpp"
#include "sanitizers.hpp"
#include "src/files/matrix_file.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {
namespace {

void limit(int resource, rlim_t most) {
  const rlimit both = {most, most};
  if (setrlimit(static_cast<decltype(RLIMIT_AS)>(resource), &both) != 0) _exit(126);
}

class CliOutput : public CliStreams {
 protected:
  /// A run that finds disagreements, and writes all that it can write.
  std::vector<std::string> verify_another(const std::vector<std::string>& more) const {
    write_datapath("other.json", "/units/fused/fraction_bits", 24);
    std::vector<std::string> arguments = verify("1e5", more);
    arguments[8] = "datapath:other.json";
    return arguments;
  }
  std::string disagreements() const { return std::string("d/") + kInstruction + ".safetensors"; }
};

// --- Whoever reads standard output is gone.

TEST_F(CliOutput, AClosedPipeIsQuiet) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"list"},
                                                    {"--help"},
                                                    {"--version"},
                                                    {"list", "--json", "-"},
                                                    {"bench", "tensor", "--list", "--arch", "sm_90"},
                                                    {"explain", "--arch", "sm_90", "--instr", kInstruction},
                                                    probe_datapath({})}) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const Result r = run(arguments, "out", close_reader);
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(r.err, "");
  }
}

TEST_F(CliOutput, AClosedPipeLosesNoFile) {
  for (const char* where : {"j.json", "-"}) {
    const Result r =
        run(verify_another({"--json", where, "--record", "r.json", "--disagreements", "d", "--checkpoint", "c.json"}),
            "out", close_reader);
    EXPECT_EQ(r.status, 1);
    EXPECT_EQ(r.err, "");
    for (const std::string& file : {std::string("r.json"), std::string("c.json"), disagreements()}) {
      EXPECT_TRUE(fs::exists(folder_ / file)) << file;
      fs::remove(folder_ / file);
    }
  }
  EXPECT_GT(json::parse(text("j.json")).at("mismatches"), 0);
}

// --- A full disk, and a standard output that is none.

TEST_F(CliOutput, AFullDiskIsStatus3) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"list"},
                                                    {"--help"},
                                                    {"--version"},
                                                    {"list", "--json", "-"},
                                                    probe_datapath({}),
                                                    verify("1e5", {"--record", "r.json", "--json", "j.json"})}) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const Result r = run(arguments, "/dev/full");
    EXPECT_EQ(r.status, 3);
    EXPECT_EQ(r.err, "tcnum: standard output: cannot be written: No space left on device\n");
  }
  EXPECT_TRUE(json::accept(text("r.json")));
  EXPECT_TRUE(json::accept(text("j.json")));
  expect_failure({"list", "--json", "/dev/full"}, 3, {"/dev/full", "No space"});
  expect_failure({"list", "--json", "no/such/folder/l.json"}, 2, {"no/such/folder/l.json"});
  expect_failure(probe_datapath({"--record", "no/such/folder/r.safetensors"}), 2, {"no/such/folder/r.safetensors"});

  const Result r = run(verify_another({}), "/dev/full");
  EXPECT_EQ(r.status, 1) << "a disagreement is not hidden";
  EXPECT_EQ(r.err, "tcnum: standard output: cannot be written: No space left on device\n");
}

/// Of what is to be written, one failure takes nothing else with it.
TEST_F(CliOutput, AFileThatCannotBeWrittenHidesNothing) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  Result r = run(verify_another({"--json", "/dev/full", "--record", "r.json", "--disagreements", "d"}));
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "tcnum: /dev/full: cannot be written: No space left on device\n");
  EXPECT_NE(r.out.find("mismatches"), std::string::npos);
  EXPECT_TRUE(json::accept(text("r.json")));
  EXPECT_TRUE(fs::exists(folder_ / disagreements()));
}

TEST_F(CliOutput, AFileThatMayNotGrowIsStatus3) {
  const auto small = [] { limit(RLIMIT_FSIZE, 256); };
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"list", "--json", "j.json"},
                                                    probe_datapath({"--record", "p.safetensors", "--json", "-"}),
                                                    verify("1e5", {"--checkpoint", "c.json", "--json", "-"}),
                                                    verify("1e5", {"--record", "r.json", "--json", "-"})}) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const Result r = run(arguments, "/dev/null", small);
    EXPECT_EQ(r.status, 3) << r.err;
    EXPECT_NE(r.err.find("File too large"), std::string::npos) << r.err;
  }
  for (const char* file : {"j.json", "p.safetensors", "c.json", "r.json"}) {
    EXPECT_FALSE(fs::exists(folder_ / file)) << file;
  }
  for (const auto& each : fs::directory_iterator(folder_)) EXPECT_NE(each.path().extension(), ".tmp") << each;
}

/// What is meant for a standard stream that is closed goes into no file.
TEST_F(CliOutput, AClosedStandardOutputIsStatus3) {
  const auto closed = [] { close(STDOUT_FILENO); };
  expect_failure({"list", "--evaluators", "--datapath", kDatapath, "--json", "l.json"}, 3, {"standard output"}, closed);
  EXPECT_TRUE(json::accept(text("l.json")));
  expect_failure(verify("1e5", {"--checkpoint", "c.json", "--record", "r.json"}), 3, {"standard output"}, closed);
  for (const char* file : {"c.json", "r.json"}) EXPECT_TRUE(json::accept(text(file))) << file;
  EXPECT_EQ(text(".c.json.lock") + text(".r.json.lock"), "");
  EXPECT_EQ(run({"list"}, "out", [] { close(STDIN_FILENO), close(STDERR_FILENO); }).status, 0);
}

// --- Names.

TEST_F(CliOutput, WrongNamesAreStatus2) {
  fs::create_symlink("loop", folder_ / "loop");
  fs::create_directory(folder_ / "folder");
  write("file", "");
  ASSERT_EQ(run(probe_datapath({"--record", "good.safetensors"})).status, 0);
  const std::string from = "datapath:" + kDatapath;
  for (const std::string& name : {std::string("loop"), std::string("loop/x"), std::string(300, 'x'),
                                  std::string("file/x"), std::string("no/x"), std::string("folder")}) {
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"list", "--json", name},
                                                      {"list", "--evaluators", "--datapath", name},
                                                      {"verify", "--vectors", name},
                                                      {"verify", "--arch", "sm_90", "--campaign", name},
                                                      {"verify", "--campaign", name},
                                                      {"emulate", "--in", name, "--out", "o.safetensors"},
                                                      {"emulate", "--in", "good.safetensors", "--out", name},
                                                      {"explain", "--in", name},
                                                      {"probe", "--from", name},
                                                      probe_datapath({"--record", name + ".safetensors"}),
                                                      verify("1e4", {"--datapath", name}),
                                                      verify("1e4", {"--json", name}),
                                                      verify("1e4", {"--record", name}),
                                                      verify("1e4", {"--checkpoint", name}),
                                                      verify("1e4", {"--disagreements", name})}) {
      if (arguments[arguments.size() - 2] == "--disagreements" && (name == "folder" || name == "no/x")) continue;
      if (name == "loop" && arguments.back() == "loop.safetensors") continue;
      if (name == "folder" && arguments.back() == "folder.safetensors") continue;
      expect_failure(arguments, 2, {});
    }
  }
  EXPECT_FALSE(fs::exists(folder_ / "o.safetensors"));
}

/// Standard output is for text; a file of that name would surprise whoever meant it.
TEST_F(CliOutput, FilesThatAreNoTextHaveNames) {
  ASSERT_EQ(run(probe_datapath({"--record", "p.safetensors"})).status, 0);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"emulate", "--in", "p.safetensors", "--out", "-"},
        {"gemm", "--in", "p.safetensors", "--plan", "nvjet", "--out", "-"},
        probe_datapath({"--record", "-"}),
        verify("1e4", {"--disagreements", "-"})}) {
    expect_failure(arguments, 2, {arguments[arguments.size() - 2] + ": -; expected a file"});
    EXPECT_FALSE(fs::exists(folder_ / "-"));
  }
}

/// What is written to one file would be lost to the other.
TEST_F(CliOutput, OneFileIsNotWrittenTwice) {
  ASSERT_EQ(run(verify("1e4", {"--record", "r.json"})).status, 0);
  ASSERT_EQ(run(probe_datapath({"--record", "p.safetensors"})).status, 0);
  write("own.json", contents(kDatapath));
  fs::create_symlink("r.json", folder_ / "link.json");
  std::map<std::string, std::string> before;
  for (const char* file : {"r.json", "p.safetensors", "own.json"}) before[file] = text(file);
  std::vector<std::string> from_own = verify("1e4", {"--json", "own.json"});
  from_own[8] = "datapath:own.json";
  for (const std::vector<std::string>& arguments :
       {verify("1e4", {"--record", "r.json", "--json", "r.json"}),
        verify("1e4", {"--record", "link.json", "--json", "./r.json"}),
        verify("1e4", {"--record", "new.json", "--checkpoint", "empty/../new.json"}),
        verify("1e4", {"--record", "-", "--json", "-"}),
        verify("1e4", {"--datapath", "own.json", "--json", "own.json"}),
        from_own,
        {"verify", "--arch", "sm_90", "--campaign", "r.json", "--json", "link.json"},
        {"verify", "--vectors", "p.safetensors", "--datapath", kDatapath, "--json", "p.safetensors"},
        {"emulate", "--in", "p.safetensors", "--datapath", "own.json", "--out", "own.json"},
        {"list", "--evaluators", "--datapath", "own.json", "--json", "own.json"},
        probe_datapath({"--json", "own.json"}, "own.json"),
        probe_datapath({"--json", "new.safetensors", "--record", "new.safetensors"}),
        {"probe", "--from", "p.safetensors", "--json", "p.safetensors"},
        {"bench", "report", "own.json", "--markdown", "own.json"},
        {"explain", "--datapath", "own.json", "--a", "1", "--b", "1", "--json", "own.json"},
        {"diff", "--plan", "own.json", "--plan", "nvjet", "--format", "fp16", "--json", "own.json"},
        {"convert", "--in", "p.safetensors", "--datapath", "own.json", "--out", "own.json"},
        {"gemm", "--fit", "--a", "x.npy", "--b", "y.npy", "--d", "p.safetensors", "--json", "p.safetensors"},
        {"sass", "--arch", "sm_90", "--text", "own.json", "--json", "own.json"}}) {
    expect_failure(arguments, 2, {"another file"});
  }
  for (const auto& [file, bytes] : before) EXPECT_EQ(text(file), bytes) << file;
  EXPECT_FALSE(fs::exists(folder_ / "new.json"));
  EXPECT_EQ(run({"emulate", "--in", "p.safetensors", "--datapath", "own.json", "--out", "p.safetensors"}).status, 0);
  EXPECT_EQ(run(verify("1e4", {"--datapath", kDatapath, "--json", "/dev/null"})).status, 0);
}

/// A name is a stranger's too: no line of the output is begun, and nothing obeyed, by what it holds.
TEST_F(CliOutput, NamesForgeNoLines) {
  const std::string odd = "a\nverified: all agree\x1b[31m.json", matrices = "m\n\x1b[31m.safetensors";
  write(odd, contents(kDatapath));
  ASSERT_EQ(run(probe_datapath({"--record", "p.safetensors"})).status, 0);
  const Matrix a = Matrix::from(std::vector<float>(16 * 16, 1.5f), 16, 16, "fp16");
  const StoredTensor stored{FormatId::fp16, {16, 16}, a.codes()};
  write_matrices((folder_ / matrices).string(),
                 std::array<NamedTensor, 3>{{{"A", stored}, {"B", stored}, {"D", stored}}});
  fs::copy(folder_ / matrices, folder_ / "m.safetensors");
  write("plan\n\x1b.json", plan_to_json(named_plan("nvjet", FormatId::fp16)).dump());
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"explain", "--datapath", odd, "--a", "1", "--b", "1"},
           {"explain", "--datapath", odd, "--datapath", kDatapath, "--a", "1", "--b", "1"},
           {"explain", "--in", matrices, "--plan", "plan\n\x1b.json", "--at", "0,0"},
           {"diff", "--datapath", odd, "--datapath", kDatapath},
           {"diff", "--plan", "plan\n\x1b.json", "--plan", "nvjet", "--format", "fp16", "--most-k", "64"},
           {"gemm", "--in", matrices, "--error"},
           {"gemm", "--in", "m.safetensors", "--error", "--plan", "plan\n\x1b.json"},
           {"gemm", "--in", matrices, "--fit"},
           {"verify", "--vectors", "p.safetensors", "--datapath", odd},
           verify("1e4", {"--datapath", odd}),
           {"list", "--evaluators", "--datapath", odd},
           probe_datapath({}, odd),
           {"emulate", "--in", matrices, "--out", "o.safetensors"}}) {
    const Result r = run(arguments);
    SCOPED_TRACE(testing::PrintToString(arguments) + "\n" + r.out + r.err);
    EXPECT_GE(r.status, 0);
    for (const std::string* text : {&r.out, &r.err}) {
      EXPECT_EQ(text->find('\x1b'), std::string::npos);
      EXPECT_EQ(text->find("\nverified:"), std::string::npos);
    }
  }
}

/// What cannot be replaced at the end is refused at the beginning.
TEST_F(CliOutput, AFolderThatIsReadOnlyIsRefusedBeforeTheWork) {
  ASSERT_EQ(run(verify("1e4", {"--record", "r.json", "--checkpoint", "c.json"})).status, 0);
  fs::create_directory(folder_ / "ro");
  for (const char* name : {"r.json", "c.json"}) fs::rename(folder_ / name, folder_ / "ro" / name);
  const std::string record = text("ro/r.json");
  fs::permissions(folder_ / "ro", fs::perms::owner_read | fs::perms::owner_exec);
  const auto ordinary = [] {  // root too
    static_cast<void>(prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE));
  };
  // As many problems as would take long.
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--record", "ro/r.json"}, {"--checkpoint", "ro/c.json"}, {"--json", "ro/j.json"}}) {
    expect_failure(verify("1e10", more), 2, {more[1], "Permission denied"}, ordinary);
  }
  EXPECT_EQ(text("ro/r.json"), record);
  fs::permissions(folder_ / "ro", fs::perms::owner_all);
}

TEST_F(CliOutput, TheCitationIsOfThisVersion) {
  EXPECT_NE(contents(TCNUM_SOURCE_DIR "/CITATION.cff").find("\nversion: " + run({"--version"}).out.substr(6)),
            std::string::npos);
}

// --- Memory and threads.

TEST_F(CliOutput, TooLittleMemoryIsStatus3) {
  TCNUM_TAKES_LONG();
  if (test::kAddressesAreWatched) GTEST_SKIP() << "the address sanitizer needs all addresses";
  constexpr rlim_t kMiB = 1 << 20;
  rlim_t least = 8 * kMiB;  // in which the program can be loaded
  const auto of_memory = [](rlim_t most) { return [most] { limit(RLIMIT_AS, most); }; };
  while (run({"--version"}, "out", of_memory(least)).status != 0) least += 4 * kMiB;
  bool enough = false, too_little = false;
  for (rlim_t most = least; !enough; most += 16 * kMiB) {
    SCOPED_TRACE(most / kMiB);
    enough = true;
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"list", "--json", "-"},
          {"verify", "--campaign", TCNUM_SOURCE_DIR "/vectors/sm_90/campaigns.json", "--instr", kInstruction,
           "--distribution", "wide"},
          probe_datapath({}),
          verify("2e5", {"--record", "r.json"})}) {
      const Result r = run(arguments, "out", of_memory(most));
      EXPECT_TRUE(r.status == 0 || r.status == 3) << r.status << r.err;
      if (r.status == 0) continue;
      enough = false;
      too_little = true;
      EXPECT_TRUE(r.err.starts_with("tcnum: not enough memory")) << r.err;
    }
  }
  EXPECT_TRUE(too_little);
}

}  // namespace
}  // namespace tcnum
