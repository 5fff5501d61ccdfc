#include "settling.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

namespace tcnum::panels {
namespace {

/// Of a number that may be anything up to there: its magnitude, and the power of two that it is aligned with.
struct Bound {
  double magnitude = 0, power = 0;
};

/// From this on nobody asks whether sums are finite.
constexpr double kTooLarge = 0x1p900;
/// More than what ends of sums, and sums rounded to odd, have more than sums.
constexpr double kSlack = 1 + 0x1p-10;

/// The last of so many fraction bits below a power of two; 0: there is none. Nothing if it is above that.
std::optional<double> unit_below(double power, int fraction_bits) {
  if (fraction_bits < 0) return std::nullopt;
  return fraction_bits == kExact ? 0.0 : std::ldexp(power, -fraction_bits);
}

/// After a step; nothing if that may be infinite. `alignment` is that of the sum.
std::optional<Bound> rounded(const TreeStep& step, double alignment, const Bound& x) {
  const double binade = step.step.from_alignment ? alignment : std::max(x.magnitude, step.least);
  const auto unit = unit_below(binade, step.step.fraction_bits);
  if (!unit) return std::nullopt;
  const double magnitude = (x.magnitude + *unit) * kSlack;
  if (magnitude >= step.overflow) return std::nullopt;
  return Bound{magnitude, std::max({magnitude, step.least, step.power_of_zero})};
}
std::optional<Bound> rounded(std::span<const TreeStep> steps, double alignment, std::optional<Bound> x) {
  for (const TreeStep& step : steps) {
    if (x) x = rounded(step, alignment, *x);
  }
  return x;
}

/// A node's sum of all terms but c, and of results with c.
std::optional<Bound> sum_of(const TreeNode& node, const Bound& product, const std::vector<Bound>& places) {
  Bound sum = {0, std::max(node.floor_power, node.zero_power)};
  const auto term = [&](const TreeTerm& t) { return t.is_product ? product : places[static_cast<std::size_t>(t.at)]; };
  for (const TreeTerm& t : node.terms) sum.power = std::max(sum.power, term(t).power);
  for (const TreeTerm& t : node.terms) {
    const auto unit = unit_below(sum.power, t.fraction_bits);
    if (!unit) return std::nullopt;
    sum.magnitude += (term(t).magnitude + *unit) * kSlack;
  }
  if (sum.magnitude >= kTooLarge || sum.power >= kTooLarge) return std::nullopt;
  return sum;
}

/// Of each node, whether c or a result with it is one of its terms.
std::vector<bool> nodes_with_c(const TreePlan& plan) {
  std::vector<bool> have_c(plan.places), nodes;
  have_c[kPlaceOfC] = true;
  for (const TreeNode& node : plan.nodes) {
    nodes.push_back(std::ranges::any_of(
        node.terms, [&](const TreeTerm& t) { return !t.is_product && have_c[static_cast<std::size_t>(t.at)]; }));
    have_c[static_cast<std::size_t>(node.place)] = nodes.back();
  }
  return nodes;
}

/// Whether no sum without c is infinite where products are below 2^top.
bool are_finite_without_c(const TreePlan& plan, const std::vector<bool>& with_c, int top) {
  const double most = std::ldexp(1.0, top);
  if (most >= plan.infinite_from) return false;
  const std::optional<Bound> product = rounded(plan.product.steps, most, Bound{most, most});
  if (!product) return false;
  std::vector<Bound> places(plan.places);
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const TreeNode& node = plan.nodes[i];
    std::optional<Bound> sum = sum_of(node, *product, places);
    if (sum && !with_c[i]) sum = rounded(node.result.steps, sum->power, sum);
    if (!sum) return false;
    places[static_cast<std::size_t>(node.place)] = with_c[i] ? Bound{} : *sum;
  }
  return true;
}

}  // namespace

Settling settling_of(const TreePlan& plan) {
  const auto wraps = [](const TreeSteps& of) {
    return std::ranges::any_of(of.steps, [](const TreeStep& s) { return s.step.overflow == Overflow::wrap; });
  };
  Settling settling;
  const std::vector<bool> with_c = nodes_with_c(plan);
  if (with_c.empty() || !with_c.back() || std::ranges::any_of(plan.nodes, wraps, &TreeNode::result)) return settling;
  settling.of_nans = !plan.nan.propagate;
  const Format& result = format(plan.result);
  const bool has_nan = result.floating && result.non_finite != NonFinite::none;
  if (plan.nan.propagate && has_nan && (plan.nan.code & nan_code(result)) == nan_code(result))
    settling.of_nan = plan.nan.code;
  const bool is_known = !plan.scales_sums && plan.operation == ProductOperation::multiply && !wraps(plan.product);
  int known = -800, open = 800;  // products are of fp64's numbers at most
  if (!is_known || !are_finite_without_c(plan, with_c, known)) return settling;
  while (open - known > 1) {
    const int middle = (known + open) / 2;
    (are_finite_without_c(plan, with_c, middle) ? known : open) = middle;
  }
  settling.of_infinities = known;
  return settling;
}

}  // namespace tcnum::panels
