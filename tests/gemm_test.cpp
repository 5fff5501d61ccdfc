// tcnum/gemm.hpp: products by plans equal what the plan's words say, done by hand element by element; plans are read
// and written without loss, and what is wrong is named.
// Labels: sanitized
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tcnum/catalogue.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum::gemm_test {
namespace {

using Random = std::mt19937_64;
using nlohmann::ordered_json;

std::size_t up_to(Random& random, std::size_t most) { return 1 + random() % most; }
template <class Value>
Value one_of(Random& random, std::initializer_list<Value> values) {
  return *(values.begin() + random() % values.size());
}

/// Numbers of a few binades, so that sums lose some bits and keep some; now and then one that is none.
Matrix random_matrix(FormatId id, std::size_t rows, std::size_t columns, Random& random, bool specials) {
  Matrix matrix(id, rows, columns);
  const Format& f = format(id);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      std::uint64_t code = random() & f.code_mask();
      if (f.floating && !(specials && random() % 40 == 0)) {
        const int exponent = static_cast<int>(random() % 8) - 4;
        const std::uint64_t significand =
            (std::uint64_t{1} << f.fraction_bits) | (random() & ((std::uint64_t{1} << f.fraction_bits) - 1));
        code = encode(f, random() % 2 != 0, significand, exponent - f.fraction_bits, false, Rounding::nearest_even);
        if (f.padding_bits > 0) code |= random() & ((1u << f.padding_bits) - 1);
      }
      matrix.set(i, j, code);
    }
  }
  return matrix;
}

// --- The same by hand: one element, one instruction after the other, zeros and all.

class ByHand {
 public:
  ByHand(const GemmPlan& plan, const Matrix& a, const Matrix& b)
      : plan_(plan),
        in_(*find_instruction(plan.instruction)),
        datapath_(catalogue(ArchId::sm_90, in_).at(0).datapath),
        a_(a),
        b_(b),
        depth_(static_cast<std::size_t>(in_.k)) {}

