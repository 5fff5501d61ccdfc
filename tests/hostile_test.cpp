// The program with files, names and limits that somebody made to break it.
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <set>

#include "cli.hpp"

namespace tcnum {
namespace {

using Words = std::vector<std::string>;

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

class Hostile : public Cli {
 protected:
  Hostile() {
    fs::create_directory(folder_ / "empty" / "sm_90");
    write("good.json", R"({"schema": "tcnum.bench/1", "version": "1", "settings": {}, "records": [], "device":
        {"name": "NVIDIA H200", "arch": "sm_90", "sms": 132, "driver": "1", "cuda": "13.0", "date": "2026-01-01"}})");
  }

  /// A command that reads JSON of a schema from a file in the folder.
  struct Reader {
    std::string schema;
    Words arguments;
    std::string file;
  };
  std::vector<Reader> readers() const {
    const Words streams = {"verify",  "--arch", "sm_90", "--instr", kInstruction, "--from", "datapath:" + kDatapath,
                           "--count", "4096"};
    Words checkpoint = streams, record = streams;
    checkpoint.insert(checkpoint.end(), {"--checkpoint", "f.json"});
    record.insert(record.end(), {"--record", "f.json"});
    return {{"tcnum.checkpoint/1", checkpoint, "f.json"},
            {"tcnum.campaigns/1", record, "f.json"},
            {"tcnum.campaigns/1", {"verify", "--arch", "sm_90", "--campaign", "f.json"}, "f.json"},
            {"tcnum.bench/1", {"bench", "report", "f.json"}, "f.json"},
            {"tcnum.sass/1", {"bench", "report", "good.json"}, "empty/sm_90/sass.json"},
            {"tcnum.datapath/1", {"list", "--evaluators", "--datapath", "f.json"}, "f.json"}};
  }

  /// Each of the readers refuses a file of that text.
  void expect_all_refuse(const std::function<std::string(const Reader&)>& text, const Words& parts) const {
    for (const Reader& reader : readers()) {
      SCOPED_TRACE(reader.schema);
      write(reader.file, text(reader));
      Words all = parts;
      all.push_back(reader.file);
      expect_failure(reader.arguments, 2, all);
      fs::remove(folder_ / reader.file);
    }
  }

