// The DPX functions of the CUDA math API: latency, throughput of an SM, and of the device over the number of blocks.
#pragma once

#include "measurement.hpp"

namespace tcnum::bench {

Measurement dpx_measurement();

/// Operands of 32 bits that the functions are checked with: every three of some at the edges of words and halves, and
/// as many random ones.
struct DpxOperands {
  std::vector<std::uint32_t> a, b, c;
};
DpxOperands dpx_check_operands(std::uint64_t seed);

}  // namespace tcnum::bench
