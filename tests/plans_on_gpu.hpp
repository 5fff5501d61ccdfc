// Plans whose instructions a GPU computes, and whether whole products by them have the bits of the CPU's.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "product_example.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum::test {

struct PlanOfOperands {
  GemmPlan plan;
  FormatId operands;  ///< of both
};

/// All that are known by name, and with what else a plan may say: each field that changes what is multiplied in which
/// order, or what is done between products.
inline std::vector<PlanOfOperands> plans_for_gpu() {
  std::vector<PlanOfOperands> plans;
  for (const NamedPlan& named : named_plans()) {
    for (const FormatId operands : named.operands) plans.push_back({named_plan(named.name, operands), operands});
  }
  const auto add = [&](FormatId operands, const auto& change) {
    GemmPlan plan = named_plan("nvjet", operands, FormatId::fp32);
    change(plan);
    plans.push_back({plan, operands});
  };
  add(FormatId::fp16, [](GemmPlan& p) { p.k_order = KOrder::descending; });
  add(FormatId::fp16, [](GemmPlan& p) {
    p.k_tile = 64;
    p.residue = Residue::first;
    p.slices = 4;
    p.slices_order = SliceOrder::folded;
  });
  add(FormatId::bf16, [](GemmPlan& p) {
    p.promote_every = 32;
    p.promote_rounding = Rounding::toward_zero;
  });
  add(FormatId::bf16, [](GemmPlan& p) {
    p.split_k = SplitK{.chunk = 96, .order = PartOrder::descending, .parts = FormatId::bf16};
    p.output = FormatId::bf16;
  });
  add(FormatId::fp16, [](GemmPlan& p) {
    p.k_tile = 32;
    p.split_k = SplitK{.count = 3, .order = PartOrder::pairs, .tail = Tail{32, 24, BlockLines::columns, 1, 3}};
  });
  return plans;
}

inline Matrix matrix_of(FormatId id, std::size_t rows, std::size_t columns, const Codes& codes) {
  Matrix matrix(id, rows, columns);
  for (std::size_t i = 0; i < codes.size(); ++i) matrix.set(i / columns, i % columns, codes[i]);
  return matrix;
}
inline Matrix drawn_matrix(FormatId id, std::size_t rows, std::size_t columns, Operands operands,
                           std::mt19937_64& random) {
  return matrix_of(id, rows, columns, draw_codes(random, id, rows * columns, operands));
}

/// Where a matrix is another than it should be, in words: the first element; empty if it is not.
inline std::string difference_of(const Matrix& found, const Matrix& right) {
  for (std::size_t i = 0; i < right.rows(); ++i) {
    for (std::size_t j = 0; j < right.columns(); ++j) {
      if (found(i, j) == right(i, j)) continue;
      return fmt::format("({}, {}) of {} x {} is {:#x}, not {:#x}", i, j, right.rows(), right.columns(), found(i, j),
                         right(i, j));
    }
  }
  return {};
}

/// The first element that the processors make differently, in words; empty if there is none.
inline std::string difference_of_processors(const PlanOfOperands& of, const ProductShape& shape, Operands operands,
                                            std::mt19937_64& random) {
  const auto& [m, n, k] = shape;
  const Matrix a = drawn_matrix(of.operands, m, k, operands, random);
  const Matrix b = drawn_matrix(of.operands, k, n, operands, random);
  const FormatId added = format(of.operands).floating ? FormatId::fp16 : FormatId::fp32;
  const Matrix c = drawn_matrix(added, m, n, Operands::numbers, random);
  const Matrix bias = drawn_matrix(added, 1, n, Operands::numbers, random);
  const MatrixView c_view = c, bias_view = bias;
  const GemmInputs with_epilogue{.c = &c_view, .bias = &bias_view, .alpha = 0.75, .beta = -2};
  for (const GemmInputs& inputs : {GemmInputs{}, with_epilogue}) {
    const Matrix on_cpu = gemm(of.plan, a, b, inputs, {.threads = 1});
    const Matrix on_gpu = gemm(of.plan, a, b, inputs, {.threads = 1, .processor = Processor::gpu});
    const std::string found = difference_of(on_gpu, on_cpu);
    if (!found.empty())
      return fmt::format("{} of {}, k = {}: {}", plan_to_json(of.plan).dump(), format(of.operands).name, k, found);
  }
  return {};
}

}  // namespace tcnum::test
