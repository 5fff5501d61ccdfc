// What the pages show of tall and skinny products, and of linear layers.
#include <fmt/format.h>

#include <map>
#include <optional>

#include "bench/measure/gemm/linear.hpp"
#include "sections.hpp"

namespace tcnum::bench {
namespace {

SectionTable skinny_table(const Document& document) {
  std::optional<double> read;
  for (const Record& r : document.records) {
    if (r.subject == "stream.read") read = r.number("giga_bytes_per_second");
  }
  return {"Tall and skinny products",
          "D = Aᵀ · B, where A and B have k rows of n numbers: by a kernel that splits k over all SMs, brings rows to "
          "shared memory by cp.async and adds the blocks' sums in a second kernel (split), and by the algorithm that "
          "cuBLASLt's heuristic offers first. At the largest k: 1 GiB of each, or what took more than 50 ms. GB/s: of "
          "A and B, read once. % pins: of memory clock × 2 × bus; % read: of stream.read, where the record has it. "
          "Numbers are whole and so small that no order of sums rounds: every element must be the exact one.",
          "skinny",
          {short_subject("format"),
           number("n", "n", 0),
           text("by", "by"),
           number("k", "k", 0),
           number("µs", "microseconds", 1),
           number("GB/s", "giga_bytes_per_second", 0),
           number("% pins", "percent_of_pins", 1),
           {"% read",
            [read](const Record& r) {
              const auto rate = r.number("giga_bytes_per_second");
              return rate && read && *read > 0 ? fmt::format("{:.1f}", *rate / *read * 100) : "–";
            }},
           number("GFLOP/s", "giga_flops", 0),
           number("spread %", "spread_percent", 1)},
          {{{"Tall and skinny products by the split kernel over k, fp64", "k", "GB/s", {}, true, true},
            "sweep_k",
            "sweep_giga_bytes_per_second",
            [](const Record& r) {
              const bool is_drawn = short_name(r) == "fp64" && r.text("by") == "split";
              return is_drawn ? fmt::format("n = {}", r.text("n")) : "";
            }}}};
}

/// How many times as fast as bf16 of the same size a layer is.
Column against_bf16(const Document& document, const char* measurement, const char* size) {
  return {"× bf16", [rows = rows_of(document, measurement), size](const Record& record) {
            const auto mine = record.number("layer_us");
            for (const Record* other : rows) {
              const auto theirs = other->number("layer_us");
              const bool comparable = short_name(*other) == "bf16" && other->number(size) == record.number(size);
              if (comparable && mine && theirs && *mine > 0) return fmt::format("{:.2f}", *theirs / *mine);
            }
            return std::string("–");
          }};
}

/// "12.3 (45 %)"; "–" where there is none.
Column with_share(const std::string& heading, std::string_view key) {
  return {heading + " µs", [key](const Record& record) {
            const auto us = record.number(fmt::format("{}_us", key)),
                       share = record.number(fmt::format("{}_percent", key));
            return us && share ? fmt::format("{:.1f} ({:.0f} %)", *us, *share) : "–";
          }};
}

std::string step_text(const StepName& each) {
  return fmt::format("{}{}", each.step == LinearStep::multiply ? "" : "cast of ", each.text);
}

/// The shares of an fp8 layer's steps over N.
void add_shares(const Records& rows, Plot& plot) {
  for (const StepName& each : kStepNames) {
    Line line{step_text(each), {}};
    for (const Record* r : rows) {
      const auto n = r->number("N"), share = r->number(fmt::format("{}_percent", each.key));
      if (n && share && r->number("cast_input_percent")) line.points.emplace_back(*n, *share);
    }
    plot.lines.push_back(std::move(line));
  }
}
/// The rates of each format over N.
void add_rates(const Records& rows, Plot& plot) {
  std::map<std::string, Line> lines;
  for (const Record* r : rows) {
    Line& line = lines[short_name(*r)];
    line.name = short_name(*r);
    const auto n = r->number("N"), rate = r->number("tera_ops");
    if (n && rate) line.points.emplace_back(*n, *rate);
  }
  for (auto& [name, line] : lines) plot.lines.push_back(std::move(line));
}

SectionTable square_table(const Document& document) {
  SectionTable table{
      "Linear layers",
      "N tokens, N features in and out, by the algorithm that cuBLASLt's heuristic offers first. Layers of fp8 take "
      "bf16 as Transformer Engine does with delayed scaling: input and weight are cast to e4m3 by scales that are "
      "known before, with the largest magnitude found on the way; the product, with fast accumulation and scales, is "
      "of bf16, and is cast for the next layer. µs: all steps right behind each other, operands not in the L2; of each "
      "step, with its share, events between them. Every cast is compared with the CPU's. % equal: elements, of 256, "
      "with the bits that the emulator gives by cuBLAS's usual plan.",
      "linear",
      {short_subject("format"), number("N", "N", 0), number("µs", "layer_us", 1)}};
  for (const StepName& each : kStepNames) table.columns.push_back(with_share(step_text(each), each.key));
  for (const Column& column :
       {number("Tops/s", "tera_ops", 0), number("product Tops/s", "product_tera_ops", 0),
        number("input's cast GB/s", "cast_giga_bytes_per_second", 0), against_bf16(document, "linear", "N"),
        number("% equal", "equal_percent", 1), number("spread %", "spread_percent", 1)}) {
    table.columns.push_back(column);
  }
  table.curves = {
      {.plot = {"Linear layers over N", "N", "10¹² operations a second", {}, true}, .more = add_rates},
      {.plot = {"Shares of the steps of an fp8 layer over N", "N", "% of the layer", {}, true}, .more = add_shares}};
  return table;
}

SectionTable transformer_table(const Document& document) {
  SectionTable table{"Linear layers of a transformer",
                     "Those of one layer of Llama's shape with 2048 tokens, each timed alone: queries, keys and values "
                     "in one product, the projection, gate and up in one, and down. Attention, norms and activation "
                     "functions are not in it. Of fp8, inputs and weights are cast. Shares are of the four together.",
                     "transformer",
                     {short_subject("format"), number("hidden", "hidden", 0), number("inner", "inner", 0),
                      number("µs", "layer_us", 1)}};
  // Of any size: for their names.
  for (const TransformerPart& part : transformer_parts(1024)) {
    table.columns.push_back(with_share(std::string(part.text), part.key));
  }
  for (const Column& column :
       {number("casts %", "casts_percent", 1), number("Tops/s", "tera_ops", 0),
        number("products' Tops/s", "product_tera_ops", 0), against_bf16(document, "transformer", "hidden"),
        number("% equal", "equal_percent", 1), number("spread %", "spread_percent", 1)}) {
    table.columns.push_back(column);
  }
  return table;
}

}  // namespace

std::vector<Section> layer_sections(const Document& document) {
  std::vector<Section> all;
  for (const SectionTable& table : {skinny_table(document), square_table(document), transformer_table(document)}) {
    all.push_back(section_of(document, table));
  }
  return all;
}

}  // namespace tcnum::bench
