// Where two plans of matrix products part: from which length on, how often and by how much, and what of them does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tcnum/diff.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {

/// Elements of products of one length K.
struct PlansAtLength {
  std::size_t k = 0;
  std::uint64_t tried = 0, different = 0;
  double max_ulps = 0;   ///< of finite results that differ: how many results lie between, and one
  double mean_ulps = 0;  ///< of the same
};

struct PlanDiff {
  FormatId a = FormatId::fp16, b = FormatId::fp16, output = FormatId::fp32;  ///< of the products that were tried
  bool equal = false;  ///< the plans say the same, whatever they are called
  std::vector<PlansAtLength> lengths;
  /// The smallest K for which a product was found that differs.
  std::optional<std::size_t> smallest_k;
  /// What the plans say otherwise. `decides`: the first with this of the second gives all of the second's results of
  /// the product of the smallest K.
  std::vector<FieldDiff> fields;
};

struct PlanDiffOptions {
  std::uint64_t seed = 1;
  std::size_t most_k = 65536;
  std::uint64_t multiply_adds =
      1 << 20;           ///< of one product, where K leaves room for that; few elements, if it is large
  unsigned threads = 0;  ///< 0: as many as the machine has
};

/// Products A · B of random matrices, for every power of two up to most_k. Two NaNs are the same result. Throws
/// InputError if the plans do not take the same formats, or their outputs are not of one.
PlanDiff diff(const GemmPlan& one, const GemmPlan& other, const PlanDiffOptions& options = {});

}  // namespace tcnum
