// Whole tiles, node by node.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "dot_evaluation.hpp"

namespace tcnum {

/// Evaluates whole tiles: each row of A with kLanes columns of B at a time. Only the products' exponents and sums are
/// worked out side by side; the rest of each dot problem is a DotEvaluation's.
class TileEvaluation {
 public:
  TileEvaluation(const CpuPlan& plan, const DecodedTiles& decoded)
      : plan_(plan),
        decoded_(decoded),
        nodes_(plan.tree->nodes.size()),
        any_columns_(std::ranges::count(plan.evaluators, CpuEvaluator::columns) > 0),
        results_(kLanes * nodes_) {
    if (!any_columns_) return;
    for (auto* lanes : {&significand_, &exponent_, &natural_}) lanes->resize(decoded.tiles().k);
  }

  /// Results of tile t.
  void operator()(std::size_t t, Codes& d) {
    const Tiles& tiles = decoded_.tiles();
    for (std::size_t j = 0; j < tiles.n; j += kLanes) {
      const std::size_t columns = std::min(kLanes, tiles.n - j);
      if (any_columns_) load_columns(t, j, columns);
      for (std::size_t i = 0; i < tiles.m; ++i) {
        problems_.clear();
        for (std::size_t lane = 0; lane < columns; ++lane)
          problems_.push_back({plan_, decoded_.problem(t, i, j + lane), 0});
        evaluate();
        for (std::size_t lane = 0; lane < columns; ++lane) {
          d.set(tiles.c_index(t, i, j + lane), problems_[lane].to_code(results(lane)[nodes_ - 1]));
        }
      }
    }
  }

 private:
  using Problem = DotEvaluation<false>;

  Value128* results(std::size_t lane) { return &results_[lane * nodes_]; }

  void load_columns(std::size_t t, std::size_t first, std::size_t columns) {
    const DecodedNumbers& b = decoded_.b();
    const std::size_t k = decoded_.tiles().k;
    std::size_t at = decoded_.problem(t, 0, first).b;
    for (std::size_t lane = 0; lane < columns; ++lane) {
      for (std::size_t kk = 0; kk < k; ++kk, ++at) {
        significand_[kk][lane] = b.significand[at];
        exponent_[kk][lane] = b.exponent[at];
        natural_[kk][lane] = b.natural[at];
      }
    }
    // Lanes without a column keep what an earlier tile had there; nothing looks at their sums.
  }

  void evaluate() {
    for (Problem& one : problems_) one.begin();
    for (std::size_t number = 0; number < nodes_; ++number) {
      if (any_columns_ && plan_.evaluators[number] == CpuEvaluator::columns) {
        sum(number);
      } else {
        for (std::size_t lane = 0; lane < problems_.size(); ++lane) {
          problems_[lane].evaluate(number, results(lane));
        }
      }
    }
  }

  void sum(std::size_t number) {
    const SortedNode& node = plan_.tree->nodes[number];
    const Unit& unit = plan_.unit_of(node);
    const DecodedNumbers& a = decoded_.a();
    const bool natural = unit.zero_exponent.kind == ZeroExponentKind::natural;
    const std::size_t row = problems_[0].p.a;
    const ProductLanes products{node.products, a.significand.data() + row,
                                (natural ? a.natural : a.exponent).data() + row, significand_.data(),
                                (natural ? natural_ : exponent_).data()};
    const ExponentRange range = exponent_range(products);

    std::array<bool, kLanes> finite{};
    std::array<OtherTerms, kLanes> others;
    Lanes<std::int32_t> alignment = range.highest;
    for (std::size_t lane = 0; lane < problems_.size(); ++lane) {
      finite[lane] = problems_[lane].is_finite(node, results(lane));
      if (!finite[lane]) continue;
      problems_[lane].find_others(node, unit, results(lane), others[lane]);
      const bool any_zero = others[lane].any_zero || range.lowest[lane] <= kNotAligned32 / 2;
      alignment[lane] = alignment_of(unit, std::max(range.highest[lane], others[lane].highest_exponent), any_zero);
    }
    const Lanes<std::int64_t> sums = sum_products(products, problems_[0].product_cut(unit), alignment);
    for (std::size_t lane = 0; lane < problems_.size(); ++lane) {
      Problem& one = problems_[lane];
      Value128& result = results(lane)[number];
      if (finite[lane])
        one.total(node, unit, others[lane], alignment[lane], sums[lane], result);
      else
        result = one.sum_of_terms(node, results(lane));
    }
  }

  const CpuPlan& plan_;
  const DecodedTiles& decoded_;
  std::size_t nodes_;
  bool any_columns_;
  std::vector<Lanes<std::int32_t>> significand_, exponent_, natural_;  // of kLanes columns of B
  std::vector<Problem> problems_;                                      // one for each lane in use
  std::vector<Value128> results_;                                      // of each lane's nodes
};

}  // namespace tcnum
