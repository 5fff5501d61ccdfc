#include "linear_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "bench/measure/plot.hpp"
#include "bench/measure/section_parts.hpp"
#include "linear.hpp"

namespace tcnum::bench {
namespace {

std::string format_of(const Record& record) { return record.subject.substr(record.subject.find('.') + 1); }

/// How many times as fast as bf16 of the same size a layer is.
std::string times_as_fast(const std::vector<const Record*>& rows, const Record& record, const char* size) {
  const auto mine = record.number("layer_us");
  for (const Record* other : rows) {
    const auto theirs = other->number("layer_us");
    const bool comparable =
        format_of(*other) == format(FormatId::bf16).name && other->number(size) == record.number(size);
    if (comparable && mine && theirs && *mine > 0) return fmt::format("{:.2f}", *theirs / *mine);
  }
  return "–";
}

/// "12.3 (45 %)"; "–" where there is none.
std::string with_share(const Record& record, std::string_view key) {
  const auto us = record.number(fmt::format("{}_us", key)), share = record.number(fmt::format("{}_percent", key));
  if (!us || !share) return "–";
  return fmt::format("{:.1f} ({:.0f} %)", *us, *share);
}

Section square_section(const Document& document) {
  Section section{
      "Linear layers",
      "N tokens, N features in and out, by the algorithm that cuBLASLt's heuristic offers first. Layers of fp8 take "
      "bf16 as Transformer Engine does with delayed scaling: input and weight are cast to e4m3 by scales that are "
      "known before, with the largest magnitude found on the way; the product, with fast accumulation and scales, is "
      "of bf16, and is cast for the next layer. µs: all steps right behind each other, operands not in the L2; of each "
      "step, with its share, events between them. Every cast is compared with the CPU's. % equal: elements, of 256, "
      "with the bits that the emulator gives by cuBLAS's usual plan.",
      {{"format", "N", "µs"}},
      {}};
  std::vector<std::string>& heading = section.table.front();
  for (const StepName& each : kStepNames) {
    heading.push_back(fmt::format("{}{} µs", each.step == LinearStep::multiply ? "" : "cast of ", each.text));
  }
  heading.insert(heading.end(), {"Tops/s", "product Tops/s", "input's cast GB/s", "× bf16", "% equal", "spread %"});
  const auto rows = select(document, [](const Record& r) { return is(r, linear_measurement().name()); });
  std::map<std::string, Line> rates, shares;
  for (const Record* r : rows) {
    std::vector<std::string> row = {format_of(*r), cell(*r, "N", 0), cell(*r, "layer_us", 1)};
    for (const StepName& each : kStepNames) row.push_back(with_share(*r, each.key));
    row.insert(row.end(),
               {cell(*r, "tera_ops", 0), cell(*r, "product_tera_ops", 0), cell(*r, "cast_giga_bytes_per_second", 0),
                times_as_fast(rows, *r, "N"), cell(*r, "equal_percent", 1), cell(*r, "spread_percent", 1)});
    section.table.push_back(std::move(row));
    const auto n = r->number("N"), rate = r->number("tera_ops");
    if (!n || !rate) continue;
    rates[format_of(*r)].points.emplace_back(*n, *rate);
    if (!r->number("cast_input_percent")) continue;
    for (const StepName& each : kStepNames) {
      const auto share = r->number(fmt::format("{}_percent", each.key));
      if (share) shares[std::string(each.key)].points.emplace_back(*n, *share);
    }
  }
  Plot over_n{"Linear layers over N", "N", "10¹² operations a second", {}, true};
  for (auto& [name, line] : rates) {
    line.name = name;
    over_n.lines.push_back(line);
  }
  Plot of_steps{"Shares of the steps of an fp8 layer over N", "N", "% of the layer", {}, true};
  for (const StepName& each : kStepNames) {
    const auto found = shares.find(std::string(each.key));
    if (found == shares.end()) continue;
    found->second.name = fmt::format("{}{}", each.step == LinearStep::multiply ? "" : "cast of ", each.text);
    of_steps.lines.push_back(found->second);
  }
  section.plots = plots_of({std::move(over_n), std::move(of_steps)});
  return section;
}

Section transformer_section(const Document& document) {
  Section section{
      "Linear layers of a transformer",
      "Those of one layer of Llama's shape with 2048 tokens, each timed alone: queries, keys and values in one "
      "product, "
      "the projection, gate and up in one, and down. Attention, norms and activation functions are not in it. Of fp8, "
      "inputs and weights are cast. Shares are of the four together.",
      {{"format", "hidden", "inner", "µs"}},
      {}};
  std::vector<std::string>& heading = section.table.front();
  const std::vector<TransformerPart> parts = transformer_parts(1024);  // of any size: for their names
  for (const TransformerPart& part : parts) heading.push_back(fmt::format("{} µs", part.text));
  heading.insert(heading.end(), {"casts %", "Tops/s", "products' Tops/s", "× bf16", "% equal", "spread %"});
  const auto rows = select(document, [](const Record& r) { return is(r, transformer_measurement().name()); });
  for (const Record* r : rows) {
    std::vector<std::string> row = {format_of(*r), cell(*r, "hidden", 0), cell(*r, "inner", 0),
                                    cell(*r, "layer_us", 1)};
    for (const TransformerPart& part : parts) row.push_back(with_share(*r, part.key));
    row.insert(row.end(),
               {cell(*r, "casts_percent", 1), cell(*r, "tera_ops", 0), cell(*r, "product_tera_ops", 0),
                times_as_fast(rows, *r, "hidden"), cell(*r, "equal_percent", 1), cell(*r, "spread_percent", 1)});
    section.table.push_back(std::move(row));
  }
  return section;
}

}  // namespace

std::vector<Section> linear_sections(const Document& document) {
  return {square_section(document), transformer_section(document)};
}

}  // namespace tcnum::bench
