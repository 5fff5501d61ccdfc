// Plans that follow from what cuBLASLt says of its algorithms, against what these algorithms gave.
// Labels: long
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "recorded_products.hpp"
#include "refusal.hpp"
#include "seed_of_run.hpp"
#include "src/files/json_fields.hpp"
#include "src/gemm/plan_search.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/cublaslt.hpp"
#include "tcnum/epilogue_fit.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

CublasLtConfiguration configuration_of(const GemmSubject& subject, const ordered_json& entry,
                                       const ordered_json& algorithm) {
  // "nt+8" has 8 numbers between columns.
  const std::string layout = entry.value("layout", "tn");
  const std::size_t gap = layout.size() > 2 ? std::stoul(layout.substr(3)) : 0;
  const bool a_k_outermost = layout[0] == 'n', b_k_outermost = layout[1] == 't';
  return {.a = subject.a,
          .b = subject.b,
          .d = subject.d,
          .k = subject.k,
          .fast_accumulation = entry.at("fast_accumulation"),
          .id = algorithm.at("id"),
          .stages = algorithm.at("stages"),
          .split_k = algorithm.at("split_k"),
          .reduction = algorithm.at("reduction"),
          .custom = algorithm.at("custom"),
          .a_k_outermost = a_k_outermost,
          .b_k_outermost = b_k_outermost,
          .a_lead = (a_k_outermost ? subject.m : subject.k) + gap,
          .b_lead = (b_k_outermost ? subject.n : subject.k) + gap,
          .m = subject.m,
          .n = subject.n,
          .tile = algorithm.at("tile"),
          .cluster = algorithm.at("cluster"),
          .swizzle = algorithm.at("swizzle"),
          .workspace = algorithm.value("workspace", std::size_t{0}),
          .clusters_at_once = algorithm.value("clusters_at_once", 0)};
}

void expect_on_page(const std::string& sentence) {
  std::ifstream file(TCNUM_SOURCE_DIR "/docs/cublaslt.md");
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::ranges::replace(text, '\n', ' ');
  EXPECT_NE(text.find(sentence), std::string::npos) << sentence;
}

/// Whether the plan would be another if columns had no gaps between them.
bool is_otherwise_by_gap(CublasLtConfiguration configuration, const GemmPlan& plan) {
  configuration.a_lead = configuration.b_lead = 0;
  return cublaslt_plan(configuration) != plan;
}

/// Whether the plan would be another, or none, if both operands had k side by side.
bool is_otherwise_by_layout(CublasLtConfiguration configuration, const GemmPlan& plan) {
  configuration.a_k_outermost = configuration.b_k_outermost = false;
  try {
    return cublaslt_plan(configuration) != plan;
  } catch (const InputError&) {
    return true;
  }
}

/// Of products that take minutes together, a run makes one in so many again: which ones, the seed says.
constexpr std::size_t kOneIn = 9;

/// The digests of what plans give of one product after another. Operands are the same however they lie, and so is what
/// a plan gives: products of other layouts come one after the other.
class Digests {
 public:
  /// For the products that follow.
  void begin(const GemmSubject& subject, const std::string& name) {
    if (name == name_) return;
    name_ = name;
    ++index_;
    subject_ = subject;
    operands_.clear();
    of_plans_.clear();
  }
  bool are_of_run() const { return test::is_of_run(index_, kOneIn); }
  const std::string& of(const GemmPlan& plan, const std::string& json, OperandFamily family, std::uint64_t seed) {
    const auto key = std::pair(family, seed);
    const auto [digest_of, is_new] = of_plans_.try_emplace({json, key});
    if (!is_new) return digest_of->second;
    auto [operands, are_new] = operands_.try_emplace(key);
    if (are_new) operands->second = make_operands(subject_, family, seed);
    const Matrix d = gemm(plan, operands->second.a, operands->second.b, {}, {.threads = 1});
    return digest_of->second = fmt::format("{:#018x}", digest(d.codes(), 0));
  }

 private:
  using Seeded = std::pair<OperandFamily, std::uint64_t>;

