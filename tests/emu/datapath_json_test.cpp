// The JSON form of datapaths: the examples in docs/datapaths, round trips, and what is refused. Random changes are the
// harness of datapaths: tests/fuzz/datapaths.cpp.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/error.hpp"

namespace tcnum::datapath_json_test {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

const fs::path kFolder = fs::path(TCNUM_SOURCE_DIR) / "docs" / "datapaths";

std::vector<std::string> example_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string path_of(const std::string& name) { return (kFolder / (name + ".json")).string(); }

Json example(const std::string& name) {
  std::ifstream file(path_of(name));
  return Json::parse(file);
}

/// A file that is gone when the test ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(fs::temp_directory_path() / ("tcnum_datapath_" + std::to_string(getpid()) + ".json")) {
    write(text);
  }
  ~TemporaryFile() { fs::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

/// The message of the InputError that `action` throws; empty if it throws none.
template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string read_error(const Json& json) {
  return error_of([&] { datapath_from_json(json, "file.json"); });
}
std::string file_error(const std::string& text) {
  const TemporaryFile file(text);
  const std::string message = error_of([&] { read_datapath(file.path()); });
  return message.starts_with(file.path() + ": ") ? message.substr(file.path().size() + 2) : message;
}

// --- Good ones -------------------------------------------------------------------------------------------------------

class Example : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Datapaths, Example, testing::ValuesIn(example_names()), [](const auto& param) {
  std::string name = param.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(Example, IsWrittenAsItWasRead) {
  const Datapath datapath = read_datapath(path_of(GetParam()));
  Json expected = example(GetParam());
  expected.erase("note");
  expected.erase("source");
  const Json written = to_json(datapath);
  EXPECT_EQ(written.dump(1), expected.dump(1));
  EXPECT_EQ(datapath_from_json(written), datapath);
}

TEST_P(Example, IsFoundInsideOtherFiles) {
  const Datapath datapath = read_datapath(path_of(GetParam()));
  const Json json = example(GetParam());
  const TemporaryFile file(Json{{"verdict", "identified"}, {"datapath", json}}.dump());
  EXPECT_EQ(read_datapath(file.path()), datapath);
  file.write(Json{{"schema", "tcnum.probe/1"}, {"instructions", Json::array({{{"datapath", json}}})}}.dump());
  EXPECT_EQ(read_datapath(file.path()), datapath);
}

TEST(DatapathJson, HopperReadsAsItsStruct) {
  Datapath expected;
  Numerics& n = expected.numerics;
  n.c.format = FormatId::fp32;
  Unit& fused = n.units[0];
  fused.fraction_bits = 25;
  fused.zero_exponent = {ZeroExponentKind::floor, -133};
  fused.result = {round_to(format(FormatId::fp32), Rounding::toward_zero, Overflow::infinity)};
  fused.zero_sign = ZeroSign::positive;
  fused.underflow_sign = UnderflowSign::positive;
  expected.unit_names = {"fused"};
  expected.tree.k = 16;
  Node node{0, {{Term::Kind::accumulator, 0}}};
  for (int k = 0; k < 16; ++k) node.terms.push_back({Term::Kind::product, k});
  expected.tree.nodes = {node};
  EXPECT_EQ(read_datapath(path_of("hopper-fp16")), expected);
}

TEST(DatapathJson, NodesAreNumberedChildrenFirst) {
  const Tree tree = read_datapath(path_of("fp-add-tree")).tree;
  ASSERT_EQ(tree.nodes.size(), 8u);
  EXPECT_EQ(tree.nodes[2].terms, (std::vector<Term>{{Term::Kind::node, 0}, {Term::Kind::node, 1}}));
  EXPECT_EQ(tree.nodes[7].terms, (std::vector<Term>{{Term::Kind::node, 6}, {Term::Kind::accumulator, 0}}));
}

TEST(DatapathJson, OmittedFieldsHaveTheirDefaults) {
  const Json json = Json::parse(R"({
    "k": 4, "operands": { "a": {"format": "f16"}, "b": {"format": "bf16"}, "c": {"format": "f32"} }, "result": "f32",
    "units": { "u": { "result": [ {"format": "f32"} ] } }, "tree": ["u", 3, "0..2"], "nan": { "code": "0x7FC00000" } })");
  const Datapath datapath = datapath_from_json(json);
  EXPECT_EQ(datapath.numerics.a, OperandRule{});
  EXPECT_EQ(datapath.numerics.product, ProductRule{});
  Unit unit;
  unit.result = {round_to(format(FormatId::fp32), Rounding::toward_zero)};
  EXPECT_EQ(datapath.numerics.units[0], unit);
  EXPECT_EQ(datapath.numerics.nan.code, 0x7fc00000u);
  EXPECT_EQ(to_json(datapath)["tree"], Json::parse(R"(["u", 3, "0..2"])"));
}

TEST(DatapathJson, EveryOptionalFieldSurvives) {
  Json json = example("cdna3-fp16");
  json["product"]["round"] = Json::parse(R"([
    {"fraction_bits": 30, "from": "leading_bit", "max_exponent": 200, "rounding": "up", "subnormals": "kept",
     "overflow": "max_finite"},
    {"format": "fp32", "rounding": "down", "subnormals": "flushed", "overflow": "ieee"}])");
  json["units"]["products"]["first_fraction_bits"] = "exact";
  json["units"]["products"]["zero_exponent"] = {{"zeros", -20000}};
  json["units"]["accumulate"]["zero_exponent"] = "natural";
  json["operands"]["a"]["subnormal_exponent"] = "normalised";
  json["nan"]["propagate"] = {"c", "b", "a"};
  json.erase("note");
  json.erase("source");
  EXPECT_EQ(nlohmann::json(to_json(datapath_from_json(json))), nlohmann::json(json));  // in any order
}

