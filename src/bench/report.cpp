#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "peaks.hpp"
#include "plot.hpp"
#include "printers.hpp"
#include "published.hpp"
#include "statistics.hpp"

namespace tcnum::bench {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// A part of the report. Markdown leaves the plots out.
struct Section {
  std::string title, prose;
  Rows table;  ///< the first row is the heading; empty: none
  std::vector<std::string> plots;
  bool folded = false;  ///< a long table, which the page shows when it is asked for
};

/// "–" where there is none.
std::string cell(const Record& record, const char* name, int digits) {
  const auto x = record.number(name);
  return x ? fmt::format("{:.{}f}", *x, digits) : "–";
}

bool is(const Record& r, std::string_view measurement) { return r.measurement == measurement && !r.values.empty(); }
bool is_wgmma(const Record& r, std::string_view source, std::string_view data) {
  return is(r, "wgmma") && r.text("source") == source && r.text("data") == data && r.number("warpgroups") == 1;
}

std::vector<const Record*> select(const Document& document, const std::function<bool(const Record&)>& wanted) {
  std::vector<const Record*> found;
  for (const Record& r : document.records) {
    if (wanted(r)) found.push_back(&r);
  }
  return found;
}

const Record* find_wgmma(const Document& document, std::string_view family, int n, std::string_view source,
                         std::string_view data) {
  const auto found = select(document, [&](const Record& r) {
    return is_wgmma(r, source, data) && r.subject == family && r.number("N") == n;
  });
  return found.empty() ? nullptr : found.front();
}

/// The family that stands for all in plots and tables over N: the first that was measured.
std::string representative(const Document& document) {
  const auto all = select(document, [](const Record& r) { return is(r, "wgmma"); });
  return all.empty() ? "" : all.front()->subject;
}

Line line_over_n(const Document& document, std::string_view family, std::string_view source, std::string_view data,
                 const char* value, std::string name) {
  Line line{std::move(name), {}};
  for (const Record* r :
       select(document, [&](const Record& r) { return is_wgmma(r, source, data) && r.subject == family; })) {
    if (const auto y = r->number(value)) line.points.emplace_back(*r->number("N"), *y);
  }
  std::ranges::sort(line.points);
  return line;
}

/// Leaves out lines without points; no plot if none is left.
std::vector<std::string> plots_of(std::vector<Plot> plots) {
  std::vector<std::string> drawn;
  for (Plot& plot : plots) {
    std::erase_if(plot.lines, [](const Line& line) { return line.points.empty(); });
    if (!plot.lines.empty()) drawn.push_back(svg(plot));
  }
  return drawn;
}

Section glance(const Document& document) {
  Section section{"At a glance", "", {{"what", "measured"}}, {}};
  const auto extreme = [&](const std::string& what, const char* value, bool least, int digits, const char* unit,
                           const std::function<bool(const Record&)>& wanted) {
    const Record* worst = nullptr;
    for (const Record* r : select(document, wanted)) {
      const auto x = r->number(value);
      if (x && (worst == nullptr || (least ? *x < *worst->number(value) : *x > *worst->number(value)))) worst = r;
    }
    if (worst == nullptr) return;
    section.table.push_back({what, fmt::format("{} {}, of {} ({} rows)", cell(*worst, value, digits), unit,
                                               worst->subject, select(document, wanted).size())});
  };
  const char* const peak = "% of the peak at the measured clock";
  extreme("wgmma, N ≥ 64, zeros: at least", "percent_of_peak", true, 1, peak,
          [](const Record& r) { return is(r, "wgmma") && r.text("data") == "zeros" && *r.number("N") >= 64; });
  extreme("wgmma, N ≥ 64, random: at least", "percent_of_peak", true, 1, peak,
          [](const Record& r) { return is(r, "wgmma") && r.text("data") == "random" && *r.number("N") >= 64; });
  extreme("wgmma, A from registers, N = 32: at least", "percent_of_peak", true, 1, peak,
          [](const Record& r) { return is(r, "wgmma") && r.text("source") == "rs" && r.number("N") == 32; });
  extreme("wgmma: spread of the samples' cycles, at most", "spread_percent", false, 2, "%",
          [](const Record& r) { return is(r, "wgmma"); });
  extreme("mma: spread of the samples' cycles, at most", "spread_percent", false, 2, "%",
          [](const Record& r) { return is(r, "mma"); });
  extreme("mma: the highest rate", "percent_of_peak", false, 1, peak, [](const Record& r) { return is(r, "mma"); });
  extreme("the highest rate with random operands", "tera_ops", false, 0, "10¹² operations a second",
          [](const Record& r) { return is(r, "wgmma") && r.text("data") == "random"; });
  const auto wrong = std::ranges::count_if(document.records, [](const Record& r) { return !r.error.empty(); });
  section.table.push_back({"rows with wrong results", std::to_string(wrong)});
  return section;
}

Section wgmma_rates(const Document& document) {
  Section section{
      "wgmma: throughput and power",
      "Cycles of an SM from one instruction to the next at the largest N, 10¹² operations a second of the whole "
      "device, its clock meanwhile, shares of the peak at that clock and of the datasheet's, and power.",
      {{"instruction", "N", "A", "data", "interval", "Tops/s", "MHz", "% peak", "% sheet", "W", "Tops/s/W"}},
      {}};
  double widest = 0;
  for (const Record* r : select(document, [](const Record& r) { return is(r, "wgmma"); }))
    widest = std::max(widest, *r->number("N"));
  std::vector<Bar> bars;
  auto rows = select(document, [&](const Record& r) {
    return is(r, "wgmma") && r.number("N") == widest && r.number("warpgroups") == 1;
  });
  std::ranges::stable_sort(rows, {},
                           [](const Record* r) { return std::pair(r->subject, r->text("data") == "random"); });
  for (const Record* r : rows) {
    section.table.push_back({r->subject, cell(*r, "N", 0), r->text("source"), r->text("data"),
                             cell(*r, "interval_cycles", 2), cell(*r, "tera_ops", 1), cell(*r, "clock_mhz", 0),
                             cell(*r, "percent_of_peak", 1), cell(*r, "percent_of_datasheet", 1),
                             cell(*r, "power_watts", 0), cell(*r, "tera_ops_per_watt", 2)});
    if (const auto watts = r->number("power_watts"); watts && r->text("source") == "ss") {
      bars.push_back({fmt::format("{} {}", r->subject.substr(r->subject.find("nNk") + 3), r->text("data")), *watts,
                      fmt::format("({} Tops/s/W)", cell(*r, "tera_ops_per_watt", 2))});
    }
  }
  const std::string family = representative(document);
  std::vector<Line> lines;
  for (const char* data : {"zeros", "random"}) {
    for (const char* source : {"ss", "rs"}) {
      lines.push_back(line_over_n(document, family, source, data, "tera_ops", fmt::format("{}, {}", source, data)));
    }
  }
  Line published{"H800 PCIe, ss (Luo et al.)", {}, true, true};
  for (const PublishedRate& p : published_rates()) {
    if (p.family == family && p.source == "ss" && p.data == "zeros") published.points.emplace_back(p.n, p.tera_ops);
  }
  std::ranges::sort(published.points);
  lines.push_back(std::move(published));
  section.plots =
      plots_of({{"Throughput of " + family + " over N", "N", "10¹² operations a second", std::move(lines), true}});
  if (!bars.empty())
    section.plots.push_back(svg_bars(fmt::format("Power at N = {:.0f}, A from shared memory", widest), "W", bars));
  return section;
}

Section wgmma_cycles(const Document& document) {
  const std::string family = representative(document);
  Section section{
      "wgmma: latency and issue interval over N",
      "Of " + family +
          ". Latency: an instruction is committed and waited for before the next is issued. "
          "Interval: as many in flight as the hardware takes. Published: cycles of an H100 SXM, bf16. Other formats "
          "take the same cycles; the records have them.",
      {{"N", "latency ss", "latency rs", "interval ss", "model", "off %", "published ss", "interval rs", "model",
        "off %", "% peak ss", "% peak rs"}},
      {}};
  for (const Record* ss :
       select(document, [&](const Record& r) { return is_wgmma(r, "ss", "zeros") && r.subject == family; })) {
    const int n = static_cast<int>(*ss->number("N"));
    const Record* const rs = find_wgmma(document, family, n, "rs", "zeros");
    const auto of_rs = [&](const char* name, int digits) {
      return rs == nullptr ? std::string("–") : cell(*rs, name, digits);
    };
    const auto published = std::ranges::find(published_cycles(), n, &PublishedCycles::n);
    section.table.push_back(
        {std::to_string(n), cell(*ss, "latency_cycles", 1), of_rs("latency_cycles", 1), cell(*ss, "interval_cycles", 2),
         cell(*ss, "model_cycles", 0), cell(*ss, "model_residual_percent", 1),
         published == published_cycles().end() ? "–" : fmt::format("{:.1f}", published->interval_cycles),
         of_rs("interval_cycles", 2), of_rs("model_cycles", 0), of_rs("model_residual_percent", 1),
         cell(*ss, "percent_of_peak", 1), of_rs("percent_of_peak", 1)});
  }
  std::vector<Line> latency;
  for (const char* source : {"ss", "rs"}) {
    latency.push_back(
        line_over_n(document, family, source, "zeros", "latency_cycles", fmt::format("latency, {}", source)));
    latency.push_back(
        line_over_n(document, family, source, "zeros", "interval_cycles", fmt::format("interval, {}", source)));
    Line model = line_over_n(document, family, source, "zeros", "model_cycles", fmt::format("model, {}", source));
    model.dashed = true;
    latency.push_back(std::move(model));
  }
  // Operations for each byte that comes from shared memory: 32 of each row of A and column of B.
  std::vector<Line> roof;
  for (const char* source : {"ss", "rs"}) {
    Line line{fmt::format("{}, zeros", source), {}};
    for (const Record* r :
         select(document, [&](const Record& r) { return is_wgmma(r, source, "zeros") && r.subject == family; })) {
      const auto tera = r->number("tera_ops"), clock = r->number("clock_mhz"), n = r->number("N"),
                 interval = r->number("interval_cycles");
      if (!tera || !clock || !n || !interval) continue;
      const double bytes = 32 * (*n + (std::string_view(source) == "ss" ? 64 : 0));
      const double per_clock = *tera * 1e6 / *clock / document.facts.sms;
      line.points.emplace_back(per_clock * *interval / bytes, per_clock);
    }
    std::ranges::sort(line.points);
    line.only_points = true;
    roof.push_back(std::move(line));
  }
  const auto arch = find_arch(document.facts.arch);
  const auto peak = arch ? peak_operations_per_clock(*arch, FormatId::fp16, false) : std::nullopt;
  const auto feed = arch ? feeds(*arch) : std::nullopt;
  if (peak && feed && !roof.front().points.empty()) {
    Line ceiling{"roof: 128 bytes a clock", {}, true};
    const double knee = *peak / feed->shared_bytes_per_clock;
    for (double x : {roof.front().points.front().first, knee, 2 * std::max(knee, 64.0)}) {
      ceiling.points.emplace_back(x, std::min(*peak, x * feed->shared_bytes_per_clock));
    }
    std::ranges::sort(ceiling.points);
    roof.push_back(std::move(ceiling));
  }
  section.plots = plots_of(
      {{"Latency and issue interval of " + family, "N", "cycles", std::move(latency), true},
       {"Roofline: A from shared memory (ss) and from registers (rs)", "operations for each byte from shared memory",
        "operations of an SM in a clock", std::move(roof), true, true}});
  return section;
}

Section against_published(const Document& document) {
  Section section{
      "Beside published figures",
      fmt::format("{}. Shares are of each device's own datasheet, dense.", kPublishedStudy),
      {{"instruction", "N", "A", "data", "published Tops/s", "% of its sheet", "here Tops/s", "% of its sheet"}},
      {}};
  for (const PublishedRate& p : published_rates()) {
    const Record* const r = find_wgmma(document, p.family, p.n, p.source, p.data);
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

Section mma_table(const Document& document) {
  Section section{
      "mma and mma.sp",
      "Latency: each accumulator is the next instruction's C. Issue: cycles between instructions of one warp with "
      "several accumulators. Interval: cycles of an SM for each instruction at the best number of warps × "
      "accumulators; saturation (97 % of that) begins where the next column says. Peaks of sparse instructions "
      "count what they leave out. Operands stay the same, so where the compiler makes several machine "
      "instructions of one (fp8 and 4-bit integers), it converts them once, outside of the loop.",
      {{"instruction", "latency", "issue", "interval", "best", "saturated from", "Tops/s", "MHz", "% peak", "W",
        "SASS"}},
      {},
      true};
  for (const Record* r : select(document, [](const Record& r) { return is(r, "mma"); })) {
    section.table.push_back({r->subject, cell(*r, "latency_cycles", 1), cell(*r, "issue_interval_cycles", 2),
                             cell(*r, "interval_cycles", 2), r->text("best_warps") + " × " + r->text("best_chains"),
                             r->text("saturated_warps") + " × " + r->text("saturated_chains"), cell(*r, "tera_ops", 1),
                             cell(*r, "clock_mhz", 0), cell(*r, "percent_of_peak", 1), cell(*r, "power_watts", 0),
                             r->text("sass")});
  }
  return section;
}

Section sass_table(const Document& document) {
  Section section{"wgmma: PTX and SASS", "By this program's own machine code.", {{"PTX", "SASS"}}, {}, true};
  std::vector<std::string> seen;
  for (const Record* r : select(document, [](const Record& r) { return is(r, "wgmma") && !r.text("sass").empty(); })) {
    if (std::ranges::find(seen, r->subject) != seen.end()) continue;
    seen.push_back(r->subject);
    section.table.push_back({r->text("ptx"), r->text("sass")});
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
  const auto base = std::ranges::find_if(rows, [](const Record* r) { return r->subject == "fma.rn.f32"; });
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
      "dense wgmma of any format); its operands from shared memory, 128 bytes a clock (A 16 cycles, B N / 4); "
      "A from registers, 13 cycles at least. mma is modelled by the tensor cores alone, and only that of fp64 "
      "keeps them busy: the others do not get their operands from the registers as fast. The rows where "
      "the model is off by more than 5 %:",
      {{"instruction", "rows", "off % (median)"}},
      {},
      true};
  std::map<std::string, std::vector<double>> off;
  for (const Record& r : document.records) {
    const auto residual = r.number("model_residual_percent");
    if (!residual || std::abs(*residual) <= kModelTolerancePercent) continue;
    off[r.measurement == "wgmma" ? fmt::format("{} N={} {}", r.subject, r.text("N"), r.text("source")) : r.subject]
        .push_back(*residual);
  }
  for (const auto& [name, values] : off) {
    section.table.push_back({name, std::to_string(values.size()), fmt::format("{:+.1f}", summarise(values).median)});
  }
  if (off.empty()) section.table = {{"instruction"}, {"none"}};
  return section;
}

Section header(const Document& document) {
  const TimingFacts& f = document.facts;
  Section section{"", "", {{"", ""}}, {}};
  Rows& rows = section.table;
  rows.push_back({"device", fmt::format("{} ({}), {} SMs", f.device, f.arch, f.sms)});
  rows.push_back({"software", fmt::format("driver {}, CUDA {}, tcnum {}", f.driver, f.cuda, document.version)});
  rows.push_back({"date", f.date});
  if (f.max_sm_clock_mhz) rows.push_back({"highest SM clock", fmt::format("{:.0f} MHz", *f.max_sm_clock_mhz)});
  if (f.power_limit_watts) rows.push_back({"power limit", fmt::format("{:.0f} W", *f.power_limit_watts)});
  for (const Field& s : document.settings) {
    Record holder;
    holder.values.push_back(s);
    rows.push_back({s.name, holder.text(s.name)});
  }
  return section;
}

std::vector<Section> sections(const Document& document) {
  std::vector<Section> all = {header(document),
                              glance(document),
                              wgmma_rates(document),
                              wgmma_cycles(document),
                              against_published(document),
                              mma_table(document),
                              model_section(document),
                              incore_table(document),
                              sass_table(document)};
  std::erase_if(all, [](const Section& s) { return s.table.size() < 2; });
  return all;
}

constexpr const char* kMethod =
    "Every SM runs one block of the same work; cycles are the SM's own, between barriers around the timed loop. "
    "Operands differ "
    "in every lane. The accumulators of every timed kernel are compared with the emulator's, bit for bit, those of "
    "each round "
    "with the first round's, and those of each SM with the others'. The clock is that of the SMs over the timed "
    "launches "
    "(clock64 against globaltimer). Power is from NVML's energy counter over the same launches. No sample is dropped.";

std::string title_of(const Document& document) { return "Latency, throughput and power: " + document.facts.device; }

}  // namespace

std::string markdown_report(const Document& document) {
  std::string text = fmt::format("# {}\n\nMade by `tcnum bench report`.\n\n{}\n", title_of(document), kMethod);
  for (const Section& s : sections(document)) {
    if (!s.title.empty()) text += fmt::format("\n## {}\n", s.title);
    if (!s.prose.empty()) text += "\n" + s.prose + "\n";
    text += "\n";
    for (std::size_t i = 0; i < s.table.size(); ++i) {
      text += "|";
      for (const std::string& c : s.table[i]) text += " " + c + " |";
      text += "\n";
      if (i > 0) continue;
      text += "|";
      for (std::size_t c = 0; c < s.table[0].size(); ++c) text += " --- |";
      text += "\n";
    }
  }
  return text;
}

std::string html_report(const Document& document) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>{0}</title>\n<style>\n"
      "body {{ font-family: sans-serif; max-width: 75rem; margin: 1rem auto; padding: 0 1rem; }}\n"
      "table {{ border-collapse: collapse; font-size: 0.85rem; }}\n"
      "td, th {{ padding: 0.15rem 0.6rem; border-bottom: 1px solid #ddd; text-align: left; }}\n"
      "svg {{ width: 100%; max-width: 54rem; display: block; margin: 1rem 0; }}\n"
      "</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p>{1}</p>\n",
      escaped(title_of(document)), escaped(kMethod));
  for (const Section& s : sections(document)) {
    if (!s.title.empty()) text += fmt::format("<h2>{}</h2>\n", escaped(s.title));
    if (!s.prose.empty()) text += fmt::format("<p>{}</p>\n", escaped(s.prose));
    for (const std::string& plot : s.plots) text += plot;
    if (s.folded) text += "<details><summary>Table</summary>\n";
    text += "<table>\n";
    for (std::size_t i = 0; i < s.table.size(); ++i) {
      text += "<tr>";
      for (const std::string& c : s.table[i]) text += fmt::format("<{0}>{1}</{0}>", i == 0 ? "th" : "td", escaped(c));
      text += "</tr>\n";
    }
    text += "</table>\n";
    if (s.folded) text += "</details>\n";
  }
  return text + "</body>\n</html>\n";
}

}  // namespace tcnum::bench