  std::string name_;
  std::size_t index_ = 0;
  GemmSubject subject_;
  std::map<Seeded, GemmOperands> operands_;
  std::map<std::pair<std::string, Seeded>, std::string> of_plans_;
};

/// Formats and sizes of a recorded product.
std::string product_name(const GemmSubject& subject, const ordered_json& entry) {
  return fmt::format("{} {} {} {} {} {}", entry.at("a").dump(), entry.at("b").dump(), entry.at("d").dump(), subject.m,
                     subject.n, subject.k);
}

/// Of every algorithm that was recorded, with a product that tells one order of additions from another.
TEST(CublasLtPlans, GiveWhatTheAlgorithmsGave) {
  std::size_t products = 0, tails = 0, of_all = 0, declined_of_all = 0;
  std::set<int> by_layout;  // ids
  Digests digests;
  for (const std::string& path : test::kSurveys) {
    std::size_t algorithms = 0, declined = 0, known_since = 0;
    const ordered_json record = read_json_file(path, test::kSurveySchema);
    for (const ordered_json& entry : record.at("cases")) {
      const GemmSubject subject = test::subject_of(entry);
      digests.begin(subject, product_name(subject, entry));
      std::set<std::string> plans;
      for (const ordered_json& algorithm : entry.at("algorithms")) {
        ++algorithms;
        GemmPlan plan;
        try {
          const CublasLtConfiguration configuration = configuration_of(subject, entry, algorithm);
          plan = cublaslt_plan(configuration);
          if (is_otherwise_by_layout(configuration, plan)) by_layout.insert(configuration.id);
          tails += plan.split_k && plan.split_k->tail ? 1 : 0;
          if (algorithm.at("predicted") == "declined") {
            EXPECT_TRUE(std::set({10, 11, 13, 14, 24, 35, 36, 55, 63}).contains(algorithm.at("id")))
                << algorithm.dump();
            ++known_since;
          }
        } catch (const InputError&) {
          ++declined;
          continue;
        }
        if (!digests.are_of_run()) continue;
        const std::string json = plan_to_json(plan).dump();
        if (!plans.insert(json).second) continue;
        for (const ordered_json& asked : entry.at("asked")) {
          const std::string family = asked.at("family");
          if (family != "steps") continue;
          EXPECT_EQ(digests.of(plan, json, test::family_named(family), asked.at("seed")),
                    asked.at("digest").get<std::string>())
              << algorithm.dump() << " " << json;
          ++products;
        }
      }
    }
    of_all += algorithms;
    declined_of_all += declined;
    const ordered_json& totals = record.at("totals");
    EXPECT_EQ(algorithms, totals.at("cases").get<std::size_t>());
    EXPECT_EQ(declined + known_since, totals.at("predicted").value("declined", std::size_t{0})) << path;
    EXPECT_EQ(totals.at("predicted").at("wrong"), 0);
  }
  EXPECT_GT(products, 100u);
  EXPECT_GT(tails, 2u);
  for (const int id : {11, 14, 21}) EXPECT_TRUE(by_layout.contains(id)) << id;
  const std::string sentence =
      fmt::format("Of all {} algorithms that are recorded it declines {} now", of_all, declined_of_all);
  expect_on_page(sentence);
}

/// Every algorithm whose products with alpha, C and biases were recorded.
class Epilogues {
 public:
  /// Of how many products one is made again, with all that algorithms gave of it.
  std::size_t one_in = 1;

  void replay(const std::string& path) {
    const ordered_json record = read_json_file(path, test::kEpilogueSurveySchema);
    std::map<std::string, std::size_t> totals = {{"right", 0}, {"wrong", 0}, {"declined", 0}, {"refused", 0}};
    for (const ordered_json& entry : record.at("products")) replay(entry, totals);
    products += record.at("totals").at("products").get<std::size_t>();
    algorithms += record.at("totals").at("algorithms").get<std::size_t>();
    for (const auto& [prediction, count] : totals) {
      EXPECT_EQ(count, record.at("totals").at(prediction).get<std::size_t>()) << path << " " << prediction;
      of_all[prediction] += count;
    }
  }

