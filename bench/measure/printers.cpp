#include "printers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/measure/memory/sections.hpp"
#include "peaks.hpp"
#include "run_records.hpp"
#include "src/report/layout.hpp"

namespace tcnum::bench {
namespace {

/// A column of a table: a value or an axis of that name, with so many digits behind the point.
struct Column {
  const char* name;
  const char* heading;
  int digits;
};
struct Layout {
  const char* measurement;
  std::vector<Column> columns;
};
const std::vector<Layout>& layouts() {
  static const std::vector<Column> warps = {{"data", "data", 0},
                                            {"latency_cycles", "latency", 1},
                                            {"issue_interval_cycles", "issue", 2},
                                            {"interval_cycles", "interval", 2},
                                            {"best_warps", "warps", 0},
                                            {"best_chains", "chains", 0},
                                            {"saturated_warps", "from warps", 0},
                                            {"saturated_chains", "chains", 0},
                                            {"spread_percent", "spread %", 2},
                                            {"tera_ops", "Tops/s", 1},
                                            {"clock_mhz", "MHz", 0},
                                            {"percent_of_peak", "% peak", 1},
                                            {"percent_of_datasheet", "% sheet", 1},
                                            {"power_watts", "W", 0},
                                            {"tera_ops_per_watt", "Tops/s/W", 2}};
  static const std::vector<Column> warpgroups = {{"N", "N", 0},
                                                 {"source", "A", 0},
                                                 {"data", "data", 0},
                                                 {"warpgroups", "wg", 0},
                                                 {"latency_cycles", "latency", 1},
                                                 {"interval_cycles", "interval", 2},
                                                 {"spread_percent", "spread %", 2},
                                                 {"tera_ops", "Tops/s", 1},
                                                 {"clock_mhz", "MHz", 0},
                                                 {"percent_of_peak", "% peak", 1},
                                                 {"percent_of_datasheet", "% sheet", 1},
                                                 {"power_watts", "W", 0},
                                                 {"tera_ops_per_watt", "Tops/s/W", 2},
                                                 {"model_cycles", "model", 1},
                                                 {"model_residual_percent", "off %", 1}};
  static const std::vector<Column> products = {
      {"shapes", "shapes", 0},        {"kernel", "kernel", 0},
      {"products", "products", 0},    {"tera_ops_median", "Tops/s (median)", 1},
      {"tera_ops_max", "highest", 1}, {"spread_percent", "spread %", 2},
      {"clock_mhz", "MHz", 0}};
  static const std::vector<Layout> all = {
      {"wgmma", warpgroups},
      {"integer wgmma", warpgroups},
      {"mma", warps},
      {"wmma", warps},
      {"incore",
       {{"latency_cycles", "latency", 1},
        {"interval_cycles", "interval", 3},
        {"best_ilp", "ILP", 0},
        {"best_warps", "warps", 0},
        {"results_per_clock", "results/clk/SM", 1},
        {"flops_per_clock", "ops/clk/SM", 1},
        {"percent_of_peak", "% peak", 1},
        {"tera_ops_at_max_clock", "Tops/s at max clock", 1}}},
      {"dpx",
       {{"latency_cycles", "latency", 1},
        {"interval_cycles", "interval", 3},
        {"best_ilp", "ILP", 0},
        {"best_warps", "warps", 0},
        {"spread_percent", "spread %", 2},
        {"results_per_clock", "results/clk/SM", 1},
        {"giga_results", "G results/s", 0},
        {"blocks_per_step", "blocks a step", 0},
        {"clock_mhz", "MHz", 0},
        {"power_watts", "W", 0}}},
      {"launch",
       {{"way", "way", 0},
        {"round_trip_us", "round trip us", 2},
        {"submit_us", "submit us", 3},
        {"kernel_us", "each us", 3},
        {"start_us", "fit: start us", 3},
        {"giga_bytes_per_second", "GB/s", 0},
        {"fit_off_percent", "off %", 1},
        {"alone_start_us", "alone: start us", 2},
        {"alone_giga_bytes_per_second", "GB/s", 0},
        {"alone_fit_off_percent", "off %", 1}}},
      {"atomics",
       {{"space", "memory", 0},
        {"address", "address", 0},
        {"latency_cycles", "latency", 1},
        {"interval_cycles", "interval", 2},
        {"spread_percent", "spread %", 2},
        {"results_per_clock", "results/clk/SM", 3},
        {"device_results_per_clock", "results/clk", 1}}},
      {"barriers",
       {{"cluster", "blocks", 0},
        {"least_cycles", "least", 1},
        {"most_cycles", "most", 1},
        {"spread_percent", "spread %", 2}}},
      {"clusters",
       {{"blocks", "blocks", 0},
        {"latency_cycles", "latency", 1},
        {"least_cycles", "least", 1},
        {"most_cycles", "most", 1},
        {"own_cycles", "own", 1},
        {"bytes_per_clock", "B/clk/SM", 2},
        {"tera_bytes_per_second", "TB/s", 3},
        {"best_threads", "threads", 0},
        {"best_parallel", "parallel", 0},
        {"spread_percent", "spread %", 2},
        {"clock_mhz", "MHz", 0}}},
      {"histogram",
       {{"cluster", "blocks", 0},
        {"giga_elements_per_second", "G elements/s", 0},
        {"elements_per_clock", "elements/clk/SM", 2},
        {"best_bins", "bins", 0},
        {"best_threads", "threads", 0},
        {"device_blocks", "of blocks", 0},
        {"most_bins", "most bins", 0},
        {"spread_percent", "spread %", 2},
        {"clock_mhz", "MHz", 0}}},
      {"latency",
       {{"address", "address", 0},
        {"shared_latency_cycles", "shared", 1},
        {"l1_latency_cycles", "L1", 1},
        {"l1_fits_bytes", "up to bytes", 0},
        {"l2_latency_cycles", "L2", 1},
        {"l2_fits_bytes", "up to bytes", 0},
        {"l2_far_latency_cycles", "L2 far", 1},
        {"l2_far_fits_bytes", "up to bytes", 0},
        {"dram_latency_cycles", "DRAM", 1},
        {"pages_1_latency_cycles", "pages", 1},
        {"pages_1_fits_bytes", "up to bytes", 0},
        {"pages_2_latency_cycles", "beyond", 1},
        {"clock_mhz", "MHz", 0}}},
      {"strides",
       {{"width", "width", 0},
        {"bytes_per_clock", "bytes/clk/SM at 1", 1},
        {"bytes_per_clock_min", "at least", 1},
        {"spread_percent", "spread %", 2}}},
      {"bandwidth",
       {{"read_bytes", "load bytes", 0},
        {"bytes_per_clock", "B/clk/SM", 2},
        {"slowest_bytes_per_clock", "slowest", 2},
        {"fastest_bytes_per_clock", "fastest", 2},
        {"tera_bytes_per_second", "TB/s", 3},
        {"launch_tera_bytes_per_second", "of launch", 3},
        {"percent_of_pins", "% pins", 1},
        {"best_bytes", "of bytes", 0},
        {"coalesced_bytes_per_clock", "coalesced", 2},
        {"spread_percent", "spread %", 2},
        {"clock_mhz", "MHz", 0},
        {"power_watts", "W", 0}}},
      {"roofline",
       {{"tera_flops", "TFLOP/s", 1},
        {"percent_of_peak", "% peak", 1},
        {"giga_bytes_per_second", "GB/s", 0},
        {"percent_of_pins", "% pins", 1},
        {"ridge_flops_per_byte", "ridge FLOP/B", 1},
        {"spread_percent", "spread %", 2},
        {"clock_mhz", "MHz", 0},
        {"power_watts", "W", 0},
        {"temperature_celsius", "C", 0}}},
      {"streams",
       {{"giga_bytes_per_second", "GB/s", 0},
        {"spread_percent", "spread %", 2},
        {"percent_of_highest", "% highest", 1},
        {"percent_of_pins", "% pins", 1},
        {"best_occupancy_percent", "at occupancy %", 0},
        {"saturated_occupancy_percent", "saturated from %", 0},
        {"power_watts", "W", 0},
        {"giga_bytes_per_joule", "GB/J", 1}}},
      {"host",
       {{"least_us", "1 KiB us", 2},
        {"giga_bytes_per_second", "GB/s", 1},
        {"fit_start_us", "fit: start us", 2},
        {"fit_giga_bytes_per_second", "GB/s", 1},
        {"first_giga_bytes_per_second", "first GB/s", 1},
        {"oversubscribed_giga_bytes_per_second", "beyond GB/s", 2},
        {"spread_percent", "spread %", 1}}},
      {"copy latency",
       {{"from", "from", 0},
        {"least_bytes", "bytes", 0},
        {"least_cycles", "cycles", 0},
        {"most_bytes", "bytes", 0},
        {"most_cycles", "cycles", 0},
        {"spread_percent", "spread %", 1}}},
      {"copies",
       {{"from", "from", 0},
        {"tera_bytes_per_second", "TB/s", 3},
        {"bytes_per_clock", "B/clk/SM", 2},
        {"fetched_tera_bytes_per_second", "fetched TB/s", 3},
        {"percent_of_pins", "% pins", 1},
        {"best_copy_bytes", "copy bytes", 0},
        {"best_stages", "stages", 0},
        {"best_warps", "warps", 0},
        {"best_in_flight_bytes", "in flight", 0},
        {"saturated_in_flight_bytes", "saturated from", 0},
        {"spread_percent", "spread %", 2},
        {"clock_mhz", "MHz", 0},
        {"power_watts", "W", 0}}},
      {"tiled product",
       {{"product_blocks", "blocks", 0},
        {"giga_flops", "GFLOP/s", 0},
        {"async_giga_flops", "cp.async GFLOP/s", 0},
        {"gain_percent", "gain %", 1},
        {"spread_percent", "spread %", 2},
        {"async_spread_percent", "spread %", 2},
        {"clock_mhz", "MHz", 0}}},
      {"gemm", products},
      {"single gemm", products},
      {"skinny",
       {{"n", "n", 0},
        {"by", "by", 0},
        {"k", "k", 0},
        {"microseconds", "us", 1},
        {"giga_bytes_per_second", "GB/s", 0},
        {"percent_of_pins", "% pins", 1},
        {"giga_flops", "GFLOP/s", 0},
        {"spread_percent", "spread %", 1}}},
      {"linear",
       {{"N", "N", 0},
        {"layer_us", "us", 1},
        {"cast_input_us", "cast input", 1},
        {"cast_weight_us", "cast weight", 1},
        {"product_us", "product", 1},
        {"cast_output_us", "cast output", 1},
        {"product_percent", "product %", 1},
        {"tera_ops", "Tops/s", 1},
        {"product_tera_ops", "product Tops/s", 1},
        {"cast_giga_bytes_per_second", "cast GB/s", 0},
        {"equal_percent", "equal %", 1},
        {"spread_percent", "spread %", 1}}},
      {"transformer",
       {{"hidden", "hidden", 0},
        {"inner", "inner", 0},
        {"layer_us", "us", 1},
        {"qkv_us", "qkv", 1},
        {"projection_us", "projection", 1},
        {"up_us", "gate and up", 1},
        {"down_us", "down", 1},
        {"casts_percent", "casts %", 1},
        {"tera_ops", "Tops/s", 1},
        {"product_tera_ops", "products' Tops/s", 1},
        {"equal_percent", "equal %", 1},
        {"spread_percent", "spread %", 1}}},
  };
  return all;
}

std::string cell(const Record& record, const Column& column) {
  const Value* const value = record.find(column.name);
  if (value == nullptr) return "-";
  if (const double* const x = std::get_if<double>(value)) return fmt::format("{:.{}f}", *x, column.digits);
  return record.text(column.name);
}

std::string row_name(const Record& r) {
  std::string name = r.subject;
  for (const Field& axis : r.axes) name += fmt::format(" {}={}", axis.name, r.text(axis.name));
  return name;
}

/// Reciprocal throughput over parallelism and warps, as the older tools print it.
std::string sweep_text(const Record& r) {
  const auto *const ilps = r.numbers("sweep_ilp"), *const warps = r.numbers("sweep_warps");
  const auto* const cycles = r.numbers("sweep_interval_cycles");
  if (ilps == nullptr || warps == nullptr || cycles == nullptr) return "";
  std::vector<double> columns, lines;
  for (double w : *warps) {
    if (std::ranges::find(columns, w) == columns.end()) columns.push_back(w);
  }
  for (double i : *ilps) {
    if (std::ranges::find(lines, i) == lines.end()) lines.push_back(i);
  }
  std::vector<std::vector<std::string>> rows = {{"ILP \\ warps"}};
  for (double w : columns) rows[0].push_back(fmt::format("{:.0f}", w));
  for (double i : lines) {
    rows.push_back({fmt::format("{:.0f}", i)});
    for (double w : columns) {
      for (std::size_t p = 0; p < cycles->size(); ++p) {
        if ((*ilps)[p] == i && (*warps)[p] == w) rows.back().push_back(fmt::format("{:.3f}", (*cycles)[p]));
      }
      rows.back().resize(std::max<std::size_t>(rows.back().size(), 1));
    }
    rows.back().resize(rows.front().size(), "-");
  }
  return fmt::format("\n{}: cycles of an SM for each instruction of a warp\n\n{}", r.subject, table_text(rows));
}

/// The field in quotes where CSV needs them.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// As many operations as the fastest and the slowest precision differ by, for each against fp32.
std::string ratios_text(const Document& document) {
  const auto base = std::ranges::find_if(document.records, [](const Record& r) {
    return r.measurement == "incore" && r.subject == "fma.rn.f32" && r.number("flops_per_clock").value_or(0) > 0;
  });
  if (base == document.records.end()) return "";
  std::string text = "\nPeak rates against fma.rn.f32:";
  for (const Record& r : document.records) {
    if (r.measurement != "incore" || !r.number("flops_per_clock")) continue;
    text += fmt::format(" {} {:.3g};", r.subject, *r.number("flops_per_clock") / *base->number("flops_per_clock"));
  }
  text.back() = '\n';
  return text;
}

/// The peaks of the dense instructions, by format; empty if none are known.
std::string peaks_text(const TimingFacts& f) {
  const auto arch = find_arch(f.arch);
  std::string text;
  for (FormatId id : {FormatId::fp16, FormatId::tf32, FormatId::fp8e4m3, FormatId::s8, FormatId::fp64}) {
    const auto peak = arch ? peak_operations_per_clock(*arch, id, false) : std::nullopt;
    if (!peak) continue;
    text += fmt::format("{}{} {:.0f}", text.empty() ? "" : ", ", format(id).name, *peak);
    if (f.max_sm_clock_mhz) text += fmt::format(" ({:.0f} Tops/s)", *peak * f.sms * *f.max_sm_clock_mhz * 1e-6);
  }
  return text;
}

std::vector<std::string> row_of(const Record& r, const Layout& layout) {
  std::vector<std::string> row = {r.subject};
  for (const char* label : {"host", "device"}) {  // of several
    if (const std::string text = r.text(label); !text.empty()) row[0] += fmt::format(" {}={}", label, text);
  }
  for (const Column& c : layout.columns) row.push_back(cell(r, c));
  const Value* const moved = r.find("clock_moved");
  if (moved != nullptr && std::get_if<bool>(moved) != nullptr && std::get<bool>(*moved)) row[0] += " (clock moved)";
  if (r.find(kInterrupted) != nullptr) row[0] += " (interrupted)";
  return row;
}

/// The records of a measurement as a table after an empty line; empty if there are none. Columns are as wide as their
/// widest cell, as cells are short and columns many.
std::string table_of(const Document& document, const Layout& layout) {
  std::vector<std::vector<std::string>> rows = {{layout.measurement}};
  for (const Column& c : layout.columns) rows[0].emplace_back(c.heading);
  for (const Record& r : document.records) {
    if (r.measurement == layout.measurement && !r.values.empty()) rows.push_back(row_of(r, layout));
  }
  if (rows.size() == 1) return "";
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text = "\n";
  for (const auto& row : rows) {
    text += fmt::format("  {:<{}}", row[0], widths[0]);
    for (std::size_t c = 1; c < row.size(); ++c) text += fmt::format("  {:>{}}", row[c], widths[c]);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string header_text(const TimingFacts& f) {
  std::vector<std::vector<std::string>> rows = {{"device", fmt::format("{} ({})", f.device, f.arch)},
                                                {"SMs", std::to_string(f.sms)},
                                                {"driver", fmt::format("{}, CUDA {}", f.driver, f.cuda)},
                                                {"date", f.date}};
  if (f.max_sm_clock_mhz) rows.push_back({"SM clock", fmt::format("at most {:.0f} MHz", *f.max_sm_clock_mhz)});
  if (f.power_limit_watts) rows.push_back({"power", fmt::format("at most {:.0f} W", *f.power_limit_watts)});
  if (const std::string peaks = peaks_text(f); !peaks.empty()) {
    rows.push_back({"peaks", fmt::format("dense, operations of an SM in a clock{}: {}",
                                         f.max_sm_clock_mhz ? " (of all at the highest clock)" : "", peaks)});
  }
  return table_text(rows);
}

std::vector<std::string> off_model(const Document& document) {
  std::vector<std::string> names;
  for (const Record& r : document.records) {
    const auto residual = r.number("model_residual_percent");
    if (residual && std::abs(*residual) > kModelTolerancePercent) {
      names.push_back(fmt::format("{}: {:+.1f} %", row_name(r), *residual));
    }
  }
  return names;
}

std::string tables_text(const Document& document) {
  std::string text;
  for (const Layout& layout : layouts()) text += table_of(document, layout);
  for (const Record& r : document.records) {
    if (!r.values.empty()) text += sweep_text(r);
    if (r.measurement == "strides" && !r.values.empty()) {
      text += fmt::format("\n{} width={}: bytes of an SM in a clock\n\n{}", r.subject, r.text("width"),
                          table_text(strides_table(r)));
    }
  }
  text += ratios_text(document);
  for (const Record& r : document.records) {
    if (!r.waived.empty()) text += fmt::format("\nwaived: {}: {}", row_name(r), r.waived);
    if (!r.error.empty()) text += fmt::format("\nERROR: {}: {}", row_name(r), r.error);
  }
  const std::vector<std::string> off = off_model(document);
  if (!off.empty()) text += fmt::format("\n\nThe model is off by more than {:.0f} % for\n", kModelTolerancePercent);
  for (const std::string& name : off) text += fmt::format("  {}\n", name);
  return text;
}

std::string csv_text(const Document& document) {
  std::vector<std::string> columns;
  for (const Record& r : document.records) {
    for (const std::vector<Field>* fields : {&r.axes, &r.values}) {
      for (const Field& f : *fields) {
        if (std::ranges::find(columns, f.name) == columns.end()) columns.push_back(f.name);
      }
    }
  }
  std::string text = "measurement,subject";
  for (const std::string& c : columns) text += "," + quoted(c);
  text += ",waived,error\n";
  for (const Record& r : document.records) {
    text += quoted(r.measurement) + "," + quoted(r.subject);
    for (const std::string& c : columns) text += "," + quoted(r.text(c));
    text += "," + quoted(r.waived) + "," + quoted(r.error) + "\n";
  }
  return text;
}

std::string json_line(const Record& record, const TimingFacts& facts) {
  return to_json(record, facts).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string json_text(const Document& document, const std::vector<std::string>& lines) {
  using nlohmann::ordered_json;
  ordered_json json = to_json(Document{document.version, document.facts, document.settings, {}});
  json.erase("records");
  std::string text = json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
  text.erase(text.rfind("\n}"));  // the end of the object comes behind the records
  text += ",\n  \"records\": [";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += i == 0 ? "\n    " : ",\n    ";
    text += lines[i];
  }
  return text + "\n  ]\n}\n";
}

std::string json_text(const Document& document) {
  std::vector<std::string> lines;
  for (const Record& r : document.records) lines.push_back(json_line(r, document.facts));
  return json_text(document, lines);
}

}  // namespace tcnum::bench
