// tcnum model gemm: how long a matrix product takes, from recorded measurements.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "bench.hpp"
#include "bench/measure/gemm/gemm.hpp"
#include "bench/measure/gemm/product_model.hpp"
#include "src/commands/names.hpp"
#include "src/commands/output.hpp"
#include "src/report/layout.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using bench::Calls, bench::Prediction, bench::ProductTiling, bench::ProductDevice;

/// Of our kernel, or of any tiling, which stands for a library's.
constexpr const char *kOurs = "tcnum", *kAny = "any";

struct Wanted {
  GemmShape shape;
  std::size_t formats;
};

struct Row {
  Wanted wanted;
  const char* kernel;
  ProductTiling tiling;
  Prediction prediction;
};

std::string tiling_name(const ProductTiling& tiling) {
  return bench::tile_name(tiling.tile) + (tiling.split_k > 1 ? fmt::format(" split {}", tiling.split_k) : "");
}
double tera_ops(const Row& row) { return row.wanted.shape.operations() * 1e-6 / row.prediction.microseconds; }
const char* format_name(const Wanted& wanted) { return format(kGemmFormats[wanted.formats].operands).name.data(); }

/// Our kernel with that tile or with each, the fastest first; and what any tiling could do.
std::vector<Row> rows_of(const ProductDevice& device, const Wanted& wanted, const GemmTile* tile) {
  std::vector<Row> rows;
  for (const GemmTile& each : gemm_tiles()) {
    if (tile != nullptr && each != *tile) continue;
    const ProductTiling tiling{each, 1};
    rows.push_back({wanted, kOurs, tiling, predict(device, wanted.formats, wanted.shape, tiling)});
  }
  std::ranges::sort(rows, {}, [](const Row& row) { return row.prediction.microseconds; });
  if (tile == nullptr) {
    const bench::BestTiling best = best_tiling(device, wanted.formats, wanted.shape);
    rows.push_back({wanted, kAny, best.tiling, best.prediction});
  }
  return rows;
}

const char* calls_name(Calls calls) { return calls == Calls::single ? "single" : "back to back"; }

/// What the predictions hold for, with the fastest one's clock.
std::string conditions_line(const ProductDevice& device, Calls calls, const Prediction& fastest) {
  const char* const how = calls == Calls::single ? "one call at a time on a device that has rested"
                                                 : "sustained for about 2 ms, calls back to back";
  std::string clock = fmt::format("{:.0f} MHz", fastest.clock_mhz);
  if (device.clock_mhz) {
    clock += " (--clock)";
  } else if (fastest.power_limited) {
    clock += fmt::format(" for the first (power-limited; {:.0f} MHz where power allows)", device.law.most_mhz);
  } else {
    clock += " for the first (not power-limited)";
  }
  return fmt::format("Conditions: {}, operands in DRAM, at {}", how, clock);
}

std::string text_of(const DeviceRecord& record, const ProductDevice& device, Calls calls,
                    const std::vector<Row>& rows) {
  const Wanted& w = rows.front().wanted;
  std::string text = fmt::format("{} × {} × {}, {}, on {}: predicted, not measured\n", w.shape.m, w.shape.n, w.shape.k,
                                 format_name(w), device.name);
  text += record_line(record) + "\n" + conditions_line(device, calls, rows.front().prediction) + "\n\n";
  std::vector<std::vector<std::string>> table = {{"kernel", "tile", "µs", "Tops/s", "MHz", "waves", "limit"}};
  for (const Row& row : rows) {
    const Prediction& p = row.prediction;
    table.push_back({row.kernel, tiling_name(row.tiling), fmt::format("{:.1f}", p.microseconds),
                     fmt::format("{:.0f}", tera_ops(row)), fmt::format("{:.0f}", p.clock_mhz),
                     fmt::format("{}", p.waves), bench::kProductLimits.at(p.limit)});
  }
  text += table_text(table);
  std::vector<std::string> parts;
  const Prediction& fastest = rows.front().prediction;
  for (std::size_t i = 0; i < fastest.part_us.size(); ++i) {
    parts.push_back(fmt::format("{} {:.1f}", bench::kProductLimits.at(i), fastest.part_us.at(i)));
  }
  text += fmt::format("\nWhat the first would wait for, each alone, in µs: {}.\n", fmt::join(parts, ", "));
  text +=
      fmt::format("The highest rate of the tensor cores, or of DRAM, alone: {:.1f} µs.\n", fastest.sol_microseconds);
  if (rows.back().kernel == kAny) text += "any: the fastest of tilings such as cuBLASLt has.\n";
  return text;
}

std::string csv_of(const std::vector<Row>& rows, Calls calls) {
  std::string csv = "m,n,k,format,kernel,tile,microseconds,tera_ops,clock_mhz,waves,limit,light_microseconds,calls\n";
  for (const Row& row : rows) {
    const GemmShape& s = row.wanted.shape;
    const Prediction& p = row.prediction;
    csv += fmt::format("{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{},{},{:.6g},{}\n", s.m, s.n, s.k,
                       format_name(row.wanted), row.kernel, tiling_name(row.tiling), p.microseconds, tera_ops(row),
                       p.clock_mhz, p.waves, bench::kProductLimits.at(p.limit), p.sol_microseconds, calls_name(calls));
  }
  return csv;
}

}  // namespace

int run_model_gemm(const ModelGemmOptions& options) {
  const std::size_t formats = product_formats_of("--format", options.format);
  const GemmTile* tile = nullptr;
  if (!options.tile.empty()) {
    tile = bench::find_tile(options.tile);
    if (tile == nullptr) {
      std::vector<std::string> names;
      for (const GemmTile& each : gemm_tiles()) names.push_back(bench::tile_name(each));
      throw InputError(fmt::format("--tile: {}; expected one of {}", options.tile, fmt::join(names, ", ")));
    }
  }
  const bool one = options.m > 0 || options.n > 0 || options.k > 0;
  if (one == !options.shapes.empty() || (one && (options.m == 0 || options.n == 0 || options.k == 0))) {
    throw InputError("--m, --n, --k: expected all three, or --shapes in place of them");
  }
  require_writable(options.csv);
  const Calls calls = options.single ? Calls::single : Calls::in_bursts;
  const DeviceRecord record = find_device_record(options.device);
  ProductDevice device = product_device(record.document, record.file, calls);
  if (options.clock_mhz > 0) device.clock_mhz = static_cast<double>(options.clock_mhz);
  std::vector<Wanted> wanted;
  if (one) wanted.push_back({{options.m, options.n, options.k}, formats});
  if (!one) {
    for (const ShapeRow& row : read_shapes(options.shapes, true)) {
      wanted.push_back({row.shape, row.formats.value_or(formats)});
    }
  }
  std::vector<Row> all;
  for (const Wanted& each : wanted) std::ranges::move(rows_of(device, each, tile), std::back_inserter(all));
  Attempts attempts;
  if (!options.csv.empty()) attempts.attempt([&] { write_text(options.csv, csv_of(all, calls)); });
  if (options.csv.empty()) {
    if (one) {
      say(text_of(record, device, calls, all));
    } else {
      say(csv_of(all, calls));
    }
  }
  const bool says_record = one && options.csv.empty();
  if (!says_record && options.device.empty()) complain(record_line(record));
  return attempts.finish(kAgreed);
}

}  // namespace tcnum
