#include "sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "bench/measure/copy/sections.hpp"
#include "bench/measure/gemm/sections.hpp"
#include "bench/measure/memory/roofline_section.hpp"
#include "bench/measure/memory/sections.hpp"
#include "dpx_section.hpp"
#include "launch_section.hpp"
#include "model.hpp"
#include "peaks.hpp"
#include "plot.hpp"
#include "printers.hpp"
#include "published.hpp"
#include "section_parts.hpp"
#include "statistics.hpp"
#include "sync_sections.hpp"
#include "tcnum/error.hpp"
#include "tensor.hpp"

namespace tcnum::bench {
namespace {

using Rows = std::vector<std::vector<std::string>>;

bool is_wgmma(const Record& r) {
  return is(r, wgmma_measurement().name()) || is(r, integer_wgmma_measurement().name());
}
bool is_sparse(const Record& r) { return r.subject.find(".sp") != std::string::npos; }
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

/// A line of "At a glance": the smallest or largest value among some records, and whose it is.
struct Extreme {
  std::string what;
  const char* value;
  bool least;
  int digits;
  const char* unit;
  std::function<bool(const Record&)> of;
};

constexpr const char* kPercentOfPeak = "% of the peak at the measured clock";
Extreme least_share(std::string what, std::function<bool(const Record&)> of) {
  return {std::move(what), "percent_of_peak", true, 1, kPercentOfPeak, std::move(of)};
}
Extreme largest_share(std::string what, std::function<bool(const Record&)> of) {
  return {std::move(what), "percent_of_peak", false, 1, kPercentOfPeak, std::move(of)};
}

std::vector<Extreme> extremes() {
  std::vector<Extreme> all;
  for (const std::string data : {"zeros", "random"}) {
    all.push_back(least_share(fmt::format("wgmma, N ≥ 64, {}: at least", data), [data](const Record& r) {
      return is_wgmma(r) && !is_sparse(r) && r.text("data") == data && *r.number("N") >= 64;
    }));
  }
  all.push_back(least_share("wgmma, A from registers, N = 32: at least", [](const Record& r) {
    return is_wgmma(r) && !is_sparse(r) && r.text("source") == "rs" && r.number("N") == 32;
  }));
  all.push_back(least_share("wgmma.sp, A from registers, N ≥ 64: at least", [](const Record& r) {
    return is_wgmma(r) && is_sparse(r) && r.text("source") == "rs" && *r.number("N") >= 64;
  }));
  all.push_back(largest_share("wgmma.sp, A from shared memory: at most",
                              [](const Record& r) { return is_wgmma(r) && is_sparse(r) && r.text("source") == "ss"; }));
  for (const char* name : {"mma", "wmma"}) {
    all.push_back(
        largest_share(fmt::format("{}: the highest rate", name), [name](const Record& r) { return is(r, name); }));
  }
  all.push_back({"spread of the samples' cycles, at most (but of memories)", "spread_percent", false, 2, "%",
                 [](const Record& r) { return !is_of_memory(r) && !is_of_copies(r) && !is_of_products(r); }});
  for (const bool sparse : {false, true}) {
    all.push_back({fmt::format("the highest rate of {} with random operands", sparse ? "wgmma.sp" : "wgmma"),
                   "tera_ops", false, 0, "10¹² operations a second", [sparse](const Record& r) {
                     return is_wgmma(r) && is_sparse(r) == sparse && r.text("data") == "random" &&
                            r.number("percent_of_peak");
                   }});
  }
  return all;
}

Section glance(const Document& document) {
  Section section{"At a glance", "", {{"what", "measured"}}, {}};
  for (const Extreme& each : extremes()) {
    const std::vector<const Record*> records = select(document, each.of);
    const Record* found = nullptr;
    for (const Record* r : records) {
      const auto x = r->number(each.value);
      if (!x) continue;
      const auto best = found == nullptr ? std::nullopt : found->number(each.value);
      if (!best || (each.least ? *x < *best : *x > *best)) found = r;
    }
    if (found == nullptr) continue;
    section.table.push_back({each.what, fmt::format("{} {}, of {} ({} rows)", cell(*found, each.value, each.digits),
                                                    each.unit, found->subject, records.size())});
  }
  const auto wrong = std::ranges::count_if(document.records, [](const Record& r) { return !r.error.empty(); });
  section.table.push_back({"rows with wrong results", std::to_string(wrong)});
  return section;
}

/// Whether a row's family says something of its own: of those that only say otherwise what another is, the table has
/// enough with the other.
bool is_shown(const Record& r) {
  const Measurement& all = is(r, wgmma_measurement().name()) ? wgmma_measurement() : integer_wgmma_measurement();
  return all.by_default(r.subject);
}

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

std::vector<std::string> rates_row(const Record& r) {
  return {r.subject,
          cell(r, "N", 0),
          r.text("source"),
          r.text("data"),
          cell(r, "interval_cycles", 2),
          cell(r, "tera_ops", 1),
          cell(r, "clock_mhz", 0),
          cell(r, "percent_of_peak", 1),
          cell(r, "percent_of_datasheet", 1),
          cell(r, "power_watts", 0),
          cell(r, "tera_ops_per_watt", 2)};
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
      {{"instruction", "N", "A", "data", "interval", "Tops/s", "MHz", "% peak", "% sheet", "W", "Tops/s/W"}},
      {}};
  double widest = 0;
  for (const Record* r : select(document, is_wgmma)) widest = std::max(widest, *r->number("N"));
  std::vector<Bar> bars;
  auto rows = select(document, [&](const Record& r) {
    return is_wgmma(r) && is_shown(r) && r.number("N") == widest && r.number("warpgroups") == 1;
  });
  std::ranges::stable_sort(
      rows, {}, [](const Record* r) { return std::tuple(is_sparse(*r), r->subject, r->text("data") == "random"); });
  for (const Record* r : rows) {
    section.table.push_back(rates_row(*r));
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
      {}};
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
      {}};
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
      {}};
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

