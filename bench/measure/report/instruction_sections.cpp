// What the pages show of instructions: tensor cores, plain arithmetic, DPX functions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "bench/measure/measurement.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/measure/tensor.hpp"
#include "published.hpp"
#include "sections.hpp"

namespace tcnum::bench {
namespace {

/// With one warpgroup, and with A from there.
bool is_from(const Record& r, std::string_view source, std::string_view data) {
  return is_wgmma(r) && r.text("source") == source && r.text("data") == data && r.number("warpgroups") == 1;
}

/// Rows of wgmma by what tells them apart.
class WgmmaRows {
 public:
  explicit WgmmaRows(const Document& document) : document_(document), places_(document) {}

  /// The row that differs from another one in that axis alone; null if there is none.
  const Record* beside(const Record& r, std::string_view axis, const Value& value) const {
    Record row{r.measurement, r.subject, r.axes, {}, {}, "", ""};
    for (Field& each : row.axes) {
      if (each.name == axis) each.value = value;
    }
    return places_.find(document_, row);
  }
  /// A column of such rows.
  Column column_beside(std::string heading, const char* axis, Value value, const char* name, int digits) const {
    return {std::move(heading), [=, this](const Record& r) {
              const Record* const found = beside(r, axis, value);
              return found == nullptr ? std::string("–") : cell(*found, name, digits);
            }};
  }

 private:
  const Document& document_;
  RowPlaces places_;
};

/// The families that stand for all in tables over N: of each measurement the first dense and the first sparse
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

Section wgmma_rates(const Document& document) {
  double widest = 0;
  for (const Record* r : select(document, is_wgmma)) widest = std::max(widest, *r->number("N"));
  return section_of(
      document,
      {"wgmma and wgmma.sp: throughput and power",
       "Cycles of an SM from one instruction to the next at the largest N, 10¹² operations a second of the whole "
       "device (of sparse instructions also those that they leave out), its clock meanwhile, shares of the peak at "
       "that "
       "clock and of the datasheet's, and power. Instructions that take the same cycles as another here are left out: "
       "e5m2 operands, two formats, u8, and saturation; the records have them.",
       [widest](const Record& r) {
         return is_wgmma(r) && measurement(r.measurement).by_default(r.subject) && r.number("N") == widest &&
                r.number("warpgroups") == 1;
       },
       {subject("instruction"), number("N", "N", 0), text("A", "source"), text("data", "data"),
        number("interval", "interval_cycles", 2), number("Tops/s", "tera_ops", 1), number("MHz", "clock_mhz", 0),
        number("% peak", "percent_of_peak", 1), number("% sheet", "percent_of_datasheet", 1),
        number("W", "power_watts", 0), number("Tops/s/W", "tera_ops_per_watt", 2)},
       true});
}

std::string published_interval(const Record& r) {
  const Instruction& in = *instruction_of(r);
  const bool comparable = format(in.a).storage_bits == 16 && !in.sparse();
  return comparable ? published_cycles(kPublishedIntervals, r.text("N")) : "–";
}

Section wgmma_cycles(const Document& document, const WgmmaRows& rows) {
  const std::vector<std::string> families = representatives(document);
  const auto rs = [&](const char* heading, const char* name, int digits) {
    return rows.column_beside(heading, "source", std::string("rs"), name, digits);
  };
  return section_of(
      document,
      {"wgmma and wgmma.sp: latency and issue interval over N",
       "Latency: an instruction is committed and waited for before the next is issued. Interval: as many in flight as "
       "the hardware takes. Published: cycles of an H100 SXM, bf16. Operands are zeros; cycles do not depend on them. "
       "The records have the other formats.",
       [&](const Record& r) {
         return is_from(r, "ss", "zeros") && std::ranges::find(families, r.subject) != families.end();
       },
       {subject("instruction"),
        number("N", "N", 0),
        number("latency ss", "latency_cycles", 1),
        rs("latency rs", "latency_cycles", 1),
        number("interval ss", "interval_cycles", 2),
        number("model", "model_cycles", 0),
        number("off %", "model_residual_percent", 1),
        {"published ss", published_interval},
        rs("interval rs", "interval_cycles", 2),
        rs("model", "model_cycles", 0),
        rs("off %", "model_residual_percent", 1),
        number("% peak ss", "percent_of_peak", 1),
        rs("% peak rs", "percent_of_peak", 1)},
       true});
}

/// Families that were measured with several warpgroups.
Section wgmma_warpgroups(const Document& document, const WgmmaRows& rows) {
  SectionTable table{
      "wgmma and wgmma.sp: several warpgroups",
      "Cycles of an SM from one instruction to the next, with so many warpgroups that each have an accumulator "
      "tile. – where the tiles do not fit in the registers.",
      [](const Record& r) { return is_wgmma(r) && r.number("warpgroups") == 2; },
      {subject("instruction"), number("N", "N", 0), text("A", "source"), text("data", "data")},
      true};
  for (const std::int64_t count : {1, 2, 3, 4}) {
    table.columns.push_back(rows.column_beside(std::to_string(count), "warpgroups", count, "interval_cycles", 2));
  }
  return section_of(document, table);
}

Section against_published(const Document& document, const WgmmaRows& rows) {
  Section section{
      "Beside published figures",
      fmt::format("{}. Shares are of each device's own datasheet, dense.", kPublishedStudy),
      {{"instruction", "N", "A", "data", "published Tops/s", "% of its sheet", "here Tops/s", "% of its sheet"}},
      true};
  const auto add = [&](std::vector<std::string> row, const auto& published, const Record& here) {
    for (const double x : {published.tera_ops, published.tera_ops / published.datasheet_tera_ops * 100}) {
      row.push_back(fmt::format("{:.1f}", x));
    }
    for (const char* name : {"tera_ops", "percent_of_datasheet"}) row.push_back(cell(here, name, 1));
    section.table.push_back(std::move(row));
  };
  for (const PublishedRate& p : kPublishedRates) {
    for (const char* measurement : {"wgmma", "integer wgmma"}) {
      const Record* const r = rows.beside({measurement,
                                           std::string(p.family),
                                           {{"data", std::string(p.data)},
                                            {"source", std::string(p.source)},
                                            {"N", std::int64_t{p.n}},
                                            {"warpgroups", std::int64_t{1}}},
                                           {},
                                           {},
                                           "",
                                           ""},
                                          "", 0.0);
      if (r == nullptr) continue;
      add({std::string(p.family), std::to_string(p.n), std::string(p.source), std::string(p.data)}, p, *r);
    }
  }
  for (const PublishedMma& p : kPublishedMma) {
    const auto found = select(document, [&](const Record& r) { return is(r, "mma") && r.subject == p.instruction; });
    if (found.empty()) continue;
    const Record& r = *found.front();
    add({fmt::format("{} (latency {:.1f}, here {})", p.instruction, p.latency_cycles, cell(r, "latency_cycles", 1)),
         "–", "–", r.text("data")},
        p, r);
  }
  return section;
}

SectionTable warp_table(const char* title, const char* measurement, const char* prose, const SassTable& sass) {
  return {title,
          prose,
          of(measurement),
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
           {"SASS", [&sass](const Record& r) {
              const Instruction* const instruction = instruction_of(r);
              return instruction == nullptr ? std::string() : sass.opcodes(*instruction);
            }}}};
}

/// The operations a clock of fma.rn.f32; none where they were not measured.
std::optional<double> flops_of_fp32(const Document& document) {
  for (const Record* r : select(document, of("incore"))) {
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
      of("incore"),
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

std::string published_latency(const Record& r) { return published_cycles(kPublishedDpx, r.subject); }

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
      of("dpx"),
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
       {"SASS", [&sass](const Record& r) { return sass.function_opcodes(r.subject); }}}};
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
      true};
  std::map<std::string, std::vector<double>> off;
  for (const Record& r : document.records) {
    if (!is_off_model(r)) continue;
    off[is_wgmma(r) ? fmt::format("{} N={} {}", r.subject, r.text("N"), r.text("source")) : r.subject].push_back(
        *r.number(kModelResidual));
  }
  for (const auto& [name, values] : off) {
    section.table.push_back({name, std::to_string(values.size()), fmt::format("{:+.1f}", summarise(values).median)});
  }
  if (off.empty()) section.table = {{"instruction"}, {"none"}};
  return section;
}

}  // namespace

