// Copies from global to shared memory: the ways that there are, and what must arrive.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/device/copy_timing.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum::bench {

/// A way to copy, under PTX's name.
struct NamedMethod {
  const char* name;
  CopyMethod method;
  ArchId first;                  ///< the architecture that brought it
  ArchId last = ArchId::sm_121;  ///< the last one that this build has it for
};
inline constexpr auto kCopyMethods = std::to_array<NamedMethod>({
    {"ld.global + st.shared", {CopyWay::load_store}, ArchId::sm_70},
    {"cp.async", {CopyWay::async}, ArchId::sm_80},
    {"cp.async.bulk", {CopyWay::bulk}, ArchId::sm_90},
    {"cp.async.bulk.tensor.1d", {CopyWay::tensor, 1}, ArchId::sm_90},
    {"cp.async.bulk.tensor.2d", {CopyWay::tensor, 2}, ArchId::sm_90},
    {"cp.async.bulk.tensor.3d", {CopyWay::tensor, 3}, ArchId::sm_90},
    {"cp.async.bulk.tensor.4d", {CopyWay::tensor, 4}, ArchId::sm_90},
    {"cp.async.bulk.tensor.5d", {CopyWay::tensor, 5}, ArchId::sm_90},
    // ptxas advises against it beyond.
    {"cp.async.bulk.tensor.2d.multicast of 2", {CopyWay::tensor, 2, 2}, ArchId::sm_90, ArchId::sm_103},
    {"cp.async.bulk.tensor.2d.multicast of 4", {CopyWay::tensor, 2, 4}, ArchId::sm_90, ArchId::sm_103},
});

/// A latency's subject is the method's name behind this.
inline constexpr std::string_view kLatencyOf = "latency of ";

/// Of each box of a buffer whose word i is memory_word(seed, i), the sum of its words by their place in shared memory.
std::vector<std::uint32_t> box_sums(const BoxLayout& layout, std::uint32_t seed, unsigned threads);

/// Throws WrongResult if a checksum of a launch is not that of the boxes which its warps had to copy.
void check_copies(const CopyWork& work, const CheckedTimes& times, const std::vector<std::uint32_t>& sums,
                  unsigned threads);
void check_latencies(const CopyLatencyWork& work, const CopyLatencies& found, std::uint32_t seed);

}  // namespace tcnum::bench
