#include "product_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "bench/measure/least_squares.hpp"
#include "gemm.hpp"
#include "tcnum/cublaslt.hpp"
#include "tcnum/error.hpp"

namespace tcnum::bench {
namespace {

constexpr double kTera = 1e12, kGiga = 1e9, kNsOfUs = 1e3, kMicro = 1e6;
/// Tiles' epilogues are counted in these.
constexpr double kUnitArea = 128 * 128;
constexpr double kWgmmaTileRows = 64;
/// Instructions along k in a step.
constexpr double kStepInstructions = 4;

/// (Σ xᵖ)^(1/p) with p = 12: the largest, and where several are nearly as large, up to a seventh more.
double soft_max(std::span<const double> values) {
  const double largest = std::ranges::max(values);
  if (!(largest > 0)) return 0;
  double sum = 0;
  for (double value : values) {
    const double x = value / largest, x2 = x * x, x4 = x2 * x2;
    sum += x4 * x4 * x4;
  }
  constexpr double kPower = 12;
  return largest * std::pow(sum, 1 / kPower);
}

enum Part : std::size_t { kMath, kL2, kRequests, kDram, kEpilogue, kStart };
using Parts = std::array<double, kProductLimits.size()>;

/// Cycles of a tile's instructions in a step.
double step_instructions(const ProductDevice& device, std::size_t formats, const ProductWork& work) {
  return work.tile_area / kWgmmaTileRows * device.column_cycles[formats] * kStepInstructions;
}

/// Microseconds at that clock, and of each part.
double time_of(const ProductDevice& device, std::size_t formats, const ProductWork& work, double ghz, Parts& parts) {
  const ProductLaw& law = device.law;
  const double us_of_cycle = 1 / (ghz * kNsOfUs);
  const double math = work.steps * (step_instructions(device, formats, work) + law.step_cycles) * us_of_cycle;
  const double line_bytes = work.sectors_per_line * 32, requests = work.steps * work.lines * work.requests_per_line;
  const double own_requests = work.steps * work.most_lines * us_of_cycle *
                              std::max(work.requests_per_line * law.request_cycles, law.line_cycles);
  const double epilogue = law.tile_cycles * work.written_area / kUnitArea * us_of_cycle;
  parts.fill(0);
  double all = law.start_us;
  if (work.sum_bytes > 0) {
    // Written, and read by a second launch, which does not wait for operands from DRAM.
    constexpr double kShareOfStart = 0.5;
    all += kShareOfStart * law.start_us + 2 * work.sum_bytes / (law.l2_tera_bytes_per_second * kMicro);
  }
  parts[kStart] = all;
  for (const Wave& wave : work.waves) {
    const double coalesced =
        std::min(law.coalesced_share, 1.0) / (1 + wave.panel_bytes / (law.coalesced_mega_bytes * kMicro));
    const double l2 =
        work.steps * work.lines * line_bytes * wave.blocks * (1 - coalesced) / (law.l2_tera_bytes_per_second * kMicro);
    const double all_requests = requests * wave.blocks / (law.requests_per_ns * kNsOfUs);
    const double dram = (wave.fresh_bytes + law.dram_share_of_results * wave.blocks * work.result_bytes) /
                        (law.dram_tera_bytes_per_second * kMicro);
    const auto count = static_cast<double>(wave.count);
    all += count * (soft_max(std::array{math, l2, own_requests, all_requests, dram}) + epilogue);
    parts[kMath] += count * math;
    parts[kL2] += count * l2;
    parts[kRequests] += count * std::max(own_requests, all_requests);
    parts[kDram] += count * dram;
    parts[kEpilogue] += count * epilogue;
  }
  return all;
}

/// The clock of a product that takes so long.
double clock_of(const ProductDevice& device, std::size_t formats, const ProductWork& work, double microseconds,
                double at_ghz) {
  double tiles = 0, fresh = 0;
  for (const Wave& wave : work.waves) {
    tiles += static_cast<double>(wave.count) * wave.blocks;
    fresh += static_cast<double>(wave.count) * wave.fresh_bytes;
  }
  const double cycles = work.steps * step_instructions(device, formats, work) * tiles / device.sms;
  const double busy = cycles / (at_ghz * kNsOfUs) / microseconds;
  const double l2 = work.steps * work.lines * kGemmStepBytes * tiles / microseconds / kMicro;
  const double dram = fresh / microseconds / kMicro;
  const ProductLaw& law = device.law;
  return std::min(law.most_mhz, law.base_mhz - law.math_mhz[formats] * busy - law.l2_mhz * l2 - law.dram_mhz * dram);
}

double highest_mhz(const ProductDevice& device) { return device.clock_mhz.value_or(device.law.most_mhz); }

/// Operations a microsecond, all SMs together: the highest rate that was measured, or what the instructions' cycles
/// give at the clock that the SMs keep.
double tensor_core_rate(const ProductDevice& device, std::size_t formats) {
  if (!device.clock_mhz) return device.tera_ops[formats] * kTera / kMicro;
  const double products = kWgmmaTileRows * kGemmStepBytes / kStepInstructions /
                          static_cast<double>(format(kGemmFormats[formats].operands).storage_bytes());
  return 2 * products / device.column_cycles[formats] * device.sms * *device.clock_mhz;
}

/// The clock depends on how fast the product is, and that on the clock.
Prediction predict(const ProductDevice& device, std::size_t formats, const ProductWork& work) {
  constexpr int kTurns = 8;
  constexpr double kLeastMhz = 300;
  Prediction p;
  p.clock_mhz = highest_mhz(device);
  for (int i = 0; i < kTurns && !device.clock_mhz; ++i) {
    p.microseconds = time_of(device, formats, work, p.clock_mhz / kNsOfUs, p.part_us);
    const double next = clock_of(device, formats, work, p.microseconds, p.clock_mhz / kNsOfUs);
    p.clock_mhz = std::max(kLeastMhz, (p.clock_mhz + next) / 2);
  }
  p.microseconds = time_of(device, formats, work, p.clock_mhz / kNsOfUs, p.part_us);
  p.limit = static_cast<std::size_t>(std::ranges::max_element(p.part_us) - p.part_us.begin());
  p.power_limited = p.clock_mhz < highest_mhz(device);
  p.sol_microseconds =
      std::max(work.operations / tensor_core_rate(device, formats), work.bytes / device.dram_bytes_per_second * kMicro);
  for (const Wave& wave : work.waves) p.waves += wave.count;
  return p;
}

unsigned blocks_of(const ProductDevice& device, const ProductTiling& tiling) {
  const unsigned cluster = tiling.tile.cluster();
  return std::max(device.sms / cluster, 1U) * cluster;
}
ProductWork work_on(const ProductDevice& device, std::size_t formats, const GemmShape& shape,
                    const ProductTiling& tiling) {
  return work_of(shape, kGemmFormats[formats], tiling, blocks_of(device, tiling), device.l2_bytes);
}

constexpr auto kInstructions = std::to_array<const char*>(
    {"wgmma.m64nNk16.f32.f16.f16", "wgmma.m64nNk16.f32.bf16.bf16", "wgmma.m64nNk32.f32.e4m3.e4m3"});
static_assert(kInstructions.size() == kGemmFormats.size());

/// The law's parameters that say how long; the others are the clock's.
constexpr std::size_t kSpeedParameters = 11;

/// If all operands were in the L2, at the highest clock: microseconds.
double fastest_possible(const ProductDevice& device, std::size_t formats, const GemmShape& shape,
                        const ProductTiling& tiling) {
  const ProductWork work = work_in_l2(shape, kGemmFormats[formats], tiling, blocks_of(device, tiling));
  Parts parts;
  return time_of(device, formats, work, highest_mhz(device) / kNsOfUs, parts);
}

/// Tilings such as the library has.
std::vector<ProductTiling> tilings_of(const ProductDevice& device, const GemmShape& shape) {
  constexpr auto kRows = std::to_array<unsigned>({64, 128, 192, 256});
  constexpr unsigned kLeastColumns = 64, kMostColumns = 256, kColumnStep = 32, kMostArea = 40'000, kMostSplit = 4;
  struct Cluster {
    unsigned rows, columns;
  };
  constexpr auto kClusters = std::to_array<Cluster>({{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}});
  std::vector<ProductTiling> tilings;
  for (unsigned rows : kRows) {
    for (unsigned columns = kLeastColumns; columns <= kMostColumns; columns += kColumnStep) {
      if (rows * columns > kMostArea) continue;
      const std::size_t tiles = ((shape.m + rows - 1) / rows) * ((shape.n + columns - 1) / columns);
      for (const Cluster& cluster : kClusters) {
        for (unsigned split = 1; split <= kMostSplit && (split == 1 || tiles * split <= device.sms); ++split) {
          tilings.push_back({{rows, columns, cluster.rows, cluster.columns}, split});
        }
      }
    }
  }
  return tilings;
}

/// Of a matrix that the model is asked about; a record may be a stranger's.
constexpr std::size_t kMostSize = 1 << 18;
/// 0 of what is none.
int small_number(double number) {
  constexpr double kMost = 1 << 15;
  return number >= 0 && number <= kMost ? static_cast<int>(number) : 0;
}

}  // namespace

std::vector<LawParameter> parameters_of(ProductLaw& law) {
  std::vector<LawParameter> all = {{"start_us", &law.start_us},
                                   {"step_cycles", &law.step_cycles},
                                   {"tile_cycles", &law.tile_cycles},
                                   {"l2_tera_bytes_per_second", &law.l2_tera_bytes_per_second},
                                   {"coalesced_share", &law.coalesced_share},
                                   {"coalesced_mega_bytes", &law.coalesced_mega_bytes},
                                   {"requests_per_ns", &law.requests_per_ns},
                                   {"request_cycles", &law.request_cycles},
                                   {"line_cycles", &law.line_cycles},
                                   {"dram_tera_bytes_per_second", &law.dram_tera_bytes_per_second},
                                   {"dram_share_of_results", &law.dram_share_of_results},
                                   {"most_mhz", &law.most_mhz},
                                   {"base_mhz", &law.base_mhz},
                                   {"l2_mhz", &law.l2_mhz},
                                   {"dram_mhz", &law.dram_mhz}};
  for (std::size_t i = 0; i < kGemmFormats.size(); ++i) {
    all.push_back({fmt::format("{}_mhz", format(kGemmFormats[i].operands).name), &law.math_mhz[i]});
  }
  return all;
}

Prediction predict(const ProductDevice& device, std::size_t formats, const GemmShape& shape,
                   const ProductTiling& tiling) {
  return predict(device, formats, work_on(device, formats, shape, tiling));
}

BestTiling best_tiling(const ProductDevice& device, std::size_t formats, const GemmShape& shape) {
  struct Candidate {
    ProductTiling tiling;
    double least_us;
  };
  std::vector<Candidate> candidates;
  for (const ProductTiling& tiling : tilings_of(device, shape)) {
    candidates.push_back({tiling, fastest_possible(device, formats, shape, tiling)});
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::least_us);
  BestTiling best;
  best.prediction.microseconds = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) {
    if (candidate.least_us >= best.prediction.microseconds) break;  // nor is any behind it faster
    const Prediction found = predict(device, formats, shape, candidate.tiling);
    if (found.microseconds < best.prediction.microseconds) best = {candidate.tiling, found};
  }
  return best;
}

