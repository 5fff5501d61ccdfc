#include "plan.hpp"

#include "emu/units.hpp"

namespace tcnum {

CpuPlan::CpuPlan(const Tree& of, const Numerics& to) : tree(std::make_shared<const SortedTree>(of)) {
  set_numerics(to);
}

void CpuPlan::set_numerics(const Numerics& to) {
  numerics = to;
  choose_on_cpu(numerics, *tree, evaluators);
  scales_sums = tcnum::scales_sums(numerics);
  if (evaluator() == CpuEvaluator::fma_chain) fma_chain = fma_chain_of(numerics, *tree);
  if (evaluator() == CpuEvaluator::integers) integers = integer_units_of(numerics, *tree);
}

}  // namespace tcnum
