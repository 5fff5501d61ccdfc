// Campaigns under mpirun: what four ranks leave, how a rerun goes on when one of them was killed or all were
// interrupted, and the message where there is no MPI.
// Labels: sanitized
#include <iterator>
#include <sstream>

#include "cli.hpp"

namespace tcnum {
namespace {

class CliMpi : public CliStreams {
 protected:
  void SetUp() override {
    if (std::string_view(TCNUM_MPIRUN).empty()) GTEST_SKIP() << "no MPI (libopenmpi-dev, openmpi-bin)";
  }

  /// More ranks than cores, and root, are what Open MPI wants to be asked for.
  static void prepare() {
    for (const char* variable :
         {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"}) {
      setenv(variable, "1", 1);
    }
  }
  pid_t start_ranks(const std::vector<std::string>& arguments) const {
    std::vector<std::string> words = {"-n", "4", kProgram};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return start_program(TCNUM_MPIRUN, words, "out", prepare);
  }
  Result run_ranks(const std::vector<std::string>& arguments) const { return finish(start_ranks(arguments)); }

  /// The lines of standard error that are tcnum's; mpirun has more to say where a status is not 0.
  static std::vector<std::string> said(const Result& r) {
    std::vector<std::string> lines;
    std::istringstream text(r.err);
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with("tcnum: ")) lines.push_back(line);
    }
    return lines;
  }

  json without_rates(const std::string& file) const {
    json document = json::parse(text(file));
    for (const char* rate : {"dot_products_per_second", "multiply_adds_per_second"}) document.erase(rate);
    return document;
  }
  /// All lines but the last one, which has the rates.
  static std::string without_rates(const Result& r) { return r.out.substr(0, r.out.rfind('\n', r.out.size() - 2)); }

