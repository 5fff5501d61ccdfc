// tcnum list: architectures, formats, instructions, and the catalogue's datapaths with where each comes from; or who
// evaluates a datapath.
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "names.hpp"
#include "output.hpp"
#include "records.hpp"
#include "src/report/datapath_text.hpp"
#include "src/report/layout.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/emulator.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

/// Of an instruction without accounts.
constexpr std::string_view kUnknown = "nobody has published one";
constexpr std::string_view kWaysToKnow = "Where nobody has published one, `tcnum probe` with an oracle would find it.";
constexpr std::string_view kMore =
    "\n  `tcnum list --arch sm_90` shows the instructions of one, `tcnum list --instr 'mma.m16n8k*'` those of a name, "
    "and\n"
    "  `tcnum list --known` all with their datapaths; `tcnum list --arch sm_80 sm_90 --format fp16 fp8 --table text` "
    "those of "
    "several as one table.\n";

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

/// Names that --format takes beside those of formats.
std::string format_names_text() {
  Rows rows = {{"--format", "operands"}};
  for (const FormatName& each : format_names()) rows.push_back({std::string(each.name), meaning_of(each)});
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

/// Which instructions the user wants to see.
struct Filter {
  std::string pattern;
  std::vector<std::string> formats;
  bool known = false, measured = false;

  bool wants_all() const { return pattern.empty() && formats.empty() && !known && !measured; }
  /// Those of an architecture; throws InputError where it has neither instructions of any of the formats nor of that
  /// name.
  std::vector<const Instruction*> of(ArchId id) const {
    std::vector<const Instruction*> chosen = matching_instructions(pattern, id);
    if (formats.empty()) return chosen;
    std::vector<Operands> operands;
    for (const std::string& each : formats) {
      if (std::optional<Operands> taken = find_operands(each, id)) operands.push_back(std::move(*taken));
    }
    if (operands.empty()) parse_operands(formats.front(), id);
    std::erase_if(chosen, [&](const Instruction* i) {
      return std::ranges::none_of(operands, [&](const Operands& each) { return each.are_of(*i); });
    });
    return chosen;
  }
  bool wants(const std::vector<CatalogueEntry>& accounts) const {
    if (measured) return !accounts.empty() && accounts.front().standing == Standing::measured;
    return !known || !accounts.empty();
  }
};

struct ListedArch {
  const Arch* arch;
  std::vector<KnownInstruction> instructions;
};

ListedArch listed_of(const Arch& each, const Filter& filter) {
  ListedArch listed{&each, {}};
  for (const Instruction* i : filter.of(each.id)) {
    std::vector<CatalogueEntry> accounts = catalogue(each.id, *i);
    if (filter.wants(accounts)) listed.instructions.push_back({i, std::move(accounts)});
  }
  return listed;
}

/// Where what is listed comes from, each once and numbered.
class Footnotes {
 public:
  /// "[2]".
  std::string mark(const std::string& source) {
    const auto found = std::ranges::find(sources_, source);
    const auto number = found - sources_.begin() + 1;
    if (found == sources_.end()) sources_.push_back(source);
    return fmt::format("[{}]", number);
  }
  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < sources_.size(); ++i) out += wrapped(fmt::format("[{}] {}", i + 1, sources_[i]), 2);
    return out;
  }

 private:
  std::vector<std::string> sources_;
};

std::string source_of(const CatalogueEntry& entry) {
  if (entry.fitted) return fmt::format("fitted here to the recorded answers of vectors/{}", arch(entry.arch).name);
  return entry.origin_and_standing();
}

/// "1×16 F=25 RZ [1]": what the first account says, and where each comes from.
std::string datapath_text(const KnownInstruction& listed, Footnotes& footnotes) {
  if (listed.accounts.empty()) return std::string(kUnknown);
  std::string text = short_text(listed.accounts.front().datapath) + " ";
  if (const std::string_view to = listed.accounts.front().lowered_to; !to.empty())
    text += fmt::format("(lowered to {}) ", to);
  for (const CatalogueEntry& entry : listed.accounts) text += footnotes.mark(source_of(entry));
  return text;
}

/// How many results of the hardware were compared with it.
std::string compared_text(const KnownInstruction& listed, const ComparedResults& compared) {
  if (listed.accounts.empty()) return "";
  const CatalogueEntry& first = listed.accounts.front();
  const std::uint64_t results =
      first.standing == Standing::measured ? compared.count(*listed.instruction) : first.answers;
  constexpr std::uint64_t kMostDigits = 1'000'000;
  if (results == 0) return "";
  return results < kMostDigits ? count_text(results) : fmt::format("{:.2g}", static_cast<double>(results));
}

