// Labels: sanitized
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "files.hpp"
#include "same_tiles.hpp"
#include "sparse_operands.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::vector_file_test {
namespace {

using nlohmann::ordered_json;

class VectorFile : public Files {
 protected:
  const std::string path_ = path("v.safetensors");
};

void write_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// What read_vectors says of the file; empty if it reads.
std::string read_refusal(const std::string& path, bool results_required = true) {
  return refusal([&] { read_vectors(path, results_required); });
}

void expect_equal(const Vectors& x, const Vectors& y) {
  EXPECT_EQ(x.instruction, y.instruction);
  EXPECT_EQ(x.arch, y.arch);
  EXPECT_EQ(x.device, y.device);
  EXPECT_EQ(x.metadata, y.metadata);
  test::expect_same(x.tiles, y.tiles);
}

std::string first_arch_of(const Instruction& instruction) {
  const auto has = [&](const Arch& each) { return instruction.archs.contains(each.id); };
  return std::string(std::find_if(kArchs.begin(), kArchs.end(), has)->name);
}

Vectors random_vectors(const Instruction& instruction, std::size_t count, std::size_t m, std::size_t n) {
  Vectors vectors;
  vectors.instruction = instruction.name();
  vectors.arch = first_arch_of(instruction);
  vectors.device = "a device";
  vectors.metadata = {{"date", "2025-01-01"}, {"note", "\"quoted\"\nand µ"}, {"scale_a", "1"}};
  vectors.tiles = random_tiles(instruction, count, m, n);
  return vectors;
}

constexpr const char* kInstruction = "mma.m16n8k16.f32.f16.f16.f32";

/// Two tiles of 3 × 2 results of that instruction: 192 + 128 + 48 + 48 bytes.
Parts good_parts() {
  Parts parts;
  parts.header = ordered_json::parse(R"({
    "__metadata__": {"instruction": "mma.m16n8k16.f32.f16.f16.f32", "arch": "sm_80", "device": "a device", "seed": "7"},
    "A": {"dtype": "F16", "shape": [2, 3, 16], "data_offsets": [0, 192]},
    "B": {"dtype": "F16", "shape": [2, 16, 2], "data_offsets": [192, 320]},
    "C": {"dtype": "F32", "shape": [2, 3, 2], "data_offsets": [320, 368]},
    "D": {"dtype": "F32", "shape": [2, 3, 2], "data_offsets": [368, 416]}})");
  for (int i = 0; i < 416; ++i) parts.data.push_back(static_cast<char>(i * 37));
  return parts;
}

TEST_F(VectorFile, ReadsAFileMadeByHand) {
  const Parts parts = good_parts();
  write_bytes(path_, parts.bytes());
  const Vectors vectors = read_vectors(path_);
  EXPECT_EQ(vectors.instruction, kInstruction);
  EXPECT_EQ(vectors.arch, "sm_80");
  EXPECT_EQ(vectors.device, "a device");
  EXPECT_EQ(vectors.metadata, (std::map<std::string, std::string>{{"seed", "7"}}));
  EXPECT_EQ(vectors.tiles.count, 2u);
  EXPECT_EQ(vectors.tiles.m, 3u);
  EXPECT_EQ(vectors.tiles.n, 2u);
  EXPECT_EQ(vectors.tiles.k, 16u);
  const auto half = [&](std::size_t at) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(parts.data[at])) |
           static_cast<std::uint64_t>(static_cast<unsigned char>(parts.data[at + 1])) << 8;
  };
  const Tiles& tiles = vectors.tiles;
  // Tile 1, row 2, column 1.
  const Problem problem = problem_at(tiles, (1 * 3 + 2) * 2 + 1);
  ASSERT_EQ(problem.a.size(), 16u);
  ASSERT_EQ(problem.b.size(), 16u);
  for (std::size_t k = 0; k < 16; ++k) {
    EXPECT_EQ(problem.a[k], half(((1 * 3 + 2) * 16 + k) * 2));
    EXPECT_EQ(problem.b[k], half(192 + ((1 * 16 + k) * 2 + 1) * 2));
  }
  EXPECT_EQ(problem.c, half(320 + 11 * 4) | half(320 + 11 * 4 + 2) << 16);
  EXPECT_EQ(tiles.d[11], half(368 + 11 * 4) | half(368 + 11 * 4 + 2) << 16);
}

