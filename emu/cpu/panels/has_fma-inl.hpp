// What the CPU that Highway compiles for at the moment has. Without a guard: each of them includes it anew.

// Multiply-adds that round once.
#undef TCNUM_HAS_FMA
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
#define TCNUM_HAS_FMA 1
#else
#define TCNUM_HAS_FMA 0
#endif

// Instructions that say how they round.
#undef TCNUM_ROUNDS_EACH
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define TCNUM_ROUNDS_EACH 1
#else
#define TCNUM_ROUNDS_EACH 0
#endif
