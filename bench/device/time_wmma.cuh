// Timing wmma: what time_mma_kernel.cuh needs to know of it.
#pragma once

#include <algorithm>
#include <type_traits>

#include "time_mma_kernel.cuh"

namespace tcnum {

/// How a wmma is timed, whose matrices are packed in memory. An instruction whose D is of another format than
/// its C can be the next one's C only by way of one that turns them back: a step is both.
template <class Op, class Back>
struct TimedWmma {
  using Register = typename Op::Register;
  static constexpr int kFirstArch = Op::kFirstArch;
  static constexpr bool kAlone = std::is_same_v<Op, Back>;
  static constexpr int kARegisters = Op::kARegisters, kBRegisters = Op::kBRegisters, kDRegisters = Op::kCRegisters;
  /// As of TimedMma. Fragments of fp16 have each element twice, of which the compiler holds one.
  static constexpr int kHeldOperands =
      (Op::kM + Op::kN) * Op::kK * Op::kCodeBits / (8 * sizeof(Register) * kWarpLanes) * (Op::kCodeBits == 4 ? 2 : 1);
  static constexpr int kHeldAccumulators = std::max(Op::kCRegisters, Op::kDRegisters);
  static constexpr int kBody = kTimedMmaBody;
  static_assert(Back::kDRegisters == Op::kCRegisters);
  static_assert(kDRegisters * kWarpLanes * sizeof(Register) == Op::kCBytes, "an image is as long as a matrix");

  __device__ static void read_a(Register (&to)[kARegisters], const void* from, unsigned block) {
    Op::load_a(to, static_cast<const std::uint8_t*>(from) + block * (Op::kM * Op::kK * Op::kCodeBits / 8));
  }
  __device__ static void read_b(Register (&to)[kBRegisters], const void* from, unsigned block) {
    Op::load_b(to, static_cast<const std::uint8_t*>(from) + block * (Op::kK * Op::kN * Op::kCodeBits / 8));
  }
  __device__ static std::uint32_t read_e(const void*, unsigned) { return 0; }
  __device__ static void read_c(Register (&to)[kDRegisters], const void* from, unsigned block) {
    Op::load_c(to, static_cast<const std::uint8_t*>(from) + block * Op::kCBytes);
  }
  __device__ static void step(Register (&d)[kDRegisters], const Register (&a)[kARegisters],
                              const Register (&b)[kBRegisters], std::uint32_t, std::uint32_t) {
    if constexpr (kAlone) {
      Op::multiply(d, a, b, d);
    } else {
      Register between[Op::kDRegisters];
      Op::multiply(between, a, b, d);
      Back::multiply(d, a, b, between);
    }
  }
  __device__ static void write_d(void* to, const Register (&d)[kDRegisters]) { Back::store_d(to, d); }
};

}  // namespace tcnum
