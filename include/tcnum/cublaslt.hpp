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
  int custom = 0;                  ///< …_CUSTOM_OPTION, which says in what order kernels of fp64 and fp32 add parts
  /// Whether what lies side by side in memory is of one k: of A with CUBLAS_OP_N, of B with CUBLAS_OP_T, where they are
  /// by columns, as D is. (A D by rows is that of B and A turned.)
  bool a_k_outermost = false, b_k_outermost = false;
  /// Leading dimensions (CUBLASLT_MATRIX_LAYOUT_LD); 0: what a column has, and no more. A vector's elements lie apart
  /// with another one, if k is outermost.
  std::size_t a_lead = 0, b_lead = 0;

  std::size_t m = 0, n = 0;  ///< rows and columns of D, as the library has it: by columns
  /// Whether alpha is not 1, or there is a C or a bias. Algorithms of which nobody has measured what they do with them
  /// are then refused; else the epilogue of their plan says nothing.
  bool has_epilogue = false;
  bool adds_to_d = false;  ///< whether C is what D holds before, and beta is 1
  // Where SPLITK_NUM is −1 the library divides k as the device has room, of some elements of D or of all, and it takes
  // all of this to say how.
  int tile = 0, cluster = 0;  ///< …_TILE_ID, …_CLUSTER_SHAPE_ID
  int swizzle = 0;            ///< …_CTA_SWIZZLING
  std::size_t workspace = 0;  ///< bytes that it takes: cublasLtMatmulHeuristicResult_t::workspaceSize
  /// For how many such clusters of blocks that fill a multiprocessor each the device has room at a time:
  /// cudaOccupancyMaxActiveClusters(). It may differ between devices of one name, which lack other multiprocessors.
  int clusters_at_once = 0;
};

/// How an algorithm divides D: the rows and columns of a tile, and the tiles of a cluster of thread blocks.
struct CublasLtTile {
  unsigned rows = 0, columns = 0;
  unsigned cluster_rows = 1, cluster_columns = 1;
};
/// By the numbers of its attributes TILE_ID and CLUSTER_SHAPE_ID: cublasLtMatmulTile_t and cublasLtClusterShape_t of
/// CUDA 13.0's cublasLt.h. None where they are none of these.
std::optional<CublasLtTile> cublaslt_tile(int tile_id, int cluster_id);

/// The plan of that algorithm on Hopper. The library's bias is of the rows of D as it has it, by columns: M × 1. The
/// surveys vectors/sm_90/gemm*.json have products that such plans give, bit for bit; what no product there shows is
/// Meta's `bitequiv` (facebookexperimental/triton, cublas_match), which rebuilds products on an H100. Throws InputError
/// for algorithms whose order of additions is not known.
GemmPlan cublaslt_plan(const CublasLtConfiguration& configuration);

}  // namespace tcnum
