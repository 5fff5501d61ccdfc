#include "element.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <span>
#include <type_traits>
#include <utility>

#include "converted.hpp"
#include "emu/machine_rounding.hpp"
#include "epilogue.hpp"
#include "plan.hpp"
#include "scales.hpp"
#include "sums.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kWhere = "explain";

/// All that is needed beside the plan.
struct Element {
  const GemmPlan& plan;
  const Performer& performer;
  std::size_t row, column;
  Scales scales;
  ElementTerms terms;
  OutputRule output;

  bool has_epilogue() const {
    return terms.alpha != 1 || terms.c || terms.bias || scales.are_last() || scales.are_in_alpha();
  }
  bool has_epilogue_of_parts() const { return plan.split_k && plan.split_k->epilogue == EpilogueOf::parts; }
};

/// Takes the steps. Sums are of this type.
template <class Sum>
class Follower {
 public:
  Follower(const Element& element, ElementTrace& trace) : element_(element), trace_(trace) {}

  void follow(const std::vector<PartWalk>& walk) {
    const PlainArithmetic plain;
    finish(added_up(walk));
  }

 private:
  /// A sum on the way.
  struct Partial {
    Sum number{};
    std::vector<Stretch> products;
  };
  static constexpr FormatId kSums = std::is_same_v<Sum, float>    ? FormatId::fp32
                                    : std::is_same_v<Sum, double> ? FormatId::fp64
                                                                  : FormatId::s32;

  const Partial& noted(ElementStepKind kind, const Partial& partial, FormatId id = kSums) {
    const OutputRule rule{id, Rounding::nearest_even, Overflow::ieee, nan_of(element_.performer.datapath, id)};
    const auto number = static_cast<double>(partial.number);
    trace_.steps.push_back({kind, partial.products, number, id, code_of(rule, number)});
    return partial;
  }
  static Partial sum_of_both(const Partial& x, const Partial& y) {
    return {sum_of(x.number, y.number), joined(x.products, y.products)};
  }

