// The matrix product of textbooks, through tiles in shared memory: with loads and stores, and with cp.async one step
// ahead.
#include "copy_kernels.hpp"
#include "timing_common.cuh"

namespace tcnum {

/// Not an unnamed namespace: where timing kernels are not built, nothing uses these, and nvcc would warn.
namespace products {

/// The next tiles of a step along k, one element of each a thread.
template <unsigned kSide>
struct Tiles {
  float a[kSide][kSide], b[kSide][kSide];
};

template <unsigned kSide>
__device__ float multiply(const Tiles<kSide>& tiles, float sum) {
#pragma unroll
  for (unsigned i = 0; i < kSide; ++i) sum += tiles.a[threadIdx.y][i] * tiles.b[i][threadIdx.x];
  return sum;
}

__device__ inline void copy_word(float* to, const float* from) {
  if constexpr (kCompiledFor >= 80) {
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
        "l"(from)
        : "memory");
  }
}

template <bool kAsync, unsigned kSide>
__global__ void __launch_bounds__(kSide* kSide) product_kernel(const ProductLaunch run) {
  if constexpr (kCompiledFor < (kAsync ? 80 : 50) || !is_timed(kCompiledFor)) {
    __trap();
  } else {
    constexpr unsigned kStages = kAsync ? 2 : 1;
    __shared__ Tiles<kSide> tiles[kStages];
    const unsigned x = threadIdx.x, y = threadIdx.y, width = run.columns * kSide;
    const std::size_t row = blockIdx.x / run.columns * kSide + y, column = blockIdx.x % run.columns * kSide + x;
    const float* const a = run.a + row * run.k + x;
    const float* const b = run.b + std::size_t{y} * width + column;
    const unsigned steps = run.k / kSide;

    const bool first = x == 0 && y == 0;
    BlockTimes& times = run.times[blockIdx.x];
    if (first) {
      times.sm = current_sm();
      times.first_ns = nanoseconds();
      times.first_clock = clock64();
    }
#pragma unroll 1
    for (unsigned round = 0; round < run.rounds; ++round) {
      float sum = 0;
      const auto begin_copy = [&](unsigned step) {
        if (step < steps) {
          copy_word(&tiles[step % kStages].a[y][x], a + step * kSide);
          copy_word(&tiles[step % kStages].b[y][x], b + std::size_t{step} * kSide * width);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
      };
      if constexpr (kAsync) begin_copy(0);
#pragma unroll 1
      for (unsigned step = 0; step < steps; ++step) {
        if constexpr (kAsync) {
          begin_copy(step + 1);
          asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
          tiles[0].a[y][x] = a[step * kSide];
          tiles[0].b[y][x] = b[std::size_t{step} * kSide * width];
        }
        __syncthreads();
        sum = multiply(tiles[step % kStages], sum);
        __syncthreads();
      }
      run.c[row * width + column] = sum;
    }
    if (first) {
      times.last_clock = clock64();
      times.last_ns = nanoseconds();
    }
  }
}

__global__ void fill_kernel(float* to, std::size_t count, std::uint32_t seed) {
  each_of(count, [&](std::size_t i) { to[i] = product_operand(seed, i); });
}

}  // namespace products

namespace {

using namespace products;

struct ProductRow {
  unsigned side;
  void (*synchronous)(ProductLaunch);
  void (*async)(ProductLaunch);
};
template <unsigned kSide>
constexpr ProductRow product_row() {
  return {kSide, product_kernel<false, kSide>, product_kernel<true, kSide>};
}

}  // namespace

const void* find_product(bool async, unsigned side) {
  static const ProductRow kRows[] = {product_row<8>(), product_row<16>(), product_row<32>()};
  for (const ProductRow& each : kRows) {
    if (each.side == side) return reinterpret_cast<const void*>(async ? each.async : each.synchronous);
  }
  return nullptr;
}

cudaError_t launch_product(const void* kernel, unsigned blocks, unsigned side, std::size_t shared_bytes,
                           const ProductLaunch& run) {
  void* arguments[] = {const_cast<ProductLaunch*>(&run)};
  return cudaLaunchKernel(kernel, dim3(blocks), dim3(side, side), arguments, shared_bytes, nullptr);
}

cudaError_t fill_product(float* to, std::size_t count, std::uint32_t seed) {
  constexpr unsigned kBlocks = 512, kThreads = 256;
  fill_kernel<<<kBlocks, kThreads>>>(to, count, seed);
  return cudaGetLastError();
}

}  // namespace tcnum