TEST_F(VectorFile, ResultsMayBeMissingIfAsked) {
  Parts parts = good_parts();
  parts.header.erase("D");
  parts.data.resize(368);
  write_bytes(path_, parts.bytes());
  EXPECT_NE(read_refusal(path_).find("tensor D: missing"), std::string::npos);
  const Vectors vectors = read_vectors(path_, false);
  EXPECT_EQ(vectors.tiles.d, Codes(4, 12));
  EXPECT_NE(vectors.tiles.c, Codes(4, 12));
}

TEST_F(VectorFile, RoundTripsEveryInstruction) {
  // All that a file depends on: of instructions that have the same, one stands for all.
  std::set<std::tuple<int, FormatId, FormatId, FormatId, FormatId, Sparsity, ScaleKind, int>> seen;
  for (const Instruction& in : instructions()) {
    if (!seen.insert({in.k, in.a, in.b, in.c, in.d, in.sparsity, in.scales.kind, in.scale_blocks()}).second) continue;
    SCOPED_TRACE(in.name());
    const Vectors vectors = random_vectors(in, 2, 3, 5);
    write_vectors(path_, vectors);
    expect_equal(read_vectors(path_), vectors);
  }
  EXPECT_GT(seen.size(), 200u);
  EXPECT_EQ(files(), std::vector<std::string>{"v.safetensors"});
}

TEST_F(VectorFile, HasScalesOfTheInstructionsBlocks) {
  const Vectors vectors =
      random_vectors(*find_instruction("mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3"), 2, 3, 5);
  EXPECT_EQ(vectors.tiles.sa.size(), 2u * 3 * 4);
  EXPECT_EQ(vectors.tiles.sb.size(), 2u * 4 * 5);
  write_vectors(path_, vectors);
  const std::string good = contents(path_);
  const auto spoilt = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    bytes.replace(bytes.find(from), from.size(), to);
    write_bytes(path_, bytes);
    return read_refusal(path_);
  };
  EXPECT_NE(spoilt("\"SA\"", "\"SX\"").find("tensor SX: is none of the instruction's; expected A, B, SA, SB, C, D"),
            std::string::npos);
  EXPECT_NE(spoilt("[2,4,5]", "[2,5,4]").find("tensor SB: shape: [2, 5, 4]; expected [T, K/block, N] = [2, 4, 5]"),
            std::string::npos);
  EXPECT_NE(spoilt("ue4m3", "ue8m0").find("unknown"), std::string::npos) << "an instruction that there is not";
  // The sign of a scale that is an e4m3 is not there.
  std::string bytes = good;
  const std::size_t sa = bytes.size() - (24 + 40 + 120 + 120);
  for (std::size_t i = 0; i < 24; ++i) {
    ASSERT_EQ(static_cast<std::uint64_t>(bytes[sa + i]), vectors.tiles.sa[i]);
    bytes[sa + i] = static_cast<char>(bytes[sa + i] | 0x80);
  }
  write_bytes(path_, bytes);
  expect_equal(read_vectors(path_), vectors);
}

TEST_F(VectorFile, KnowsTheModifiersThatAWgmmaHas) {
  const auto with = [&](const char* instruction, const char* key, const char* value) {
    Vectors vectors = random_vectors(*find_instruction(instruction), 1, 2, 3);
    vectors.metadata[key] = value;
    write_vectors(path_, vectors);
    return read_vectors(path_).metadata.at(key);
  };
  for (const char* key : {"scale_a", "scale_b"}) EXPECT_EQ(with("wgmma.m64n8k16.f32.f16.f16", key, "-1"), "-1");
  EXPECT_EQ(with("wgmma.m64n8k32.s32.s8.u8", "scale_d", "0"), "0");
  EXPECT_THROW(with("wgmma.m64n8k32.s32.s8.u8", "scale_a", "-1"), InputError);
  EXPECT_THROW(with("wgmma.m64n8k16.f32.f16.f16", "scale_a", "0"), InputError);
  EXPECT_THROW(with("wgmma.sp.m64n8k32.f32.f16.f16", "scale_d", "-1"), InputError);
}

