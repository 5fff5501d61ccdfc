#include "element.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <span>
#include <utility>

#include "converted.hpp"
#include "plan.hpp"
#include "scales.hpp"
#include "sums.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kWhere = "explain";

/// Writes down the steps of the element.
class Follower final : public ElementWatch {
 public:
  Follower(std::size_t k, ElementTrace& trace) : k_(k), trace_(trace) {}

  void begin(const Performer& performer, const ConvertedOperand& a, const ConvertedOperand& b) override {
    performer_ = &performer;
    trace_.datapath = performer.datapath;
    const auto [of_a, of_b, c, d] = performer.formats;
    for (std::size_t i = 0; i < k_; ++i) {
      trace_.a.push_back(code_at(a.from(0, i, of_a), 0, 0, bytes_of(of_a)));
      trace_.b.push_back(code_at(b.from(i, 0, of_b), 0, 0, bytes_of(of_b)));
    }
  }
  std::uint64_t accumulate(const Accumulation& accumulation) override {
    const OperandFormats& formats = performer_->formats;
    const std::size_t depth = performer_->depth();
    const Format& f = format(formats.d);
    Problem& chain = trace_.chains.emplace_back(Problem{{}, {}, zero_code(f, false)});
    std::uint64_t code = chain.c;
    std::vector<Stretch> products;
    for (const Stretch& stretch : accumulation) {
      for (std::size_t at = 0; at < stretch.count; at += depth) {
        const Stretch taken = {stretch.first + at, std::min(depth, stretch.count - at)};
        take(trace_.a, taken, formats.a, chain.a);
        take(trace_.b, taken, formats.b, chain.b);
        std::vector<TracedNode> trace;
        code = trace_exact(performer_->datapath, std::span(chain.a).last(depth), std::span(chain.b).last(depth), code,
                           trace);
        const bool begins = products.empty();
        products = joined(std::move(products), {taken});
        trace_.steps.push_back({ElementStepKind::instruction, products, number_of(f, code), formats.d, code, begins});
      }
    }
    return code;
  }
  void begin(const ReductionStep& step) override {
    using enum ReductionStep::Kind;
    std::vector<Stretch>& to = products_[step.to];
    const bool is_first = step.kind == accumulate || (step.kind == promote && step.turn == 0);
    if (is_first) to.clear();
    if (step.kind == accumulate || step.kind == promote)
      to = joined(std::move(to), step.products);
    else if (step.kind != part)
      to = joined(std::move(to), products_[step.from]);
    now_ = step.to;
  }
  void end_reduction() override { now_ = 0; }
  void note(ElementStepKind kind, double result, FormatId id) override {
    const OutputRule rule{id, Rounding::nearest_even, Overflow::ieee, nan_of(performer_->datapath, id)};
    trace_.steps.push_back({kind, products_[now_], result, id, code_of(rule, result)});
  }

 private:
  /// The operands of an instruction, filled up with zeros.
  void take(const std::vector<std::uint64_t>& codes, const Stretch& taken, FormatId id,
            std::vector<std::uint64_t>& to) {
    const auto first = codes.begin() + static_cast<std::ptrdiff_t>(taken.first);
    to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(taken.count));
    to.insert(to.end(), performer_->depth() - taken.count, zero_code(format(id), false));
  }

  std::size_t k_;
  ElementTrace& trace_;
  const Performer* performer_ = nullptr;
  std::map<std::size_t, std::vector<Stretch>> products_;  ///< of each sum
  std::size_t now_ = 0;                                   ///< the sum at hand
};

Matrix part_of(const MatrixView& view, const Stretch& rows, const Stretch& columns) {
  Matrix part(view.format(), rows.count, columns.count);
  for (std::size_t i = 0; i < rows.count; ++i) {
    for (std::size_t j = 0; j < columns.count; ++j) part.set(i, j, code_at(view, rows.first + i, columns.first + j));
  }
  return part;
}

/// What one element has of a matrix beside A and B: all of the k that is there, and the line that is the element's, of
/// so many.
class PartOfElement {
 public:
  PartOfElement() = default;
  PartOfElement(const MatrixView* view, std::optional<Stretch> rows, std::optional<Stretch> columns) {
    if (view == nullptr) return;
    matrix_ = part_of(*view, rows.value_or(Stretch{0, view->rows()}), columns.value_or(Stretch{0, view->columns()}));
    view_.emplace(*matrix_);
  }
  const MatrixView* get() const { return view_ ? &*view_ : nullptr; }
  std::optional<double> number() const {
    return matrix_ ? std::optional(number_of(format(matrix_->format()), (*matrix_)(0, 0))) : std::nullopt;
  }

 private:
  std::optional<Matrix> matrix_;
  std::optional<MatrixView> view_;
};
/// Which of so many lines an element's line has, of `all` that there are: each has one, or several share one.
Stretch line_of(std::size_t line, std::size_t all, std::size_t lines, std::size_t sharing) {
  return {lines == 1 ? 0 : lines == all ? line : line / sharing, 1};
}

