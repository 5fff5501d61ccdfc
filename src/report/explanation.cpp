#include "explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "tcnum/error.hpp"

namespace tcnum {
namespace {

std::span<const std::uint64_t> part(const std::vector<std::uint64_t>& codes, std::size_t number, std::size_t parts) {
  const std::size_t each = codes.size() / parts;
  return std::span(codes).subspan(number * each, each);
}

/// Whether the result is the only one of these that is not zero, or a zero as all of them are.
bool passes_on(const std::vector<const TracedNumber*>& terms, const TracedNumber& result) {
  const auto same = [&](const TracedNumber* term) {
    return term->negative == result.negative && ExactValue::of(*term) == ExactValue::of(result);
  };
  if (std::ranges::all_of(terms, same)) return !terms.empty() || ExactValue::of(result).is_zero();
  return std::ranges::count_if(terms, [](const TracedNumber* term) { return !ExactValue::of(*term).is_zero(); }) == 1 &&
         std::ranges::any_of(terms, same);
}

}  // namespace

ExactValue exact_product(const Numerics& n, const Problem& problem, std::size_t k) {
  const ExactValue a = ExactValue::of(format(n.a.format), problem.a[k]),
                   b = ExactValue::of(format(n.b.format), problem.b[k]);
  if (n.product.operation == ProductOperation::exclusive_or) {
    return ExactValue::of(format(FormatId::b1), a == b ? 0 : 1);
  }
  ExactValue product = a * b;
  if (n.scales) {
    const std::size_t block = k / static_cast<std::size_t>(n.scales->block_k);
    const Format& f = format(n.scales->format);
    product = product * ExactValue::of(f, problem.sa[block]) * ExactValue::of(f, problem.sb[block]);
  }
  return product;
}

void Summed::add(const Summed& other) {
  c = c || other.c;
  products.insert(products.end(), other.products.begin(), other.products.end());
  std::ranges::sort(products);
  std::size_t runs = 0;
  for (const auto& run : products) {
    if (runs > 0 && products[runs - 1].second + 1 == run.first)
      products[runs - 1].second = run.second;
    else
      products[runs++] = run;
  }
  products.resize(runs);
}

std::string Summed::text() const {
  std::string text = c ? "c" : "";
  if (products.empty()) return text;
  text += text.empty() ? "" : ", ";
  text += products.size() == 1 && products[0].first == products[0].second ? "product " : "products ";
  const auto run_text = [](const auto& run) {
    return run.first == run.second ? fmt::format("{}", run.first) : fmt::format("{} to {}", run.first, run.second);
  };
  constexpr std::size_t kMostRuns = 4;
  if (products.size() <= kMostRuns) {
    for (const auto& run : products) text += (&run == &products.front() ? "" : ", ") + run_text(run);
    return text;
  }
  return text + fmt::format("{}, {}, ..., {}", run_text(products[0]), run_text(products[1]), run_text(products.back()));
}

std::optional<std::size_t> Explanation::node_of(std::size_t node, const Term& term) const {
  const std::size_t first = node / nodes_each * nodes_each;  // of this evaluation
  if (term.kind == Term::Kind::node) return first + static_cast<std::size_t>(term.index);
  if (term.kind == Term::Kind::accumulator && first > 0) return first - 1;
  return std::nullopt;
}

std::string Explanation::term_name(std::size_t node, const Term& term) const {
  if (const auto other = node_of(node, term)) return fmt::format("sum {}", *other + 1);
  if (term.kind == Term::Kind::accumulator) return "c";
  return fmt::format("a[{0}]*b[{0}]", node / nodes_each * products_each + static_cast<std::size_t>(term.index));
}

Explanation explain(const Datapath& datapath, const Problem& problem) {
  const Numerics& n = datapath.numerics;
  const auto k = static_cast<std::size_t>(datapath.tree.k);
  const std::size_t links = std::max<std::size_t>(1, problem.a.size() / k);
  const Format& d = format(n.result);
  Explanation all;
  all.nodes_each = datapath.tree.nodes.size();
  all.products_each = k;
  all.exact = ExactValue::of(format(n.c.format), problem.c);  // even if the datapath ignores it
  all.d = problem.c;
  for (std::size_t link = 0; link < links; ++link) {
    std::vector<TracedNode> trace;
    all.d = trace_exact(datapath, part(problem.a, link, links), part(problem.b, link, links), all.d, trace,
                        part(problem.sa, link, links), part(problem.sb, link, links));
    for (std::size_t i = 0; i < trace.size(); ++i) {
      const std::size_t number = all.nodes.size();
      ExplainedNode node;
      node.unit = static_cast<std::size_t>(datapath.tree.nodes[i].unit);
      bool only_zeros = true;
      std::vector<const TracedNumber*> others;
      Summed own;  // products, which a chain has many of: they are put in order once
      for (const TracedTerm& t : trace[i].terms) {
        if (t.term.kind == Term::Kind::product) {
          const std::size_t at = link * k + static_cast<std::size_t>(t.term.index);
          own.products.emplace_back(at, at);
          const ExactValue product = exact_product(n, problem, at);
          only_zeros = only_zeros && product.is_zero();
          node.exact = node.exact + product;
          all.exact = all.exact + product;
          continue;
        }
        others.push_back(&t.value);
        if (const auto before = all.node_of(number, t.term)) {
          node.of.add(all.nodes[*before].of);
          node.exact = node.exact + all.nodes[*before].exact;
        } else {
          node.of.c = true;
          node.exact = node.exact + ExactValue::of(format(n.c.format), problem.c);
        }
      }
      node.of.add(own);
      node.result = ExactValue::of(trace[i].result);
      node.ulps = node.exact.ulps_to(node.result, d);
      node.idle = only_zeros && passes_on(others, trace[i].result);
      node.traced = std::move(trace[i]);
      all.nodes.push_back(std::move(node));
    }
  }
  all.ulps = all.exact.ulps_to(ExactValue::of(d, all.d), d);
  return all;
}

}  // namespace tcnum