  /// A vector file that is right but for what its metadata says.
  void write_vectors_of(const std::string& name, const json& metadata) const {
    ASSERT_EQ(run(probe_datapath({"--record", "plain.safetensors"})).status, 0);
    const std::string bytes = contents(folder_ / "plain.safetensors");
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    json header = json::parse(bytes.substr(sizeof length, length));
    const std::string data = bytes.substr(sizeof length + length);
    header["__metadata__"].update(metadata);
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    length = text.size();
    write(name, std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data);
  }
};

// --- JSON that is made to hurt its reader

TEST_F(Hostile, DeepNesting) {
  expect_all_refuse(
      [](const Reader& r) {
        return "{\"schema\": \"" + r.schema + "\", \"run\": " + repeated("[", 80'000) + repeated("]", 80'000) + "}";
      },
      {"nested deeper than"});
}

/// The library's reader takes a minute for these.
TEST_F(Hostile, ManyKeys) {
  std::string members;
  for (int i = 0; i < 200'000; ++i) members += ",\"" + std::to_string(i) + "\":0";
  expect_all_refuse([&](const Reader& r) { return "{\"schema\": \"" + r.schema + "\"" + members + "}"; },
                    {"more than 10000 members"});
}

TEST_F(Hostile, KeysTwice) {
  expect_all_refuse([](const Reader& r) { return "{\"schema\": \"\", \"schema\": \"" + r.schema + "\"}"; },
                    {"\"schema\"", "twice"});
}

TEST_F(Hostile, NoJsonOrMoreThanThat) {
  expect_all_refuse([](const Reader& r) { return "{\"schema\": \"" + r.schema + "\"} {}"; }, {"byte"});
  expect_all_refuse([](const Reader& r) { return "\xef\xbb\xbf{\"schema\": \"" + r.schema + "\"}"; },
                    {"byte order mark"});
  expect_all_refuse(
      [](const Reader& r) { return "{\"schema\": \"" + r.schema + "\"}" + std::string(1, '\0') + "rest"; },
      {"byte", "zero"});
  expect_all_refuse([](const Reader& r) { return "{\"schema\": \"" + r.schema + "\", \"x\": 1e400}"; }, {"1e400"});
  expect_all_refuse([](const Reader& r) { return "{\"schema\": \"" + r.schema + "\", \"x\": \"\xff\"}"; }, {"byte"});
  expect_all_refuse([](const Reader&) { return ""; }, {"byte 1"});
}

TEST_F(Hostile, WhatIsNoFile) {
  for (const Reader& reader : readers()) {
    SCOPED_TRACE(reader.schema);
    const fs::path file = folder_ / reader.file;
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    expect_failure(reader.arguments, 2, {reader.file, "not a regular file"});
    fs::remove(file);
    fs::create_symlink("/dev/zero", file);
    expect_failure(reader.arguments, 2, {reader.file, "not a regular file"});
    fs::remove(file);
    fs::create_directory(file);
    expect_failure(reader.arguments, 2, {reader.file, "Is a directory"});
    fs::remove(file);
  }
}

// --- Messages and output

TEST_F(Hostile, MessagesAreShort) {
  const std::string large(1 << 20, 'x');
  expect_all_refuse([&](const Reader&) { return "{\"schema\": \"" + large + "\", \"" + large + "\": 0}"; }, {});
  for (const Reader& reader : readers()) {
    write(reader.file, "{\"schema\": \"" + reader.schema + "\", \"" + large);
    EXPECT_LT(run(reader.arguments).err.size(), 5000u);
  }
  write("f.json", R"({"schema": "tcnum.campaigns/1", "campaigns": [{"instruction": ")" + large + "\"}]}");
  EXPECT_LT(run({"verify", "--arch", "sm_90", "--campaign", "f.json"}).err.size(), 5000u);
  EXPECT_LT(run({"probe", "--arch", large.substr(0, 100'000)}).err.size(), 5000u);
}

TEST_F(Hostile, FilesCannotSpeakForTheProgram) {
  const std::string line = "v.safetensors: 9,999 dot products, 0 mismatches";
  write_vectors_of("v.safetensors", {{"device", "\x1b[2J\x1b[H\n" + line + "\n"}, {"driver", "1\r\u009b2J\u202e"}});
  const Words commands[] = {
      {"verify", "--vectors", "v.safetensors", "--datapath", kDatapath},
      {"probe", "--arch", "sm_90", "--instr", kInstruction, "--from", "v.safetensors"},
      {"verify", "--vectors", "v.safetensors", "--datapath", kDatapath, "--json", "-"},
      {"probe", "--arch", "sm_90", "--instr", kInstruction, "--from", "v.safetensors", "--json", "-"}};
  for (const Words& arguments : commands) {
    const Result r = run(arguments);
    SCOPED_TRACE(testing::PrintToString(arguments) + r.out);
    EXPECT_EQ(r.status, 0) << r.err;
    for (const char* hidden : {"\x1b", "\r", "\u009b", "\u202e"}) EXPECT_EQ(r.out.find(hidden), std::string::npos);
    EXPECT_EQ(r.out.find("\n" + line), std::string::npos);
    EXPECT_NE(r.out.find("\\u001b[2J"), std::string::npos);
  }
}

TEST_F(Hostile, NamesCannotSpeakForTheProgram) {
  const std::string name = "\x1b[2J\nx: 1 dot product, 0 mismatches\n";
  expect_failure({"verify", "--vectors", name}, 2, {"\\u001b[2J\\nx"});
  expect_failure({"list", "--arch", name}, 2, {"\\u001b[2J\\nx"});
  write_vectors_of(name, json::object());
  const Result r = run({"verify", "--vectors", name, "--datapath", kDatapath});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("\\u001b[2J\\nx: 1 dot product, 0 mismatches\\n: ")) << r.out;
}

// --- Files that are written

TEST_F(Hostile, AFileThatMayNotGrowLeavesTheOldOne) {
  write("l.json", "old");
  const auto limited = [] {
    const rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  for (const Words& arguments : {Words{"list", "--json", "l.json"}, probe_datapath({"--record", "r.safetensors"})}) {
    const Result r = run(arguments, "/dev/null", limited);
    EXPECT_EQ(r.status, 3);
    EXPECT_TRUE(r.err.ends_with(arguments.back() + ": cannot be written: File too large\n")) << r.err;
  }
  EXPECT_EQ(contents(folder_ / "l.json"), "old");
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename().string());
  EXPECT_EQ(names, (std::set<std::string>{"empty", "err", "good.json", "l.json"}));
}

TEST_F(Hostile, APlantedLinkIsNotFollowed) {
  write("victim", "precious");
  const auto plant = [] {  // where temporary files were once
    const std::string name = ".tcnum-" + std::to_string(getpid());
    for (const char* rest : {".tmp", "-0.tmp"}) {
      if (symlink("victim", (name + rest).c_str()) != 0) _exit(125);
    }
  };
  const Result r = run({"list", "--json", "l.json"}, "out", plant);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(contents(folder_ / "victim"), "precious");
  EXPECT_FALSE(fs::is_symlink(folder_ / "l.json"));
  EXPECT_TRUE(json::accept(contents(folder_ / "l.json")));
}

}  // namespace
}  // namespace tcnum