  /// The same to one process and to four ranks.
  void expect_the_same(const std::string& datapath, int status) const {
    const auto run_in = [&](const std::string& folder, bool ranks) {
      fs::create_directory(folder_ / folder);
      std::vector<std::string> arguments = verify(
          "3e5", {"--chunk", "8192", "--record", folder + "/record.json", "--checkpoint", folder + "/checkpoint.json",
                  "--json", folder + "/results.json", "--disagreements", folder + "/disagreements"});
      arguments[8] = "datapath:" + datapath;
      const Result r = ranks ? run_ranks(arguments) : run(arguments);
      EXPECT_EQ(r.status, status) << r.err;
      EXPECT_TRUE(said(r).empty()) << r.err;
      return without_rates(r);
    };
    EXPECT_EQ(run_in("one", false), run_in("four", true));
    for (const std::string file : {"/record.json", "/checkpoint.json"})
      EXPECT_EQ(text("one" + file), text("four" + file));
    EXPECT_EQ(without_rates("one/results.json"), without_rates("four/results.json"));
    const std::string found = std::string("/disagreements/") + kInstruction + ".safetensors";
    EXPECT_EQ(fs::exists(folder_ / ("one" + found)), status == 1);
    EXPECT_EQ(text("one" + found), text("four" + found));
  }
};

TEST_F(CliMpi, FourRanksLeaveWhatOneProcessLeaves) { expect_the_same(kDatapath, 0); }

/// Whichever rank finds them: each once, in the order of the streams.
TEST_F(CliMpi, DisagreementsAreReportedOnce) {
  write_datapath("other.json", "/units/fused/fraction_bits", 24);
  expect_the_same("other.json", 1);
}

TEST_F(CliMpi, WhatIsWrongIsSaidOnce) {
  const auto expect_one_line = [&](const std::vector<std::string>& arguments, const std::string& part) {
    const Result r = run_ranks(arguments);
    EXPECT_EQ(r.status, 2);
    ASSERT_EQ(said(r).size(), 1u) << r.err;
    EXPECT_NE(said(r)[0].find(part), std::string::npos) << r.err;
    EXPECT_EQ(r.out, "");
  };
  expect_one_line(verify("1e5", {"--record", "no/folder.json"}), "no/folder.json: cannot be written");
  expect_one_line(verify("1e5", {"--distribution", "none"}), "--distribution: none");
  expect_one_line(verify("1e5", {"--no-such-option"}), "--no-such-option");
  expect_one_line({"verify", "--vectors", "v.safetensors"}, "--count N");
}

/// What another MPI's mpirun starts would each do everything.
TEST_F(CliMpi, ProcessesThatDoNotFindEachOtherSaySoOnce) {
  const auto run_rank = [&](const char* rank) {
    return run(verify("1e4", {}), "out", [&] {
      setenv("MV2_COMM_WORLD_RANK", rank, 1);
      setenv("MV2_COMM_WORLD_SIZE", "4", 1);
    });
  };
  const Result first = run_rank("0"), second = run_rank("1");
  EXPECT_EQ(first.status, 3);
  EXPECT_TRUE(first.err.starts_with("tcnum: MV2_COMM_WORLD_SIZE says that 4 processes")) << first.err;
  EXPECT_NE(first.err.find("finds 1"), std::string::npos) << first.err;
  EXPECT_EQ(std::ranges::count(first.err, '\n'), 1);
  EXPECT_EQ(second.status, 0) << "or mpirun would end the first one before it has spoken";
  EXPECT_EQ(first.out + second.out + second.err, "");
}

/// Rank 2 never ends its first chunk, while the others do all of theirs.
class CliMpiStuck : public CliMpi {
 protected:
  void SetUp() override {
    CliMpi::SetUp();
    if (IsSkipped()) return;
    // The others answer when rank 2 has been asked, so that it surely is. What waits ends with its tcnum.
    write("answer.sh",
          "rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-none}}\n"
          "echo $PPID >rank$rank.new && mv rank$rank.new rank$rank\n"
          "if [ $rank = 2 ] && [ ! -e go ]; then\n"
          "  head -c 1 >asked.new && mv asked.new asked\n"
          "  cat >/dev/null\n"
          "fi\n"
          "while [ $rank != none ] && [ ! -e asked ] && kill -0 $PPID; do sleep 0.01; done\n"
          "exec '" +
              std::string(kProgram) + "' emulate --serve --datapath '" + kDatapath + "'\n");
  }

