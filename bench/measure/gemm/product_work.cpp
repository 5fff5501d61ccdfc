#include "product_model.hpp"

#include <algorithm>
#include <list>
#include <numeric>
#include <optional>

namespace tcnum::bench {
namespace {

constexpr std::size_t kLineBytes = 128, kSectorBytes = 32;
/// What ncu counted of lines that begin at odd multiples of 16 bytes (H200, lts__t_requests_srcunit_tex); and how many
/// times as many of rows that are shorter than a line and begin so (of 80 bytes).
constexpr double kRequestsOfMisaligned = 3.4, kTimesOfShort = 1.5;

/// Means over lines of so many bytes behind each other.
void put_requests(ProductWork& work, std::size_t pitch) {
  const std::size_t period = kLineBytes / std::gcd(pitch, kLineBytes);
  double requests = 0, sectors = 0;
  for (std::size_t i = 0; i < period; ++i) {
    const std::size_t begin = i * pitch % kLineBytes;
    const bool misaligned = begin % kSectorBytes != 0;
    requests += begin == 0 ? 1 : misaligned ? kRequestsOfMisaligned : 2;
    sectors += kLineBytes / kSectorBytes + (misaligned ? 1 : 0);
  }
  work.requests_per_line = requests / static_cast<double>(period);
  if (pitch < kLineBytes && pitch % kSectorBytes != 0) work.requests_per_line *= kTimesOfShort;
  work.sectors_per_line = sectors / static_cast<double>(period);
}

/// Tiles of 192 rows are three of wgmma's, which two warpgroups do not share: each has half of the columns. Where that
/// is no multiple of 16, results take so many times as long to be written as others: so the library's short products
/// say (H200, tiles of 192 × 208, 176 and 144; ncu counts the same bytes, requests and bank conflicts as of others).
constexpr double kTimesOfOddHalves = 1.8;
bool has_odd_halves(const GemmTile& tile) {
  constexpr unsigned kTwoWarpgroupsRows = 128, kColumns = 16;
  return tile.rows > kTwoWarpgroupsRows && tile.rows % kTwoWarpgroupsRows != 0 && tile.columns / 2 % kColumns != 0;
}

/// Panels of operands in the L2, by their numbers: the one that was read last is in front.
class KeptPanels {
 public:
  KeptPanels(std::size_t panels, double most) : places_(panels), most_(most) {}

  /// Bytes that are not there yet.
  double read(std::size_t panel, double bytes) {
    auto& place = places_[panel];
    if (place) {
      order_.splice(order_.begin(), order_, *place);
      return 0;
    }
    order_.push_front({panel, bytes});
    place = order_.begin();
    kept_ += bytes;
    return bytes;
  }
  void shrink() {
    while (kept_ > most_ && !order_.empty()) {
      kept_ -= order_.back().bytes;
      places_[order_.back().panel].reset();
      order_.pop_back();
    }
  }

