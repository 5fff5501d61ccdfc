// Instructions that sum integers: their space, their operands, and blind recovery of hidden datapaths.
// Labels: long-parts parts=4
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "src/fit/fit.hpp"
#include "src/fit/steps.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "src/questions/battery.hpp"
#include "src/questions/numbers.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum::integer_fit_test {
namespace {

constexpr std::array kInstructions = {"mma.m8n8k16.s32.s8.s8.s32",
                                      "mma.m16n8k32.s32.s8.u8.s32.satfinite",
                                      "mma.m16n8k32.s32.u8.u8.s32",
                                      "mma.m8n8k32.s32.u4.s4.s32",
                                      "mma.m16n8k64.s32.s4.s4.s32.satfinite",
                                      "mma.m8n8k128.s32.b1.b1.s32.and.popc",
                                      "mma.m16n8k256.s32.b1.b1.s32.xor.popc"};

/// One datapath of each class, in the order of the space.
std::vector<Choice> classes(const Space& space) {
  std::set<Choice> found;
  Choice c{};
  for (int structure = 0; structure < space.count(Property::structure); ++structure) {
    for (int operation = 0; operation < space.count(Property::product_operation); ++operation) {
      for (int inner = 0; inner < space.count(Property::inner_result); ++inner) {
        for (int overflow = 0; overflow < space.count(Property::overflow); ++overflow) {
          Space::set(c, Property::structure, structure);
          Space::set(c, Property::product_operation, operation);
          Space::set(c, Property::inner_result, inner);
          Space::set(c, Property::overflow, overflow);
          if (space.contains(c)) found.insert(space.canonical(c));
        }
      }
    }
  }
  return {found.begin(), found.end()};
}

FitOptions quick_options() {
  FitOptions options;
  options.tiles_per_distribution = 4;
  return options;
}

class IntegerFit : public testing::TestWithParam<const char*> {
 protected:
  const Instruction& instruction_ = *find_instruction(GetParam());
  const Space space_{instruction_};
};

TEST_P(IntegerFit, EveryHiddenDatapathIsIdentified) {
  const std::vector<Choice> all = classes(space_);
  const std::size_t most =
      instruction_.products() >= 32 ? 5 : all.size();  // a fit with many structures takes a second or more
  for (std::size_t n = 0; n < most; ++n) {
    const Choice& hidden = all[n * all.size() / most];
    DatapathOracle oracle(space_.datapath(hidden), instruction_, "hidden", 1);
    Fit fit(instruction_, &oracle, quick_options());
    const FitResult result = fit.run();
    SCOPED_TRACE(space_.value_text(Property::structure, Space::value(hidden, Property::structure)));
    EXPECT_EQ(result.verdict, Verdict::identified);
    EXPECT_EQ(result.choice, hidden);
    EXPECT_EQ(result.mismatches, 0u);
  }
}

TEST_P(IntegerFit, RandomProblemsAndTheBatteryAreOfTheFormats) {
  const auto in_range = [&](const Problem& p) {
    const auto is_code = [](FormatId f) {
      return [f](std::uint64_t code) { return (code & ~format(f).code_mask()) == 0; };
    };
    return p.a.size() == static_cast<std::size_t>(instruction_.products()) && p.b.size() == p.a.size() &&
           std::ranges::all_of(p.a, is_code(instruction_.a)) && std::ranges::all_of(p.b, is_code(instruction_.b)) &&
           is_code(instruction_.c)(p.c);
  };
  for (const Distribution distribution : kAllRandom) {
    std::set<std::uint64_t> results;
    for (std::uint64_t index = 0; index < 200; ++index) {
      const Problem p = make_problem(instruction_, distribution, 1, index);
      EXPECT_TRUE(in_range(p)) << name(distribution);
      EXPECT_EQ(p, make_problem(instruction_, distribution, 1, index));
      std::int64_t sum = integer_of(format(instruction_.c), p.c);
      for (std::size_t k = 0; k < p.a.size(); ++k) {
        sum += integer_of(format(instruction_.a), p.a[k]) * integer_of(format(instruction_.b), p.b[k]);
      }
      results.insert(static_cast<std::uint64_t>(sum));
    }
    // The smallest bits that are not 0 are all 1, and c is -1, 0 or 1.
    const bool few = distribution == Distribution::tiny && instruction_.a == FormatId::b1;
    EXPECT_GT(results.size(), few ? 2u : 10u) << name(distribution);
  }
  std::set<std::string> names;
  for (const CraftedProblem& each : battery(instruction_)) {
    EXPECT_TRUE(in_range(each.problem)) << each.name;
    names.insert(each.name);
  }
  EXPECT_GT(names.size(), 150u);
}

INSTANTIATE_TEST_SUITE_P(Instructions, IntegerFit, testing::ValuesIn(kInstructions), [](const auto& param_info) {
  std::string text = param_info.param;
  std::ranges::replace(text, '.', '_');
  return text;
});

TEST(IntegerFit, TheSpaceHasTheSizeThatItsDescriptionGives) {
  // docs/space.md, "Integers": "how many".
  const auto structures = [](const char* instruction) {
    return Space(*find_instruction(instruction)).structures().size();
  };
  EXPECT_EQ(structures("mma.m8n8k16.s32.s8.s8.s32"), 48u);
  EXPECT_EQ(structures("mma.m16n8k32.s32.u8.s8.s32.satfinite"), 70u);
  EXPECT_EQ(structures("mma.m16n8k64.s32.s4.s4.s32"), 96u);
  EXPECT_EQ(structures("mma.m16n8k128.s32.b1.b1.s32.and.popc"), 126u);
  EXPECT_EQ(structures("mma.m16n8k256.s32.b1.b1.s32.xor.popc"), 160u);
  EXPECT_EQ(Space(*find_instruction("mma.m16n8k64.s32.s4.s4.s32")).size(), 95 * 2 * 2 + 2);
  EXPECT_EQ(Space(*find_instruction("mma.m16n8k256.s32.b1.b1.s32.xor.popc")).size(), (159 * 2 * 2 + 2) * 2);
}

TEST(IntegerFit, DatapathsOutsideTheSpaceAreUnexplained) {
  const Instruction& instruction = *find_instruction("mma.m8n8k16.s32.s8.s8.s32");
  const Space space(instruction);
  std::vector<Datapath> outside(3, space.datapath(Choice{}));
  for (Datapath& d : outside) {
    d.tree.nodes = {{0, {{Term::Kind::accumulator, 0}}}};
    for (int k = 0; k < d.tree.k; ++k) d.tree.nodes[0].terms.push_back({Term::Kind::product, k});
    d.unit_names = {"sum"};
    d.numerics.units = {};
    d.numerics.units[0].result = {round_to(format(FormatId::s32), Rounding::toward_zero, Overflow::max_finite)};
  }
  RoundStep& step = outside[0].numerics.units[0].result.step[0];
  step.twos_complement = false;                                    // saturates to ±(2^31 − 1)
  outside[1].numerics.units[0].result.step[0].fraction_bits = 24;  // keeps 25 bits: a float's
  outside[1].numerics.units[0].result.step[0].min_exponent = 24;
  outside[2].numerics.a.format = FormatId::u8;  // the wrong sign
  for (const Datapath& datapath : outside) {
    validate(datapath);
    struct Hidden final : Oracle {
      explicit Hidden(const Datapath& d) : emulator(d), a_format(d.numerics.a.format) {}
      void answer(Tiles& tiles) override {
        const FormatId asked = std::exchange(tiles.a_format, a_format);  // reads the codes as it likes
        emulator.run(tiles);
        tiles.a_format = asked;
      }
      OracleKind kind() const override { return OracleKind::datapath; }
      std::string device() const override { return "hidden"; }
      Emulator emulator;
      FormatId a_format;
    } oracle(datapath);
    Fit fit(instruction, &oracle, quick_options());
    const FitResult result = fit.run();
    EXPECT_EQ(result.verdict, Verdict::unexplained);
    EXPECT_GT(result.mismatches, 0u);
    EXPECT_TRUE(result.counterexample.has_value());
  }
}

}  // namespace
}  // namespace tcnum::integer_fit_test
