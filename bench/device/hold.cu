#include "hold.hpp"

namespace tcnum {
namespace {

__device__ unsigned long long nanoseconds_now() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void hold_kernel(unsigned nanoseconds) {
  const unsigned long long begin = nanoseconds_now();
  while (nanoseconds_now() < begin + nanoseconds) {
  }
}

}  // namespace

cudaError_t launch_hold(unsigned nanoseconds) {
  hold_kernel<<<1, 1>>>(nanoseconds);
  return cudaGetLastError();
}

}  // namespace tcnum
