// How threads and blocks meet: atomics, barriers, and the shared memory of a cluster's other blocks.
#pragma once

#include "bench/device/sync_timing.hpp"
#include "measurement.hpp"

namespace tcnum::bench {

/// Latency and throughput of atomics on shared and global memory, and on a neighbour's of a cluster.
const Measurement& atomics_measurement();
/// Latency of barriers over the number of threads.
const Measurement& barriers_measurement();
/// Distributed shared memory: latency between all blocks of a cluster, and rings of reads.
const Measurement& clusters_measurement();
/// A histogram with its bins in the shared memory of a cluster's blocks, over bins and cluster size.
const Measurement& histogram_measurement();

// Whether what a device says came out is what must: WrongResult.
void check_atomics(const AtomicWork& work, const AtomicTimes& times);
void check_latencies(unsigned cluster, const ClusterLatencies& found);
void check_ring(const RingWork& work, const RingTimes& times);
void check_histogram(const HistogramWork& work, const HistogramTimes& times);

}  // namespace tcnum::bench
