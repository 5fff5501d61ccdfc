// The code that the CUDA emulator runs equals the exact emulator, bit for bit: compiled for the CPU, so that it is
// tested where there is no GPU.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <random>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "../emu/portable_patch.hpp"
#include "draw.hpp"
#include "generators.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/space.hpp"

namespace tcnum {
namespace {

constexpr std::size_t kRows = 4, kColumns = 4;

/// What a kernel has in shared memory.
struct SideArrays {
  SideArrays(const PortableDatapath& d, bool is_a, const Tiles& tiles, std::size_t rows)
      : value(tiles.k * rows),
        sign(value.size()),
        exponent(value.size() * (is_a ? 2 : 1)),
        signs(rows),
        special(rows),
        pitch(rows),
        format(is_a ? d.a : d.b) {
    const std::size_t copies = is_a ? 2 : 1;
    for (std::size_t r = 0; r < pitch; ++r) {
      for (std::size_t k = 0; k < tiles.k; ++k) {
        const std::size_t p = d.place[k], at = p * pitch + r;
        const portable::SideNumber number = portable::read(
            is_a ? d.a_fields : d.b_fields,
            static_cast<std::uint32_t>(is_a ? tiles.a[tiles.a_index(0, r, k)] : tiles.b[tiles.b_index(0, k, r)]));
        value[at] = number.value;
        sign[at] = number.sign;
        for (std::size_t c = 0; c < copies; ++c) exponent[at * copies + c] = number.exponent;
        if (number.sign != 0 && p < 32) signs[r] |= 1u << p;
        if (number.special()) special[r] = 1;
      }
    }
  }
  portable::Side side() const {
    return {value.data(),
            sign.data(),
            exponent.data(),
            signs.data(),
            special.data(),
            static_cast<int>(pitch),
            static_cast<int>(exponent.size() / value.size()),
            format.fraction_bits};
  }
  std::vector<double> value;
  std::vector<std::uint32_t> sign;
  std::vector<std::int16_t> exponent;
  std::vector<std::uint32_t> signs;
  std::vector<std::uint8_t> special;
  std::size_t pitch;
  Format format;
};

/// Checks one tile of kRows × kColumns by every way there is.
void expect_portable_equals_exact(const Datapath& datapath, Tiles tiles) {
  const auto [d, why_not] = make_portable(datapath);
  if (!why_not.empty()) RC_DISCARD(why_not);
  emulate_exact(datapath, tiles);
  const auto expect = [&](std::size_t i, std::size_t j, std::uint64_t code, const char* how) {
    const std::uint64_t exact = tiles.d[tiles.c_index(0, i, j)];
    if (exact == code) return;
    std::string text = to_json(datapath).dump() + fmt::format("\nexact {:#x}, {} {:#x}:", exact, how, code);
    const Problem problem = problem_at(tiles, i * kColumns + j);
    for (std::size_t k = 0; k < problem.a.size(); ++k) text += fmt::format(" {:#x}*{:#x}", problem.a[k], problem.b[k]);
    RC_FAIL(text + fmt::format(" + {:#x}", problem.c));
  };

  if (d.kind != PortableDatapath::Kind::sums) {
    std::vector<std::uint64_t> a(tiles.k * kRows), b(tiles.k * kColumns);
    std::vector<std::int32_t> ai(a.size()), bi(b.size());
    for (std::size_t k = 0; k < tiles.k; ++k) {
      for (std::size_t r = 0; r < kRows; ++r) {
        const std::size_t p = d.place[k];
        a[p * kRows + r] = tiles.a[tiles.a_index(0, r, k)];
        b[p * kRows + r] = tiles.b[tiles.b_index(0, k, r)];
        ai[p * kRows + r] = static_cast<std::int32_t>(integer_of(d.a, a[p * kRows + r]));
        bi[p * kRows + r] = static_cast<std::int32_t>(integer_of(d.b, b[p * kRows + r]));
      }
    }
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        const std::uint64_t c = tiles.c[tiles.c_index(0, i, j)];
        if (d.kind == PortableDatapath::Kind::integers)
          expect(i, j, portable::integer_dot(d, ai.data() + i, kRows, bi.data() + j, kColumns, c), "integers");
        else
          expect(i, j, portable::fma_chain_dot(d, a.data() + i, kRows, b.data() + j, kColumns, c), "chain");
      }
    }
    return;
  }

