#include "plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/printable.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

// --- Plans by name. Which products of hardware they explain is in docs/plans.md; what is said of the others is their
// --- source's.

constexpr std::string_view kMeasured = "matrix products of cuBLASLt on an H200 and an H100";
constexpr std::string_view kCutlass = "CUTLASS 3, include/cutlass/gemm/collective/fp8_accumulation.hpp";
constexpr std::string_view kDeepGemm = "DeepGEMM, deep_gemm/include/deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh";
constexpr std::string_view kTriton = "Triton, tl.dot on sm_90: wgmma, and max_num_imprecise_acc";

/// One kernel for operands of one format.
struct PlanRow {
  std::string_view name;
  FormatId operands;
  std::string_view instruction;
  FormatId output;
  std::optional<Rounding> convert = {};
  std::optional<std::size_t> promote_every = {};
  Residue residue = Residue::last;
  std::optional<std::size_t> k_tile = {};
};
using enum FormatId;
constexpr std::array<PlanRow, 24> kRows = {{
    {"nvjet", fp16, "wgmma.m64n8k16.f32.f16.f16", fp16},
    {"nvjet", bf16, "wgmma.m64n8k16.f32.bf16.bf16", bf16},
    {"nvjet-fp8", fp8e4m3, "wgmma.m64n8k32.f32.e4m3.e4m3", fp32},
    {"nvjet-fp8", fp8e5m2, "wgmma.m64n8k32.f32.e5m2.e5m2", fp32},
    {"nvjet-fp8-slow", fp8e4m3, "wgmma.m64n8k32.f32.e4m3.e4m3", fp32, {}, 128},
    {"nvjet-fp8-slow", fp8e5m2, "wgmma.m64n8k32.f32.e5m2.e5m2", fp32, {}, 128},
    {"cutlass2-tf32", fp32, "mma.m16n8k8.f32.tf32.tf32.f32", fp32, Rounding::nearest_even, {}, Residue::first, 16},
    {"cutlass2-tf32", tf32, "mma.m16n8k8.f32.tf32.tf32.f32", fp32, {}, {}, Residue::first, 16},
    {"cublas-fp32", fp32, "fma.rn.f32", fp32},
    {"deepgemm", fp8e4m3, "wgmma.m64n8k32.f32.e4m3.e4m3", bf16, {}, 128},
    {"cutlass-fp8-2xacc", fp8e4m3, "wgmma.m64n8k32.f32.e4m3.e4m3", fp32, {}, 128},
    {"cutlass-fp8-2xacc", fp8e5m2, "wgmma.m64n8k32.f32.e5m2.e5m2", fp32, {}, 128},
    {"triton", fp16, "wgmma.m64n8k16.f32.f16.f16", fp16},
    {"triton", bf16, "wgmma.m64n8k16.f32.bf16.bf16", bf16},
    {"triton", fp32, "wgmma.m64n8k8.f32.tf32.tf32", fp32},
    {"triton", tf32, "wgmma.m64n8k8.f32.tf32.tf32", fp32},
    {"triton", fp8e4m3, "wgmma.m64n8k32.f32.e4m3.e4m3", fp32},
    {"triton", fp8e5m2, "wgmma.m64n8k32.f32.e5m2.e5m2", fp32},
    {"chain", fp16, "wgmma.m64n8k16.f32.f16.f16", fp32},
    {"chain", bf16, "wgmma.m64n8k16.f32.bf16.bf16", fp32},
    {"chain", tf32, "wgmma.m64n8k8.f32.tf32.tf32", fp32},
    {"chain", fp32, "fma.rn.f32", fp32},
    {"chain", s8, "wgmma.m64n8k32.s32.s8.s8", s32},
    {"chain", fp64, "mma.m8n8k4.f64.f64.f64.f64", fp64},
}};

/// What the rows of one name are.
struct PlanText {
  std::string_view name, does, source;
};
constexpr std::array<PlanText, 9> kTexts = {{
    {"nvjet", "cuBLAS on Hopper: one chain of wgmma along k", kMeasured},
    {"nvjet-fp8", "cuBLAS on Hopper, fast accumulation: one chain of wgmma along k", kMeasured},
    {"nvjet-fp8-slow", "cuBLAS on Hopper without fast accumulation: the sum of every 128 of k to an fp32 total",
     kMeasured},
    {"cutlass2-tf32", "cuBLAS with TF32 allowed: operands to tf32, nearest even, one chain of mma along k", kMeasured},
    {"cublas-fp32", "cuBLAS without TF32: one chain of FMAs along k, by no tensor core", kMeasured},
    {"deepgemm", "the sum of every 128 of k, times its scales where there are any, to an fp32 total", kDeepGemm},
    {"cutlass-fp8-2xacc", "mma_promotion_interval of 4: the sum of every 128 of k to an fp32 total", kCutlass},
    {"triton", "one chain of wgmma along k; fp32 operands are read as tf32, cut", kTriton},
    {"chain", "one chain of the widest instruction along k", "tcnum, an example"},
}};

