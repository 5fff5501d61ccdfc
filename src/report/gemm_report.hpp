// Plans, what a fit finds about them, and how far a product is from the exact one, for people and as JSON.
#pragma once

#include "tcnum/epilogue_fit.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/gemm_error.hpp"
#include "tcnum/gemm_fit.hpp"

namespace tcnum {

// --- What a plan does, for people.

/// Clauses with semicolons between them: "made of wgmma.m64n8k16.f32.f16.f16 of sm_90; promotes every 64 products to
/// fp32; k in 3 parts as equal as can be, added in order; results rounded to fp16". Fields that say nothing of a
/// product of A and B alone are left out. Throws InputError if there is no such instruction.
std::string plan_sentence(const GemmPlan& plan);

/// A number of the sums' format becomes one of D: "rounded to fp16 (toward_zero)".
std::string output_text(const GemmPlan& plan);

// --- What was found about the plan behind a matrix product, for people and as JSON.

/// Lines.
std::string gemm_fit_text(const GemmFit& fit, const GemmSubject& subject);
std::string epilogue_fit_text(const EpilogueFit& fit, const GemmSubject& subject);
/// The members of tcnum.gemm_fit/1 that say what was found.
nlohmann::ordered_json gemm_fit_json(const GemmFit& fit, const GemmSubject& subject);
/// All of tcnum.gemm_fit/1. `epilogue`: null where nobody looked for it.
nlohmann::ordered_json gemm_fit_document(const GemmFit& fit, const GemmSubject& subject,
                                         const EpilogueFit* epilogue = nullptr);

// --- How far a matrix product is from the exact one, for people and as JSON. docs/plans.md defines every figure.

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
