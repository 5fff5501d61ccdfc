// Products of whole matrices on a GPU, host side: as much of the matrices at a time as its memory holds.
#include "product.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "cuda/device_memory.hpp"
#include "product_kernels.hpp"
#include "tcnum/error.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum {
namespace {

/// Adds the time that the GPU and this thread take for what is between.
class Clock {
 public:
  explicit Clock(double& to) : to_(to), start_(std::chrono::steady_clock::now()) {}
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  void stop() {
    check(cudaDeviceSynchronize(), "a product's kernels");
    to_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double& to_;
  std::chrono::steady_clock::time_point start_;
};

/// Rows × columns codes of a matrix, from a row and a column on.
struct Part {
  std::size_t row, column, rows, columns, bytes_each;
  std::size_t bytes() const { return rows * columns * bytes_each; }
  template <class Byte>
  Byte* at(const MatrixCodes<Byte>& m, std::size_t i) const {
    return m.codes + ((row + i) * m.row_stride + column * m.column_stride) * bytes_each;
  }
};

/// Between the host's matrix and the GPU's copy of a part, in which rows lie one behind the other.
void upload(const Part& part, const MatrixCodes<const std::byte>& from, DeviceBuffer& to) {
  to.reserve(part.bytes());
  const std::size_t row_bytes = part.columns * part.bytes_each;
  if (from.column_stride == 1 && from.row_stride >= part.columns) {
    check(cudaMemcpy2D(to.data(), row_bytes, part.at(from, 0), from.row_stride * part.bytes_each, row_bytes, part.rows,
                       cudaMemcpyHostToDevice),
          "cudaMemcpy2D to the device");
    return;
  }
  std::vector<std::byte> side_by_side(part.bytes());
  for (std::size_t i = 0; i < part.rows; ++i) {
    for (std::size_t j = 0; j < part.columns; ++j) {
      std::memcpy(side_by_side.data() + i * row_bytes + j * part.bytes_each,
                  part.at(from, i) + j * from.column_stride * part.bytes_each, part.bytes_each);
    }
  }
  to.upload(side_by_side);
}
void download(const Part& part, DeviceBuffer& from, const MatrixCodes<std::byte>& to) {
  const std::size_t row_bytes = part.columns * part.bytes_each;
  if (to.column_stride == 1 && to.row_stride >= part.columns) {
    check(cudaMemcpy2D(part.at(to, 0), to.row_stride * part.bytes_each, from.data(), row_bytes, row_bytes, part.rows,
                       cudaMemcpyDeviceToHost),
          "cudaMemcpy2D from the device");
    return;
  }
  std::vector<std::byte> side_by_side(part.bytes());
  from.download(side_by_side);
  for (std::size_t i = 0; i < part.rows; ++i) {
    for (std::size_t j = 0; j < part.columns; ++j) {
      std::memcpy(part.at(to, i) + j * to.column_stride * part.bytes_each,
                  side_by_side.data() + i * row_bytes + j * part.bytes_each, part.bytes_each);
    }
  }
}

/// How many rows of A and columns of B are on the GPU at a time.
struct Slab {
  std::size_t rows, columns;
};

/// Each matrix may fill an eighth of the memory, packed and as it came; what is left is for C and D.
Slab slab_for(const GpuChain& chain, const OperandFormats& formats, const ProductShape& shape, std::size_t memory) {
  constexpr std::size_t kStrip = GpuChain::kStrip;
  const auto lines = [&](bool is_a, FormatId id) {
    const std::size_t strip = chain.packed_bytes(is_a, kStrip) + kStrip * shape.k * bytes_of(id);
    return std::min(memory / 4 / strip * kStrip, ((is_a ? shape.m : shape.n) + kStrip - 1) / kStrip * kStrip);
  };
  Slab slab{lines(true, formats.a), lines(false, formats.b)};
  const std::size_t of_results = bytes_of(formats.c) + bytes_of(formats.d);
  if (slab.columns > 0) slab.rows = std::min(slab.rows, memory / 4 / (slab.columns * of_results) / kStrip * kStrip);
  if (slab.rows == 0 || slab.columns == 0)
    throw UnavailableError(
        fmt::format("the GPU has too little memory for {} rows and columns of a product with K = {}", kStrip, shape.k));
  return slab;
}

class Product {
 public:
  /// depth: of the chain along k, which begins with the product's.
  Product(const GpuDatapath& datapath, const OperandFormats& formats, const ProductShape& shape, std::size_t depth,
          const BlockScales& scales)
      : datapath_(datapath), formats_(formats), shape_(shape), scales_(scales), chain_(datapath, depth) {}

