// What the ways of `tcnum gemm` share.
#pragma once

#include "commands.hpp"
#include "src/files/product_matrices.hpp"

namespace tcnum {

/// The matrices that the options name. `required`: beside A and B.
ProductMatrices read_matrices(const GemmCommandOptions& options, bool with_d);

/// `tcnum gemm --fit`.
int run_gemm_fit(const GemmCommandOptions& options);

}  // namespace tcnum
