// The tables of measurements; all of them are measurements() (measurement.hpp).
#pragma once

#include "measurement.hpp"

namespace tcnum::bench {

/// mma, wmma, wgmma.
std::vector<Measurement> instruction_measurements();
/// Plain arithmetic and DPX functions.
std::vector<Measurement> lane_measurements();
/// Starting kernels.
std::vector<Measurement> launch_measurements();
/// Atomics, barriers, clusters, histograms.
std::vector<Measurement> sync_measurements();
/// Latency, strides, bandwidth, streams, the host, rooflines.
std::vector<Measurement> memory_measurements();
/// Copies from global to shared memory, and the product that lives on them.
std::vector<Measurement> copy_measurements();
/// Matrix products, linear layers.
std::vector<Measurement> product_measurements();

}  // namespace tcnum::bench
