// How long kernels take to start, one by one and as CUDA graphs, and what small ones take.
#pragma once

#include "measurement.hpp"

namespace tcnum::bench {

const Measurement& launch_measurement();

}  // namespace tcnum::bench
