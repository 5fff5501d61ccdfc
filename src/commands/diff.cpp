// tcnum diff: where two datapaths part.
#include "tcnum/diff.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "names.hpp"
#include "output.hpp"
#include "src/report/datapath_text.hpp"
#include "src/report/diff_report.hpp"
#include "src/report/layout.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/plan_diff.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

struct Side {
  std::string name, origin;
  Datapath datapath;
  DiffSide shown() const { return {name, origin, &datapath}; }
};

Side of_name(const std::string& name) {
  NamedDatapath found = named_datapath(name);
  return {name, found.origin == name ? "a file" : found.origin, std::move(found.datapath)};
}
Side of_instruction(ArchId id, const Instruction& in) {
  NamedDatapath found = choose_datapath({}, id, in, "--instr");
  return {fmt::format("{} {}", arch(id).name, marked_name(in.name(), found.lowered_to)), found.origin,
          std::move(found.datapath)};
}

/// That of two options, or the only one for both.
std::string of_two(const std::vector<std::string>& given, std::size_t which) {
  if (given.empty()) return {};
  return given.size() == 1 ? given[0] : given[which];
}

/// The instruction that is named, or the one that products of the format are made of, of which `choices` tells.
const Instruction& instruction_of(ArchId id, const std::string& name, const std::string& format, std::string& choices) {
  if (!name.empty()) return parse_instruction(name, id);
  const Instruction& chosen = parse_operands_of_one(format, id);
  choices += choice_text(id, chosen);
  return chosen;
}

std::array<Side, 2> sides_of(const DiffCommandOptions& options, std::string& choices) {
  for (const auto& [option, given] :
       {std::pair{"--arch", &options.archs}, {"--instr", &options.instructions}, {"--datapath", &options.datapaths}}) {
    if (given->size() > 2)
      throw InputError(fmt::format("{}: {} are given; expected one or two", option, given->size()));
  }
  const std::size_t files = options.datapaths.size();
  const bool by_catalogue = files < 2;
  if (by_catalogue && options.archs.empty())
    throw InputError("diff: --arch: missing; expected two of them, or two of --datapath, or one of each");
  if (by_catalogue && options.instructions.empty() == options.format.empty())
    throw InputError("diff: --format or --instr: expected one of the two, such as --format fp16");
  std::array<Side, 2> sides;
  for (std::size_t which = 0; which < 2; ++which) {
    // Files stand for the first.
    if (which < files) {
      sides[which] = of_name(options.datapaths[which]);
      continue;
    }
    const ArchId id = parse_arch(of_two(options.archs, which));
    const Instruction& in = instruction_of(id, of_two(options.instructions, which), options.format, choices);
    sides[which] = of_instruction(id, in);
  }
  return sides;
}

/// A datapath, and all instructions that have it.
struct ClassOfAll {
  Side side;
  std::string number, label;  ///< "3", "sm_80 mma.m16n8k16"
  ordered_json members = ordered_json::array();
};
std::vector<ClassOfAll> all_classes(const std::string& operands) {
  std::vector<ClassOfAll> all;
  for (const DatapathClass& each : classes_of(operands)) {
    const CatalogueEntry& first = each.front();
    ClassOfAll& to = all.emplace_back(ClassOfAll{of_instruction(first.arch, *first.instruction), "", ""});
    std::vector<std::string_view> archs;
    for (const CatalogueEntry& entry : each.entries) {
      const std::string_view name = arch(entry.arch).name;
      if (std::ranges::find(archs, name) == archs.end()) archs.push_back(name);
      to.members.push_back({{"arch", name}, {"instruction", entry.instruction->name()}});
      if (!entry.lowered_to.empty()) to.members.back()["lowered_to"] = entry.lowered_to;
    }
    if (each.entries.size() > 1) {
      to.side.name +=
          fmt::format(" and {} more, of {}", plural(each.entries.size() - 1, "instruction"), fmt::join(archs, ", "));
    }
    to.number = std::to_string(all.size());
    const std::string name = first.instruction->name();
    to.label = fmt::format("{} {}", arch(first.arch).name, name.substr(0, name.find('.', name.find('.') + 1)));
  }
  return all;
}