/// Of the instructions that a warp issues and waits for.
Section warp_table(const Document& document, std::string_view measurement, std::string title, std::string prose,
                   const SassTable& sass) {
  Section section{std::move(title),
                  std::move(prose),
                  {{"instruction", "latency", "issue", "interval", "best", "saturated from", "Tops/s", "MHz", "% peak",
                    "W", "SASS"}},
                  {},
                  true};
  for (const Record* r : select(document, [&](const Record& r) { return is(r, measurement); })) {
    const Instruction* const instruction = instruction_of(*r);
    section.table.push_back({r->subject, cell(*r, "latency_cycles", 1), cell(*r, "issue_interval_cycles", 2),
                             cell(*r, "interval_cycles", 2), r->text("best_warps") + " × " + r->text("best_chains"),
                             r->text("saturated_warps") + " × " + r->text("saturated_chains"), cell(*r, "tera_ops", 1),
                             cell(*r, "clock_mhz", 0), cell(*r, "percent_of_peak", 1), cell(*r, "power_watts", 0),
                             instruction == nullptr ? "" : sass.opcodes(*instruction)});
  }
  return section;
}

Section mma_table(const Document& document, const SassTable& sass) {
  return warp_table(
      document, "mma", "mma and mma.sp",
      "Latency: each accumulator is the next instruction's C. Issue: cycles between instructions of one warp with "
      "several accumulators. Interval: cycles of an SM for each instruction at the best number of warps × "
      "accumulators; saturation (97 % of that) begins where the next column says. Peaks of sparse instructions "
      "count what they leave out. SASS: all that the compiler makes of one, beside moves and integer arithmetic.",
      sass);
}

Section wmma_table(const Document& document, const SassTable& sass) {
  return warp_table(document, "wmma", "wmma",
                    "As mma. Where C and D are of different formats, an instruction cannot follow itself: it is "
                    "measured in turn with "
                    "the one that has them exchanged, and the cycles are the mean of the two.",
                    sass);
}

Section sass_table(const Document& document, const SassTable& sass) {
  Section section{"PTX and SASS",
                  fmt::format("What each instruction becomes with nvcc {}, read from the kernels that probe it: the "
                              "tensor cores' machine instructions, and the floating-point arithmetic and conversions "
                              "beside them. A wgmma at N = 8 stands for all N.",
                              sass.nvcc),
                  {{"PTX", "SASS"}},
                  {},
                  true};
  const auto arch = find_arch(document.facts.arch);
  if (!arch) return section;
  for (const Instruction* in : instructions_of(*arch)) {
    if (const std::string opcodes = sass.opcodes(*in); !opcodes.empty()) section.table.push_back({in->ptx(), opcodes});
  }
  return section;
}

Section incore_table(const Document& document) {
  Section section{
      "Plain arithmetic",
      "Latency of one chain in cycles; the best reciprocal throughput over ILP 1…8 and warps 1…32, in cycles of an SM "
      "for each instruction of a warp; operations (two for a multiply-add) of an SM in a clock, their share of "
      "the programming guide's peak, and how many times fp32's they are.",
      {{"operation", "latency", "interval", "ILP × warps", "ops/clk/SM", "% peak", "× fp32",
        "Tops/s at the highest clock"}},
      {}};
  const auto rows = select(document, [](const Record& r) { return is(r, "incore"); });
  const auto base = std::ranges::find_if(
      rows, [](const Record* r) { return r->subject == "fma.rn.f32" && r->number("flops_per_clock").value_or(0) > 0; });
  for (const Record* r : rows) {
    const auto rate = r->number("flops_per_clock");
    const bool comparable = base != rows.end() && rate;
    section.table.push_back({r->subject, cell(*r, "latency_cycles", 1), cell(*r, "interval_cycles", 3),
                             r->text("best_ilp") + " × " + r->text("best_warps"), cell(*r, "flops_per_clock", 1),
                             cell(*r, "percent_of_peak", 1),
                             comparable ? fmt::format("{:.3g}", *rate / *(*base)->number("flops_per_clock")) : "–",
                             cell(*r, "tera_ops_at_max_clock", 1)});
  }
  return section;
}