GemmPlan plan_of(const PlanRow& row) {
  GemmPlan plan;
  plan.name = row.name;
  plan.arch = "sm_90";
  plan.instruction = row.instruction;
  plan.convert_a = plan.convert_b = row.convert;
  plan.promote_every = row.promote_every;
  plan.residue = row.residue;
  plan.k_tile = row.k_tile;
  plan.output = row.output;
  return plan;
}

/// A field of a plan that is wrong.
[[noreturn]] void fail(std::string_view where, std::string_view field, std::string_view what) {
  throw InputError(fmt::format("{}: {}: {}", where, field, what));
}

/// Whether numbers can be rounded to it one by one.
bool is_output(FormatId id) { return format(id).has_sign || id == u8; }

void check_multiple(std::string_view where, std::string_view field, std::size_t value, std::size_t of,
                    std::string_view why) {
  if (value != 0 && value % of == 0) return;
  fail(where, field, fmt::format("{}; expected a multiple of {}, {}", value, of, why));
}

void check_split(const GemmPlan& plan, const Performer& performer, const std::string& where) {
  const SplitK& split = *plan.split_k;
  if (split.chunk == 0 && split.count == 0) {
    fail(where, "split_k.chunk", "0; expected how much of k a part takes, or count, which is how many parts there are");
  }
  if (split.chunk != 0 && split.count != 0)
    fail(where, "split_k.chunk", "stands beside count; expected one of the two");
  if (split.count == 1) fail(where, "split_k.count", "1; expected 2 or more");
  if (split.turns == 1) fail(where, "split_k.turns", "1; expected 2 or more");
  if (split.turns != 0 && split.chunk == 0)
    fail(where, "split_k.turns", "stands beside count; expected chunk, which is what a part takes at a time");
  if (split.rest == Rest::left_out && split.chunk == 0)
    fail(where, "split_k.rest", "left_out stands beside count; expected chunk, of which parts leave some of k over");
  if (split.rest == Rest::left_out && split.turns != 0)
    fail(where, "split_k.rest", "left_out stands beside turns; expected one of the two");
  if (split.count != 0 && !plan.k_tile)
    fail(where, "k_tile", "is missing; expected the k of a tile, of which each part takes whole ones");
  if (const auto& tail = split.tail) {
    for (const auto& [field, value] : {std::pair{"rows", tail->rows}, std::pair{"columns", tail->columns},
                                       std::pair{"band", tail->band}, std::pair{"blocks", tail->blocks}}) {
      if (value == 0) fail(where, fmt::format("split_k.tail.{}", field), "0; expected 1 or more");
    }
  }
  const bool integers = !format(performer.formats.d).floating;
  for (const auto& [field, id] : {std::pair{"split_k.type", split.type}, std::pair{"split_k.parts", split.parts}}) {
    const Format& f = format(id);
    const bool fits = integers ? id == s32 : f.floating && f.has_sign;
    if (!fits) {
      fail(where, field,
           fmt::format("{}; expected {}", f.name,
                       integers ? "s32, as the sums are" : "a floating-point format with a sign"));
    }
  }
  if (split.epilogue == EpilogueOf::parts) {
    if (integers) fail(where, "split_k.epilogue", "parts; expected total, as the sums are integers");
    if (split.order != PartOrder::ascending && split.order != PartOrder::descending)
      fail(where, "split_k.epilogue", "parts; expected total, or order ascending or descending");
    if (split.type != plan.output) {
      fail(where, "split_k.type",
           fmt::format("{}; expected {}, as D is, where each part has the epilogue", format(split.type).name,
                       format(plan.output).name));
    }
  }
}

void check_epilogue(const GemmPlan& plan, const Performer& performer, const std::string& where) {
  const Epilogue& epilogue = plan.epilogue;
  const FormatId sums = performer.formats.d;
  if (has_alpha_on_operand(plan) && !may_scale_operands(plan, performer)) {
    fail(where, "epilogue.alpha",
         fmt::format("expected first or fused, as {} takes no other operands", performer.name));
  }
  if (!epilogue.type) return;
  const std::string_view type = format(*epilogue.type).name;
  if (sums == s32 && plan.output == s32) {
    if (epilogue.type != s32 && epilogue.type != fp32)
      fail(where, "epilogue.type", fmt::format("{}; expected s32 or fp32", type));
  } else if (const FormatId right = usual_epilogue_type(sums); epilogue.type != right) {
    fail(where, "epilogue.type", fmt::format("{}; expected {}", type, format(right).name));
  }
}

}  // namespace

