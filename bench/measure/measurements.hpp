// The tables of measurements; all of them are measurements() (measurement.hpp).
#pragma once

#include "measurement.hpp"

namespace tcnum::bench {

/// mma, wmma, wgmma.
std::vector<Measurement> instruction_measurements();
/// Plain arithmetic.
std::vector<Measurement> arithmetic_measurements();
/// The DPX functions of the CUDA math API: latency, throughput of an SM, and of the device over the number of blocks.
std::vector<Measurement> dpx_measurements();
/// Distributed shared memory.
std::vector<Measurement> cluster_measurements();
/// Latency, bandwidth, streams.
std::vector<Measurement> memory_measurements();
/// Copies from global to shared memory.
std::vector<Measurement> copy_measurements();
/// Matrix products.
std::vector<Measurement> product_measurements();

}  // namespace tcnum::bench
