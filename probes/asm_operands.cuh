// Lists of registers in asm statements, of any length; `R` is "r" for 32-bit registers, "l" for 64-bit ones.
#pragma once

#include <boost/preprocessor/arithmetic/add.hpp>
#include <boost/preprocessor/repetition/enum.hpp>
#include <boost/preprocessor/repetition/repeat_from_to.hpp>
#include <boost/preprocessor/stringize.hpp>
#include <boost/preprocessor/tuple/elem.hpp>

/// "%first".
#define TCNUM_ASM_OPERAND(first) "%" BOOST_PP_STRINGIZE(first)
/// "{%first, …}" of so many.
#define TCNUM_ASM_NEXT(z, i, first) ", " TCNUM_ASM_OPERAND(BOOST_PP_ADD(first, i))
#define TCNUM_ASM_VECTOR(first, count) \
  "{" TCNUM_ASM_OPERAND(first) BOOST_PP_REPEAT_FROM_TO(1, count, TCNUM_ASM_NEXT, first) "}"

/// Their constraints, and x[0], x[1], ….
#define TCNUM_ASM_IN_1(z, i, R_x) BOOST_PP_TUPLE_ELEM(2, 0, R_x)(BOOST_PP_TUPLE_ELEM(2, 1, R_x)[i])
#define TCNUM_ASM_INPUTS(R, count, x) BOOST_PP_ENUM(count, TCNUM_ASM_IN_1, (R, x))
#define TCNUM_ASM_OUT_1(z, i, R_x) "=" BOOST_PP_TUPLE_ELEM(2, 0, R_x)(BOOST_PP_TUPLE_ELEM(2, 1, R_x)[i])
#define TCNUM_ASM_OUTPUTS(R, count, x) BOOST_PP_ENUM(count, TCNUM_ASM_OUT_1, (R, x))
