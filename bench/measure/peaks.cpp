#include "peaks.hpp"

#include <algorithm>
#include <array>

#include "emu/format_set.hpp"

namespace tcnum::bench {
namespace {

using enum ArchId;
using enum FormatId;

constexpr FormatSet kHalves = {fp16, bf16}, kTf32 = {tf32}, kFp64 = {fp64}, kFp8 = {fp8e4m3, fp8e5m2};
constexpr FormatSet kBytes = {s8, u8}, kNibbles = {s4, u4}, kBits = {b1};

// Dense. Sources: "NVIDIA A100 Tensor Core GPU Architecture" (V1.0), table 3, and "NVIDIA H100 Tensor Core GPU
// Architecture" (V1.04), tables 2 and 3: rates over SMs and clock. Neither says anything of 4-bit and 1-bit integers
// on Hopper, whose tensor cores have no such path.
struct ArchRow {
  ArchId arch;
  FormatSet operands;
  double operations;
};
constexpr auto kArchPeaks = std::to_array<ArchRow>({
    {sm_80, kHalves, 2048},
    {sm_80, kTf32, 1024},
    {sm_80, kFp64, 128},
    {sm_80, kBytes, 4096},
    {sm_80, kNibbles, 8192},
    {sm_80, kBits, 32768},
    {sm_90, kHalves, 4096},
    {sm_90, kTf32, 2048},
    {sm_90, kFp64, 256},
    {sm_90, kFp8, 8192},
    {sm_90, kBytes, 8192},
});

// Dense. By the start of the device's name; the first that fits counts. Sources: NVIDIA's datasheets of the H200 and
// the H100 (half of the rates that they give with sparsity) and of the A100.
struct DeviceRow {
  std::string_view device;
  FormatSet operands;
  double tera_operations;
};
constexpr auto kDevicePeaks = std::to_array<DeviceRow>({
    {"NVIDIA H200 NVL", kHalves, 835.5},
    {"NVIDIA H200 NVL", kTf32, 417.5},
    {"NVIDIA H200 NVL", kFp8, 1670.5},
    {"NVIDIA H200 NVL", kBytes, 1670.5},
    {"NVIDIA H200 NVL", kFp64, 60},
    {"NVIDIA H200", kHalves, 989.5},
    {"NVIDIA H200", kTf32, 494.5},
    {"NVIDIA H200", kFp8, 1979},
    {"NVIDIA H200", kBytes, 1979},
    {"NVIDIA H200", kFp64, 67},
    {"NVIDIA H100 80GB HBM3", kHalves, 989.5},
    {"NVIDIA H100 80GB HBM3", kTf32, 494.5},
    {"NVIDIA H100 80GB HBM3", kFp8, 1979},
    {"NVIDIA H100 80GB HBM3", kBytes, 1979},
    {"NVIDIA H100 80GB HBM3", kFp64, 67},
    {"NVIDIA A100", kHalves, 312},
    {"NVIDIA A100", kTf32, 156},
    {"NVIDIA A100", kBytes, 624},
    {"NVIDIA A100", kFp64, 19.5},
});

/// Half of A's elements are left out.
constexpr double factor(bool sparse) { return sparse ? 2 : 1; }

/// What feeds the tensor cores of one SM.
struct Feeds {
  ArchId arch;
  double shared_bytes_per_clock;
  /// Of a wgmma that takes A from registers.
  double least_register_cycles, least_sparse_register_cycles;
};
// Shared memory: 32 banks of 4 bytes (CUDA C++ Programming Guide). Registers: measured here at N = 8,
// the same for every format (vectors/sm_90/bench.json).
constexpr auto kFeeds = std::to_array<Feeds>({{sm_90, 128, 13, 16}});

// CUDA C++ Programming Guide, "Arithmetic Instructions": results of a clock and SM. fp16x2 and bf16x2 count both.
struct ArithmeticRow {
  ArchId arch;
  std::string_view operation;
  double results;
};
constexpr auto kArithmetic = std::to_array<ArithmeticRow>({
    {sm_80, "fma.rn.f16x2", 256},
    {sm_80, "fma.rn.bf16x2", 128},
    {sm_80, "fma.rn.f32", 64},
    {sm_80, "fma.rn.f64", 32},
    {sm_80, "mad.lo.s32", 64},
    {sm_90, "fma.rn.f16x2", 256},
    {sm_90, "fma.rn.bf16x2", 256},
    {sm_90, "fma.rn.f32", 128},
    {sm_90, "fma.rn.f64", 64},
    {sm_90, "mad.lo.s32", 64},
});

}  // namespace

std::optional<double> peak_operations_per_clock(ArchId arch, FormatId operand, bool sparse) {
  for (const ArchRow& row : kArchPeaks) {
    if (row.arch == arch && row.operands.contains(operand)) return row.operations * factor(sparse);
  }
  return std::nullopt;
}

std::optional<double> datasheet_peak(std::string_view device, FormatId operand, bool sparse) {
  for (const DeviceRow& row : kDevicePeaks) {
    if (device.starts_with(row.device) && row.operands.contains(operand)) {
      return row.tera_operations * factor(sparse);
    }
  }
  return std::nullopt;
}

double Model::cycles() const { return std::max({tensor_cycles, shared_cycles, register_cycles}); }

std::optional<Model> model_of(const Instruction& in, ArchId arch, bool a_in_registers) {
  const auto peak = peak_operations_per_clock(arch, in.a, in.sparse());
  if (!peak) return std::nullopt;
  Model model{operations(in) / *peak, 0, 0};
  if (in.kind != InstructionKind::wgmma) return model;
  const auto feed = std::ranges::find(kFeeds, arch, &Feeds::arch);
  if (feed == kFeeds.end()) return std::nullopt;
  const double a_bytes = in.m * in.products() * format(in.a).storage_bits / 8.0;
  const double b_bytes = in.n * in.k * format(in.b).storage_bits / 8.0;
  model.shared_cycles = (b_bytes + (a_in_registers ? 0 : a_bytes)) / feed->shared_bytes_per_clock;
  if (a_in_registers) {
    model.register_cycles = in.sparse() ? feed->least_sparse_register_cycles : feed->least_register_cycles;
  }
  return model;
}

std::optional<double> arithmetic_per_clock(ArchId arch, std::string_view operation) {
  for (const ArithmeticRow& row : kArithmetic) {
    if (row.arch == arch && row.operation == operation) return row.results;
  }
  return std::nullopt;
}

}  // namespace tcnum::bench
