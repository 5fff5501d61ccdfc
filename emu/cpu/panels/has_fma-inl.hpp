// Whether the CPU that Highway compiles for at the moment has multiply-adds that round once. Without a guard: each of them
// includes it anew.
#undef TCNUM_HAS_FMA
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_NEON
#define TCNUM_HAS_FMA 1
#else
#define TCNUM_HAS_FMA 0
#endif