  /// Of fp32 sums, as a float.
  float sum(std::size_t i, std::size_t j) const {
    const std::size_t k = a_.columns();
    if (!is_divided(i, j)) return part(i, j, {{0, k}});
    const SplitK& split = *plan_.split_k;
    std::vector<Stretches> of_parts;
    std::size_t first = 0, number = 0;
    for (const std::size_t length : lengths(k)) {
      const std::size_t of = split.turns == 0 ? number : number % split.turns;
      if (of == of_parts.size()) of_parts.emplace_back();
      of_parts[of].emplace_back(first, std::min(k, first + length));
      first += length;
      ++number;
    }
    std::vector<float> parts;
    for (const Stretches& each : of_parts) parts.push_back(rounded(split.parts, part(i, j, each)));
    if (split.order == PartOrder::fours) {
      const auto in_turn = [&](std::size_t begin, std::size_t step, const std::vector<float>& of) {
        float some = 0;
        for (std::size_t p = begin; p < of.size(); p += step) some = rounded(split.type, some + of[p]);
        return some;
      };
      std::vector<float> wide(64, 0), narrow(32, 0), four(4, 0);
      for (std::size_t p = 0; p < 64; ++p) wide[p] = in_turn(p, 64, parts);
      for (std::size_t p = 0; p < 32; ++p) narrow[p] = rounded(split.type, wide[p] + wide[p + 32]);
      for (std::size_t p = 0; p < 4; ++p) four[p] = in_turn(p, 4, narrow);
      return in_turn(0, 1, four);
    }
    if (split.order != PartOrder::ascending) std::reverse(parts.begin(), parts.end());
    while (split.order == PartOrder::pairs && parts.size() > 2) {
      for (std::size_t p = 0; p + 1 < parts.size(); ++p) {
        parts[p] = rounded(split.type, parts[p] + parts[p + 1]);
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(p) + 1);
      }
    }
    float total = parts.at(0);
    if (split.order != PartOrder::pairs) total = rounded(split.type, 0 + total);
    if (split.order == PartOrder::pairs && parts.size() == 1) total = rounded(split.type, total);
    for (std::size_t p = 1; p < parts.size(); ++p) total = rounded(split.type, total + parts[p]);
    return total;
  }
  static float rounded(FormatId id, float x) {
    const float as_is = x;
    return Matrix::from(std::span(&as_is, 1), 1, 1, format(id).name).to_floats().at(0);
  }

 private:
  using Stretches = std::vector<std::pair<std::size_t, std::size_t>>;  ///< of k: the first product of each, and its end

  /// Of the parts of k, of which the last may be longer than what is left.
  std::vector<std::size_t> lengths(std::size_t k) const {
    const SplitK& split = *plan_.split_k;
    if (split.chunk != 0 && split.rest == Rest::left_out && split.chunk <= k)
      return std::vector<std::size_t>(k / split.chunk, split.chunk);
    if (split.chunk != 0) return std::vector<std::size_t>((k + split.chunk - 1) / split.chunk, split.chunk);
    const std::size_t tile = *plan_.k_tile, tiles = (k + tile - 1) / tile;
    std::vector<std::size_t> all(std::min(split.count, tiles), 0);
    for (std::size_t t = 0; t < tiles; ++t) all[all.size() - 1 - t % all.size()] += tile;
    return all;
  }
  /// Of D is taken block by block, and what is left in the end are the last ones.
  bool is_divided(std::size_t i, std::size_t j) const {
    if (!plan_.split_k || !plan_.split_k->tail) return plan_.split_k.has_value();
    const Tail& tail = *plan_.split_k->tail;
    const bool by_rows = tail.lines == BlockLines::rows;
    const auto [across, along] = by_rows ? std::pair(a_.rows(), b_.columns()) : std::pair(b_.columns(), a_.rows());
    const auto [width, step] = by_rows ? std::pair(tail.rows, tail.columns) : std::pair(tail.columns, tail.rows);
    std::vector<std::pair<std::size_t, std::size_t>> taken;  // the first row and the first column of each
    for (std::size_t line = 0; line < across; line += width) {
      const auto begin = static_cast<std::ptrdiff_t>(taken.size());
      for (std::size_t at = 0; at < along; at += step)
        taken.push_back(by_rows ? std::pair(line, at) : std::pair(at, line));
      if (line / width % 2 == 1) std::reverse(taken.begin() + begin, taken.end());
    }
    const std::pair block(i / tail.rows * tail.rows, j / tail.columns * tail.columns);
    return std::find(taken.begin(), taken.end(), block) - taken.begin() >=
           static_cast<std::ptrdiff_t>(taken.size()) - static_cast<std::ptrdiff_t>(tail.blocks);
  }
  float part(std::size_t i, std::size_t j, const Stretches& stretches) const {
    const std::size_t tile = plan_.k_tile.value_or(depth_), slices = static_cast<std::size_t>(plan_.slices);
    // The products of tiles, `kZero` for those that the residue leaves over.
    std::vector<std::vector<std::size_t>> tiles;
    for (const auto& [first, end] : stretches) {
      std::size_t at = first;
      if (plan_.residue == Residue::first && (end - first) % tile != 0) {
        tiles.emplace_back();
        for (std::size_t left = (end - first) % tile; left > 0; --left) tiles.back().push_back(at++);
      }
      for (; at < end; at += tile) {
        tiles.emplace_back();
        for (std::size_t k = at; k < std::min(end, at + tile); ++k) tiles.back().push_back(k);
      }
    }
    for (auto& each : tiles) each.resize(tile, kZero);

    std::vector<float> sums;
    for (std::size_t slice = 0; slice < slices; ++slice) {
      std::vector<std::vector<std::size_t>> instructions;
      for (const auto& each : tiles) {
        for (std::size_t k = slice * tile / slices; k < (slice + 1) * tile / slices; k += depth_)
          instructions.emplace_back(each.begin() + k, each.begin() + k + depth_);
      }
      if (plan_.k_order == KOrder::descending) std::reverse(instructions.begin(), instructions.end());
      sums.push_back(chain(i, j, instructions));
    }
    if (plan_.slices_order == SliceOrder::folded) {
      const std::size_t folded = slices / 2, kept = slices - folded;
      for (std::size_t f = 0; f < folded; ++f) sums[f + 1 < folded ? f : 0] += sums[kept + f];
      sums.resize(kept);
    }
    if (plan_.slices_order == SliceOrder::neighbours) {
      std::vector<float> of_two;
      for (std::size_t s = 0; s < sums.size(); s += 2)
        of_two.push_back(s + 1 < sums.size() ? sums[s] + sums[s + 1] : sums[s]);
      sums = of_two;
    }
    const bool by_halves = plan_.slices_order == SliceOrder::halves || plan_.slices_order == SliceOrder::neighbours;
    while (by_halves && sums.size() > 1) {
      std::size_t kept = 1;
      while (2 * kept < sums.size()) kept *= 2;
      for (std::size_t other = kept; other < sums.size(); ++other) sums[other - kept] += sums[other];
      sums.resize(kept);
    }
    float total = sums[0];
    for (std::size_t slice = 1; slice < sums.size(); ++slice) total += sums[slice];
    return total;
  }
  float chain(std::size_t i, std::size_t j, const std::vector<std::vector<std::size_t>>& instructions) const {
    float total = 0;
    std::uint64_t c = 0;
    std::size_t since = 0;
    // Instructions of zeros alone count for nothing where a residue leaves them over.
    for (const auto& products : instructions) {
      if (products.front() == kZero) continue;
      std::vector<std::uint64_t> row(depth_, 0), column(depth_, 0);
      for (std::size_t k = 0; k < depth_; ++k) {
        if (products[k] == kZero) continue;
        row[k] = converted(plan_.convert_a, a_(i, products[k]));
        column[k] = converted(plan_.convert_b, b_(products[k], j));
      }
      c = emulate_exact(datapath_, row, column, c);
      since += depth_;
      if (plan_.promote_every && since == *plan_.promote_every) {
        total += number(c);
        since = 0;
        c = 0;
      }
    }
    if (!plan_.promote_every) return number(c);
    return since == 0 ? total : total + number(c);
  }
  float number(std::uint64_t code) const {
    Matrix one(in_.d, 1, 1);
    one.set(0, 0, code);
    return one.to_floats().at(0);
  }
  static std::uint64_t converted(const std::optional<Rounding>& convert, std::uint64_t code) {
    if (!convert) return code;
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(code));
    if (std::isnan(x)) return 0x7fffffff;
    const std::uint32_t cut = static_cast<std::uint32_t>(code) & ~0x1fffu;
    const std::uint32_t rest = static_cast<std::uint32_t>(code) & 0x1fffu;
    const bool up = *convert == Rounding::nearest_even && (rest > 0x1000 || (rest == 0x1000 && (cut & 0x2000) != 0));
    return up ? cut + 0x2000 : cut;
  }

  static constexpr std::size_t kZero = ~std::size_t{0};
  const GemmPlan& plan_;
  const Instruction& in_;
  Datapath datapath_;
  const Matrix &a_, &b_;
  std::size_t depth_;
};

