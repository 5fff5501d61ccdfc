// What the kernels that time memories are given. Pointers are the device's; each function starts a kernel on the
// default CUDA stream, and returns what cudaGetLastError() says of the launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory_timing.hpp"
#include "timing_kernels.hpp"

namespace tcnum {

struct ChaseLaunch {
  std::byte* buffer;
  const std::uint64_t* order;
  std::size_t pointers;
  std::size_t shared_bytes;  ///< of the buffer, if it is in shared memory
  bool touch;
  unsigned warm_hops, hops;
  BlockTimes* times;
  std::uint64_t* end;
};
/// Writes the pointers into global memory.
cudaError_t write_pointers(const ChaseLaunch& run, bool by_index);
cudaError_t time_chase(const ChaseLaunch& run, Memory memory, bool by_index);

/// Keeps the default CUDA stream busy for about so long.
cudaError_t launch_hold(unsigned nanoseconds);
/// Reads 16-byte words, so that the L2 has them and nothing else.
cudaError_t read_through_l2(const uint4* from, std::size_t count, std::uint32_t* sink);
cudaError_t fill_words(std::uint32_t* to, std::size_t words, std::uint32_t seed);

struct ReadLaunch {
  const std::byte* buffer;
  ReadWork work;
  unsigned blocks;
  unsigned zero;             ///< 0, which the compiler does not know
  BlockTimes* times;         ///< of all blocks
  std::uint32_t* checksums;  ///< [block][thread]
};
cudaError_t time_reads(const ReadLaunch& run);

struct RooflineLaunch {
  const std::byte* buffer;
  std::size_t steps;  ///< of all warps
  unsigned reads, turns;
  float plus, minus;  ///< 1 and −1, which the compiler does not know
  /// The same in fp16, twice. Were they made of the floats, it would know that both halves are the same, name one of
  /// them in its instructions, and have no use for HFMA2.MMA, with which every second one goes by another way.
  std::uint32_t half_plus, half_minus;
  unsigned blocks;
  BlockTimes* times;    ///< of all blocks
  std::uint64_t* sums;  ///< of all threads
};
inline constexpr unsigned kRooflineThreads = 256;
const void* roofline_kernel_of(RooflineUnit unit);
cudaError_t time_roofline(const RooflineLaunch& run, RooflineUnit unit);

struct StreamLaunch {
  double* result;
  const double* sources[2];  ///< with kStreamHalo elements more than there are results
  std::size_t elements;
};
inline constexpr std::size_t kStreamHalo = 4;
cudaError_t fill_stream(double* to, std::size_t elements, int array);
/// A stream's kernel; null: there is none of that name.
const void* find_stream(const std::string& kernel);
cudaError_t launch_stream(const void* kernel, const StreamLaunch& run, std::size_t spoiler_bytes);
/// Adds r[i] · (2i + 1) of all bits r to *sum.
cudaError_t add_checksum(const double* results, std::size_t elements, unsigned long long* sum);

}  // namespace tcnum
