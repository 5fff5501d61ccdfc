// Which architectures timing kernels are built for: known to the files of probes/ alone.
#pragma once

namespace tcnum {

/// The architectures that timing kernels of mma and plain arithmetic are built for, as in sm_XY; 0: all.
inline constexpr int kTimedArchs[] = {TCNUM_TIMING_ARCHS};
constexpr bool is_timed(int arch) {
  for (int each : kTimedArchs) {
    if (each == 0 || each == arch) return true;
  }
  return false;
}

}  // namespace tcnum
