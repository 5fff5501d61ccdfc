#include <cuda_runtime_api.h>

#include "src/gemm/gemm.cpp"