/// A width that most of a column's cells have.
std::size_t usual_width(const Rows& rows, std::size_t column) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) widths.push_back(width_of(row[column]));
  const std::size_t most = widths.size() - 1 - widths.size() / 20;
  std::ranges::nth_element(widths, widths.begin() + static_cast<std::ptrdiff_t>(most));
  return widths[most];
}

/// A line each. After one of the few cells that are wider than others of their column, the rest begins later.
std::string lines_text(const Rows& rows) {
  constexpr std::size_t kIndent = 2, kGap = 2;
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < rows.front().size(); ++c) widths.push_back(usual_width(rows, c));
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) line += padded(row[c], widths[c]) + std::string(kGap, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    out += std::string(kIndent, ' ') + line + "\n";
  }
  return out;
}

std::string instructions_text(const ListedArch& listed, Footnotes& footnotes) {
  const SassTable sass = find_sass(listed.arch->id);
  const ComparedResults compared(listed.arch->id);
  Rows rows = {{"instruction", "datapath", "compared", "SASS"}};
  for (const KnownInstruction& each : listed.instructions) {
    rows.push_back({each.instruction->name(), datapath_text(each, footnotes), compared_text(each, compared),
                    sass.opcodes(*each.instruction)});
  }
  for (std::size_t c = rows.front().size() - 1; c > 1; --c) {  // a column that says nothing
    if (std::ranges::all_of(rows.begin() + 1, rows.end(), [&](const auto& row) { return row[c].empty(); })) {
      for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
    }
  }
  return lines_text(rows);
}

std::string instructions_text(const std::vector<ListedArch>& all) {
  Footnotes footnotes;
  std::string out;
  bool any_known = false, any_unknown = false;
  for (const ListedArch& each : all) {
    if (each.instructions.empty()) continue;
    out += fmt::format("{}{} ({}): {}\n\n{}", out.empty() ? "" : "\n", each.arch->name, each.arch->family,
                       plural(each.instructions.size(), "instruction"), instructions_text(each, footnotes));
    for (const KnownInstruction& one : each.instructions) (one.accounts.empty() ? any_unknown : any_known) = true;
  }
  out += "\n" + footnotes.text();
  if (any_known) out += wrapped(kShortTextLegend, 2);
  if (any_unknown) out += wrapped(kWaysToKnow, 2);
  return out;
}

ordered_json architecture_json(const ListedArch& listed) {
  const Arch& each = *listed.arch;
  const SassTable sass = find_sass(each.id);
  const ComparedResults compared(each.id);
  ordered_json out = {{"arch", each.name}, {"family", each.family}, {"instructions", ordered_json::array()}};
  for (const auto& [i, accounts] : listed.instructions) {
    ordered_json one = {{"name", i->name()}, {"ptx", i->ptx()}, {"m", i->m},
                        {"n", i->n},         {"k", i->k},       {"sparse", i->sparse()}};
    for (const auto& [key, operand] :
         {std::pair{"a", i->a}, std::pair{"b", i->b}, std::pair{"c", i->c}, std::pair{"d", i->d}}) {
      one[key] = format(operand).name;
    }
    if (const std::string text = sass.text(*i); !text.empty()) one["sass"] = text;
    one["datapaths"] = ordered_json::array();
    for (const CatalogueEntry& entry : accounts) {
      ordered_json account = {{"account", entry.account},
                              {"origin", entry.origin},
                              {"fitted", entry.fitted},
                              {"standing", name(entry.standing)}};
      if (entry.standing == Standing::measured) account["answers"] = compared.count(*i);
      if (entry.answers != 0) account["answers"] = entry.answers;
      if (!entry.refuted_by.empty()) account["refuted_by"] = entry.refuted_by;
      if (!entry.lowered_to.empty()) account["lowered_to"] = entry.lowered_to;
      account["datapath"] = to_json(entry.datapath);
      one["datapaths"].push_back(std::move(account));
    }
    out["instructions"].push_back(std::move(one));
  }
  return out;
}

ordered_json json_list(const std::vector<ListedArch>& archs_shown) {
  ordered_json out = {{"schema", "tcnum.list/1"}, {"version", TCNUM_VERSION}};
  out["formats"] = ordered_json::array();
  for (const Format& f : kFormats) {
    ordered_json one = {{"name", f.name}, {"ptx", f.ptx}, {"bits", f.storage_bits}};
    if (f.floating) one["exponent_bits"] = f.exponent_bits;
    one["fraction_bits"] = f.fraction_bits;
    out["formats"].push_back(std::move(one));
  }
  out["architectures"] = ordered_json::array();
  for (const ListedArch& each : archs_shown) out["architectures"].push_back(architecture_json(each));
  return out;
}

