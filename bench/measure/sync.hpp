// How threads and blocks meet: atomics, barriers, and the shared memory of a cluster's other blocks.
#pragma once

#include "bench/device/sync_timing.hpp"
#include "measurements.hpp"
#include "steady.hpp"

namespace tcnum::bench {

/// Latency and throughput of atomics on shared and global memory, and on a neighbour's of a cluster.
Measurement atomics_measurement();
/// Latency of barriers over the number of threads.
Measurement barriers_measurement();
/// Distributed shared memory: latency between all blocks of a cluster, and rings of reads.
Measurement clusters_measurement();

/// Throws UnavailableError unless clusters of the device can have so many blocks.
void require_clusters(const Row& row, unsigned blocks);

// Whether what a device says came out is what must: WrongResult.
void check_atomics(const AtomicWork& work, const AtomicTimes& times);
void check_latencies(unsigned cluster, const ClusterLatencies& found);
void check_ring(const RingWork& work, const RingTimes& times);

}  // namespace tcnum::bench
