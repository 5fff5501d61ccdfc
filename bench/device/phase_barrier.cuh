// An mbarrier in shared memory, as kernels use it whose copies it counts.
#pragma once

#include "probes/clusters.cuh"

namespace tcnum {

/// A barrier whose phases end when all have arrived and all bytes are there.
class PhaseBarrier {
 public:
  /// Where it is in shared memory.
  __device__ explicit PhaseBarrier(std::uint32_t address) : address_(address) {}
  __device__ void init(unsigned arrivals) const {
    if constexpr (kCompiledFor >= 90) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_), "r"(arrivals) : "memory");
    }
  }
  /// Arrives, and says how many bytes this phase waits for.
  __device__ void expect(std::uint32_t bytes) const {
    if constexpr (kCompiledFor >= 90) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_), "r"(bytes) : "memory");
    }
  }
  /// At the barrier that lies in the same place in the shared memory of that block of the cluster. Scopes are the
  /// block's, as CUTLASS's are, also for what another one waits for: all that is ordered are reads, which have ended,
  /// and writes by copies, which the barrier counts; a release to the cluster takes hundreds of cycles.
  __device__ void arrive_at(unsigned block) const {
    if constexpr (kCompiledFor >= 90) {
      asm volatile(
          "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
          "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(address_),
          "r"(block)
          : "memory");
    }
  }
  /// For the end of the phase with that parity.
  __device__ void wait(unsigned parity) const {
    if constexpr (kCompiledFor >= 90) {
      asm volatile(
          "{\n.reg .pred done;\nagain:\n"
          "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(address_),
          "r"(parity)
          : "memory");
    }
  }
  __device__ std::uint32_t address() const { return address_; }

 private:
  std::uint32_t address_;
};

}  // namespace tcnum