TEST_F(VectorFile, WritesTheSameBytesWithAlignedData) {
  const Vectors vectors = random_vectors(*find_instruction(kInstruction), 1, 2, 3);
  write_vectors(path_, vectors);
  const std::string bytes = contents(path_);
  write_vectors(path_, read_vectors(path_));
  EXPECT_EQ(contents(path_), bytes);

  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0u);
  const auto header = ordered_json::parse(bytes.substr(8, length));
  std::vector<std::string> keys;
  for (const auto& [key, value] : header.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"__metadata__", "A", "B", "C", "D"}));
  EXPECT_EQ(header["A"], ordered_json::parse(R"({"dtype":"F16","shape":[1,2,16],"data_offsets":[0,64]})"));
  EXPECT_EQ(header["D"]["data_offsets"][1], bytes.size() - 8 - length);
}

/// An instruction of which A has that format.
const Instruction* with_input(FormatId id) {
  for (const Instruction& each : instructions()) {
    if (each.a == id) return &each;
  }
  return nullptr;
}

struct SubByte {
  FormatId id;
  std::uint8_t code, stored, wrong;
};

/// A's first element, in memory and in the file, and a byte that is no element.
class SubByteFile : public VectorFile, public testing::WithParamInterface<SubByte> {};

TEST_P(SubByteFile, ElementsAreOneByteEach) {
  const SubByte& param = GetParam();
  const Instruction* instruction = with_input(param.id);
  if (instruction == nullptr) GTEST_SKIP() << "no instruction has " << format(param.id).name;
  Vectors vectors = random_vectors(*instruction, 1, 1, 1);
  vectors.tiles.a.set(0, param.code);
  write_vectors(path_, vectors);
  std::string bytes = contents(path_);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  char& element = bytes.at(8 + length);
  EXPECT_EQ(static_cast<std::uint8_t>(element), param.stored);
  EXPECT_EQ(read_vectors(path_).tiles.a[0], param.code);

  element = static_cast<char>(param.wrong);
  write_bytes(path_, bytes);
  const std::string message = read_refusal(path_);
  EXPECT_NE(message.find("tensor A: data: element 0"), std::string::npos) << message;
  EXPECT_NE(message.find(format(param.id).name), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Formats, SubByteFile,
                         testing::Values(SubByte{FormatId::s4, 0x8, 0xf8, 0x08}, SubByte{FormatId::s4, 0x7, 0x07, 0xf7},
                                         SubByte{FormatId::u4, 0xf, 0x0f, 0x10}, SubByte{FormatId::b1, 1, 1, 2},
                                         SubByte{FormatId::fp4e2m1, 0xf, 0x0f, 0xff},
                                         SubByte{FormatId::fp6e3m2, 0x3f, 0x3f, 0x40},
                                         SubByte{FormatId::fp6e2m3, 0x20, 0x20, 0xe0}),
                         [](const auto& test) {
                           return std::string(format(test.param.id).name) + "_" + std::to_string(test.param.code);
                         });

// --- Bad files --------------------------------------------------------------------------------------------------

/// What is wrong with a file, and parts of the message.
struct Spoilt {
  const char* header;  ///< JSON that is merged with the good one's; null is nothing
  std::vector<std::string> expected;
  int bytes = 0;  ///< more, at the end of the data
};

void expect_refusals(const std::string& path, const Parts& good, const std::vector<Spoilt>& rows) {
  write_bytes(path, good.bytes());
  ASSERT_EQ(read_refusal(path), "");
  for (const Spoilt& row : rows) {
    SCOPED_TRACE(row.header);
    Parts parts = good;
    parts.header.merge_patch(ordered_json::parse(row.header));
    parts.data.resize(parts.data.size() + static_cast<std::size_t>(row.bytes));
    write_bytes(path, parts.bytes());
    expect_line(read_refusal(path), path, row.expected);
  }
}

TEST_F(VectorFile, RefusesBadHeaders) {
  expect_refusals(
      path_, good_parts(),
      {{R"({"__metadata__": null})", {"__metadata__: missing"}},
       {R"({"__metadata__": 1})", {"__metadata__: not an object"}},
       {R"({"__metadata__": {"instruction": null}})", {"__metadata__.instruction: missing"}},
       {R"({"__metadata__": {"instruction": "mma.m1n1k1\n"}})",
        {"__metadata__.instruction", R"("mma.m1n1k1\n" is unknown)"}},
       {R"({"__metadata__": {"arch": "sm_1"}})", {"__metadata__.arch", "sm_1", "sm_70"}},
       {R"({"__metadata__": {"arch": "sm_70"}})", {"__metadata__.arch", "sm_70 does not have", kInstruction, "sm_80"}},
       {R"({"__metadata__": {"scale_a": "-1"}})", {"__metadata__.scale_a", "can have", kInstruction}},
       {R"({"A": null})", {"tensor A: missing", "[T, M, K]"}},
       {R"({"D": null})", {"tensor D: missing"}},
       {R"({"E": {"dtype": "F16", "shape": [2, 3, 16], "data_offsets": [0, 192]}})",
        {"tensor E", "expected A, B, C, D"}},
       {R"({"a": {"dtype": "F16", "shape": [2, 3, 16], "data_offsets": [0, 192]}})",
        {"tensor a", "expected A, B, C, D"}},
       {R"({"B": [1, 2]})", {"tensor B: not an object"}},
       {R"({"B": {"dtype": null}})", {"tensor B: dtype: missing"}},
       {R"({"B": {"x": 1}})", {R"(tensor B: "x": unknown)"}},
       {R"({"B": {"dtype": "BF16"}})", {"tensor B: dtype", "BF16", "F16", "fp16"}},
       {R"({"C": {"dtype": 3}})", {"tensor C: dtype: 3", "F32"}},
       {R"({"A": {"shape": "x"}})", {"tensor A: shape", "3 non-negative integers"}},
       {R"({"A": {"shape": [6, 16]}})", {"tensor A: shape", "3 non-negative integers"}},
       {R"({"A": {"shape": [4, 3, 8]}})", {"tensor A: shape: [4, 3, 8]", "[4, 3, 16]"}},
       {R"({"C": {"shape": [1, 3, 2]}})", {"tensor C: shape", "[2, 3, 2]"}},
       {R"({"A": {"shape": [0, 3, 16], "data_offsets": [0, 0]}, "B": {"shape": [0, 16, 2], "data_offsets": [0, 0]},
            "C": {"shape": [0, 3, 2], "data_offsets": [0, 0]}, "D": {"shape": [0, 3, 2], "data_offsets": [0, 0]}})",
        {"tensor A: shape", "T is 0"},
        -416},
       {R"({"A": {"shape": [4611686018427387904, 3, 16]}, "B": {"shape": [4611686018427387904, 16, 2]},
            "C": {"shape": [4611686018427387904, 3, 2]}, "D": {"shape": [4611686018427387904, 3, 2]}})",
        {"tensor A: data_offsets", "2^64"}},
       {R"({"B": {"data_offsets": [320, 192]}})", {"tensor B: data_offsets: [320, 192]"}},
       {R"({"D": {"data_offsets": [369, 417]}})", {"tensor D: data_offsets: [369, 417]", "416 bytes"}},
       {R"({"B": {"data_offsets": [192, 318]}})",
        {"tensor B: data_offsets: [192, 318]", "128 bytes apart", "[2, 16, 2]"}},
       {R"({"D": {"data_offsets": [320, 368]}})", {": data_offsets", "overlaps", "368"}},
       {R"({"D": {"data_offsets": [369, 417]}})", {"tensor D: data_offsets", "gap", "368"}, 1},
       {"{}", {"data: 417 bytes", "416"}, 1},
       {"{}", {"tensor D: data_offsets", "415 bytes"}, -1}});
}

