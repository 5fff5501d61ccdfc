// tcnum/tcnum.h: what is handed over and back is what the library for C++ has; what is wrong is named, in one line and
// with its status; threads share what they may share. tests/c/ has it from C, and the symbols; python/tests has what
// calls compute.
// Labels: threads sanitized
#include "labels.hpp"
#include "tcnum/tcnum.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "at_once.hpp"
#include "files.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum {
namespace {

using nlohmann::json;

constexpr const char* kMma = "mma.m16n8k16.f32.f16.f16.f32";
constexpr const char* kWgmma = "wgmma.m64n8k32.f32.e4m3.e4m3";
const std::string kVectors = TCNUM_SOURCE_DIR "/vectors/sm_90/";
const std::string kDatapaths = TCNUM_SOURCE_DIR "/docs/datapaths/";

template <class Handle, void (*free_handle)(Handle*)>
struct Freed {
  void operator()(Handle* handle) const { free_handle(handle); }
};
template <class Handle, void (*free_handle)(Handle*)>
using Owned = std::unique_ptr<Handle, Freed<Handle, free_handle>>;
using OwnedDatapath = Owned<tcnum_datapath, tcnum_datapath_free>;
using OwnedMatrix = Owned<tcnum_matrix, tcnum_matrix_free>;
using OwnedPlan = Owned<tcnum_plan, tcnum_plan_free>;
using OwnedTiles = Owned<tcnum_tiles, tcnum_tiles_free>;
using OwnedText = Owned<char, tcnum_free>;

/// Of a call that must not fail.
void expect_done(tcnum_status status) { ASSERT_EQ(status, TCNUM_OK) << tcnum_message(); }

/// What a call hands back through its last argument.
template <class Owner, class Call>
Owner made_by(const Call& call) {
  typename Owner::pointer made = nullptr;
  expect_done(call(&made));
  return Owner(made);
}
OwnedDatapath datapath_of(const char* instruction) {
  return made_by<OwnedDatapath>([&](auto to) { return tcnum_datapath_find("sm_90", instruction, nullptr, to); });
}
OwnedTiles tiles_of(const std::string& path) {
  return made_by<OwnedTiles>([&](auto to) { return tcnum_tiles_read(path.c_str(), 0, to); });
}

template <class Struct>
Struct sized() {
  Struct empty = {};
  empty.size = sizeof(Struct);
  return empty;
}

tcnum_view view_of(const Matrix& matrix) {
  return {matrix.bytes().data(),
          matrix.bytes().size(),
          matrix.rows(),
          matrix.columns(),
          format(matrix.format()).name.data(),
          TCNUM_ROW_MAJOR};
}
Matrix copy_of(const tcnum_matrix* matrix) {
  tcnum_view view = {};
  expect_done(tcnum_matrix_view(matrix, &view));
  Matrix copy(*find_format(view.format), view.rows, view.columns);
  EXPECT_EQ(copy.bytes().size(), view.bytes);
  EXPECT_EQ(view.layout, TCNUM_ROW_MAJOR);
  std::memcpy(copy.bytes().data(), view.codes, view.bytes);
  return copy;
}

Matrix random_matrix(FormatId id, std::size_t rows, std::size_t columns, std::mt19937_64& random) {
  Matrix matrix(id, rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) matrix.set(i, j, random() & format(id).code_mask());
  }
  return matrix;
}

tcnum_tensor tensor_of(tcnum_tiles* tiles, const char* name) {
  auto tensor = sized<tcnum_tensor>();
  expect_done(tcnum_tiles_tensor(tiles, name, &tensor));
  return tensor;
}
// --- The catalogue ----------------------------------------------------------------------------------------------

std::string_view name_of_standing(const CatalogueEntry& entry) { return name(entry.standing); }

