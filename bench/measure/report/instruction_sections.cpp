// What the pages show of instructions: tensor cores, plain arithmetic, DPX functions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "bench/measure/measurement.hpp"
#include "bench/measure/model.hpp"
#include "bench/measure/peaks.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/measure/tensor.hpp"
#include "printers.hpp"
#include "published.hpp"
#include "sections.hpp"

namespace tcnum::bench {
namespace {

bool has(const Record& r, std::string_view source, std::string_view data) {
  return r.text("source") == source && r.text("data") == data && r.number("warpgroups") == 1;
}

/// Rows of wgmma by what tells them apart; of several that are alike, the first.
class WgmmaRows {
 public:
  explicit WgmmaRows(const Document& document) {
    for (const Record& r : document.records) {
      if (!is_wgmma(r)) continue;
      rows_.emplace(
          Key(r.subject, *r.number("N"), r.text("source"), r.text("data"), r.number("warpgroups").value_or(0)), &r);
    }
  }
  const Record* find(std::string_view family, double n, std::string_view source, std::string_view data,
                     int warpgroups = 1) const {
    const auto found = rows_.find(Key(family, n, source, data, warpgroups));
    return found == rows_.end() ? nullptr : found->second;
  }

 private:
  using Key = std::tuple<std::string, double, std::string, std::string, double>;
  std::map<Key, const Record*> rows_;
};

/// The families that stand for all in plots and tables over N: of each measurement the first dense and the first sparse
/// one.
std::vector<std::string> representatives(const Document& document) {
  std::vector<std::string> names;
  std::vector<std::pair<std::string, bool>> seen;
  for (const Record* r : select(document, is_wgmma)) {
    const std::pair kind(r->measurement, is_sparse(*r));
    if (std::ranges::find(seen, kind) != seen.end()) continue;
    seen.push_back(kind);
    names.push_back(r->subject);
  }
  return names;
}

Line line_over_n(const Document& document, std::string_view family, std::string_view source, std::string_view data,
                 const char* value, std::string name) {
  Line line{std::move(name), {}};
  for (const Record* r :
       select(document, [&](const Record& r) { return is_wgmma(r) && has(r, source, data) && r.subject == family; })) {
    if (const auto y = r->number(value)) line.points.emplace_back(*r->number("N"), *y);
  }
  std::ranges::sort(line.points);
  return line;
}

/// Whether a row's family says something of its own: of those that only say otherwise what another is, the table has
/// enough with the other.
bool is_shown(const Record& r) { return measurement(r.measurement).by_default(r.subject); }

Plot throughput(const Document& document, const std::vector<std::string>& families, const char* data) {
  const std::string& first = families.front();
  Plot plot{
      fmt::format("Throughput of {} over N, operands {}", first.substr(first.find('.', first.find("nNk")) + 1), data),
      "N",
      "10¹² operations a second",
      {},
      true};
  for (const std::string& family : families) {
    for (const char* source : {"ss", "rs"}) {
      plot.lines.push_back(line_over_n(document, family, source, data, "tera_ops",
                                       fmt::format("{}, {}", family.substr(0, family.find(".m64")), source)));
    }
  }
  Line published{"H800 PCIe, ss (Luo et al.)", {}, true, true};
  for (const PublishedRate& p : published_rates()) {
    if (p.family == families.front() && p.source == "ss" && p.data == data)
      published.points.emplace_back(p.n, p.tera_ops);
  }
  std::ranges::sort(published.points);
  plot.lines.push_back(std::move(published));
  return plot;
}

/// Operations against bytes from shared memory, of each family with zeros.
Plot roofline(const Document& document, const std::vector<std::string>& families) {
  Plot plot{"Roofline, 128 bytes a clock: A from shared memory (ss) and from registers (rs)",
            "operations for each byte from shared memory",
            "operations of an SM in a clock",
            {},
            true,
            true};
  const auto arch = find_arch(document.facts.arch);
  const auto feed = arch ? feeds(*arch) : std::nullopt;
  if (!feed) return plot;
  for (const std::string& family : families) {
    std::optional<double> peak;
    double least = INFINITY;
    const std::string name = family.substr(0, family.find(".m64"));
    for (const char* source : {"ss", "rs"}) {
      Line line{fmt::format("{}, {}", name, source), {}, false, true};
      for (const auto& [n, cycles] : line_over_n(document, family, source, "zeros", "interval_cycles", "").points) {
        const Instruction& in = *find_in_family(family, static_cast<int>(n));
        const auto model = model_of(in, *arch, std::string_view(source) == "rs");
        if (!model) continue;
        peak = peak_operations_per_clock(*arch, in.a, in.sparse());
        const double intensity = operations(in) / (model->shared_cycles * feed->shared_bytes_per_clock);
        least = std::min(least, intensity);
        line.points.emplace_back(intensity, operations(in) / cycles);
      }
      plot.lines.push_back(std::move(line));
    }
    if (!peak) continue;
    Line roof{name + ", roof", {}, true};
    const double knee = *peak / feed->shared_bytes_per_clock;
    for (double x : {std::min(least, knee), knee, 4 * knee}) {
      roof.points.emplace_back(x, std::min(*peak, x * feed->shared_bytes_per_clock));
    }
    plot.lines.push_back(std::move(roof));
  }
  return plot;
}

/// Of those with A from registers whose power was measured.
std::optional<Bar> power_bar(const Record& r) {
  const auto watts = r.number("power_watts");
  if (!watts || r.text("source") != "rs") return std::nullopt;
  return Bar{
      fmt::format("{}{} {}", is_sparse(r) ? "sp " : "", r.subject.substr(r.subject.find("nNk") + 3), r.text("data")),
      *watts, fmt::format("({} Tops/s/W)", cell(r, "tera_ops_per_watt", 2))};
}

Section wgmma_rates(const Document& document) {
  Section section{
      "wgmma and wgmma.sp: throughput and power",
      "Cycles of an SM from one instruction to the next at the largest N, 10¹² operations a second of the whole "
      "device (of sparse instructions also those that they leave out), its clock meanwhile, shares of the peak at that "
      "clock and of the datasheet's, and power. Instructions that take the same cycles as another here are left out: "
      "e5m2 operands, two formats, u8, and saturation; the records have them.",
      {},
      {},
      false,
      true};
  double widest = 0;
  for (const Record* r : select(document, is_wgmma)) widest = std::max(widest, *r->number("N"));
  std::vector<Bar> bars;
  auto rows = select(document, [&](const Record& r) {
    return is_wgmma(r) && is_shown(r) && r.number("N") == widest && r.number("warpgroups") == 1;
  });
  std::ranges::stable_sort(
      rows, {}, [](const Record* r) { return std::tuple(is_sparse(*r), r->subject, r->text("data") == "random"); });
  section.table = table_of(
      rows, {subject("instruction"), number("N", "N", 0), text("A", "source"), text("data", "data"),
             number("interval", "interval_cycles", 2), number("Tops/s", "tera_ops", 1), number("MHz", "clock_mhz", 0),
             number("% peak", "percent_of_peak", 1), number("% sheet", "percent_of_datasheet", 1),
             number("W", "power_watts", 0), number("Tops/s/W", "tera_ops_per_watt", 2)});
  for (const Record* r : rows) {
    if (const auto bar = power_bar(*r)) bars.push_back(*bar);
  }
  std::vector<std::string> families = representatives(document);
  families.resize(std::min<std::size_t>(2, families.size()));  // more lines than these could not be told apart
  if (!families.empty()) {
    section.plots = plots_of({throughput(document, families, "zeros"), throughput(document, families, "random"),
                              roofline(document, families)});
  }
  if (!bars.empty()) {
    section.plots.push_back(svg_bars(fmt::format("Power at N = {:.0f}, A from registers", widest), "W", bars));
  }
  return section;
}

/// Of one N: A from shared memory, and beside it from registers.
std::vector<std::string> cycles_row(const WgmmaRows& rows, const Record& ss) {
  const int n = static_cast<int>(*ss.number("N"));
  const Record* const rs = rows.find(ss.subject, n, "rs", "zeros");
  const auto of_rs = [&](const char* name, int digits) {
    return rs == nullptr ? std::string("–") : cell(*rs, name, digits);
  };
  const auto published = std::ranges::find(published_cycles(), n, &PublishedCycles::n);
  const Instruction& in = *instruction_of(ss);
  const bool comparable = published != published_cycles().end() && format(in.a).storage_bits == 16 && !in.sparse();
  return {ss.subject,
          std::to_string(n),
          cell(ss, "latency_cycles", 1),
          of_rs("latency_cycles", 1),
          cell(ss, "interval_cycles", 2),
          cell(ss, "model_cycles", 0),
          cell(ss, "model_residual_percent", 1),
          comparable ? fmt::format("{:.1f}", published->interval_cycles) : "–",
          of_rs("interval_cycles", 2),
          of_rs("model_cycles", 0),
          of_rs("model_residual_percent", 1),
          cell(ss, "percent_of_peak", 1),
          of_rs("percent_of_peak", 1)};
}

Plot cycles_plot(const Document& document, const std::string& family) {
  Plot plot{"Latency and issue interval of " + family, "N", "cycles", {}, true};
  for (const char* source : {"ss", "rs"}) {
    for (const auto& [value, name] : {std::pair("latency_cycles", "latency"), std::pair("interval_cycles", "interval"),
                                      std::pair("model_cycles", "model")}) {
      plot.lines.push_back(line_over_n(document, family, source, "zeros", value, fmt::format("{}, {}", name, source)));
      plot.lines.back().dashed = std::string_view(name) == "model";
    }
  }
  return plot;
}

Section wgmma_cycles(const Document& document) {
  Section section{
      "wgmma and wgmma.sp: latency and issue interval over N",
      "Latency: an instruction is committed and waited for before the next is issued. Interval: as many in flight as "
      "the hardware takes. Published: cycles of an H100 SXM, bf16. Operands are zeros; cycles do not depend on them. "
      "The records have the other formats.",
      {{"instruction", "N", "latency ss", "latency rs", "interval ss", "model", "off %", "published ss", "interval rs",
        "model", "off %", "% peak ss", "% peak rs"}},
      {},
      false,
      true};
  const WgmmaRows rows(document);
  std::vector<Plot> plots;
  for (const std::string& family : representatives(document)) {
    for (const Record* ss : select(
             document, [&](const Record& r) { return is_wgmma(r) && has(r, "ss", "zeros") && r.subject == family; })) {
      section.table.push_back(cycles_row(rows, *ss));
    }
    plots.push_back(cycles_plot(document, family));
  }
  section.plots = plots_of(std::move(plots));
  return section;
}

/// Families that were measured with several warpgroups.
Section wgmma_warpgroups(const Document& document) {
  constexpr int kMost = 4;
  Section section{
      "wgmma and wgmma.sp: several warpgroups",
      "Cycles of an SM from one instruction to the next, with so many warpgroups that each have an accumulator "
      "tile. – where the tiles do not fit in the registers.",
      {{"instruction", "N", "A", "data", "1", "2", "3", "4", "% peak at best"}},
      {},
      false,
      true};
  const WgmmaRows rows(document);
  const auto cycles = [](const Record& r) { return r.number("interval_cycles").value_or(INFINITY); };
  for (const Record* first :
       select(document, [](const Record& r) { return is_wgmma(r) && r.number("warpgroups") == 2; })) {
    std::vector<std::string> row = {first->subject, cell(*first, "N", 0), first->text("source"), first->text("data")};
    const Record* best = first;
    for (int count = 1; count <= kMost; ++count) {
      const Record* const found =
          rows.find(first->subject, *first->number("N"), first->text("source"), first->text("data"), count);
      row.push_back(found == nullptr ? "–" : cell(*found, "interval_cycles", 2));
      if (found != nullptr && cycles(*found) < cycles(*best)) best = found;
    }
    row.push_back(cell(*best, "percent_of_peak", 1));
    section.table.push_back(std::move(row));
  }
  return section;
}

Section against_published(const Document& document) {
  Section section{
      "Beside published figures",
      fmt::format("{}. Shares are of each device's own datasheet, dense.", kPublishedStudy),
      {{"instruction", "N", "A", "data", "published Tops/s", "% of its sheet", "here Tops/s", "% of its sheet"}},
      {},
      false,
      true};
  const WgmmaRows rows(document);
  for (const PublishedRate& p : published_rates()) {
    const Record* const r = rows.find(p.family, p.n, p.source, p.data);
    if (r == nullptr) continue;
    section.table.push_back({std::string(p.family), std::to_string(p.n), std::string(p.source), std::string(p.data),
                             fmt::format("{:.1f}", p.tera_ops),
                             fmt::format("{:.1f}", p.tera_ops / p.datasheet_tera_ops * 100), cell(*r, "tera_ops", 1),
                             cell(*r, "percent_of_datasheet", 1)});
  }
  for (const PublishedMma& p : published_mma()) {
    const auto found = select(document, [&](const Record& r) { return is(r, "mma") && r.subject == p.instruction; });
    if (found.empty()) continue;
    section.table.push_back({fmt::format("{} (latency {:.1f}, here {})", p.instruction, p.latency_cycles,
                                         cell(*found.front(), "latency_cycles", 1)),
                             "–", "–", found.front()->text("data"), fmt::format("{:.1f}", p.tera_ops),
                             fmt::format("{:.1f}", p.tera_ops / p.datasheet_tera_ops * 100),
                             cell(*found.front(), "tera_ops", 1), cell(*found.front(), "percent_of_datasheet", 1)});
  }
  return section;
}

SectionTable warp_table(std::string title, std::string prose, const SassTable& sass) {
  return {title,
          std::move(prose),
          title.starts_with("wmma") ? "wmma" : "mma",
          {subject("instruction"),
           number("latency", "latency_cycles", 1),
           number("issue", "issue_interval_cycles", 2),
           number("interval", "interval_cycles", 2),
           both("best", "best_warps", "best_chains"),
           both("saturated from", "saturated_warps", "saturated_chains"),
           number("Tops/s", "tera_ops", 1),
           number("MHz", "clock_mhz", 0),
           number("% peak", "percent_of_peak", 1),
           number("W", "power_watts", 0),
           {"SASS",
            [&sass](const Record& r) {
              const Instruction* const instruction = instruction_of(r);
              return instruction == nullptr ? std::string() : sass.opcodes(*instruction);
            }}},
          {},
          true};
}

Section sass_table(const Document& document, const SassTable& sass) {
  Section section{"PTX and SASS",
                  fmt::format("What each instruction becomes with nvcc {}, read from the kernels that probe it: the "
                              "tensor cores' machine instructions, and the floating-point arithmetic and conversions "
                              "beside them. A wgmma at N = 8 stands for all N.",
                              sass.nvcc),
                  {{"PTX", "SASS"}},
                  {},
                  true,
                  true};
  const auto arch = find_arch(document.facts.arch);
  if (!arch) return section;
  for (const Instruction* in : instructions_of(*arch)) {
    if (const std::string opcodes = sass.opcodes(*in); !opcodes.empty()) section.table.push_back({in->ptx(), opcodes});
  }
  return section;
}

/// The operations a clock of fma.rn.f32; none where they were not measured.
std::optional<double> flops_of_fp32(const Document& document) {
  for (const Record* r : rows_of(document, "incore")) {
    if (r->subject == "fma.rn.f32" && r->number("flops_per_clock").value_or(0) > 0) return r->number("flops_per_clock");
  }
  return std::nullopt;
}

SectionTable incore_table(const Document& document) {
  return {
      "Plain arithmetic",
      "Latency of one chain in cycles; the best reciprocal throughput over ILP 1…8 and warps 1…32, in cycles of an SM "
      "for each instruction of a warp; operations (two for a multiply-add) of an SM in a clock, their share of "
      "the programming guide's peak, and how many times fp32's they are.",
      "incore",
      {subject("operation"),
       number("latency", "latency_cycles", 1),
       number("interval", "interval_cycles", 3),
       both("ILP × warps", "best_ilp", "best_warps"),
       number("ops/clk/SM", "flops_per_clock", 1),
       number("% peak", "percent_of_peak", 1),
       {"× fp32",
        [base = flops_of_fp32(document)](const Record& r) {
          const auto rate = r.number("flops_per_clock");
          return base && rate ? fmt::format("{:.3g}", *rate / *base) : "–";
        }},
       number("Tops/s at the highest clock", "tera_ops_at_max_clock", 1)}};
}

std::string published_latency(const Record& r) {
  const auto found = std::ranges::find(published_dpx(), r.subject, &PublishedDpx::function);
  return found == published_dpx().end() ? "–" : fmt::format("{:.1f}", found->latency_cycles);
}

SectionTable dpx_table(const SassTable& sass) {
  return {
      "DPX functions",
      fmt::format("Latency of one chain in cycles, and beside it the published one ({}). Interval: cycles of an SM for "
                  "each call of a warp, at the best ILP × warps. Results: two of a call on halves. Device: the highest "
                  "rate over 1 to 4 blocks for each SM. SASS: what one call becomes in the timed loop, with nvcc {}; "
                  "of __vib… that includes what counts the predicates, which the compiler would leave out if nothing "
                  "read them. Maxima of two take turns with minima: of two maxima behind each other nvcc makes one "
                  "VIMNMX3, in half the time of two calls. Every function is compared with the CPU's on operands at "
                  "the edges and random ones.",
                  kPublishedStudy, sass.nvcc.empty() ? "–" : sass.nvcc),
      "dpx",
      {subject("function"),
       number("latency", "latency_cycles", 1),
       {"published", published_latency},
       number("interval", "interval_cycles", 3),
       number("spread %", "spread_percent", 2),
       both("ILP × warps", "best_ilp", "best_warps"),
       number("results/clk/SM", "results_per_clock", 1),
       number("device, 10⁹ results/s", "giga_results", 0),
       number("MHz", "clock_mhz", 0),
       number("W", "power_watts", 0),
       {"SASS", [&sass](const Record& r) { return sass.function_opcodes(r.subject); }}},
      {{{"Throughput of DPX functions over the number of blocks", "blocks", "10⁹ results a second", {}},
        "grid_blocks",
        "grid_giga_results",
        // Of those that were published: one of each kind.
        [](const Record& r) { return published_latency(r) == "–" ? "" : r.subject; }}}};
}

Section model_section(const Document& document) {
  Section section{
      "The model",
      "An instruction takes as long as the slowest of: the tensor cores at their full width (N / 2 cycles for a "
      "wgmma of any format, dense or sparse); its operands from shared memory, 128 bytes a clock (A 16 cycles, "
      "B N / 4, or N / 2 if A is sparse); A from registers, 13 cycles at least, sparse 16. So sparse instructions "
      "reach their "
      "peak only with A from registers. mma and wmma are modelled by the tensor cores alone, and only fp64 keeps them "
      "busy: the others do not get their operands from the registers as fast, and some are several machine "
      "instructions. The rows where the model is off by more than 5 %:",
      {{"instruction", "rows", "off % (median)"}},
      {},
      true,
      true};
  std::map<std::string, std::vector<double>> off;
  for (const Record& r : document.records) {
    const auto residual = r.number("model_residual_percent");
    if (!residual || std::abs(*residual) <= kModelTolerancePercent) continue;
    off[is_wgmma(r) ? fmt::format("{} N={} {}", r.subject, r.text("N"), r.text("source")) : r.subject].push_back(
        *residual);
  }
  for (const auto& [name, values] : off) {
    section.table.push_back({name, std::to_string(values.size()), fmt::format("{:+.1f}", summarise(values).median)});
  }
  if (off.empty()) section.table = {{"instruction"}, {"none"}};
  return section;
}

}  // namespace

bool is_wgmma(const Record& r) { return is(r, "wgmma") || is(r, "integer wgmma"); }
bool is_sparse(const Record& r) { return r.subject.find(".sp") != std::string::npos; }

Section wgmma_section(const Document& document) {
  return {"wgmma and wgmma.sp", "",
          table_of(select(document, is_wgmma),
                   {subject("instruction"), number("N", "N", 0), text("A", "source"), text("data", "data"),
                    text("warpgroups", "warpgroups"), number("latency", "latency_cycles", 1),
                    number("interval", "interval_cycles", 2), number("model", "model_cycles", 0),
                    number("Tops/s", "tera_ops", 1), number("MHz", "clock_mhz", 0),
                    number("% peak", "percent_of_peak", 1), number("W", "power_watts", 0)})};
}

std::vector<Section> instruction_sections(const Document& document, const SassTable& sass) {
  const auto of = [&](const SectionTable& table) { return section_of(document, table); };
  return {
      wgmma_rates(document),
      wgmma_cycles(document),
      wgmma_warpgroups(document),
      against_published(document),
      of(warp_table("mma and mma.sp",
                    "Latency: each accumulator is the next instruction's C. Issue: cycles between instructions of "
                    "one warp with several accumulators. Interval: cycles of an SM for each instruction at the "
                    "best number of warps × accumulators; saturation (97 % of that) begins where the next column "
                    "says. Peaks of sparse instructions count what they leave out. SASS: all that the compiler "
                    "makes of one, beside moves and integer arithmetic.",
                    sass)),
      of(warp_table("wmma",
                    "As mma. Where C and D are of different formats, an instruction cannot follow itself: it is "
                    "measured in turn with the one that has them exchanged, and the cycles are the mean of the two.",
                    sass)),
      model_section(document),
      of(incore_table(document)),
      of(dpx_table(sass)),
      sass_table(document, sass)};
}

}  // namespace tcnum::bench
