#include "dpx_section.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "dpx.hpp"
#include "published.hpp"
#include "section_parts.hpp"

namespace tcnum::bench {
namespace {

std::string published_latency(const Record& r) {
  const auto found = std::ranges::find(published_dpx(), r.subject, &PublishedDpx::function);
  return found == published_dpx().end() ? "–" : fmt::format("{:.1f}", found->latency_cycles);
}

/// "133, 265, 397"; "–" if no number of blocks makes a step.
std::string steps_text(const Record& r) {
  const std::vector<double>* const steps = r.numbers("step_blocks");
  return steps == nullptr || steps->empty() ? "–" : fmt::format("{:.0f}", fmt::join(*steps, ", "));
}

/// Of the functions that were published: one of each kind.
Plot over_blocks(const std::vector<const Record*>& rows) {
  Plot plot{"Throughput of DPX functions over the number of blocks", "blocks", "10⁹ results a second", {}};
  for (const Record* r : rows) {
    const auto *const blocks = r->numbers("grid_blocks"), *const rates = r->numbers("grid_giga_results");
    if (published_latency(*r) == "–" || blocks == nullptr || rates == nullptr) continue;
    Line line{r->subject, {}};
    for (std::size_t i = 0; i < std::min(blocks->size(), rates->size()); ++i) {
      line.points.emplace_back((*blocks)[i], (*rates)[i]);
    }
    plot.lines.push_back(std::move(line));
  }
  return plot;
}

}  // namespace

Section dpx_section(const Document& document, const SassTable& sass) {
  Section section{
      "DPX functions",
      fmt::format("Latency of one chain in cycles, and beside it the published one ({}). Interval: cycles of an SM for "
                  "each call of a warp, at the best ILP × warps. Results: two of a call on halves. Device: the highest "
                  "rate over 1 to 4 blocks for each SM; with the number of blocks under \"falls at\" a launch takes a "
                  "good deal longer than with one fewer. SASS: what one call becomes in the timed loop, with nvcc {}; "
                  "of __vib… that includes what counts the predicates, which the compiler would leave out if nothing "
                  "read them. Maxima of two take turns with minima: of two maxima behind each other nvcc makes one "
                  "VIMNMX3, in half the time of two calls. Every function is compared with the CPU's on operands at "
                  "the edges and random ones.",
                  kPublishedStudy, sass.nvcc.empty() ? "–" : sass.nvcc),
      {{"function", "latency", "published", "interval", "spread %", "ILP × warps", "results/clk/SM",
        "device, 10⁹ results/s", "falls at", "MHz", "W", "SASS"}},
      {}};
  const auto rows = select(document, [](const Record& r) { return is(r, dpx_measurement().name()); });
  for (const Record* r : rows) {
    section.table.push_back({r->subject, cell(*r, "latency_cycles", 1), published_latency(*r),
                             cell(*r, "interval_cycles", 3), cell(*r, "spread_percent", 2),
                             r->text("best_ilp") + " × " + r->text("best_warps"), cell(*r, "results_per_clock", 1),
                             cell(*r, "giga_results", 0), steps_text(*r), cell(*r, "clock_mhz", 0),
                             cell(*r, "power_watts", 0), sass.function_opcodes(r->subject)});
  }
  section.plots = plots_of({over_blocks(rows)});
  return section;
}

}  // namespace tcnum::bench