std::optional<ProductTiling> library_tiling(int tile_id, int cluster_id, int split_k) {
  constexpr int kMostSplit = 64;  // the library has no more parts of k
  const auto tile = cublaslt_tile(tile_id, cluster_id);
  if (!tile || split_k > kMostSplit) return std::nullopt;
  return ProductTiling{{tile->columns, tile->rows, tile->cluster_columns, tile->cluster_rows},
                       static_cast<unsigned>(std::max(1, split_k))};
}

std::vector<MeasuredProduct> measured_products(const Document& document, std::string_view set, bool by_library,
                                               Calls calls) {
  std::vector<MeasuredProduct> all;
  for (const Record& record : document.records) {
    if (record.measurement != gemm_measurement_name(calls) || record.text("shapes") != set) continue;
    const std::string kernel = record.text("kernel");
    const GemmFormats* const formats = find_gemm_formats(record.subject);
    const GemmTile* const tile = find_tile(kernel);
    if (formats == nullptr || (kernel == kLibraryName) != by_library || (tile == nullptr) != by_library) continue;
    const auto timed = timed_products(record);
    for (std::size_t i = 0; i < timed.size(); ++i) {
      if (!timed[i] || std::max({timed[i]->shape.m, timed[i]->shape.n, timed[i]->shape.k}) > kMostSize) continue;
      MeasuredProduct product{static_cast<std::size_t>(formats - kGemmFormats.data()),
                              timed[i]->shape,
                              {},
                              timed[i]->microseconds,
                              timed[i]->clock_mhz};
      if (tile != nullptr) {
        product.tiling = {*tile, 1};
      } else {
        const auto number_of = [&](const char* name) { return small_number(record.number(name, i).value_or(0)); };
        const auto tiling = library_tiling(number_of("tile_id"), number_of("cluster_id"), number_of("split_k"));
        if (!tiling) continue;
        product.tiling = *tiling;
      }
      all.push_back(product);
    }
  }
  return all;
}

