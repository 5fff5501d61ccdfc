// A datapath stands alone: vector files that name no instruction, of any k and formats, and streams of its own.

#include <array>
#include <tuple>

#include "cli.hpp"
#include "src/files/dot_vectors.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "tcnum/error.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

class CliAlone : public CliStreams {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// The documented datapath with that many products, all in one sum, and other operands.
  Datapath make(const std::string& name, int k, const char* a, const char* b, const char* c) const {
    json datapath = json::parse(contents(kDatapath));
    datapath["k"] = k;
    datapath["tree"] = {"fused", "c", "0.." + std::to_string(k - 1)};
    for (const auto& [operand, format] : {std::pair{"a", a}, {"b", b}, {"c", c}})
      datapath["operands"][operand]["format"] = format;
    write(name, datapath.dump());
    return read_datapath(path(name));
  }

  /// Problems that differ in every element, without results or metadata.
  static Vectors questions(const Instruction& dot) {
    Vectors vectors;
    Tiles& t = vectors.tiles = make_operands(dot, 2, 3, 5);
    const auto fill = [](Codes& codes, FormatId id) {
      const Format& f = format(id);
      std::uint64_t random = 12345;
      for (std::size_t i = 0; i < codes.size(); ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        codes.set(i, (random >> 11) % (f.floating ? f.first_non_finite() : f.code_mask()));
      }
    };
    fill(t.a, t.a_format);
    fill(t.b, t.b_format);
    fill(t.c, t.c_format);
    return vectors;
  }
};

TEST_F(CliAlone, FilesWithoutAnInstructionAreOfTheDatapath) {
  for (const auto& [k, a, b, c] : std::vector<std::tuple<int, const char*, const char*, const char*>>{
           {16, "fp16", "fp16", "fp32"}, {1000, "fp8e4m3fnuz", "fp6e3m2", "bf16"}, {3, "tf32", "fp64", "fp4e2m1"}}) {
    SCOPED_TRACE(a);
    const Datapath datapath = make("own.json", k, a, b, c);
    const Instruction dot = dot_of(datapath);
    const Vectors asked = questions(dot);
    write_dot_vectors(path("q.safetensors"), asked, dot);
    printed({"emulate", "--datapath", "own.json", "--in", "q.safetensors", "--out", "a.safetensors"});
    const Vectors answered = read_dot_vectors(path("a.safetensors"), dot);
    Tiles right = asked.tiles;
    emulate_exact(datapath, right);
    EXPECT_EQ(answered.tiles.d, right.d);
    EXPECT_EQ(answered.tiles.a, asked.tiles.a);
    printed({"emulate", "--exact", "--datapath", "own.json", "--in", "q.safetensors", "--out", "a.safetensors"});
    EXPECT_EQ(read_dot_vectors(path("a.safetensors"), dot).tiles.d, right.d);

    Result verified = run({"verify", "--vectors", "a.safetensors", "--datapath", "own.json", "--json", "-"});
    EXPECT_EQ(verified.status, 0) << verified.err;
    EXPECT_TRUE(json::parse(verified.out)["files"][0]["arch"].is_null());
    EXPECT_EQ(json::parse(verified.out)["files"][0]["instruction"], dot.name());
    const Result explained =
        run({"explain", "--in", "a.safetensors", "--datapath", "own.json", "--at", "1,2,4", "--json", "-"});
    EXPECT_EQ(explained.status, 0) << explained.err;
    const json one = json::parse(explained.out);
    EXPECT_EQ(one["explained"][0]["d"], one["observed"]);
  }
}

/// Formats of 12 and 20 bits, in sums of 4096.
TEST_F(CliAlone, FormatsOfOnesOwnAndLongSums) {
  json datapath = json::parse(contents(kDatapath));
  datapath["k"] = 4096;
  datapath["tree"] = {"fused", "c", "0..4095"};
  datapath["formats"] = {{"e5m6", {{"exponent_bits", 5}, {"fraction_bits", 6}}},
                         {"e7m12", {{"exponent_bits", 7}, {"fraction_bits", 12}, {"bias", 70}}}};
  datapath["operands"]["a"]["format"] = datapath["operands"]["b"]["format"] = "e5m6";
  datapath["operands"]["c"]["format"] = datapath["result"] = "e7m12";
  datapath["units"]["fused"]["result"][0]["format"] = "e7m12";
  datapath["nan"]["code"] = "0x7ffff";
  write("own.json", datapath.dump());
  const Datapath own = read_datapath(path("own.json"));
  const Instruction dot = dot_of(own);
  const Result made =
      run({"generate", "--datapath", "own.json", "--distribution", "wide", "--count", "200", "--out", "g.safetensors"});
  ASSERT_EQ(made.status, 0) << made.err;
  Tiles right = read_dot_vectors(path("g.safetensors"), dot).tiles;
  const Codes given = right.d;
  emulate_exact(own, right);
  EXPECT_EQ(given, right.d);
  EXPECT_NE(text("g.safetensors").find("\"U16\""), std::string::npos);
  printed({"verify", "--vectors", "g.safetensors", "--datapath", "own.json"});
  datapath["k"] = 2;
  datapath["tree"] = {"fused", "c", "0..1"};
  write("two.json", datapath.dump());
  printed({"explain", "--datapath", "two.json", "--a", "1.5,2^-3", "--b", "1,-1", "--c", "0x1.8p3"});
  expect_failure({"explain", "--datapath", "two.json", "--a", "1.01,1", "--b", "1,1", "--c", "0"}, 2, {"1.01", "e5m6"});
  EXPECT_EQ(run({"verify", "--count", "1e4", "--datapath", "two.json", "--from", "datapath:two.json"}).status, 0);
}