  Partial accumulated(const Accumulation& accumulation) {
    const OperandFormats& formats = element_.performer.formats;
    const Datapath& datapath = element_.performer.datapath;
    const std::size_t depth = element_.performer.depth();
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
        code = trace_exact(datapath, std::span(chain.a).last(depth), std::span(chain.b).last(depth), code, trace);
        const bool begins = products.empty();
        products = joined(std::move(products), {taken});
        trace_.steps.push_back({ElementStepKind::instruction, products, number_of(f, code), formats.d, code, begins});
      }
    }
    return {static_cast<Sum>(number_of(f, code)), std::move(products)};
  }
  /// The operands of an instruction, filled up with zeros.
  void take(const std::vector<std::uint64_t>& codes, const Stretch& taken, FormatId id,
            std::vector<std::uint64_t>& to) {
    const auto first = codes.begin() + static_cast<std::ptrdiff_t>(taken.first);
    to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(taken.count));
    to.insert(to.end(), element_.performer.depth() - taken.count, zero_code(format(id), false));
  }
  Partial total_of(const SliceWalk& slice) {
    if (!element_.plan.promote_every) return accumulated(slice.at(0));
    Partial total;
    for (std::size_t block = 0; block < slice.size(); ++block) {
      const Partial more = accumulated(slice[block]);
      std::vector<Stretch> products = joined(total.products, more.products);
      if (element_.scales.are_in_promotions()) {
        total.number = static_cast<Sum>(element_.scales.added(
            static_cast<float>(total.number), static_cast<float>(more.number), element_.row, element_.column, block));
      } else {
        const MachineRounding rounding(element_.plan.promote_rounding);
        add(total.number, more.number);
      }
      total.products = std::move(products);
      noted(ElementStepKind::promotion, total);
    }
    return total;
  }
  /// In the rounding that the machine has just been told.
  [[gnu::noinline]] static void add(Sum& to, const Sum& more) { to = sum_of(to, more); }

  Partial sum_of_slices(const PartWalk& part) {
    std::vector<Partial> slices;
    for (const SliceWalk& slice : part) slices.push_back(total_of(slice));
    add_slices_up(element_.plan, slices.size(), [&](std::size_t onto, std::size_t slice) {
      slices[onto] = noted(ElementStepKind::slices, sum_of_both(slices[onto], slices[slice]));
    });
    return std::move(slices.at(0));
  }

  /// In another format, that of parts of k or of their sums.
  Partial rounded(FormatId id, Partial partial) const {
    if (id == kSums) return partial;
    const OutputRule rule{id, Rounding::nearest_even, Overflow::ieee, nan_of(element_.performer.datapath, id)};
    partial.number = rounded_to<Sum>(rule, partial.number);
    return partial;
  }
  Partial sum_of_part(const SplitK& split, const PartWalk& walk) {
    Partial part = rounded(split.parts, sum_of_slices(walk));
    if (split.parts != kSums) noted(ElementStepKind::part, part, split.parts);
    return part;
  }
  void add_part(const SplitK& split, const Partial& more, Partial& total) {
    total = noted(ElementStepKind::parts, rounded(split.type, sum_of_both(total, more)), split.type);
  }
  Partial added_up(const std::vector<PartWalk>& walk) {
    if (!element_.plan.split_k) return sum_of_slices(walk.at(0));
    const SplitK& split = *element_.plan.split_k;
    if (split.epilogue == EpilogueOf::parts) return by_epilogue(split, walk);
    std::vector<Partial> sums;
    if (split.order == PartOrder::pairs) {
      add_in_pairs(
          walk.size(), [&](std::size_t part) { sums.push_back(sum_of_part(split, walk[part])); },
          [&] {
            const Partial last = std::move(sums.back());
            sums.pop_back();
            add_part(split, last, sums.back());
          });
      return rounded(split.type, sums.at(0));
    }
    if (split.order == PartOrder::fours) {
      add_in_fours(
          walk.size(),
          [&](std::size_t part, std::size_t onto) {
            if (onto == sums.size()) sums.emplace_back();
            add_part(split, sum_of_part(split, walk[part]), sums[onto]);
          },
          [&](std::size_t onto, std::size_t sum) { add_part(split, sums[sum], sums[onto]); });
      return sums.at(0);
    }
    Partial total;
    for (const PartWalk& part : walk) add_part(split, sum_of_part(split, part), total);
    return total;
  }
  Partial by_epilogue(const SplitK& split, const std::vector<PartWalk>& walk) {
    const BiasPlace bias = element_.plan.epilogue.bias;
    const bool bias_comes_first = bias == BiasPlace::first || (bias == BiasPlace::as_c && !element_.terms.c);
    Partial total;
    for (std::size_t part = 0; part < walk.size(); ++part) {
      const bool is_first = part == 0, is_last = part + 1 == walk.size();
      Partial sum = sum_of_part(split, walk[part]);
      EpilogueTerms<Sum> terms = terms_of<Sum>();
      if (!is_first) terms.c = total.number, terms.beta = 1;
      if (!(bias_comes_first ? is_first : is_last)) terms.bias.reset();
      total.products = joined(std::move(total.products), sum.products);
      sum.products = total.products;
      total.number = rounded_to<Sum>(element_.output, result_of<Sum>(sum.number, sum.products, terms));
      noted(ElementStepKind::parts, total, element_.plan.output);
    }
    return total;
  }

  template <class Number>
  EpilogueTerms<Number> terms_of() const {
    const ElementTerms& given = element_.terms;
    EpilogueTerms<Number> terms = {.alpha = static_cast<Number>(given.alpha), .beta = static_cast<Number>(given.beta)};
    if (element_.scales.are_in_alpha())
      terms.alpha =
          static_cast<Number>(element_.scales.alpha(static_cast<float>(terms.alpha), element_.row, element_.column));
    if (given.c) terms.c = static_cast<Number>(*given.c);
    if (given.bias) terms.bias = static_cast<Number>(*given.bias);
    return terms;
  }
  /// After the epilogue.
  template <class Number>
  Number result_of(Number sum, const std::vector<Stretch>& products, const EpilogueTerms<Number>& terms) {
    constexpr FormatId kNumbers = std::is_same_v<Number, float>    ? FormatId::fp32
                                  : std::is_same_v<Number, double> ? FormatId::fp64
                                                                   : FormatId::s32;
    const auto note = [&](ElementStepKind kind, Number number, FormatId id) {
      const OutputRule rule{id, Rounding::nearest_even, Overflow::ieee, nan_of(element_.performer.datapath, id)};
      const auto result = static_cast<double>(number);
      trace_.steps.push_back({kind, products, result, id, code_of(rule, result)});
    };
    if (element_.scales.are_last()) {
      sum = static_cast<Number>(element_.scales.scaled(static_cast<float>(sum), element_.row, element_.column));
      note(ElementStepKind::scale, sum, kNumbers);
    }
    const bool is_there = element_.terms.alpha != 1 || terms.alpha != Number{1} || terms.c || terms.bias;
    const Number result = with_epilogue(element_.plan.epilogue, sum, terms, [&](Number x) {
      const auto number = rounded_to<Number>(element_.output, x);
      note(ElementStepKind::between, number, element_.plan.output);
      return number;
    });
    if (is_there) note(ElementStepKind::epilogue, result, kNumbers);
    return result;
  }

  void finish(const Partial& total) {
    double last = static_cast<double>(total.number);
    const bool is_done = !element_.has_epilogue() || element_.has_epilogue_of_parts();
    const bool stays_integer = kSums == FormatId::s32 && ((is_done && !format(element_.output.format).floating) ||
                                                          element_.plan.epilogue.type == FormatId::s32);
    if (!is_done) {
      if (kSums == FormatId::s32 && !stays_integer)
        last =
            static_cast<double>(result_of<float>(static_cast<float>(total.number), total.products, terms_of<float>()));
      else
        last = static_cast<double>(result_of<Sum>(total.number, total.products, terms_of<Sum>()));
    } else if (kSums == FormatId::s32 && !stays_integer) {
      last = static_cast<float>(total.number);
    }
    trace_.d = code_of(element_.output, last);
    trace_.steps.push_back({ElementStepKind::output, total.products,
                            number_of(format(element_.output.format), trace_.d), element_.output.format, trace_.d});
  }

  const Element& element_;
  ElementTrace& trace_;
};

