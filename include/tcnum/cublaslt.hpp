// What plan a cuBLASLt algorithm follows, from what its configuration says of it. The library itself is not needed.
#pragma once

#include <cstddef>

#include "tcnum/gemm.hpp"

namespace tcnum {

/// Attributes of an algorithm, as cublasLtMatmulAlgoConfigGetAttribute() gives them, and of the product that it is for.
struct CublasLtConfiguration {
  FormatId a = FormatId::fp16, b = FormatId::fp16, d = FormatId::fp16;
  std::size_t k = 0;
  bool fast_accumulation = false;  ///< CUBLASLT_MATMUL_DESC_FAST_ACCUM, which fp8 has
  int id = 0;                      ///< CUBLASLT_ALGO_CONFIG_ID
  int stages = 0;                  ///< …_STAGES_ID, which says how many products of k a tile has
  int split_k = 1;                 ///< …_SPLITK_NUM
  int reduction = 0;               ///< …_REDUCTION_SCHEME
  int custom = 0;                  ///< …_CUSTOM_OPTION, which says in what order kernels of fp64 add parts
};

/// The plan of that algorithm on Hopper. vectors/sm_90/gemm.json has products that such plans give, bit for bit; what
/// no product there shows is Meta's `bitequiv` (facebookexperimental/triton, cublas_match), which rebuilds products on
/// an H100. Throws InputError for algorithms whose order of additions is not known.
GemmPlan cublaslt_plan(const CublasLtConfiguration& configuration);

}  // namespace tcnum
