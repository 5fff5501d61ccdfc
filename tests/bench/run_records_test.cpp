// What a run takes over from the file that it goes on from, and what it writes.
#include "bench/measure/run_records.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/measure/report/printers.hpp"
#include "tcnum/error.hpp"

namespace tcnum::bench {
namespace {

TimingFacts facts(const std::string& date) {
  TimingFacts f;
  f.arch = "sm_90";
  f.device = "NVIDIA H200";
  f.driver = "580";
  f.cuda = "13.0";
  f.date = date;
  f.sms = 132;
  return f;
}
Record row(const std::string& subject, std::int64_t n, double value) {
  return {"m", subject, {{"N", n}}, {{"value", value}}, {}, "", ""};
}
Document document(const std::vector<Record>& records) {
  return {"1", facts("2026-01-01"), {{"seed", std::int64_t{1}}}, records};
}
RunRecords run(const std::string& date) {
  RunRecords records("1", {{"seed", std::int64_t{1}}});
  records.set_facts(facts(date));
  return records;
}

TEST(RunRecords, TakeOverWhatIsThere) {
  RunRecords records = run("2026-01-02");
  Record waived{"m", "b", {{"N", std::int64_t{8}}}, {}, {}, "no", ""}, wrong = waived, interrupted = row("c", 8, 1),
                                                                       limited = row("d", 8, 1);
  wrong.axes[0].value = std::int64_t{16};
  wrong.waived.clear();
  wrong.error = "wrong";
  interrupted.set(kInterrupted, true);
  limited.settings = {{"threads", "32"}, {"chains", "2"}};
  EXPECT_EQ(records.go_on_from(document({row("a", 8, 1), waived, wrong, interrupted, limited}), "file"), "");
  EXPECT_TRUE(records.has(row("a", 8, 0)));
  EXPECT_FALSE(records.has(row("a", 16, 0)));
  EXPECT_FALSE(records.has(waived));
  EXPECT_FALSE(records.has(wrong));
  EXPECT_FALSE(records.has(row("c", 8, 0)));
  EXPECT_FALSE(records.has(row("d", 8, 0))) << "of fewer values of an axis";
  EXPECT_TRUE(records.has(limited));
  Record turned = limited;
  std::ranges::reverse(turned.settings);
  EXPECT_TRUE(records.has(turned)) << "members of a JSON object have no order";

  records.add(row("c", 8, 2));
  records.add(row("e", 8, 3));
  EXPECT_TRUE(records.has(row("c", 8, 0)));
  const auto json = nlohmann::ordered_json::parse(json_text(records.document()));
  const Document read = document_from_json(json, "text");
  ASSERT_EQ(read.records.size(), 6u);
  EXPECT_EQ(read.records[0].date, "2026-01-01");
  EXPECT_EQ(read.records[3].subject, "c") << "in its place";
  EXPECT_EQ(read.records[3].number("value"), 2);
  EXPECT_EQ(read.records[3].date, "") << "of the document's day";
  EXPECT_EQ(read.records[4].settings, limited.settings);
  EXPECT_EQ(read.records[5].subject, "e");
}

TEST(RunRecords, TakeNothingOverFromOtherConditions) {
  const auto expect_none = [](const Document& before, const std::string& why) {
    RunRecords records = run("2026-01-02");
    EXPECT_EQ(records.go_on_from(before, "file"), why);
    EXPECT_TRUE(records.document().records.empty());
    EXPECT_FALSE(records.has(row("a", 8, 0)));
  };
  Document before = document({row("a", 8, 1)});
  before.facts.driver = "575";
  expect_none(before, "driver 575; here 580");
  before = document({row("a", 8, 1)});
  before.facts.cuda = "12.9";
  expect_none(before, "CUDA 12.9; here 13.0");
  before = document({row("a", 8, 1)});
  before.version = "0";
  expect_none(before, "tcnum 0; here 1");
  before = document({row("a", 8, 1)});
  before.settings.push_back({"seconds", 0.1});
  expect_none(before, "settings seconds 0.1, seed 1; here seed 1");
}

TEST(RunRecords, AreOfOneDevice) {
  Document before = document({row("a", 8, 1)});
  before.facts.sms = 114;
  RunRecords records = run("2026-01-02");
  try {
    records.go_on_from(before, "file");
    FAIL() << "another device's";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "file: device: NVIDIA H200 (sm_90, 114 SMs); expected NVIDIA H200 (sm_90, 132 SMs), or another file");
  }
}

}  // namespace
}  // namespace tcnum::bench
