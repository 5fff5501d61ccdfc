// Copies from global to shared memory, each way that there is, and the matrix product that shows what they are for.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/device/copy_timing.hpp"
#include "bench/measure/measurement.hpp"

namespace tcnum::bench {

/// Latency of one copy, by its size.
const Measurement& copy_latency_measurement();
/// Bytes a second that rings of copies bring, by the size of a copy and the bytes under way.
const Measurement& copies_measurement();
/// A product through tiles in shared memory: loads and stores against cp.async.
const Measurement& tiled_product_measurement();

/// A way to copy, under PTX's name.
struct NamedMethod {
  std::string name;
  CopyMethod method;
  ArchId first;                  ///< the architecture that brought it
  ArchId last = ArchId::sm_121;  ///< the last one that this build has it for
};
const std::vector<NamedMethod>& copy_methods();
/// Why an architecture has it not; empty: it has.
std::string waived_on(const NamedMethod& method, ArchId arch);

/// A latency's subject is the method's name behind this.
inline constexpr std::string_view kLatencyOf = "latency of ";
/// Where copies come from: the values of an axis.
inline constexpr const char *kFromL2 = "l2", *kFromDram = "dram";
/// A buffer of which the L2 keeps all, and one that is many times larger.
std::size_t copy_buffer_bytes(const CopyDevice& device, bool from_l2);
std::uint32_t copy_seed(const Settings& settings);

/// A row of a measurement of methods: its record so far, and what it is measured with.
struct CopyRow {
  TimingDevice& timing;
  CopyDevice& device;
  const CopyMethod& method;
  const Settings& settings;
  Record& record;

  bool from_l2() const { return record.text("from") == kFromL2; }
};
/// The axis of where copies come from.
const Axis& from_axis();
/// The methods' names behind a prefix; none of an architecture that is not NVIDIA's.
std::vector<std::string> copy_subjects(ArchId arch, std::string_view prefix);
/// A record of each of these subjects with each value of from_axis(); waived where the architecture, the device or the
/// build cannot, or where `measure` says why (an empty text: it was measured).
void measure_methods(const std::string& measurement, std::string_view prefix, TimingDevice& device, ArchId arch,
                     const std::vector<std::string>& subjects, const Selection& selection, const Settings& settings,
                     const std::function<void(Record)>& add, const std::function<std::string(const CopyRow&)>& measure);

/// Why a row is waived.
inline constexpr const char* kNoSuchSize = "none of these sizes is one that such a copy can have";
inline constexpr const char* kNoCopies = "this device or build does not time copies";

/// Copies from the L2 until the device's clock has settled, once.
void settle_clock(CopyDevice& device, const Settings& settings);

}  // namespace tcnum::bench
