// Gathers that are timed and checked.
#pragma once

#include "memory.hpp"

namespace tcnum::bench {

/// Of what buffers are filled with.
std::uint32_t fill_seed(const Settings& settings);
/// For points of a sweep.
Settings few_samples(const Settings& settings);

/// Samples of an SM's cycles for a round, until settings.stop has enough. The checksums of each are compared with the
/// CPU's: WrongResult if one differs. The buffer has been filled with fill_seed().
Steady sample_gathers(const MemoryRow& row, const GatherWork& work, const Settings& settings);

/// Keeps the device busy until its clock has settled: settings.warm_up_seconds, once.
void settle_clock(const MemoryRow& row);

}  // namespace tcnum::bench