  std::map<std::string, std::size_t> of_all;
  std::size_t products = 0, algorithms = 0, replayed = 0, declined = 0, left_out = 0;
  std::set<std::pair<int, std::string>> kinds;  ///< ids and epilogues
  std::set<int> by_layout, by_gap;

 private:
  void replay(const ordered_json& entry, std::map<std::string, std::size_t>& totals) {
    const GemmSubject subject = test::subject_of(entry);
    const auto id = [&](const char* key) { return find_format(entry.at(key).get<std::string>()).value(); };
    const EpilogueFormats formats = {.c = id("c"), .bias = id("bias"), .bias_of_rows = true};
    const std::string of_product = product_name(subject, entry);
    if (of_product != of_product_) {
      of_product_ = of_product;
      ++index_;
      operands_.emplace(subject, entry.at("seed").get<std::uint64_t>());
      products_.clear();
      done_.clear();
    }
    for (const ordered_json& algorithm : entry.at("algorithms")) {
      for (const EpilogueCase& each : epilogue_cases()) {
        const auto result = algorithm.at("results").find(each.name);
        if (result == algorithm.at("results").end()) continue;
        const std::string prediction = result->at("predicted");
        ++totals[prediction];
        if (prediction == "refused") continue;
        CublasLtConfiguration configuration = configuration_of(subject, entry, algorithm);
        configuration.has_epilogue = each.alpha || each.c || each.bias || each.scales;
        configuration.adds_to_d = each.in_place && !each.beta && formats.c == subject.d;
        GemmPlan plan;
        try {
          plan = cublaslt_plan(configuration);
        } catch (const InputError&) {
          EXPECT_EQ(prediction, "declined") << algorithm.dump();
          ++declined;
          continue;
        }
        left_out += plan.split_k && plan.split_k->rest == Rest::left_out ? 1 : 0;
        const ordered_json json = plan_to_json(plan);
        kinds.emplace(configuration.id, json.at("epilogue").dump() + (each.in_place ? " in place" : ""));
        if (is_otherwise_by_layout(configuration, plan)) by_layout.insert(configuration.id);
        if (is_otherwise_by_gap(configuration, plan)) by_gap.insert(configuration.id);
        if (!test::is_of_run(index_, one_in)) continue;
        if (!done_.emplace(json.dump(), each.name).second) continue;
        auto [product, is_new] = products_.try_emplace(each.name);
        if (is_new) product->second = operands_->product(each, formats);
        const Matrix d = gemm(plan, product->second, {.threads = 1});
        EXPECT_EQ(fmt::format("{:#018x}", digest(d.codes(), 0)), result->at("digest").get<std::string>())
            << entry.at("a") << entry.at("d") << each.name << algorithm.dump() << json.dump();
        ++replayed;
      }
    }
  }

  // Operands are the same however they lie.
  std::string of_product_;
  std::size_t index_ = 0;
  std::optional<EpilogueOperands> operands_;
  std::map<std::string_view, EpilogueProduct> products_;
  std::set<std::pair<std::string, std::string_view>> done_;
};

TEST(CublasLtPlans, GiveWhatAlgorithmsMakeOfAlphaCAndABias) {
  Epilogues epilogues;
  epilogues.one_in = kOneIn;
  for (const std::string& path : test::kEpilogueSurveys) epilogues.replay(path);
  EXPECT_EQ(epilogues.of_all["wrong"], 0u);
  EXPECT_GT(epilogues.of_all["right"], 9000u);
  EXPECT_GT(epilogues.replayed, 100u);
  EXPECT_GT(epilogues.kinds.size(), 30u);
  for (const int id : {14, 43}) EXPECT_TRUE(epilogues.by_layout.contains(id)) << id;
  const std::string sentence = fmt::format(
      "{} algorithms of {} products, {} results right, {} wrong, {} declined, and {} that the library refused",
      epilogues.algorithms, epilogues.products, epilogues.of_all["right"], epilogues.of_all["wrong"],
      epilogues.of_all["declined"], epilogues.of_all["refused"]);
  EXPECT_EQ(epilogues.declined, 12u);  // of ALGO_ID 56, whose results hide what it does
  expect_on_page(sentence);
}

