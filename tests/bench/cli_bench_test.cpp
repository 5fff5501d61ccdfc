// `tcnum bench` as a user runs it, on a GPU that is not there (fake_gpu.cpp).
#include <csignal>
#include <map>
#include <sstream>

#include "tests/cli.hpp"

namespace tcnum::cli_bench_test {
namespace {

using Words = std::vector<std::string>;

class CliBench : public Cli {
 protected:
  /// Variables of the environment, for the fake GPU.
  using Wanted = std::vector<std::pair<const char*, std::string>>;

  static Preparation preparation(const Wanted& wanted) {
    return [wanted] {
      for (const auto& [variable, value] : wanted) setenv(variable, value.c_str(), 1);
    };
  }
  Result bench(Words arguments, const Wanted& wanted = {}) const {
    arguments.insert(arguments.begin(), "bench");
    return finish(start_program(TCNUM_FAKE_GPU, arguments, "out", preparation(wanted)));
  }
  /// Eight rows, quickly: latencies and rings of two to sixteen blocks, of which the device has up to eight.
  Result clusters(Words more, const Wanted& wanted = {}) const {
    Words arguments = {"clusters", "--seconds", "0.001", "-a", "ring_threads=128,256"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return bench(arguments, wanted);
  }
  json document(const std::string& file) const { return json::parse(text(file)); }

  /// The rows of a file, and when each was measured.
  std::multimap<std::string, std::string> dates(const std::string& file) const {
    const json all = document(file);
    std::multimap<std::string, std::string> found;
    for (const json& r : all["records"]) {
      found.emplace(r["subject"].get<std::string>() + " " + r["axes"]["blocks"].dump(),
                    r.value("date", all["device"]["date"].get<std::string>()));
    }
    return found;
  }
  static std::size_t count(const std::multimap<std::string, std::string>& dates, const std::string& date) {
    return static_cast<std::size_t>(
        std::ranges::count(dates, date, &std::multimap<std::string, std::string>::value_type::second));
  }
};

constexpr std::size_t kRows = 8;
const std::string kFirstDay = "2026-01-01", kSecondDay = "2026-01-02";

TEST_F(CliBench, ARunThatIsKilledGoesOn) {
  const Result killed = clusters({"--checkpoint", "c.json"}, {{"FAKE_GPU_SIGNAL", std::to_string(SIGKILL)}});
  EXPECT_EQ(killed.status, -SIGKILL);
  EXPECT_EQ(dates("c.json").size(), 5u) << "all latencies, and the ring of two";

  const Result r = clusters({"--checkpoint", "c.json"}, {{"FAKE_GPU_DATE", kSecondDay}});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  EXPECT_NE(r.out.find("4 rows in "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("and 4 of c.json"), std::string::npos) << r.out;
  const auto days = dates("c.json");
  EXPECT_EQ(days.size(), kRows);
  EXPECT_EQ(count(days, kFirstDay), 4u) << "what was waived is asked for again";
  EXPECT_EQ(count(days, kSecondDay), 4u);
  EXPECT_EQ(document("c.json")["device"]["date"], kSecondDay);

  // The same rows in the same order as of an unbroken run.
  EXPECT_EQ(clusters({"--json", "whole.json"}).status, 0);
  const json whole = document("whole.json")["records"], both = document("c.json")["records"];
  ASSERT_EQ(whole.size(), both.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(whole[i]["subject"], both[i]["subject"]) << i;
    EXPECT_EQ(whole[i]["axes"], both[i]["axes"]) << i;
  }

  const Result page = bench({"report", "c.json"});
  EXPECT_NE(page.out.find(kFirstDay + " to " + kSecondDay), std::string::npos) << page.out;
}

/// The row at hand may lack points: it is measured again.
TEST_F(CliBench, AnInterruptedRowIsMeasuredAgain) {
  const Result first = clusters({"--checkpoint", "c.json"}, {{"FAKE_GPU_SIGNAL", std::to_string(SIGINT)}});
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_NE(first.out.find("interrupted: ring"), std::string::npos) << first.out;
  const json records = document("c.json")["records"];
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[5]["values"]["interrupted"], true);
  EXPECT_EQ(clusters({"--checkpoint", "c.json"}, {{"FAKE_GPU_DATE", kSecondDay}}).status, 0);
  EXPECT_EQ(count(dates("c.json"), kFirstDay), 4u);
  EXPECT_FALSE(document("c.json")["records"][5]["values"].contains("interrupted"));
}

/// Nothing is taken over from another driver, and a line says so.
TEST_F(CliBench, RowsOfAnotherDriverAreMeasuredAgain) {
  EXPECT_EQ(clusters({"--checkpoint", "c.json", "-a", "blocks=2"}).status, 0);
  const Result r = clusters({"--checkpoint", "c.json", "-a", "blocks=4"}, {{"FAKE_GPU_DRIVER", "2.0"}});
  EXPECT_EQ(r.err, "tcnum: c.json: driver 1.0; here 2.0: all rows are measured again\n");
  EXPECT_EQ(dates("c.json").size(), 2u) << "of four blocks alone";
}

/// Values of an axis along which a row goes are the row's settings; those of other axes make other rows.
TEST_F(CliBench, RowsOfOtherSettingsAreMeasuredAgain) {
  EXPECT_EQ(clusters({"--checkpoint", "c.json", "-a", "blocks=2,4"}).status, 0);
  EXPECT_EQ(document("c.json")["records"][0]["settings"]["ring_threads"], "128,256");
  EXPECT_EQ(clusters({"--checkpoint", "c.json", "-a", "blocks=4,8"}, {{"FAKE_GPU_DATE", kSecondDay}}).status, 0);
  auto days = dates("c.json");
  EXPECT_EQ(days.size(), 6u) << "of two, of four and of eight blocks";
  EXPECT_EQ(count(days, kSecondDay), 2u);
  EXPECT_EQ(clusters({"--checkpoint", "c.json", "-a", "blocks=2", "-a", "ring_threads=512"},
                     {{"FAKE_GPU_DATE", "2026-01-03"}})
                .status,
            0);
  days = dates("c.json");
  EXPECT_EQ(days.size(), 6u);
  EXPECT_EQ(count(days, "2026-01-03"), 2u);
}

TEST_F(CliBench, WhatCannotBeGoneOnFromIsRefused) {
  EXPECT_EQ(clusters({"--json", "c.json"}).status, 0);
  const std::string before = text("c.json");
  const auto expect_refusal = [&](const Result& r, const Words& parts) {
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_EQ(std::ranges::count(r.err, '\n'), 1) << r.err;
    for (const std::string& part : parts) EXPECT_NE(r.err.find(part), std::string::npos) << r.err;
  };
  expect_refusal(clusters({"--checkpoint", "c.json"}, {{"FAKE_GPU_NAME", "Fake H100"}}),
                 {"c.json: device: Fake H200 (sm_90, 4 SMs)", "Fake H100", "another file"});
  EXPECT_EQ(text("c.json"), before);
  expect_refusal(clusters({"--checkpoint", "-"}), {"--checkpoint: -", "a file"});
  expect_refusal(clusters({"--checkpoint", "c.json", "--json", "c.json"}), {"c.json", "another file"});
  write("bad.json", "{}");
  expect_refusal(clusters({"--checkpoint", "bad.json"}), {"bad.json", "schema"});
}

/// Reports of the recorded devices, by a machine with GPUs or without.
class CliBenchRecords : public CliBench {
 protected:
  static inline const std::string kRecords = TCNUM_SOURCE_DIR "/vectors";
  static Words report(const Words& more) {
    Words arguments = {"bench", "report"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Result of_records(const Words& more) const {
    return run(report(more), "out", preparation({{"TCNUM_VECTORS", kRecords}}));
  }
  void expect_refused(const Words& more, const Words& parts) const {
    expect_failure(report(more), 2, parts, preparation({{"TCNUM_VECTORS", kRecords}}));
  }
};

TEST_F(CliBenchRecords, HaveSectionsAsText) {
  const Result one = of_records({"--device", "h100", "--section", "memory: LATENCY"});
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_TRUE(one.out.starts_with("Record: NVIDIA H100 80GB HBM3 (sm_90), 2026-11-23")) << one.out;
  EXPECT_NE(one.out.find(", driver 580.159.04, SM clock at most 1980 MHz ("), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("\nMemory: latency\n"), std::string::npos) << one.out;
  EXPECT_EQ(one.out.find("Memory: bandwidth"), std::string::npos);
  EXPECT_EQ(one.out.find("| "), std::string::npos) << "no Markdown";

  const Result several = of_records({"--section", "memory"});
  ASSERT_EQ(several.status, 0) << several.err;
  EXPECT_TRUE(several.out.starts_with("Record: NVIDIA H200 (sm_90), ")) << several.out;
  for (const char* title : {"\nMemory: latency\n", "\nMemory: bandwidth\n", "\nMemory: streams\n"}) {
    EXPECT_NE(several.out.find(title), std::string::npos) << title;
  }

  const Result markdown = of_records({"--section", "matrix products", "--markdown", "-"});
  EXPECT_TRUE(markdown.out.starts_with("# Latency, throughput and power: NVIDIA H200\n")) << markdown.out;
  EXPECT_NE(markdown.out.find("\n## Matrix products\n"), std::string::npos);
  EXPECT_EQ(markdown.out.find("## Matrix products: "), std::string::npos) << "the title itself, and no other";
  const std::string page = of_records({}).out, section = of_records({"--section", "at a glance"}).out;
  EXPECT_EQ(page, of_records({"--markdown", "-"}).out) << "the whole page, where no section is named";
  for (const char* title : {"\n## At a glance\n", "\n## Memory: streams\n", "\n## Matrix products: the model\n"}) {
    EXPECT_NE(page.find(title), std::string::npos) << title;
  }
  EXPECT_NE(contents(TCNUM_SOURCE_DIR "/docs/h200.md").find(section.substr(section.find("\nAt a glance\n"))),
            std::string::npos)
      << "docs/h200.md shows what the record has";
  const std::string h100 = kRecords + "/sm_90/bench_h100.json";
  EXPECT_EQ(of_records({h100, "--section", "stream.triad"}).status, 2) << "titles, and not subjects";
}

TEST_F(CliBenchRecords, SayWhatThereIs) {
  expect_refused({"--section", "caches"},
                 {"--section: caches; expected ", "Memory: latency", "Matrix products: the model"});
  expect_refused({"--section", "caches", "--markdown", "kept.md"}, {"--section: caches"});
  EXPECT_FALSE(fs::exists(folder_ / "kept.md"));
  expect_refused({"--device", "a100"}, {"--device: a100; expected ", "NVIDIA H200, NVIDIA H100 80GB HBM3"});
  expect_refused({"--device", "h100", kRecords + "/sm_90/bench.json"}, {"--device"});
  expect_refused({"--section", "memory", "--json", "kept.json"}, {"--section", "--json"});
  EXPECT_FALSE(fs::exists(folder_ / "kept.json"));
  expect_failure(report({}), 2, {"--device: none is recorded here"});
}

/// This machine's GPU before the others, if it has a record.
TEST_F(CliBenchRecords, AreOfTheGpuAtHand) {
  fs::create_directories(folder_ / "records/sm_90");
  json own = json::parse(contents(kRecords + "/sm_90/bench_h100.json"));
  own["device"]["name"] = "Fake H200";
  write("records/sm_90/bench_h100.json", own.dump());
  fs::copy(kRecords + "/sm_90/bench.json", folder_ / "records/sm_90/bench.json");
  const Words latency = {"report", "--section", "memory: latency"};
  const Result mine = bench(latency, {{"TCNUM_VECTORS", "records"}});
  EXPECT_TRUE(mine.out.starts_with("Record: Fake H200 (sm_90), ")) << mine.out << mine.err;
  const Result other = bench(latency, {{"TCNUM_VECTORS", kRecords}});
  EXPECT_TRUE(other.out.starts_with("Record: NVIDIA H200 (sm_90), ")) << other.out << other.err;
  EXPECT_NE(other.out.find("; there is none of Fake H200\n"), std::string::npos) << other.out;
}

/// They take minutes.
TEST_F(CliBench, SingleCallsAreTimedWhereTheyAreAskedFor) {
  const Result list = bench({"gemm", "--list"});
  EXPECT_NE(list.out.find("\n  single.fp16.fp16 (only if asked for)\n"), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("\n  gemm.fp16.fp16\n"), std::string::npos) << list.out;
}

TEST_F(CliBench, WrongResultsAreADisagreement) {
  const Result r = clusters({"--json", "r.json"}, {{"FAKE_GPU_WRONG", "1"}});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_NE(r.err.find("6 rows had wrong results"), std::string::npos) << r.err;
  for (const json& row : document("r.json")["records"]) {
    EXPECT_NE(row.value("error", ""), row.value("waived", "")) << "no clusters of 16";
    EXPECT_TRUE(row["values"].empty());
  }
}

/// The processes that mpirun starts would measure on the same GPU.
TEST_F(CliBench, SeveralProcessesAreRefused) {
  const Result r = clusters({}, {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.err, "tcnum: bench: OMPI_COMM_WORLD_SIZE is 2; expected one process, without mpirun\n");
  EXPECT_EQ(r.out, "");
}

}  // namespace
}  // namespace tcnum::cli_bench_test
