// The CPUs that kernels are compiled for: what Highway reads before anything of its own.
#pragma once

#define HWY_WANT_AVX3_DL

// A build may name one CPU (TCNUM_CPU_TARGETS of CMakeLists.txt): kernels are compiled for that one and for the
// compiler's baseline, by which the program runs on any machine. Highway gives the baseline its value further down.
#ifdef TCNUM_CPU_TARGET
#define TCNUM_DISABLED_TARGETS ~(TCNUM_CPU_TARGET | HWY_BASELINE_TARGETS)
#else
#define TCNUM_DISABLED_TARGETS 0
#endif
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | (TCNUM_DISABLED_TARGETS))
