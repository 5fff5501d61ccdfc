// What the kernels that cast to fp8 are given. Pointers are the device's.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tcnum {

/// From bf16 to fp8e4m3. Both begin at a multiple of 16 bytes.
struct CastLaunch {
  const std::uint16_t* from;
  std::uint8_t* to;
  std::size_t count;  ///< a multiple of kCastVector
  const float* scale;
  unsigned* amax;  ///< bits of an fp32, that of the largest magnitude so far; zero before
};
inline constexpr std::size_t kCastVector = 8;

/// Starts it on the default CUDA stream, and returns what cudaGetLastError() says of the launch. Needs sm_90.
cudaError_t launch_cast(const CastLaunch& run, unsigned sms);

}  // namespace tcnum
