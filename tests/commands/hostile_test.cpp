// The program with files, names and limits that somebody made to break it.
// Labels: sanitized
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <set>

#include "cli.hpp"
#include "labels.hpp"
#include "sanitizers.hpp"

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

/// Whoever waits for what a pipe has to say may wait for ever.
TEST_F(Hostile, PipesAreRefusedAtOnce) {
  TCNUM_NOT_SANITIZED();
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(run(probe_datapath({"--record", "v.safetensors"})).status, 0);
  const auto silent_input = [] {
    int ends[2];  // of which the writing one stays open
    if (pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0) _exit(126);
    alarm(30);
  };
  for (const std::string name : {"pipe", "/dev/stdin"}) {
    for (const Words& arguments : {Words{"verify", "--vectors", name},
                                   {"verify", "--vectors", "v.safetensors", "--datapath", name},
                                   {"verify", "--arch", "sm_90", "--campaign", name},
                                   {"emulate", "--in", name, "--out", "o.safetensors"},
                                   {"explain", "--in", name},
                                   {"probe", "--arch", "sm_90", "--instr", kInstruction, "--from", name},
                                   {"gemm", "--in", name, "--plan", "nvjet", "--out", "o.safetensors"},
                                   {"gemm", "--a", name, "--b", name, "--plan", "nvjet", "--out", "o.npy"},
                                   {"gemm", "--in", name, "--fit"},
                                   {"gemm", "--in", "v.safetensors", "--plan", name, "--out", "o.safetensors"}}) {
      expect_failure(arguments, 2, {name + ": cannot be read: not a regular file; expected"}, silent_input);
    }
  }
  EXPECT_FALSE(fs::exists(folder_ / "o.safetensors") || fs::exists(folder_ / "o.npy"));

  const auto file_as_input = [] {
    if (dup2(open("v.safetensors", O_RDONLY), STDIN_FILENO) < 0) _exit(126);
  };
  const Words verify = {"verify", "--vectors", "/dev/stdin", "--datapath", kDatapath};
  EXPECT_EQ(run(verify, "out", file_as_input).status, 0) << "a file is one by any name";
}

/// So that a run ends if the program does not.
void limit_time_and_memory() {
  const rlimit seconds = {30, 30}, bytes = {rlim_t{4} << 30, rlim_t{4} << 30};
  setrlimit(RLIMIT_CPU, &seconds);
  if (!test::kAddressesAreWatched) setrlimit(RLIMIT_AS, &bytes);  // it reserves far more addresses
}