TEST(C, HasTheCataloguesDatapaths) {
  constexpr const char* kVolta = "mma.m8n8k4.f32.f16.f16.f32";  // of which two groups have published
  const std::vector<CatalogueEntry> accounts = catalogue(ArchId::sm_70, *find_instruction(kVolta));
  ASSERT_GT(accounts.size(), 1u);
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    const char* const name = accounts[i].account.c_str();
    const auto by_number = made_by<OwnedDatapath>([&](auto to) { return tcnum_datapath_at("sm_70", kVolta, i, to); });
    const auto by_name =
        made_by<OwnedDatapath>([&](auto to) { return tcnum_datapath_find("sm_70", kVolta, name, to); });
    for (const tcnum_datapath* each : {by_number.get(), by_name.get()}) {
      auto info = sized<tcnum_datapath_info>();
      expect_done(tcnum_datapath_describe(each, &info));
      EXPECT_EQ(info.account, accounts[i].account);
      EXPECT_EQ(info.origin, accounts[i].origin);
      EXPECT_EQ(info.standing, name_of_standing(accounts[i]));
      EXPECT_EQ(info.answers, accounts[i].answers);
      EXPECT_EQ(info.k, 4u);
      EXPECT_EQ(info.scale_format, nullptr);
      const auto text = made_by<OwnedText>([&](auto to) { return tcnum_datapath_to_json(each, to); });
      EXPECT_EQ(nlohmann::ordered_json::parse(text.get()), to_json(accounts[i].datapath));
      const auto again = made_by<OwnedDatapath>([&](auto to) { return tcnum_datapath_from_json(text.get(), to); });
      const auto same = made_by<OwnedText>([&](auto to) { return tcnum_datapath_to_json(again.get(), to); });
      EXPECT_STREQ(text.get(), same.get());
    }
  }
}

// --- Matrix products --------------------------------------------------------------------------------------------

TEST(C, MultipliesAsTheLibraryDoes) {
  std::mt19937_64 random(1);
  const Matrix a = random_matrix(FormatId::fp16, 5, 37, random), b = random_matrix(FormatId::fp16, 37, 3, random);
  const Matrix c = random_matrix(FormatId::fp32, 5, 3, random);
  const tcnum_view a_view = view_of(a), b_view = view_of(b), c_view = view_of(c);
  const MatmulOptions by = {.arch = "sm_90", .instruction = kMma};
  auto options = sized<tcnum_matmul_options>();
  options.arch = "sm_90";
  options.instruction = kMma;
  options.threads = 2;
  const auto with_c =
      made_by<OwnedMatrix>([&](auto to) { return tcnum_matmul(&a_view, &b_view, &c_view, &options, to); });
  EXPECT_EQ(copy_of(with_c.get()), matmul(a, b, c, by));
  const auto without =
      made_by<OwnedMatrix>([&](auto to) { return tcnum_matmul(&a_view, &b_view, nullptr, &options, to); });
  EXPECT_EQ(copy_of(without.get()), matmul(a, b, by));

  // B as the columns of another.
  Matrix transposed(FormatId::fp16, 3, 37);
  for (std::size_t k = 0; k < 37; ++k) {
    for (std::size_t j = 0; j < 3; ++j) transposed.set(j, k, b(k, j));
  }
  const tcnum_view columns = {transposed.bytes().data(), transposed.bytes().size(), 37, 3, "fp16", TCNUM_COLUMN_MAJOR};
  const OwnedDatapath datapath = datapath_of(kMma);
  auto own = sized<tcnum_matmul_options>();
  own.datapath = datapath.get();
  const auto by_columns =
      made_by<OwnedMatrix>([&](auto to) { return tcnum_matmul(&a_view, &columns, &c_view, &own, to); });
  EXPECT_EQ(copy_of(by_columns.get()), copy_of(with_c.get()));
}

struct Progress {
  std::size_t stop_at = 0, last = 0;
  static int call(void* user, std::size_t rows) {
    auto* const progress = static_cast<Progress*>(user);
    progress->last = rows;
    return rows >= progress->stop_at;
  }
};