Section model_section(const Document& document) {
  Section section{
      "The model",
      "An instruction takes as long as the slowest of: the tensor cores at their full width (N / 2 cycles for a "
      "wgmma of any format, dense or sparse); its operands from shared memory, 128 bytes a clock (A 16 cycles, B N / "
      "4, "
      "or N / 2 if A is sparse); A from registers, 13 cycles at least, sparse 16. So sparse instructions reach their "
      "peak only with A from registers. mma and wmma are modelled by the tensor cores alone, and only fp64 keeps them "
      "busy: the others do not get their operands from the registers as fast, and some are several machine "
      "instructions. The rows where the model is off by more than 5 %:",
      {{"instruction", "rows", "off % (median)"}},
      {},
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

/// Of its records: one, or the first and the last one.
std::string dates_of(const Document& document) {
  std::set<std::string> dates;
  for (const Record& r : document.records) dates.insert(r.date.empty() ? document.facts.date : r.date);
  if (dates.empty()) return document.facts.date;
  return dates.size() == 1 ? *dates.begin() : fmt::format("{} to {}", *dates.begin(), *dates.rbegin());
}

Section header(const Document& document) {
  const TimingFacts& f = document.facts;
  Section section{"", "", {{"", ""}}, {}};
  Rows& rows = section.table;
  rows.push_back({"device", fmt::format("{} ({}), {} SMs", f.device, f.arch, f.sms)});
  rows.push_back({"software", fmt::format("driver {}, CUDA {}, tcnum {}", f.driver, f.cuda, document.version)});
  rows.push_back({"date", dates_of(document)});
  if (f.max_sm_clock_mhz) rows.push_back({"highest SM clock", fmt::format("{:.0f} MHz", *f.max_sm_clock_mhz)});
  if (f.power_limit_watts) rows.push_back({"power limit", fmt::format("{:.0f} W", *f.power_limit_watts)});
  for (const Field& s : document.settings) {
    Record holder;
    holder.values.push_back(s);
    rows.push_back({s.name, holder.text(s.name)});
  }
  return section;
}

/// As sections_of() says.
void keep_titled(std::vector<Section>& all, std::string_view title) {
  const std::string wanted = in_lower_case(title);
  const auto keep = [&](const auto& fits) {
    const bool any = std::ranges::any_of(all, fits);
    if (any) std::erase_if(all, [&](const Section& s) { return !s.title.empty() && !fits(s); });
    return any;
  };
  if (keep([&](const Section& s) { return in_lower_case(s.title) == wanted; })) return;
  if (keep([&](const Section& s) { return in_lower_case(s.title).find(wanted) != std::string::npos; })) return;
  std::vector<std::string> titles;
  for (const Section& s : all) {
    if (!s.title.empty()) titles.push_back(s.title);
  }
  throw InputError(fmt::format("--section: {}; expected one of {}, or a part of it", title, fmt::join(titles, "; ")));
}

}  // namespace

std::vector<Section> sections_of(const Document& document, const SassTable& sass, std::string_view title) {
  std::vector<Section> all = {header(document),
                              glance(document),
                              wgmma_rates(document),
                              wgmma_cycles(document),
                              wgmma_warpgroups(document),
                              against_published(document),
                              mma_table(document, sass),
                              wmma_table(document, sass),
                              model_section(document),
                              incore_table(document),
                              dpx_section(document, sass),
                              launch_section(document),
                              atomics_section(document),
                              barriers_section(document),
                              clusters_section(document),
                              histogram_section(document),
                              sass_table(document, sass)};
  for (const auto& sections :
       {memory_sections(document), roofline_sections(document), copy_sections(document), product_sections(document)}) {
    all.insert(all.end() - 1, sections.begin(), sections.end());
  }
  std::erase_if(all, [](const Section& s) { return s.table.size() < 2; });
  if (!title.empty()) keep_titled(all, title);
  return all;
}

std::string in_lower_case(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return all;
}

std::string device_line(const Document& document) {
  const TimingFacts& f = document.facts;
  return fmt::format("{} ({}), {}, driver {}{}", f.device, f.arch, dates_of(document), f.driver,
                     f.max_sm_clock_mhz ? fmt::format(", SM clock at most {:.0f} MHz", *f.max_sm_clock_mhz) : "");
}

}  // namespace tcnum::bench
