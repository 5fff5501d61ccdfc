// What the pages show of how far the model of products is from what was measured.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "bench/measure/gemm/gemm.hpp"
#include "bench/measure/gemm/product_model.hpp"
#include "bench/measure/statistics.hpp"
#include "sections.hpp"
#include "tcnum/error.hpp"

namespace tcnum::bench {
namespace {

constexpr const char* kChosen = "the model's choice";
constexpr const char* kUnknown = "tiling unknown";
/// Shorter products are mostly their start.
constexpr double kShortestUs = 20;

struct Compared {
  MeasuredProduct measured;
  Prediction predicted;
};

std::vector<Compared> compared(const ProductDevice& device, const Document& document, std::string_view set,
                               bool by_library, Calls calls) {
  std::vector<Compared> all;
  for (const MeasuredProduct& p : measured_products(document, set, by_library, calls)) {
    if (p.microseconds >= kShortestUs) all.push_back({p, predict(device, p.formats, p.shape, p.tiling)});
  }
  return all;
}

std::vector<std::string> row_of(std::string_view set, const std::string& kernel, const std::vector<Compared>& all) {
  std::vector<double> off, sol_off, factors;
  for (const Compared& c : all) {
    const double ratio = c.predicted.microseconds / c.measured.microseconds;
    off.push_back(std::abs(ratio - 1) * 100);
    factors.push_back(std::max(ratio, 1 / ratio));
    sol_off.push_back(std::abs(c.predicted.sol_microseconds / c.measured.microseconds - 1) * 100);
  }
  const Summary s = summarise(off);
  return {std::string(set),
          kernel,
          fmt::format("{}", all.size()),
          fmt::format("{:.1f}", s.mean),
          fmt::format("{:.1f}", s.p95),
          fmt::format("{:.2f}", std::ranges::max(factors)),
          fmt::format("{:.1f}", summarise(sol_off).mean)};
}

/// Of each product, the tile that the model finds fastest, and how much longer than the fastest measured one it took.
struct Chosen {
  std::vector<Compared> tiles;
  double mean_loss_percent = 0, worst_loss_percent = 0;
};
Chosen chosen_of(const std::vector<Compared>& all) {
  struct Tiles {
    const Compared* predicted = nullptr;
    double fastest_us = INFINITY;
  };
  std::map<std::array<std::size_t, 4>, Tiles> products;
  for (const Compared& c : all) {
    const GemmShape& s = c.measured.shape;
    Tiles& tiles = products[{c.measured.formats, s.m, s.n, s.k}];
    tiles.fastest_us = std::min(tiles.fastest_us, c.measured.microseconds);
    if (tiles.predicted == nullptr || c.predicted.microseconds < tiles.predicted->predicted.microseconds) {
      tiles.predicted = &c;
    }
  }
  Chosen chosen;
  for (const auto& [product, tiles] : products) {
    const double loss = (tiles.predicted->measured.microseconds / tiles.fastest_us - 1) * 100;
    chosen.mean_loss_percent += loss / static_cast<double>(products.size());
    chosen.worst_loss_percent = std::max(chosen.worst_loss_percent, loss);
    chosen.tiles.push_back(*tiles.predicted);
  }
  return chosen;
}

std::vector<Section> sections_of_calls(const Document& document, Calls calls) {
  ProductDevice device;
  try {
    device = product_device(document, "", calls);
  } catch (const InputError&) {
    return {};  // it, or rows that it needs, are not there
  }
  const char* const timed = calls == Calls::single ? ", one call at a time" : "";
  Section section{
      fmt::format("Matrix products{}: the model", timed),
      fmt::format(
          "Predicted against measured, of products of at least {:.0f} µs{}. The parameters were fitted to our kernel's "
          "times of the set {} alone; the library's products, and those of the other sets, were not used. Error: "
          "|predicted / measured − 1|. Worst: the larger of predicted / measured and its inverse. Light: the error of "
          "the highest rate of the tensor cores, or of DRAM, alone. {}: with the tile, cluster and split that the "
          "library says of its algorithm; {}: of all such tilings the fastest.",
          kShortestUs, timed, kFitShapes, kLibraryName, kUnknown),
      {{"shapes", "kernel", "products", "mean error %", "p95 %", "worst ×", "light: mean error %"}}};
  for (const std::string_view set : {kFitShapes, kDeepSeekShapes, kRandomShapes, kUnseenShapes, kOwnShapes}) {
    const std::vector<Compared> all = compared(device, document, set, false, calls);
    for (const GemmTile& tile : gemm_tiles()) {
      std::vector<Compared> of_tile;
      std::ranges::copy_if(all, std::back_inserter(of_tile),
                           [&](const Compared& c) { return c.measured.tiling.tile == tile; });
      if (!of_tile.empty()) section.table.push_back(row_of(set, tile_name(tile), of_tile));
    }
    if (!all.empty()) {
      const Chosen chosen = chosen_of(all);
      section.table.push_back(row_of(set, "all tiles", all));
      section.table.push_back(row_of(set, kChosen, chosen.tiles));
      section.prose += fmt::format(
          " Of {}, the tile that the model finds fastest took {:.1f} % longer on average than the "
          "fastest that was measured, {:.0f} % at worst.",
          set, chosen.mean_loss_percent, chosen.worst_loss_percent);
    }
    std::vector<Compared> by_library = compared(device, document, set, true, calls);
    if (by_library.empty()) continue;
    section.table.push_back(row_of(set, std::string(kLibraryName), by_library));
    for (Compared& c : by_library) c.predicted = best_tiling(device, c.measured.formats, c.measured.shape).prediction;
    section.table.push_back(row_of(set, fmt::format("{}, {}", kLibraryName, kUnknown), by_library));
  }
  ProductLaw law = device.law;
  Section parameters{fmt::format("Matrix products{}: the model's parameters", timed),
                     "Fitted to our kernel's times; what each is: docs/model.md.",
                     {{"parameter", "value"}}};
  for (const LawParameter& p : parameters_of(law))
    parameters.table.push_back({p.name, fmt::format("{:.4g}", *p.value)});
  return {std::move(section), std::move(parameters)};
}

}  // namespace

std::vector<Section> model_sections(const Document& document) {
  std::vector<Section> all;
  for (const Calls calls : {Calls::in_bursts, Calls::single}) {
    std::vector<Section> sections = sections_of_calls(document, calls);
    std::ranges::move(sections, std::back_inserter(all));
  }
  return all;
}

}  // namespace tcnum::bench
