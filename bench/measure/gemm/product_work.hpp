// What a matrix product by tiles asks of a device: of its tensor cores, its L2 and its DRAM.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/device/gemm_timing.hpp"

namespace tcnum::bench {

/// How a kernel divides a product: into tiles, and k into so many parts, of which the sums are added afterwards.
struct ProductTiling {
  GemmTile tile;
  unsigned split_k = 1;
};

/// Tiles that are computed at the same time, one by each block.
struct Wave {
  double blocks = 0;
  double panel_bytes = 0;  ///< of operands, that all its tiles together read
  double fresh_bytes = 0;  ///< of these, that are not in the L2 yet
  std::size_t count = 1;   ///< so many that are alike follow each other
  bool alike(const Wave& other) const {
    return blocks == other.blocks && panel_bytes == other.panel_bytes && fresh_bytes == other.fresh_bytes;
  }
};

/// A line is a row of A, or a column of B, for one step of kGemmStepBytes along k.
struct ProductWork {
  double operations = 0;  ///< 2 · m · n · k
  double bytes = 0;       ///< of A, B and D
  double steps = 0;       ///< of a tile
  double tile_lines = 0;  ///< that arrive at a block in a step, on average
  double lines = 0;       ///< that a block asks for in a step, on average: those of a cluster share
  double most_lines = 0;  ///< that any block asks for in a step
  /// Requests that a line becomes in the L2, and its sectors of 32 bytes. Lines that do not begin at a multiple of 128
  /// bytes are two requests; those that do not begin at a multiple of 32 bytes are more, and of five sectors.
  double requests_per_line = 1, sectors_per_line = 4;
  double tile_area = 0;     ///< rows × columns of a tile
  double written_area = 0;  ///< the same, more where it is written slowly
  double result_bytes = 0;  ///< of a tile, on average
  double sum_bytes = 0;     ///< of the sums of k's parts, which a second launch adds; 0: k is whole
  std::vector<Wave> waves;
};

/// `blocks` at most are at work together; the L2 keeps so many bytes, and gives up first what was longest not read.
ProductWork work_of(const GemmShape& shape, const GemmFormats& formats, const ProductTiling& tiling, unsigned blocks,
                    double kept_bytes);
/// The same as if all operands were in the L2 and took no room there, which needs no look at every tile.
ProductWork work_in_l2(const GemmShape& shape, const GemmFormats& formats, const ProductTiling& tiling,
                       unsigned blocks);

}  // namespace tcnum::bench
