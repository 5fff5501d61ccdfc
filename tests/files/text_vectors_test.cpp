// Dot problems as text and as NumPy arrays.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "sparse_operands.hpp"
#include "src/files/dot_vectors.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "tcnum/error.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

constexpr std::array kForms = {TextForm::csv, TextForm::hex};

std::string print(const Vectors& vectors, const Instruction& in, TextForm form) {
  std::string text;
  print_vectors(vectors, in, form, [&](std::string_view piece) { text += piece; });
  return text;
}

Vectors read(const std::string& text, const Instruction& in, TextForm form, bool results_required = true) {
  return TextVectors("text", form, text).read(in, results_required);
}

class TextVectorsOf : public testing::TestWithParam<const char*> {};

TEST_P(TextVectorsOf, ComeBackAsTheyWere) {
  const Instruction& in = *find_instruction(GetParam());
  Vectors vectors{.tiles = random_tiles(in, 3, 2, 3),
                  .instruction = in.name(),
                  .arch = "sm_90",
                  .device = "a device",
                  .metadata = {{"note", "seed: 3"}, {"seed", "7"}}};
  for (const TextForm form : kForms) {
    const std::string text = print(vectors, in, form);
    const Vectors back = read(text, in, form);
    ASSERT_EQ(back.tiles.size(), vectors.tiles.size()) << name(form);
    EXPECT_EQ(back.tiles.m * back.tiles.n, 1u);
    for (std::size_t i = 0; i < back.tiles.size(); ++i) {
      if (!in.sparse()) {
        ASSERT_EQ(problem_at(back.tiles, i), problem_at(vectors.tiles, i)) << name(form) << ", problem " << i;
      }
      ASSERT_EQ(back.tiles.d[i], vectors.tiles.d[i]);
    }
    EXPECT_EQ(print(back, in, form), text);
    EXPECT_EQ(back.instruction, vectors.instruction);
    EXPECT_EQ(back.arch, vectors.arch);
    EXPECT_EQ(back.device, vectors.device);
    EXPECT_EQ(back.metadata, vectors.metadata);
  }
}

TEST_P(TextVectorsOf, ComeBackFromArrays) {
  const Instruction& in = *find_instruction(GetParam());
  const Tiles tiles = random_tiles(in, 3, 2, 3);
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("tcnum-arrays-{}", getpid());
  std::filesystem::create_directory(folder);
  const std::string path = (folder / "x.{}.npy").string();
  write_arrays(path, tiles, in);
  Tiles back = read_arrays(path, in, true);
  EXPECT_EQ(back.a, tiles.a);
  EXPECT_EQ(back.e, tiles.e);
  EXPECT_EQ(back.b, tiles.b);
  EXPECT_EQ(back.sa, tiles.sa);
  EXPECT_EQ(back.sb, tiles.sb);
  EXPECT_EQ(back.c, tiles.c);
  EXPECT_EQ(back.d, tiles.d);
  std::filesystem::remove(folder / "x.d.npy");
  EXPECT_EQ(read_arrays(path, in, false).a, tiles.a);
  EXPECT_THROW((void)read_arrays(path, in, true), InputError);
  std::filesystem::copy_file(folder / "x.c.npy", folder / "x.d.npy");
  std::filesystem::copy_file(folder / "x.a.npy", folder / "x.b.npy", std::filesystem::copy_options::overwrite_existing);
  EXPECT_THROW((void)read_arrays(path, in, true), InputError);
  std::filesystem::remove_all(folder);
}

std::string test_name(const testing::TestParamInfo<const char*>& info) {
  std::string text = info.param;
  std::ranges::replace_if(
      text, [](char c) { return c == '.' || c == ':'; }, '_');
  return text;
}
INSTANTIATE_TEST_SUITE_P(Instructions, TextVectorsOf,
                         testing::Values("mma.m16n8k16.f32.f16.f16.f32", "mma.sp.m16n8k32.f32.f16.f16.f32",
                                         "mma.m8n8k4.f64.f64.f64.f64", "mma.m16n8k32.s32.s8.u8.s32",
                                         "mma.m8n8k128.s32.b1.b1.s32.xor.popc", "mma.m16n8k4.f32.tf32.tf32.f32",
                                         "wgmma.m64n8k32.f32.e4m3.e5m2",
                                         "mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3"),
                         test_name);

