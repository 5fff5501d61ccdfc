// Who evaluates whole matrices at once, if somebody does.
#pragma once

#include <type_traits>
#include <variant>

#include "emu/cpu/matrix_codes.hpp"
#include "emu/cpu/panels/fma_chains.hpp"
#include "emu/cpu/panels/integers.hpp"
#include "emu/cpu/panels/long_trees.hpp"
#include "emu/cpu/panels/operations.hpp"
#include "emu/cpu/panels/product.hpp"
#include "emu/cpu/panels/trees.hpp"

namespace tcnum {

using panels::BlockScales;
using panels::ProductShape;

/// A datapath as panels take it.
class WideProduct {
 public:
  WideProduct(const Numerics& numerics, const SortedTree& tree) {
    if (panels::are_here() && panels::why_no_panels(numerics, tree).empty())
      plan_ = panels::make_plan({numerics, {}, tree.tree});
    else if (panels::integers_are_here() && panels::why_no_integer_panels(numerics, tree).empty())
      plan_ = panels::make_integer_plan(numerics, tree);
    else if (panels::fma_panels_are_here() && panels::why_no_fma_panels(numerics, tree).empty())
      plan_ = panels::make_fma_chain_plan(numerics, tree);
    else if (panels::operation_panels_are_here() && panels::why_no_operation_panels(numerics, tree).empty())
      plan_ = panels::make_operation_plan(numerics, tree);
    else if (panels::tree_panels_are_here() && panels::why_no_tree_panels(numerics, tree).empty())
      plan_ = panels::make_tree_plan(numerics, tree);
    else if (panels::long_panels_are_here())
      plan_ = panels::make_long_plan(numerics, tree);
  }

  /// Whether they take it, and this machine can.
  bool is_taken() const { return !std::holds_alternative<std::monostate>(plan_); }
  /// If it is. The scales are those that the datapath has, if any.
  void multiply(const ProductShape& shape, const MatrixCodes<const std::byte>& a, const MatrixCodes<const std::byte>& b,
                const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d, unsigned threads,
                const BlockScales& scales = {}) const {
    std::visit(
        [&]<class Plan>(const Plan& plan) {
          if constexpr (kTakesScales<Plan>)
            panels::multiply(plan, shape, a, b, c, d, threads, scales);
          else if constexpr (!std::is_same_v<Plan, std::monostate>)
            panels::multiply(plan, shape, a, b, c, d, threads);
        },
        plan_);
  }

 private:
  template <class Plan>
  static constexpr bool kTakesScales = std::is_same_v<Plan, panels::Plan> || std::is_same_v<Plan, panels::TreePlan> ||
                                       std::is_same_v<Plan, panels::LongPlan>;
  std::variant<std::monostate, panels::Plan, panels::IntegerPlan, panels::FmaChainPlan, panels::OperationPlan,
               panels::TreePlan, panels::LongPlan>
      plan_;
};

}  // namespace tcnum