bool is_wgmma(const Record& r) { return is(r, "wgmma") || is(r, "integer wgmma"); }
bool is_off_model(const Record& r) { return std::abs(r.number(kModelResidual).value_or(0)) > kModelTolerancePercent; }
bool is_sparse(const Record& r) { return r.subject.find(".sp") != std::string::npos; }

Section wgmma_section(const Document& document) {
  return section_of(document, {"wgmma and wgmma.sp",
                               "",
                               is_wgmma,
                               {subject("instruction"), number("N", "N", 0), text("A", "source"), text("data", "data"),
                                text("warpgroups", "warpgroups"), number("latency", "latency_cycles", 1),
                                number("interval", "interval_cycles", 2), number("model", "model_cycles", 0),
                                number("Tops/s", "tera_ops", 1), number("MHz", "clock_mhz", 0),
                                number("% peak", "percent_of_peak", 1), number("W", "power_watts", 0)}});
}

std::vector<Section> instruction_sections(const Document& document, const SassTable& sass) {
  const WgmmaRows rows(document);
  return {
      wgmma_rates(document),
      wgmma_cycles(document, rows),
      wgmma_warpgroups(document, rows),
      against_published(document, rows),
      section_of(document,
                 warp_table("mma and mma.sp", "mma",
                            "Latency: each accumulator is the next instruction's C. Issue: cycles between instructions "
                            "of one warp with several accumulators. Interval: cycles of an SM for each instruction at "
                            "the best number of warps × accumulators; saturation (97 % of that) begins where the next "
                            "column says. Peaks of sparse instructions count what they leave out. SASS: all that the "
                            "compiler makes of one, beside moves and integer arithmetic.",
                            sass)),
      section_of(document, warp_table("wmma", "wmma",
                                      "As mma. Where C and D are of different formats, an instruction cannot follow "
                                      "itself: it is measured in turn with the one that has them exchanged, and the "
                                      "cycles are the mean of the two.",
                                      sass)),
      model_section(document),
      section_of(document, incore_table(document)),
      section_of(document, dpx_table(sass))};
}

}  // namespace tcnum::bench
