// The rows of a table of fp64, each with every rounding of its own that PTX has. A file that includes this defines
// TCNUM_ROUNDING_OP and TCNUM_ROUNDING_KERNEL, which take the rounding before what a row has.
#pragma once

#define TCNUM_ALL_ROUNDINGS(X, ...) X(rz, __VA_ARGS__) X(rm, __VA_ARGS__) X(rp, __VA_ARGS__)
#define TCNUM_ROUNDING_OPS(...) TCNUM_ALL_ROUNDINGS(TCNUM_ROUNDING_OP, __VA_ARGS__)
#define TCNUM_ROUNDING_KERNELS(...) TCNUM_ALL_ROUNDINGS(TCNUM_ROUNDING_KERNEL, __VA_ARGS__)