/// Of all rows, or columns, where there is one alone.
std::optional<double> number_at(const MatrixView* view, std::size_t row, std::size_t column) {
  if (view == nullptr) return std::nullopt;
  const std::uint64_t code = code_at(*view, view->rows() == 1 ? 0 : row, view->columns() == 1 ? 0 : column);
  return number_of(format(view->format()), code);
}

Matrix part_of(const MatrixView& view, const Stretch& rows, const Stretch& columns) {
  Matrix part(view.format(), rows.count, columns.count);
  for (std::size_t i = 0; i < rows.count; ++i) {
    for (std::size_t j = 0; j < columns.count; ++j) part.set(i, j, code_at(view, rows.first + i, columns.first + j));
  }
  return part;
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
    throw InputError(fmt::format("{}: element [{}, {}]; right would be one of {} × {}", kWhere, row, column, m, n));
  }
  ElementTrace trace;
  trace.plan = whole_plan;
  if (!divides_k(whole_plan, m, n, row, column)) trace.plan.split_k.reset();
  const GemmPlan& plan = trace.plan;
  const FormatId sums = of_plan.formats.d;
  // An alpha that operands take makes them numbers of the sums' format.
  const bool scales_operand = inputs.alpha != 1 && has_alpha_on_operand(plan);
  const Performer performer =
      scales_operand ? named_performer(named_arch(plan.arch, kWhere), fma_of(sums), "", kWhere) : of_plan;
  const std::uint64_t nan = nan_of(performer.datapath, FormatId::tf32);
  const auto operand = [&](const MatrixView& view, const std::optional<Rounding>& convert, AlphaPlace place) {
    if (!scales_operand) return ConvertedOperand(view, convert, nan, 1);
    return ConvertedOperand(view, sums, plan.epilogue.alpha == place ? inputs.alpha : 1, 1);
  };
  const Matrix a_row = part_of(a, {row, 1}, {0, k}), b_column = part_of(b, {0, k}, {column, 1});
  const ConvertedOperand a_codes = operand(a_row, plan.convert_a, AlphaPlace::on_a),
                         b_codes = operand(b_column, plan.convert_b, AlphaPlace::on_b);
  const Element element{
      plan,
      performer,
      row,
      column,
      Scales(plan, sums, m, n, k, inputs, kWhere),
      {.alpha = scales_operand ? 1 : inputs.alpha,
       .beta = inputs.factor_of_c(),
       .c = inputs.factor_of_c() == 0 ? std::nullopt : number_at(inputs.c, row, column),
       .bias = number_at(inputs.bias, row, column),
       .scaled = inputs.a_scales != nullptr || inputs.b_scales != nullptr},
      {plan.output, plan.output_rounding, overflow_of(plan), nan_of(performer.datapath, plan.output)}};
  const std::vector<PartWalk> walk = walk_of(plan, performer.depth(), k);
  trace.datapath = performer.datapath;
  trace.terms = element.terms;
  trace.terms.alpha = inputs.alpha;
  for (std::size_t i = 0; i < k; ++i) {
    const auto [of_a, of_b, c, d] = performer.formats;
    trace.a.push_back(code_at(a_codes.from(0, i, of_a), 0, 0, bytes_of(of_a)));
    trace.b.push_back(code_at(b_codes.from(i, 0, of_b), 0, 0, bytes_of(of_b)));
  }
  switch (sums) {
    case FormatId::fp64:
      Follower<double>(element, trace).follow(walk);
      break;
    case FormatId::s32:
      Follower<std::int32_t>(element, trace).follow(walk);
      break;
    default:
      Follower<float>(element, trace).follow(walk);
  }
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