GemmPlan random_plan(Random& random) {
  GemmPlan plan;
  plan.arch = "sm_90";
  plan.instruction = one_of<const char*>(
      random, {"wgmma.m64n8k16.f32.f16.f16", "wgmma.m64n8k32.f32.e4m3.e4m3", "mma.m16n8k8.f32.tf32.tf32.f32",
               "mma.m16n8k32.f32.e4m3.e4m3.f32", "mma.m16n8k16.f16.f16.f16.f16", "wgmma.m64n8k16.f32.bf16.bf16"});
  const auto depth = static_cast<std::size_t>(find_instruction(plan.instruction)->k);
  if (find_instruction(plan.instruction)->a == FormatId::tf32) {
    plan.convert_a =
        one_of<std::optional<Rounding>>(random, {std::nullopt, Rounding::nearest_even, Rounding::toward_zero});
    plan.convert_b =
        one_of<std::optional<Rounding>>(random, {std::nullopt, Rounding::nearest_even, Rounding::toward_zero});
  }
  plan.k_order = one_of(random, {KOrder::ascending, KOrder::ascending, KOrder::descending});
  plan.residue = one_of(random, {Residue::last, Residue::first});
  plan.slices = one_of(random, {1, 1, 2, 3, 7});
  plan.slices_order =
      one_of(random, {SliceOrder::ascending, SliceOrder::folded, SliceOrder::halves, SliceOrder::neighbours});
  plan.scales = one_of(random, {ScaleOrder::product, ScaleOrder::a_first, ScaleOrder::b_first});
  if (plan.slices > 1 || random() % 2 == 0)
    plan.k_tile = depth * static_cast<std::size_t>(plan.slices) * up_to(random, 2);
  if (random() % 2 == 0) plan.promote_every = depth * up_to(random, 3);
  if (random() % 2 == 0) {
    plan.split_k = SplitK{.chunk = random() % 2 == 0 ? depth * up_to(random, 4) : up_to(random, 4 * depth)};
    if (random() % 2 == 0) {
      plan.split_k->chunk = 0;
      plan.split_k->count = 1 + up_to(random, 9);
      if (!plan.k_tile) plan.k_tile = depth;
    }
    if (plan.split_k->count == 0 && random() % 2 == 0)
      plan.split_k->turns = 1 + up_to(random, random() % 4 == 0 ? 200 : 5);
    else if (plan.split_k->count == 0)
      plan.split_k->rest = one_of(random, {Rest::last_part, Rest::left_out});
    plan.split_k->order =
        one_of(random, {PartOrder::ascending, PartOrder::descending, PartOrder::pairs, PartOrder::fours});
    if (random() % 2 == 0) {
      plan.split_k->tail = Tail{.rows = up_to(random, 4), .columns = up_to(random, 20)};
      plan.split_k->tail->lines = one_of(random, {BlockLines::rows, BlockLines::columns});
      plan.split_k->tail->blocks = up_to(random, 6);
    }
    plan.split_k->type = one_of(random, {FormatId::fp32, FormatId::fp16, FormatId::bf16});
    plan.split_k->parts = one_of(random, {FormatId::fp32, FormatId::fp16});
  }
  plan.output = one_of(random, {FormatId::fp32, FormatId::fp16, FormatId::bf16, FormatId::fp8e4m3});
  return plan;
}

TEST(Gemm, EqualsThePlanByHand) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const GemmPlan plan = random_plan(random);
    const Instruction& in = *find_instruction(plan.instruction);
    const std::size_t m = up_to(random, 6), n = up_to(random, 40), k = up_to(random, 150);
    const bool specials = seed % 4 == 0;
    const Matrix a = random_matrix(in.a, m, k, random, specials), b = random_matrix(in.b, k, n, random, specials);
    const Matrix d = gemm(plan, a, b, {}, {.threads = 2});
    const ByHand by_hand(plan, a, b);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; j += 5) {
        const float sum = by_hand.sum(i, j);
        const double got = Matrix(d).to_doubles().at(i * n + j);
        if (std::isnan(sum)) {
          ASSERT_TRUE(std::isnan(got)) << seed;
          continue;
        }
        const Format& f = format(plan.output);
        const float largest = plan.output == FormatId::fp8e4m3 ? 448.0F : std::numeric_limits<float>::infinity();
        const float right = ByHand::rounded(plan.output, std::clamp(sum, -largest, largest));
        ASSERT_EQ(std::bit_cast<std::uint32_t>(static_cast<float>(got)), std::bit_cast<std::uint32_t>(right))
            << "seed " << seed << ", " << f.name << ", element " << i << ", " << j << ": " << got << " " << right
            << "\n"
            << plan_to_json(plan).dump(1);
      }
    }
  }
}

TEST(Gemm, WithoutAnythingElseIsMatmul) {
  Random random(5);
  for (const char* name : {"wgmma.m64n8k16.f32.f16.f16", "mma.m8n8k4.f64.f64.f64.f64", "mma.m16n8k32.s32.s8.s8.s32",
                           "mma.m16n8k16.f16.f16.f16.f16"}) {
    const Instruction& in = *find_instruction(name);
    GemmPlan plan;
    plan.arch = "sm_90";
    plan.instruction = name;
    plan.output = in.d;
    const Matrix a = random_matrix(in.a, 33, 70, random, true), b = random_matrix(in.b, 70, 65, random, true);
    EXPECT_EQ(gemm(plan, a, b), matmul(a, b, {.arch = "sm_90", .instruction = name})) << name;
  }
}

/// Of fp32 that no tensor core multiplies.
TEST(Gemm, OfFmasIsAChainOfThem) {
  Random random(17);
  GemmPlan plan;
  plan.arch = "sm_90";
  plan.instruction = "fma.rn.f32";
  plan.output = FormatId::fp32;
  for (const bool specials : {false, true}) {
    const std::size_t m = 33, n = 70, k = 75;
    const Matrix a = random_matrix(FormatId::fp32, m, k, random, specials),
                 b = random_matrix(FormatId::fp32, k, n, random, specials);
    const Matrix d = gemm(plan, a, b);
    EXPECT_EQ(d, matmul(a, b, {.arch = "sm_70", .instruction = plan.instruction}));
    const auto number = [](std::uint64_t code) { return std::bit_cast<float>(static_cast<std::uint32_t>(code)); };
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::size_t p = 0; p < k; ++p) sum = std::fma(number(a(i, p)), number(b(p, j)), sum);
        const std::uint32_t right = std::isnan(sum) ? 0x7fffffff : std::bit_cast<std::uint32_t>(sum);
        ASSERT_EQ(d(i, j), right) << i << ", " << j;
      }
    }
  }
}

