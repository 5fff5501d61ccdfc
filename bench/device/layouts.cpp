// How copies cut their buffers, and matrix products their tiles.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "copy_timing.hpp"
#include "gemm_timing.hpp"

namespace tcnum {
namespace {

constexpr std::uint32_t kRowElements = 128 / kCopyElementBytes;
constexpr std::uint32_t kBoxesAcross = 4, kBoxesBetween = 2;

}  // namespace

BoxLayout box_layout(unsigned dimensions, std::size_t copy_bytes, std::size_t buffer_bytes) {
  const auto elements = static_cast<std::uint32_t>(copy_bytes / kCopyElementBytes);
  const auto copies = static_cast<std::uint32_t>(buffer_bytes / copy_bytes);
  BoxLayout layout;
  layout.dimensions = dimensions;
  layout.box[0] = elements;
  layout.boxes[0] = copies;
  if (dimensions == 1) return layout;

  // Powers of two throughout: the first dimensions take what does not divide.
  const int others = static_cast<int>(dimensions) - 1;
  int row_bits = std::clamp(std::countr_zero(elements) - std::countr_zero(kRowElements), 0,
                            std::countr_zero(kMostBoxElements) * others);
  layout.box[0] = elements >> row_bits;
  layout.boxes[0] = kBoxesAcross;
  std::uint32_t left = copies / kBoxesAcross;
  for (int i = 1; i <= others; ++i) {
    const int dimensions_left = others - i + 1, share = (row_bits + dimensions_left - 1) / dimensions_left;
    layout.box[i] = std::uint32_t{1} << share;
    row_bits -= share;
    layout.boxes[i] = i < others ? kBoxesBetween : left;
    left /= kBoxesBetween;
  }
  return layout;
}

std::size_t most_copy_bytes(const CopyMethod& method) {
  constexpr std::size_t kMost = std::size_t{64} << 10;  // of what is measured
  if (method.way != CopyWay::tensor || method.dimensions > 1) return kMost;
  return kMostBoxElements * kCopyElementBytes;
}

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