/// Reports compare rows with each other; each with all would take minutes.
TEST_F(Hostile, ManyMeasurements) {
  TCNUM_NOT_SANITIZED();
  json record = json::parse(contents(folder_ / "good.json"));
  json row = {{"measurement", "wgmma"}, {"subject", "wgmma.m64nNk16.f32.f16.f16"}, {"series", json::object()}};
  row["values"] = {{"latency_cycles", 90}, {"interval_cycles", 32}};
  for (int i = 0; i < 20'000; ++i) {
    row["axes"] = {{"N", 64}, {"source", "ss"}, {"data", "zeros"}, {"warpgroups", 1 + i % 2}, {"device", i}};
    record["records"].push_back(row);
  }
  write("many.json", record.dump());
  const Words arguments = {"bench", "report", "many.json", "many.json", "--markdown", "page.md", "--json", "both.json"};
  const Result r = run(arguments, "out", limit_time_and_memory);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(json::parse(contents(folder_ / "both.json"))["records"].size(), 20'000u);
  record["records"].push_back(row);
  write("many.json", record.dump());
  expect_failure({"bench", "report", "many.json"}, 2, {"many.json", "records", "20000"}, limit_time_and_memory);

  for (int i = 0; i < 201; ++i) row["values"][std::to_string(i)] = i;
  record["records"] = json::array({row});
  write("many.json", record.dump());
  expect_failure({"bench", "report", "many.json"}, 2, {"many.json", "records[0]", "values", "200"});
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
  TCNUM_NOT_SANITIZED();
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

TEST_F(Hostile, FilesThatAreMadeOfFilesHoldNoControls) {
  const std::string hidden = "\x7f\u009b2J\u202e";
  json record = json::parse(contents(folder_ / "good.json"));
  record["device"]["name"] = hidden;
  write("odd.json", record.dump());
  const Result r = run({"bench", "report", "odd.json", "--json", "made.json", "--markdown", "made.md"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(json::parse(contents(folder_ / "made.json"))["device"]["name"], hidden) << "the name is kept";
  for (const char* made : {"made.json", "made.md"}) {
    const std::string text = contents(folder_ / made);
    for (const char* each : {"\x7f", "\u009b", "\u202e"}) EXPECT_EQ(text.find(each), std::string::npos) << made;
    EXPECT_NE(text.find("u009b2J"), std::string::npos) << made;
  }
}

// --- Programs that are run

TEST_F(Hostile, AShellNeverSeesAPath) {
  const fs::path there = folder_ / "x';touch PWNED;'";
  fs::create_directory(there);
  fs::copy_file(kProgram, there / "tcnum");
  const std::string program = (there / "tcnum").string();
  write("cuobjdump",
        "#!/bin/sh\n"
        "printf '%s\\n' \"$@\" > arguments\n"
        "echo 'Function : _ZN5tcnum10mma_kernelINS_28mma_m16n8k16_f32_f16_f16_f32EEEv'\n"
        "echo '  /*07e0*/  HMMA.16816.F32 R20, R8, R12, R20 ;  /* 0x0 */'\n");
  fs::permissions(folder_ / "cuobjdump", fs::perms::owner_all);
  const auto with_path = [&] { setenv("PATH", (folder_.string() + ":/usr/bin:/bin").c_str(), 1); };
  const Words arguments = {"sass", "--arch", "sm_90", "--nvcc", "13.0"};
  const Result r = finish(start_program(program.c_str(), arguments, "out", with_path));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("HMMA.16816.F32"), std::string::npos) << r.out;
  EXPECT_FALSE(fs::exists(folder_ / "PWNED"));
  EXPECT_EQ(contents(folder_ / "arguments"), "-sass\n" + program + "\n");

  write("cuobjdump", "#!/bin/sh\necho 'Function : x'\nexit 1\n");
  expect_failure(arguments, 3, {"cuobjdump"}, with_path);
  write("cuobjdump", "#!/bin/sh\nhead -c 3000000 /dev/zero\n");
  expect_failure(arguments, 2, {"cuobjdump", "line"}, with_path);
  fs::remove(folder_ / "cuobjdump");
  expect_failure(arguments, 3, {"cuobjdump"}, with_path);
}

TEST_F(Hostile, MachineCodeOfAnything) {
  const std::string function = "Function : _ZN5tcnum10mma_kernelINS_28mma_m16n8k16_f32_f16_f16_f32EEEv\n";
  const Words arguments = {"sass",   "--arch",     "sm_90",  "--text",   "sass.txt",
                           "--nvcc", "13\"\n\xff", "--json", "sass.json"};
  write("sass.txt", function + "/*0*/ HMMA\xff\x1b[2J\"\n");
  const std::string r = printed(arguments);
  EXPECT_EQ(r.find('\x1b'), std::string::npos);
  EXPECT_TRUE(json::accept(contents(folder_ / "sass.json"))) << contents(folder_ / "sass.json");
  write("sass.txt", function + std::string(3'000'000, 'x'));
  expect_failure(arguments, 2, {"sass.txt", "line"});
  fs::remove(folder_ / "sass.txt");
  ASSERT_EQ(mkfifo((folder_ / "sass.txt").c_str(), 0600), 0);
  expect_failure(arguments, 2, {"sass.txt", "not a regular file"});
}

// --- Numbers and other words of the command line

TEST_F(Hostile, NumbersAreTakenAsTheyAreWrittenOrNotAtAll) {
  TCNUM_NOT_SANITIZED();
  const Words streams = {"verify", "--arch", "sm_90", "--instr", kInstruction, "--from", "datapath:" + kDatapath};
  const auto with = [](Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const std::vector<std::pair<Words, std::string>> options = {
      {probe_datapath({}), "--seed"},
      {with(streams, {"--count", "4096"}), "--seed"},
      {{"bench", "tensor", "--list"}, "--seed"},
      {{"explain", "--in", "none.safetensors"}, "--index"},
      {streams, "--count"},
      {with(streams, {"--count", "4096"}), "--chunk"},
      {with(streams, {"--count", "4096"}), "--shard"},
      {{"bench", "tensor", "--list"}, "--seconds"},
  };
  for (const auto& [command, option] : options) {
    for (const std::string wrong : {"18446744073709551616", "-1", "", "1x", "1,5", "inf", "1e400", "1..2", "\xff"}) {
      SCOPED_TRACE(option + " " + wrong);
      expect_failure(with(command, {option + "=" + wrong}), 2, {option});
    }
    expect_failure(with(command, {option, "1", option, "1"}), 2, {option});
  }
  for (const char* option : {"--seed", "--count", "--chunk"}) {
    for (const std::string wrong : {"010", "0x10", "00", "1.5", "1e-1"}) {
      Words command = with(streams, {option, wrong});
      if (option != std::string("--count")) command = with(command, {"--count", "4096"});
      expect_failure(command, 2, {option, wrong});
    }
  }
  for (const char* wrong : {"1", "0/2", "3/2", "1/2/3", "01/2", "1/"}) {
    expect_failure(with(streams, {"--count", "4096", "--shard", wrong}), 2, {"--shard", wrong});
  }
  expect_failure(with(streams, {"--count", "1e16"}), 2, {"--count", "1e15"});
  expect_failure(with(streams, {"--count", "0"}), 2, {"--count"});
}

TEST_F(Hostile, EmptyWordsAreNoWords) {
  for (const Words& arguments : {Words{"list", "--arch", ""},
                                 {"list", "--json", ""},
                                 {"list", "--datapath", ""},
                                 {"probe", "--arch", "sm_90", "--record", ""},
                                 {"bench", "report", ""},
                                 {"verify", "--vectors", ""},
                                 {"bench", "tensor", "--list", "--instr", ""}}) {
    expect_failure(arguments, 2, {"is empty"});
  }
}

// --- Files that are written

TEST_F(Hostile, APlantedLockIsNotFollowed) {
  fs::create_symlink("victim", folder_ / ".r.json.lock");
  expect_failure({"verify", "--arch", "sm_90", "--instr", kInstruction, "--from", "datapath:" + kDatapath, "--count",
                  "1", "--record", "r.json"},
                 2, {".r.json.lock"});
  EXPECT_FALSE(fs::exists(folder_ / "victim"));
}

}  // namespace
}  // namespace tcnum
