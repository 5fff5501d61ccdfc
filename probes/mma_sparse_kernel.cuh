// mma.sp and mma.sp::ordered_metadata: as mma, with metadata.
#pragma once

#include "mma_kernel.cuh"

/// The number of the operand that comes after D, A, B and C, and the metadata and their selector there.
#define TCNUM_AFTER_MMA(ND, NA, NB) BOOST_PP_ADD(BOOST_PP_ADD(ND, ND), BOOST_PP_ADD(NA, NB))
#define TCNUM_SPARSE_OPERANDS(ND, NA, NB)                                     \
  ", " TCNUM_ASM_OPERAND(TCNUM_AFTER_MMA(ND, NA, NB)) ", " TCNUM_ASM_OPERAND( \
      BOOST_PP_INC(TCNUM_AFTER_MMA(ND, NA, NB))) ";"

/// Defines the type TYPE of an instruction that PTX spells with SP after "mma" and BEFORE before its types.
#define TCNUM_SPARSE_TYPE(TYPE, SP, BEFORE, FIRST, ND, NA, NB, K, D, A, B, C)                            \
  struct TYPE : MmaShape<FIRST, 16, K, spelled(#A), spelled(#B), spelled(#D), true> {                    \
    static_assert(kDRegisters == ND && kARegisters == NA && kBRegisters == NB);                          \
    template <int kSelector>                                                                             \
    __device__ static void issue(Register (&d)[ND], const Register (&a)[NA], const Register (&b)[NB],    \
                                 const Register (&c)[ND], std::uint32_t metadata) {                      \
      asm volatile("mma" SP ".sync.aligned.m16n8k" #K ".row.col" BEFORE TCNUM_MMA_TYPES(                 \
                       D, A, B, C) " " TCNUM_MMA_REGISTERS(ND, NA, NB) TCNUM_SPARSE_OPERANDS(ND, NA, NB) \
                   : TCNUM_ASM_OUTPUTS("r", ND, d)                                                       \
                   : TCNUM_MMA_INPUTS("r", ND, NA, NB), "r"(metadata), "n"(kSelector));                  \
    }                                                                                                    \
  };

/// Its row in the table of kernels.
#define TCNUM_SPARSE_ROW(TYPE, SP, AFTER, K, D, A, B, C) \
  {"mma" SP ".m16n8k" #K TCNUM_MMA_TYPES(D, A, B, C) AFTER, launch_mma<TYPE>, selectors_of<TYPE>()},

// One row of a file's table: first architecture, registers of D, A and B, K, and the four types. Each is for mma.sp and
// for mma.sp::ordered_metadata.
#define TCNUM_SPARSE_NAME(K, D, A, B, C) mma_sp_m16n8k##K##_##D##_##A##_##B##_##C
#define TCNUM_ORDERED_NAME(K, D, A, B, C) mma_sp_ordered_m16n8k##K##_##D##_##A##_##B##_##C
#define TCNUM_SPARSE_OP(FIRST, ND, NA, NB, K, D, A, B, C)                                          \
  TCNUM_SPARSE_TYPE(TCNUM_SPARSE_NAME(K, D, A, B, C), ".sp", "", FIRST, ND, NA, NB, K, D, A, B, C) \
  TCNUM_SPARSE_TYPE(TCNUM_ORDERED_NAME(K, D, A, B, C), ".sp::ordered_metadata", "", FIRST, ND, NA, NB, K, D, A, B, C)
#define TCNUM_SPARSE_KERNEL(FIRST, ND, NA, NB, K, D, A, B, C)                  \
  TCNUM_SPARSE_ROW(TCNUM_SPARSE_NAME(K, D, A, B, C), ".sp", "", K, D, A, B, C) \
  TCNUM_SPARSE_ROW(TCNUM_ORDERED_NAME(K, D, A, B, C), ".sp::ordered_metadata", "", K, D, A, B, C)

// The same with .satfinite.
#define TCNUM_SATURATING(TYPE) TCNUM_SATURATING_OF(TYPE)
#define TCNUM_SATURATING_OF(TYPE) TYPE##_satfinite
#define TCNUM_SPARSE_SATURATING_OP(FIRST, ND, NA, NB, K, D, A, B, C)                                                   \
  TCNUM_SPARSE_TYPE(TCNUM_SATURATING(TCNUM_SPARSE_NAME(K, D, A, B, C)), ".sp", ".satfinite", FIRST, ND, NA, NB, K, D,  \
                    A, B, C)                                                                                           \
  TCNUM_SPARSE_TYPE(TCNUM_SATURATING(TCNUM_ORDERED_NAME(K, D, A, B, C)), ".sp::ordered_metadata", ".satfinite", FIRST, \
                    ND, NA, NB, K, D, A, B, C)
#define TCNUM_SPARSE_SATURATING_KERNEL(FIRST, ND, NA, NB, K, D, A, B, C)                                             \
  TCNUM_SPARSE_ROW(TCNUM_SATURATING(TCNUM_SPARSE_NAME(K, D, A, B, C)), ".sp", ".satfinite", K, D, A, B, C)           \
  TCNUM_SPARSE_ROW(TCNUM_SATURATING(TCNUM_ORDERED_NAME(K, D, A, B, C)), ".sp::ordered_metadata", ".satfinite", K, D, \
                   A, B, C)