ProductDevice measured_device(const Document& document, const std::string& file) {
  const auto missing = [&](const std::string& row, const char* suite) {
    return InputError(
        fmt::format("{}: records: there is no {}; expected a file that also has what `tcnum bench {} "
                    "--json` writes",
                    file, row, suite));
  };
  ProductDevice device;
  device.name = document.facts.device;
  constexpr int kMostSms = 1024;
  if (document.facts.sms < 1 || document.facts.sms > kMostSms) {
    throw InputError(fmt::format("{}: device.sms: {}; expected 1 to {}", file, document.facts.sms, kMostSms));
  }
  device.sms = static_cast<unsigned>(document.facts.sms);
  constexpr double kWidest = 256;
  for (std::size_t i = 0; i < kInstructions.size(); ++i) {
    double cycles = std::numeric_limits<double>::infinity();
    for (const Record& r : document.records) {
      if (r.measurement != "wgmma" || r.subject != kInstructions[i] || r.number("N") != kWidest) continue;
      if (r.text("source") != "ss") continue;
      cycles = std::min(cycles, r.number("interval_cycles").value_or(cycles));
      device.tera_ops[i] = std::max(device.tera_ops[i], r.number("tera_ops").value_or(0));
    }
    if (!std::isfinite(cycles) || !(cycles > 0) || !(device.tera_ops[i] > 0)) {
      throw missing(fmt::format("row of {} with N 256 and source ss", kInstructions[i]), "tensor");
    }
    device.column_cycles[i] = cycles / kWidest;
  }
  for (const Record& r : document.records) {
    if (r.measurement == "streams") {
      device.dram_bytes_per_second =
          std::max(device.dram_bytes_per_second, r.number("giga_bytes_per_second").value_or(0) * kGiga);
    }
    if (r.measurement != "latency") continue;
    for (const Field& value : r.values) {
      if (value.name.starts_with("l2") && value.name.ends_with("_fits_bytes")) {
        device.l2_bytes = std::max(device.l2_bytes, r.number(value.name).value_or(0));
      }
    }
  }
  if (!(device.dram_bytes_per_second > 0)) throw missing("row of a stream", "memory");
  if (!(device.l2_bytes > 0)) throw missing("latency of the L2", "memory");
  return device;
}

