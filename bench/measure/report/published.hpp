// What others published of Hopper, to hold one's own figures against.
#pragma once

#include <span>
#include <string_view>

namespace tcnum::bench {

/// Throughput of a wgmma on the H800 PCIe, and what that device's datasheet says.
struct PublishedRate {
  std::string_view family;
  int n;
  std::string_view source, data;
  double tera_ops, datasheet_tera_ops;
};
std::span<const PublishedRate> published_rates();

/// Cycles of a wgmma on the H100 SXM, bf16, both operands from shared memory.
struct PublishedCycles {
  int n;
  double interval_cycles;
};
std::span<const PublishedCycles> published_cycles();

/// mma on the H800 PCIe.
struct PublishedMma {
  std::string_view instruction;
  double latency_cycles, tera_ops, datasheet_tera_ops;
};
std::span<const PublishedMma> published_mma();

/// DPX functions on the H800 PCIe.
struct PublishedDpx {
  std::string_view function;
  double latency_cycles;
};
std::span<const PublishedDpx> published_dpx();

/// Distributed shared memory on the H800 PCIe: latency, and rings in clusters of two.
struct PublishedClusters {
  double latency_cycles, tera_bytes_per_second;
};
inline constexpr PublishedClusters kPublishedClusters = {180, 3.27};

/// Latency of a load on the H800 PCIe, by the level that answers it.
struct PublishedLatency {
  std::string_view level;
  double cycles;
};
std::span<const PublishedLatency> published_latencies();
/// What the H800 PCIe's memory gave, in 10^9 bytes a second.
inline constexpr double kPublishedDramGigaBytes = 1861.5;

inline constexpr std::string_view kPublishedStudy =
    "Luo et al., Dissecting the NVIDIA Hopper Architecture through Microbenchmarking (arXiv:2501.12084), H800 PCIe";

}  // namespace tcnum::bench
