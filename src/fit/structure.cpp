#include "structure.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace tcnum {
namespace {

/// Builds a tree whose nodes have the roles of what goes on; the last one is the result.
class TreeBuilder {
 public:
  Term sum(std::vector<Term> terms) { return node(kInnerSum, std::move(terms)); }
  Term add(Term x, Term y) { return node(kInnerAdd, {x, y}); }
  Tree finish(int k) && {
    Node& last = tree_.nodes.back();
    last.unit = last.unit == kInnerSum ? kBlockSum : kAdd;
    tree_.k = k;
    return std::move(tree_);
  }

 private:
  Term node(int role, std::vector<Term> terms) {
    tree_.nodes.push_back({role, std::move(terms)});
    return {Term::Kind::node, static_cast<int>(tree_.nodes.size()) - 1};
  }
  Tree tree_;
};

constexpr Term kC{Term::Kind::accumulator, 0};

std::vector<Term> products_of(const std::vector<int>& block) {
  std::vector<Term> terms;
  for (int k : block) terms.push_back({Term::Kind::product, k});
  return terms;
}

void build_chain(TreeBuilder& build, const Blocks& blocks, bool c_first) {
  std::optional<Term> accumulator;
  if (c_first) accumulator = kC;
  for (const auto& block : blocks) {
    std::vector<Term> terms = products_of(block);
    if (accumulator) terms.insert(terms.begin(), *accumulator);
    accumulator = build.sum(std::move(terms));
  }
  if (!c_first) build.add(kC, *accumulator);
}

/// Sums of neighbours; an odd one stays as it is.
std::vector<Term> add_neighbours(TreeBuilder& build, const std::vector<Term>& sums) {
  std::vector<Term> next;
  for (std::size_t i = 0; i + 1 < sums.size(); i += 2) next.push_back(build.add(sums[i], sums[i + 1]));
  if (sums.size() % 2 != 0) next.push_back(sums.back());
  return next;
}

void build_adds(TreeBuilder& build, const Blocks& blocks, Combination combination) {
  std::vector<Term> sums;
  for (const auto& block : blocks) sums.push_back(build.sum(products_of(block)));
  if (combination == Combination::adds) {
    Term total = kC;
    for (const Term& t : sums) total = build.add(total, t);
  } else if (combination == Combination::adds_then_c) {
    Term total = sums[0];
    for (std::size_t i = 1; i < sums.size(); ++i) total = build.add(total, sums[i]);
    build.add(kC, total);
  } else if (combination == Combination::pairs) {
    Term total = kC;
    for (std::size_t i = 0; i + 1 < sums.size(); i += 2) total = build.add(total, build.add(sums[i], sums[i + 1]));
    if (sums.size() % 2 != 0) build.add(total, sums.back());
  } else {
    while (sums.size() > 1) sums = add_neighbours(build, sums);
    build.add(kC, sums[0]);
  }
}

}  // namespace

std::string text_of(const ProductOrder& order) {
  switch (order.kind) {
    case ProductOrder::Kind::one_block:
      return "one block";
    case ProductOrder::Kind::ascending:
      return "ascending k";
    case ProductOrder::Kind::descending:
      return "descending k";
    case ProductOrder::Kind::interleaved:
      return fmt::format("interleaved by {}", order.group);
    case ProductOrder::Kind::halves:
      return "k and k + K/2 side by side";
    case ProductOrder::Kind::found:
      return "in the order found";
  }
  return {};
}

int Structure::block_k() const {
  std::size_t most = 0;
  for (const auto& block : blocks) most = std::max(most, block.size());
  return static_cast<int>(most);
}

Structure make_structure(Combination combination, Blocks blocks, ProductOrder order) {
  TreeBuilder build;
  if (combination == Combination::chain || combination == Combination::chain_then_c)
    build_chain(build, blocks, combination == Combination::chain);
  else
    build_adds(build, blocks, combination);
  std::size_t k = 0;
  for (const auto& block : blocks) k += block.size();
  return {combination, std::move(blocks), std::move(build).finish(static_cast<int>(k)), order};
}

std::string text_of(const Structure& s) {
  static constexpr std::array<const char*, 6> kWords = {"c inside, blocks in a chain",
                                                        "blocks in a chain, c added at the end",
                                                        "block sums added to c one by one",
                                                        "block sums added one by one, c at the end",
                                                        "block sums added in pairs, pairs to c one by one",
                                                        "block sums added in a tree, c at the end"};
  return fmt::format("{} block{} of {}, {}; {}", s.blocks.size(), s.blocks.size() == 1 ? "" : "s", s.block_k(),
                     text_of(s.order), kWords[static_cast<std::size_t>(s.combination)]);
}

std::vector<OrderedProducts> product_orders(int k) {
  using Kind = ProductOrder::Kind;
  std::vector<int> ascending(static_cast<std::size_t>(k));
  std::iota(ascending.begin(), ascending.end(), 0);
  std::vector<OrderedProducts> orders = {{{Kind::ascending}, ascending},
                                         {{Kind::descending}, {ascending.rbegin(), ascending.rend()}}};
  for (int group = 1; group * 2 < k; group *= 2) {
    std::vector<int> halves;
    for (int half = 0; half < 2; ++half) {
      std::ranges::copy_if(ascending, std::back_inserter(halves), [&](int i) { return (i / group) % 2 == half; });
    }
    orders.push_back({{Kind::interleaved, group}, std::move(halves)});
  }
  if (k >= 4) {
    std::vector<int> side_by_side;
    for (int i = 0; i < k / 2; ++i) side_by_side.insert(side_by_side.end(), {i, i + k / 2});
    orders.push_back({{Kind::halves}, std::move(side_by_side)});
  }
  return orders;
}

Blocks blocks_of(const std::vector<int>& k, int size) {
  Blocks blocks;
  for (auto first = k.begin(); first != k.end();) {
    const auto last = first + std::min<std::ptrdiff_t>(size, k.end() - first);
    blocks.emplace_back(first, last);
    std::ranges::sort(blocks.back());
    first = last;
  }
  return blocks;
}

std::string shape_of(const Tree& tree, bool ordered) {
  std::vector<std::string> nodes;
  for (const Node& node : tree.nodes) {
    std::vector<std::string> terms;
    for (const Term& t : node.terms) {
      switch (t.kind) {
        case Term::Kind::accumulator:
          terms.emplace_back("c");
          break;
        case Term::Kind::product:
          terms.push_back(fmt::format("{}", t.index));
          break;
        case Term::Kind::node:
          terms.push_back(nodes[static_cast<std::size_t>(t.index)]);
          break;
      }
    }
    if (!ordered) std::sort(terms.begin(), terms.end());
    nodes.push_back(fmt::format("{}({})", node.unit, fmt::join(terms, " ")));
  }
  return nodes.empty() ? "" : nodes.back();
}

}  // namespace tcnum