/// Two tiles of 3 × 2 results of a sparse instruction: 96 + 48 + 128 + 48 + 48 bytes.
constexpr std::size_t kPositionsAt = 96;
Parts good_sparse_parts(const std::string& spelling = "mma.sp::ordered_metadata") {
  Parts parts;
  parts.header = ordered_json::parse(R"({
    "__metadata__": {"instruction": "", "arch": "sm_90"},
    "A": {"dtype": "F16", "shape": [2, 3, 8], "data_offsets": [0, 96]},
    "E": {"dtype": "U8", "shape": [2, 3, 8], "data_offsets": [96, 144]},
    "B": {"dtype": "F16", "shape": [2, 16, 2], "data_offsets": [144, 272]},
    "C": {"dtype": "F32", "shape": [2, 3, 2], "data_offsets": [272, 320]},
    "D": {"dtype": "F32", "shape": [2, 3, 2], "data_offsets": [320, 368]}})");
  parts.header["__metadata__"]["instruction"] = spelling + ".m16n8k16.f32.f16.f16.f32";
  for (int i = 0; i < 368; ++i) parts.data.push_back(static_cast<char>(i * 37));
  const std::string positions("\0\1\0\2\0\3\1\2\1\3\2\3", 12);
  for (std::size_t i = 0; i < 48; ++i) parts.data[kPositionsAt + i] = positions[i % positions.size()];
  return parts;
}

