// The CPUs that kernels are compiled for: what Highway reads before anything of its own.
#pragma once

#define HWY_WANT_AVX3_DL

// Builds with sanitizers have those of one kind of CPU (emu/CMakeLists.txt).
#ifdef TCNUM_WITHOUT_AVX512
#define TCNUM_DISABLED_TARGETS (HWY_AVX3 | HWY_AVX3_DL)
#elif defined(TCNUM_WITHOUT_AVX2)
#define TCNUM_DISABLED_TARGETS (HWY_AVX2 | HWY_AVX3_DL)
#else
#define TCNUM_DISABLED_TARGETS 0
#endif
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | TCNUM_DISABLED_TARGETS)