TEST(Gemm, LayoutsChangeNothing) {
  Random random(6);
  const GemmPlan plan = named_plan("nvjet", FormatId::fp16);
  const std::size_t m = 70, n = 90, k = 100;
  const Matrix a = random_matrix(FormatId::fp16, m, k, random, false),
               b = random_matrix(FormatId::fp16, k, n, random, false);
  std::vector<std::uint16_t> a_turned(m * k), b_turned(k * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < k; ++j) a_turned[j * m + i] = static_cast<std::uint16_t>(a(i, j));
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < n; ++j) b_turned[j * k + i] = static_cast<std::uint16_t>(b(i, j));
  const Matrix d = gemm(plan, a, b);
  const MatrixView a_view(a_turned, m, k, "fp16", Layout::column_major),
      b_view(b_turned, k, n, "fp16", Layout::column_major);
  EXPECT_EQ(gemm(plan, a_view, b), d);
  EXPECT_EQ(gemm(plan, a, b_view), d);
  EXPECT_EQ(gemm(plan, a_view, b_view), d);
  const MatmulOptions options = {.arch = "sm_90", .instruction = "wgmma.m64n8k16.f32.f16.f16"};
  EXPECT_EQ(matmul(a_view, b_view, options), matmul(a, b, options));
}

/// Elements of a product of 1 × 1 with an epilogue, from numbers.
double with_epilogue(const Epilogue& epilogue, double sum, double alpha, double beta, double c, double bias) {
  GemmPlan plan = named_plan("nvjet", FormatId::fp16, FormatId::fp32);
  plan.epilogue = epilogue;
  const std::vector<double> one = {1}, sums = {sum}, cs = {c}, biases = {bias};
  const Matrix a = Matrix::from(sums, 1, 1, "fp16"), b = Matrix::from(one, 1, 1, "fp16");
  const Matrix c_matrix = Matrix::from(cs, 1, 1, "fp32"), bias_matrix = Matrix::from(biases, 1, 1, "fp32");
  const MatrixView c_view = c_matrix, bias_view = bias_matrix;
  return gemm(plan, a, b, {.c = &c_view, .bias = &bias_view, .alpha = alpha, .beta = beta}).to_doubles().at(0);
}

TEST(Gemm, TheOrderOfTheEpilogueShows) {
  // alpha · sum is 1 + 2^−23 + 2^−46 before it is rounded, beta · C likewise; all else is made to let that show.
  const double alpha = 1 + std::ldexp(1, -13), sum = 1 + std::ldexp(1, -10);
  const auto exact = alpha * sum;  // 1 + 2^-10 + 2^-13 + 2^-23
  const double beta = -(1 + std::ldexp(1, -12)), c = 1 + std::ldexp(1, -12);
  const double scaled_c = static_cast<float>(beta * c), bias = std::ldexp(3, -25);
  const auto to_float = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  const double first = to_float(exact);

  using A = AlphaPlace;
  using B = BetaPlace;
  using P = BiasPlace;
  EXPECT_EQ(with_epilogue({A::fused, B::rounded, P::last}, sum, alpha, beta, c, bias),
            to_float(to_float(exact + scaled_c) + bias));
  EXPECT_EQ(with_epilogue({A::first, B::rounded, P::last}, sum, alpha, beta, c, bias),
            to_float(to_float(first + scaled_c) + bias));
  EXPECT_EQ(with_epilogue({A::first, B::fused, P::last}, sum, alpha, beta, c, bias),
            to_float(to_float(first + beta * c) + bias));
  EXPECT_EQ(with_epilogue({A::fused, B::rounded, P::first}, sum, alpha, beta, c, bias),
            to_float(exact + to_float(scaled_c + bias)));
  // A bias in C's place, where there is a C, comes to the result, and so may C itself.
  EXPECT_EQ(with_epilogue({A::first, B::fused, P::as_c}, sum, alpha, beta, c, bias),
            to_float(to_float(first + beta * c) + bias));
  EXPECT_EQ(with_epilogue({A::fused, B::on_result, P::last}, sum, alpha, beta, c, bias),
            to_float(to_float(first + bias) + scaled_c));
  // They differ, or the test says nothing.
  EXPECT_NE(to_float(to_float(first + scaled_c) + bias), to_float(to_float(first + beta * c) + bias));
}

/// Of a D of fp16.
double narrow_with_epilogue(const GemmPlan& plan, const std::vector<double>& terms, GemmInputs inputs, double c,
                            double bias) {
  const Matrix a = Matrix::from(terms, 1, terms.size(), "fp16"),
               b = Matrix::from(std::vector<double>(terms.size(), 1), terms.size(), 1, "fp16"),
               c_matrix = Matrix::from(std::vector<double>{c}, 1, 1, "fp32"),
               bias_matrix = Matrix::from(std::vector<double>{bias}, 1, 1, "fp32");
  const MatrixView c_view = c_matrix, bias_view = bias_matrix;
  if (c != 0) inputs.c = &c_view;
  if (bias != 0) inputs.bias = &bias_view;
  return gemm(plan, a, b, inputs).to_doubles().at(0);
}

