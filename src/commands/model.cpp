// tcnum model gemm: how long a matrix product takes, from recorded measurements.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "commands.hpp"
#include "failure.hpp"
#include "names.hpp"
#include "output.hpp"
#include "product_shapes.hpp"
#include "records.hpp"
#include "src/bench/gemm/gemm.hpp"
#include "src/bench/gemm/product_model.hpp"
#include "src/bench/plot.hpp"
#include "src/report/layout.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

namespace fs = std::filesystem;
using bench::Prediction, bench::ProductTiling, bench::ProductDevice;

/// What was measured of the devices of an architecture.
constexpr auto kBenchFiles = std::to_array<std::string_view>({"bench.json", "bench_h100.json"});
/// Of our kernel, or of any tiling, which stands for a library's.
constexpr const char *kOurs = "tcnum", *kAny = "any";

std::string lower(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return all;
}

/// A file, or the recorded one of a device whose name has that text in it.
ProductDevice find_device(const std::string& text) {
  if (is_there(text)) return product_device(bench::read_document(text), text);
  std::vector<std::string> names;
  for (const Arch& each : kArchs) {
    for (const std::string_view name : kBenchFiles) {
      const auto file = find_record(each.id, name);
      if (!file) continue;
      const bench::Document document = bench::read_document(file->string());
      if (lower(document.facts.device).find(lower(text)) != std::string::npos) {
        return product_device(document, file->string());
      }
      names.push_back(document.facts.device);
    }
  }
  throw InputError(
      fmt::format("--device: {}: right would be a file of `tcnum bench report --json`, or part of the name of "
                  "a recorded device: {}",
                  text, fmt::join(names, ", ")));
}

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

std::string text_of(const ProductDevice& device, const std::vector<Row>& rows) {
  const Wanted& w = rows.front().wanted;
  std::string text = fmt::format("{} × {} × {}, {}, on {}: predicted, not measured\n\n", w.shape.m, w.shape.n,
                                 w.shape.k, format_name(w), device.name);
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

std::string csv_of(const std::vector<Row>& rows) {
  std::string csv = "m,n,k,format,kernel,tile,microseconds,tera_ops,clock_mhz,waves,limit,light_microseconds\n";
  for (const Row& row : rows) {
    const GemmShape& s = row.wanted.shape;
    const Prediction& p = row.prediction;
    csv += fmt::format("{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{},{},{:.6g}\n", s.m, s.n, s.k, format_name(row.wanted),
                       row.kernel, tiling_name(row.tiling), p.microseconds, tera_ops(row), p.clock_mhz, p.waves,
                       bench::kProductLimits.at(p.limit), p.sol_microseconds);
  }
  return csv;
}

/// Rates over the size, by what limits; of each product the fastest tile of our kernel.
std::string svg_of(const ProductDevice& device, const std::vector<std::vector<Row>>& products) {
  bench::Plot plot{fmt::format("Matrix products predicted on {}, by what limits", device.name),
                   "operations / 1e9",
                   "Tops/s",
                   {},
                   true,
                   false,
                   true};
  std::map<std::size_t, bench::Line> lines;
  for (const std::vector<Row>& rows : products) {
    const Row& row = rows.front();
    bench::Line& line = lines[row.prediction.limit];
    line.name = bench::kProductLimits.at(row.prediction.limit);
    line.only_points = true;
    line.points.emplace_back(row.wanted.shape.operations() * 1e-9, tera_ops(row));
  }
  for (auto& [limit, line] : lines) plot.lines.push_back(std::move(line));
  return svg(std::move(plot));
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
      throw InputError(fmt::format("--tile: {}; right would be one of {}", options.tile, fmt::join(names, ", ")));
    }
  }
  const bool one = options.m > 0 || options.n > 0 || options.k > 0;
  if (one == !options.shapes.empty() || (one && (options.m == 0 || options.n == 0 || options.k == 0))) {
    throw InputError("--m, --n, --k: right would be all three, or --shapes in place of them");
  }
  require_writable(options.csv);
  require_writable(options.svg);
  const ProductDevice device = find_device(options.device);
  std::vector<Wanted> wanted;
  if (one) wanted.push_back({{options.m, options.n, options.k}, formats});
  if (!one) {
    for (const ShapeRow& row : read_shapes(options.shapes, true)) {
      wanted.push_back({row.shape, row.formats.value_or(formats)});
    }
  }
  std::vector<std::vector<Row>> products;
  std::vector<Row> all;
  for (const Wanted& each : wanted) {
    products.push_back(rows_of(device, each, tile));
    all.insert(all.end(), products.back().begin(), products.back().end());
  }
  Attempts attempts;
  if (!options.svg.empty()) attempts.attempt([&] { write_text(options.svg, svg_of(device, products)); });
  if (!options.csv.empty()) attempts.attempt([&] { write_text(options.csv, csv_of(all)); });
  if (options.csv.empty() && options.svg.empty()) {
    if (one) {
      say(text_of(device, all));
    } else {
      say(csv_of(all));
    }
  }
  return attempts.finish(kAgreed);
}

}  // namespace tcnum
