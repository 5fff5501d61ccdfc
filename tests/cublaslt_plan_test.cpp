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
#include "seed_of_run.hpp"
#include "src/campaign/stream.hpp"
#include "src/files/json_fields.hpp"
#include "src/gemm/operands.hpp"
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
          tails += plan.split_k && plan.split_k->tail ? 1 : 0;
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
  EXPECT_GT(epilogues.replayed, 700u);
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
  options.replay(test::kOptionsSurvey);
  EXPECT_EQ(options.of_all["wrong"], 0u);
  EXPECT_GT(options.replayed, 100u);
  EXPECT_EQ(options.declined, 1u);  // of those that were declined then
  const std::string sentence =
      fmt::format("{} algorithms of {} products: {} right, {} wrong, {} declined", options.algorithms, options.products,
                  options.of_all["right"], options.of_all["wrong"], options.of_all["declined"]);
  expect_on_page(sentence);
}

TEST(CublasLtPlans, AreDeclinedWhereNobodyKnows) {
  const CublasLtConfiguration good = {.k = 1000, .id = 66, .stages = 35};
  const auto complaint = [&](auto change) {
    CublasLtConfiguration other = good;
    change(other);
    try {
      (void)cublaslt_plan(other);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(complaint([](auto&) {}), "");
  EXPECT_EQ(
      complaint([](auto& c) { c.id = 9; }),
      "cublaslt: id is 9, of which nobody has said what it adds in which order; right would be 10 (fp32), 11 (fp16, "
      "bf16, fp32 "
      "or fp64), 12 (CUTLASS 2), 13 (fp16, bf16, fp32 or fp64), 14 (fp16, bf16, fp32 or fp64), 16 (fp16 or bf16), 20 "
      "(CUTLASS 2), 21 (CUTLASS 2), 22 (fp64), 23 (CUTLASS 2), 24 (CUTLASS 2), 35 (fp64), 36 (fp64), "
      "39 (CUTLASS 3), 41 (CUTLASS 3), 42 (CUTLASS 3), 43 (CUTLASS 3), 55 (fp32), 56 (fp16), 63 (CUTLASS 3), 66 "
      "(nvjet), 74 (CUTLASS 3)");
  EXPECT_EQ(complaint([](auto& c) { c.id = 55; }),
            "cublaslt: a is fp16 and b is fp16, and id 55 multiplies fp32 as it is; right would be both of fp32");
  const auto of_fp32 = [](CublasLtConfiguration& c, int id, int custom) {
    c.a = c.b = c.d = FormatId::fp32;
    c.id = id, c.custom = custom;
  };
  EXPECT_EQ(complaint([&](auto& c) { of_fp32(c, 55, 0); }), "");
  EXPECT_EQ(complaint([&](auto& c) { of_fp32(c, 13, 74); }), "");
  EXPECT_EQ(complaint([](auto& c) { c.id = 13, c.custom = 96; }), "");
  EXPECT_EQ(complaint([](auto& c) { c.a = c.b = c.d = FormatId::fp64, c.id = 13, c.custom = 88; }), "");
  const auto in_fours = [&](std::size_t m, std::size_t k) {
    return complaint([&](CublasLtConfiguration& c) { of_fp32(c, 13, 10), c.m = m, c.n = 1, c.k = k; });
  };
  EXPECT_EQ(in_fours(128, 9000), "");
  EXPECT_EQ(in_fours(129, 96), "");
  EXPECT_EQ(
      in_fours(129, 97),
      "cublaslt: custom is 10 with id 13, fp32, k 97 and split_k 1, of which nobody has said what it adds in which "
      "order; right would be one of 11, 12, 13, 14, 33, 38, 39, 40, 41, 42, 43, 48, 49, 50, 51, 56, 57, 58, 59, 61, "
      "62, 63, 64, 67, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, "
      "94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115");
  const auto nvjet = [&](std::size_t k, int parts) {
    return complaint([&](CublasLtConfiguration& c) { c.k = k, c.split_k = parts, c.reduction = 2; });
  };
  EXPECT_EQ(nvjet(10, 10), "");
  EXPECT_EQ(
      complaint([](auto& c) { c.id = 42, c.k = 15368, c.split_k = 10, c.reduction = 2; }),
      "cublaslt: k is 15368 with id 42, split_k 10, reduction 2 and tiles of 64, and nobody has said what becomes "
      "of the last 8 products, which id 66 leaves out with reduction 2; right would be these, or another split_k");
  EXPECT_EQ(nvjet(9, 10), "cublaslt: k is 9 with split_k 10; right would be a product or more for each part");
  EXPECT_EQ(complaint([](auto& c) { c.id = 12, c.stages = 0, c.k = 1; }), "");
  EXPECT_EQ(complaint([](auto& c) { c.id = 56, c.split_k = 2; }),
            "cublaslt: split_k is 2 with id 56; right would be 1: nobody has measured others");
  EXPECT_EQ(complaint([](auto& c) { c.id = 56, c.a = c.b = FormatId::bf16; }),
            "cublaslt: a is bf16 and b is bf16, and id 56 multiplies fp16 as it is; right would be both of fp16");
  const auto in_parts = [&](CublasLtConfiguration& c, int id, int custom, int reduction) {
    of_fp32(c, id, custom);
    c.split_k = 3, c.reduction = reduction;
  };
  EXPECT_EQ(complaint([&](auto& c) { in_parts(c, 13, 75, 2); }), "");
  EXPECT_EQ(complaint([&](auto& c) { in_parts(c, 14, 0, 2); }), "");
  EXPECT_EQ(
      complaint([&](auto& c) { in_parts(c, 13, 75, 1); }),
      "cublaslt: reduction is 1 with split_k 3 and id 13; right would be 2 with id 13 or 14, or split_k 1: nobody has "
      "measured others");
  EXPECT_EQ(
      complaint([&](auto& c) { in_parts(c, 11, 0, 2); }),
      "cublaslt: reduction is 2 with split_k 3 and id 11; right would be 2 with id 13 or 14, or split_k 1: nobody has "
      "measured others");
  const auto in_octets = [&](std::size_t k) {
    return complaint([&](CublasLtConfiguration& c) { of_fp32(c, 10, 0), c.split_k = 0, c.k = k; });
  };
  EXPECT_EQ(in_octets(1024), "");
  EXPECT_EQ(in_octets(528),
            "cublaslt: k is 528 with id 10 and split_k 0, which leaves 16 products over 512s; right would be none, or "
            "256 and more: nobody has measured others");
  EXPECT_EQ(complaint([&](auto& c) { in_parts(c, 10, 0, 1); }), "");
  EXPECT_EQ(complaint([&](auto& c) { in_parts(c, 10, 0, 2); }),
            "cublaslt: split_k is 3 with id 10 and reduction 2; right would be 0, or 2 or more with reduction 1");
  const auto in_many = [&](CublasLtConfiguration& c, std::size_t k) {
    in_parts(c, 14, 0, 2);
    c.split_k = 200, c.k = k;
  };
  EXPECT_EQ(complaint([&](auto& c) { in_many(c, 128 * 256); }), "");
  EXPECT_EQ(
      complaint([&](auto& c) { in_many(c, 128 * 256 + 1); }),
      "cublaslt: split_k is 200 with id 14 and k 32769; right would be at most 128: nobody has said how more parts "
      "are added");
  EXPECT_EQ(complaint([](auto& c) { c.k = 0; }), "cublaslt: k is 0; right would be 1 or more");
  EXPECT_EQ(complaint([](auto& c) { c.split_k = 2, c.stages = 30, c.reduction = 2; }),
            "cublaslt: stages is 30; right would be a cublasLtMatmulStages_t, 1 to 38");
  EXPECT_EQ(complaint([](auto& c) { c.split_k = 2; }),
            "cublaslt: reduction is 0 with split_k 2; right would be 1, 2 or 4");
  EXPECT_EQ(complaint([](auto& c) { c.split_k = 0; }), "cublaslt: split_k is 0; right would be 1 or more, or -1");
  EXPECT_EQ(complaint([](auto& c) { c.b = FormatId::bf16; }),
            "cublaslt: a is fp16 and b is bf16; right would be formats that wgmma takes together");
  EXPECT_EQ(complaint([](auto& c) { c.a = c.b = FormatId::fp64; }),
            "cublaslt: a is fp64, and id 66 is of nvjet kernels; right would be what goes together");
  const auto of_fp64 = [](CublasLtConfiguration& c, int id, int custom) {
    c.a = c.b = c.d = FormatId::fp64;
    c.id = id, c.stages = 5, c.split_k = 3, c.reduction = 2, c.custom = custom;
  };
  EXPECT_EQ(complaint([&](auto& c) { of_fp64(c, 35, 1); }), "");
  EXPECT_EQ(complaint([&](auto& c) { of_fp64(c, 36, 2); }), "");
  EXPECT_EQ(complaint([&](auto& c) { of_fp64(c, 35, 2); }), "");
  EXPECT_EQ(complaint([&](auto& c) { of_fp64(c, 35, 3); }),
            "cublaslt: custom is 3 with id 35 and split_k 3, of which nobody has said what it adds in which order; "
            "right would be 0 "
            "or 1");
  EXPECT_EQ(complaint([](auto& c) { c.a = c.b = FormatId::fp32; }),
            "cublaslt: an operand is fp32, and what kernels of id 66 make of it has not been measured; right would be "
            "tf32");
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
  const auto complaint = [](const CublasLtConfiguration& c) {
    try {
      (void)cublaslt_plan(c);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CublasLtConfiguration swizzled = of(72, 4160, 904, 15, 12, 786687, 15);
  swizzled.swizzle = 1;
  EXPECT_EQ(complaint(swizzled),
            "cublaslt: swizzle is 1 with split_k -1; right would be 0 where blocks of D are left over");
  EXPECT_EQ(complaint(of(1736, 40, 2568, 15, 38, 1475079, 23)),
            "cublaslt: workspace is 1475079 with split_k -1; right would be one for two parts or more of the 25 tiles "
            "that 23 clusters at once leave over");
  EXPECT_EQ(complaint(of(1736, 40, 2568, 15, 0, 1475079, 22)),
            "cublaslt: tile is 15 and cluster 0 with split_k -1; right would be a cublasLtMatmulTile_t and a "
            "cublasLtClusterShape_t that name a shape");
  EXPECT_EQ(complaint(of(0, 40, 2568, 15, 38, 1475079, 22)),
            "cublaslt: m or n is 0 with split_k -1; right would be 1 or more");
  EXPECT_EQ(complaint(of(1736, 40, 2568, 15, 38, 1475079, 0)),
            "cublaslt: clusters_at_once is 0 with split_k -1; right would be 1 or more");
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