TEST(Gemm, WhatComesToResultsComesToRoundedOnes) {
  using B = BetaPlace;
  using P = BiasPlace;
  GemmPlan plan = named_plan("nvjet", FormatId::fp16);
  const auto of = [&](B beta, P bias) {
    plan.epilogue = {AlphaPlace::fused, beta, bias};
    return plan;
  };
  // 1 + 2^−11 is a tie in fp16; 2^−20 more is not, and is lost where 1 + 2^−11 was rounded before.
  const std::vector<double> tie = {1, 0x1p-11};
  const double little = 0x1p-20, up = 1 + 0x1p-10;
  EXPECT_EQ(narrow_with_epilogue(of(B::rounded, P::last), tie, {}, 0, little), up);
  EXPECT_EQ(narrow_with_epilogue(of(B::rounded, P::on_result), tie, {}, 0, little), 1);
  EXPECT_EQ(narrow_with_epilogue(of(B::rounded, P::as_c), tie, {}, 0, little), up);
  EXPECT_EQ(narrow_with_epilogue(of(B::rounded, P::as_c), tie, {.beta = 1}, -0x1p-30, little), 1);
  EXPECT_EQ(narrow_with_epilogue(of(B::rounded, P::last), tie, {.beta = 2}, little, 0), up);
  EXPECT_EQ(narrow_with_epilogue(of(B::on_result, P::last), tie, {.beta = 2}, little, 0), 1);
  // Both: C is the last.
  EXPECT_EQ(narrow_with_epilogue(of(B::on_result, P::on_result), tie, {.beta = 1}, 0x1p-11 + little, little), up);

  // Parts of one product each: 1, and then ties that are rounded to even, or not, each by itself.
  plan = named_plan("nvjet", FormatId::fp16);
  plan.split_k = SplitK{.chunk = 16, .type = FormatId::fp16, .epilogue = EpilogueOf::parts};
  std::vector<double> parts(48, 0);
  parts[0] = 1, parts[16] = 0x1p-11, parts[32] = 0x1p-20;
  EXPECT_EQ(narrow_with_epilogue(plan, parts, {}, 0, 0), 1);
  EXPECT_EQ(narrow_with_epilogue(plan, parts, {.alpha = 2}, 0, 0), 2);
  EXPECT_EQ(narrow_with_epilogue(plan, parts, {.beta = 1}, 0x1p-11, 0), 1);           // comes to the first
  EXPECT_EQ(narrow_with_epilogue(plan, parts, {.beta = 1}, 0x1p-10, 0), 1 + 0x1p-9);  // an odd one then
  EXPECT_EQ(narrow_with_epilogue(plan, parts, {}, 0, 0x1p-11), up);                   // with the 2^−20 of the last
  plan.epilogue.bias = P::as_c;
  EXPECT_EQ(narrow_with_epilogue(plan, parts, {}, 0, 0x1p-11), 1);
  plan.split_k->epilogue = EpilogueOf::total;
  plan.split_k->type = FormatId::fp32;
  EXPECT_EQ(narrow_with_epilogue(plan, parts, {}, 0, 0), up);
}

TEST(Gemm, AnOperandOfFmasTakesAlpha) {
  const std::vector<double> x = {1 + 0x1p-12, 1}, y = {1 + 0x1p-12, -1};
  const Matrix a = Matrix::from(x, 1, 2, "fp32"), b = Matrix::from(y, 2, 1, "fp32");
  const double alpha = 1 + 0x1p-13;
  GemmPlan plan = named_plan("cublas-fp32", FormatId::fp32);
  const auto of = [&](AlphaPlace place) {
    plan.epilogue.alpha = place;
    return gemm(plan, a, b, {.alpha = alpha}).to_doubles().at(0);
  };
  const auto to_float = [](double z) { return static_cast<double>(static_cast<float>(z)); };
  // What A takes, the second product has of A alone.
  const double of_one = to_float(alpha * (1 + 0x1p-12));
  EXPECT_EQ(of(AlphaPlace::first), to_float(alpha * to_float(to_float((1 + 0x1p-12) * (1 + 0x1p-12)) - 1)));
  EXPECT_EQ(of(AlphaPlace::on_a), to_float(to_float(of_one * (1 + 0x1p-12)) - alpha));
  EXPECT_EQ(of(AlphaPlace::on_b), of(AlphaPlace::on_a));
  EXPECT_NE(of(AlphaPlace::first), of(AlphaPlace::on_a));
  // Of different operands it matters whose they are.
  const Matrix other = Matrix::from(std::vector<double>{3 + 0x1p-20, 7 + 0x1p-19}, 2, 1, "fp32");
  plan.epilogue.alpha = AlphaPlace::on_b;
  const double second = to_float(alpha * (7 + 0x1p-19));
  EXPECT_EQ(gemm(plan, a, other, {.alpha = alpha}).to_doubles().at(0),
            to_float(to_float((1 + 0x1p-12) * to_float(alpha * (3 + 0x1p-20))) + second));
  // fp16 and bf16 become fp32 with it.
  const Matrix half = Matrix::from(std::vector<double>{1 + 0x1p-10}, 1, 1, "fp16"),
               one = Matrix::from(std::vector<double>{1}, 1, 1, "fp16");
  plan.instruction = "fma.rn.f32.f16";
  EXPECT_EQ(gemm(plan, half, one, {.alpha = alpha}).to_doubles().at(0), to_float(alpha * (1 + 0x1p-10)));
}

TEST(Gemm, IntegersHaveAnEpilogueOfTheirOwn) {
  const Matrix a = Matrix::from(std::vector<double>{127, 127}, 1, 2, "s8"),
               b = Matrix::from(std::vector<double>{127, 1}, 2, 1, "s8"),
               c = Matrix::from(std::vector<double>{2147483647}, 1, 1, "s32");
  const MatrixView c_view = c;
  GemmPlan plan = named_plan("chain", FormatId::s8);
  plan.epilogue.type = FormatId::s32;
  const auto of = [&](double alpha, double beta) {
    return gemm(plan, a, b, {.c = &c_view, .alpha = alpha, .beta = beta}).to_doubles().at(0);
  };
  EXPECT_EQ(of(1, 1), 127 * 128 - 1 - 2147483648.0);  // modulo 2^32
  EXPECT_EQ(of(65537, 0), 65537.0 * 127 * 128);
  EXPECT_EQ(of(-3, 2), -3.0 * 127 * 128 - 2);
  EXPECT_THROW((void)of(0.5, 1), InputError);
  EXPECT_THROW((void)of(1, 4294967296.0), InputError);
  plan.epilogue.type.reset();
  EXPECT_EQ(of(65537, 0), static_cast<double>(65537.0f * 127 * 128));
  EXPECT_EQ(of(0.5, 1), 2147483647);  // fp32 makes it 2^31 and more, which s32 does not have
}

