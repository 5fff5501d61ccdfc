#include "emu/gpu/product_kernels.cu"