  static std::vector<std::string> stuck(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments =
        verify("1e5", {"--chunk", "4096", "--record", "r.json", "--checkpoint", "c.json", "--json", "v.json"});
    arguments[8] = "exec:sh answer.sh";
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  void wait_for(const std::string& file) const {
    while (!fs::exists(folder_ / file)) usleep(5000);
  }
  void kill_rank(int rank, int signal = SIGKILL) const {
    kill(static_cast<pid_t>(std::stol(text("rank" + std::to_string(rank)))), signal);
  }
  static std::size_t chunks(const json& checkpoint, bool done) {
    std::size_t count = 0;
    for (const json& stream : checkpoint["streams"]) {
      for (const json& chunk : stream["chunks"]) count += chunk.is_null() != done ? 1 : 0;
    }
    return count;
  }
  /// Whether a stream's first chunk is done.
  static bool is_begun(const json& checkpoint) {
    return std::ranges::any_of(checkpoint["streams"], [](const json& s) { return !s["chunks"][0].is_null(); });
  }
  std::string unbroken_record() const {
    write("go", "");
    std::vector<std::string> arguments = stuck();
    std::ranges::replace(arguments, std::string("r.json"), std::string("unbroken.json"));
    std::ranges::replace(arguments, std::string("c.json"), std::string("unbroken-checkpoint.json"));
    EXPECT_EQ(run(arguments).status, 0);
    return text("unbroken.json");
  }

  /// Something that was finished is there, the chunk at hand is not, and `ranks` or one process go on with it.
  void expect_the_rest_to_be_done(bool ranks) const {
    const json left = json::parse(text("c.json"));
    EXPECT_GT(chunks(left, true), 0u);
    EXPECT_GT(chunks(left, false), 0u);
    write("go", "");
    const Result r = ranks ? run_ranks(stuck()) : run(stuck());
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find("were done before"), std::string::npos) << r.out;
    EXPECT_EQ(chunks(json::parse(text("c.json")), false), 0u);
    EXPECT_EQ(text("r.json"), unbroken_record());
  }
};

/// Rank 0 does not wait for the others: it ends the job when its results are written.
TEST_F(CliMpiStuck, AnInterruptOfRank0AloneKeepsWhatIsFinished) {
  const pid_t job = start_ranks(stuck());
  wait_for("asked");
  wait_for("c.json");
  kill_rank(0, SIGINT);
  const Result r = finish(job);
  EXPECT_NE(r.out.find("(interrupted)"), std::string::npos) << r.out << r.err;
  const json results = json::parse(text("v.json"));
  EXPECT_EQ(results["interrupted"], true);
  EXPECT_EQ(results["instructions"][0]["count"], 4096 * chunks(json::parse(text("c.json")), true));
  // A record is of what is done from a stream's beginning on, which is rank 2's chunk now and then.
  EXPECT_NE(json::parse(text("r.json"))["campaigns"].empty(), is_begun(json::parse(text("c.json"))));
  expect_the_rest_to_be_done(true);
}

/// Open MPI ends all ranks when one is killed; the checkpoint is there all the time.
TEST_F(CliMpiStuck, AKilledRankEndsTheJobAndARerunGoesOn) {
  const pid_t job = start_ranks(stuck());
  wait_for("asked");
  wait_for("c.json");
  kill_rank(2);
  EXPECT_NE(finish(job).status, 0);
  expect_the_rest_to_be_done(true);
}

TEST_F(CliMpiStuck, AnInterruptLeavesACheckpointForAnyNumberOfRanks) {
  const pid_t job = start_ranks(stuck());
  wait_for("asked");
  wait_for("c.json");
  kill(job, SIGINT);
  EXPECT_NE(finish(job).status, 0);
  expect_the_rest_to_be_done(false);
}

/// A program that no library lies beside is one that was built without MPI.
class CliWithoutMpi : public CliStreams {
 protected:
  CliWithoutMpi() { fs::copy_file(kProgram, folder_ / "tcnum"); }

  Result run_rank(const std::string& rank, const std::string& size) const {
    const std::string program = (folder_ / "tcnum").string();
    return finish(start_program(program.c_str(), verify("1e4", {}), "out", [&] {
      setenv("OMPI_COMM_WORLD_RANK", rank.c_str(), 1);
      setenv("OMPI_COMM_WORLD_SIZE", size.c_str(), 1);
    }));
  }
};

TEST_F(CliWithoutMpi, TheFirstOfSeveralProcessesSaysSo) {
  const Result first = run_rank("0", "4"), second = run_rank("1", "4");
  EXPECT_EQ(first.status, 3);
  EXPECT_TRUE(first.err.starts_with("tcnum: OMPI_COMM_WORLD_SIZE says that 4 processes")) << first.err;
  EXPECT_NE(first.err.find("libopenmpi-dev"), std::string::npos) << first.err;
  EXPECT_EQ(std::ranges::count(first.err, '\n'), 1);
  EXPECT_EQ(second.status, 0) << "or mpirun would end the first one before it has spoken";
  EXPECT_EQ(first.out + second.out + second.err, "");
}

TEST_F(CliWithoutMpi, OneProcessWorksAlone) {
  for (const auto& [rank, size] : {std::pair("0", "1"), std::pair("here", "there"), std::pair("4", "4")}) {
    const Result r = run_rank(rank, size);
    EXPECT_EQ(r.status, 0) << size << r.err;
    EXPECT_NE(r.out.find("0 mismatches"), std::string::npos) << r.out;
  }
}

}  // namespace
}  // namespace tcnum
