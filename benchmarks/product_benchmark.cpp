// Whole matrix products on one core, beside plain fp32 FMA on the same core in the same run: the ratio is what counts.
// Or on the GPU, where the time of its kernels counts.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "emu/gpu/gpu_datapath.hpp"
#include "emu/gpu/product.hpp"
#include "emu/parallel.hpp"
#include "evaluator_name.hpp"
#include "fma_rate.hpp"
#include "io/replacement_file.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tcnum.hpp"

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
  bool nan = false, gpu = false, catalogue = false;
};

/// Of some thousand numbers that come again and again: there may be many to make.
Matrix random_matrix(FormatId id, std::size_t rows, std::size_t columns, std::mt19937_64& random) {
  constexpr std::size_t kDifferent = 65521;
  std::normal_distribution<float> normal;
  const float scale = format(id).floating ? 1.0f : 30.0f;
  std::vector<float> numbers(kDifferent);
  for (float& x : numbers) x = scale * normal(random);
  const Matrix some = Matrix::from(std::span<const float>(numbers), 1, kDifferent, format(id).name);
  Matrix all(id, rows, columns);
  for (std::size_t i = 0; i < rows * columns; ++i) all.set(i / columns, i % columns, some(0, i % kDifferent));
  return all;
}

/// Around 1, as those of numbers that are about as large as their blocks' others.
Matrix random_scales(FormatId id, std::size_t rows, std::size_t columns, std::mt19937_64& random) {
  const Format& f = format(id);
  Matrix scales(id, rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j)
      scales.set(i, j, (static_cast<std::uint64_t>(f.bias - 2) << f.fraction_bits) + random() % 5);
  }
  return scales;
}

double seconds_of(const Matrix& a, const Matrix& b, const MatmulOptions& options) {
  const double start = cpu_seconds();
  const Matrix d = matmul(a, b, options);
  return cpu_seconds() - start;
}

/// Multiply-accumulates per second of the definition.
double exact_rate(const Datapath& datapath, std::mt19937_64& random) {
  constexpr std::size_t kSide = 4;
  const Numerics& n = datapath.numerics;
  const auto k = static_cast<std::size_t>(datapath.tree.k);
  Tiles tiles = make_tiles(n.a.format, n.b.format, n.c.format, n.result, 1, kSide, kSide, k);
  tiles.a = random_matrix(n.a.format, kSide, k, random).codes();
  tiles.b = random_matrix(n.b.format, k, kSide, random).codes();
  if (n.scales) {
    const auto blocks = k / static_cast<std::size_t>(n.scales->block_k);
    tiles.scale_block = n.scales->block_k;
    tiles.sa = random_scales(n.scales->format, kSide, blocks, random).codes();
    tiles.sb = random_scales(n.scales->format, blocks, kSide, random).codes();
  }
  constexpr double kSeconds = 0.05;
  const double start = cpu_seconds();
  double macs = 0, seconds = 0;
  for (; seconds < kSeconds; seconds = cpu_seconds() - start) {
    emulate_exact(datapath, tiles);
    macs += static_cast<double>(kSide * kSide * k);
  }
  return macs / seconds;
}

Datapath datapath_of(const Case& each) {
  if (*each.arch == 0) {
    const std::filesystem::path source = TCNUM_SOURCE_DIR, name = fmt::format("{}.json", each.name);
    const std::filesystem::path published = source / "docs/datapaths" / name;
    return read_datapath(exists(published) ? published : source / "benchmarks/datapaths" / name);
  }
  return catalogue(find_arch(each.arch).value(), *find_instruction(each.name)).at(0).datapath;
}

void write(const Options& options, const nlohmann::ordered_json& rows) {
  if (!options.json.empty()) {
    ReplacementFile file(options.json);
    file.write(nlohmann::ordered_json{{"schema", "tcnum.benchmark/1"}, {"rows", rows}}.dump(2) + "\n");
    file.commit();
  }
}