std::span<const NamedPlan> named_plans() {
  static const std::vector<NamedPlan> kNamed = [] {
    std::vector<NamedPlan> named;
    for (const PlanText& text : kTexts) {
      named.push_back({text.name, text.does, text.source, {}});
      for (const PlanRow& row : kRows) {
        if (row.name == text.name) named.back().operands.push_back(row.operands);
      }
    }
    return named;
  }();
  return kNamed;
}

GemmPlan named_plan(std::string_view name, FormatId operands, std::optional<FormatId> output) {
  std::string names, formats;
  for (const PlanText& text : kTexts) names += (names.empty() ? "" : ", ") + std::string(text.name);
  for (const PlanRow& row : kRows) {
    if (row.name != name) continue;
    formats += (formats.empty() ? "" : ", ") + std::string(format(row.operands).name);
    if (row.operands != operands) continue;
    GemmPlan plan = plan_of(row);
    plan.output = output.value_or(plan.output);
    return plan;
  }
  if (formats.empty()) {
    throw InputError(fmt::format("plan {} is unknown; expected one of {}, or a file", in_quotes(name), names));
  }
  throw InputError(fmt::format("plan {} takes no operands of {}; expected {}", name, format(operands).name, formats));
}

Performer performer_of(const GemmPlan& plan, std::string_view where) {
  if (plan.datapath) {
    if (!plan.account.empty()) fail(where, "account", "expected none, as there is a datapath");
    if (plan.datapath->numerics.scales)
      throw InputError(fmt::format("{}: datapath: scales; expected a datapath without scales", where));
    return own_performer(*plan.datapath, plan.arch, plan.instruction, where);
  }
  Performer performer = named_performer(named_arch(plan.arch, where), plan.instruction, plan.account, where);
  if (performer.datapath.numerics.scales) {
    throw InputError(fmt::format("{}: instruction {} has block scales, which plans have not yet; expected one without",
                                 where, performer.name));
  }
  return performer;
}

void validate(const GemmPlan& plan, std::string_view where_view) {
  const std::string where(where_view);
  const Performer performer = performer_of(plan, where);
  const auto& [a, b, c, d] = performer.formats;
  const std::size_t depth = performer.depth();
  if (c != d) {
    fail(where, "instruction",
         fmt::format("{} takes {} and gives {}; expected one that can be chained, whose c and d are of one format",
                     performer.name, format(c).name, format(d).name));
  }
  if (d != fp64 && d != s32 && (!format(d).floating || format(d).storage_bits > 32))
    fail(where, "instruction", fmt::format("gives {}; expected fp64, s32, or at most 32 bits", format(d).name));

  for (const auto& [field, convert, operand] :
       {std::tuple{"convert.a", plan.convert_a, a}, std::tuple{"convert.b", plan.convert_b, b}}) {
    if (convert && operand != tf32) {
      fail(where, field,
           fmt::format("expected \"none\", as {} takes {} as it is", performer.name, format(operand).name));
    }
  }
  if (plan.slices < 1 || plan.slices > kMostSlices) fail(where, "slices", fmt::format("expected 1 to {}", kMostSlices));
  const auto slices = static_cast<std::size_t>(plan.slices);
  if (slices > 1 && !plan.k_tile)
    fail(where, "k_tile", "is missing; expected the k of a tile, of which each slice takes its share");
  if (plan.k_tile) {
    check_multiple(where, "k_tile", *plan.k_tile, depth * slices,
                   slices == 1 ? fmt::format("the products of {}", performer.name)
                               : fmt::format("the products of {} for each slice", performer.name));
  }
  if (plan.promote_every)
    check_multiple(where, "promote_every", *plan.promote_every, depth, "the products of " + performer.name);
  if (plan.promote_rounding == Rounding::nearest_away)
    fail(where, "promote_rounding", "nearest_away; expected nearest_even, toward_zero, up or down");
  if (plan.split_k) check_split(plan, performer, where);
  check_epilogue(plan, performer, where);
  if (!is_output(plan.output))
    fail(where, "output",
         fmt::format("{}; expected a format whose numbers have signs, or u8", format(plan.output).name));
  if (plan.output_overflow == Overflow::wrap)
    fail(where, "output_overflow", "wrap; expected ieee, infinity or max_finite");
}

}  // namespace tcnum
