// Copies from global to shared memory, each way that there is.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "bench/device/copy_timing.hpp"
#include "bench/measure/measurement.hpp"

namespace tcnum::bench {

/// Latency of one copy, by its size.
Measurement copy_latency_measurement();
/// Bytes a second that rings of copies bring, by the size of a copy and the bytes under way.
Measurement copies_measurement();

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
/// A buffer of which the L2 keeps all, and one that is many times larger.
std::size_t copy_buffer_bytes(const Row& row, bool from_l2);

/// A measurement of methods, from the L2 and from DRAM, that also goes over these axes: `measure` does a row whose
/// architecture has the method, when the device's clock has settled.
Measurement measurement_of_methods(std::string name, const char* meaning, std::string_view prefix,
                                   std::vector<Axis> axes, void (*measure)(const Row& row, const CopyMethod& method));
/// Throws UnavailableError.
[[noreturn]] void no_such_size();

/// Copies from the L2 until the device's clock has settled, once.
void settle_copy_clock(const Row& row);

}  // namespace tcnum::bench
