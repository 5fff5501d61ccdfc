// Labels: sanitized
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "files.hpp"
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
  EXPECT_EQ(x.tiles.a_format, y.tiles.a_format);
  EXPECT_EQ(x.tiles.b_format, y.tiles.b_format);
  EXPECT_EQ(x.tiles.c_format, y.tiles.c_format);
  EXPECT_EQ(x.tiles.d_format, y.tiles.d_format);
  EXPECT_EQ(x.tiles.count, y.tiles.count);
  EXPECT_EQ(x.tiles.m, y.tiles.m);
  EXPECT_EQ(x.tiles.n, y.tiles.n);
  EXPECT_EQ(x.tiles.k, y.tiles.k);
  EXPECT_EQ(x.tiles.a, y.tiles.a);
  EXPECT_EQ(x.tiles.b, y.tiles.b);
  EXPECT_EQ(x.tiles.c, y.tiles.c);
  EXPECT_EQ(x.tiles.d, y.tiles.d);
  EXPECT_EQ(x.tiles.e, y.tiles.e);
  EXPECT_EQ(x.tiles.sparse_group, y.tiles.sparse_group);
  EXPECT_EQ(x.tiles.sa, y.tiles.sa);
  EXPECT_EQ(x.tiles.sb, y.tiles.sb);
  EXPECT_EQ(x.tiles.scale_block, y.tiles.scale_block);
}

std::string first_arch_of(const Instruction& instruction) {
  const auto has = [&](const Arch& each) { return instruction.archs.contains(each.id); };
  return std::string(std::find_if(kArchs.begin(), kArchs.end(), has)->name);
}