TEST(C, StopsProductsWhenItIsTold) {
  std::mt19937_64 random(4);
  constexpr std::size_t kRows = 3000;
  const Matrix a = random_matrix(FormatId::fp16, kRows, 16, random), b = random_matrix(FormatId::fp16, 16, 2, random);
  const tcnum_view a_view = view_of(a), b_view = view_of(b);
  const auto plan = made_by<OwnedPlan>([&](auto to) { return tcnum_plan_find("nvjet", "fp16", nullptr, to); });
  Progress progress{.stop_at = 1};
  auto options = sized<tcnum_gemm_options>();
  options.progress = Progress::call;
  options.user = &progress;
  tcnum_matrix* made = nullptr;
  EXPECT_EQ(tcnum_gemm(plan.get(), &a_view, &b_view, &options, &made), TCNUM_STOPPED);
  EXPECT_STREQ(tcnum_message(), "stopped, as a callback said");
  const Matrix d = copy_of(OwnedMatrix(made).get()), right = gemm(named_plan("nvjet", FormatId::fp16), a, b);
  ASSERT_GT(progress.last, 0u);
  ASSERT_LT(progress.last, kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < 2; ++j) ASSERT_EQ(d(i, j), i < progress.last ? right(i, j) : 0) << i;
  }
  progress.stop_at = kRows + 1;
  const auto whole =
      made_by<OwnedMatrix>([&](auto to) { return tcnum_gemm(plan.get(), &a_view, &b_view, &options, to); });
  EXPECT_EQ(copy_of(whole.get()), right);
  EXPECT_EQ(progress.last, kRows);
}

// --- Tiles ------------------------------------------------------------------------------------------------------

class CFiles : public Files {};

/// A dense, an integer and a sparse instruction.
TEST_F(CFiles, AreReadVerifiedEmulatedAndWritten) {
  for (const std::string name :
       {"mma.m8n8k4.f32.f16.f16.f16", "mma.m8n8k16.s32.u8.s8.s32", "mma.sp.m16n8k32.s32.s8.s8.s32"}) {
    const std::string recorded = kVectors + name + ".safetensors";
    const Vectors right = read_vectors(recorded);
    const OwnedTiles tiles = tiles_of(recorded);
    EXPECT_STREQ(tcnum_tiles_text(tiles.get(), "instruction"), name.c_str());
    EXPECT_STREQ(tcnum_tiles_text(tiles.get(), "device"), right.device.c_str());
    EXPECT_EQ(tcnum_tiles_text(tiles.get(), "nothing"), nullptr);
    std::size_t keys = 0;
    while (const char* key = tcnum_tiles_key(tiles.get(), keys)) {
      EXPECT_NE(tcnum_tiles_text(tiles.get(), key), nullptr) << key;
      ++keys;
    }
    EXPECT_EQ(keys, right.metadata.size() + 3);

    const OwnedDatapath datapath = datapath_of(name.c_str());
    auto found = sized<tcnum_comparison>();
    expect_done(tcnum_verify(tiles.get(), datapath.get(), 2, &found));
    EXPECT_EQ(found.count, right.tiles.size());
    EXPECT_EQ(found.mismatches, 0u) << name;
    EXPECT_EQ(found.first, found.count);

    const tcnum_tensor d = tensor_of(tiles.get(), "D");
    ASSERT_EQ(d.bytes, right.tiles.d.bytes().size());
    auto* const bytes = static_cast<unsigned char*>(d.codes);
    const std::size_t wrong = found.count / 3, each = d.bytes / found.count;
    bytes[wrong * each] ^= 1;
    bytes[(wrong + 5) * each] ^= 1;
    expect_done(tcnum_verify(tiles.get(), nullptr, 1, &found));
    EXPECT_EQ(found.mismatches, 2u);
    EXPECT_EQ(found.first, wrong);
    EXPECT_EQ(found.expected, right.tiles.d[wrong]);
    EXPECT_EQ(found.observed, right.tiles.d[wrong] ^ 1);

    expect_done(tcnum_emulate(tiles.get(), nullptr, 1));
    EXPECT_EQ(tensor_of(tiles.get(), "D").codes, d.codes);
    EXPECT_STREQ(tcnum_tiles_text(tiles.get(), "device"), "tcnum's emulator");
    EXPECT_EQ(tcnum_tiles_text(tiles.get(), "date"), nullptr);
    EXPECT_EQ(std::memcmp(d.codes, right.tiles.d.bytes().data(), d.bytes), 0) << name;
    std::memset(d.codes, 0, d.bytes);
    expect_done(tcnum_emulate_exact(tiles.get(), datapath.get()));
    EXPECT_EQ(std::memcmp(d.codes, right.tiles.d.bytes().data(), d.bytes), 0) << name;

    expect_done(tcnum_tiles_set_text(tiles.get(), "device", "nobody's"));
    expect_done(tcnum_tiles_set_text(tiles.get(), "note", "a note"));
    expect_done(tcnum_tiles_set_text(tiles.get(), "driver", nullptr));
    const std::string copy = path("copy.safetensors");
    expect_done(tcnum_tiles_write(tiles.get(), copy.c_str()));
    const Vectors written = read_vectors(copy);
    EXPECT_EQ(written.device, "nobody's");
    EXPECT_EQ(written.metadata.at("note"), "a note");
    EXPECT_FALSE(written.metadata.contains("driver"));
    EXPECT_EQ(written.tiles.a, right.tiles.a);
    EXPECT_EQ(written.tiles.e, right.tiles.e);
    EXPECT_EQ(written.tiles.d, right.tiles.d);
  }
}

