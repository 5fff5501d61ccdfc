// mma.sp and mma.sp::ordered_metadata: as mma, with metadata.
#pragma once

#include "mma_kernel.cuh"

#define TCNUM_SPARSE_REGISTERS_2_2_2 "{%0, %1}, {%2, %3}, {%4, %5}, {%6, %7}, %8, %9;"
#define TCNUM_SPARSE_REGISTERS_2_4_4 "{%0, %1}, {%2, %3, %4, %5}, {%6, %7, %8, %9}, {%10, %11}, %12, %13;"
#define TCNUM_SPARSE_REGISTERS_4_2_2 "{%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%8, %9, %10, %11}, %12, %13;"
#define TCNUM_SPARSE_REGISTERS_4_4_4 \
  "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%12, %13, %14, %15}, %16, %17;"

/// Defines the type TYPE of an instruction that PTX spells with SP after "mma" and BEFORE before its types.
#define TCNUM_SPARSE_TYPE(TYPE, SP, BEFORE, FIRST, ND, NA, NB, K, D, A, B, C)                              \
  struct TYPE : MmaShape<FIRST, 16, K, spelled(#A), spelled(#B), spelled(#D), true> {                      \
    static_assert(kDRegisters == ND && kARegisters == NA && kBRegisters == NB);                            \
    template <int kSelector>                                                                               \
    __device__ static void issue(Register (&d)[ND], const Register (&a)[NA], const Register (&b)[NB],      \
                                 const Register (&c)[ND], std::uint32_t metadata) {                        \
      asm volatile("mma" SP ".sync.aligned.m16n8k" #K ".row.col" BEFORE TCNUM_MMA_TYPES(D, A, B, C) " "    \
                   TCNUM_SPARSE_REGISTERS_##ND##_##NA##_##NB                                               \
                   : TCNUM_OUT_##ND("r", d)                                                                \
                   : TCNUM_IN_##NA("r", a), TCNUM_IN_##NB("r", b), TCNUM_IN_##ND("r", c), "r"(metadata),   \
                     "n"(kSelector));                                                                      \
    }                                                                                                      \
  };

/// Its row in the table of kernels.
#define TCNUM_SPARSE_ROW(TYPE, SP, AFTER, K, D, A, B, C) \
  {"mma" SP ".m16n8k" #K TCNUM_MMA_TYPES(D, A, B, C) AFTER, launch_mma<TYPE>, selectors_of<TYPE>()},

// One row of a file's table: first architecture, registers of D, A and B, K, and the four types. Each is for mma.sp and
// for mma.sp::ordered_metadata.
#define TCNUM_SPARSE_NAME(K, D, A, B, C) mma_sp_m16n8k##K##_##D##_##A##_##B##_##C
#define TCNUM_ORDERED_NAME(K, D, A, B, C) mma_sp_ordered_m16n8k##K##_##D##_##A##_##B##_##C
#define TCNUM_SPARSE_OP(FIRST, ND, NA, NB, K, D, A, B, C)                                                           \
  TCNUM_SPARSE_TYPE(TCNUM_SPARSE_NAME(K, D, A, B, C), ".sp", "", FIRST, ND, NA, NB, K, D, A, B, C)                  \
  TCNUM_SPARSE_TYPE(TCNUM_ORDERED_NAME(K, D, A, B, C), ".sp::ordered_metadata", "", FIRST, ND, NA, NB, K, D, A, B, C)
#define TCNUM_SPARSE_KERNEL(FIRST, ND, NA, NB, K, D, A, B, C)                         \
  TCNUM_SPARSE_ROW(TCNUM_SPARSE_NAME(K, D, A, B, C), ".sp", "", K, D, A, B, C)        \
  TCNUM_SPARSE_ROW(TCNUM_ORDERED_NAME(K, D, A, B, C), ".sp::ordered_metadata", "", K, D, A, B, C)

// The same with .satfinite.
#define TCNUM_SPARSE_SATURATING_NAME(K, D, A, B, C) mma_sp_m16n8k##K##_##D##_##A##_##B##_##C##_satfinite
#define TCNUM_ORDERED_SATURATING_NAME(K, D, A, B, C) mma_sp_ordered_m16n8k##K##_##D##_##A##_##B##_##C##_satfinite
#define TCNUM_SPARSE_SATURATING_OP(FIRST, ND, NA, NB, K, D, A, B, C)                                                   \
  TCNUM_SPARSE_TYPE(TCNUM_SPARSE_SATURATING_NAME(K, D, A, B, C), ".sp", ".satfinite", FIRST, ND, NA, NB, K, D, A, B,   \
                    C)                                                                                                 \
  TCNUM_SPARSE_TYPE(TCNUM_ORDERED_SATURATING_NAME(K, D, A, B, C), ".sp::ordered_metadata", ".satfinite", FIRST, ND,    \
                    NA, NB, K, D, A, B, C)
#define TCNUM_SPARSE_SATURATING_KERNEL(FIRST, ND, NA, NB, K, D, A, B, C)                                 \
  TCNUM_SPARSE_ROW(TCNUM_SPARSE_SATURATING_NAME(K, D, A, B, C), ".sp", ".satfinite", K, D, A, B, C)      \
  TCNUM_SPARSE_ROW(TCNUM_ORDERED_SATURATING_NAME(K, D, A, B, C), ".sp::ordered_metadata", ".satfinite", K, D, A, B, C)
