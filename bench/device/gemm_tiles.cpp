#include <algorithm>
#include <array>
#include <cmath>

#include "gemm_timing.hpp"

namespace tcnum {

std::span<const GemmTile> gemm_tiles() {
  static constexpr std::array<GemmTile, 7> kTiles = {{{128, 64, 1, 1},
                                                      {128, 128, 1, 1},
                                                      {128, 128, 2, 1},
                                                      {128, 256, 1, 1},
                                                      {128, 256, 2, 1},
                                                      {256, 128, 1, 1},
                                                      {256, 128, 1, 2}}};
  return kTiles;
}

GemmRaster raster_of(const GemmShape& shape, const GemmTile& tile, unsigned blocks) {
  const std::size_t height = std::size_t{tile.rows} * tile.cluster_rows,
                    width = std::size_t{tile.columns} * tile.cluster_columns;
  GemmRaster raster{(shape.m + height - 1) / height, (shape.n + width - 1) / width, 1};
  // Of c clusters in b rows, b · height + c / b · width is least where both are the same.
  const double clusters = static_cast<double>(blocks) / tile.cluster();
  const double best = std::sqrt(clusters * static_cast<double>(width) / static_cast<double>(height));
  const double bands = std::max(1.0, std::round(static_cast<double>(raster.rows) / best));
  raster.band = static_cast<std::size_t>(std::ceil(static_cast<double>(raster.rows) / bands));
  return raster;
}

}  // namespace tcnum