// --- Finding a datapath -----------------------------------------------------------------------------------------

struct Unknown {
  const tcnum_datapath* datapath;
  std::size_t calls = 0, stop_after = std::numeric_limits<std::size_t>::max();
  static int answer(void* user, tcnum_tiles* tiles) {
    auto* const unknown = static_cast<Unknown*>(user);
    if (++unknown->calls > unknown->stop_after) return 1;
    return tcnum_emulate(tiles, unknown->datapath, 1) == TCNUM_OK ? 0 : 1;
  }
};

TEST(C, FindsTheDatapathBehindAnOracle) {
  constexpr const char* kFp64 = "mma.m8n8k4.f64.f64.f64.f64";
  const OwnedDatapath datapath = datapath_of(kFp64);
  Unknown unknown{datapath.get()};
  // A program may work in the memory of its operands.
  const auto spoils = [](void* user, tcnum_tiles* tiles) {
    const int stop = Unknown::answer(user, tiles);
    for (const char* name : {"A", "B", "C"}) {
      const tcnum_tensor tensor = tensor_of(tiles, name);
      std::memset(tensor.codes, 0xff, tensor.bytes);
    }
    return stop;
  };
  const auto text =
      made_by<OwnedText>([&](auto to) { return tcnum_probe("sm_90", kFp64, spoils, &unknown, nullptr, to); });
  EXPECT_EQ(json::parse(text.get()).at("instructions").at(0).at("verdict"), "identified");

  unknown = {datapath.get(), 0, 1};
  char* none = nullptr;
  EXPECT_EQ(tcnum_probe("sm_90", kFp64, Unknown::answer, &unknown, nullptr, &none), TCNUM_STOPPED);
  EXPECT_EQ(none, nullptr);
}

// --- What is wrong ----------------------------------------------------------------------------------------------

struct Wrong {
  std::function<tcnum_status()> call;
  std::string message;
};