TEST(DatapathJson, TheDeepestChainSurvives) {
  Json json = example("fp64-fma-chain");
  json["k"] = 4096;
  Json tree = "c";
  for (int k = 0; k < 4096; ++k) tree = Json::array({"fma", std::move(tree), k});
  json["tree"] = std::move(tree);
  const Datapath datapath = datapath_from_json(json);
  EXPECT_EQ(datapath.tree.nodes.size(), 4096u);
  const Json written = to_json(datapath);
  EXPECT_EQ(datapath_from_json(written), datapath);
  const TemporaryFile file(Json{{"instructions", Json::array({{{"datapath", written}}})}}.dump());
  EXPECT_EQ(read_datapath(file.path()), datapath);
}

/// The examples in docs/datapath.md, without what may be left out, are those in the files they link to.
TEST(DatapathJson, TheDocumentsExamplesAreTheFiles) {
  std::ifstream document(fs::path(TCNUM_SOURCE_DIR) / "docs" / "datapath.md");
  std::string line, file, text;
  int examples = 0;
  while (std::getline(document, line)) {
    const std::string link = "[file](datapaths/";
    if (const auto at = line.find(link); at != line.npos) {
      file = line.substr(at + link.size(), line.find(".json", at) - at - link.size());
    }
    if (line != "```json") continue;
    for (text.clear(); std::getline(document, line) && line != "```";) text += line + "\n";
    EXPECT_EQ(datapath_from_json(Json::parse(text)), read_datapath(path_of(file))) << file;
    ++examples;
  }
  EXPECT_EQ(examples, 5);
}

// --- Bad ones --------------------------------------------------------------------------------------------------------

/// One change to a good example, and how the message then begins (after the file's name).
struct BadCase {
  std::string example, pointer, value;  ///< value: JSON text; empty: the member is removed
  std::string message;
};

