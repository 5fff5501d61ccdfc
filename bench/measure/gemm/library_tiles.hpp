// How cuBLASLt's algorithms divide a product, as the model of products has it.
#pragma once

#include <optional>

#include "product_work.hpp"

namespace tcnum::bench {

/// How an algorithm with these attributes divides a product of ours: its matrices are by columns, so that its rows are
/// our columns. None where cublaslt_tile() does not know the numbers.
std::optional<ProductTiling> library_tiling(int tile_id, int cluster_id, int split_k);

}  // namespace tcnum::bench
