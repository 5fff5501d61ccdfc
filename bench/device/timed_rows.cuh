// What a row of a table of mma, mma.sp or wmma becomes where it is timed. To be included after the table.
#pragma once

#include "time_mma_kernel.cuh"
#include "time_wmma.cuh"

#undef TCNUM_MMA_ROW
#define TCNUM_MMA_ROW(NAME, TYPE) {NAME, timing_of<TimedMma<TYPE>>()},
#undef TCNUM_SPARSE_ROW
#define TCNUM_SPARSE_ROW(TYPE, SP, AFTER, K, D, A, B, C) \
  {"mma" SP ".m16n8k" #K TCNUM_MMA_TYPES(D, A, B, C) AFTER, timing_of<TimedMma<TYPE>>()},
#undef TCNUM_WMMA_ROW
#define TCNUM_WMMA_ROW(TYPE, BACK, AFTER, M, N, K, D, A, B, C) \
  {"wmma.m" #M "n" #N "k" #K TCNUM_WMMA_TYPES(D, A, B, C) AFTER, timing_of<TimedWmma<TYPE, BACK>>()},