/// The sums that are there after a step, by their products.
using State = std::map<std::vector<Stretch>, std::uint64_t>;
std::vector<State> states_of(const ElementTrace& trace) {
  std::vector<State> states;
  State now;
  for (const ElementStep& step : trace.steps) {
    if (step.kind == ElementStepKind::output) break;
    const auto is_part_of = [&](const auto& sum) { return joined(sum.first, step.products) == step.products; };
    std::erase_if(now, is_part_of);
    now[step.products] = std::bit_cast<std::uint64_t>(step.result);
    states.push_back(now);
  }
  return states;
}
std::vector<Stretch> products_of(const State& state) {
  std::vector<Stretch> all;
  for (const auto& [products, code] : state) all = joined(std::move(all), products);
  return all;
}

}  // namespace

std::string_view name(ElementStepKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {"instruction", "promotion", "slices",  "part",  "parts",
                                                      "scale",       "epilogue",  "between", "output"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Stretch> joined(std::vector<Stretch> runs, const std::vector<Stretch>& more) {
  runs.insert(runs.end(), more.begin(), more.end());
  std::ranges::sort(runs);
  std::vector<Stretch> joined;
  for (const Stretch& run : runs) {
    if (joined.empty() || joined.back().first + joined.back().count < run.first)
      joined.push_back(run);
    else
      joined.back().count = std::max(joined.back().count, run.first + run.count - joined.back().first);
  }
  return joined;
}

ElementTrace trace_element(const GemmPlan& whole_plan, const MatrixView& a, const MatrixView& b,
                           const GemmInputs& inputs, std::size_t row, std::size_t column) {
  validate(whole_plan, kWhere);
  const Performer of_plan = performer_of(whole_plan, kWhere);
  check_shapes(a, b, inputs.c, kWhere);
  check_operand("A", a.format(), of_plan.formats.a, of_plan, kWhere);
  check_operand("B", b.format(), of_plan.formats.b, of_plan, kWhere);
  const std::size_t m = a.rows(), n = b.columns(), k = a.columns();
  if (inputs.bias != nullptr) check_bias(*inputs.bias, m, n, kWhere);
  if (row >= m || column >= n) {
    throw InputError(fmt::format("{}: element [{}, {}]; expected one of {} × {}", kWhere, row, column, m, n));
  }
  ElementTrace trace;
  trace.plan = whole_plan;
  if (!divides_k(whole_plan, m, n, row, column)) trace.plan.split_k.reset();
  GemmPlan plan = trace.plan;
  if (plan.split_k) plan.split_k->tail.reset();
  const Scales scales(plan, of_plan.formats.d, m, n, k, inputs, kWhere);  // which fit
  const auto part = [&](const MatrixView* view) {
    if (view == nullptr) return PartOfElement();
    return PartOfElement(view, line_of(row, m, view->rows(), 1), line_of(column, n, view->columns(), 1));
  };
  const bool has_c = inputs.c != nullptr && inputs.factor_of_c() != 0;
  const PartOfElement c = part(has_c ? inputs.c : nullptr), bias = part(inputs.bias);
  PartOfElement a_scales, b_scales;
  if (const MatrixView* const view = inputs.a_scales)
    a_scales = PartOfElement(view, line_of(row, m, view->rows(), 1), std::nullopt);
  if (const MatrixView* const view = inputs.b_scales)
    b_scales = PartOfElement(view, std::nullopt, line_of(column, n, view->columns(), kColumnsOfScale));
  const Matrix a_row = part_of(a, {row, 1}, {0, k}), b_column = part_of(b, {0, k}, {column, 1});
  trace.terms = {.alpha = inputs.alpha,
                 .beta = inputs.factor_of_c(),
                 .c = c.number(),
                 .bias = bias.number(),
                 .scaled = inputs.a_scales != nullptr || inputs.b_scales != nullptr};
  Follower follower(k, trace);
  Matrix d(plan.output, 1, 1);
  multiply_by({plan, of_plan, reduction_of(plan, of_plan.depth(), k), nullptr, &follower}, d, a_row, b_column,
              {.c = c.get(),
               .bias = bias.get(),
               .alpha = inputs.alpha,
               .beta = has_c ? inputs.factor_of_c() : 0,
               .a_scales = a_scales.get(),
               .b_scales = b_scales.get()},
              {.threads = 1});
  trace.d = d(0, 0);
  return trace;
}

SharedSteps shared_steps(const ElementTrace& one, const ElementTrace& other) {
  const std::vector<State> states = states_of(one), others = states_of(other);
  std::map<std::vector<Stretch>, std::vector<std::size_t>> by_products;  // of the others' steps
  for (std::size_t i = 0; i < others.size(); ++i) by_products[products_of(others[i])].push_back(i);
  SharedSteps shared;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto found = by_products.find(products_of(states[i]));
    if (found == by_products.end()) continue;
    const auto same = std::ranges::find_if(
        found->second, [&](std::size_t at) { return at >= shared.of_other && others[at] == states[i]; });
    if (same == found->second.end()) return shared;
    shared = {i + 1, *same + 1};
  }
  return shared;
}

}  // namespace tcnum
