#include "evaluators.hpp"

#include <algorithm>
#include <array>

#include "emu/cpu/panels/fma_chains.hpp"
#include "emu/cpu/panels/integers.hpp"
#include "emu/cpu/panels/plan.hpp"
#include "emu/cpu/panels/trees.hpp"
#include "emu/cpu/requirements.hpp"
#include "emu/cpu/wide_product.hpp"
#include "emu/gpu/requirements.hpp"
#include "fma_chain.hpp"
#include "integer_sums.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum {
namespace {

/// An evaluator asks first something of the whole datapath and then, if it takes single nodes, of each node.
struct Evaluator {
  std::string_view name, does;
  WhyNot (*why_not)(const Numerics&, const SortedTree&);
  WhyNot (*why_not_node)(const cpu::NodeToTake&) = nullptr;
  WidePlan (*plan)(const Numerics&, const SortedTree&) = nullptr;  ///< of what takes wide tiles alone
};

WidePlan plan_panels(const Numerics& numerics, const SortedTree& tree) {
  return panels::make_plan({numerics, {}, tree.tree});
}
template <auto make>
WidePlan plan_by(const Numerics& numerics, const SortedTree& tree) {
  return make(numerics, tree);
}

WhyNot nothing_asked(const Numerics&, const SortedTree&) { return {}; }

/// In the order of CpuEvaluator.
constexpr std::array<Evaluator, 10> kCpuEvaluators = {{
    {"panels", "aligned sums of wide tiles and whole matrices, in the machine's fp64 or fp32", panels::why_no_panels,
     nullptr, plan_panels},
    {"integer panels", "sums of integers of wide tiles and whole matrices, in 32 bits", panels::why_no_integer_panels,
     nullptr, plan_by<panels::make_integer_plan>},
    {"fma panels", "chains of the machine's own FMAs, fp64 or fp32, of wide tiles and whole matrices",
     panels::why_no_fma_panels, nullptr, plan_by<panels::make_fma_chain_plan>},
    {"tree panels", "trees of sums that fp64 holds, of wide tiles and whole matrices", panels::why_no_tree_panels,
     nullptr, plan_by<panels::make_tree_plan>},
    {"fma chain", "the machine's own fp64 FMAs", why_no_fma_chain},
    {"integers", "sums of integers", why_no_integer_sums},
    {"columns", "aligned sums of 32-bit products, 8 columns of B side by side", cpu::why_not_node_by_node,
     cpu::why_not_columns},
    {"pairs in 64 bits", "exact sums of two terms", cpu::why_not_node_by_node, cpu::why_not_pairs_64},
    {"terms in 128 bits", "sums of any terms", cpu::why_not_node_by_node, cpu::why_not_terms_128},
    {"exact", "the definition, in integers of any size", nothing_asked},
}};
static_assert(kCpuEvaluators.size() == static_cast<std::size_t>(CpuEvaluator::exact) + 1);

/// In the order of GpuEvaluator.
constexpr std::array<Evaluator, 8> kGpuEvaluators = {{
    {"scaled patches", "patches of products times their block scales, of whole matrices", gpu::why_no_scaled_patches},
    {"scaled sums", "sums of integers times their block scales, of 4 x 4 elements of whole matrices",
     gpu::why_no_scaled_sums},
    {"fma chain", "the machine's own fp64 FMAs", gpu::why_no_fma_chain},
    {"integers", "sums of integers", gpu::why_no_integers},
    {"single precision", "the machine's own fp32 operations", gpu::why_no_single_precision},
    {"accumulations", "sums of products of whole matrices that go on unrounded to their sum with c, which is cut down",
     gpu::why_no_accumulations},
    {"brackets", "exact sums rounded once, of 4 x 4 elements of whole matrices, between bounds in fp64",
     gpu::why_no_brackets},
    {"patches", "aligned sums of 4 x 4 elements at once, in the machine's fp64", gpu::why_no_patches},
}};
static_assert(kGpuEvaluators.size() == static_cast<std::size_t>(GpuEvaluator::patches) + 1);

WhyNot why_not_all_nodes(const Evaluator& evaluator, const Numerics& numerics, const SortedTree& tree) {
  if (evaluator.plan != nullptr && !panels::are_here()) return "this machine has no fused multiply-adds of vectors";
  const WhyNot why_not = evaluator.why_not(numerics, tree);
  if (!why_not.empty() || evaluator.why_not_node == nullptr) return why_not;
  const unsigned short_results = cpu::units_of_short_results(numerics, tree);
  for (const SortedNode& node : tree.nodes) {
    const WhyNot of_node = evaluator.why_not_node({numerics, tree, node, short_results});
    if (!of_node.empty()) return of_node;
  }
  return {};
}

}  // namespace

