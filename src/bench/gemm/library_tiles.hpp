// Tiles and clusters of cuBLASLt's algorithms, by the numbers that its configuration attributes have.
#pragma once

#include <optional>

#include "product_work.hpp"

namespace tcnum::bench {

/// How an algorithm with these attributes divides a product of ours: its matrices are by columns, so that its rows are
/// our columns. None where the numbers are unknown. Source: cublasLt.h of CUDA 13.0, cublasLtMatmulTile_t and
/// cublasLtClusterShape_t.
std::optional<ProductTiling> library_tiling(int tile_id, int cluster_id, int split_k);

}  // namespace tcnum::bench
