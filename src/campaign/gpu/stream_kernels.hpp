// A stream's tiles on a GPU: made there, put through the instruction by its Kernel, and compared with the CUDA
// emulator.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "emu/gpu/gpu_datapath.hpp"
#include "isa/sparsity.hpp"
#include "src/questions/stream/recipe.hpp"

namespace tcnum {

/// Division by a number that a kernel is given, of numbers below 2^16 and by 2 … 2^16.
struct Divider {
  std::uint32_t divisor = 2, factor = 1u << 31;
  Divider() = default;
  explicit Divider(int by)
      : divisor(static_cast<std::uint32_t>(by)),
        factor(static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + divisor - 1) / divisor)) {}
  constexpr int quotient(int x) const {
    return static_cast<int>(static_cast<std::uint64_t>(static_cast<std::uint32_t>(x)) * factor >> 32);
  }
  constexpr int rest(int x) const { return x - quotient(x) * static_cast<int>(divisor); }
};

/// Device pointers to `count` tiles of a stream of dot problems, the first of which is number `first`. Each is a grid
/// of instruction tiles, as DeviceTiles has them.
struct StreamTiles {
  StreamTiles(const Instruction& in)
      : shape(stream_shape(in)),
        depth(in.k),
        group(in.sparse() ? group_of(in).size : 0),
        ascending(in.sparsity == Sparsity::ascending),
        k(shape.k),
        n(shape.n),
        tile_m(in.m),
        tile_n(in.n),
        grid_columns(shape.n / in.n) {}

  void *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr;
  std::uint8_t* e =
      nullptr;  ///< of sparse instructions: where A's elements stand in their groups, as a_index() has them
  std::uint64_t first = 0, count = 0;
  cudaStream_t stream = nullptr;  ///< of commands, that kernels are started in
  StreamShape shape;
  int depth;       ///< of B: the instruction's k
  int group;       ///< of so many elements along it half are stored; 0: not sparse
  bool ascending;  ///< as mma.sp::ordered_metadata wants them
  Divider k, n, tile_m, tile_n;
  int grid_columns;

  /// Elements of a tile's a (and e), b, and c or d.
  constexpr unsigned a_elements() const { return static_cast<unsigned>(shape.m * shape.k); }
  constexpr unsigned b_elements() const { return static_cast<unsigned>(shape.n * depth); }
  constexpr unsigned c_elements() const { return static_cast<unsigned>(shape.problems()); }

  /// Indices of elements in all of the tiles' a, b, and c or d. Columns of an instruction tile lie side by side, its
  /// rows tile_n apart.
  constexpr std::uint64_t a_index(std::uint64_t tile, int row, int kk) const {
    return tile * a_elements() + static_cast<unsigned>(row * shape.k + kk);
  }
  constexpr std::uint64_t b_index(std::uint64_t tile, int kk, int column) const {
    return tile * b_elements() + static_cast<unsigned>(kk) * tile_n.divisor + column_of_b(column);
  }
  /// From an element of b's first column to that of another.
  constexpr unsigned column_of_b(int column) const {
    const auto at = static_cast<unsigned>(tile_n.quotient(column));
    return at * static_cast<unsigned>(depth - 1) * tile_n.divisor + static_cast<unsigned>(column);
  }
  /// The row of B that meets stored element s of A; all rows of a tile select the same.
  __host__ __device__ int row_of_b(std::uint64_t tile, int s) const {
    if (group == 0) return s;
    const int stored = group / 2;
    return s / stored * group + e[a_index(tile, 0, s)];
  }
  constexpr std::uint64_t c_index(std::uint64_t tile, int row, int column) const {
    const int width = static_cast<int>(tile_n.divisor), height = static_cast<int>(tile_m.divisor);
    const int down = tile_m.quotient(row), across = tile_n.quotient(column);
    return tile * shape.problems() +
           static_cast<unsigned>(((down * grid_columns + across) * height + row - down * height) * width + column -
                                 across * width);
  }
};

/// What comparisons add to.
struct StreamResult {
  static constexpr int kMostExamples = 16;
  unsigned long long digest, mismatches;
  unsigned long long examples[kMostExamples];  ///< indices in the stream, of the first mismatches found
};

/// Fills a, b and c. What cudaGetLastError() says of the launch.
cudaError_t launch_stream_codes(const stream::Recipe& recipe, const StreamTiles& tiles);

/// Adds the digest of d to `result`, which is on the device, and where d is not what the datapath gives.
cudaError_t launch_comparison(const GpuDatapath& datapath, const StreamTiles& tiles, StreamResult* result);

}  // namespace tcnum
