// Who evaluates whole matrices at once, if somebody does.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "emu/cpu/matrix_codes.hpp"
#include "emu/cpu/panels/fma_chains.hpp"
#include "emu/cpu/panels/integers.hpp"
#include "emu/cpu/panels/product.hpp"
#include "emu/cpu/panels/trees.hpp"

namespace tcnum {

/// A datapath as panels take it.
using WidePlan = std::variant<panels::Plan, panels::IntegerPlan, panels::FmaChainPlan, panels::TreePlan>;
/// By the table of evaluators (emu/evaluators.cpp); nothing if no panels take it, or this machine has none.
std::optional<WidePlan> make_wide_plan(const Numerics& numerics, const SortedTree& tree);

class WideProduct {
 public:
  WideProduct(const Numerics& numerics, const SortedTree& tree) : plan_(make_wide_plan(numerics, tree)) {}
  explicit WideProduct(WidePlan plan) : plan_(std::move(plan)) {}

  bool is_taken() const { return plan_.has_value(); }
  /// If it is. The scales are those that the datapath has, if any.
  void multiply(const ProductShape& shape, const MatrixCodes<const std::byte>& a, const MatrixCodes<const std::byte>& b,
                const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d, unsigned threads,
                const BlockScales& scales = {}) const {
    std::visit(
        [&]<class Plan>(const Plan& plan) {
          if constexpr (std::is_same_v<Plan, panels::Plan> || std::is_same_v<Plan, panels::TreePlan>)
            panels::multiply(plan, shape, a, b, c, d, threads, scales);
          else
            panels::multiply(plan, shape, a, b, c, d, threads);
        },
        *plan_);
  }

 private:
  std::optional<WidePlan> plan_;
};

}  // namespace tcnum