  GpuProductTimes compute(const MatrixCodes<const std::byte>& a, const MatrixCodes<const std::byte>& b,
                          const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d) {
    std::size_t free = 0, all = 0;
    check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
    const auto [rows, columns] = slab_for(chain_, formats_, shape_, free);
    bool a_is_there = false;  // if one slab is all
    for (std::size_t j = 0; j < shape_.n; j += columns) {
      const std::size_t n = std::min(columns, shape_.n - j);
      bring(false, {0, j, shape_.k, n, bytes_of(formats_.b)}, b, b_, packed_b_);
      for (std::size_t i = 0; i < shape_.m; i += rows) {
        const std::size_t m = std::min(rows, shape_.m - i);
        if (!a_is_there) bring(true, {i, 0, m, shape_.k, bytes_of(formats_.a)}, a, a_, packed_a_);
        a_is_there = m == shape_.m;
        multiply({i, j, m, n, 0}, c, d);
      }
    }
    return times_;
  }

 private:
  /// Copies and packs a part of A (or B).
  void bring(bool is_a, const Part& part, const MatrixCodes<const std::byte>& from, DeviceBuffer& codes,
             DeviceBuffer& packed) {
    Clock copies(times_.copies);
    upload(part, from, codes);
    GpuMatrices matrices;
    if (const auto block_k = static_cast<std::size_t>(datapath_.scaling.block_k); block_k != 0) {
      const std::size_t blocks = (shape_.k + block_k - 1) / block_k, bytes = datapath_.scaling.format.storage_bytes();
      upload(is_a ? Part{part.row, 0, part.rows, blocks, bytes} : Part{0, part.column, blocks, part.columns, bytes},
             is_a ? scales_.a : scales_.b, of_blocks_);
      (is_a ? matrices.a_scales : matrices.b_scales) = of_blocks_.data();
    }
    copies.stop();
    matrices.k = shape_.k;
    (is_a ? matrices.a : matrices.b) = codes.data();
    (is_a ? matrices.m : matrices.n) = is_a ? part.rows : part.columns;
    packed.reserve(chain_.packed_bytes(is_a, is_a ? part.rows : part.columns));
    Clock packing(times_.packing);
    check(launch_packing(datapath_, chain_, matrices, is_a, static_cast<unsigned char*>(packed.data())),
          "launch of a product's packing");
    packing.stop();
  }

  void multiply(Part part, const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d) {
    GpuMatrices matrices;
    matrices.m = part.rows;
    matrices.n = part.columns;
    matrices.k = shape_.k;
    if (c.codes != nullptr) {
      part.bytes_each = bytes_of(formats_.c);
      Clock copies(times_.copies);
      upload(part, c, c_);
      copies.stop();
      matrices.c = c_.data();
    }
    part.bytes_each = bytes_of(formats_.d);
    d_.reserve(part.bytes());
    matrices.d = d_.data();
    Clock products(times_.products);
    check(launch_product(datapath_, chain_, matrices, static_cast<unsigned char*>(packed_a_.data()),
                         static_cast<unsigned char*>(packed_b_.data())),
          "launch of a product");
    products.stop();
    Clock copies(times_.copies);
    download(part, d_, d);
    copies.stop();
  }

  GpuDatapath datapath_;
  OperandFormats formats_;
  ProductShape shape_;
  BlockScales scales_;
  GpuChain chain_;
  DeviceBuffer a_, b_, c_, d_, of_blocks_, packed_a_, packed_b_;
  GpuProductTimes times_;
};

}  // namespace

GpuProductTimes multiply_on_gpu(const Datapath& datapath, const OperandFormats& formats, const ProductShape& shape,
                                const MatrixCodes<const std::byte>& a, const MatrixCodes<const std::byte>& b,
                                const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d,
                                const BlockScales& scales) {
  auto [on_gpu, why_not] = make_gpu_datapath(datapath, GpuWork::matrices);
  if (!on_gpu) throw UnavailableError(fmt::format("no evaluator of the GPU takes the datapath: {}", why_not));
  // Patches of a single sum are faster.
  if (on_gpu->evaluator == GpuEvaluator::patches) {
    const auto shortest = make_gpu_datapath(in_shortest_k_steps(datapath), GpuWork::matrices).datapath;
    if (shortest && shortest->evaluator == on_gpu->evaluator) on_gpu = shortest;
  }
  const auto k_step = static_cast<std::size_t>(datapath.tree.k);
  const std::size_t depth = (shape.k + k_step - 1) / k_step * k_step;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) throw UnavailableError("no GPU: CUDA finds none");
  try {
    check(cudaSetDevice(0), "cudaSetDevice");
    return Product(*on_gpu, formats, shape, depth, scales).compute(a, b, c, d);
  } catch (const UnavailableError&) {
    throw;
  } catch (const std::runtime_error& error) {  // of check()
    throw UnavailableError(fmt::format("no product on the GPU: {}", error.what()));
  }
}

}  // namespace tcnum