/// Where ⌊k / SPLITK_NUM⌋ is whole tiles and k is not SPLITK_NUM of them, its last products are not in the library's D.
TEST(CublasLtPlans, LeaveProductsOutWhereTheLibraryDoes) {
  Epilogues splits;
  for (const std::string& path : test::kLeftOutSurveys) splits.replay(path);
  EXPECT_EQ(splits.of_all["wrong"], 0u);
  EXPECT_EQ(splits.declined, 0u);
  EXPECT_EQ(splits.of_all["declined"], splits.left_out);  // nobody knew then
  EXPECT_GT(splits.left_out, 250u);
  expect_on_page(fmt::format("{} algorithms of {} such products, {} results of which leave products out",
                             splits.algorithms, splits.products, splits.left_out));
}

TEST(CublasLtPlans, GiveWhatAlgorithmsMakeOfColumnsWithGaps) {
  Epilogues gaps;
  for (const std::string& path : test::kGapsSurveys) gaps.replay(path);
  EXPECT_EQ(gaps.of_all["wrong"], 0u);
  EXPECT_EQ(gaps.by_gap, std::set{14});
  expect_on_page(fmt::format("{} algorithms of {} products with gaps, {} results right, {} wrong, {} declined",
                             gaps.algorithms, gaps.products, gaps.of_all["right"], gaps.of_all["wrong"],
                             gaps.of_all["declined"]));
}

TEST(CublasLtPlans, GiveWhatOptionsSay) {
  Epilogues options;
  options.replay(test::kOptionsSurvey.at(0));
  EXPECT_EQ(options.of_all["wrong"], 0u);
  EXPECT_GT(options.replayed, 100u);
  EXPECT_EQ(options.declined, 1u);  // of those that were declined then
  const std::string sentence =
      fmt::format("{} algorithms of {} products: {} right, {} wrong, {} declined", options.algorithms, options.products,
                  options.of_all["right"], options.of_all["wrong"], options.of_all["declined"]);
  expect_on_page(sentence);
}

/// What was expected in place of a configuration; empty if there is a plan for it.
std::string expected_instead_of(const CublasLtConfiguration& configuration) {
  constexpr std::string_view kBefore = ": no plan is known; expected ";
  const std::string text = refusal([&] { return cublaslt_plan(configuration); });
  const std::size_t at = text.find(kBefore);
  return at == std::string::npos ? text : text.substr(at + kBefore.size());
}