TEST(DatapathJson, BadFieldsAreNamed) {
  const std::vector<BadCase> cases = {
      // Shape of the object
      {"ampere-fp16", "/k", "", "k: is missing"},
      {"ampere-fp16", "/operands", "", "operands: is missing"},
      {"ampere-fp16", "/tree", "", "tree: is missing"},
      {"ampere-fp16", "/nan/code", "", "nan.code: is missing"},
      {"ampere-fp16", "/colour", "1", "unknown key \"colour\"; expected one of schema, note, source, k, formats,"},
      {"ampere-fp16", "/a\nb", "1", "unknown key \"a\\nb\"; expected"},
      {"ampere-fp16", "/operands/d", "{}", "operands: unknown key \"d\"; expected one of a, b, c"},
      {"ampere-fp16", "/schema", "\"tcnum.datapath/2\"",
       "schema: is \"tcnum.datapath/2\"; expected \"tcnum.datapath/1\""},
      {"ampere-fp16", "/note", "3", "note: is 3; expected a string"},
      {"ampere-fp16", "/operands", "[]", "operands: is an array; expected an object"},
      // k
      {"ampere-fp16", "/k", "0", "k: is 0; expected 1..4096"},
      {"ampere-fp16", "/k", "4097", "k: is 4097; expected 1..4096"},
      {"ampere-fp16", "/k", "18446744073709551615", "k: is 18446744073709551615; expected 1..4096"},
      // Formats and enumerations
      {"ampere-fp16", "/operands/a/format", "\"fp17\"",
       "operands.a.format: unknown format \"fp17\"; expected one of fp64, fp32, tf32"},
      {"ampere-fp16", "/operands/a/subnormals", "\"lost\"",
       "operands.a.subnormals: unknown value \"lost\"; expected one of kept, flushed"},
      {"ampere-fp16", "/result", "\"ue8m0\"", "result: ue8m0 has no infinity"},
      {"ampere-fp16", "/result", "\"s32\"", "operands.a.format: is fp16; the result s32 needs an integer format"},
      {"ampere-fp16", "/product/infinite_from", "20001", "product.infinite_from: is 20001; expected -20000..20000"},
      {"ampere-fp16", "/product/round", R"([{"fraction_bits": 3, "from": "alignment"}])",
       "product.round[0].from: a product has no alignment"},
      // Units
      {"ampere-fp16", "/units/fused/fraction_bits", "201", "units.fused.fraction_bits: is 201; expected 0..200"},
      {"ampere-fp16", "/units/fused/fraction_bits", "\"all\"",
       "units.fused.fraction_bits: is \"all\"; expected 0..200 or \"exact\""},
      {"cdna3-fp8", "/units/accumulate/drop_below", "-1", "units.accumulate.drop_below: is -1; expected 0..200"},
      {"ampere-fp16", "/units/fused/zero_exponent", "\"floor\"", "units.fused.zero_exponent: unknown value \"floor\""},
      {"ampere-fp16", "/units/fused/zero_exponent", "{}", "units.fused.zero_exponent: expected \"none\""},
      {"ampere-fp16", "/units/fused/zero_exponent", R"({"floor": -20001})",
       "units.fused.zero_exponent.floor: is -20001; expected -20000..20000"},
      {"ampere-fp16", "/units/fused/scaled", "1", "units.fused.scaled: is 1; expected true or false"},
      {"ampere-fp16", "/units/fused/scaled", "true", "units.fused.scaled: is true, but there are no scales"},
      {"ampere-fp16", "/units/spare", "{}", "units.spare: no node of the tree uses this unit"},
      {"ampere-fp16", "/units/c", "{}", "units: \"c\" is no name for a unit"},
      {"ampere-fp16", "/units", "{}", "tree[0]: unknown unit \"fused\"; expected one of"},
      {"ampere-fp16", "/units", R"({"a":{},"b":{},"d":{},"e":{},"f":{}})", "units: has 5 units; expected 1..4"},
      // Rounding steps
      {"ampere-fp16", "/units/fused/result/0/fraction_bits", "3",
       "units.fused.result[0].fraction_bits: the step's format already says this"},
      {"ampere-fp16", "/units/fused/result/0", "{}", "units.fused.result[0].fraction_bits: is missing"},
      {"ampere-fp16", "/units/fused/result/0/format", "\"fp8e4m3\"",
       "units.fused.result[0].format: the largest number"},
      {"ampere-fp16", "/units/fused/result/0/format", "\"ue8m0\"", "units.fused.result[0].format: ue8m0 is no format"},
      {"ampere-fp16", "/units/fused/result", "[{},{},{},{}]", "units.fused.result: has 4 steps; expected at most 3"},
      {"ampere-fp16", "/units/fused/result", "[]", "units.fused.result: is empty; the unit at the root must round to"},
      {"ampere-fp16", "/units/fused/result/0/format", "\"fp64\"",
       "units.fused.result[0].fraction_bits: is 52; the result format fp32 holds at most 23"},
      {"ampere-fp16", "/units/fused/result/0", R"({"fraction_bits": 13})",
       "units.fused.result[0].max_exponent: is absent; the result format fp32 holds at most 127"},
      {"ampere-fp16", "/units/fused/result/0", R"({"fraction_bits": 13, "max_exponent": 128, "min_exponent": -126})",
       "units.fused.result[0].max_exponent: is 128; the result format fp32 holds at most 127"},
      {"ampere-fp16", "/units/fused/result/0", R"({"fraction_bits": 13, "max_exponent": 127})",
       "units.fused.result[0].min_exponent: is absent; with fraction_bits 13 the result format fp32 needs at least "
       "-136"},
      {"ampere-fp16", "/units/fused/result/0", R"({"fraction_bits": 13, "max_exponent": 127, "min_exponent": -137})",
       "units.fused.result[0].min_exponent: is -137; with fraction_bits 13 the result format fp32 needs at least -136"},
      {"ampere-fp16", "/units/fused/result/0", R"({"fraction_bits": 13, "max_exponent": -5, "min_exponent": 5})",
       "units.fused.result[0].max_exponent: is -5, less than min_exponent, 5, by more than one"},
      {"ampere-fp16", "/units/fused/result/0", R"({"fraction_bits": 13, "from": "alignment"})",
       "units.fused.result[0].from: the last step at the root must round from the leading_bit"},
      {"fp64-fma-chain", "/units/fma/result/0", R"({"fraction_bits": 13, "from": "alignment"})",
       "units.fma.result[0].from: alignment needs a unit with limited fraction_bits"},
      // Tree
      {"ampere-fp16", "/tree", "\"fused\"", "tree: is \"fused\"; expected an array [unit, terms...]"},
      {"ampere-fp16", "/tree", "[]", "tree: is empty; expected an array"},
      {"ampere-fp16", "/tree", R"(["fused"])", "tree: a node needs at least one term"},
      {"ampere-fp16", "/tree/0", "3", "tree[0]: is 3; expected the name of a unit"},
      {"ampere-fp16", "/tree/1/0", "\"fuse\"", "tree[1][0]: unknown unit \"fuse\"; expected one of fused"},
      {"ampere-fp16", "/tree/1/2", "17", "tree[1][2]: product 17 is outside 0..15"},
      {"ampere-fp16", "/tree/1/2", "-1", "tree[1][2]: product -1 is outside 0..15"},
      {"ampere-fp16", "/tree/1/2", "\"0..2000000000\"", "tree[1][2]: product 16 is outside 0..15"},
      {"ampere-fp16", "/tree/1/2", "\"7..0\"", "tree[1][2]: is \"7..0\"; a range must ascend"},
      {"ampere-fp16", "/tree/1/2", "\"0...7\"", "tree[1][2]: is \"0...7\"; expected \"c\", the number of a product"},
      {"ampere-fp16", "/tree/1/2", "\"0..99999999999\"", "tree[1][2]: is \"0..99999999999\"; expected"},
      {"ampere-fp16", "/tree/1/2", "0.5", "tree[1][2]: is 0.5; expected"},
      {"ampere-fp16", "/tree/1/2", "{}", "tree[1][2]: is an object; expected"},
      {"ampere-fp16", "/tree/1/2", "\"0..6\"", "tree: product 7 is missing"},
      {"ampere-fp16", "/tree/2", "\"7..15\"", "tree[2]: product 7 is a term twice"},
      {"ampere-fp16", "/tree/3", "\"c\"", "tree[3]: c is a term twice"},
      // Scales
      {"blackwell-nvfp4", "/scales/format", "\"fp16\"", "scales.format: is fp16; expected a format for scales"},
      {"blackwell-nvfp4", "/scales/block_k", "0", "scales.block_k: is 0; expected 1..64"},
      {"blackwell-nvfp4", "/scales/block_k", "24", "scales.block_k: is 24; it must divide k, 64"},
      {"blackwell-nvfp4", "/scales/block_k", "8",
       "tree: unit group is scaled, but products 0 and 8 lie in different scale blocks of 8"},
      {"blackwell-nvfp4", "/scales", "", "units.group.scaled: is true, but there are no scales"},
      {"blackwell-nvfp4", "/units/fused/scaled", "true",
       "tree: unit fused is scaled, so its terms must all be products"},
      {"blackwell-nvfp4", "/tree", R"(["fused", "c", ["group", "0..15"], "16..63"])",
       "tree: product 16 would lose its scales"},
      // NaN
      {"ampere-fp16", "/nan/code", "\"0x7f800000\"", "nan.code: 0x7f800000 is not a NaN of fp32; 0x7fc00000 is one"},
      {"ampere-fp16", "/nan/code", "\"0x17fffffff\"", "nan.code: 0x17fffffff has more than the 32 bits of fp32"},
      {"ampere-fp16", "/nan/code", "\"2147483647\"", "nan.code: is \"2147483647\"; expected a hexadecimal string"},
      {"ampere-fp16", "/nan/code", "\"0x\"", "nan.code: is \"0x\"; expected a hexadecimal string"},
      {"ampere-fp16", "/nan/code", "\"0x10000000000000000\"", "nan.code: is \"0x10000000000000000\"; expected"},
      {"ampere-fp16", "/nan/code", "2147483647", "nan.code: is 2147483647; expected a string"},
      {"ampere-fp16", "/nan/propagate", R"(["a", "b"])", "nan.propagate: must name each of a, b and c once"},
      {"ampere-fp16", "/nan/propagate", R"(["a", "b", "b"])", "nan.propagate: must name each of a, b and c once"},
      {"ampere-fp16", "/nan/propagate", R"(["a", "b", "d"])", "nan.propagate[2]: unknown operand \"d\""},
      // Integer results have no infinity, and only they are two's complement
      {"ampere-s8", "/product/infinite_from", "9", "product.infinite_from: the integer result s32 has no infinity"},
      {"ampere-s8", "/units/sum/result", R"([{"fraction_bits": 30, "max_exponent": 30}])",
       "units.sum.result[0].overflow: the integer result s32 has no infinity; expected max_finite or wrap"},
      {"ampere-s8", "/units/sum/result", "[]", "units.sum.result: is empty; the unit at the root must round"},
      {"ampere-s8", "/units/sum/result/0/format", "\"u8\"",
       "units.sum.result[0].format: u8 is no format to round a sum to"},
      {"ampere-s8", "/units/sum/result",
       R"([{"fraction_bits": 31, "min_exponent": 31, "max_exponent": 31, "twos_complement": true, "overflow": "wrap"}])",
       "units.sum.result[0].max_exponent: is 31; the result format s32 holds at most 30"},
      {"ampere-s8", "/units/sum/result",
       R"([{"fraction_bits": 31, "min_exponent": 31, "max_exponent": 30, "overflow": "wrap"}])",
       "units.sum.result[0].overflow: wrap needs twos_complement"},
      {"ampere-s8", "/units/sum/result", R"([{"fraction_bits": 31, "twos_complement": true}])",
       "units.sum.result[0].max_exponent: is absent; twos_complement needs one"},
      {"ampere-s8", "/result", "\"u8\"", "result: u8 has no infinity; a result needs one, or a signed integer format"},
      {"ampere-s8", "/product/operation", "\"xor\"", "product.operation: xor is an operation on single bits"},
      {"ampere-s8", "/product/operation", "\"or\"",
       "product.operation: unknown value \"or\"; expected one of multiply, xor"},
      {"ampere-fp16", "/units/fused/result/0/format", "\"s32\"",
       "units.fused.result[0].twos_complement: is true; the result fp32 is no integer"},
      {"ampere-fp16", "/units/fused/result",
       R"([{"fraction_bits": 23, "min_exponent": -126, "max_exponent": 127, "twos_complement": true}])",
       "units.fused.result[0].twos_complement: is true; the result fp32 is no integer"},
      {"ampere-s8", "/scales", R"({"format": "ue8m0", "block_k": 32})",
       "scales: the integer result s32 takes no scales"},
  };
  for (const BadCase& bad : cases) {
    Json json = example(bad.example);
    const Json::json_pointer pointer(bad.pointer);
    if (bad.value.empty()) {
      json[pointer.parent_pointer()].erase(pointer.back());
    } else {
      json[pointer] = Json::parse(bad.value);
    }
    const std::string message = read_error(json);
    EXPECT_TRUE(message.starts_with("file.json: " + bad.message))
        << bad.pointer << " = " << bad.value << "\n  message:  " << message
        << "\n  expected: file.json: " << bad.message;
    EXPECT_EQ(message.find('\n'), message.npos);
  }
}