 private:
  struct Panel {
    std::size_t panel;
    double bytes;
  };
  std::list<Panel> order_;
  std::vector<std::optional<std::list<Panel>::iterator>> places_;
  double most_, kept_ = 0;
};

/// Of more waves the others are as the later half of these, on average.
constexpr std::size_t kFollowedWaves = 1024;

void add(std::vector<Wave>& waves, const Wave& wave) {
  if (!waves.empty() && waves.back().alike(wave)) {
    ++waves.back().count;
  } else {
    waves.push_back(wave);
  }
}

/// Of `all` lines in pieces of `each`: those of piece i.
double lines_of(std::size_t i, std::size_t each, std::size_t all) {
  return static_cast<double>(std::min(each, all - std::min(all, i * each)));
}

/// Clusters that are at work together.
std::size_t clusters_of(const GemmTile& tile, unsigned blocks) {
  return std::max<std::size_t>(1, blocks / tile.cluster());
}
std::size_t part_bytes_of(const GemmShape& shape, const GemmFormats& formats, const ProductTiling& tiling) {
  return (shape.k + tiling.split_k - 1) / tiling.split_k *
         static_cast<std::size_t>(format(formats.operands).storage_bytes());
}

/// All but the waves.
ProductWork outline_of(const GemmShape& shape, const GemmFormats& formats, const ProductTiling& tiling,
                       const GemmRaster& raster) {
  const GemmTile& tile = tiling.tile;
  const std::size_t operand_bytes = format(formats.operands).storage_bytes(),
                    result_bytes = format(formats.results).storage_bytes();
  const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  ProductWork work;
  work.operations = shape.operations();
  work.bytes = (m * k + n * k) * static_cast<double>(operand_bytes) + m * n * static_cast<double>(result_bytes);
  const std::size_t part_bytes = part_bytes_of(shape, formats, tiling);
  work.steps = static_cast<double>((part_bytes + kGemmStepBytes - 1) / kGemmStepBytes);
  work.tile_area = static_cast<double>(tile.rows) * tile.columns;
  work.written_area = work.tile_area * (has_odd_halves(tile) ? kTimesOfOddHalves : 1);
  put_requests(work, shape.k * operand_bytes);

  // Blocks beyond the last line ask for nothing.
  const double mean_rows = m / static_cast<double>(raster.rows * tile.cluster_rows),
               mean_columns = n / static_cast<double>(raster.columns * tile.cluster_columns);
  work.tile_lines = mean_rows + mean_columns;
  work.lines = mean_rows / tile.cluster_columns + mean_columns / tile.cluster_rows;
  work.most_lines =
      std::min<double>(tile.rows, m) / tile.cluster_columns + std::min<double>(tile.columns, n) / tile.cluster_rows;
  work.result_bytes = mean_rows * mean_columns * static_cast<double>(result_bytes);
  if (tiling.split_k > 1) work.sum_bytes = m * n * sizeof(float) * tiling.split_k;
  return work;
}

/// So many tiles, of which each wave but the last has one for each cluster, and all else as this one has.
void put_waves(ProductWork& work, std::size_t items, std::size_t clusters, unsigned cluster, Wave wave) {
  const auto put = [&](std::size_t tiles, std::size_t count) {
    wave.blocks = static_cast<double>(tiles * cluster);
    wave.count = count;
    if (tiles * count > 0) work.waves.push_back(wave);
  };
  put(clusters, items / clusters);
  put(items % clusters, 1);
}

}  // namespace

ProductWork work_in_l2(const GemmShape& shape, const GemmFormats& formats, const ProductTiling& tiling,
                       unsigned blocks) {
  const GemmRaster raster = raster_of(shape, tiling.tile, blocks);
  ProductWork work = outline_of(shape, formats, tiling, raster);
  put_waves(work, raster.count() * tiling.split_k, clusters_of(tiling.tile, blocks), tiling.tile.cluster(), {});
  return work;
}

ProductWork work_of(const GemmShape& shape, const GemmFormats& formats, const ProductTiling& tiling, unsigned blocks,
                    double kept_bytes) {
  const GemmTile& tile = tiling.tile;
  const GemmRaster raster = raster_of(shape, tile, blocks);
  ProductWork work = outline_of(shape, formats, tiling, raster);
  const auto part_bytes = static_cast<double>(part_bytes_of(shape, formats, tiling));
  const std::size_t rows = std::size_t{tile.rows} * tile.cluster_rows,
                    columns = std::size_t{tile.columns} * tile.cluster_columns;
  const std::size_t parts = tiling.split_k, items = raster.count() * parts;
  const std::size_t clusters = clusters_of(tile, blocks);
  const std::size_t waves = (items + clusters - 1) / clusters, followed = std::min(waves, kFollowedWaves);
  const std::size_t all_panels = (raster.rows + raster.columns) * parts;
  KeptPanels panels(all_panels, kept_bytes);
  std::vector<std::size_t> last_wave(all_panels, waves);  ///< that read a panel; none yet
  Wave later;                                             ///< sums
  for (std::size_t w = 0; w < followed; ++w) {
    const std::size_t first = w * clusters, last = std::min(items, first + clusters);
    Wave wave;
    wave.blocks = static_cast<double>((last - first) * tile.cluster());
    const auto read = [&](std::size_t panel, double bytes) {
      if (last_wave[panel] != w) wave.panel_bytes += bytes;
      last_wave[panel] = w;
      wave.fresh_bytes += panels.read(panel, bytes);
    };
    for (std::size_t i = first; i < last; ++i) {
      const GemmRaster::Place place = raster.place(i / parts);
      const std::size_t part = i % parts;
      read(place.row * parts + part, lines_of(place.row, rows, shape.m) * part_bytes);
      read((raster.rows + place.column) * parts + part, lines_of(place.column, columns, shape.n) * part_bytes);
    }
    panels.shrink();
    if (w >= kFollowedWaves / 2) {
      later.panel_bytes += wave.panel_bytes;
      later.fresh_bytes += wave.fresh_bytes;
    }
    add(work.waves, wave);
  }
  if (waves > followed) {
    constexpr auto kLater = static_cast<double>(kFollowedWaves - kFollowedWaves / 2);
    put_waves(work, items - followed * clusters, clusters, tile.cluster(),
              {.panel_bytes = later.panel_bytes / kLater, .fresh_bytes = later.fresh_bytes / kLater});
  }
  return work;
}

}  // namespace tcnum::bench