TEST(CublasLtPlans, AreDeclinedWhereNobodyKnows) {
  using enum FormatId;
  const auto of = [](FormatId id, CublasLtConfiguration c) {
    c.a = c.b = c.d = id;
    if (c.k == 0) c.k = 1000;
    return c;
  };
  const auto bf16_beside = [&](FormatId a, int id) {
    CublasLtConfiguration c = of(a, {.id = id, .stages = 35});
    c.b = bf16;
    return c;
  };
  struct Case {
    CublasLtConfiguration configuration;
    std::string_view expected = "";
  };
  for (const auto& [configuration, expected] : std::initializer_list<Case>{
           {of(fp16, {.id = 66, .stages = 35})},
           {of(fp32, {.id = 55, .stages = 35})},
           {of(fp32, {.id = 13, .custom = 74})},
           {of(fp16, {.id = 13, .custom = 96})},
           {of(fp64, {.id = 13, .custom = 88})},
           {of(fp32, {.k = 9000, .id = 13, .custom = 10, .m = 128, .n = 1})},
           {of(fp32, {.k = 96, .id = 13, .custom = 10, .m = 129, .n = 1})},
           {of(fp16, {.k = 10, .id = 66, .stages = 35, .split_k = 10, .reduction = 2})},
           {of(fp64, {.id = 36, .stages = 5, .split_k = 3, .reduction = 2, .custom = 2})},

           {of(fp16, {.id = 55, .stages = 35}), "fp32 for both a and b"},
           {of(bf16, {.id = 56}), "fp16 for both a and b"},
           {of(fp32, {.k = 97, .id = 13, .custom = 10, .m = 129, .n = 1}),
            "a custom option with which such k has been measured"},
           {of(fp32, {.id = 13, .split_k = 3, .reduction = 2, .custom = 5}),
            "a custom option with which such k has been measured"},
           {of(fp16, {.k = 15368, .id = 42, .stages = 35, .split_k = 10, .reduction = 2}),
            "k of whole parts, or id 66 and reduction 2"},
           {of(fp16, {.k = 9, .id = 66, .stages = 35, .split_k = 10, .reduction = 2}),
            "a product or more for each part"},
           {of(fp16, {.id = 56, .split_k = 2}), "split_k 1"},
           {of(fp32, {.id = 13, .split_k = 3, .reduction = 1, .custom = 75}),
            "split_k 1, or reduction 2 with id 13 or 14"},
           {of(fp32, {.id = 11, .split_k = 3, .reduction = 2}), "split_k 1, or reduction 2 with id 13 or 14"},
           {of(fp32, {.k = 528, .id = 10, .split_k = 0}), "k that leaves none or 256 and more products over 512s"},
           {of(fp32, {.id = 10, .split_k = 3, .reduction = 2}), "split_k 0, or 2 or more with reduction 1"},
           {of(fp32, {.k = 128 * 256 + 1, .id = 14, .split_k = 200, .reduction = 2}), "split_k of at most 128"},
           {of(fp16, {.id = 66, .stages = 30, .split_k = 2, .reduction = 2}),
            "stages of cublasLtMatmulStages_t, 1 to 38"},
           {of(fp16, {.id = 66, .stages = 35, .split_k = 2}), "reduction 1, 2 or 4"},
           {of(fp16, {.id = 66, .stages = 35, .split_k = 0}), "split_k of 1 or more, or -1"},
           {bf16_beside(fp16, 66), "formats of a and b that wgmma takes together"},
           {of(fp64, {.id = 66, .stages = 35}), "formats that nvjet kernels take"},
           {of(fp64, {.id = 35, .stages = 5, .split_k = 3, .reduction = 2, .custom = 3}), "custom 0 or 1"},
           {of(fp32, {.id = 66, .stages = 35}), "operands of tf32"}}) {
    EXPECT_EQ(expected_instead_of(configuration), expected) << configuration.id << " " << configuration.custom;
  }
  EXPECT_TRUE(expected_instead_of(of(fp16, {.id = 9})).starts_with("id 10 (fp32), 11 ("));
  CublasLtConfiguration without_k = of(fp16, {.id = 66, .stages = 35});
  without_k.k = 0;
  EXPECT_EQ(expected_instead_of(without_k), "k of 1 or more");
}