TEST(DatapathJson, NamesOfUnitsAreShortAndOfLettersAndDigits) {
  const auto error_of_name = [](const std::string& name) {
    Json json = example("ampere-fp16");
    json["units"] = {{name, json["units"].begin().value()}};
    json["tree"] = {name, "c", "0..15"};
    json["k"] = 16;
    return read_error(json);
  };
  for (const std::string& good : {std::string(60, 'u'), std::string("uazAZ09_-")}) EXPECT_EQ(error_of_name(good), "");
  EXPECT_TRUE(error_of_name(std::string(61, 'u')).starts_with("file.json: units: \"uuu"));
  for (const char bad : {'`', '{', '@', '[', '/', ':', '.', ' '})
    EXPECT_NE(error_of_name(std::string("u") + bad).find("is no name for a unit"), std::string::npos) << bad;
}

TEST(DatapathJson, EndlessNestingIsRefused) {
  Json json = example("ampere-fp16");
  Json tree = Json::array({"fused", "c", "0..15"});
  for (int level = 1; level < 4172; ++level) tree = Json::array({"fused", std::move(tree)});
  json["tree"] = tree;
  EXPECT_EQ(read_error(json), "");
  for (int level = 0; level < 20000; ++level) tree = Json::array({"fused", std::move(tree)});
  json["tree"] = std::move(tree);
  EXPECT_EQ(read_error(json), "file.json: tree: is nested deeper than 4172 levels");
  EXPECT_EQ(file_error(std::string(1'000'000, '[')), "is nested deeper than 4180 levels");
}