TEST(Gemm, ABiasMayBeOfRows) {
  Random random(5);
  const GemmPlan plan = named_plan("nvjet", FormatId::fp16, FormatId::fp32);
  const Matrix a = random_matrix(FormatId::fp16, 3, 20, random, false),
               b = random_matrix(FormatId::fp16, 20, 4, random, false);
  const std::vector<double> numbers = {0.5, -3, 1024};
  const Matrix bias = Matrix::from(numbers, 3, 1, "bf16");
  const MatrixView view = bias;
  const std::vector<float> without = gemm(plan, a, b).to_floats(), with = gemm(plan, a, b, {.bias = &view}).to_floats();
  for (std::size_t i = 0; i < with.size(); ++i) EXPECT_EQ(with[i], without[i] + static_cast<float>(numbers[i / 4]));
}

Matrix part_of(const Matrix& x, std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) {
  Matrix part(x.format(), rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) part.set(i, j, x(row + i, column + j));
  }
  return part;
}
float scaled_by_hand(ScaleOrder order, float a, float b, float sum) {
  // volatile: each is rounded
  volatile float first = order == ScaleOrder::product ? a * b : order == ScaleOrder::a_first ? a * sum : b * sum;
  return first * (order == ScaleOrder::product ? sum : order == ScaleOrder::a_first ? b : a);
}
/// The same, and added without a rounding between.
float added_by_hand(ScaleOrder order, float a, float b, float sum, float total) {
  volatile float first = order == ScaleOrder::product ? a * b : order == ScaleOrder::a_first ? a * sum : b * sum;
  return std::fma(order == ScaleOrder::product ? sum : order == ScaleOrder::a_first ? b : a, first, total);
}

TEST(Gemm, ScalesComeInThePlansOrder) {
  Random random(11);
  const std::size_t m = 5, n = 140, k = 300, parts = 3;
  const FormatId fp8 = FormatId::fp8e4m3;
  const Matrix a = random_matrix(fp8, m, k, random, false), b = random_matrix(fp8, k, n, random, false);
  const auto scales = [&](std::size_t rows, std::size_t columns) {
    std::vector<float> numbers(rows * columns);
    for (float& x : numbers) x = 0.5f + static_cast<float>(random() % 10007) / 10007;
    return Matrix::from(numbers, rows, columns, "fp32");
  };
  std::vector<std::vector<float>> sums;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = part * 128, count = std::min<std::size_t>(128, k - first);
    sums.push_back(gemm(named_plan("nvjet-fp8", fp8, FormatId::fp32), part_of(a, 0, m, first, count),
                        part_of(b, first, count, 0, n))
                       .to_floats());
  }
  GemmPlan plan = named_plan("nvjet-fp8-slow", fp8, FormatId::fp32);
  const std::vector<float> whole = gemm(plan, a, b).to_floats();
  using enum ScaleOrder;
  for (const ScaleOrder order : {product, a_first, b_first, in_alpha}) {
    plan.scales = order;
    for (const std::size_t rows : {std::size_t{1}, m}) {
      for (const std::size_t columns : {std::size_t{1}, std::size_t{2}, n}) {
        const auto line = [](std::size_t of, std::size_t i, std::size_t scales_of) {
          return scales_of == 1 ? 0 : scales_of == of ? i : i / 128;
        };
        for (const std::size_t blocks : {std::size_t{1}, parts}) {
          if (order == in_alpha && blocks > 1) continue;
          const double alpha = order == in_alpha ? 1 / 3. : 1;
          const Matrix of_a = scales(rows, blocks), of_b = scales(blocks, columns);
          const std::vector<float> x = of_a.to_floats(), y = of_b.to_floats();
          GemmInputs inputs;
          const MatrixView a_view = of_a, b_view = of_b;
          inputs.a_scales = &a_view, inputs.b_scales = &b_view;
          inputs.alpha = alpha;
          const std::vector<float> d = gemm(plan, a, b, inputs).to_floats();
          for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
              const auto at = [&](std::size_t block) {
                return std::pair(x[line(m, i, rows) * blocks + block], y[block * columns + line(n, j, columns)]);
              };
              float expected = 0;
              if (order == in_alpha) {
                volatile float scaled_alpha = static_cast<float>(alpha) * at(0).first;
                expected = scaled_alpha * at(0).second * whole[i * n + j];
              } else if (blocks == 1) {
                expected = scaled_by_hand(order, at(0).first, at(0).second, whole[i * n + j]);
              } else {
                for (std::size_t block = 0; block < blocks; ++block)
                  expected = added_by_hand(order, at(block).first, at(block).second, sums[block][i * n + j], expected);
              }
              ASSERT_EQ(d[i * n + j], expected) << rows << " " << columns << " " << blocks << ", " << i << " " << j;
            }
          }
        }
      }
    }
  }
}