void expect_refused(const std::vector<Wrong>& all) {
  for (const Wrong& each : all) {
    EXPECT_EQ(each.call(), TCNUM_INVALID) << each.message;
    const std::string message = tcnum_message();
    if (each.message.ends_with("…"))
      EXPECT_TRUE(message.starts_with(each.message.substr(0, each.message.size() - 3))) << message;
    else
      EXPECT_EQ(message, each.message);
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

/// python/tests/test_header.py has all functions.
TEST(CMisuse, NullIsRefused) {
  const auto tiles = made_by<OwnedTiles>([&](auto to) { return tcnum_tiles_new("sm_90", kMma, 1, 1, 1, to); });
  auto tensor = sized<tcnum_tensor>();
  expect_refused({
      {[&] { return tcnum_format_at(0, nullptr); }, "info: is NULL; expected the address that the result goes to"},
      {[&] { return tcnum_tiles_tensor(tiles.get(), nullptr, &tensor); }, "name: is NULL; expected one of A, B, C, D"},
  });
  EXPECT_EQ(tcnum_tiles_text(nullptr, "device"), nullptr);
  EXPECT_EQ(tcnum_tiles_text(tiles.get(), nullptr), nullptr);
  EXPECT_EQ(tcnum_tiles_key(nullptr, 0), nullptr);
  tcnum_free(nullptr);
  tcnum_datapath_free(nullptr);
  tcnum_matrix_free(nullptr);
  tcnum_plan_free(nullptr);
  tcnum_tiles_free(nullptr);
}

TEST(CMisuse, WrongNamesAndNumbersAreRefused) {
  auto instruction_info = sized<tcnum_instruction_info>();
  auto format_info = sized<tcnum_format_info>();
  auto arch_info = sized<tcnum_arch_info>();
  auto tensor = sized<tcnum_tensor>();
  tcnum_datapath* to_datapath = nullptr;
  tcnum_plan* to_plan = nullptr;
  tcnum_tiles* to_tiles = nullptr;
  char* to_text = nullptr;
  const double numbers[2] = {1, std::nan("")};
  double back = 0;
  std::uint8_t codes[2] = {0xff, 0x1f};
  const auto tiles = made_by<OwnedTiles>([&](auto to) { return tcnum_tiles_new("sm_90", kMma, 1, 2, 2, to); });
  const OwnedDatapath other = datapath_of(kWgmma);
  const auto alone = made_by<OwnedTiles>([&](auto to) { return tcnum_tiles_of_datapath(other.get(), 1, 1, 1, to); });
  expect_refused({
      {[&] { return tcnum_format_at(20, &format_info); }, "index: is 20; expected a number below 20, the formats"},
      {[&] { return tcnum_arch_at(99, &arch_info); }, "index: is 99; expected a number below 18, the architectures"},
      {[&] { return tcnum_instruction_find("sm_90", "mma.m1", &instruction_info); },
       "instruction: mma.m1 is unknown; expected one that `tcnum list --arch sm_90` shows, such as mma.m1…"},
      {[&] { return tcnum_instruction_find("sm_80", kWgmma, &instruction_info); },
       "instruction: sm_80 does not have wgmma.m64n8k32.f32.e4m3.e4m3; expected one that `tcnum list --arch "
       "sm_80` shows, such as …"},
      {[&] { return tcnum_instruction_at("sm_90", 100000, &instruction_info); }, "index: is 100000; expected …"},
      {[&] { return tcnum_datapath_find("sm_90", kMma, "mine", &to_datapath); },
       "account: mine is unknown; expected one of: fitted…"},
      {[&] { return tcnum_datapath_read("/nowhere/x.json", &to_datapath); }, "/nowhere/x.json: …"},
      {[&] { return tcnum_plan_from_json("[]", &to_plan); }, "plan: …"},
      {[&] { return tcnum_encode(numbers, 2, "fp4e2m1", nullptr, nullptr, codes, 2); },
       "numbers: number 1 is NaN; expected a format that has one, which fp4e2m1 has not"},
      {[&] { return tcnum_encode(numbers, 1, "fp16", "nearest", nullptr, codes, 2); },
       "rounding: \"nearest\" is unknown; expected one of nearest_even, nearest_away, toward_zero, up, down"},
      {[&] { return tcnum_encode(numbers, 1, "fp16", nullptr, "wrap", codes, 2); },
       "overflow: \"wrap\" is unknown; expected one of ieee, infinity, max_finite"},
      {[&] { return tcnum_encode(numbers, 2, "fp16", nullptr, nullptr, codes, 2); },
       "bytes: is 2; expected 4, as 2 codes of fp16 have"},
      {[&] {
         return tcnum_encode(numbers, std::numeric_limits<std::size_t>::max(), "fp16", nullptr, nullptr, codes, 2);
       },
       "bytes: is 2; expected more than a memory can hold, as 18446744073709551615 codes of fp16 have"},
      {[&] { return tcnum_decode(codes + 1, 1, "fp4e2m1", &back, 1); },
       "codes: code 0 is 0x1f, which is no fp4e2m1; expected 4 bits, the rest zero"},
      {[&] { return tcnum_tiles_new("sm_90", kMma, 1, 0, 1, &to_tiles); }, "m: is 0; expected 1 or more"},
      {[&] { return tcnum_tiles_read((kDatapaths + "hopper-fp16.json").c_str(), 0, &to_tiles); },
       kDatapaths + "hopper-fp16.json: …"},
      {[&] { return tcnum_tiles_tensor(tiles.get(), "E", &tensor); },
       "name: \"E\" is not a tensor of these tiles; expected one of A, B, C, D"},
      {[&] { return tcnum_tiles_set_text(tiles.get(), "scale_a", "-1"); },
       "key: scale_a is part of what the tiles are; expected another key, such as \"device\" or \"note\""},
      {[&] { return tcnum_tiles_set_text(tiles.get(), "note", "\xff"); },
       "value: of \"note\" is not UTF-8; expected text in UTF-8"},
      {[&] { return tcnum_emulate(tiles.get(), other.get(), 1); }, "tiles: k is 16; expected 32, the datapath's"},
      {[&] { return tcnum_emulate(alone.get(), nullptr, 1); },
       "datapath: is NULL; expected a datapath, as the tiles are of no instruction"},
      {[&] { return tcnum_tiles_write(alone.get(), "x"); },
       "tiles: are of a datapath alone; expected tiles of an instruction"},
      {[&] { return tcnum_probe_tiles(alone.get(), nullptr, &to_text); }, "tiles: are of a datapath alone; …"},
      {[&] { return tcnum_explain(tiles.get(), 4, nullptr, &to_text); },
       "index: is 4; expected a number below 4, the results of the tiles"},
  });
  EXPECT_EQ(codes[0], 0xff);  // nothing was written
  EXPECT_EQ(to_datapath, nullptr);
}

TEST(CMisuse, MatricesThatDoNotFitAreRefused) {
  const std::array<std::uint16_t, 6> codes = {};
  const std::array<std::uint8_t, 2> four_bits = {0x7, 0x20};
  const tcnum_view good = {codes.data(), sizeof codes, 2, 3, "fp16", TCNUM_ROW_MAJOR};
  const OwnedDatapath datapath = datapath_of(kMma);
  const auto plan = made_by<OwnedPlan>([&](auto to) { return tcnum_plan_find("nvjet", "fp16", nullptr, to); });
  auto options = sized<tcnum_matmul_options>();
  options.arch = "sm_90";
  tcnum_matrix* to = nullptr;
  const auto with = [&](auto change) {
    return [=, &to, &options] {
      tcnum_view a = good;
      change(a);
      return tcnum_matmul(&a, &good, nullptr, &options, &to);
    };
  };
  auto gemm_options = sized<tcnum_gemm_options>();
  const double two = 2;
  gemm_options.beta = &two;
  const tcnum_view b = {codes.data(), sizeof codes, 3, 2, "fp16", TCNUM_ROW_MAJOR};
  const tcnum_view bias = {codes.data(), sizeof codes, 1, 6, "fp16", TCNUM_ROW_MAJOR};
  auto with_bias = sized<tcnum_gemm_options>();
  with_bias.bias = &bias;
  expect_refused({
      {with([](tcnum_view& a) { a.bytes = 10; }), "a: 10 bytes; expected 12, as 2 × 3 of fp16 has"},
      {with([](tcnum_view& a) { a.rows = std::numeric_limits<std::size_t>::max(); }),
       "a: 18446744073709551615 × 3 is more than a memory can hold"},
      {with([](tcnum_view& a) { a.codes = nullptr; }), "a->codes: is NULL; expected 12 bytes of codes"},
      {with([](tcnum_view& a) { a.format = "half"; }), "a->format: \"half\" is unknown; expected one of fp64, …"},
      {with([](tcnum_view& a) { a.format = nullptr; }), "a->format: is NULL; expected one of fp64, …"},
      {with([](tcnum_view& a) { a.layout = 2; }), "a->layout: is 2; expected TCNUM_ROW_MAJOR or TCNUM_COLUMN_MAJOR"},
      {with([](tcnum_view&) {}), "matmul: B is 2 × 3; expected 3 rows, as many as A (2 × 3) has columns"},
      {with([&](tcnum_view& a) { a = {four_bits.data(), 2, 1, 2, "fp4e2m1", TCNUM_ROW_MAJOR}; }),
       "a->codes: code 1 is 0x20, which is no fp4e2m1; expected 4 bits, the rest zero"},
      {[&] { return tcnum_gemm(plan.get(), &good, &b, &gemm_options, &to); },
       "gemm: beta is 2 and there is no C; expected a C, or a beta of 0"},
      {[&] { return tcnum_gemm(plan.get(), &good, &b, &with_bias, &to); },
       "gemm: bias is 1 × 6; expected 1 × 2 or 2 × 1"},
  });
  EXPECT_EQ(to, nullptr);
}

/// What the caller writes into tiles is checked before anything follows it.
TEST(CMisuse, WhatIsWrittenIntoTilesIsChecked) {
  const auto sparse = made_by<OwnedTiles>(
      [&](auto to) { return tcnum_tiles_new("sm_90", "mma.sp.m16n8k32.f32.f16.f16.f32", 1, 1, 1, to); });
  static_cast<unsigned char*>(tensor_of(sparse.get(), "E").codes)[2] = 200;
  const auto four_bits =
      made_by<OwnedTiles>([&](auto to) { return tcnum_tiles_new("sm_90", "mma.m8n8k32.s32.s4.s4.s32", 1, 1, 1, to); });
  static_cast<unsigned char*>(tensor_of(four_bits.get(), "B").codes)[3] = 0xff;
  auto found = sized<tcnum_comparison>();
  char* text = nullptr;
  std::vector<Wrong> wrong;
  for (const auto& [wrong_tiles, why] :
       {std::pair{sparse.get(),
                  "tiles: E: the group from code 2 on begins with 200; expected places of stored elements that "
                  "mma.sp.m16n8k32.f32.f16.f16.f32 can have (docs/files.md)"},
        {four_bits.get(), "tiles: B: code 3 is 0xff, which is no s4; expected 4 bits, the rest zero"}}) {
    tcnum_tiles* const tiles = wrong_tiles;  // a lambda cannot hold the others
    const char* const message = why;
    wrong.push_back({[=] { return tcnum_emulate(tiles, nullptr, 1); }, message});
    wrong.push_back({[=] { return tcnum_emulate_exact(tiles, nullptr); }, message});
    wrong.push_back({[=, &found] { return tcnum_verify(tiles, nullptr, 1, &found); }, message});
    wrong.push_back({[=, &text] { return tcnum_explain(tiles, 0, nullptr, &text); }, message});
    wrong.push_back({[=, &text] { return tcnum_probe_tiles(tiles, nullptr, &text); }, message});
    wrong.push_back({[=] { return tcnum_tiles_write(tiles, "/nowhere/x"); }, message});
  }
  expect_refused(wrong);
}

/// A structure has the size of this library's version of it, and no other.
TEST(CMisuse, StructuresOfOtherSizes) {
  const OwnedTiles tiles = tiles_of(kVectors + "mma.m8n8k4.f64.f64.f64.f64.safetensors");
  char* text = nullptr;
  auto info = sized<tcnum_format_info>();
  info.size -= 8;
  tcnum_probe_options unset = {}, longer = sized<tcnum_probe_options>(), odd = sized<tcnum_probe_options>();
  longer.size += 8;
  odd.device = "\xff";
  const auto expected = [](const char* argument, std::size_t is, std::size_t size) {
    return std::string(argument) + "->size: is " + std::to_string(is) + "; expected sizeof(*" + argument +
           "), which is " + std::to_string(size) + " in the tcnum.h of tcnum " + tcnum_version();
  };
  const std::size_t of_info = sizeof(tcnum_format_info), of_options = sizeof(tcnum_probe_options);
  expect_refused({
      {[&] { return tcnum_probe_tiles(tiles.get(), &unset, &text); }, expected("options", 0, of_options)},
      {[&] { return tcnum_probe_tiles(tiles.get(), &longer, &text); }, expected("options", of_options + 8, of_options)},
      {[&] { return tcnum_probe_tiles(tiles.get(), &odd, &text); },
       "options->device: is not UTF-8; expected text in UTF-8"},
      {[&] { return tcnum_format_at(0, &info); }, expected("info", of_info - 8, of_info)},
  });
}

TEST(CMisuse, NoMemoryIsAStatus) {
  tcnum_tiles* tiles = nullptr;
  constexpr std::size_t kHuge = std::size_t{1} << 62;
  EXPECT_EQ(tcnum_tiles_new("sm_90", kMma, kHuge, 1, 1, &tiles), TCNUM_NO_MEMORY);
  EXPECT_STREQ(tcnum_message(), "more than a memory can hold; expected smaller arguments");
  EXPECT_EQ(tcnum_tiles_new("sm_90", kMma, kHuge >> 8, 1, 1, &tiles), TCNUM_NO_MEMORY);
  EXPECT_TRUE(
      std::string_view(tcnum_message()).starts_with("tiles of dot products: takes 5.76e+08 GB of memory; this"));
  EXPECT_EQ(tiles, nullptr);
}

TEST(CMisuse, WhatACallbackThrowsBecomesAStatus) {
  const auto throws = [](void*, tcnum_tiles*) -> int { throw 1; };
  char* text = nullptr;
  EXPECT_EQ(tcnum_probe("sm_90", kMma, throws, nullptr, nullptr, &text), TCNUM_INTERNAL);
  EXPECT_STREQ(tcnum_message(), "an exception without a message");
}

// --- Threads ----------------------------------------------------------------------------------------------------

using test::at_once;

/// The first to ask make what others find: the tables of names, and a handle's emulator.
TEST(CThreads, ShareTablesAndHandles) {
  const OwnedDatapath datapath = datapath_of("mma.m8n8k4.f32.f16.f16.f16");
  const OwnedTiles shared = tiles_of(kVectors + "mma.m8n8k4.f32.f16.f16.f16.safetensors");
  const auto plan = made_by<OwnedPlan>([&](auto to) { return tcnum_plan_find("nvjet", "fp16", nullptr, to); });
  std::mt19937_64 random(7);
  const Matrix a = random_matrix(FormatId::fp16, 9, 40, random), b = random_matrix(FormatId::fp16, 40, 9, random);
  const Matrix right = gemm(named_plan("nvjet", FormatId::fp16), a, b);
  at_once([&](unsigned i) {
    auto info = sized<tcnum_instruction_info>();
    ASSERT_EQ(tcnum_instruction_at("sm_90", i, &info), TCNUM_OK);
    EXPECT_EQ(info.name, instructions_of(ArchId::sm_90)[i]->name());
    auto found = sized<tcnum_comparison>();
    ASSERT_EQ(tcnum_verify(shared.get(), datapath.get(), 2, &found), TCNUM_OK);
    EXPECT_EQ(found.mismatches, 0u);
    const OwnedTiles own = tiles_of(kVectors + "mma.m8n8k4.f32.f16.f16.f16.safetensors");
    ASSERT_EQ(tcnum_emulate(own.get(), datapath.get(), 1), TCNUM_OK);
    const tcnum_view a_view = view_of(a), b_view = view_of(b);
    const auto d = made_by<OwnedMatrix>([&](auto to) { return tcnum_gemm(plan.get(), &a_view, &b_view, nullptr, to); });
    EXPECT_EQ(copy_of(d.get()), right);
  });
}

TEST(CThreads, HaveMessagesOfTheirOwn) {
  at_once([](unsigned i) {
    EXPECT_STREQ(tcnum_message(), "");
    for (int n = 0; n < 1000; ++n) {
      auto info = sized<tcnum_format_info>();
      ASSERT_EQ(tcnum_format_at(100 + i, &info), TCNUM_INVALID);
      ASSERT_EQ(tcnum_message(), "index: is " + std::to_string(100 + i) + "; expected a number below 20, the formats");
    }
  });
}

}  // namespace
}  // namespace tcnum
