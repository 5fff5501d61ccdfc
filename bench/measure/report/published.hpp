// What others published of Hopper, to hold one's own figures against.
#pragma once

#include <array>
#include <string_view>

namespace tcnum::bench {

inline constexpr std::string_view kPublishedStudy =
    "Luo et al., Dissecting the NVIDIA Hopper Architecture through Microbenchmarking (arXiv:2501.12084), H800 PCIe";

/// Throughput of a wgmma, and what the device's datasheet says: half of its rates with sparsity. Sparse ones are of
/// fp16 and e4m3 operands; which format their results have makes no difference to the cycles.
struct PublishedRate {
  std::string_view family;
  int n;
  std::string_view source, data;
  double tera_ops, datasheet_tera_ops;
};
inline constexpr double kHalfSheet = 756.5, kTf32Sheet = 378, kFp8Sheet = 1513;
inline constexpr auto kPublishedRates = std::to_array<PublishedRate>({
    {"wgmma.m64nNk16.f16.f16.f16", 256, "ss", "zeros", 729.3, kHalfSheet},
    {"wgmma.m64nNk16.f32.f16.f16", 256, "ss", "zeros", 728.5, kHalfSheet},
    {"wgmma.m64nNk16.f32.f16.f16", 256, "ss", "random", 665.4, kHalfSheet},
    {"wgmma.m64nNk8.f32.tf32.tf32", 256, "ss", "zeros", 364.4, kTf32Sheet},
    {"wgmma.m64nNk32.f32.e4m3.e4m3", 256, "ss", "zeros", 1447.5, kFp8Sheet},
    {"wgmma.m64nNk32.s32.s8.s8", 256, "ss", "zeros", 1448.7, kFp8Sheet},
    {"wgmma.sp.m64nNk32.f32.f16.f16", 256, "rs", "zeros", 1472, 2 * kHalfSheet},
    {"wgmma.sp.m64nNk32.f32.f16.f16", 256, "ss", "zeros", 1308, 2 * kHalfSheet},
    {"wgmma.sp.m64nNk64.f32.e4m3.e4m3", 256, "rs", "zeros", 2945, 2 * kFp8Sheet},
    {"wgmma.sp.m64nNk64.f32.e4m3.e4m3", 256, "ss", "zeros", 2620, 2 * kFp8Sheet},
    {"wgmma.m64nNk16.f32.f16.f16", 128, "ss", "zeros", 728.5, kHalfSheet},
    {"wgmma.m64nNk16.f32.f16.f16", 64, "ss", "zeros", 719.6, kHalfSheet},
    {"wgmma.m64nNk16.f32.f16.f16", 32, "ss", "zeros", 477.3, kHalfSheet},
    {"wgmma.m64nNk16.f32.f16.f16", 32, "rs", "zeros", 710.3, kHalfSheet},
    {"wgmma.m64nNk16.f32.f16.f16", 16, "ss", "zeros", 287.0, kHalfSheet},
    {"wgmma.m64nNk16.f32.f16.f16", 16, "rs", "zeros", 434.2, kHalfSheet},
    {"wgmma.m64nNk16.f32.f16.f16", 8, "ss", "zeros", 158.2, kHalfSheet},
    {"wgmma.m64nNk16.f32.f16.f16", 8, "rs", "zeros", 216.7, kHalfSheet},
});

struct PublishedMma {
  std::string_view instruction;
  double latency_cycles, tera_ops, datasheet_tera_ops;
};
inline constexpr auto kPublishedMma = std::to_array<PublishedMma>({
    {"mma.m16n8k16.f32.f16.f16.f32", 24.1, 490.7, kHalfSheet},
    {"mma.m16n8k8.f32.tf32.tf32.f32", 24.5, 246.4, kTf32Sheet},
    {"mma.m16n8k32.s32.s8.s8.s32", 24.0, 977.9, kFp8Sheet},
});

/// Cycles of something with that name.
struct PublishedCycles {
  std::string_view name;
  double cycles;
};
/// From a wgmma to the next, by N, on the H100 SXM: bf16, both operands from shared memory.
inline constexpr auto kPublishedIntervals = std::to_array<PublishedCycles>({{"8", 18.9},
                                                                            {"16", 20.7},
                                                                            {"32", 24.7},
                                                                            {"64", 32.8},
                                                                            {"96", 48.7},
                                                                            {"128", 65.0},
                                                                            {"192", 97.1},
                                                                            {"256", 129.3}});
/// Latencies of DPX functions, and of loads by the level that answers them.
inline constexpr auto kPublishedDpx = std::to_array<PublishedCycles>(
    {{"__viaddmax_s16x2", 4.0}, {"__vimax_s32_relu", 2.0}, {"__vimax3_s32", 8.0}, {"__viaddmax_s32", 10.0}});
inline constexpr auto kPublishedLoads =
    std::to_array<PublishedCycles>({{"l1", 40.7}, {"shared", 29.0}, {"l2", 263}, {"dram", 478.8}});

/// What the memory gave, in 10^9 bytes a second; distributed shared memory: latency, and rings in clusters of two.
inline constexpr double kPublishedDramGigaBytes = 1861.5, kPublishedClusterCycles = 180, kPublishedRingTeraBytes = 3.27;

}  // namespace tcnum::bench