/// SPLITK_NUM −1, as an H100 had it (cuBLASLt 13.1.0, driver 580.159.04).
TEST(CublasLtPlans, DivideKAsTheDeviceHasRoom) {
  const auto of = [](std::size_t m, std::size_t n, std::size_t k, int tile, int cluster, std::size_t workspace,
                     int clusters_at_once) {
    return CublasLtConfiguration{.a = FormatId::fp32,
                                 .b = FormatId::fp32,
                                 .d = FormatId::fp32,
                                 .k = k,
                                 .id = 43,
                                 .stages = 34,
                                 .split_k = -1,
                                 .reduction = 2,
                                 .m = m,
                                 .n = n,
                                 .tile = tile,
                                 .cluster = cluster,
                                 .workspace = workspace,
                                 .clusters_at_once = clusters_at_once};
  };
  EXPECT_FALSE(cublaslt_plan(of(1320, 1320, 1320, 18, 10, 131, 7)).split_k);
  using enum PartOrder;
  const auto split = [](const CublasLtConfiguration& c) { return cublaslt_plan(c).split_k.value(); };
  EXPECT_EQ(split(of(512, 512, 4096, 17, 4, 3146271, 30)), (SplitK{.count = 3, .order = pairs}));
  EXPECT_EQ(split(of(32, 32, 12288, 18, 5, 721151, 66)), (SplitK{.count = 11, .order = descending}));
  EXPECT_EQ(split(of(240, 264, 6312, 18, 41, 3146223, 17)), (SplitK{.count = 8, .order = pairs}));
  EXPECT_EQ(split(of(1736, 40, 2568, 15, 38, 1475079, 22)),
            (SplitK{.count = 3, .order = pairs, .tail = Tail{64, 320, BlockLines::columns, 1, 6}}));
  EXPECT_EQ(split(of(72, 4160, 904, 15, 12, 786687, 15)),
            (SplitK{.count = 2, .order = pairs, .tail = Tail{64, 512, BlockLines::columns, 1, 3}}));
  EXPECT_EQ(split(of(2560, 2560, 1024, 20, 3, 524467, 66)),
            (SplitK{.count = 2, .order = pairs, .tail = Tail{256, 128, BlockLines::rows, 1, 2}}));
  EXPECT_EQ(split(of(3000, 1000, 1024, 20, 3, 7864719, 66)),
            (SplitK{.count = 2, .order = pairs, .tail = Tail{256, 128, BlockLines::columns, 1, 30}}));
  EXPECT_EQ(cublaslt_plan(of(1736, 40, 2568, 15, 38, 1475079, 22)).k_tile, 32U);
  CublasLtConfiguration swizzled = of(72, 4160, 904, 15, 12, 786687, 15);
  swizzled.swizzle = 1;
  EXPECT_EQ(expected_instead_of(swizzled), "swizzle 0 where blocks of D are left over");
  EXPECT_EQ(expected_instead_of(of(1736, 40, 2568, 15, 38, 1475079, 23)),
            "a workspace for two parts or more of the 25 tiles that 23 clusters at once leave over");
  EXPECT_EQ(expected_instead_of(of(1736, 40, 2568, 15, 0, 1475079, 22)),
            "a cublasLtMatmulTile_t and a cublasLtClusterShape_t that name a shape");
  EXPECT_EQ(expected_instead_of(of(0, 40, 2568, 15, 38, 1475079, 22)), "m, n and clusters_at_once of 1 or more");
}

TEST(CublasLtPlans, SayWhatTheLibraryLeavesOut) {
  const auto split = [](std::size_t k) {
    return cublaslt_plan({.k = k, .id = 66, .stages = 35, .split_k = 10, .reduction = 2}).split_k.value();
  };
  EXPECT_EQ(split(15360), (SplitK{.chunk = 1536}));
  EXPECT_EQ(split(15368), (SplitK{.chunk = 1536, .rest = Rest::left_out}));
  EXPECT_EQ(split(15376), (SplitK{.chunk = 1600}));
}

TEST(CublasLtPlans, ReadWhatTheAttributesSay) {
  const GemmPlan plan = cublaslt_plan({.a = FormatId::fp32,
                                       .b = FormatId::fp32,
                                       .d = FormatId::fp32,
                                       .k = 1000,
                                       .id = 21,
                                       .stages = 10,
                                       .split_k = 3,
                                       .reduction = 4});
  EXPECT_EQ(plan.convert_a, Rounding::nearest_even);
  EXPECT_EQ(plan.residue, Residue::first);
  EXPECT_EQ(plan.k_tile, 32u);
  ASSERT_TRUE(plan.split_k.has_value());
  EXPECT_EQ(plan.split_k->chunk, 336u);  // a third, rounded up to the 4 of a load, as 1000 is no number of lines of 32
  EXPECT_FALSE(cublaslt_plan({.a = FormatId::fp8e4m3,
                              .b = FormatId::fp8e5m2,
                              .d = FormatId::bf16,
                              .k = 64,
                              .fast_accumulation = true,
                              .id = 66,
                              .stages = 36})
                   .promote_every.has_value());
}

}  // namespace
}  // namespace tcnum
