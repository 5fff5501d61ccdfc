// Whole matrix products on one core, beside plain fp32 FMA on the same core in the same run: the ratio is what counts.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "fma_rate.hpp"
#include "io/replacement_file.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum {
namespace {

/// An instruction's, or without one a datapath of docs/datapaths.
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
    {"s8", "sm_90", "mma.m16n8k32.s32.s8.s8.s32"},
    {"fp64", "sm_90", "mma.m8n8k4.f64.f64.f64.f64"},
    {"CDNA1 fp16", "", "cdna1-fp16"},
    {"CDNA2 fp16", "", "cdna2-fp16"},
    {"CDNA3 fp16", "", "cdna3-fp16"},
    {"CDNA3 fp8", "", "cdna3-fp8"},
};

struct Options {
  std::size_t size = 1024;
  int runs = 5;
  std::string only, json;
  bool nan = false;
};

Matrix random_matrix(FormatId id, std::size_t rows, std::size_t columns, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  const float scale = format(id).floating ? 1.0f : 30.0f;
  std::vector<float> numbers(rows * columns);
  for (float& x : numbers) x = scale * normal(random);
  return Matrix::from(std::span<const float>(numbers), rows, columns, format(id).name);
}

double seconds_of(const Matrix& a, const Matrix& b, const MatmulOptions& options) {
  const double start = cpu_seconds();
  const Matrix d = matmul(a, b, options);
  return cpu_seconds() - start;
}

Datapath datapath_of(const Case& each) {
  if (*each.arch == 0) return read_datapath(fmt::format("{}/docs/datapaths/{}.json", TCNUM_SOURCE_DIR, each.name));
  return catalogue(find_arch(each.arch).value(), *find_instruction(each.name)).at(0).datapath;
}

/// Of what no panels take, which would take minutes, an eighth of the size is enough.
std::size_t size_of(const Datapath& datapath, std::size_t size) {
  constexpr std::size_t kLess = 8;
  for (const EvaluatorAnswer& answer : evaluators_of(datapath)) {
    if (answer.name.find("panels") != std::string_view::npos && answer.nodes > 0) return size;
  }
  return std::max<std::size_t>(1, size / kLess);
}

int run(const Options& options) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  fmt::print(
      "{0} x {0} x {0} on one core, or an eighth of that where no panels are; the ratio is to plain fp32 FMA on that "
      "core\n\n",
      options.size);
  fmt::print("{:<28}{:>14}{:>10}  {}\n", "", "10^9 MAC/s", "ratio", "instruction");
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
    const std::size_t side = size_of(datapath, options.size);
    std::mt19937_64 random(1);
    Matrix a = random_matrix(n.a.format, side, side, random);
    const Matrix b = random_matrix(n.b.format, side, side, random);
    if (options.nan && format(n.a.format).floating && format(n.a.format).non_finite != NonFinite::none)
      a.set(side / 2, 0, format(n.a.format).code_mask() >> 1);
    double fma = 0, best = 1e300;
    // In turn, so that both see the same clocks and neighbours.
    for (int i = 0; i < options.runs; ++i) {
      fma = std::max(fma, fma_rate());
      best = std::min(best, seconds_of(a, b, how));
    }
    const auto size = static_cast<double>(side);
    const double rate = size * size * size / best;
    fmt::print("{:<28}{:>14.2f}{:>10}  {} {}\n", each.what, rate * 1e-9,
               rate >= fma ? fmt::format("{:.1f}", rate / fma) : fmt::format("1/{:.1f}", fma / rate), each.arch,
               each.name);
    rows.push_back({{"name", fmt::format("product {}", each.what)},
                    {"datapath", std::string(each.arch) + (*each.arch != 0 ? " " : "") + each.name},
                    {"size", side},
                    {"macs_per_second", rate},
                    {"fma_per_second", fma},
                    {"ratio_to_fma", rate / fma}});
  }
  if (!options.json.empty()) {
    ReplacementFile file(options.json);
    file.write(nlohmann::ordered_json{{"schema", "tcnum.benchmark/1"}, {"rows", rows}}.dump(2) + "\n");
    file.commit();
  }
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
  CLI11_PARSE(app, argc, argv);
  return tcnum::run(options);
}
