// What the pages show of matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "bench/measure/gemm/gemm.hpp"
#include "bench/measure/statistics.hpp"
#include "sections.hpp"

namespace tcnum::bench {
namespace {

/// What a page says of a set of shapes.
struct ShapeSet {
  std::string_view name, are;
  bool one_by_one = false;  ///< whether its products stand for something, so that each has a row
};
constexpr auto kShapeSets = std::to_array<ShapeSet>(
    {{kFitShapes,
      "Dimensions are drawn between 64 and 16384, uniform in their logarithms, with m · n · k of 4 · 10⁹ to 10¹²."},
     {kDeepSeekShapes, "The layers of DeepSeek-V3 that are one product, with 4096 tokens, forward and backward.", true},
     {kRandomShapes, "Others, drawn as those of fit are."},
     {kUnseenShapes, "Others again, drawn when the model's law had been written."},
     {kSmallShapes, "A few small ones that no tile divides.", true},
     {kOwnShapes, "Somebody's own.", true}});

/// By its place in the set of shapes.
using Products = std::vector<std::optional<TimedProduct>>;

/// Those of one kernel, or of several of which each product has the fastest.
struct KernelProducts {
  const Record* record = nullptr;  ///< none: of several
  Products products = {};
  std::vector<std::string> kernels = {};  ///< whose each product is
};

/// All records of one set of shapes and one pair of formats.
struct Group {
  std::string set, subject;
  std::vector<KernelProducts> tiles = {};
  KernelProducts best_tile = {}, library = {};
};

/// Puts a kernel's products where it is faster than those that are there.
void take_best(KernelProducts& best, const KernelProducts& tile) {
  best.products.resize(std::max(best.products.size(), tile.products.size()));
  best.kernels.resize(best.products.size());
  for (std::size_t i = 0; i < tile.products.size(); ++i) {
    const std::optional<TimedProduct>&product = tile.products[i], &before = best.products[i];
    if (!product || (before && before->shape != product->shape)) continue;
    if (before && before->microseconds <= product->microseconds) continue;
    best.products[i] = product;
    best.kernels[i] = tile.kernels[i];
  }
}

std::vector<Group> groups_of(const Document& document) {
  std::vector<Group> groups;
  for (const Record* r : select(document, [](const Record& r) { return is(r, "gemm") || is(r, "single gemm"); })) {
    const std::string set = r->text("shapes"), kernel = r->text("kernel");
    auto group = std::ranges::find_if(groups, [&](const Group& g) { return g.set == set && g.subject == r->subject; });
    if (group == groups.end()) group = groups.insert(groups.end(), {set, r->subject});
    KernelProducts products{r, timed_products(*r)};
    products.kernels.assign(products.products.size(), kernel);
    if (kernel == kLibraryName) {
      group->library = std::move(products);
    } else {
      take_best(group->best_tile, products);
      group->tiles.push_back(std::move(products));
    }
  }
  return groups;
}

std::vector<double> tera_per_second_of(const Products& products) {
  std::vector<double> rates;
  for (const auto& product : products) {
    if (product) rates.push_back(product->tera_per_second());
  }
  return rates;
}

/// Of each product that both have: how many percent of the library's speed it has.
std::vector<double> percent_of_library(const Products& products, const Products& library) {
  std::vector<double> percent;
  for (std::size_t i = 0; i < std::min(products.size(), library.size()); ++i) {
    const std::optional<TimedProduct>&ours = products[i], &theirs = library[i];
    if (!ours || !theirs || ours->shape != theirs->shape) continue;
    percent.push_back(theirs->microseconds / ours->microseconds * 100);
  }
  return percent;
}

/// Cells of a summary's median, least and most, as far as they are wanted.
std::vector<std::string> cells_of(const std::vector<double>& numbers, const std::vector<double Summary::*>& wanted,
                                  int digits) {
  std::vector<std::string> cells(wanted.size(), "–");
  if (numbers.empty()) return cells;
  const Summary summary = summarise(numbers);
  for (std::size_t i = 0; i < wanted.size(); ++i) cells[i] = fmt::format("{:.{}f}", summary.*wanted[i], digits);
  return cells;
}

std::string faster_cell(const std::vector<double>& percent) {
  constexpr double kAll = 100;
  if (percent.empty()) return "–";
  return fmt::format("{} of {}", std::ranges::count_if(percent, [](double p) { return p > kAll; }), percent.size());
}

void append(std::vector<std::string>& row, std::vector<std::string> cells) {
  std::ranges::move(cells, std::back_inserter(row));
}

Section summary_section(const std::vector<Group>& groups) {
  Section section{
      "Matrix products",
      fmt::format(
          "D = A · B with fp32 sums, k innermost in A and in B; gemm.fp8e4m3.bf16 has operands of fp8e4m3 and "
          "results of bf16. Best tile: a persistent kernel of wgmma and tensor copies, of whose {} tiles (the part "
          "of D that a block computes at a time) each product has the fastest. cuBLASLt: the algorithm that its "
          "heuristic offers first. Tops/s: 10¹² operations a second, 2mnk over the time of a launch, which is the "
          "median of five bursts; a burst is about 2 ms of launches behind each other, each with operands of its "
          "own, and the device rests before the next one, so that this is not steady load; of single.… it is the "
          "median of 11 calls, each alone after a rest. %: of cuBLASLt's speed, its time over ours; faster: products "
          "that take ours less time. Up to 256 elements of each product of ours "
          "are compared with the emulator's, bit by bit; the library's are not.",
          gemm_tiles().size()),
      {{"shapes", "formats", "products", "best tile Tops/s (median)", "highest", "cuBLASLt Tops/s (median)", "highest",
        "% (median)", "least", "most", "faster"}}};
  for (const Group& group : groups) {
    const std::vector<double> rates = tera_per_second_of(group.best_tile.products),
                              percent = percent_of_library(group.best_tile.products, group.library.products);
    std::vector<std::string> row = {group.set, group.subject, std::to_string(rates.size())};
    append(row, cells_of(rates, {&Summary::median, &Summary::max}, 0));
    append(row, cells_of(tera_per_second_of(group.library.products), {&Summary::median, &Summary::max}, 0));
    append(row, cells_of(percent, {&Summary::median, &Summary::min, &Summary::max}, 1));
    row.push_back(faster_cell(percent));
    section.table.push_back(std::move(row));
  }
  return section;
}

/// Every kernel with the products of one set.
Section kernels_section(const std::vector<Group>& groups, const ShapeSet& set) {
  Section section{
      fmt::format("Matrix products: every kernel, shapes {}", set.name),
      fmt::format("{} Kernel: rows × columns of a block's tile, / blocks of a cluster along them. MHz: the "
                  "median of the products that last long enough to say; spread: of bursts or calls, the median "
                  "over the products.",
                  set.are),
      {{"formats", "kernel", "products", "Tops/s (median)", "highest", "% of cuBLASLt (median)", "faster", "spread %",
        "MHz"}}};
  for (const Group& group : groups) {
    if (group.set != set.name) continue;
    const auto add = [&](const KernelProducts& kernel, const std::string& name) {
      const bool is_library = name == kLibraryName;
      const std::vector<double> rates = tera_per_second_of(kernel.products),
                                percent = is_library ? std::vector<double>()
                                                     : percent_of_library(kernel.products, group.library.products);
      std::vector<std::string> row = {group.subject, name, std::to_string(rates.size())};
      append(row, cells_of(rates, {&Summary::median, &Summary::max}, 0));
      append(row, cells_of(percent, {&Summary::median}, 1));
      row.push_back(faster_cell(percent));
      for (const auto& [value, digits] : {std::pair("spread_percent", 2), std::pair("clock_mhz", 0)}) {
        row.push_back(kernel.record == nullptr ? "–" : cell(*kernel.record, value, digits));
      }
      section.table.push_back(std::move(row));
    };
    for (const KernelProducts& tile : group.tiles) add(tile, tile.record->text("kernel"));
    if (group.tiles.size() > 1) add(group.best_tile, "best tile of each");
    if (group.library.record != nullptr) add(group.library, std::string(kLibraryName));
  }
  return section;
}

std::string microseconds_cell(const Products& products, std::size_t i, const GemmShape& shape) {
  const bool there = i < products.size() && products[i] && products[i]->shape == shape;
  return there ? fmt::format("{:.1f}", products[i]->microseconds) : "–";
}

/// Each product of one set, for all formats side by side.
Section products_section(const std::vector<Group>& groups, const ShapeSet& set) {
  Section section{fmt::format("Matrix products: one by one, shapes {}", set.name),
                  fmt::format("{} D is m × n. The best tile's time and which it is, and cuBLASLt's.", set.are),
                  {{"m", "n", "k"}}};
  std::vector<const Group*> columns;
  std::size_t count = 0;
  for (const Group& group : groups) {
    if (group.set != set.name) continue;
    columns.push_back(&group);
    count = std::max({count, group.best_tile.products.size(), group.library.products.size()});
    append(section.table[0], {fmt::format("{} µs", group.subject), "tile", "cuBLASLt µs"});
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::optional<GemmShape> shape;
    for (const Group* group : columns) {
      for (const Products* products : {&group->best_tile.products, &group->library.products}) {
        if (!shape && i < products->size() && (*products)[i]) shape = (*products)[i]->shape;
      }
    }
    if (!shape) continue;
    std::vector<std::string> row = {std::to_string(shape->m), std::to_string(shape->n), std::to_string(shape->k)};
    for (const Group* group : columns) {
      const std::string ours = microseconds_cell(group->best_tile.products, i, *shape);
      append(row, {ours, ours == "–" ? ours : group->best_tile.kernels[i],
                   microseconds_cell(group->library.products, i, *shape)});
    }
    section.table.push_back(std::move(row));
  }
  return section;
}

}  // namespace

std::vector<Section> gemm_sections(const Document& document) {
  const std::vector<Group> groups = groups_of(document);
  std::vector<Section> sections = {summary_section(groups)};
  for (const ShapeSet& set : kShapeSets) sections.push_back(kernels_section(groups, set));
  for (const ShapeSet& set : kShapeSets) {
    if (set.one_by_one) sections.push_back(products_section(groups, set));
  }
  return sections;
}

}  // namespace tcnum::bench
