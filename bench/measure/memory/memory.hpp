// The measurements of memories.
#pragma once

#include "bench/device/memory_timing.hpp"
#include "bench/measure/measurement.hpp"
#include "bench/measure/steady.hpp"

namespace tcnum::bench {

/// Loads of which each waits for the one before.
Measurement latency_measurement();
/// How fast all SMs read from each level.
Measurement bandwidth_measurement();
/// Kernels that go once over large arrays.
Measurement streams_measurement();

/// Throws UnavailableError unless the device's memory has room for that twice.
void require_room(const Row& row, std::size_t bytes);
/// A rate's share of what the memory's pins can carry, where the driver says.
void put_share_of_pins(const Row& row, double bytes_per_second);

/// Gives each stream its share of the highest rate that the document has of one.
void put_shares(Document& document);

}  // namespace tcnum::bench
