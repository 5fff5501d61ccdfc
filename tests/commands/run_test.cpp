// ./run, as far as it builds nothing.
#include "cli.hpp"

namespace tcnum {
namespace {

class Run : public Cli {
 protected:
  Result run_script(const fs::path& script, const std::vector<std::string>& arguments) const {
    std::vector<std::string> words = {script.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return finish(start_program("/bin/bash", words));
  }
};

/// A link to it may lie anywhere: the sources are where the file is, and so is what is built.
TEST_F(Run, IsFoundThroughLinks) {
  fs::create_symlink(TCNUM_SOURCE_DIR "/run", folder_ / "run");
  fs::create_directory(folder_ / "bin");
  fs::create_symlink("../run", folder_ / "bin" / "tcnum");
  const Result r = run_script(folder_ / "bin" / "tcnum", {"test", "no_such_test"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("vector_file_test"), std::string::npos) << r.err;
  EXPECT_FALSE(fs::exists(folder_ / "build"));
  EXPECT_FALSE(fs::exists(folder_ / "bin" / "build"));
}

/// Status 1 says that a disagreement was found.
TEST_F(Run, WhatCannotBeBuiltIsStatus3) {
  fs::copy_file(TCNUM_SOURCE_DIR "/run", folder_ / "run");
  write("build", "a file, where a folder should be");
  const Result r = run_script(folder_ / "run", {"list"});
  EXPECT_EQ(r.status, 3);
  EXPECT_NE(r.err.find("build"), std::string::npos) << r.err;
}

/// Nothing is built where the folder is missing or cannot be made. tests/install/check.sh installs.
TEST_F(Run, InstallsOnlyIntoAFolder) {
  fs::copy_file(TCNUM_SOURCE_DIR "/run", folder_ / "run");
  write("file", "");
  for (const std::vector<std::string>& folders : std::vector<std::vector<std::string>>{
           {}, {""}, {"--help"}, {"one", "two"}, {"file"}, {(folder_ / "file" / "prefix").string()}}) {
    std::vector<std::string> arguments = {"install"};
    arguments.insert(arguments.end(), folders.begin(), folders.end());
    const Result r = run_script(folder_ / "run", arguments);
    SCOPED_TRACE(testing::PrintToString(arguments) + "\n" + r.err);
    EXPECT_EQ(r.status, 2);
    EXPECT_TRUE(r.err.starts_with("run: install: "));
    EXPECT_NE(r.err.find("expected"), std::string::npos);
    EXPECT_EQ(std::ranges::count(r.err, '\n'), 1);
    EXPECT_FALSE(fs::exists(folder_ / "build"));
  }
}

}  // namespace
}  // namespace tcnum