TEST(DatapathJson, BadFilesAreNamed) {
  EXPECT_EQ(error_of([] { read_datapath("/no/such/file.json"); }),
            "/no/such/file.json: cannot be read: No such file or directory");
  EXPECT_EQ(error_of([] { read_datapath("/"); }), "/: cannot be read: Is a directory");
  EXPECT_TRUE(file_error("").starts_with("byte 1: no JSON: parse error at line 1, column 1: "));
  EXPECT_TRUE(file_error("{\n \"k\": 4,\n}").starts_with("byte 12: no JSON: parse error at line 3, column 1: "));
  EXPECT_TRUE(file_error("{} {}").starts_with("byte 4: "));
  EXPECT_TRUE(file_error("{\"k\": \"\xff\"}").starts_with("byte 8: "));
  EXPECT_TRUE(file_error("{\"k\": 1e999}").starts_with("byte 11: no JSON: number overflow"));
  EXPECT_EQ(file_error("[]"), "is an array; expected an object");
  EXPECT_EQ(file_error("{\"k\": 4, \"k\": 5}"), "\"k\": this key appears twice in one object");
  EXPECT_EQ(file_error("{\"units\": {\"u\": {\"scaled\": true, \"scaled\": false}}}"),
            "\"units\".\"u\".\"scaled\": this key appears twice in one object");
  EXPECT_EQ(file_error("{\"instructions\": []}"), "instructions: has 0 entries; expected exactly one");
  EXPECT_EQ(file_error("{\"instructions\": [{}, {}]}"), "instructions: has 2 entries; expected exactly one");
  EXPECT_EQ(file_error("{\"instructions\": [{}]}"), "instructions[0].datapath: is missing");
  EXPECT_EQ(file_error("{\"instructions\": [{\"datapath\": null}]}"), "is null; expected an object");
}

