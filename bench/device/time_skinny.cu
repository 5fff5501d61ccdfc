// Products of tall and skinny matrices: k is split over all blocks, whose sums are added by a second kernel, always in
// the same order.
//
// A block brings rows to shared memory by cp.async, a stage of kStageBytes of A and of B at a time, while it multiplies
// those of the stage before. A thread has a tile of D, and of a stage's rows every kSlices-th: where D is small,
// threads share the rows among them, and add their sums in the end.
#include <algorithm>

#include "skinny_kernels.hpp"
#include "timing_common.cuh"

namespace tcnum {
namespace {

constexpr unsigned kSkinnyThreads = 256, kBlocksOfSm = 3;
constexpr unsigned kStageBytes = kSkinnyStageBytes, kStages = 3;
constexpr unsigned kMostTile = 4;  // rows and columns of D that a thread has

template <class T, unsigned kN>
struct Division {
  static constexpr unsigned kTile = std::min(kN, kMostTile);
  static constexpr unsigned kTilesOfRow = kN / kTile, kTiles = kTilesOfRow * kTilesOfRow;
  static constexpr unsigned kSlices = kSkinnyThreads / kTiles;
  static constexpr unsigned kRows = kStageBytes / (kN * sizeof(T));  // of a stage
  static_assert(kTiles * kSlices == kSkinnyThreads && kRows % kSlices == 0);
  static_assert(kSkinnyThreads * kTile * kTile * sizeof(T) <= 2 * kStages * kStageBytes, "the sums take the stages' memory");
};

/// What one load brings from shared memory, or two.
template <class T, unsigned kCount>
struct alignas(std::min<std::size_t>(sizeof(T) * kCount, kSkinnyVector)) Numbers {
  T at[kCount];
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
/// 16 bytes, or as many zeros, which is what rows behind the last one are.
__device__ void copy_vector(void* to, const std::byte* from, bool there) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(there ? 16 : 0)
      : "memory");
}

/// Begins to bring a stage of both operands; one behind the last brings nothing.
__device__ void fetch_stage(const SkinnyLaunch& run, std::byte* to, std::size_t stage) {
  for (unsigned i = threadIdx.x * kSkinnyVector; i < kStageBytes; i += kSkinnyThreads * kSkinnyVector) {
    const std::size_t at = stage * kStageBytes + i;
    const bool there = at < run.bytes;
    const std::size_t from = there ? at : 0;
    copy_vector(to + i, static_cast<const std::byte*>(run.a) + from, there);
    copy_vector(to + kStageBytes + i, static_cast<const std::byte*>(run.b) + from, there);
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

template <class T, unsigned kN, class D = Division<T, kN>>
__device__ void multiply_stage(const std::byte* stage, T (&sums)[D::kTile][D::kTile]) {
  using Line = Numbers<T, D::kTile>;
  const unsigned tile = threadIdx.x % D::kTiles, slice = threadIdx.x / D::kTiles;
  const auto* const a = reinterpret_cast<const Line*>(stage) + tile / D::kTilesOfRow;
  const auto* const b = reinterpret_cast<const Line*>(stage + kStageBytes) + tile % D::kTilesOfRow;
#pragma unroll 2
  for (unsigned row = slice; row < D::kRows; row += D::kSlices) {
    const Line x = a[row * D::kTilesOfRow], y = b[row * D::kTilesOfRow];
#pragma unroll
    for (unsigned i = 0; i < D::kTile; ++i) {
#pragma unroll
      for (unsigned j = 0; j < D::kTile; ++j) sums[i][j] += x.at[i] * y.at[j];
    }
  }
}
#endif

template <class T, unsigned kN>
__global__ void __launch_bounds__(kSkinnyThreads, kBlocksOfSm) skinny_kernel([[maybe_unused]] const SkinnyLaunch run) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  using D = Division<T, kN>;
  __shared__ alignas(kSkinnyVector) std::byte stages[kStages][2 * kStageBytes];
  const std::size_t count = (run.bytes + kStageBytes - 1) / kStageBytes;
  std::size_t next = blockIdx.x;
  for (unsigned i = 0; i + 1 < kStages; ++i, next += gridDim.x) fetch_stage(run, stages[i], next);

  T sums[D::kTile][D::kTile] = {};
  unsigned here = 0;
  for (std::size_t stage = blockIdx.x; stage < count; stage += gridDim.x, next += gridDim.x) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    __syncthreads();  // it is there for all, and all have done with the one before
    fetch_stage(run, stages[(here + kStages - 1) % kStages], next);
    multiply_stage<T, kN>(stages[here], sums);
    here = (here + 1) % kStages;
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();

  auto* const all = reinterpret_cast<T*>(stages);  // [slice][row of D][column]
  constexpr unsigned kElements = kN * kN;
  const unsigned tile = threadIdx.x % D::kTiles, slice = threadIdx.x / D::kTiles;
#pragma unroll
  for (unsigned i = 0; i < D::kTile; ++i) {
#pragma unroll
    for (unsigned j = 0; j < D::kTile; ++j) {
      const unsigned row = tile / D::kTilesOfRow * D::kTile + i, column = tile % D::kTilesOfRow * D::kTile + j;
      all[slice * kElements + row * kN + column] = sums[i][j];
    }
  }
  __syncthreads();
  for (unsigned half = D::kSlices / 2; half > 0; half /= 2) {
    for (unsigned i = threadIdx.x; i < half * kElements; i += kSkinnyThreads) all[i] += all[half * kElements + i];
    __syncthreads();
  }
  T* const to = static_cast<T*>(run.partial) + std::size_t{blockIdx.x} * kElements;
  for (unsigned i = threadIdx.x; i < kElements; i += kSkinnyThreads) to[i] = all[i];
#else
  __trap();
#endif
}

constexpr unsigned kSumColumns = 32, kSumRows = 32;

/// A column of threads adds one element of every kSumRows-th block; then the first of them what the column found.
template <class T>
__global__ void __launch_bounds__(kSumColumns* kSumRows)
    sum_kernel(const T* partial, unsigned blocks, unsigned elements, T* d) {
  __shared__ T sums[kSumRows][kSumColumns];
  const unsigned element = blockIdx.x * kSumColumns + threadIdx.x;
  T sum = 0;
  for (unsigned block = threadIdx.y; block < blocks && element < elements; block += kSumRows) {
    sum += partial[std::size_t{block} * elements + element];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || element >= elements) return;
  for (unsigned row = 1; row < kSumRows; ++row) sum += sums[row][threadIdx.x];
  d[element] = sum;
}

template <class T>
__global__ void fill_kernel(FormatId format, int matrix, std::size_t n, T* to) {
  each_of(kSkinnyBytes / sizeof(T),
          [&](std::size_t i) { to[i] = static_cast<T>(skinny_element(format, matrix, n, i / n, i % n)); });
}

struct Row {
  FormatId format;
  unsigned n;
  void (*kernel)(SkinnyLaunch);
};
#define TCNUM_SKINNY_ROWS(FORMAT, T)                                                                \
  {FormatId::FORMAT, 1, skinny_kernel<T, 1>}, {FormatId::FORMAT, 2, skinny_kernel<T, 2>},           \
      {FormatId::FORMAT, 4, skinny_kernel<T, 4>}, {FormatId::FORMAT, 8, skinny_kernel<T, 8>},       \
      {FormatId::FORMAT, 16, skinny_kernel<T, 16>}, {FormatId::FORMAT, 32, skinny_kernel<T, 32>}, { \
    FormatId::FORMAT, 64, skinny_kernel<T, 64>                                                      \
  }
constexpr Row kRows[] = {TCNUM_SKINNY_ROWS(fp64, double), TCNUM_SKINNY_ROWS(fp32, float)};

const Row* find_row(FormatId format, std::size_t n) {
  for (const Row& row : kRows) {
    if (row.format == format && row.n == n) return &row;
  }
  return nullptr;
}

template <class T>
cudaError_t add_partial(const SkinnyLaunch& run, std::size_t n) {
  const auto elements = static_cast<unsigned>(n * n);
  sum_kernel<T><<<(elements + kSumColumns - 1) / kSumColumns, dim3(kSumColumns, kSumRows)>>>(
      static_cast<const T*>(run.partial), run.blocks, elements, static_cast<T*>(run.d));
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_skinny(FormatId format, std::size_t n, const SkinnyLaunch& run) {
  const Row* const row = find_row(format, n);
  if (row == nullptr) return cudaErrorInvalidValue;
  row->kernel<<<run.blocks, kSkinnyThreads>>>(run);
  return format == FormatId::fp64 ? add_partial<double>(run, n) : add_partial<float>(run, n);
}

cudaError_t count_skinny_blocks(FormatId format, std::size_t n, int* blocks) {
  const Row* const row = find_row(format, n);
  if (row == nullptr) return cudaErrorInvalidValue;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, row->kernel, kSkinnyThreads, 0);
}

cudaError_t fill_skinny(FormatId format, int matrix, std::size_t n, void* to) {
  constexpr unsigned kFillBlocks = 2048;
  if (format == FormatId::fp64) {
    fill_kernel<<<kFillBlocks, kSkinnyThreads>>>(format, matrix, n, static_cast<double*>(to));
  } else {
    fill_kernel<<<kFillBlocks, kSkinnyThreads>>>(format, matrix, n, static_cast<float*>(to));
  }
  return cudaGetLastError();
}

}  // namespace tcnum