/// What is multiplied on the GPU.
struct GpuCase {
  std::string what, where;
  Datapath datapath;
};
std::vector<GpuCase> cases_of_gpu(const Options& options) {
  std::vector<GpuCase> cases;
  const auto add = [&](GpuCase each) {
    if (each.what.find(options.only) == std::string::npos) return;
    const bool is_new = std::ranges::none_of(cases, [&](const GpuCase& other) {  // whatever its units are called
      return other.datapath.numerics == each.datapath.numerics && other.datapath.tree == each.datapath.tree;
    });
    if (is_new || !options.catalogue) cases.push_back(std::move(each));
  };
  if (!options.catalogue) {
    for (const Case& each : kCases)
      add({each.what, fmt::format("{}{}{}", each.arch, *each.arch != 0 ? " " : "", each.name), datapath_of(each)});
    return cases;
  }
  for (const Arch& arch : kArchs) {
    for (const CatalogueEntry& entry : catalogue(arch.id)) {
      add({fmt::format("{} {}", arch.name, entry.account), entry.instruction->name(), entry.datapath});
    }
  }
  return cases;
}

/// On the GPU; some elements are compared with the CPU's.
int run_on_gpu(const Options& options) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  fmt::print("{0} x {0} x {0} on the GPU; seconds of the whole product\n\n", options.size);
  fmt::print("{:<28}{:>14}{:>10}{:>10}{:>10}  {:<18}{}\n", "", "10^9 MAC/s", "product", "packing", "copies",
             "evaluator", "instruction");
  int different = 0;
  for (const GpuCase& each : cases_of_gpu(options)) {
    const Datapath& datapath = each.datapath;
    const auto [on_gpu, why_not] = make_gpu_datapath(datapath, GpuWork::matrices);
    if (!on_gpu) {
      fmt::print("{:<28}{}\n", each.what, why_not);
      continue;
    }
    const Numerics& n = datapath.numerics;
    if (n.c.format != n.result) {
      fmt::print("{:<28}its results are no c of the next link: {}\n", each.what, each.where);
      continue;
    }
    const bool is_slow = on_gpu->evaluator == GpuEvaluator::terms;
    const std::size_t side = is_slow ? std::max<std::size_t>(1, options.size / 4) : options.size;
    std::mt19937_64 random(1);
    Matrix a = random_matrix(n.a.format, side, side, random);
    const Matrix b = random_matrix(n.b.format, side, side, random);
    if (options.nan && format(n.a.format).floating && format(n.a.format).non_finite != NonFinite::none)
      a.set(side / 2, 0, format(n.a.format).code_mask() >> 1);
    Matrix d(n.result, side, side);
    const auto codes = [&](const Matrix& x) { return codes_from(x.bytes().data(), x.columns()); };
    std::optional<Matrix> a_scales, b_scales;
    BlockScales scales;
    if (n.scales) {
      const auto block_k = static_cast<std::size_t>(n.scales->block_k), blocks = (side + block_k - 1) / block_k;
      a_scales = random_scales(n.scales->format, side, blocks, random);
      b_scales = random_scales(n.scales->format, blocks, side, random);
      scales = {codes(*a_scales), codes(*b_scales)};
    }
    GpuProductTimes best{1e300, 1e300, 1e300};
    for (int i = 0; i < options.runs; ++i) {
      const GpuProductTimes times =
          multiply_on_gpu(datapath, {n.a.format, n.b.format, n.c.format, n.result}, {side, side, side}, codes(a),
                          codes(b), {}, codes_from(d.bytes().data(), side), scales);
      best = {std::min(best.copies, times.copies), std::min(best.packing, times.packing),
              std::min(best.products, times.products)};
    }
    const std::size_t corner = std::min<std::size_t>(side, 24);
    Codes on_cpu(format(n.result).storage_bytes(), corner * corner);
    MatrixProduct(datapath, {n.a.format, n.b.format, n.c.format, n.result})
        .multiply({corner, corner, side}, codes(a), codes(b), {}, codes_from(on_cpu.bytes().data(), corner),
                  all_threads(), scales);
    for (std::size_t i = 0; i < on_cpu.size(); ++i) different += on_cpu[i] != d(i / corner, i % corner) ? 1 : 0;
    const auto size = static_cast<double>(side);
    const double rate = size * size * size / (best.products + best.packing);
    fmt::print("{:<28}{:>14.1f}{:>10.4f}{:>10.4f}{:>10.4f}  {:<18}{}\n", each.what, rate * 1e-9, best.products,
               best.packing, best.copies, evaluator_of(datapath, Processor::gpu), each.where);
    rows.push_back({{"name", fmt::format("GPU product {}", each.what)},
                    {"datapath", each.where},
                    {"size", side},
                    {"macs_per_second", rate}});
  }
  write(options, rows);
  if (different > 0) fmt::print("{} elements are not the CPU's\n", different);
  return different > 0 ? 1 : 0;
}

