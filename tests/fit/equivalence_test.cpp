// The rules of docs/equivalence.md, against the emulator: what Space::canonical calls the same gives the same results.
// Labels: long parts=4
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "draw.hpp"
#include "src/fit/space.hpp"
#include "src/fit/steps.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum::equivalence_test {
namespace {

constexpr std::array kInstructions = {
    "mma.m8n8k4.f32.f16.f16.f32",     "mma.m8n8k4.f16.f16.f16.f16",    "mma.m16n8k4.f32.tf32.tf32.f32",
    "mma.m8n8k4.f64.f64.f64.f64",     "mma.m16n8k8.f32.bf16.bf16.f32", "mma.m16n8k16.f32.e4m3.e5m2.f32",
    "mma.m16n8k16.f16.e5m2.e5m2.f16", "mma.m8n8k4.f32.f16.f16.f16",    "wmma.m16n16k16.f16.f16.f16.f32"};

class Equivalence : public testing::TestWithParam<const char*> {};

/// What of so many datapaths with that seed, whose structure has at least that number, is not as it ought to be; empty:
/// all is.
std::string what_canonical_datapaths_change(const Space& space, int first_structure, std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  for (int n = 0; n < count; ++n) {
    Choice choice;
    do {
      choice = draw(space, random);
    } while (Space::value(choice, Property::structure) < first_structure);
    const Choice canonical = space.canonical(choice);
    if (!space.contains(canonical)) return "not in the space";
    if (space.canonical(canonical) != canonical) return "not canonical itself";
    if (canonical == choice) continue;
    constexpr std::size_t kTiles = 16;
    if (!separate(space, choice, canonical, seed, kTiles)) continue;
    std::string text = "other results:\n";
    for (std::size_t p = 0; p < kProperties; ++p) {
      const auto property = static_cast<Property>(p);
      text += std::string(name(property)) + ": " + space.value_text(property, choice[p]) + " -> " +
              space.value_text(property, canonical[p]) + "\n";
    }
    return text;
  }
  return "";
}

void expect_canonical_datapaths_give_the_same_results(const Space& space, int first_structure) {
  ASSERT_TRUE(rc::check([&] {
    const auto seed = *rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
    constexpr int kDatapaths = 1;
    const std::string wrong = what_canonical_datapaths_change(space, first_structure, seed, kDatapaths);
    RC_LOG() << wrong;
    RC_ASSERT(wrong.empty());
  }));
}

/// Block sums of 11 bits, each of them a one, that are rounded up to the smallest normal number, where smaller ones are
/// flushed.
TEST(CanonicalDatapaths, KeepARoundingThatNormalNumbersComeFrom) {
  Space space(*find_instruction("wmma.m16n16k16.f16.f16.f16.f32"));
  const std::optional<int> first = widen_fully(space);
  ASSERT_TRUE(first);
  EXPECT_EQ(what_canonical_datapaths_change(space, *first, 17029531791111464130U, 4), "");
}

TEST_P(Equivalence, CanonicalDatapathsGiveTheSameResults) {
  expect_canonical_datapaths_give_the_same_results(Space(*find_instruction(GetParam())), 0);
}

TEST_P(Equivalence, CanonicalRareDatapathsGiveTheSameResults) {
  Space space(*find_instruction(GetParam()));
  if (const std::optional<int> first = widen_fully(space))
    expect_canonical_datapaths_give_the_same_results(space, *first);
}

std::string test_name(const testing::TestParamInfo<const char*>& info) {
  std::string text = std::to_string(info.index) + "_" + info.param;
  for (char& c : text) c = c == '.' ? '_' : c;
  return text;
}
INSTANTIATE_TEST_SUITE_P(Instructions, Equivalence, testing::ValuesIn(kInstructions), test_name);

// --- With block scales

using enum FormatId;
const auto kScaledDots = std::to_array<Instruction>({
    make_dot(fp32, fp4e2m1, fp4e2m1, fp32, 8, {ScaleKind::dot, ue4m3, 4}),
    make_dot(fp32, fp4e2m1, fp4e2m1, fp32, 8, {ScaleKind::dot, ue8m0, 4}),
    make_dot(fp32, fp8e4m3, fp8e5m2, fp32, 8, {ScaleKind::dot, ue8m0, 8}),
    make_dot(fp32, fp8e4m3, fp6e2m3, fp32, 8, {ScaleKind::dot, ue4m3, 8}),
    make_dot(fp32, fp6e3m2, fp4e2m1, fp32, 4, {ScaleKind::dot, ue4m3, 2}),
    make_dot(fp16, fp8e4m3, fp8e4m3, fp16, 4, {ScaleKind::dot, ue8m0, 2}),
});

class ScaledEquivalence : public testing::TestWithParam<std::size_t> {};

TEST_P(ScaledEquivalence, CanonicalDatapathsGiveTheSameResults) {
  Space space(kScaledDots.at(GetParam()));
  expect_canonical_datapaths_give_the_same_results(space, 0);
  if (const std::optional<int> first = space.widen()) expect_canonical_datapaths_give_the_same_results(space, *first);
}

INSTANTIATE_TEST_SUITE_P(Dots, ScaledEquivalence, testing::Range(std::size_t{0}, kScaledDots.size()));

TEST(Space, FloorsShowWhereOnlyTheDatapathWithoutOneUnderflows) {
  // Both take the smallest negative c to zero: with the floor by the cut, to +0; without by rounding, which keeps the
  // sign.
  const Space space(*find_instruction("mma.m8n8k4.f32.f16.f16.f32"));
  Choice with{};
  Space::set(with, Property::structure, find_structure(space, Combination::chain, 4));
  space.put<Property::fraction_bits>(with, 16);
  space.put<Property::output_fraction_bits>(with, SumWidth::of_its_terms);
  space.put<Property::subnormal_exponent>(with, NormalisedSubnormals::all);
  space.put<Property::zero_exponent>(with, {ZeroExponentKind::floor, -126});
  ASSERT_TRUE(space.contains(with));
  Choice without = with;
  Space::set(without, Property::zero_exponent, 0);
  constexpr std::size_t kTiles = 500;
  EXPECT_TRUE(separate(space, with, without, 1, kTiles).has_value());
  EXPECT_NE(space.canonical(with), space.canonical(without));
}

TEST(Space, HasTheSizeThatItsDescriptionGives) {
  // docs/space.md: "how many", for structures.
  const auto structures = [](const char* instruction) {
    return Space(*find_instruction(instruction)).structures().size();
  };
  EXPECT_EQ(structures("mma.m8n8k4.f32.f16.f16.f32"), 30u);
  EXPECT_EQ(structures("mma.m16n8k8.f32.f16.f16.f32"), 75u);
  EXPECT_EQ(structures("mma.m16n8k16.f32.f16.f16.f32"), 126u);
  EXPECT_EQ(structures("mma.m16n8k32.f32.e4m3.e4m3.f32"), 189u);
  EXPECT_EQ(structures("mma.m8n8k4.f64.f64.f64.f64"), 32u);
  for (const Instruction& instruction : instructions()) {
    if (instruction.n > 8 || !format(instruction.d).floating) continue;  // as for n = 8; integers have little to choose
    // A single product has no order.
    EXPECT_GT(Space(instruction).size(), instruction.k == 1 ? 1e3 : 1e5) << instruction.name();
  }
}

}  // namespace
}  // namespace tcnum::equivalence_test
