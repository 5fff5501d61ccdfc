// The CPUs that kernels are compiled for: what Highway reads before anything of its own.
#pragma once

#define HWY_WANT_AVX3_DL

// With sanitizers, AVX-512 is most of what there is to compile, and nothing where no test can run it.
#ifdef TCNUM_WITHOUT_AVX512
#define TCNUM_DISABLED_AVX512 (HWY_AVX3 | HWY_AVX3_DL)
#else
#define TCNUM_DISABLED_AVX512 0
#endif
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | TCNUM_DISABLED_AVX512)
