// How far a matrix product is from the exact one, for people and as JSON. docs/plans.md defines every figure.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "tcnum/gemm_error.hpp"

namespace tcnum {

/// What is compared, for those who read of it.
struct ComparedProduct {
  std::string file = {};           ///< that it comes from; empty: none
  const GemmPlan* plan = nullptr;  ///< that it follows; null: nobody knows
  std::string plan_name = {};
  std::size_t m = 0, n = 0, k = 0;
  std::optional<std::size_t> batches = {};  ///< none: it has no batch axis
  double alpha = 1, beta = 0;
};

/// Lines.
std::string gemm_error_text(const ErrorReport& report, const ComparedProduct& of);
/// tcnum.gemm_error/1.
nlohmann::ordered_json gemm_error_document(const ErrorReport& report, const ComparedProduct& of);

}  // namespace tcnum
