#include "library_tiles.hpp"

#include <algorithm>

#include "tcnum/cublaslt.hpp"

namespace tcnum::bench {

std::optional<ProductTiling> library_tiling(int tile_id, int cluster_id, int split_k) {
  constexpr int kMostSplit = 64;  // the library has no more parts of k
  const auto tile = cublaslt_tile(tile_id, cluster_id);
  if (!tile || split_k > kMostSplit) return std::nullopt;
  return ProductTiling{{tile->columns, tile->rows, tile->cluster_columns, tile->cluster_rows},
                       static_cast<unsigned>(std::max(1, split_k))};
}

}  // namespace tcnum::bench