TEST_F(VectorFile, ReadsASparseFileMadeByHand) {
  const Parts parts = good_sparse_parts();
  write_bytes(path_, parts.bytes());
  const Tiles tiles = read_vectors(path_).tiles;
  EXPECT_EQ(tiles.k, 16u);
  EXPECT_EQ(tiles.a_depth(), 8u);
  EXPECT_EQ(tiles.sparse_group, 4);
  const auto half = [&](std::size_t at) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(parts.data[at])) |
           static_cast<std::uint64_t>(static_cast<unsigned char>(parts.data[at + 1])) << 8;
  };
  // Tile 1, row 2, column 1: its row of E is the sixth, from 40 on, which begins in the middle of the positions above.
  const Problem problem = problem_at(tiles, (1 * 3 + 2) * 2 + 1);
  const std::array<std::size_t, 8> positions = {0, 3, 1, 2, 1, 3, 2, 3};
  ASSERT_EQ(problem.a.size(), 8u);
  ASSERT_EQ(problem.b.size(), 8u);
  for (std::size_t s = 0; s < 8; ++s) {
    EXPECT_EQ(tiles.e[40 + s], positions[s]);
    EXPECT_EQ(problem.a[s], half((5 * 8 + s) * 2));
    EXPECT_EQ(problem.b[s], half(144 + ((1 * 16 + s / 2 * 4 + positions[s]) * 2 + 1) * 2));
  }
}

