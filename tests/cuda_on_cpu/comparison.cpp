#include "src/campaign/gpu/comparison.cu"
