// What the ways of `tcnum gemm` share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "commands.hpp"
#include "src/files/product_matrices.hpp"
#include "tcnum/gemm_fit.hpp"

namespace tcnum {

/// The matrices that the options name. `required`: beside A and B.
ProductMatrices read_matrices(const GemmCommandOptions& options, bool with_d);

/// `tcnum gemm --fit`.
int run_gemm_fit(const GemmCommandOptions& options);

/// What a fit found, as lines and as tcnum.gemm_fit/1's members.
std::string fit_text(const GemmFit& fit, const GemmSubject& subject);
nlohmann::ordered_json fit_json(const GemmFit& fit, const GemmSubject& subject);

}  // namespace tcnum
