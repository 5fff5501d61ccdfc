#include "skinny_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/measure/plot.hpp"
#include "bench/measure/section_parts.hpp"
#include "skinny.hpp"

namespace tcnum::bench {

Section skinny_section(const Document& document) {
  Section section{
      "Tall and skinny products",
      "D = Aᵀ · B, where A and B have k rows of n numbers: by a kernel that splits k over all SMs, brings rows to "
      "shared memory by cp.async and adds the blocks' sums in a second kernel (split), and by the algorithm that "
      "cuBLASLt's heuristic offers first. At the largest k: 1 GiB of each, or what took more than 50 ms. GB/s: of A "
      "and "
      "B, read once. % pins: of memory clock × 2 × bus; % read: of stream.read, where the record has it. Numbers are "
      "whole and so small that no order of sums rounds: every element must be the exact one.",
      {{"format", "n", "by", "k", "µs", "GB/s", "% pins", "% read", "GFLOP/s", "spread %"}},
      {}};
  std::optional<double> read;
  for (const Record& r : document.records) {
    if (r.subject == "stream.read") read = r.number("giga_bytes_per_second");
  }
  Plot plot{"Tall and skinny products by the split kernel over k, fp64", "k", "GB/s", {}, true, true};
  for (const Record* r : select(document, [](const Record& r) { return is(r, skinny_measurement().name()); })) {
    const auto rate = r->number("giga_bytes_per_second");
    const std::string format = r->subject.substr(r->subject.find('.') + 1);
    section.table.push_back({format, cell(*r, "n", 0), r->text("by"), cell(*r, "k", 0), cell(*r, "microseconds", 1),
                             cell(*r, "giga_bytes_per_second", 0), cell(*r, "percent_of_pins", 1),
                             rate && read && *read > 0 ? fmt::format("{:.1f}", *rate / *read * 100) : "–",
                             cell(*r, "giga_flops", 0), cell(*r, "spread_percent", 1)});
    const std::vector<double>*const xs = r->numbers("sweep_k"), *const ys = r->numbers("sweep_giga_bytes_per_second");
    if (format != "fp64" || r->text("by") != "split" || xs == nullptr || ys == nullptr) continue;
    Line line{fmt::format("n = {}", r->text("n")), {}};
    for (std::size_t i = 0; i < std::min(xs->size(), ys->size()); ++i) line.points.emplace_back((*xs)[i], (*ys)[i]);
    plot.lines.push_back(std::move(line));
  }
  section.plots = plots_of({std::move(plot)});
  return section;
}

}  // namespace tcnum::bench