TEST_F(CliAlone, DisagreementsNameNoInstructionEither) {
  const Instruction dot = dot_of(make("own.json", 48, "fp16", "fp16", "fp32"));
  write_dot_vectors(path("q.safetensors"), questions(dot), dot);
  ASSERT_EQ(run({"emulate", "--datapath", "own.json", "--in", "q.safetensors", "--out", "a.safetensors"}).status, 0);
  json other = json::parse(text("own.json"));
  other["units"]["fused"]["fraction_bits"] = 5;
  write("other.json", other.dump());
  const Result r =
      run({"verify", "--vectors", "a.safetensors", "--datapath", "other.json", "--disagreements", "d", "--json", "v"});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_EQ(read_dot_vectors(path("d/a.safetensors"), dot).tiles.size(), json::parse(text("v"))["mismatches"]);
  EXPECT_EQ(run({"verify", "--vectors", "d/a.safetensors", "--datapath", "own.json"}).status, 0);
}

TEST_F(CliAlone, StreamsNeedNoInstruction) {
  make("own.json", 300, "fp8e5m2", "fp8e4m3", "fp32");
  const std::vector<std::string> compare = {"verify", "--count",    "2e4",      "--distribution",
                                            "wide",   "--datapath", "own.json", "--from"};
  const auto from = [&](const std::string& source) {
    std::vector<std::string> arguments = compare;
    arguments.push_back(source);
    return run(arguments);
  };
  Result r = from("datapath:own.json");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("dot.k300.f32.e5m2.e4m3.f32: "), std::string::npos) << r.out;
  EXPECT_EQ(from("exec:" + std::string(kProgram) + " emulate --serve --datapath own.json").status, 0);
  json other = json::parse(text("own.json"));
  other["units"]["fused"]["fraction_bits"] = 5;
  write("other.json", other.dump());
  r = from("datapath:other.json");
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_LT(std::ranges::count(r.out, '\n'), 100) << "a long problem is made small: " << r.out;
  expect_failure({"verify", "--count", "1e4", "--datapath", "own.json", "--from", "datapath:" + kDatapath}, 2,
                 {"k: 16; expected 300"});
  expect_failure({"verify", "--count", "1e4", "--datapath", "own.json", "--from", "datapath:own.json", "--record", "r"},
                 2, {"--record: is kept of instructions"});
  make("odd.json", 4, "fp16", "fp16", "ue8m0");
  expect_failure({"verify", "--count", "1e4", "--datapath", "odd.json", "--from", "datapath:odd.json"}, 2,
                 {"odd.json: c: ue8m0; expected"});
}

TEST_F(CliAlone, WhatIsWrongIsNamed) {
  const Instruction dot = dot_of(make("own.json", 16, "fp16", "fp16", "fp32"));
  make("seventeen.json", 17, "fp16", "fp16", "fp32");
  make("bytes.json", 16, "fp8e4m3", "fp16", "fp32");
  Vectors vectors = questions(dot);
  write_dot_vectors(path("q.safetensors"), vectors, dot);
  const auto emulate = [](const std::string& in, const std::string& datapath) {
    return std::vector<std::string>{"emulate", "--datapath", datapath, "--in", in, "--out", "o.safetensors"};
  };
  expect_failure(emulate("q.safetensors", "seventeen.json"), 2,
                 {"q.safetensors: tensor A: shape: ", "expected [T, M, K] = [2, 3, 17]"});
  expect_failure(emulate("q.safetensors", "bytes.json"), 2, {"q.safetensors: tensor A: dtype: \"F16\"", "\"F8_E4M3\""});
  expect_failure({"emulate", "--in", "q.safetensors", "--out", "o.safetensors"}, 2,
                 {"q.safetensors: __metadata__", "instruction"});
  for (const auto& [option, value, field] : std::vector<std::array<std::string, 3>>{
           {"--arch", "sm_90", "__metadata__.arch"}, {"--instr", kInstruction, "__metadata__.instruction"}}) {
    std::vector<std::string> arguments = emulate("q.safetensors", "own.json");
    arguments.insert(arguments.end(), {option, value});
    expect_failure(arguments, 2, {"q.safetensors: " + field + ": missing", option});
  }
  vectors.metadata["scale_d"] = "0";
  EXPECT_THROW(write_dot_vectors(path("s.safetensors"), vectors, dot), InputError);
  vectors.metadata = {{"arch", "sm_90"}};
  EXPECT_THROW(write_dot_vectors(path("s.safetensors"), vectors, dot), InputError);
  EXPECT_FALSE(fs::exists(folder_ / "s.safetensors"));
  EXPECT_FALSE(fs::exists(folder_ / "o.safetensors"));
  // Of a file that names an instruction the datapath must be its.
  ASSERT_EQ(run(probe_datapath({"--record", "p.safetensors"})).status, 0);
  expect_failure(emulate("p.safetensors", "seventeen.json"), 2, {"seventeen.json: k: 17; expected 16"});
}

}  // namespace
}  // namespace tcnum