TEST(Gemm, ScalesThatDoNotFitAreRefused) {
  const FormatId fp8 = FormatId::fp8e4m3;
  const Matrix a(fp8, 4, 300), b(fp8, 300, 200);
  const auto complaint = [&](const GemmPlan& plan, const Matrix* of_a, const Matrix* of_b) {
    GemmInputs inputs;
    const MatrixView a_view = of_a == nullptr ? MatrixView(a) : MatrixView(*of_a),
                     b_view = of_b == nullptr ? MatrixView(b) : MatrixView(*of_b);
    if (of_a != nullptr) inputs.a_scales = &a_view;
    if (of_b != nullptr) inputs.b_scales = &b_view;
    try {
      (void)gemm(plan, a, b, inputs);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const GemmPlan slow = named_plan("nvjet-fp8-slow", fp8), fast = named_plan("nvjet-fp8", fp8);
  const auto fp32 = [](std::size_t rows, std::size_t columns) { return Matrix(FormatId::fp32, rows, columns); };
  const Matrix rows = fp32(4, 3), three = fp32(3, 1), two_blocks = fp32(2, 2), in_fp16(FormatId::fp16, 1, 1);
  EXPECT_EQ(complaint(slow, &rows, &three), "");
  EXPECT_EQ(complaint(fast, &rows, nullptr),
            "gemm: a_scales has scales for 4 rows and 3 parts of k; right would be 1 part, as the plan has no "
            "promote_every");
  EXPECT_EQ(complaint(slow, nullptr, &two_blocks),
            "gemm: b_scales has scales for 2 columns and 2 parts of k; right would be 1 part, or 3, of 128 each");
  EXPECT_EQ(complaint(slow, &three, nullptr),
            "gemm: a_scales has scales for 3 rows and 1 parts of k; right would be 1 or 4");
  EXPECT_EQ(complaint(slow, &in_fp16, nullptr), "gemm: a_scales is of fp16; right would be fp32");
  const Matrix one = fp32(1, 1);
  EXPECT_EQ(complaint(slow, &one, &three),
            "gemm: b_scales has scales for 1 columns and 3 parts of k; right would be 1 parts, as a_scales has");
  GemmPlan in_alpha = slow;
  in_alpha.scales = ScaleOrder::in_alpha;
  EXPECT_EQ(complaint(in_alpha, &one, &one), "");
  EXPECT_EQ(complaint(in_alpha, &rows, &three),
            "gemm: scales for 3 parts of k, and a plan that has them in alpha; right would be 1 part");
  GemmPlan descending = slow;
  descending.k_order = KOrder::descending;
  EXPECT_TRUE(complaint(descending, &rows, &three).starts_with("gemm: scales for 3 parts of k, and a plan that"));
}

TEST(Gemm, StopsWhenItIsTold) {
  Random random(7);
  const GemmPlan plan = named_plan("nvjet", FormatId::bf16);
  const std::size_t m = 3000;
  const Matrix a = random_matrix(FormatId::bf16, m, 20, random, false),
               b = random_matrix(FormatId::bf16, 20, 64, random, false);
  const Matrix all = gemm(plan, a, b);
  Matrix d(plan.output, m, 64);
  std::vector<std::size_t> seen;
  const std::size_t rows = gemm_into(d, plan, a, b, {}, {.progress = [&](std::size_t done) {
                                       seen.push_back(done);
                                       return seen.size() < 2;
                                     }});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(rows, seen.back());
  ASSERT_LT(rows, m);
  for (std::size_t i = 0; i < m; i += 7)
    for (std::size_t j = 0; j < 64; ++j) ASSERT_EQ(d(i, j), i < rows ? all(i, j) : 0u);
}

/// Within a row too: here of two million parts of k, which take far longer than a caller waits for a question.
TEST(Gemm, StopsWithinARow) {
  GemmPlan plan = named_plan("nvjet", FormatId::fp16);
  plan.split_k = SplitK{.chunk = 1};
  constexpr std::size_t kK = 2'000'000;
  Matrix d(plan.output, 1, 1);
  d.set(0, 0, 1);
  std::size_t asked = 0;
  const std::size_t rows = gemm_into(d, plan, Matrix(FormatId::fp16, 1, kK), Matrix(FormatId::fp16, kK, 1), {},
                                     {.progress = [&](std::size_t done) {
                                       EXPECT_EQ(done, 0u);
                                       return ++asked < 2;
                                     }});
  EXPECT_EQ(asked, 2u);
  EXPECT_EQ(rows, 0u);
  EXPECT_EQ(d(0, 0), 0u);
}

TEST(GemmPlan, NamedOnesAreValidAndReadBack) {
  std::size_t plans = 0;
  for (const NamedPlan& named : named_plans()) {
    EXPECT_FALSE(named.source.empty());
    for (const FormatId operands : named.operands) {
      const GemmPlan plan = named_plan(named.name, operands);
      EXPECT_NO_THROW(validate(plan)) << named.name;
      EXPECT_EQ(plan_from_json(plan_to_json(plan), "x"), plan);
      ++plans;
    }
  }
  EXPECT_GT(plans, 15u);
}

TEST(GemmPlan, RandomOnesReadBack) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    GemmPlan plan = random_plan(random);
    plan.epilogue = {one_of(random, {AlphaPlace::first, AlphaPlace::fused}),
                     one_of(random, {BetaPlace::rounded, BetaPlace::fused, BetaPlace::on_result}),
                     one_of(random, {BiasPlace::last, BiasPlace::first, BiasPlace::on_result, BiasPlace::as_c})};
    if (seed % 5 == 0 && plan.split_k && plan.split_k->order == PartOrder::ascending) {
      plan.split_k->epilogue = EpilogueOf::parts;
      plan.split_k->type = plan.output;
    }
    if (seed % 3 == 0) plan.output_overflow = Overflow::max_finite;
    const ordered_json json = ordered_json::parse(plan_to_json(plan).dump());
    ASSERT_EQ(plan_from_json(json, "x"), plan) << json.dump(1);
  }
}

std::string refusal(const char* patch) {
  ordered_json json = plan_to_json(named_plan("nvjet-fp8-slow", FormatId::fp8e4m3));
  json.merge_patch(ordered_json::parse(patch));
  try {
    plan_from_json(json, "p.json");
  } catch (const InputError& e) {
    return e.what();
  }
  return "taken";
}