std::optional<WidePlan> make_wide_plan(const Numerics& numerics, const SortedTree& tree) {
  if (!panels::are_here()) return std::nullopt;
  for (const Evaluator& evaluator : kCpuEvaluators) {
    if (evaluator.plan != nullptr && evaluator.why_not(numerics, tree).empty()) return evaluator.plan(numerics, tree);
  }
  return std::nullopt;
}

void choose_on_cpu(const Numerics& numerics, const SortedTree& tree, std::vector<CpuEvaluator>& of_nodes) {
  of_nodes.assign(tree.nodes.size(), CpuEvaluator::exact);
  std::size_t open = of_nodes.size();
  unsigned short_results = 0;
  auto answered = nothing_asked;  // rows that ask the same have one answer
  bool takes_it = true;
  for (std::size_t e = 0; e < kCpuEvaluators.size() && open > 0; ++e) {
    const Evaluator& evaluator = kCpuEvaluators[e];
    const auto id = static_cast<CpuEvaluator>(e);
    if (takes_wide_tiles_alone(id)) continue;
    if (evaluator.why_not != answered) {
      answered = evaluator.why_not;
      takes_it = evaluator.why_not(numerics, tree).empty();
      if (takes_it && evaluator.why_not_node != nullptr) short_results = cpu::units_of_short_results(numerics, tree);
    }
    if (!takes_it) continue;
    if (evaluator.why_not_node == nullptr) {
      std::ranges::fill(of_nodes, id);
      return;
    }
    for (std::size_t i = 0; i < of_nodes.size(); ++i) {
      const bool is_open = of_nodes[i] == CpuEvaluator::exact;
      if (!is_open || !evaluator.why_not_node({numerics, tree, tree.nodes[i], short_results}).empty()) continue;
      of_nodes[i] = id;
      --open;
    }
  }
}

GpuChoice choose_on_gpu(const Numerics& numerics, const SortedTree& tree, GpuWork work) {
  WhyNot why_not;
  for (std::size_t e = 0; e < kGpuEvaluators.size(); ++e) {
    const auto evaluator = static_cast<GpuEvaluator>(e);
    if (takes_matrices_alone(evaluator) && work != GpuWork::matrices) continue;
    const WhyNot its = kGpuEvaluators[e].why_not(numerics, tree);
    if (its.empty()) return {evaluator, {}};
    // Of a datapath with block scales the others say that it has them.
    if (!numerics.scales || why_not.empty() || takes_matrices_alone(evaluator)) why_not = its;
  }
  return {std::nullopt, why_not};
}

std::vector<EvaluatorAnswer> evaluators_of(const Datapath& datapath) {
  validate(datapath);
  const Numerics& numerics = datapath.numerics;
  const SortedTree tree(datapath.tree);
  std::vector<CpuEvaluator> on_cpu;
  choose_on_cpu(numerics, tree, on_cpu);
  std::vector<EvaluatorAnswer> answers;
  bool wide_tiles_taken = false;
  for (std::size_t e = 0; e < kCpuEvaluators.size(); ++e) {
    const Evaluator& evaluator = kCpuEvaluators[e];
    const WhyNot why_not = why_not_all_nodes(evaluator, numerics, tree);
    auto nodes = static_cast<std::size_t>(std::ranges::count(on_cpu, static_cast<CpuEvaluator>(e)));
    if (takes_wide_tiles_alone(static_cast<CpuEvaluator>(e)) && why_not.empty() && !wide_tiles_taken) {
      nodes = tree.nodes.size();
      wide_tiles_taken = true;
    }
    answers.push_back({Processor::cpu, evaluator.name, evaluator.does, nodes, why_not});
  }
  const GpuChoice on_gpu = choose_on_gpu(numerics, tree, GpuWork::matrices);
  for (std::size_t e = 0; e < kGpuEvaluators.size(); ++e) {
    const bool used = on_gpu.evaluator == static_cast<GpuEvaluator>(e);
    const Evaluator& evaluator = kGpuEvaluators[e];
    answers.push_back({Processor::gpu, evaluator.name, evaluator.does, used ? tree.nodes.size() : 0,
                       evaluator.why_not(numerics, tree)});
  }
  return answers;
}

}  // namespace tcnum