  const SideArrays a(d, true, tiles, kRows), b(d, false, tiles, kColumns);
  std::uint32_t c[kRows][kColumns], results[kRows][kColumns];
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      c[i][j] = static_cast<std::uint32_t>(tiles.c[tiles.c_index(0, i, j)]);
      expect(i, j, portable::dot(d, a.side(), static_cast<int>(i), b.side(), static_cast<int>(j), c[i][j]), "alone");
    }
  }
  RC_CLASSIFY(d.takes_patches, "patches");
  if (!d.takes_patches) return;
  struct Row {
    std::uint32_t code[kColumns];
  };
  const auto c_row = [&](int i) {
    Row row;
    std::copy_n(c[i], kColumns, row.code);
    return row;
  };
  const auto patch = [&]<class Code>() {
    return d.nodes > 1 ? portable::patch<Code, kRows, kColumns, true>(d, a.side(), 0, b.side(), 0, c_row, results)
                       : portable::patch<Code, kRows, kColumns, false>(d, a.side(), 0, b.side(), 0, c_row, results);
  };
  const std::uint32_t left =
      d.c.storage_bits == 32 ? patch.operator()<std::uint32_t>() : patch.operator()<std::uint16_t>();
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      const bool ordinary = a.special[i] == 0 && b.special[j] == 0 && (left >> (i * kColumns + j) & 1) == 0;
      if (ordinary) expect(i, j, results[i][j], "in a patch");
    }
  }
}

/// Those of the space that a portable datapath can be: draws until it is one.
RC_GTEST_PROP(Portable, EqualsExactForDatapathsOfTheSpace, ()) {
  static const std::array kInstructions = {"mma.m16n8k8.f32.f16.f16.f32",    "mma.m16n8k16.f16.f16.f16.f16",
                                           "mma.m16n8k8.f32.tf32.tf32.f32",  "mma.m16n8k16.f32.bf16.bf16.f32",
                                           "mma.m16n8k32.f32.e5m2.e4m3.f32", "mma.m16n8k16.f16.e4m3.e5m2.f16"};
  const Space space(*find_instruction(*rc::gen::elementOf(kInstructions)));
  std::mt19937_64 random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()));
  Datapath datapath;
  do {
    datapath = space.datapath(draw(space, random));
  } while (!make_portable(datapath).why_not.empty());
  expect_portable_equals_exact(datapath, test::random_tiles(datapath, 1, kRows, kColumns));
}

RC_GTEST_PROP(Portable, EqualsExactForTheCatalogue, ()) {
  static const std::vector<CatalogueEntry> entries = catalogue(ArchId::sm_90);
  const Datapath& datapath = (*rc::gen::elementOf(entries)).datapath;
  expect_portable_equals_exact(datapath, test::random_tiles(datapath, 1, kRows, kColumns));
}

RC_GTEST_PROP(Portable, EqualsExactForIntegers, ()) {
  const Datapath datapath = test::random_integer_datapath();
  expect_portable_equals_exact(datapath, test::random_tiles(datapath, 1, kRows, kColumns));
}

RC_GTEST_PROP(Portable, EqualsExactForFmaChains, ()) {
  const Datapath datapath = test::random_fma_chain();
  expect_portable_equals_exact(datapath, test::random_tiles(datapath, 1, kRows, kColumns));
}

/// All that was fitted on hardware here runs on a GPU, and in patches where sums are rounded once; but not what became
/// of Volta's mma.
TEST(Portable, HoldsTheCatalogue) {
  for (const CatalogueEntry& entry : catalogue(ArchId::sm_90)) {
    const auto [d, why_not] = make_portable(entry.datapath);
    const Instruction& in = *entry.instruction;
    const bool no_tensor_core = in.kind == InstructionKind::mma && in.m == 8 && in.a == FormatId::fp16;
    EXPECT_EQ(why_not.empty(), !no_tensor_core) << in.name() << ": " << why_not;
    const bool rounds_twice = in.d == FormatId::fp16 && in.c == FormatId::fp32;
    if (d.kind == PortableDatapath::Kind::sums && !no_tensor_core) {
      EXPECT_EQ(d.takes_patches, !rounds_twice) << in.name();
    }
  }
}

}  // namespace
}  // namespace tcnum