TEST_F(VectorFile, RefusesBadSparsity) {
  expect_refusals(path_, good_sparse_parts(),
                  {{R"({"E": null})", {"tensor E: missing", "[T, M, K/2]"}},
                   {R"({"A": {"shape": [2, 3, 16]}})", {"tensor A: shape", "[2, 3, 16]", "[T, M, K/2] = [2, 3, 8]"}},
                   {R"({"F": {"dtype": "U8", "shape": [2, 3, 8], "data_offsets": [96, 144]}})", {"A, E, B, C, D"}}});
  struct Row {
    std::size_t at;
    char first, second;
    const char* expected;
  };
  for (const auto& [at, first, second, expected] :
       {Row{0, 0, 4, "tensor E: data: [0, 0, 0] on: 0, 4; expected ascending positions from 0 to 3"},
        Row{30, 3, 0, "tensor E: data: [1, 0, 6] on: 3, 0; expected ascending"},
        Row{8, 3, 3, "tensor E: data: [0, 1, 0] on: 3, 3"}}) {
    Parts parts = good_sparse_parts();
    parts.data[kPositionsAt + at] = first;
    parts.data[kPositionsAt + at + 1] = second;
    write_bytes(path_, parts.bytes());
    expect_line(read_refusal(path_), path_, {expected});
  }
  // mma.sp without ordered metadata takes any two.
  Parts parts = good_sparse_parts("mma.sp");
  parts.data[kPositionsAt + 30] = 3;
  parts.data[kPositionsAt + 31] = 0;
  write_bytes(path_, parts.bytes());
  EXPECT_EQ(read_refusal(path_), "");
  parts.data[kPositionsAt + 31] = 3;
  write_bytes(path_, parts.bytes());
  expect_line(read_refusal(path_), path_,
              {"tensor E: data: [1, 0, 6] on: 3, 3; expected different positions from 0 to 3"});
}

/// Of tf32 one of two is stored, of 4-bit integers two pairs of four.
TEST_F(VectorFile, RefusesPositionsByTheFormatsGroups) {
  const auto refused = [&](const char* instruction, std::size_t at, std::uint64_t position) {
    Vectors vectors = random_vectors(*find_instruction(instruction), 1, 2, 1);
    const Tiles blank = make_operands(*find_instruction(instruction), 1, 2, 1);
    vectors.tiles.e = blank.e;
    write_vectors(path_, vectors);
    std::string bytes = contents(path_);
    const std::size_t data = bytes.size() - vectors.tiles.d.bytes().size() - vectors.tiles.c.bytes().size() -
                             vectors.tiles.b.bytes().size() - vectors.tiles.e.size();
    bytes[data + at] = static_cast<char>(position);
    write_bytes(path_, bytes);
    const std::string message = read_refusal(path_);
    vectors.tiles.e.set(at, position);
    if (message.empty())
      EXPECT_NO_THROW(write_vectors(path_, vectors));
    else
      EXPECT_THROW(write_vectors(path_, vectors), std::invalid_argument);
    return message;
  };
  const char* tf32 = "mma.sp.m16n8k8.f32.tf32.tf32.f32";
  EXPECT_EQ(refused(tf32, 3, 1), "");
  EXPECT_NE(refused(tf32, 3, 2).find("tensor E: data: [0, 0, 3] on: 2; expected 0 or 1"), std::string::npos);
  const char* s4 = "mma.sp::ordered_metadata.m16n8k64.s32.s4.s4.s32";
  EXPECT_EQ(refused(s4, 5, 1), "");
  for (const auto& [at, position] : {std::pair{5, 2}, {4, 1}, {6, 0}, {7, 8}, {6, 3}}) {
    const std::string message = refused(s4, static_cast<std::size_t>(at), static_cast<std::uint64_t>(position));
    EXPECT_NE(message.find("tensor E: data: [0, 0, 4] on: "), std::string::npos) << at << ": " << message;
    EXPECT_NE(message.find("ascending positions from 0 to 7, by pairs such as 2, 3"), std::string::npos) << message;
  }
}

std::string little_endian(std::uint64_t length) {
  const auto bytes = std::bit_cast<std::array<char, 8>>(length);
  return {bytes.begin(), bytes.end()};
}