/// Structs that JSON cannot say, or says elsewhere.
TEST(DatapathJson, ValidateChecksTheStructItself) {
  const Datapath good = read_datapath(path_of("ampere-fp16"));
  EXPECT_NO_THROW(validate(good));
  const auto error_with = [&](auto change) {
    Datapath bad = good;
    change(bad);
    EXPECT_EQ(error_of([&] { to_json(bad); }), error_of([&] { validate(bad); }));
    return error_of([&] { validate(bad, "x"); });
  };
  EXPECT_EQ(error_with([](Datapath& d) { d.tree.nodes.clear(); }), "x: tree: has no nodes");
  EXPECT_EQ(error_with([](Datapath& d) { d.tree.nodes[0].unit = 1; }), "x: tree: unit 1 of node 0 is outside 0..0");
  EXPECT_EQ(error_with([](Datapath& d) { d.tree.nodes[0].terms.clear(); }), "x: tree: a node needs at least one term");
  EXPECT_EQ(error_with([](Datapath& d) { d.tree.nodes[1].terms[0].index = 1; }),
            "x: tree: node 1 is a term of node 1, but not an earlier node");
  EXPECT_EQ(error_with([](Datapath& d) {
              d.tree.nodes[1].terms[0] = {Term::Kind::accumulator, 0};
            }),
            "x: tree: c is a term twice");
  EXPECT_EQ(error_with([](Datapath& d) { d.tree.nodes[1].terms.erase(d.tree.nodes[1].terms.begin()); }),
            "x: tree: node 0 is a term of no other node");
  EXPECT_EQ(error_with([](Datapath& d) {
              d.tree.nodes[1].terms.push_back({Term::Kind::node, 0});
            }),
            "x: tree: node 0 is a term twice");
  EXPECT_EQ(error_with([](Datapath& d) { d.tree.nodes[0].terms[3].index = 16; }),
            "x: tree: product 16 is outside 0..15");
  EXPECT_EQ(error_with([](Datapath& d) { d.tree.k = 0; }), "x: k: is 0; expected 1..4096");
  EXPECT_EQ(error_with([](Datapath& d) { d.tree.k = 17; }),
            "x: tree: product 16 is missing; each of 0..16 must be a term once");
  EXPECT_EQ(error_with([](Datapath& d) { d.unit_names.clear(); }), "x: units: has 0 units; expected 1..4");
  EXPECT_EQ(error_with([](Datapath& d) {
              d.unit_names = {"fused", "fused"};
            }),
            "x: units: two units have the name fused");
  EXPECT_EQ(error_with([](Datapath& d) { d.numerics.units[0].result.count = 4; }),
            "x: units.fused.result.count: is 4; expected 0..3");
  EXPECT_EQ(error_with([](Datapath& d) { d.numerics.units[0].fraction_bits = 201; }),
            "x: units.fused.fraction_bits: is 201; expected 0..200");
  EXPECT_EQ(error_with([](Datapath& d) { d.numerics.nan.order[0] = NanOperand::c; }),
            "x: nan.propagate: must name each of a, b and c once");
}

}  // namespace
}  // namespace tcnum::datapath_json_test