/// The architectures that are named, or all. That some have no such instruction is no error where there are several,
/// unless none has; those that are not named are then left out.
std::vector<ListedArch> listed_of(const std::vector<std::string>& names, const Filter& filter) {
  for (const std::string& each : filter.formats) require_format_name("--format", each);
  std::vector<const Arch*> asked;
  for (const std::string& each : names) {
    const Arch* const one = &arch(parse_arch(each));
    if (std::ranges::find(asked, one) == asked.end()) asked.push_back(one);
  }
  if (asked.size() == 1) return {listed_of(*asked.front(), filter)};
  if (names.empty()) {
    for (const Arch& each : kArchs) asked.push_back(&each);
  }
  std::vector<ListedArch> listed;
  bool any = false;
  for (const Arch* each : asked) {
    try {
      listed.push_back(listed_of(*each, filter));
      any = true;
    } catch (const InputError&) {  // this one has none
      if (!names.empty()) listed.push_back({each, {}});
    }
  }
  if (any) return listed;
  throw InputError(
      fmt::format("list: no architecture has an instruction {}{}; expected names and formats that `tcnum "
                  "list --arch sm_90` shows",
                  filter.pattern.empty() ? "" : fmt::format("{} ", filter.pattern),
                  filter.formats.empty() ? "" : fmt::format("of {}", fmt::join(filter.formats, ", "))));
}

// --- Who evaluates a datapath -----------------------------------------------------------------------------------

Datapath datapath_to_evaluate(const ListOptions& options) {
  if (options.datapath.empty() && (options.archs.size() != 1 || options.instruction.empty()))
    throw InputError("list: --evaluators: of what? expected --datapath FILE, or one --arch and --instr");
  if (!options.datapath.empty()) return named_datapath(options.datapath).datapath;
  const ArchId id = parse_arch(options.archs.front());
  return choose_datapath("", id, parse_instruction(options.instruction, id), "--instr").datapath;
}

std::string_view name(Processor processor) { return processor == Processor::cpu ? "CPU" : "GPU"; }

int list_evaluators(const ListOptions& options) {
  const Datapath datapath = datapath_to_evaluate(options);
  require_writable(options.json);
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
  report(options.json, table_text(rows), out);
  return kAgreed;
}

/// What --datapath reads, with where it comes from.
int list_datapath(const ListOptions& options) {
  require_writable(options.json);
  const NamedDatapath named = named_datapath(options.datapath);
  const ordered_json datapath = to_json(named.datapath);
  ordered_json out;
  for (const auto& [key, value] : datapath.items()) {
    out[key] = value;
    if (key == "schema") out["source"] = fmt::format("{}; {}: {}", options.datapath, named.account, named.origin);
  }
  write_json(options.json.empty() ? "-" : options.json, out);
  return kAgreed;
}

}  // namespace

int run_list(const ListOptions& options) {
  if (options.evaluators) return list_evaluators(options);
  if (!options.datapath.empty()) return list_datapath(options);
  Filter filter{options.instruction, options.formats, options.known, options.measured};
  if (options.works) {
    if (options.archs.size() != 1)
      throw InputError(fmt::format("--arch: {}; expected whose works, one of {}",
                                   options.archs.empty() ? "missing" : "several", arch_names()));
    const ArchId id = parse_arch(options.archs.front());
    return list_works(options, id, filter.of(id));
  }
  require_writable(options.json);
  std::optional<TableStyle> table;
  if (!options.table.empty()) table = parse_table_style(options.table);
  if (table) filter.known = false;  // it has no rows of others, but says of an architecture that nothing is known of it
  const std::vector<ListedArch> shown = listed_of(options.archs, filter);
  if (!options.json.empty()) {
    write_json(options.json, json_list(shown));
  } else if (table) {
    std::vector<TableRow> rows;
    for (const ListedArch& each : shown)
      std::ranges::move(datapath_rows(*each.arch, each.instructions), std::back_inserter(rows));
    say(property_table(rows, *table));
    if (table == TableStyle::text) say("\n" + wrapped(kDatapathTableLegend, 2));
  } else if (options.archs.empty() && filter.wants_all()) {
    say(heading("Formats") + formats_text() + "\n" + format_names_text() + "\n" + heading("Architectures") +
        architectures_text() + std::string(kMore));
  } else {
    const bool any = std::ranges::any_of(shown, [](const ListedArch& each) { return !each.instructions.empty(); });
    say(any ? instructions_text(shown) : "no instruction is so\n");
  }
  return kAgreed;
}

}  // namespace tcnum
