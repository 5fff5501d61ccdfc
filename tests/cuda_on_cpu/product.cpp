#include "emu/gpu/product.cpp"
