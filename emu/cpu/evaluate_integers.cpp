#include "evaluate_integers.hpp"

#include <array>
#include <span>

#include "multiversion.hpp"

namespace tcnum {
namespace {

template <class Product>
[[gnu::always_inline]] inline std::int32_t sum_of(const std::int32_t* a, const std::int32_t* b,
                                                  std::span<const int> terms, bool contiguous, const Product& product) {
  std::int32_t sum = 0;
  if (contiguous && !terms.empty()) {
    a += terms[0], b += terms[0];
    for (std::size_t i = 0; i < terms.size(); ++i) sum += product(a[i], b[i]);
  } else {
    for (const int k : terms) sum += product(a[k], b[k]);
  }
  return sum;
}

/// Σ a[k]·b[k], or of what else a product is, over the k in `terms`; `contiguous`: they ascend one by one.
TCNUM_ALSO_FOR("avx2")
std::int32_t sum_of_products(const std::int32_t* a, const std::int32_t* b, std::span<const int> terms, bool contiguous,
                             ProductOperation operation) {
  if (operation == ProductOperation::exclusive_or) {
    return sum_of(a, b, terms, contiguous, [](std::int32_t x, std::int32_t y) { return x ^ y; });
  }
  return sum_of(a, b, terms, contiguous, [](std::int32_t x, std::int32_t y) { return x * y; });
}

}  // namespace

std::uint64_t evaluate_integers(const CpuPlan& plan, const DecodedProblem& p, bool& overflowed) {
  const DecodedTiles& d = p.decoded;
  const std::int32_t *a = d.a().significand.data() + p.a, *b = d.b().significand.data() + p.b;
  std::array<std::int64_t, kMostIntegerNodes> results;  // each is written before it is read
  std::size_t number = 0;
  for (const SortedNode& node : plan.tree->nodes) {
    std::int64_t sum = sum_of_products(a, b, node.products, node.contiguous, plan.integers.operation);
    for (const Term& t : node.others) {
      sum += t.kind == Term::Kind::accumulator ? d.c().significand_at(p.c) : results[static_cast<std::size_t>(t.index)];
    }
    results[number++] = apply_steps(plan.integers.unit[static_cast<std::size_t>(node.unit)], sum, overflowed);
  }
  return static_cast<std::uint64_t>(results[number - 1]) & format(plan.numerics.result).code_mask();
}

}  // namespace tcnum
