// tcnum probe keeps reports of recorded answers: they come back as they were, only where nothing has changed, and
// whatever is wrong with the cache is no error.
#include "cli.hpp"
#include "tcnum/fit.hpp"
#include "labels.hpp"

namespace tcnum {
namespace {

class CliKeptReports : public Cli {
 protected:
  CliKeptReports() {
    static const std::string kRecorded = [this] {
      EXPECT_EQ(run(probe_datapath({"--record", "p.safetensors"})).status, 0);
      return contents(folder_ / "p.safetensors");
    }();
    write("p.safetensors", kRecorded);
  }

  std::vector<std::string> probe(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"probe", "--from", "p.safetensors"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  /// All files of the cache.
  std::vector<fs::path> kept() const {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& each : fs::recursive_directory_iterator(folder_ / "cache", none)) {
      if (!each.is_directory()) files.push_back(each.path());
    }
    return files;
  }
  fs::path only_kept() const {
    const auto files = kept();
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? fs::path() : files.front();
  }
  /// What is kept is another text.
  static void forge(const fs::path& file) {
    json report = json::parse(contents(file));
    report["text"] = "forged\n";
    report["verdict"] = Verdict::unexplained;
    std::ofstream(file, std::ios::binary) << report.dump();
  }
};

TEST_F(CliKeptReports, ComeBackAsTheyWere) {
  const Result first = run(probe({"--json", "1.json"}));
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(kept().size(), 1u);
  const Result second = run(probe({"--json", "2.json"}));
  EXPECT_EQ(second.status, 0);
  EXPECT_EQ(second.err, "");
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(text("2.json"), text("1.json"));
  const std::string table = run(probe({"--table", "csv"})).out;
  EXPECT_EQ(table, run(probe({"--table", "csv", "--fresh"})).out);
  EXPECT_NE(table.find("1×16 F=25 RZ"), std::string::npos) << table;

  // It is the kept one that came back, unless a fresh one is wanted.
  forge(only_kept());
  EXPECT_EQ(run(probe()).out, "forged\n");
  EXPECT_EQ(run(probe()).status, 1);
  EXPECT_EQ(run(probe({"--fresh"})).out, first.out);
  EXPECT_EQ(run(probe()).out, first.out);
}

TEST_F(CliKeptReports, AreOfOneFileOneSeedAndOneBuild) {
  const std::string first = run(probe()).out;
  forge(only_kept());
  EXPECT_EQ(run(probe({"--seed", "2"})).out, first);
  EXPECT_EQ(kept().size(), 2u);

  // Another program, if only by a byte, takes the place of what this one has kept.
  fs::copy_file(kProgram, folder_ / "other");
  std::ofstream(folder_ / "other", std::ios::app) << "x";
  EXPECT_EQ(finish(start_program("./other", probe())).out, first);
  EXPECT_EQ(kept().size(), 1u);

  // Other answers, in a file of the same name.
  write_datapath("24.json", "/units/fused/fraction_bits", 24);
  ASSERT_EQ(run(probe_datapath({"--record", "p.safetensors"}, "24.json")).status, 0);
  const std::string other = run(probe()).out;
  EXPECT_NE(other.find("24 bits below the largest exponent"), std::string::npos) << other;
  EXPECT_EQ(run(probe()).out, other);
}

TEST_F(CliKeptReports, ThatAreDamagedAreMadeAgain) {
  TCNUM_TAKES_LONG();
  const std::string first = run(probe()).out;
  const fs::path file = only_kept();
  const std::string good = contents(file);
  for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2), std::string("null"),
                                 std::string("[1]"), std::string("{\"schema\": 7}"), std::string(1000, '['),
                                 std::string("\xff\xfe"), good.substr(0, 9) + "0" + good.substr(9)}) {
    std::ofstream(file, std::ios::binary) << bad;
    const Result r = run(probe());
    EXPECT_EQ(r.status, 0) << bad.substr(0, 40);
    EXPECT_EQ(r.err, "");
    EXPECT_EQ(r.out, first);
    EXPECT_EQ(contents(file), good);
  }
}

TEST_F(CliKeptReports, NeedNoCache) {
  const std::string first = run(probe()).out;
  fs::remove_all(folder_ / "cache");
  write("file", "");
  for (const std::string where : {"/dev/null", "/proc/none", "relative", "file"}) {
    SCOPED_TRACE(where);
    const std::string path = where == "file" ? (folder_ / where).string() : where;
    const Result r = run(probe(), "out", [&] {
      setenv("XDG_CACHE_HOME", path.c_str(), 1);
      unsetenv("HOME");
    });
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(r.err, "");
    EXPECT_EQ(r.out, first);
  }
  EXPECT_FALSE(fs::exists(folder_ / "relative"));
  // HOME serves where the other is not set.
  EXPECT_EQ(run(probe(), "out",
                [&] {
                  unsetenv("XDG_CACHE_HOME");
                  setenv("HOME", folder_.c_str(), 1);
                })
                .out,
            first);
  EXPECT_TRUE(fs::exists(folder_ / ".cache/tcnum/fits"));
}

TEST_F(CliKeptReports, OfManyComeInOrderUpToTheFirstFailure) {
  const std::vector<std::string> names = {"mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k16.f32.bf16.bf16.f32",
                                          "wgmma.m64n8k16.f32.bf16.bf16"};
  fs::create_directories(folder_ / "records/sm_90");
  for (const std::string& name : names) {
    fs::copy_file(fs::path(TCNUM_SOURCE_DIR) / "vectors/sm_90" / (name + ".safetensors"),
                  folder_ / "records/sm_90" / (name + ".safetensors"));
  }
  const auto probe_all = [&] {
    return run({"probe", "--arch", "sm_90", "--format", "bf16", "--from", "recorded"}, "out",
               [] { setenv("TCNUM_VECTORS", "records", 1); });
  };
  const Result all = probe_all();
  std::size_t at = 0;
  for (const std::string& name : names) {
    at = all.out.find(name + " on sm_90: identified", at);
    ASSERT_NE(at, std::string::npos) << name;
  }
  EXPECT_EQ(probe_all().out, all.out);

  fs::resize_file(folder_ / "records/sm_90" / (names[1] + ".safetensors"), 1000);
  const Result some = probe_all();
  EXPECT_EQ(some.status, 2);
  EXPECT_NE(some.err.find(names[1]), std::string::npos) << some.err;
  EXPECT_EQ(some.out, all.out.substr(0, some.out.size()));
  EXPECT_NE(some.out.find(names[0]), std::string::npos);
  EXPECT_EQ(some.out.find(names[2] + " on sm_90"), std::string::npos);
}

TEST_F(CliKeptReports, AreShownAsTables) {
  const std::string latex = run(probe({"--table", "latex"})).out;
  EXPECT_TRUE(latex.starts_with("\\begin{tabular}{l"));
  EXPECT_NE(latex.find("\nmma.m16n8k16.f32.f16.f16.f32 & identified & 1$\\times$16 F=25 RZ & "), std::string::npos)
      << latex;
  EXPECT_NE(latex.find("toward\\_zero"), std::string::npos);
  EXPECT_NE(run(probe({"--table", "md"})).out.find("| toward\\_zero |"), std::string::npos);
  expect_failure(probe({"--table", "html"}), 2, {"--table", "html", "text, md, csv or latex"});
  expect_failure(probe({"--table", "md", "--json", "-"}), 2, {"--table", "--json"});
  expect_failure({"probe", "--arch", "sm_80", "--from", "recorded", "--format", "fp16", "--table", "md"}, 3,
                 {"tcnum list --table"});
}

}  // namespace
}  // namespace tcnum
