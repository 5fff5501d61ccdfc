#include "published.hpp"

#include <array>

namespace tcnum::bench {
namespace {

// The study's tables of wgmma, and its peaks: half of the datasheet's with sparsity. Sparse ones are of fp16 and e4m3
// operands; which format their results have makes no difference to the cycles.
constexpr double kHalf = 756.5, kTf32 = 378, kFp8 = 1513;
constexpr auto kRates = std::to_array<PublishedRate>({
    {"wgmma.m64nNk16.f16.f16.f16", 256, "ss", "zeros", 729.3, kHalf},
    {"wgmma.m64nNk16.f32.f16.f16", 256, "ss", "zeros", 728.5, kHalf},
    {"wgmma.m64nNk16.f32.f16.f16", 256, "ss", "random", 665.4, kHalf},
    {"wgmma.m64nNk8.f32.tf32.tf32", 256, "ss", "zeros", 364.4, kTf32},
    {"wgmma.m64nNk32.f32.e4m3.e4m3", 256, "ss", "zeros", 1447.5, kFp8},
    {"wgmma.m64nNk32.s32.s8.s8", 256, "ss", "zeros", 1448.7, kFp8},
    {"wgmma.sp.m64nNk32.f32.f16.f16", 256, "rs", "zeros", 1472, 2 * kHalf},
    {"wgmma.sp.m64nNk32.f32.f16.f16", 256, "ss", "zeros", 1308, 2 * kHalf},
    {"wgmma.sp.m64nNk64.f32.e4m3.e4m3", 256, "rs", "zeros", 2945, 2 * kFp8},
    {"wgmma.sp.m64nNk64.f32.e4m3.e4m3", 256, "ss", "zeros", 2620, 2 * kFp8},
    {"wgmma.m64nNk16.f32.f16.f16", 128, "ss", "zeros", 728.5, kHalf},
    {"wgmma.m64nNk16.f32.f16.f16", 64, "ss", "zeros", 719.6, kHalf},
    {"wgmma.m64nNk16.f32.f16.f16", 32, "ss", "zeros", 477.3, kHalf},
    {"wgmma.m64nNk16.f32.f16.f16", 32, "rs", "zeros", 710.3, kHalf},
    {"wgmma.m64nNk16.f32.f16.f16", 16, "ss", "zeros", 287.0, kHalf},
    {"wgmma.m64nNk16.f32.f16.f16", 16, "rs", "zeros", 434.2, kHalf},
    {"wgmma.m64nNk16.f32.f16.f16", 8, "ss", "zeros", 158.2, kHalf},
    {"wgmma.m64nNk16.f32.f16.f16", 8, "rs", "zeros", 216.7, kHalf},
});

constexpr auto kCycles = std::to_array<PublishedCycles>(
    {{8, 18.9}, {16, 20.7}, {32, 24.7}, {64, 32.8}, {96, 48.7}, {128, 65.0}, {192, 97.1}, {256, 129.3}});

constexpr auto kMma = std::to_array<PublishedMma>({
    {"mma.m16n8k16.f32.f16.f16.f32", 24.1, 490.7, kHalf},
    {"mma.m16n8k8.f32.tf32.tf32.f32", 24.5, 246.4, kTf32},
    {"mma.m16n8k32.s32.s8.s8.s32", 24.0, 977.9, kFp8},
});

constexpr auto kDpx = std::to_array<PublishedDpx>({
    {"__viaddmax_s16x2", 4.0},
    {"__vimax_s32_relu", 2.0},
    {"__vimax3_s32", 8.0},
    {"__viaddmax_s32", 10.0},
});

constexpr auto kLatencies =
    std::to_array<PublishedLatency>({{"l1", 40.7}, {"shared", 29.0}, {"l2", 263}, {"dram", 478.8}});

}  // namespace

std::span<const PublishedRate> published_rates() { return kRates; }
std::span<const PublishedCycles> published_cycles() { return kCycles; }
std::span<const PublishedMma> published_mma() { return kMma; }
std::span<const PublishedDpx> published_dpx() { return kDpx; }
std::span<const PublishedLatency> published_latencies() { return kLatencies; }

}  // namespace tcnum::bench
