#include "structure.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace tcnum {
namespace {

constexpr Term kC{Term::Kind::accumulator, 0};

std::vector<Term> products_of(const std::vector<int>& block) {
  std::vector<Term> terms;
  for (int k : block) terms.push_back({Term::Kind::product, k});
  return terms;
}

/// Builds a tree whose nodes have the roles of what goes on; the last one is the result.
class TreeBuilder {
 public:
  Term sum(std::vector<Term> terms) { return node(kInnerSum, std::move(terms)); }
  Term add(Term x, Term y) { return node(kInnerAdd, {x, y}); }
  Term first_add(Term x, Term y) { return node(kFirstAdd, {x, y}); }
  /// A block's products, or the sums of its scaled groups.
  std::vector<Term> terms_of(const std::vector<int>& block, const Structure& s) {
    if (s.scaled.size == 0) return products_of(block);
    std::vector<Term> groups;
    for (std::vector<int>& group : blocks_of(block, s.scaled.size))
      groups.push_back(node(s.group_role(), products_of(group)));
    return groups;
  }
  Term products(const std::vector<int>& of) { return node(kProducts, products_of(of)); }
  Term halves(Term x, Term y) { return node(kHalves, {x, y}); }
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

void build_chain(TreeBuilder& build, const Structure& s) {
  const bool c_first = s.combination == Combination::chain;
  std::optional<Term> accumulator;
  if (c_first) accumulator = kC;
  for (const auto& block : s.blocks) {
    std::vector<Term> terms = build.terms_of(block, s);
    if (accumulator) terms.insert(terms.begin(), *accumulator);
    accumulator = build.sum(std::move(terms));
  }
  if (!c_first) build.add(kC, *accumulator);
}

/// Each block's products apart, then with what goes on.
void build_apart(TreeBuilder& build, const Blocks& blocks, Combination combination) {
  Term total = kC;
  for (const std::vector<int>& block : blocks) {
    if (combination == Combination::apart) {
      total = build.sum({build.products(block), total});
      continue;
    }
    std::array<std::vector<int>, 2> parts;
    for (std::size_t i = 0; i < block.size(); ++i) {
      parts[combination == Combination::apart_parity ? i % 2 : 2 * i / block.size()].push_back(block[i]);
    }
    const Term first = build.products(parts[0]), second = build.products(parts[1]);
    total = build.sum({build.halves(first, second), total});
  }
}

/// Of neighbours, in a balanced tree; an odd one stays as it is until there is another.
Term tree_of(TreeBuilder& build, std::vector<Term> sums) {
  while (sums.size() > 1) {
    std::vector<Term> next;
    for (std::size_t i = 0; i + 1 < sums.size(); i += 2) next.push_back(build.add(sums[i], sums[i + 1]));
    if (sums.size() % 2 != 0) next.push_back(sums.back());
    sums = std::move(next);
  }
  return sums[0];
}

/// c, and one tree of so many neighbours after the other. What is left over at the end is a smaller one.
void add_trees(TreeBuilder& build, bool first_apart, const std::vector<Term>& sums, std::size_t size) {
  Term total = kC;
  for (std::size_t i = 0; i < sums.size(); i += size) {
    const auto first = sums.begin() + static_cast<std::ptrdiff_t>(i);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(size, sums.size() - i));
    const Term sum = tree_of(build, {first, last});
    total = first_apart && i == 0 ? build.first_add(total, sum) : build.add(total, sum);
  }
}

void build_adds(TreeBuilder& build, const Structure& s) {
  std::vector<Term> sums;
  for (const auto& block : s.blocks) sums.push_back(build.sum(build.terms_of(block, s)));
  switch (s.combination) {
    case Combination::adds:
      return add_trees(build, false, sums, 1);
    case Combination::pairs:
      return add_trees(build, false, sums, 2);
    case Combination::group_trees:
      return add_trees(build, true, sums, static_cast<std::size_t>(s.group));
    case Combination::adds_then_c: {
      Term total = sums[0];
      for (std::size_t i = 1; i < sums.size(); ++i) total = build.add(total, sums[i]);
      build.add(kC, total);
      return;
    }
    default:
      build.add(kC, tree_of(build, sums));
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

Structure make_structure(Combination combination, Blocks blocks, ProductOrder order, int group, ScaledGroups scaled) {
  Structure s{combination, std::move(blocks), {}, order, group, scaled};
  TreeBuilder build;
  if (combination == Combination::chain || combination == Combination::chain_then_c)
    build_chain(build, s);
  else if (s.sums_apart())
    build_apart(build, s.blocks, combination);
  else
    build_adds(build, s);
  std::size_t k = 0;
  for (const auto& block : s.blocks) k += block.size();
  s.tree = std::move(build).finish(static_cast<int>(k));
  return s;
}

std::string text_of(const Structure& s) {
  static constexpr std::array<const char*, 10> kWords = {
      "c inside, blocks in a chain",
      "blocks in a chain, c added at the end",
      "block sums added to c one by one",
      "block sums added one by one, c at the end",
      "block sums added in pairs, pairs to c one by one",
      "block sums added in a tree, c at the end",
      "block sums added in trees of {}, trees to c one by one",
      "blocks summed apart, in a chain with c",
      "blocks' odd and even products summed apart, in a chain with c",
      "blocks' halves summed apart, in a chain with c"};
  std::string groups;
  if (s.scaled.size > 0)
    groups = fmt::format("; each {} products summed{} and then scaled", s.scaled.size, s.scaled.cut ? ", cut," : "");
  return fmt::format("{} block{} of {}, {}; {}{}", s.blocks.size(), s.blocks.size() == 1 ? "" : "s", s.block_k(),
                     text_of(s.order),
                     fmt::format(fmt::runtime(kWords[static_cast<std::size_t>(s.combination)]), s.group), groups);
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
  if (k >= 4 && k % 2 == 0) {
    std::vector<int> side_by_side;
    for (int i = 0; i < k / 2; ++i) side_by_side.insert(side_by_side.end(), {i, i + k / 2});
    orders.push_back({{Kind::halves}, std::move(side_by_side)});
  }
  return orders;
}

Blocks in_pairs(const Blocks& blocks) {
  Blocks pairs;
  for (std::size_t i = 0; blocks.size() % 2 == 0 && i < blocks.size(); i += 2) {
    std::vector<int>& pair = pairs.emplace_back(blocks[i]);
    pair.insert(pair.end(), blocks[i + 1].begin(), blocks[i + 1].end());
    std::ranges::sort(pair);
  }
  return pairs;
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
