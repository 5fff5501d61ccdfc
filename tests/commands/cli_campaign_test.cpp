// Campaigns that share files: several at once, several shards, and checkpoints that are not what they say.
#include <sys/file.h>
#include <sys/resource.h>

#include <iomanip>
#include <map>
#include <set>
#include <sstream>

#include "cli.hpp"
#include "labels.hpp"

namespace tcnum {
namespace {

/// A checkpoint's text with the checksum that docs/files.md describes, as somebody who may forge one would write it.
std::string sealed(json checkpoint) {
  checkpoint.erase("checksum");
  const std::string text = checkpoint.dump();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::uint64_t x = i * 0x9e3779b97f4a7c15u ^ static_cast<unsigned char>(text[i]);
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 32;
    x *= 0xc4ceb9fe1a85ec53u;
    sum += x ^ x >> 32;
  }
  std::ostringstream digits;
  digits << "0x" << std::hex << std::setw(16) << std::setfill('0') << sum;
  checkpoint["checksum"] = digits.str();
  return checkpoint.dump();
}

class CliCampaigns : public CliStreams {
 protected:
  /// That source in place of the documented datapath.
  static std::vector<std::string> verify_from(const std::string& datapath, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = verify("1e5", more);
    arguments[8] = "datapath:" + datapath;
    return arguments;
  }