ProductLaw fit_law(const ProductDevice& measured, std::span<const MeasuredProduct> products) {
  constexpr double kSpeedOutlier = 0.1, kClockOutlier = 0.02;
  /// Of shorter ones the clock is that of a start.
  constexpr double kLongEnoughUs = 40;
  ProductDevice device = measured;
  struct Point {
    const MeasuredProduct* product;
    ProductWork work;
  };
  std::vector<Point> points, of_clock;
  for (const MeasuredProduct& p : products) {
    if (!(p.microseconds > 0) || !(p.clock_mhz > 0)) continue;
    points.push_back({&p, work_on(device, p.formats, p.shape, p.tiling)});
    if (p.microseconds >= kLongEnoughUs) of_clock.push_back(points.back());
  }
  std::vector<LawParameter> all = parameters_of(device.law);
  const auto fit = [&](std::size_t first, std::size_t last, double outlier, const std::vector<Point>& of,
                       const auto& residual) {
    std::vector<double> start;
    for (std::size_t i = first; i < last; ++i) start.push_back(*all[i].value);
    const auto put = [&](std::span<const double> parameters) {
      for (std::size_t i = first; i < last; ++i) *all[i].value = parameters[i - first];
    };
    put(fit_least_squares(
        std::move(start),
        [&](std::span<const double> parameters, std::vector<double>& residuals) {
          put(parameters);
          residuals.clear();
          for (const Point& point : of) residuals.push_back(residual(point));
        },
        outlier));
  };
  fit(0, kSpeedParameters, kSpeedOutlier, points, [&](const Point& point) {
    Parts parts;
    const MeasuredProduct& p = *point.product;
    return std::log(time_of(device, p.formats, point.work, p.clock_mhz / kNsOfUs, parts) / p.microseconds);
  });
  fit(kSpeedParameters, all.size(), kClockOutlier, of_clock, [&](const Point& point) {
    const MeasuredProduct& p = *point.product;
    return clock_of(device, p.formats, point.work, p.microseconds, p.clock_mhz / kNsOfUs) / p.clock_mhz - 1;
  });
  return device.law;
}