Vectors random_vectors(const Instruction& instruction, std::size_t count, std::size_t m, std::size_t n) {
  std::mt19937_64 random(1);
  Vectors vectors;
  vectors.instruction = instruction.name();
  vectors.arch = first_arch_of(instruction);
  vectors.device = "a device";
  vectors.metadata = {{"date", "2025-01-01"}, {"note", "\"quoted\"\nand µ"}, {"scale_a", "1"}};
  vectors.tiles = make_operands(instruction, count, m, n);
  if (instruction.sparse()) draw_positions(instruction, vectors.tiles, random);
  const auto fill = [&](Codes& codes, FormatId id) {
    for (std::size_t i = 0; i < codes.size(); ++i) codes.set(i, random() & format(id).code_mask());
  };
  fill(vectors.tiles.a, instruction.a);
  fill(vectors.tiles.b, instruction.b);
  fill(vectors.tiles.c, instruction.c);
  fill(vectors.tiles.d, instruction.d);
  fill(vectors.tiles.sa, instruction.scales.format);
  fill(vectors.tiles.sb, instruction.scales.format);
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

struct BadHeader {
  const char* name;
  std::function<void(Parts&)> spoil;
  std::vector<std::string> expected;  ///< parts of the message
};

void set_shape(Parts& parts, const char* tensor, ordered_json shape) { parts.header[tensor]["shape"] = shape; }
void set_offsets(Parts& parts, const char* tensor, ordered_json offsets) {
  parts.header[tensor]["data_offsets"] = offsets;
}
ordered_json& metadata(Parts& parts) { return parts.header["__metadata__"]; }

const std::vector<BadHeader>& bad_headers() {
  static const std::vector<BadHeader> rows = {
      {"no metadata", [](Parts& p) { p.header.erase("__metadata__"); }, {"__metadata__: missing"}},
      {"metadata is no object", [](Parts& p) { metadata(p) = 1; }, {"__metadata__: not an object"}},
      {"no instruction", [](Parts& p) { metadata(p).erase("instruction"); }, {"__metadata__.instruction: missing"}},
      {"unknown instruction",
       [](Parts& p) { metadata(p)["instruction"] = "mma.m1n1k1\n"; },
       {"__metadata__.instruction", R"("mma.m1n1k1\n" is unknown)"}},
      {"unknown arch", [](Parts& p) { metadata(p)["arch"] = "sm_1"; }, {"__metadata__.arch", "sm_1", "sm_70"}},
      {"arch without the instruction",
       [](Parts& p) { metadata(p)["arch"] = "sm_70"; },
       {"__metadata__.arch", "sm_70 does not have", kInstruction, "sm_80"}},
      {"scale_a", [](Parts& p) { metadata(p)["scale_a"] = "-1"; }, {"__metadata__.scale_a", "can have", kInstruction}},
      {"no A", [](Parts& p) { p.header.erase("A"); }, {"tensor A: missing", "[T, M, K]"}},
      {"no D", [](Parts& p) { p.header.erase("D"); }, {"tensor D: missing"}},
      {"sparse", [](Parts& p) { p.header["E"] = p.header["A"]; }, {"tensor E", "expected A, B, C, D"}},
      {"unknown tensor", [](Parts& p) { p.header["a"] = p.header["A"]; }, {"tensor a", "expected A, B, C, D"}},
      {"tensor is no object",
       [](Parts& p) {
         p.header["B"] = {1, 2};
       },
       {"tensor B: not an object"}},
      {"no dtype", [](Parts& p) { p.header["B"].erase("dtype"); }, {"tensor B: dtype: missing"}},
      {"unknown key of a tensor", [](Parts& p) { p.header["B"]["x"] = 1; }, {R"(tensor B: "x": unknown)"}},
      {"wrong dtype", [](Parts& p) { p.header["B"]["dtype"] = "BF16"; }, {"tensor B: dtype", "BF16", "F16", "fp16"}},
      {"dtype is no string", [](Parts& p) { p.header["C"]["dtype"] = 3; }, {"tensor C: dtype: 3", "F32"}},
      {"shape is no array", [](Parts& p) { set_shape(p, "A", "x"); }, {"tensor A: shape", "3 non-negative integers"}},
      {"rank 2",
       [](Parts& p) {
         set_shape(p, "A", {6, 16});
       },
       {"tensor A: shape", "3 non-negative integers"}},
      {"wrong K of A",
       [](Parts& p) {
         set_shape(p, "A", {4, 3, 8});
       },
       {"tensor A: shape: [4, 3, 8]", "[4, 3, 16]"}},
      {"wrong T of C",
       [](Parts& p) {
         set_shape(p, "C", {1, 3, 2});
       },
       {"tensor C: shape", "[2, 3, 2]"}},
      {"no tiles",
       [](Parts& p) {
         p.data.clear();
         for (const char* name : {"A", "B", "C", "D"}) {
           p.header[name]["shape"][0] = 0;
           set_offsets(p, name, {0, 0});
         }
       },
       {"tensor A: shape", "T is 0"}},
      {"huge shape",
       [](Parts& p) {
         const std::uint64_t huge = std::uint64_t{1} << 62;
         set_shape(p, "A", {huge, 3, 16});
         set_shape(p, "B", {huge, 16, 2});
         set_shape(p, "C", {huge, 3, 2});
         set_shape(p, "D", {huge, 3, 2});
       },
       {"tensor A: data_offsets", "2^64"}},
      {"offsets backwards",
       [](Parts& p) {
         set_offsets(p, "B", {320, 192});
       },
       {"tensor B: data_offsets: [320, 192]"}},
      {"offsets out of range",
       [](Parts& p) {
         set_offsets(p, "D", {369, 417});
       },
       {"tensor D: data_offsets: [369, 417]", "416 bytes"}},
      {"offsets of another size",
       [](Parts& p) {
         set_offsets(p, "B", {192, 318});
       },
       {"tensor B: data_offsets: [192, 318]", "128 bytes apart", "[2, 16, 2]"}},
      {"overlap",
       [](Parts& p) {
         set_offsets(p, "D", {320, 368});
       },
       {": data_offsets", "overlaps", "368"}},
      {"gap",
       [](Parts& p) {
         set_offsets(p, "D", {369, 417});
         p.data.push_back('\0');
       },
       {"tensor D: data_offsets", "gap", "368"}},
      {"trailing bytes", [](Parts& p) { p.data.push_back('\0'); }, {"data: 417 bytes", "416"}},
      {"data cut short", [](Parts& p) { p.data.pop_back(); }, {"tensor D: data_offsets", "415 bytes"}},
  };
  return rows;
}

TEST_F(VectorFile, RefusesBadHeaders) {
  write_bytes(path_, good_parts().bytes());
  ASSERT_EQ(read_refusal(path_), "");
  for (const BadHeader& row : bad_headers()) {
    SCOPED_TRACE(row.name);
    Parts parts = good_parts();
    row.spoil(parts);
    write_bytes(path_, parts.bytes());
    expect_line(read_refusal(path_), path_, row.expected);
  }
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
  struct Row {
    const char* name;
    std::function<void(Parts&)> spoil;
    std::vector<std::string> expected;
  };
  const auto position = [](Parts& p, std::size_t at) -> char& { return p.data[kPositionsAt + at]; };
  const std::vector<Row> rows = {
      {"no E", [](Parts& p) { p.header.erase("E"); }, {"tensor E: missing", "[T, M, K/2]"}},
      {"A as deep as B",
       [](Parts& p) {
         p.header["A"]["shape"] = {2, 3, 16};
       },
       {"tensor A: shape", "[2, 3, 16]", "[T, M, K/2] = [2, 3, 8]"}},
      {"unknown tensor", [](Parts& p) { p.header["F"] = p.header["E"]; }, {"A, E, B, C, D"}},
      {"outside the group",
       [&](Parts& p) { position(p, 1) = 4; },
       {"tensor E: data: [0, 0, 0] on: 0, 4; expected ascending positions from 0 to 3"}},
      {"descending",
       [&](Parts& p) {
         position(p, 30) = 3;
         position(p, 31) = 0;
       },
       {"tensor E: data: [1, 0, 6] on: 3, 0; expected ascending"}},
      {"twice the same", [&](Parts& p) { position(p, 8) = 3; }, {"tensor E: data: [0, 1, 0] on: 3, 3"}},
  };
  write_bytes(path_, good_sparse_parts().bytes());
  ASSERT_EQ(read_refusal(path_), "");
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Parts parts = good_sparse_parts();
    row.spoil(parts);
    write_bytes(path_, parts.bytes());
    expect_line(read_refusal(path_), path_, row.expected);
  }
  // mma.sp without ordered metadata takes any two.
  Parts parts = good_sparse_parts("mma.sp");
  position(parts, 30) = 3;
  position(parts, 31) = 0;
  write_bytes(path_, parts.bytes());
  EXPECT_EQ(read_refusal(path_), "");
  position(parts, 31) = 3;
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

TEST(Tiles, RefuseSizesBeyondMemory) {
  const std::size_t huge = std::size_t{1} << 40;
  EXPECT_THROW(make_tiles(FormatId::fp16, FormatId::fp16, FormatId::fp32, FormatId::fp32, huge, huge, 1, 16),
               std::length_error);
}

}  // namespace
}  // namespace tcnum::vector_file_test
