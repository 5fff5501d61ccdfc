// Plans of matrix products: what reads is written and read back the same, and a product by the plan is on any number of
// threads, and step by step, what a second implementation makes of it. After a zero byte, an input has the product's
// shape and operands.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "harnesses.hpp"
#include "src/gemm/element.hpp"
#include "src/gemm/plan.hpp"
#include "tcnum/gemm.hpp"
#include "tests/generators.hpp"
#include "tests/reference/edge_problems.hpp"
#include "tests/reference/plan.hpp"

namespace tcnum::fuzz {
namespace {

/// A matrix product of a plan, small.
struct Example {
  Matrix a, b, c, bias;
  bool has_c = false, has_bias = false;
  double alpha = 1, beta = 0;
};

/// Operands at the edges of the datapath, of which the first are the input's.
Example example(const GemmPlan& plan, const Performer& performer, Bytes& bytes, std::uint64_t seed) {
  const Datapath& datapath = performer.datapath;
  const OperandFormats& formats = performer.formats;
  constexpr std::size_t kMostRows = 20, kMostColumns = 70, kMostDepth = 300, kMostWork = 20000;
  const auto up_to = [&](std::size_t most) { return 1 + bytes.take(2) % most; };
  const std::size_t k = up_to(kMostDepth), m = up_to(kMostRows);
  const std::size_t n = up_to(std::min(kMostColumns, std::max<std::size_t>(1, kMostWork / (m * k))));
  // fp32 codes are operands of tf32 as they are.
  const FormatId a_format = plan.convert_a ? FormatId::fp32 : formats.a,
                 b_format = plan.convert_b ? FormatId::fp32 : formats.b;
  const bool in_integers = plan.epilogue.type == FormatId::s32;
  const FormatId addend = formats.d == FormatId::fp64                 ? FormatId::fp64
                          : in_integers || formats.d == FormatId::s32 ? FormatId::s32
                          : format(formats.d).has_infinity()          ? formats.d
                                                                      : FormatId::bf16;
  const bool by_rows = seed % 2 == 0;  // the bias
  Example x{Matrix(a_format, m, k), Matrix(b_format, k, n), Matrix(addend, m, n),
            by_rows ? Matrix(addend, m, 1) : Matrix(addend, 1, n)};

  const std::uint64_t choice = bytes.take(1);
  constexpr std::uint64_t kC = 1, kBias = 2, kAlpha = 4;
  x.has_c = (choice & kC) != 0;
  x.has_bias = (choice & kBias) != 0;
  constexpr double kFactors[] = {1, -1, 0.5, 0, 1.0 / 3, -1e30, 1e-40, 3};
  constexpr double kWholeFactors[] = {1, -1, 0, 3, -2147483648.0, 2147483647, 65537, -7};
  const auto& factors = in_integers ? kWholeFactors : kFactors;
  if ((choice & kAlpha) != 0) x.alpha = factors[choice / 8 % 8];
  if (x.has_c) x.beta = factors[choice / 4 % 8];

  test::EdgeProblems edges(datapath, seed);
  const auto depth = static_cast<std::size_t>(datapath.tree.k);
  for (std::size_t first = 0; first < k; first += depth) {
    for (std::size_t i = 0; i < std::max(m, n); ++i) {
      const Problem problem = edges.next();
      for (std::size_t p = first; p < std::min(k, first + depth); ++p) {
        if (i < m) x.a.set(i, p, problem.a[p - first]);
        if (i < n) x.b.set(p, i, problem.b[p - first]);
      }
    }
  }
  std::mt19937_64 random(seed);
  for (Matrix* matrix : {&x.c, &x.bias}) {
    for (std::size_t i = 0; i < matrix->rows(); ++i) {
      for (std::size_t j = 0; j < matrix->columns(); ++j) matrix->set(i, j, random() & format(addend).code_mask());
    }
  }
  for (Matrix* matrix : {&x.a, &x.b, &x.c, &x.bias}) {
    const Format& f = format(matrix->format());
    for (std::size_t j = 0; j < matrix->columns() && !bytes.empty(); ++j)
      matrix->set(0, j, bytes.take(f.storage_bytes()) & f.code_mask());
  }
  return x;
}

reference::ElementOperands element_operands(const Example& x, std::size_t row, std::size_t column) {
  reference::ElementOperands of;
  for (std::size_t k = 0; k < x.a.columns(); ++k) {
    of.a.push_back(x.a(row, k));
    of.b.push_back(x.b(k, column));
  }
  of.m = x.a.rows();
  of.n = x.b.columns();
  of.row = row;
  of.column = column;
  of.alpha = x.alpha;
  of.beta = x.beta;
  if (x.has_c && x.beta != 0) of.c = reference::value_of(x.c.format(), x.c(row, column));
  if (x.has_bias) {
    const std::uint64_t code = x.bias(x.bias.rows() > 1 ? row : 0, x.bias.columns() > 1 ? column : 0);
    of.bias = reference::value_of(x.bias.format(), code);
  }
  return of;
}

/// A NaN may be any; where the format has none, it is a zero.
bool is_same(FormatId id, std::uint64_t code, const reference::Value& right) {
  const reference::Value got = reference::value_of(id, code);
  if (right.kind == reference::Value::Kind::nan && format(id).non_finite == NonFinite::none) return code == 0;
  if (got.kind != right.kind) return false;
  if (right.kind == reference::Value::Kind::nan) return true;
  return got.negative == right.negative && got.number == right.number;
}

void multiply_by(const GemmPlan& plan, Bytes& bytes, std::uint64_t seed) {
  constexpr int kDeepest = 512;  // of datapaths, above which the exact emulator takes long
  const Performer performer = performer_of(plan, "plan");
  const Datapath& datapath = performer.datapath;
  if (datapath.tree.k > kDeepest) return;
  const Example x = example(plan, performer, bytes, seed);
  const MatrixView c = x.c, bias = x.bias;
  const GemmInputs inputs{x.has_c ? &c : nullptr, x.has_bias ? &bias : nullptr, x.alpha, x.beta};
  const std::string text = plan_to_json(plan).dump();
  const Matrix d = gemm(plan, x.a, x.b, inputs, {.threads = 1});
  if (gemm(plan, x.a, x.b, inputs, {.threads = 2}) != d) wrong("a product depends on the number of threads", text);
  // The corners, which wide evaluators fill up, and one from anywhere.
  const std::size_t row = seed % d.rows(), column = seed / d.rows() % d.columns();
  for (const auto& [i, j] :
       {std::pair{d.rows() - 1, d.columns() - 1}, {std::size_t{0}, std::size_t{0}}, {row, column}}) {
    const std::uint64_t traced = trace_element(plan, x.a, x.b, inputs, i, j).d;
    if (!is_same(plan.output, traced, reference::value_of(plan.output, d(i, j))))
      wrong("an element, step by step, is not the product's",
            fmt::format("{}\nelement {}, {}: {:#x}, not {:#x}", text, i, j, traced, d(i, j)));
    const reference::Value right = reference::element(plan, datapath, element_operands(x, i, j));
    if (is_same(plan.output, d(i, j), right)) continue;
    wrong("a product is not what its plan says",
          fmt::format("{}\n{} × {} × {}, element {}, {}: {:#x}, expected {}{}", text, d.rows(), d.columns(),
                      x.a.columns(), i, j, d(i, j), right.negative ? "negative, " : "",
                      right.kind == reference::Value::Kind::finite     ? right.number.str()
                      : right.kind == reference::Value::Kind::infinite ? "infinite"
                                                                       : "NaN"));
  }
}

}  // namespace

bool read_a_plan(std::string_view input) {
  Bytes bytes(input);
  const InputPath file(bytes.until('\0'));
  GemmPlan plan;
  if (!accepted([&] { plan = read_plan(file.path()); }, file.path())) return false;
  if (plan_from_json(plan_to_json(plan), "again") != plan) wrong("a plan changes when it is written and read");
  multiply_by(plan, bytes, std::hash<std::string_view>{}(input));
  return true;
}

/// Those with names and with datapaths of their own, and each again and again with more to do.
std::vector<std::string> plan_files() {
  constexpr int kOwn = 20, kMore = 3;  // of each
  std::vector<GemmPlan> plans;
  for (const NamedPlan& named : named_plans()) {
    for (const FormatId operands : named.operands) plans.push_back(named_plan(named.name, operands));
  }
  using enum FormatId;
  static constexpr std::array kSums = {fp32, fp32, fp16, bf16, fp8e4m3};
  static constexpr std::array kOutputs = {fp64,    tf32,        fp16, bf16, fp8e4m3, fp8e5m2, fp6e3m2,
                                          fp4e2m1, fp8e4m3fnuz, s32,  s8,   u8,      s4};
  static constexpr std::array kOverflows = {Overflow::ieee, Overflow::infinity, Overflow::max_finite};
  std::mt19937 random(1);
  const auto one_of = [&](const auto& values) { return values[random() % values.size()]; };
  const rc::Gen<Datapath> any = rc::gen::exec([] { return test::random_datapath(); });
  for (int i = 0; i < kOwn; ++i) {
    GemmPlan plan;
    plan.datapath = any(rc::Random(static_cast<std::uint64_t>(i)), kOwn).value();
    plans.push_back(plan);
  }
  for (std::size_t i = 0, named = plans.size(); i < kMore * named; ++i) {
    GemmPlan plan = plans[i % named];
    const std::size_t depth = performer_of(plan, "seed").depth();
    const bool integers = plan.output == FormatId::s32;
    plan.k_tile = 4 * depth;
    plan.slices = 1 << random() % 3;
    plan.slices_order = static_cast<SliceOrder>(random() % 4);
    plan.residue = static_cast<Residue>(random() % 2);
    plan.k_order = static_cast<KOrder>(random() % 2);
    if (random() % 2 == 0) plan.promote_every = (1 + random() % 3) * depth;
    plan.split_k = SplitK{.order = static_cast<PartOrder>(random() % 4)};
    const auto division = random() % 4;  // of k: into a number of parts, or into parts of so many products
    (division % 2 == 0 ? plan.split_k->chunk : plan.split_k->count) =
        division % 2 == 0 ? (1 + random() % 6) * depth : 2 + random() % 6;
    if (division == 0) plan.split_k->turns = 2 + random() % 5;
    if (division == 2) plan.split_k->rest = static_cast<Rest>(random() % 2);
    if (random() % 2 == 0)
      plan.split_k->tail = Tail{1 + random() % 8, 1 + random() % 20, static_cast<BlockLines>(random() % 2),
                                1 + random() % 2, 1 + random() % 9};
    plan.split_k->type = integers ? FormatId::s32 : one_of(kSums);
    plan.split_k->parts = integers ? FormatId::s32 : one_of(kSums);
    if (random() % 2 == 0) {
      plan.output = one_of(kOutputs);
      plan.output_overflow = one_of(kOverflows);
    }
    const Performer performer = performer_of(plan, "seed");
    const bool takes_alpha = !plan.datapath && performer.name == fma_of(performer.formats.a);
    plan.epilogue = {static_cast<AlphaPlace>(random() % (takes_alpha ? 4 : 2)), static_cast<BetaPlace>(random() % 3),
                     static_cast<BiasPlace>(random() % 4)};
    if (integers && plan.output == FormatId::s32 && random() % 2 == 0) plan.epilogue.type = FormatId::s32;
    if (!integers && format(plan.output).floating && static_cast<int>(plan.split_k->order) < 2 && random() % 2 == 0) {
      plan.split_k->epilogue = EpilogueOf::parts;
      plan.split_k->type = plan.output;
    }
    plan.output_rounding = static_cast<Rounding>(random() % 5);
    plans.push_back(plan);
  }
  std::vector<std::string> files;
  for (const GemmPlan& plan : plans) {
    files.push_back(plan_to_json(plan).dump());
    files.back() += '\0';
    for (int i = 0; i < 8; ++i) files.back() += static_cast<char>(random());
  }
  return files;
}

}  // namespace tcnum::fuzz
