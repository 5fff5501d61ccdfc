// tcnum list --works as a user runs it.
#include "cli.hpp"

namespace tcnum {
namespace {

class CliWorks : public Cli {
 protected:
  /// With the recorded answers of the source tree, from there, as docs/update_blocks.sh runs it.
  Result works(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"list", "--works"});
    return run(arguments, "out", [] { setenv("TCNUM_VECTORS", TCNUM_SOURCE_DIR "/vectors", 1); });
  }
};

TEST_F(CliWorks, ThePageHasWhatTheCommandSays) {
  const Result r = works({"--arch", "sm_90"});
  EXPECT_EQ(r.status, 0) << r.err;
  const std::string page = contents(TCNUM_SOURCE_DIR "/docs/works.md"),
                    begin = "<!-- begin works -->\n```console\n$ ./run list --works --arch sm_90\n",
                    end = "```\n<!-- end works -->\n";
  const std::size_t first = page.find(begin), last = page.find(end);
  ASSERT_TRUE(first != std::string::npos && last != std::string::npos);
  EXPECT_EQ(page.substr(first + begin.size(), last - first - begin.size()), r.out)
      << "expected docs/update_readme.sh works";
}

TEST_F(CliWorks, AnAccountIsRefutedWhereTheHardwareIsAndAWorkThatSaysNothingHasNoCell) {
  const Result r = works({"--arch", "sm_90", "--instr", "wgmma.m64n8k16.*", "--json", "-"});
  ASSERT_EQ(r.status, 0) << r.err;
  const json document = json::parse(r.out);
  EXPECT_EQ(document.at("schema"), "tcnum.works/1");
  for (const json& work : document.at("works")) EXPECT_NE(work.at("work"), "Hawkeye") << "it asked no such wgmma";
  bool found = false;
  for (const json& in : document.at("instructions")) {
    EXPECT_TRUE(in.at("statements").empty());
    if (in.at("name") != "wgmma.m64n8k16.f16.f16.f16") continue;
    for (const json& account : in.at("accounts")) {
      if (account.at("work") != "MMA-Sim") continue;
      for (const json& field : account.at("fields")) {
        if (!field.at("field").get<std::string>().ends_with("zero_exponent.floor")) continue;
        found = true;
        EXPECT_EQ(field.at("says"), "-133");
        EXPECT_EQ(field.at("measured"), "-21");
        // The answer is what the file has at that place.
        const json& by = field.at("refuted_by");
        const Result told =
            run({"explain", "--in", TCNUM_SOURCE_DIR "/vectors/sm_90/wgmma.m64n8k16.f16.f16.f16.safetensors", "--index",
                 std::to_string(by.at("probe").get<std::size_t>()), "--json", "e.json"});
        EXPECT_EQ(told.status, 0) << told.err;
        const json explained = json::parse(contents(folder_ / "e.json"));
        EXPECT_EQ(explained.at("observed"), by.at("observed"));
        EXPECT_EQ(explained.at("explained").at(0).at("a"), by.at("a"));
        EXPECT_EQ(explained.at("explained").at(0).at("b"), by.at("b"));
        EXPECT_EQ(explained.at("explained").at(0).at("c"), by.at("c"));
      }
    }
  }
  EXPECT_TRUE(found);
}

/// Answers that a user has recorded, of an architecture that was not measured here.
TEST_F(CliWorks, AreHeldAgainstOnesOwnAnswers) {
  const std::string name = "mma.m8n8k4.f32.f16.f16.f32";
  fs::create_directories(folder_ / "own/sm_70");
  printed({"generate", "--arch", "sm_70", "--instr", name, "--datapath", "sm_70:" + name + ":Khattak & Mikaitis",
           "--count", "4096", "--out", "own/sm_70/" + name + ".safetensors"});
  const Result r = run({"list", "--works", "--arch", "sm_70", "--instr", name}, "out",
                       [&] { setenv("TCNUM_VECTORS", (folder_ / "own").c_str(), 1); });
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find(name + "  all 4,096           refuted [1]\n"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("[1] Hickmann & Bradford: 1×4 F=23 RZ, +c RN\n"), std::string::npos) << r.out;
}

TEST_F(CliWorks, WrongUseAndMissingAnswersAreSaid) {
  expect_failure({"list", "--works"}, 2, {"--arch", "sm_90"});
  expect_failure({"list", "--works", "--arch", "sm_91"}, 2, {"--arch", "sm_91"});
  expect_failure({"list", "--works", "--arch", "sm_90", "--measured"}, 2, {"--works"});
  expect_failure({"list", "--works", "--datapath", kDatapath}, 2, {"--works"});
  expect_failure({"list", "--works", "--arch", "sm_90", "--table", "csv"}, 2, {"--table", "--works"});
  expect_failure({"list", "--works", "--arch", "sm_90", "--format", "fp17"}, 2, {"--format", "fp17"});
  expect_failure({"list", "--works", "--arch", "sm_80"}, 3, {"--works", "sm_80", "no recorded answers"});
  const Result nothing = works({"--arch", "sm_90", "--format", "s8"});
  EXPECT_EQ(nothing.status, 0);
  EXPECT_EQ(nothing.out, "nothing is published of such an instruction\n");

  fs::create_directories(folder_ / "own/sm_90");
  const std::string name = "wgmma.m64n8k8.f32.tf32.tf32";
  const auto with_own = [&] {
    return run({"list", "--works", "--arch", "sm_90"}, "out",
               [&] { setenv("TCNUM_VECTORS", (folder_ / "own").c_str(), 1); });
  };
  fs::copy_file(TCNUM_SOURCE_DIR "/vectors/sm_90/" + name + ".safetensors",
                folder_ / "own/sm_90" / (name + ".safetensors"));
  const Result one = with_own();
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_NE(one.out.find(name + "  all but [1]"), std::string::npos) << one.out;
  EXPECT_NE(one.out.find("No answers are recorded of: mma.m16n8k8"), std::string::npos) << one.out;
  // Another instruction's file under its name.
  fs::rename(folder_ / "own/sm_90" / (name + ".safetensors"),
             folder_ / "own/sm_90/mma.m16n8k8.f32.tf32.tf32.f32.safetensors");
  const Result wrong = with_own();
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("mma.m16n8k8.f32.tf32.tf32.f32.safetensors: __metadata__.instruction"), std::string::npos)
      << wrong.err;
}

}  // namespace
}  // namespace tcnum