TEST_F(VectorFile, RefusesBadContainers) {
  const Parts good = good_parts();
  const std::string text = good.header.dump();
  const std::string rest = text.substr(1);  // all but the first brace
  const std::string deep = "{\"x\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  struct Row {
    const char* name;
    std::string bytes;
    std::vector<std::string> expected;
  };
  const std::vector<Row> rows = {
      {"empty", "", {"header length", "0 bytes", "8-byte"}},
      {"header past the end",
       little_endian(text.size() + 1) + text,
       {"header length", "at most", "(what follows in the file)"}},
      {"absurd length", little_endian(~std::uint64_t{0}) + text, {"header length", "18446744073709551615"}},
      {"long header",
       good.with_header(text + std::string(1 << 20, ' ')),
       {"header length", "1048576 (the longest header that tcnum reads)"}},
      {"not JSON", good.with_header("{hello}"), {"header: byte 2: no JSON: parse error"}},
      {"an array", good.with_header("[]"), {"header: ", "JSON object"}},
      {"zero after the object", good.with_header(text + std::string(8, '\0')), {"header: byte", "is zero"}},
      {"not UTF-8", good.with_header("{\"\xff\":1," + rest), {"header: byte 3: no JSON: parse error"}},
      {"nested deeply", good.with_header(deep), {"header: is nested deeper than 3"}},
      {"tensor twice", good.with_header("{\"A\":{}," + rest), {R"(header: "A": this key appears twice)"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    write_bytes(path_, row.bytes);
    expect_line(read_refusal(path_), path_, row.expected);
  }
}

TEST_F(VectorFile, AcceptsAPaddedHeader) {
  const Parts good = good_parts();
  write_bytes(path_, good.with_header(good.header.dump() + "   "));
  EXPECT_EQ(read_refusal(path_), "");
}

// --- Writing ----------------------------------------------------------------------------------------------------

std::string write_refusal(const std::string& path, const Vectors& vectors) {
  return refusal([&] { write_vectors(path, vectors); });
}

TEST_F(VectorFile, RefusesImpossiblePaths) {
  const Vectors vectors = random_vectors(*find_instruction(kInstruction), 1, 1, 1);
  const std::string missing = (folder_ / "missing" / "v.safetensors").string();
  EXPECT_EQ(write_refusal(missing, vectors), missing + ": cannot be written: No such file or directory");
  EXPECT_EQ(write_refusal(folder_.string(), vectors), folder_.string() + ": cannot be written: Is a directory");
  // A device is not replaced by a file.
  EXPECT_NE(write_refusal("/dev/null", vectors).find("not a regular file"), std::string::npos);
  EXPECT_NE(write_refusal("/dev/full", vectors).find("not a regular file"), std::string::npos);
  EXPECT_TRUE(files().empty());
}

TEST_F(VectorFile, RefusesMetadataThatCannotBeRead) {
  Vectors vectors = random_vectors(*find_instruction(kInstruction), 1, 1, 1);
  vectors.metadata["note"] = "\xff";
  EXPECT_NE(write_refusal(path_, vectors).find("note"), std::string::npos);
  vectors.metadata["note"] = std::string(1 << 20, 'x');
  EXPECT_NE(write_refusal(path_, vectors).find("__metadata__"), std::string::npos);
  vectors.metadata.clear();
  for (int i = 0; i <= 10'000; ++i) vectors.metadata["k" + std::to_string(i)] = "";
  EXPECT_NE(write_refusal(path_, vectors).find("members; expected at most 10000"), std::string::npos);
  vectors.metadata.clear();
  vectors.arch = "sm_70";
  EXPECT_NE(write_refusal(path_, vectors).find("__metadata__.arch"), std::string::npos);
  EXPECT_TRUE(files().empty());
}

TEST_F(VectorFile, RefusesTilesOfAnotherInstruction) {
  Vectors vectors = random_vectors(*find_instruction(kInstruction), 1, 1, 1);
  vectors.tiles.a_format = FormatId::bf16;
  EXPECT_THROW(write_vectors(path_, vectors), std::invalid_argument);
  vectors = random_vectors(*find_instruction(kInstruction), 1, 1, 1);
  vectors.tiles.d = Codes();
  EXPECT_THROW(write_vectors(path_, vectors), std::invalid_argument);
  EXPECT_TRUE(files().empty());
}

}  // namespace
}  // namespace tcnum::vector_file_test
