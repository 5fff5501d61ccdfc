// tcnum list: architectures, formats, instructions, and the catalogue's datapaths with where each comes from; or who
// evaluates a datapath.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "names.hpp"
#include "output.hpp"
#include "records.hpp"
#include "src/report/layout.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

std::string heading(std::string_view text) { return fmt::format("{}\n\n", text); }

std::string formats_text() {
  Rows rows = {{"format", "PTX", "bits", "exponent", "fraction", "not finite"}};
  for (const Format& f : kFormats) {
    std::string special = "none";
    if (f.non_finite == NonFinite::ieee) special = "inf, nan";
    if (f.non_finite == NonFinite::nan_all_ones) special = "nan (all ones)";
    if (f.non_finite == NonFinite::nan_negative_zero) special = "nan (negative zero)";
    rows.push_back({std::string(f.name), std::string(f.ptx), std::to_string(f.storage_bits),
                    f.floating ? std::to_string(f.exponent_bits) : "-", std::to_string(f.fraction_bits),
                    f.floating ? special : "integer"});
  }
  return table_text(rows);
}

std::string architectures_text() {
  Rows rows = {{"architecture", "instructions", "in the catalogue", "generation"}};
  for (const Arch& each : kArchs) {
    rows.push_back({std::string(each.name), std::to_string(instructions_of(each.id).size()),
                    std::to_string(catalogue(each.id).size()), std::string(each.family)});
  }
  return table_text(rows);
}

std::string instructions_text(ArchId id) {
  Rows rows = {{"instruction", "a, b", "c", "d", "SASS", "datapath"}};
  const SassTable sass = find_sass(id);
  for (const Instruction* i : instructions_of(id)) {
    std::vector<std::string> accounts;
    for (const CatalogueEntry& entry : catalogue(id, *i)) {
      const std::string refuted = entry.refuted_by.empty() ? "" : fmt::format(" (refuted by {})", entry.refuted_by);
      accounts.push_back(fmt::format("{}: {}{}", entry.account, entry.origin, refuted));
    }
    const std::string_view a = format(i->a).name, b = format(i->b).name;
    rows.push_back({i->name(), a == b ? std::string(a) : fmt::format("{}, {}", a, b), std::string(format(i->c).name),
                    std::string(format(i->d).name), sass.text(*i),
                    accounts.empty() ? "unknown" : fmt::format("{}", fmt::join(accounts, "; "))});
  }
  if (rows.size() == 1) return "  none yet\n";
  if (sass.instructions.empty()) {
    constexpr std::ptrdiff_t kSass = 4;
    for (std::vector<std::string>& row : rows) row.erase(row.begin() + kSass);
  }
  return table_text(rows, 44);
}

ordered_json architecture_json(const Arch& each) {
  const SassTable sass = find_sass(each.id);
  ordered_json out = {{"arch", each.name}, {"family", each.family}, {"instructions", ordered_json::array()}};
  for (const Instruction* i : instructions_of(each.id)) {
    ordered_json one = {{"name", i->name()}, {"ptx", i->ptx()}, {"m", i->m},
                        {"n", i->n},         {"k", i->k},       {"sparse", i->sparse()}};
    for (const auto& [key, operand] :
         {std::pair{"a", i->a}, std::pair{"b", i->b}, std::pair{"c", i->c}, std::pair{"d", i->d}}) {
      one[key] = format(operand).name;
    }
    if (const std::string text = sass.text(*i); !text.empty()) one["sass"] = text;
    one["datapaths"] = ordered_json::array();
    for (const CatalogueEntry& entry : catalogue(each.id, *i)) {
      ordered_json account = {{"account", entry.account}, {"origin", entry.origin}, {"fitted", entry.fitted}};
      if (!entry.refuted_by.empty()) account["refuted_by"] = entry.refuted_by;
      account["datapath"] = to_json(entry.datapath);
      one["datapaths"].push_back(std::move(account));
    }
    out["instructions"].push_back(std::move(one));
  }
  return out;
}

