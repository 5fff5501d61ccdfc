// Code that a GPU compiles as well as a CPU.
#pragma once

/// Goes before a function that nvcc compiles for both. constexpr functions need it not: the CUDA sources are compiled
/// with
/// --expt-relaxed-constexpr.
#ifdef __CUDACC__
#define TCNUM_HOST_DEVICE __host__ __device__
#else
#define TCNUM_HOST_DEVICE
#endif

/// Goes before a loop of a constant count whose arrays must become a GPU's registers.
#ifdef __CUDA_ARCH__
#define TCNUM_UNROLL _Pragma("unroll")
#else
#define TCNUM_UNROLL
#endif

/// Goes before a function that is rarely called, so that it takes no registers where it is not.
#ifdef __CUDA_ARCH__
#define TCNUM_NOINLINE __noinline__
#else
#define TCNUM_NOINLINE
#endif
