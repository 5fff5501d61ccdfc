// Whole matrix products on one core, beside plain fp32 FMA on the same core in the same run: the ratio is what counts.
// Or on the GPU, where the time of its kernels counts.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "emu/gpu/gpu_datapath.hpp"
#include "emu/gpu/product.hpp"
#include "fma_rate.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tcnum.hpp"
#include "timed_product.hpp"

namespace tcnum {
namespace {

/// An instruction's, or without one a datapath of docs/datapaths or benchmarks/datapaths.
struct Case {
  const char *what, *arch, *name;
};

constexpr Case kCases[] = {
    {"Hopper fp16", "sm_90", "wgmma.m64n8k16.f32.f16.f16"},
    {"Hopper bf16", "sm_90", "wgmma.m64n8k16.f32.bf16.bf16"},
    {"Hopper fp8, wgmma", "sm_90", "wgmma.m64n8k32.f32.e4m3.e4m3"},
    {"Hopper tf32", "sm_90", "wgmma.m64n8k8.f32.tf32.tf32"},
    {"Hopper fp16 to fp16", "sm_90", "wgmma.m64n8k16.f16.f16.f16"},
    {"Hopper fp8, mma (lowered)", "sm_90", "mma.m16n8k32.f32.e4m3.e4m3.f32"},
    {"Volta fp16", "sm_70", "mma.m8n8k4.f32.f16.f16.f32"},
    {"Ampere fp16", "sm_80", "mma.m16n8k16.f32.f16.f16.f32"},
    {"Ada fp8", "sm_89", "mma.m16n8k32.f32.e4m3.e4m3.f32"},
    {"Blackwell fp16", "sm_100", "mma.m16n8k16.f32.f16.f16.f32"},
    {"Blackwell mxf8f6f4", "", "blackwell-mxf8f6f4"},
    {"Blackwell nvfp4", "", "blackwell-nvfp4"},
    {"Blackwell mxf4nvf4", "sm_120", "mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3"},
    {"Blackwell mxf4", "sm_120", "mma.m16n8k64.mxf4.2x.f32.e2m1.e2m1.f32.ue8m0"},
    {"s8", "sm_90", "mma.m16n8k32.s32.s8.s8.s32"},
    {"fp64", "sm_90", "mma.m8n8k4.f64.f64.f64.f64"},
    {"Volta fp16, blocks apart", "", "volta-fp16-separate"},
    {"CDNA1 fp16", "", "cdna1-fp16"},
    {"CDNA2 fp16", "", "cdna2-fp16"},
    {"CDNA3 fp16", "", "cdna3-fp16"},
    {"CDNA3 fp8", "", "cdna3-fp8"},
    {"CDNA3 bf16", "gfx942", "v_mfma_f32_16x16x16_bf16"},
    {"CDNA3 xf32", "gfx942", "v_mfma_f32_16x16x8_xf32"},
    {"tree of fp32 additions", "", "fp-add-tree"},
    {"scaled tree of fp32 adds", "", "scaled-tree"},
    {"scaled fp16, cut sums", "", "scaled-fp16"},
    {"s8 to 24 bits, saturating", "", "s8-to-24-bits"},
    {"b1, xor", "", "b1-xor"},
};

struct Options {
  std::size_t size = 1024;
  int runs = 5;
  std::string only, json;
  bool gpu = false;
};

ProductShape shape_of(const Datapath& datapath, std::size_t side) {
  const auto depth = static_cast<std::size_t>(datapath.tree.k);
  return {side, side, (side + depth - 1) / depth * depth};
}
double macs_of(const ProductShape& shape) { return static_cast<double>(shape.m * shape.n * shape.k); }

Datapath datapath_of(const Case& each) {
  if (*each.arch == 0) {
    const std::filesystem::path source = TCNUM_SOURCE_DIR, name = fmt::format("{}.json", each.name);
    const std::filesystem::path published = source / "docs/datapaths" / name;
    return read_datapath(exists(published) ? published : source / "benchmarks/datapaths" / name);
  }
  return catalogue(find_arch(each.arch).value(), *find_instruction(each.name)).at(0).datapath;
}

std::string where(const Case& each) { return fmt::format("{}{}{}", each.arch, *each.arch != 0 ? " " : "", each.name); }

/// How many elements of the first rows and columns are not the exact emulator's.
template <class Element>
int differences(const Codes& exact, const Element& element) {
  int different = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) different += exact[i] != element(i / kExactSide, i % kExactSide);
  return different;
}

/// On the GPU: the time of its kernels counts.
int run_on_gpu(const Case& each, const Datapath& datapath, const Options& options, nlohmann::ordered_json& rows) {
  const auto [on_gpu, why_not] = make_gpu_datapath(datapath, GpuWork::matrices);
  if (!on_gpu) {
    fmt::print("{:<28}{}\n", each.what, why_not);
    return 0;
  }
  const ProductOperands of(datapath, shape_of(datapath, options.size));
  const Numerics& n = datapath.numerics;
  Matrix d(n.result, of.shape.m, of.shape.n);
  GpuProductTimes best{1e300, 1e300, 1e300};
  for (int i = 0; i < options.runs; ++i) {
    const GpuProductTimes times =
        multiply_on_gpu(datapath, {n.a.format, n.b.format, n.c.format, n.result}, of.shape, codes_of(of.a),
                        codes_of(of.b), {}, codes_from(d.bytes().data(), d.columns()), of.scales());
    best = {std::min(best.copies, times.copies), std::min(best.packing, times.packing),
            std::min(best.products, times.products)};
  }
  const double rate = macs_of(of.shape) / (best.products + best.packing);
  fmt::print("{:<28}{:>14.1f}{:>10.4f}{:>10.4f}{:>10.4f}  {:<18}{}\n", each.what, rate * 1e-9, best.products,
             best.packing, best.copies, evaluator_of(datapath, Processor::gpu), where(each));
  rows.push_back({{"name", fmt::format("GPU product {}", each.what)},
                  {"datapath", where(each)},
                  {"size", of.shape.m},
                  {"macs_per_second", rate}});
  return differences(exact_corner(datapath, of), [&](std::size_t i, std::size_t j) { return d(i, j); });
}

int run_on_a_core(const Case& each, const Datapath& datapath, const Options& options, nlohmann::ordered_json& rows) {
  const ProductOperands of(datapath, shape_of(datapath, options.size));
  MatmulOptions how;
  how.threads = 1;
  how.datapath = datapath;
  if (*each.arch != 0) {
    how.arch = each.arch;
    how.instruction = each.name;
  }
  if (of.a_scales) {
    how.a_scales = *of.a_scales;
    how.b_scales = *of.b_scales;
  }
  double fma = 0, best = 1e300, best_exact = 1e300;
  Codes exact;
  int different = 0;
  // In turn, so that all see the same clocks and neighbours.
  for (int i = 0; i < options.runs; ++i) {
    fma = std::max(fma, fma_rate());
    double start = cpu_seconds();
    const Matrix d = matmul(of.a, of.b, how);
    best = std::min(best, cpu_seconds() - start);
    if (i > 0) continue;
    start = cpu_seconds();
    exact = exact_corner(datapath, of);
    best_exact = cpu_seconds() - start;
    different = differences(exact, [&](std::size_t row, std::size_t column) { return d(row, column); });
  }
  const double rate = macs_of(of.shape) / best,
               exact_rate = static_cast<double>(kExactSide * kExactSide * of.shape.k) / best_exact;
  fmt::print("{:<28}{:>14.2f}{:>10}{:>10.0f}  {} {}\n", each.what, rate * 1e-9,
             rate >= fma ? fmt::format("{:.1f}", rate / fma) : fmt::format("1/{:.1f}", fma / rate), rate / exact_rate,
             each.arch, each.name);
  rows.push_back({{"name", fmt::format("product {}", each.what)},
                  {"datapath", where(each)},
                  {"size", of.shape.m},
                  {"macs_per_second", rate},
                  {"fma_per_second", fma},
                  {"ratio_to_fma", rate / fma},
                  {"ratio_to_exact", rate / exact_rate}});
  return different;
}

int run(const Options& options) {
  if (options.gpu) {
    fmt::print("{0} x {0} x {0} on the GPU; seconds of the whole product\n\n", options.size);
    fmt::print("{:<28}{:>14}{:>10}{:>10}{:>10}  {:<18}{}\n", "", "10^9 MAC/s", "product", "packing", "copies",
               "evaluator", "instruction");
  } else {
    fmt::print(
        "{0} x {0} x {0} on one core; the ratio is to plain fp32 FMA on that "
        "core, and how many times as fast as the exact emulator it is\n\n",
        options.size);
    fmt::print("{:<28}{:>14}{:>10}{:>10}  {}\n", "", "10^9 MAC/s", "ratio", "exact", "instruction");
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  int different = 0;
  for (const Case& each : kCases) {
    if (std::string_view(each.what).find(options.only) == std::string_view::npos) continue;
    different += (options.gpu ? run_on_gpu : run_on_a_core)(each, datapath_of(each), options, rows);
  }
  write_rows(options.json, rows);
  if (different > 0) fmt::print("{} elements are not the exact emulator's\n", different);
  return different > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tcnum

int main(int argc, char** argv) {
  tcnum::Options options;
  CLI::App app("Whole matrix products on one core, beside plain fp32 FMA");
  app.add_option("--size", options.size, "M, N and K")->check(CLI::Range(tcnum::kExactSide, std::size_t{1} << 15));
  app.add_option("--runs", options.runs, "of which the best counts")->check(CLI::PositiveNumber);
  app.add_option("--only", options.only, "cases whose name holds this");
  app.add_option("--json", options.json, "write the table there");
  app.add_flag("--gpu", options.gpu, "on the GPU, with its rates alone");
  CLI11_PARSE(app, argc, argv);
  return tcnum::run(options);
}
