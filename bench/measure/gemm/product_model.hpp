// How long a matrix product takes, and what holds it up. A device is what was measured of it: rates by `bench tensor`
// and `bench memory`, and parameters that are fitted to products of the set "fit" that `bench gemm` timed, in bursts or
// one call at a time.
//
// Persistent blocks compute a wave of tiles at a time. A wave takes as long as the slowest of what it asks for: the
// tensor cores' instructions, the lines that come out of the L2, in bytes and in requests, and what DRAM has to bring;
// near a tie a little longer. What follows is not hidden: the epilogue of each wave, and of each launch its start.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/measure/record.hpp"
#include "gemm.hpp"

namespace tcnum::bench {

// What a product by tiles asks of a device: of its tensor cores, its L2 and its DRAM.

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

/// What is fitted.
struct ProductLaw {
  double start_us = 6;                      ///< of a launch: until the first operands are there, and after the last
  double step_cycles = 12;                  ///< of each step along k, beside its instructions
  double tile_cycles = 1200;                ///< of a tile of 128 × 128 results, to write them
  double l2_tera_bytes_per_second = 10;     ///< out of the L2, all SMs together; its clock does not follow the SMs'
  double coalesced_share = 0.4;             ///< of lines that come to an SM because another has just asked for them,
                                            ///< where tiles at work read little, and half of it where they read
  double coalesced_mega_bytes = 6;          ///< so much
  double requests_per_ns = 135;             ///< of lines, all SMs together
  double request_cycles = 1.2;              ///< that an SM takes for one
  double line_cycles = 2;                   ///< and for a line at least
  double dram_tera_bytes_per_second = 3.5;  ///< of 128 bytes here and there
  double dram_share_of_results = 0.5;       ///< of what is written, that its time shows
  // The SMs' clock gives way to the power that a product takes.
  double most_mhz = 1800, base_mhz = 2100;
  std::array<double, kGemmFormats.size()> math_mhz = {340, 290, 320};  ///< where the tensor cores are always busy
  double l2_mhz = 15, dram_mhz = 7;                                    ///< for a TB a second
};

struct LawParameter {
  std::string name;
  double* value;
};
/// All of them, by the names that records have.
std::vector<LawParameter> parameters_of(ProductLaw& law);

struct ProductDevice {
  std::string name;
  unsigned sms = 0;
  /// Of a wgmma with 64 rows, for each of its columns; by kGemmFormats.
  std::array<double, kGemmFormats.size()> column_cycles{};
  std::array<double, kGemmFormats.size()> tera_ops{};  ///< the highest that was measured
  double dram_bytes_per_second = 0;
  double l2_bytes = 0;  ///< that the latency shows
  ProductLaw law;
  std::optional<double> clock_mhz;  ///< that the SMs keep whatever they draw; none: the clock that power leaves
};

/// What a product may wait for.
inline constexpr std::array<const char*, 6> kProductLimits = {"tensor cores", "L2 bytes", "L2 requests",
                                                              "DRAM",         "epilogue", "start"};
struct Prediction {
  double microseconds = 0;
  double clock_mhz = 0;
  double sol_microseconds = 0;                          ///< "speed of light": of the tensor cores or of DRAM alone
  std::array<double, kProductLimits.size()> part_us{};  ///< that each would take alone, by kProductLimits
  std::size_t waves = 0;
  std::size_t limit = 0;  ///< the longest part
  bool power_limited = false;
};

/// `formats` is its place in kGemmFormats.
Prediction predict(const ProductDevice& device, std::size_t formats, const GemmShape& shape,
                   const ProductTiling& tiling);

/// The fastest of tilings such as cuBLASLt has: tiles of 64 to 256 rows and columns, clusters of up to 4 blocks, k in
/// up to 4 parts, where it leaves SMs without a tile.
struct BestTiling {
  ProductTiling tiling;
  Prediction prediction;
};
BestTiling best_tiling(const ProductDevice& device, std::size_t formats, const GemmShape& shape);

/// How an algorithm with these attributes divides a product of ours: its matrices are by columns, so that its rows are
/// our columns. None where cublaslt_tile() does not know the numbers.
std::optional<ProductTiling> library_tiling(int tile_id, int cluster_id, int split_k);

/// Times that were measured, of one kernel.
struct MeasuredProduct {
  std::size_t formats = 0;
  GemmShape shape;
  ProductTiling tiling;
  double microseconds = 0, clock_mhz = 0;  ///< 0: not known
};
/// Those of records of `bench gemm` over that set of shapes, by our kernel or by the library. None of algorithms whose
/// tile or cluster is not known.
std::vector<MeasuredProduct> measured_products(const Document& document, std::string_view set, bool by_library,
                                               Calls calls = Calls::in_bursts);

/// What other measurements say of the device; throws InputError, naming the file and the row that is missing.
ProductDevice measured_device(const Document& document, const std::string& file);
ProductLaw fit_law(const ProductDevice& device, std::span<const MeasuredProduct> products);

/// Puts the parameters of calls in bursts, and of single calls, into a record each, where the document has all that
/// they are fitted to.
void put_product_models(Document& document);
inline constexpr std::string_view kProductModel = "gemm model", kSingleProductModel = "single gemm model";
/// With the parameters that the document has. Throws InputError, naming the file and what is missing.
ProductDevice product_device(const Document& document, const std::string& file, Calls calls = Calls::in_bursts);

}  // namespace tcnum::bench
