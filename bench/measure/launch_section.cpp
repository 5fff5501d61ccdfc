#include "launch_section.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launch.hpp"
#include "section_parts.hpp"

namespace tcnum::bench {
namespace {

/// What was measured, and the line of the fit through it. `prefix`: of the names of series and values.
void add_lines(const Record& r, const std::string& prefix, const char* what, Plot& plot) {
  const auto *const bytes = r.numbers(prefix + "copy_bytes"), *const times = r.numbers(prefix + "copy_us");
  const auto start = r.number(prefix + "start_us"), rate = r.number(prefix + "giga_bytes_per_second");
  if (bytes == nullptr || times == nullptr) return;
  const std::string name = fmt::format("{}, {}", r.text("way"), what);
  Line measured{name, {}, false, true}, fitted{name + ": fit", {}, true};
  for (std::size_t i = 0; i < std::min(bytes->size(), times->size()); ++i) {
    measured.points.emplace_back((*bytes)[i] / 1024, (*times)[i]);
    if (start && rate && *rate > 0) fitted.points.emplace_back((*bytes)[i] / 1024, *start + 2e-3 * (*bytes)[i] / *rate);
  }
  plot.lines.push_back(std::move(measured));
  plot.lines.push_back(std::move(fitted));
}

}  // namespace

Section launch_section(const Document& document) {
  Section section{
      "Starting kernels",
      "Kernels submitted one by one to a CUDA stream, or as one CUDA graph. Round trip: one empty kernel, from the "
      "host's call until the host knows that it is done. Submit: the host's time for each of 256. Each: the device's "
      "time for each of 256 behind each other; of copies, those of 1 KiB. Copies read and write 1 KiB to 16 MiB, which "
      "stay in the L2. Fits are the line start + bytes / bandwidth with the least squares of relative residuals, and "
      "off "
      "is its largest: of the device's time for each of 256 behind each other, without sizes for which the host took "
      "as "
      "long to submit them, and of one copy alone from the host's call until the host knows that it is done.",
      {{"kernels", "way", "round trip µs", "submit µs", "each µs", "fit: start µs", "GB/s", "off %",
        "alone, fit: start µs", "GB/s", "off %"}},
      {}};
  Plot plot{"Time of copies over their size, alone and each of 256", "KiB", "µs", {}, true, true};
  for (const Record* r : select(document, [](const Record& r) { return is(r, launch_measurement().name()); })) {
    section.table.push_back({r->subject, r->text("way"), cell(*r, "round_trip_us", 2), cell(*r, "submit_us", 3),
                             cell(*r, "kernel_us", 3), cell(*r, "start_us", 3), cell(*r, "giga_bytes_per_second", 0),
                             cell(*r, "fit_off_percent", 1), cell(*r, "alone_start_us", 2),
                             cell(*r, "alone_giga_bytes_per_second", 0), cell(*r, "alone_fit_off_percent", 1)});
    add_lines(*r, "", "each", plot);
    add_lines(*r, "alone_", "alone", plot);
  }
  section.plots = plots_of({std::move(plot)});
  return section;
}

}  // namespace tcnum::bench