int run(const Options& options) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  fmt::print(
      "{0} x {0} x {0} on one core; the ratio is to plain fp32 FMA on that "
      "core, and how many times as fast as the exact emulator it is\n\n",
      options.size);
  fmt::print("{:<28}{:>14}{:>10}{:>10}  {}\n", "", "10^9 MAC/s", "ratio", "exact", "instruction");
  for (const Case& each : kCases) {
    if (!options.only.empty() && std::string(each.what).find(options.only) == std::string::npos) continue;
    MatmulOptions how;
    how.threads = 1;
    if (*each.arch != 0) {
      how.arch = each.arch;
      how.instruction = each.name;
    }
    const Datapath datapath = datapath_of(each);
    how.datapath = datapath;
    const Numerics& n = datapath.numerics;
    const std::size_t side = options.size;
    std::mt19937_64 random(1);
    Matrix a = random_matrix(n.a.format, side, side, random);
    const Matrix b = random_matrix(n.b.format, side, side, random);
    if (options.nan && format(n.a.format).floating && format(n.a.format).non_finite != NonFinite::none)
      a.set(side / 2, 0, format(n.a.format).code_mask() >> 1);
    std::optional<Matrix> a_scales, b_scales;
    if (n.scales) {
      const std::size_t blocks =
          (side + static_cast<std::size_t>(n.scales->block_k) - 1) / static_cast<std::size_t>(n.scales->block_k);
      how.a_scales = a_scales.emplace(random_scales(n.scales->format, side, blocks, random));
      how.b_scales = b_scales.emplace(random_scales(n.scales->format, blocks, side, random));
    }
    double fma = 0, best = 1e300;
    // In turn, so that both see the same clocks and neighbours.
    for (int i = 0; i < options.runs; ++i) {
      fma = std::max(fma, fma_rate());
      best = std::min(best, seconds_of(a, b, how));
    }
    const auto size = static_cast<double>(side);
    const double rate = size * size * size / best, exact = exact_rate(datapath, random);
    fmt::print("{:<28}{:>14.2f}{:>10}{:>10.0f}  {} {}\n", each.what, rate * 1e-9,
               rate >= fma ? fmt::format("{:.1f}", rate / fma) : fmt::format("1/{:.1f}", fma / rate), rate / exact,
               each.arch, each.name);
    rows.push_back({{"name", fmt::format("product {}", each.what)},
                    {"datapath", std::string(each.arch) + (*each.arch != 0 ? " " : "") + each.name},
                    {"size", side},
                    {"macs_per_second", rate},
                    {"fma_per_second", fma},
                    {"ratio_to_fma", rate / fma},
                    {"ratio_to_exact", rate / exact}});
  }
  write(options, rows);
  return 0;
}

}  // namespace
}  // namespace tcnum

int main(int argc, char** argv) {
  tcnum::Options options;
  CLI::App app("Whole matrix products on one core, beside plain fp32 FMA");
  app.add_option("--size", options.size, "M, N and K")->check(CLI::PositiveNumber);
  app.add_option("--runs", options.runs, "of which the best counts")->check(CLI::PositiveNumber);
  app.add_option("--only", options.only, "cases whose name holds this");
  app.add_option("--json", options.json, "write the table there");
  app.add_flag("--nan", options.nan, "with one NaN in A");
  CLI::Option* const gpu = app.add_flag("--gpu", options.gpu, "on the GPU, with its rates alone");
  app.add_flag("--catalogue", options.catalogue, "each datapath of the catalogue, of all accounts, once")->needs(gpu);
  CLI11_PARSE(app, argc, argv);
  return options.gpu ? tcnum::run_on_gpu(options) : tcnum::run(options);
}
