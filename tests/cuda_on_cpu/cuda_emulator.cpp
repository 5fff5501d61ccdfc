#include "../../emu/cuda_emulator.cu"