  /// Runs at once, all of which succeed.
  void run_at_once(const std::vector<std::vector<std::string>>& runs) const {
    std::vector<pid_t> children;
    for (const auto& arguments : runs) children.push_back(start(arguments, "out" + std::to_string(children.size())));
    for (const pid_t child : children) EXPECT_EQ(finish(child).status, 0);
  }
};

TEST_F(CliCampaigns, ACheckpointIsOfOneSource) {
  write("source.json", contents(kDatapath));
  ASSERT_EQ(run(verify_from("source.json", {"--checkpoint", "c.json"})).status, 0);
  EXPECT_EQ(run(verify_from("source.json", {"--checkpoint", "c.json"})).status, 0);
  write_datapath("source.json", "/units/fused/fraction_bits", 24);
  expect_failure(verify_from("source.json", {"--checkpoint", "c.json"}), 2, {"c.json", "run.source", "another run"});
  expect_failure(verify_from(kDatapath, {"--checkpoint", "c.json", "--datapath", "source.json"}), 2,
                 {"c.json", "run.datapaths", "another run"});
  json old = json::parse(text("c.json"));
  old["run"]["version"] = "0.0.1";
  write("old.json", sealed(old));
  expect_failure(verify_from(kDatapath, {"--checkpoint", "old.json"}), 2, {"old.json", "run.version"});
  for (const std::vector<std::string>& other :
       {std::vector<std::string>{"--seed", "2"}, {"--chunk", "8192"}, {"--distribution", "wide"}, {"--shard", "1/2"}}) {
    std::vector<std::string> arguments = verify_from(kDatapath, {"--checkpoint", "c.json"});
    arguments.insert(arguments.end(), other.begin(), other.end());
    expect_failure(arguments, 2, {"c.json", "streams", "another run"});
  }
  std::vector<std::string> arguments = verify_from(kDatapath, {"--checkpoint", "c.json"});
  arguments[4] = "wmma.m16n16k16.f32.f16.f16.f32";
  expect_failure(arguments, 2, {"c.json", "another run"});
}

TEST_F(CliCampaigns, ACheckpointIsOfOneRunAtATime) {
  const std::string lock = (folder_ / ".c.json.lock").string();
  const int held = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  expect_failure(verify("1e5", {"--checkpoint", "c.json"}), 2, {"c.json", "another run"});
  fs::create_symlink("c.json", folder_ / "link.json");
  write("c.json", "");
  expect_failure(verify("1e5", {"--checkpoint", "link.json"}), 2, {"link.json", "another run"});
  fs::remove(folder_ / "c.json");
  close(held);
  EXPECT_EQ(run(verify("1e5", {"--checkpoint", "c.json"})).status, 0) << "the file of a lock is no lock";
  fs::remove(lock);
  fs::create_directory(lock);
  expect_failure(verify("1e5", {"--checkpoint", "c.json"}), 2, {"c.json", "cannot be locked", "directory"});
}

/// What a checkpoint says is what its run can have done.
TEST_F(CliCampaigns, ACheckpointIsNotBelieved) {
  write_datapath("other.json", "/units/fused/fraction_bits", 24);
  const std::vector<std::string> disagreeing = verify_from("other.json", {"--checkpoint", "c.json"});
  ASSERT_EQ(run(disagreeing).status, 1);
  EXPECT_EQ(run(disagreeing).status, 1) << "what was found before is found again";
  ASSERT_EQ(run(verify("1e5", {"--checkpoint", "good.json"})).status, 0);

  const auto refuse = [&](const json& checkpoint, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& parts) {
    write("bad.json", sealed(checkpoint));
    std::vector<std::string> all = arguments;
    all.back() = "bad.json";
    expect_failure(all, 2, parts);
  };
  const std::vector<std::string> agreeing = verify("1e5", {"--checkpoint", ""});
  const json good = json::parse(text("good.json")), found = json::parse(text("c.json"));
  const auto with = [](json checkpoint, const char* pointer, const json& value) {
    checkpoint[json::json_pointer(pointer)] = value;
    return checkpoint;
  };
  json one = found["disagreements"][0];

  // A disagreement at an index that the run has not, or of a stream that it has not.
  for (const char* index : {"1000000000000", "18446744073709551615"}) {
    refuse(with(found, "/disagreements/0/index", json::parse(index)), disagreeing, {"disagreements[0].index", index});
  }
  refuse(with(found, "/disagreements/0/index", -1), disagreeing, {"disagreements[0].index"});
  refuse(with(found, "/disagreements/0/seed", 2), disagreeing, {"disagreements[0].distribution"});
  refuse(with(found, "/disagreements/0/distribution", "product_pairs"), disagreeing, {"disagreements[0].distribution"});
  refuse(with(found, "/disagreements/0/instruction", "mma.m16n8k8.f32.f16.f16.f32"), disagreeing,
         {"disagreements[0].distribution"});
  // One where there is none.
  json listed = good;
  for (json& stream : listed["streams"]) {
    for (json& chunk : stream["chunks"]) chunk["mismatches"] = stream["distribution"] == one["distribution"] ? 1 : 0;
  }
  listed["disagreements"] = json::array();
  for (const json& stream : listed["streams"]) {
    if (stream["distribution"] != one["distribution"]) continue;
    for (std::uint64_t first = stream["first"]; first < stream["count"].get<std::uint64_t>();
         first += stream["chunk"].get<std::uint64_t>()) {
      one["index"] = first;
      listed["disagreements"].push_back(one);
    }
  }
  refuse(listed, agreeing, {"disagreements[0]", "is none", "asked again"});
  // More mismatches than there are problems.
  refuse(with(good, "/streams/0/chunks/0/mismatches", 1'000'000'000), agreeing,
         {"streams[0].chunks[0].mismatches", "at most"});
}

/// Digests and counts that a run could have had say nothing of themselves.
TEST_F(CliCampaigns, ACheckpointThatWasChangedIsRefused) {
  ASSERT_EQ(run(verify("1e5", {"--checkpoint", "c.json"})).status, 0);
  const std::string good = text("c.json");
  const auto refuse = [&](const std::string& changed, const std::string& why) {
    ASSERT_NE(changed, good);
    write("c.json", changed);
    expect_failure(verify("1e5", {"--checkpoint", "c.json"}), 2, {"c.json.checksum", why});
    EXPECT_EQ(text("c.json"), changed);
  };
  // Another digest, a chunk that was not done, one fewer, two that are swapped.
  const auto with = [&](const std::function<void(json&)>& change) {
    json changed = json::parse(good);
    change(changed["streams"][0]["chunks"]);
    return changed.dump();
  };
  ASSERT_GE(json::parse(good)["streams"][0]["chunks"].size(), 2u);
  refuse(with([](json& chunks) { chunks[0]["digest"] = "0x0123456789abcdef"; }), "changed");
  refuse(with([](json& chunks) { chunks[1] = nullptr; }), "changed");
  refuse(with([](json& chunks) { std::swap(chunks[0], chunks[1]); }), "changed");
  std::string flipped = good;
  const std::size_t digit = good.find("\"digest\":\"0x") + 13;
  flipped[digit] = good[digit] == '0' ? '1' : '0';
  refuse(flipped, "damaged");
  json without = json::parse(good);
  without.erase("checksum");
  refuse(without.dump(), "is missing");
  without["checksum"] = 12;
  refuse(without.dump(), "0x");

  write("c.json", nlohmann::ordered_json::parse(good).dump(2));
  EXPECT_EQ(run(verify("1e5", {"--checkpoint", "c.json"})).status, 0) << "spaces change nothing";
  write("c.json", sealed(json::parse(good)));
  EXPECT_EQ(run(verify("1e5", {"--checkpoint", "c.json"})).status, 0) << "the checksum is as it is described";
}

/// When a chunk is done, and again at the end.
TEST_F(CliCampaigns, ACheckpointThatCannotBeWrittenIsSaidOnce) {
  const auto small_files = [] {
    constexpr rlim_t kLessThanACheckpoint = 2048;  // and more than is said
    const rlimit most = {kLessThanACheckpoint, kLessThanACheckpoint};
    if (setrlimit(RLIMIT_FSIZE, &most) != 0) _exit(126);
  };
  expect_failure(verify("1e5", {"--checkpoint", "c.json"}), 3, {"c.json: cannot be written: File too large"},
                 small_files);
  EXPECT_FALSE(fs::exists(folder_ / "c.json"));
}

TEST_F(CliCampaigns, EightAtOnceKeepEightRecords) {
  constexpr int kRuns = 8;
  std::vector<std::vector<std::string>> runs;
  for (int seed = 1; seed <= kRuns; ++seed)
    runs.push_back(verify("2e4", {"--seed", std::to_string(seed), "--record", "all.json"}));
  run_at_once(runs);
  std::map<int, int> records;
  const json all = json::parse(text("all.json"));
  for (const json& record : all["campaigns"]) ++records[record["seed"].get<int>()];
  for (int seed = 1; seed <= kRuns; ++seed) EXPECT_EQ(records[seed], 11) << seed;
  EXPECT_EQ(run({"verify", "--arch", "sm_90", "--campaign", "all.json", "--all"}).status, 0);
}

/// Ctrl-C, a polite kill, a terminal that is closed: what is done is recorded, and a disagreement is one.
TEST_F(CliCampaigns, AnEarlyEndRecordsWhatIsDone) {
  write_datapath("other.json", "/units/fused/fraction_bits", 24);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::vector<std::string> arguments =
        verify("1e8", {"--checkpoint", "c.json", "--record", "r.json", "--chunk", "8192"});
    arguments[8] = "datapath:other.json";
    const pid_t child = start(arguments);
    while (!fs::exists(folder_ / "c.json")) usleep(5000);
    kill(child, signal);
    const Result r = finish(child);
    EXPECT_EQ(r.status, 1) << signal << r.err;
    EXPECT_NE(r.out.find("(interrupted)"), std::string::npos) << r.out;
    EXPECT_FALSE(json::parse(text("r.json"))["campaigns"].empty());
    for (const char* file : {"c.json", "r.json"}) fs::remove(folder_ / file);
  }
}

/// A run that ends early takes nothing away from what a longer one has recorded.
TEST_F(CliCampaigns, AShorterRecordReplacesNoLongerOne) {
  ASSERT_EQ(run(verify("1e5", {"--chunk", "4096", "--record", "r.json"})).status, 0);
  const std::string longer = text("r.json");
  ASSERT_EQ(run(verify("5e4", {"--chunk", "4096", "--record", "r.json"})).status, 0);
  EXPECT_EQ(text("r.json"), longer);
  ASSERT_EQ(run(verify("2e5", {"--chunk", "4096", "--record", "r.json"})).status, 0);
  EXPECT_GT(text("r.json").size(), longer.size());

  // Other results of the same problems on the same device are a finding.
  const std::size_t records = json::parse(text("r.json"))["campaigns"].size();
  write("source.json", contents(kDatapath));
  ASSERT_EQ(run(verify_from("source.json", {"--record", "s.json"})).status, 0);
  write_datapath("source.json", "/units/fused/fraction_bits", 24);
  const Result r = run(verify_from("source.json", {"--record", "s.json", "--datapath", "source.json"}));
  EXPECT_EQ(r.status, 0);
  EXPECT_NE(r.err.find("s.json"), std::string::npos);
  EXPECT_NE(r.err.find("other results"), std::string::npos) << r.err;
  EXPECT_GT(json::parse(text("s.json"))["campaigns"].size(), records);
}

/// A checkpoint that could not be read again, or chunks beyond the memory, are no way to begin.
TEST_F(CliCampaigns, ChunksAreNotTooMany) {
  for (const char* count : {"1e11", "1e15"}) {
    expect_failure(verify(count, {"--chunk", "1", "--checkpoint", "c.json"}), 2, {"--chunk", "larger"});
  }
  EXPECT_FALSE(fs::exists(folder_ / "c.json"));
  EXPECT_EQ(run(verify("1e15", {"--chunk", "1", "--shard", "1/1000000000000"})).status, 0);
}

/// Whatever was found would be lost if its file turned out to be too large in the end.
TEST_F(CliCampaigns, RecordsThatBecomeTooLargeAreRefusedBeforeTheWork) {
  TCNUM_TAKES_LONG();
  ASSERT_EQ(run(verify("1e4", {"--record", "r.json", "--distribution", "wide"})).status, 0);
  json all = json::parse(text("r.json"));
  constexpr std::size_t kMost = std::size_t{64} << 20;
  all["campaigns"][0]["device"] = std::string(kMost - 2000, 'x');
  write("large.json", all.dump());
  const std::vector<std::string> more = {"--record", "large.json", "--distribution", "wide", "--seed", "2"};
  EXPECT_EQ(run(verify("1e4", more)).status, 0) << "there is room for a few digests";
  all["campaigns"][0]["device"] = std::string(kMost - 600, 'x');
  write("large.json", all.dump());
  expect_failure(verify("1e10", more), 2, {"--record: large.json", "64 MiB", "another file"}, [] { alarm(60); });
  EXPECT_EQ(fs::file_size(folder_ / "large.json"), all.dump().size());
  all["campaigns"][0]["device"] = std::string(kMost, 'x');
  write("large.json", all.dump());
  expect_failure(verify("1e10", more), 2, {"large.json", "larger than 64 MiB"});
}

TEST_F(CliCampaigns, AnEmptyShardHasNothingToDo) {
  for (const char* shard : {"1/16", "1/18446744073709551615", "9223372036854775807/18446744073709551615"}) {
    const Result r = run(verify("1e4", {"--distribution", "wide", "--chunk", "4096", "--shard", shard, "--record",
                                        "r.json", "--json", "v.json", "--checkpoint", "c.json"}));
    EXPECT_EQ(r.status, 0) << shard << r.err;
    EXPECT_EQ(r.err, "");
    EXPECT_NE(r.out.find("nothing to do"), std::string::npos) << r.out;
    EXPECT_EQ(json::parse(text("v.json"))["mismatches"], 0);
    EXPECT_EQ(json::parse(text("v.json"))["instructions"], json::array());
    EXPECT_EQ(json::parse(text("r.json"))["campaigns"], json::array());
    fs::remove(folder_ / "c.json");
  }
  std::uint64_t count = 0;
  for (int shard = 1; shard <= 16; ++shard) {
    printed(verify("1e4", {"--distribution", "wide", "--chunk", "4096", "--shard", std::to_string(shard) + "/16",
                           "--record", "r.json", "--json", "v.json"}));
    const json v = json::parse(text("v.json"));
    for (const json& each : v["instructions"]) count += each["count"].get<std::uint64_t>();
  }
  EXPECT_EQ(count, 3u * 4096);
  std::vector<std::string> none = verify("1e5", {"--distribution", "product_pairs", "--shard", "2/3"});
  expect_failure(none, 2, {"--distribution", "none"});
}

/// What mpirun starts shares the streams: one process is killed and done again, and the records are those of one run.
TEST_F(CliCampaigns, ProcessesOfALaunchAreShards) {
  ASSERT_EQ(run(verify("3e5", {"--chunk", "8192", "--record", "one.json"})).status, 0);
  const auto start_rank = [&](int rank) {
    return start(
        verify("3e5", {"--chunk", "8192", "--record", "all.json", "--checkpoint", "c.json", "--json", "v.json"}), "out",
        [rank] {
          setenv("OMPI_COMM_WORLD_RANK", std::to_string(rank).c_str(), 1);
          setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
        });
  };
  std::vector<pid_t> children;
  for (int rank = 0; rank < 4; ++rank) children.push_back(start_rank(rank));
  kill(children[2], SIGKILL);
  for (const pid_t child : children) EXPECT_EQ(finish(child).status, child == children[2] ? -SIGKILL : 0);
  EXPECT_EQ(finish(start_rank(2)).status, 0);

  for (const char* file : {"c.1-of-4.json", "c.4-of-4.json", "v.3-of-4.json"}) EXPECT_TRUE(json::accept(text(file)));
  std::map<std::string, std::vector<json>> one, all;
  for (auto* records : {&one, &all}) {
    const json file = json::parse(text(records == &one ? "one.json" : "all.json"));
    for (const json& record : file["campaigns"]) {
      auto& digests = (*records)[record["distribution"]];
      for (const json& digest : record["digests"]) digests.push_back(digest);
    }
  }
  for (auto* records : {&one, &all})
    for (auto& [distribution, digests] : *records) std::ranges::sort(digests);
  EXPECT_EQ(one, all);
  EXPECT_EQ(run({"verify", "--arch", "sm_90", "--campaign", "all.json", "--all"}).status, 0);
}

/// Recorded answers would be verified by each of them.
TEST_F(CliCampaigns, ProcessesOfALaunchShareStreamsAlone) {
  expect_failure({"verify", "--arch", "sm_90"}, 2, {"PMI_SIZE is 2", "--count N"}, [] {
    setenv("PMI_RANK", "1", 1);
    setenv("PMI_SIZE", "2", 1);
  });
}

}  // namespace
}  // namespace tcnum
