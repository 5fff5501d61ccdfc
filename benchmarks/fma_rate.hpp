// What a core can do at most: plain fp32 fused multiply-adds.
#pragma once

namespace tcnum {

/// Time that this process spent on CPUs so far: what others do beside it hardly changes that.
double cpu_seconds();

/// Fused multiply-adds a second of one core, in fp32 with all its lanes and ports busy: the best of some short runs.
double fma_rate();

}  // namespace tcnum
