// What was found about the plan behind a matrix product, for people and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tcnum/epilogue_fit.hpp"
#include "tcnum/gemm_fit.hpp"

namespace tcnum {

/// Lines.
std::string gemm_fit_text(const GemmFit& fit, const GemmSubject& subject);
std::string epilogue_fit_text(const EpilogueFit& fit, const GemmSubject& subject);
/// The members of tcnum.gemm_fit/1 that say what was found.
nlohmann::ordered_json gemm_fit_json(const GemmFit& fit, const GemmSubject& subject);
/// All of tcnum.gemm_fit/1. `epilogue`: null where nobody looked for it.
nlohmann::ordered_json gemm_fit_document(const GemmFit& fit, const GemmSubject& subject,
                                         const EpilogueFit* epilogue = nullptr);

}  // namespace tcnum