TEST(GemmPlan, SaysWhatIsWrong) {
  EXPECT_EQ(refusal(R"({"schema": "tcnum.gemm_plan/2"})"), "p.json: schema: right would be \"tcnum.gemm_plan/1\"");
  EXPECT_EQ(refusal(R"({"promote_every": 48})"),
            "p.json: promote_every: 48; right would be a multiple of 32, the products of wgmma.m64n8k32.f32.e4m3.e4m3");
  EXPECT_EQ(refusal(R"({"promote_every": -1})"), "p.json.promote_every: right would be a whole number, 0 or more");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 0}})"), "p.json: split_k.chunk: 0; right would be 1 or more");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "order": "up"}})"),
            "p.json.split_k.order: \"up\"; right would be one of ascending, descending, pairs, fours");
  EXPECT_EQ(refusal(R"({"split_k": {}})"),
            "p.json.split_k.chunk: is missing; right would be how much of k a part takes, or count, which is how many "
            "parts there are");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "count": 2}})"),
            "p.json.split_k.chunk: stands beside count; right would be one of the two");
  EXPECT_EQ(refusal(R"({"split_k": {"count": 2}})"),
            "p.json: k_tile: is missing; right would be the k of a tile, of which each part takes whole ones");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "turns": 0}})"), "p.json.split_k.turns: 0; right would be 2 or more");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "turns": 1}})"), "p.json: split_k.turns: 1; right would be 2 or more");
  EXPECT_EQ(refusal(R"({"k_tile": 64, "split_k": {"count": 3, "turns": 2}})"),
            "p.json: split_k.turns: stands beside count; right would be chunk, which is what a part takes at a time");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "rest": "kept"}})"),
            "p.json.split_k.rest: \"kept\"; right would be one of last_part, left_out");
  EXPECT_EQ(refusal(R"({"k_tile": 64, "split_k": {"count": 3, "rest": "left_out"}})"),
            "p.json: split_k.rest: left_out stands beside count; right would be chunk, of which parts leave some of k "
            "over");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "turns": 2, "rest": "left_out"}})"),
            "p.json: split_k.rest: left_out stands beside turns; right would be one of the two");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "type": "bf16", "order": "pairs", "epilogue": "parts"}})"),
            "p.json: split_k.epilogue: parts; right would be total, or order ascending or descending");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "type": "fp16", "epilogue": "parts"}})"),
            "p.json: split_k.type: fp16; right would be fp32, as D is, where each part has the epilogue");
  EXPECT_EQ(refusal(R"({"epilogue": {"alpha": "on_a"}})"),
            "p.json: epilogue.alpha: right would be first or fused, as wgmma.m64n8k32.f32.e4m3.e4m3 takes no other "
            "operands");
  EXPECT_EQ(refusal(R"({"epilogue": {"type": "s32"}})"), "p.json: epilogue.type: s32; right would be fp32");
  EXPECT_EQ(refusal(R"({"epilogue": {"bias": "nowhere"}})"),
            "p.json.epilogue.bias: \"nowhere\"; right would be one of last, first, on_result, as_c");
  EXPECT_EQ(refusal(R"({"slices": 1025, "k_tile": 16})"), "p.json: slices: right would be 1 to 1024");
  EXPECT_EQ(refusal(R"({"k_tile": 64, "split_k": {"count": 1}})"),
            "p.json: split_k.count: 1; right would be 2 or more");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "tail": {"rows": 64, "columns": 64}}})"),
            "p.json.split_k.tail.blocks: is missing; right would be 1 or more");
  EXPECT_EQ(refusal(R"({"split_k": {"chunk": 64, "tail": {"rows": 64, "columns": 0, "blocks": 1}}})"),
            "p.json: split_k.tail.columns: 0; right would be 1 or more");
  EXPECT_EQ(refusal(R"({"convert": {"a": "nearest_even"}})"),
            "p.json: convert.a: right would be \"none\", as wgmma.m64n8k32.f32.e4m3.e4m3 takes fp8e4m3 as it is");
  EXPECT_EQ(refusal(R"({"output": "fp7"})"),
            "p.json.output: format \"fp7\" is unknown; right would be one that `tcnum list` shows");
  EXPECT_EQ(refusal(R"({"output": "ue8m0"})"),
            "p.json: output: ue8m0; right would be a format whose numbers have signs, or u8");
  EXPECT_EQ(refusal(R"({"slices": 2})"),
            "p.json: k_tile: is missing; right would be the k of a tile, of which each slice takes its share");
  EXPECT_TRUE(
      refusal(R"({"promote": 4})").starts_with("p.json.promote: is unknown; right would be one of schema, name"));
  EXPECT_TRUE(refusal(R"({"instruction": "mma"})").starts_with("p.json: instruction mma is unknown"));
  EXPECT_TRUE(refusal(R"({"arch": "gfx942", "instruction": "fma.rn.f32"})")
                  .starts_with("p.json: instruction fma.rn.f32 is unknown"));
  EXPECT_EQ(refusal(R"({"instruction": "fma.rn.f32", "account": "fitted"})"),
            "p.json: account: right would be none, as fma.rn.f32 has one datapath");
  EXPECT_TRUE(refusal(R"({"arch": "sm_70"})").starts_with("p.json: sm_70 does not have wgmma"));
  EXPECT_TRUE(refusal(R"({"instruction": "mma.m16n8k32.f16.e4m3.e4m3.f32"})").starts_with("p.json: "));
}

TEST(Gemm, SaysWhatIsWrong) {
  const GemmPlan plan = named_plan("nvjet", FormatId::fp16);
  const Matrix a(FormatId::fp16, 4, 8), b(FormatId::fp16, 8, 5), c(FormatId::fp32, 4, 4), wide(FormatId::fp64, 4, 5);
  const MatrixView c_view = c, wide_view = wide;
  const auto refusal = [&](const Matrix& left, const Matrix& right, const GemmInputs& inputs) -> std::string {
    try {
      gemm(plan, left, right, inputs);
    } catch (const InputError& e) {
      return e.what();
    }
    return "taken";
  };
  EXPECT_EQ(refusal(a, a, {}), "gemm: B is 4 × 8; right would be 8 rows, as many as A (4 × 8) has columns");
  EXPECT_EQ(refusal(Matrix(FormatId::bf16, 4, 8), b, {}),
            "gemm: A is of bf16; right would be fp16, as wgmma.m64n8k16.f32.f16.f16 has it");
  EXPECT_EQ(refusal(a, b, {.c = &c_view, .beta = 1}),
            "gemm: C is 4 × 4; right would be 4 × 5, as A (4 × 8) and B (8 × 5) make it");
  EXPECT_EQ(refusal(a, b, {.beta = 1}), "gemm: beta is 1 and there is no C; expected a C, or a beta of 0");
  EXPECT_EQ(refusal(a, b, {.c = &wide_view, .beta = 1}),
            "gemm: C is of fp64; right would be a format of at most 32 bits");
  Matrix d(FormatId::fp32, 4, 5);
  EXPECT_THROW(gemm_into(d, plan, a, b), InputError);
}

}  // namespace
}  // namespace tcnum::gemm_test
