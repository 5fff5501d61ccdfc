#include "producers.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "emu/parallel.hpp"
#include "src/fit/minimise.hpp"
#include "src/questions/battery.hpp"
#include "src/questions/packing.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {
namespace {

FormatId narrowest_c(const Tiles& answered, const std::vector<const Producer*>& producers) {
  FormatId narrowest = answered.c_format;
  for (const Producer* each : producers) {
    if (each->suspect.plan) continue;
    const FormatId c = each->suspect.of.front().datapath.numerics.c.format;
    if (format(c).storage_bits < format(narrowest).storage_bits) narrowest = c;
  }
  return narrowest;
}

/// So many products that whole steps of all make them; a plan may do something after some hundred.
int products_for(const std::vector<const Producer*>& producers) {
  int k = 1;
  bool any_plan = false;
  for (const Producer* each : producers) {
    k = std::lcm(k, each->k);
    any_plan |= each->suspect.plan.has_value();
  }
  if (any_plan || k > kMostDotProducts) k = kMostDotProducts;
  for (const Producer* each : producers) {
    if (!each->takes(static_cast<std::size_t>(k))) k = std::min(k, each->k);
  }
  return k;
}

std::vector<Problem> inputs_of(const Instruction& dot, std::uint64_t seed) {
  constexpr std::uint64_t kOfEach = 128;
  std::vector<Problem> inputs;
  for (CraftedProblem& each : battery(dot)) inputs.push_back(std::move(each.problem));
  for (const Distribution each : kAllRandom) {
    for (std::uint64_t i = 0; i < kOfEach; ++i) inputs.push_back(make_problem(dot, each, seed, i));
  }
  return inputs;
}

/// Which group each producer is in, numbered from 0 on.
using Groups = std::vector<std::size_t>;

/// Splits groups by results; says how many there are then.
std::size_t split(const Groups& groups, const std::vector<Codes>& results, std::size_t input, Groups& finer) {
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> numbers;
  finer.resize(groups.size());
  for (std::size_t s = 0; s < groups.size(); ++s)
    finer[s] = numbers.try_emplace({groups[s], results[s][input]}, numbers.size()).first->second;
  return numbers.size();
}

/// Results of each producer for one input.
std::vector<std::uint64_t> results_for(const Tiles& input, const std::vector<const Producer*>& producers) {
  std::vector<std::uint64_t> results;
  for (const Producer* each : producers) results.push_back(each->results(input)[0]);
  return results;
}

std::size_t different(std::vector<std::uint64_t> results) {
  std::ranges::sort(results);
  return static_cast<std::size_t>(std::unique(results.begin(), results.end()) - results.begin());
}

/// Without the terms that make no group more.
Problem thinned(Problem problem, const Instruction& dot, const std::vector<const Producer*>& producers) {
  const auto groups = [&](const Problem& of) {
    return different(results_for(tiles_of(dot, 1, 1, 1, [&](std::size_t) { return of; }), producers));
  };
  const std::size_t most = groups(problem);
  const auto try_without = [&](const Problem& less) {
    if (less != problem && groups(less) >= most) problem = less;
  };
  // Blocks of terms first, then ever smaller ones.
  for (std::size_t size = problem.a.size(); size > 0; size /= 2) {
    for (std::size_t first = 0; first < problem.a.size(); first += size) {
      Problem less = problem;
      for (std::size_t k = first; k < std::min(first + size, problem.a.size()); ++k) less.a[k] = less.b[k] = 0;
      try_without(less);
    }
  }
  Problem less = problem;
  less.c = 0;
  try_without(less);
  return problem;
}

}  // namespace

Separation separate(const Tiles& answered, const std::vector<const Producer*>& producers,
                    const IdentifyOptions& options) {
  const auto operand = [](FormatId id) { return id == FormatId::fp32 ? FormatId::tf32 : id; };
  Scaling scales;
  if (answered.scale_block != 0) scales = {ScaleKind::dot, options.scales, answered.scale_block};
  const Instruction dot = make_dot(answered.d_format, operand(answered.a_format), operand(answered.b_format),
                                   narrowest_c(answered, producers), products_for(producers), scales);
  std::vector<Problem> inputs = inputs_of(dot, options.seed);
  std::ranges::stable_sort(inputs, {}, terms_of);
  const Tiles packed = pack(dot, inputs);
  std::vector<Codes> results(producers.size());  // by producer, then by input
  in_parallel(producers.size(), all_threads(), [&](std::size_t s) {
    const Codes d = producers[s]->results(packed);
    results[s] = Codes(d.bytes_each(), inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::size_t on_diagonal = i % kPackSide;
      results[s].set(i, d[packed.c_index(i / kPackSide, on_diagonal, on_diagonal)]);
    }
  });

  Separation found;
  found.tried = inputs.size();
  found.groups = 1;
  Groups groups(producers.size(), 0);
  for (;;) {
    std::size_t best = inputs.size(), most = found.groups;
    Groups finer;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::size_t count = split(groups, results, i, finer);
      if (count <= most) continue;
      most = count;
      best = i;
    }
    if (best == inputs.size()) return found;
    if (found.inputs == 0) {
      const Problem thin = thinned(inputs[best], dot, producers);
      found.next = tiles_of(dot, 1, 1, 1, [&](std::size_t) { return thin; });
      found.results = results_for(found.next, producers);
    }
    found.groups = split(groups, results, best, finer);
    groups = finer;
    ++found.inputs;
  }
}

}  // namespace tcnum