namespace {

std::string_view model_row(Calls calls) { return calls == Calls::single ? kSingleProductModel : kProductModel; }

void put_product_model(Document& document, Calls calls) {
  // Fewer say too little of so many parameters.
  constexpr std::ptrdiff_t kLeastProducts = 100;
  const std::vector<MeasuredProduct> products = measured_products(document, kFitShapes, false, calls);
  for (std::size_t i = 0; i < kGemmFormats.size(); ++i) {
    if (std::ranges::count(products, i, &MeasuredProduct::formats) < kLeastProducts) return;
  }
  std::optional<ProductDevice> device;
  try {
    device = measured_device(document, "");
  } catch (const InputError&) {
    return;  // a file of products alone: their report has no model
  }
  device->law = fit_law(*device, products);
  Record record{std::string(model_row(calls)), "gemm", {}, {}, {}, "", ""};
  for (const LawParameter& parameter : parameters_of(device->law)) record.set(parameter.name, *parameter.value);
  record.set("products", static_cast<std::int64_t>(products.size()));
  std::erase_if(document.records, [&](const Record& r) { return r.measurement == model_row(calls); });
  document.records.push_back(std::move(record));
}

}  // namespace

void put_product_models(Document& document) {
  for (const Calls calls : {Calls::in_bursts, Calls::single}) put_product_model(document, calls);
}

ProductDevice product_device(const Document& document, const std::string& file, Calls calls) {
  ProductDevice device = measured_device(document, file);
  const auto found = std::ranges::find(document.records, model_row(calls), &Record::measurement);
  if (found == document.records.end()) {
    throw InputError(
        fmt::format("{}: records: there is no {}; expected a file of `tcnum bench report … --json` with "
                    "what `tcnum bench gemm{} -a shapes=fit --json` wrote",
                    file, model_row(calls), calls == Calls::single ? " --instr 'single.*'" : ""));
  }
  for (const LawParameter& parameter : parameters_of(device.law)) {
    const auto value = found->number(parameter.name);
    if (!value || !(*value > 0)) {
      throw InputError(fmt::format("{}: records[{}].values.{}: expected a number above zero", file,
                                   found - document.records.begin(), parameter.name));
    }
    *parameter.value = *value;
  }
  return device;
}

}  // namespace tcnum::bench
