#include "src/campaign/gpu/operands.cu"