TEST(TextVectors, AreReadAsPeopleWriteThem) {
  const Instruction in = make_dot(FormatId::fp32, FormatId::fp16, FormatId::fp16, FormatId::fp32, 2);
  const Tiles numbers = read("# by hand\n\n a0, a1, b0, b1, c, d \r\n1.5, -2^-14, 0x3c00, inf, -0, nan # a comment\r\n",
                             in, TextForm::csv)
                            .tiles;
  EXPECT_EQ(problem_at(numbers, 0), (Problem{{0x3e00, 0x8400}, {0x3c00, 0x7c00}, 0x80000000}));
  EXPECT_EQ(numbers.d[0], 0x7fc00000u);

  const Tiles words = read("// two words of a line\n3C00_4000_3c00_3c00_00000000 3c004000_3c003c00_3F800000 // the end",
                           in, TextForm::hex, false)
                          .tiles;
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(problem_at(words, 1), (Problem{{0x3c00, 0x4000}, {0x3c00, 0x3c00}, 0x3f800000}));
}

/// A key is a stranger's, as a value is: none becomes a result, another key, or something that a terminal obeys.
TEST(TextVectors, KeysForgeNothing) {
  const Instruction& in = *find_instruction("mma.m16n8k16.f32.f16.f16.f32");
  Vectors vectors;
  vectors.tiles = random_tiles(in, 1, 1, 1);
  vectors.instruction = in.name();
  vectors.arch = "sm_90";
  vectors.metadata = {{"note", "a"},           {"x\n0x1,0x2", "b"}, {"\x1b[2J", "c"}, {" instruction", "d"},
                      {"device: forged", "e"}, {"arch ", "f"},      {"Seed", "g"},    {"", "h"},
                      {"value", "i\nj"}};
  for (const TextForm form : kForms) {
    const std::string text = print(vectors, in, form);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    const Vectors back = read(text, in, form);
    EXPECT_EQ(back.tiles.count, 1u);
    EXPECT_EQ(back.instruction, vectors.instruction);
    EXPECT_EQ(back.arch, "sm_90");
    EXPECT_EQ(back.device, "");
    EXPECT_EQ(back.metadata, (Metadata{{"note", "a"}, {"value", "i\\nj"}}));
  }
}

TEST(TextVectors, SayWhatIsWrong) {
  const Instruction in = make_dot(FormatId::fp32, FormatId::fp16, FormatId::fp16, FormatId::fp32, 2);
  struct Case {
    TextForm form;
    const char *text, *said;
  };
  const std::array cases = std::to_array<Case>({
      {TextForm::csv, "", "text: no dot product"},
      {TextForm::csv, "a0,a1,b0,b1,c,d\n", "text: no dot product"},
      {TextForm::csv, "a0,a2,b0,b1,c,d\n", "line 1: column 2: \"a2\"; expected a1"},
      {TextForm::csv, "a0,a1,b0\n", "line 1: has 3 elements; expected 6, or 5 without results"},
      {TextForm::csv, "a0,a1,b0,b1,c\n1,1,1,1,1\n", "text: d: missing"},
      {TextForm::csv, "a0,a1,b0,b1,c,d\n1,1,1,1,1,1\n1,1,1,1,1\n", "line 3: has 5 elements; expected 6, as"},
      {TextForm::csv, "a0,a1,b0,b1,c,d\n1,1,,1,1,1\n", "line 2: b0"},
      {TextForm::csv, "a0,a1,b0,b1,c,d\n1,1,0.1,1,1,1\n", "line 2: b0"},
      {TextForm::csv, "a0,a1,b0,b1,c,d\n1,1,0x10000,1,1,1\n", "line 2: b0"},
      {TextForm::csv, "# arch: sm_90\n# arch: sm_90\na0,a1,b0,b1,c,d\n1,1,1,1,1,1\n", "line 2: arch: stands twice"},
      {TextForm::hex, "// note: x\n// y\n// note: z\n", "line 3: note: stands twice"},
      {TextForm::csv, "a0,a1,b0,b1,c,d\n1,1,-0x1,1,1,1\n", "line 2: b0: -0x1"},
      {TextForm::hex, "// nothing\n@0010\n", "line 2: an address"},
      {TextForm::hex, "3c00_3c00\n", "line 1: a word of 8 digits; expected 32, or 24 without results"},
      {TextForm::hex, "3c00_3c0x_3c00_3c00_00000000_00000000\n", "line 1: a1: \"3c0x\""},
  });
  for (const Case& each : cases) {
    try {
      (void)read(each.text, in, each.form);
      ADD_FAILURE() << each.text;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find(each.said), std::string::npos) << e.what() << "\n for " << each.text;
    }
  }
  const Instruction sparse = *find_instruction("mma.sp.m16n8k16.f32.f16.f16.f32");
  const std::string text = std::string(32, '0') + "0303030303030303" + std::string(80, '0');  // A, E, the others
  EXPECT_THROW((void)read(text, sparse, TextForm::hex), InputError);
}

}  // namespace
}  // namespace tcnum