int run_all(const DiffCommandOptions& options) {
  require_format_name("--format", options.format);
  const std::vector<ClassOfAll> sides = all_classes(options.format);
  if (sides.size() < 2)
    throw InputError(
        fmt::format("--format: fewer than two datapaths are known of instructions for {}", options.format));
  std::vector<std::vector<std::string>> rows = {{""}};
  for (const ClassOfAll& each : sides) rows[0].push_back(each.number);
  ordered_json json = {{"schema", "tcnum.diffs/1"}, {"version", TCNUM_VERSION}, {"format", options.format}};
  json["classes"] = ordered_json::array();
  for (const ClassOfAll& each : sides) json["classes"].push_back({{"name", each.side.name}, {"of", each.members}});
  json["pairs"] = ordered_json::array();
  bool differ = false;
  const ProgressLine progress;
  const std::size_t pairs = sides.size() * (sides.size() - 1) / 2;
  std::vector<std::vector<DiffCell>> cells(sides.size());
  for (std::size_t i = 0; i < sides.size(); ++i) {
    std::vector<std::string> row = {fmt::format("{} {}", sides[i].number, sides[i].side.name)};
    for (std::size_t j = 0; j < i; ++j) {
      progress.show(fmt::format("{} of {} pairs of datapaths compared", i * (i - 1) / 2 + j, pairs));
      DiffCell& cell = cells[i].emplace_back();
      try {
        const DatapathDiff found =
            diff(sides[j].side.datapath, sides[i].side.datapath, {.seed = options.seed, .tiles = 32});
        differ = differ || found.smallest;
        cell.kind = found.equal      ? DiffCell::Kind::same
                    : found.smallest ? DiffCell::Kind::different
                                     : DiffCell::Kind::none_found;
        cell.share = static_cast<double>(found.different()) / static_cast<double>(found.tried());
        json["pairs"].push_back(diff_document(found, sides[j].side.shown(), sides[i].side.shown()));
      } catch (const InputError&) {
        cell.kind = DiffCell::Kind::other_formats;
      }
      row.push_back(cell.text());
    }
    row.resize(sides.size() + 1);
    rows.push_back(std::move(row));
  }
  progress.clear();
  if (!options.svg.empty()) {
    std::vector<std::string> names;
    for (const ClassOfAll& each : sides) names.push_back(each.label);
    write_text(options.svg, diff_svg(fmt::format("Products of {}", options.format), names, cells));
  }
  if (options.json != "-" && options.svg != "-") {
    say(fmt::format("Products of {}: how many of the dot products that were tried differ\n\n{}", options.format,
                    table_text(rows, 60)));
  }
  if (!options.json.empty()) write_json(options.json, json);
  return differ ? kDisagreed : kAgreed;
}

int run_plans(const DiffCommandOptions& options) {
  if (options.plans.size() != 2) throw InputError("--plan: expected two of it");
  constexpr std::uint64_t kMostK = 1 << 20;
  const PlanDiffOptions how{.seed = options.seed, .most_k = parse_whole("--most-k", options.most_k, 1, kMostK)};
  std::optional<FormatId> operands;
  if (!options.format.empty()) operands = parse_any_format("--format", options.format);
  std::array<GemmPlan, 2> plans = {parse_plan(options.plans[0], operands), parse_plan(options.plans[1], operands)};
  if (!options.output.empty()) {
    const FormatId output = parse_any_format("--output", options.output);
    for (GemmPlan& plan : plans) plan.output = output;
  } else if (plans[0].output != plans[1].output) {
    throw InputError(fmt::format("--output: missing, as {} gives {} and {} gives {}; expected one for both",
                                 options.plans[0], format(plans[0].output).name, options.plans[1],
                                 format(plans[1].output).name));
  }
  const ProgressLine progress("comparing the plans' products");
  const PlanDiff found = diff(plans[0], plans[1], how);
  progress.clear();
  report(options.json, plan_diff_text(found, options.plans[0], options.plans[1]),
         plan_diff_document(found, options.plans[0], options.plans[1]));
  return found.smallest_k ? kDisagreed : kAgreed;
}

}  // namespace

int run_diff(const DiffCommandOptions& options) {
  for (const std::string& written : {options.json, options.svg}) require_writable(written);
  if (!options.plans.empty()) return run_plans(options);
  if (options.all) return run_all(options);
  std::string choices;
  const std::array<Side, 2> sides = sides_of(options, choices);
  const ProgressLine progress("comparing the datapaths' results");
  const DatapathDiff found = diff(sides[0].datapath, sides[1].datapath, {.seed = options.seed});
  progress.clear();
  report(options.json, choices + diff_text(found, sides[0].shown(), sides[1].shown()),
         diff_document(found, sides[0].shown(), sides[1].shown()));
  return found.smallest ? kDisagreed : kAgreed;
}

}  // namespace tcnum
