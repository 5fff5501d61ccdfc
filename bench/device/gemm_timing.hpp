// Timing matrix products: by a kernel of ours, and by NVIDIA's library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probes/cublaslt.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

/// D = A · B with A m × k, B k × n; every dimension is a multiple of kGemmGranule.
struct GemmShape {
  std::size_t m = 0, n = 0, k = 0;
  /// Multiplications and additions.
  double operations() const { return 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
  friend bool operator==(const GemmShape&, const GemmShape&) = default;
};
inline constexpr std::size_t kGemmGranule = 16;

/// The formats of a product whose sums are fp32.
struct GemmFormats {
  FormatId operands = FormatId::fp16, results = FormatId::fp16;
};
/// Those that the kernel has.
inline constexpr std::array<GemmFormats, 3> kGemmFormats = {
    {{FormatId::fp16, FormatId::fp16}, {FormatId::bf16, FormatId::bf16}, {FormatId::fp8e4m3, FormatId::bf16}}};

/// How the kernel cuts a product: a block computes `rows` × `columns` of D at a time, `cluster_rows` ×
/// `cluster_columns` blocks that lie side by side share what they load.
struct GemmTile {
  unsigned rows = 128, columns = 128, cluster_rows = 1, cluster_columns = 1;
  unsigned cluster() const { return cluster_rows * cluster_columns; }
  friend bool operator==(const GemmTile&, const GemmTile&) = default;
};
/// Those that the kernel has.
std::span<const GemmTile> gemm_tiles();
inline constexpr unsigned kGemmStepBytes = 128;  ///< of a row of A or a column of B, along k: what is loaded at a time

/// How tiles follow each other: `band` rows of clusters side by side go through all columns, then the next ones; within
/// a band, column by column. Cluster c of a launch takes the places c, c + clusters, c + 2 · clusters, ….
struct GemmRaster {
  std::size_t rows = 1, columns = 1;  ///< of clusters of tiles
  std::size_t band = 8;

  constexpr std::size_t count() const { return rows * columns; }
  struct Place {
    std::size_t row, column;
  };
  constexpr Place place(std::size_t i) const {
    const std::size_t first = i / (band * columns) * band;
    const std::size_t height = rows - first < band ? rows - first : band;
    const std::size_t in_band = i - first * columns;
    return {first + in_band % height, in_band / height};
  }
};
/// The bands are as high as makes what so many blocks at work need as small as can be.
GemmRaster raster_of(const GemmShape& shape, const GemmTile& tile, unsigned blocks);

struct GemmWork {
  GemmFormats formats;
  GemmShape shape;
  /// What the kernel of ours does; none: the algorithm that the library's heuristic offers first.
  std::optional<GemmTile> tile;
  /// Operands change from launch to launch, so that none is in a cache when it is read first.
  unsigned launches = 1;
  /// How long the device rests before each launch, which is then timed alone; 0: launches follow each other.
  double rest_seconds = 0;
};

struct GemmTimes {
  double seconds = 0;                  ///< of a launch: of all of them together, divided by how many
  double clock_mhz = 0;                ///< of the SMs meanwhile; 0: it was too short to say, or the library's kernel
  std::vector<double> single_seconds;  ///< of each launch, where the device rests between them
  unsigned blocks = 0;                 ///< of ours
  /// Which operands the last launch had: A and B begin at these elements of the device's codes.
  std::size_t a_first = 0, b_first = 0;
  std::optional<LibraryAlgorithm> algorithm;  ///< the library's
};

}  // namespace tcnum