ordered_json json_list(const std::vector<const Arch*>& archs_shown) {
  ordered_json out = {{"schema", "tcnum.list/1"}, {"version", TCNUM_VERSION}};
  out["formats"] = ordered_json::array();
  for (const Format& f : kFormats) {
    ordered_json one = {{"name", f.name}, {"ptx", f.ptx}, {"bits", f.storage_bits}};
    if (f.floating) one["exponent_bits"] = f.exponent_bits;
    one["fraction_bits"] = f.fraction_bits;
    out["formats"].push_back(std::move(one));
  }
  out["architectures"] = ordered_json::array();
  for (const Arch* each : archs_shown) out["architectures"].push_back(architecture_json(*each));
  return out;
}

// --- Who evaluates a datapath -----------------------------------------------------------------------------------

Datapath datapath_to_evaluate(const ListOptions& options) {
  if (options.arch.empty() != options.instruction.empty() || options.arch.empty() == options.datapath.empty()) {
    throw InputError("list: --evaluators: of what? right would be --datapath FILE, or --arch and --instr");
  }
  if (!options.datapath.empty()) return read_datapath(options.datapath);
  const ArchId id = parse_arch(options.arch);
  return choose_datapath("", id, parse_instruction(options.instruction, id), "--instr").datapath;
}

std::string_view name(Processor processor) { return processor == Processor::cpu ? "CPU" : "GPU"; }

int list_evaluators(const ListOptions& options) {
  const Datapath datapath = datapath_to_evaluate(options);
  require_writable(options.json);
  require_different({{"--json", options.json}}, {{"--datapath", options.datapath}});
  Rows rows = {{"processor", "evaluator", "what it is", "evaluates"}};
  ordered_json out = {{"schema", "tcnum.evaluators/1"}, {"version", TCNUM_VERSION}};
  out["evaluators"] = ordered_json::array();
  for (const EvaluatorAnswer& each : evaluators_of(datapath)) {
    std::string evaluates = fmt::format("{} of {} nodes", each.nodes, datapath.tree.nodes.size());
    if (each.nodes == 0) evaluates = each.why_not.empty() ? "nothing: one above does" : "nothing";
    if (!each.why_not.empty()) evaluates += fmt::format(": {}", each.why_not);
    rows.push_back({std::string(name(each.processor)), std::string(each.name), std::string(each.does), evaluates});
    ordered_json one = {{"processor", name(each.processor)}, {"name", each.name}, {"nodes", each.nodes}};
    if (!each.why_not.empty()) one["why_not"] = each.why_not;
    out["evaluators"].push_back(std::move(one));
  }
  if (!options.json.empty()) write_json(options.json, out);
  if (options.json != "-") say(table_text(rows));
  return kAgreed;
}

}  // namespace

int run_list(const ListOptions& options) {
  if (options.evaluators) return list_evaluators(options);
  if (!options.instruction.empty() || !options.datapath.empty()) {
    throw InputError("list: --instr or --datapath: right would be with --evaluators");
  }
  std::vector<const Arch*> shown;
  if (!options.arch.empty()) {
    shown.push_back(&arch(parse_arch(options.arch)));
  } else {
    for (const Arch& each : kArchs) shown.push_back(&each);
  }
  require_writable(options.json);
  if (!options.json.empty()) write_json(options.json, json_list(shown));
  if (options.json != "-") {
    if (options.arch.empty())
      say(heading("Formats") + formats_text() + "\n" + heading("Architectures") + architectures_text());
    for (const Arch* each : shown) {
      if (options.arch.empty() && instructions_of(each->id).empty()) continue;
      say(fmt::format("{}{} ({}): instructions\n\n{}", options.arch.empty() ? "\n" : "", each->name, each->family,
                      instructions_text(each->id)));
    }
  }
  return kAgreed;
}

}  // namespace tcnum
