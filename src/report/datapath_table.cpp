#include "datapath_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "src/catalogue/operand_formats.hpp"

namespace tcnum {
namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view kWraps = "wraps";

void add_once(Texts& texts, std::string text) {
  if (!text.empty() && std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
}

std::ptrdiff_t terms_of(const Node& node, Term::Kind kind) { return std::ranges::count(node.terms, kind, &Term::kind); }
std::ptrdiff_t products_of(const Node& node) { return terms_of(node, Term::Kind::product); }

const Unit& unit_of(const Datapath& datapath, const Node& node) {
  return datapath.numerics.units[static_cast<std::size_t>(node.unit)];
}
/// What the units of sums that cut have for a property, each once, in the order of evaluation.
template <class Text>
std::string of_cuts(const Datapath& datapath, const Text& text) {
  Texts values;
  for (const Node& node : datapath.tree.nodes) {
    if (const Unit& unit = unit_of(datapath, node); unit.fraction_bits != kExact) add_once(values, text(unit));
  }
  return fmt::format("{}", fmt::join(values, "; "));
}

bool is_integer(const Datapath& datapath) { return !format(datapath.numerics.result).floating; }

/// Whether every product is multiplied and added by itself.
bool is_fma_chain(const Datapath& datapath) {
  return std::ranges::all_of(datapath.tree.nodes, [&](const Node& node) {
    return products_of(node) <= 1 && unit_of(datapath, node).fraction_bits == kExact;
  });
}

std::string structure_text(const Datapath& datapath) {
  if (is_integer(datapath)) return "integer sum";
  if (is_fma_chain(datapath)) return "FMA chain";
  // Sums of products that neither go on from another one nor have c are added by others.
  const auto alone = std::ranges::count_if(datapath.tree.nodes, [](const Node& node) {
    return products_of(node) == static_cast<std::ptrdiff_t>(node.terms.size());
  });
  if (std::ranges::any_of(datapath.numerics.units, &Unit::scaled)) return "fused sum of scaled sums";
  const std::string structure = alone > 1 ? "tree of sums" : "fused sum";
  return structure + (datapath.numerics.product.round.empty() ? "" : " of rounded products");
}

/// Of sums of products too that cut nothing; an addition of two numbers need not be told of.
std::string fraction_bits_text(const Datapath& datapath) {
  Texts values;
  for (const Node& node : datapath.tree.nodes) {
    const Unit& unit = unit_of(datapath, node);
    if (unit.fraction_bits != kExact) {
      add_once(values, unit.first_fraction_bits ? fmt::format("{}|{}", unit.fraction_bits, *unit.first_fraction_bits)
                                                : std::to_string(unit.fraction_bits));
    } else if (products_of(node) > 0) {
      add_once(values, "exact");
    }
  }
  return fmt::format("{}", fmt::join(values, "; "));
}

std::string accumulator_text(const Datapath& datapath) {
  for (const Node& node : datapath.tree.nodes) {
    if (terms_of(node, Term::Kind::accumulator) == 0) continue;
    if (products_of(node) == 0 && terms_of(node, Term::Kind::node) == 1) return "after";
    return is_fma_chain(datapath) ? "first" : "aligned";
  }
  return "ignored";
}

std::string zero_exponent_text(const Unit& unit) {
  switch (unit.zero_exponent.kind) {
    case ZeroExponentKind::none:
      return "none";
    case ZeroExponentKind::natural:
      return "natural";
    case ZeroExponentKind::floor:
      return std::to_string(unit.zero_exponent.value);
    case ZeroExponentKind::zeros:
      return fmt::format("{} for zeros", unit.zero_exponent.value);
  }
  return {};
}

/// Of the operands and of the result.
std::string subnormals_text(const Datapath& datapath) {
  const Numerics& n = datapath.numerics;
  const RoundSteps& steps = unit_of(datapath, datapath.tree.nodes.back()).result;
  const bool inputs = std::ranges::any_of(
      std::array{n.a, n.b, n.c}, [](const OperandRule& rule) { return rule.subnormals == Subnormals::flushed; });
  const bool outputs =
      std::ranges::any_of(steps, [](const RoundStep& step) { return step.subnormals == Subnormals::flushed; });
  if (inputs == outputs) return inputs ? "flushed" : "kept";
  return inputs ? "inputs flushed" : "outputs flushed";
}

/// "13", or of several roundings one after the other "31→23".
template <class Text>
std::string of_last_steps(const Datapath& datapath, const Text& text) {
  Texts each;
  for (const RoundStep& step : unit_of(datapath, datapath.tree.nodes.back()).result) each.push_back(text(step));
  return fmt::format("{}", fmt::join(each, "→"));
}

std::string output_text(const Datapath& datapath) {
  return of_last_steps(datapath, [&](const RoundStep& step) {
    if (is_integer(datapath)) return std::string(step.overflow == Overflow::wrap ? kWraps : "saturates");
    return std::string(short_text(step.rounding));
  });
}

/// Which products an integer sum that wraps takes at a time does not show.
std::string block_text(const Datapath& datapath) {
  Texts sizes;
  if (is_integer(datapath) && output_text(datapath) == kWraps) return "";
  for (const Node& node : datapath.tree.nodes) {
    if (const auto products = products_of(node); products > 0) add_once(sizes, std::to_string(products));
  }
  return fmt::format("{}", fmt::join(sizes, "; "));
}

// --- What has the datapath -----------------------------------------------------------------------------------------

/// The name without shape and formats: "mma.sp", "tcgen05.mma", "v_mfma".
std::string short_name(const Instruction& in) {
  const std::string name = in.name();
  const std::string shape = fmt::format(".m{}n", in.m);
  const std::string kind = name.substr(0, name.starts_with("v_") ? name.find('_', 2) : name.find(shape));
  return kind.substr(0, kind.find("::"));  // PTX's ::ordered_metadata
}

/// Instructions of one name.
struct Lengths {
  std::string name;
  std::vector<int> k;
};

/// "wgmma k16; mma k8, k16 (12)".
std::string instructions_text(const std::vector<const CatalogueEntry*>& entries) {
  std::vector<Lengths> kinds;
  for (const CatalogueEntry* entry : entries) {
    const std::string name = short_name(*entry->instruction) + (entry->lowered_to.empty() ? "" : " (lowered)");
    auto its = std::ranges::find(kinds, name, &Lengths::name);
    if (its == kinds.end()) its = kinds.insert(kinds.end(), {name, {}});
    if (std::ranges::find(its->k, entry->instruction->k) == its->k.end()) its->k.push_back(entry->instruction->k);
  }
  Texts texts;
  for (Lengths& each : kinds) {
    std::ranges::sort(each.k);
    texts.push_back(fmt::format("{} k{}", each.name, fmt::join(each.k, ", k")));
  }
  return fmt::format("{} ({})", fmt::join(texts, "; "), entries.size());
}

/// "fp8e4m3", or with block scales "mxfp8", or, where that has no name, "fp4e2m1 (ue8m0/16)".
std::string operand_text(FormatId id, const std::optional<ScaleRule>& scales) {
  if (!scales) return std::string(format(id).name);
  for (const FormatName& each : format_names()) {
    if (each.scales == scales && std::ranges::find(each.formats, id) != each.formats.end())
      return std::string(each.name);
  }
  return fmt::format("{} ({}/{})", format(id).name, format(scales->format).name, scales->block_k);
}

/// "fp16, bf16", in the order of the table of formats.
std::string operands_text(const std::vector<const CatalogueEntry*>& entries) {
  Texts texts;
  for (const Format& f : kFormats) {
    for (const CatalogueEntry* entry : entries) {
      const Instruction& in = *entry->instruction;
      if (in.a == f.id || in.b == f.id) add_once(texts, operand_text(f.id, scales_of(in)));
    }
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// "fp32", or with c of another format "fp16 (c fp32)".
std::string result_text(const Instruction& in) {
  const std::string_view c = format(in.c).name, d = format(in.d).name;
  return c == d ? std::string(d) : fmt::format("{} (c {})", d, c);
}

std::string evidence_text(const std::vector<const CatalogueEntry*>& entries) {
  Texts texts;
  for (const CatalogueEntry* entry : entries) {
    if (entry->fitted) {
      add_once(texts, "fitted here");
      continue;
    }
    const auto is_its = [&](const CatalogueEntry* each) { return !each->fitted && each->account == entry->account; };
    const auto checked = [&](const CatalogueEntry* each) { return each->standing == Standing::checked; };
    std::vector<const CatalogueEntry*> its;
    std::ranges::copy_if(entries, std::back_inserter(its), is_its);
    const auto count = static_cast<std::size_t>(std::ranges::count_if(its, checked));
    const std::string_view how = count == 0 ? "" : count == its.size() ? ", checked" : ", some checked";
    add_once(texts, fmt::format("published{} ({})", how, entry->account));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

// --- Rows ------------------------------------------------------------------------------------------------------------

/// What all instructions of a row have in common, in the order of the columns behind the first three.
using DatapathProperties = std::array<std::string, 9>;

DatapathProperties properties_of(const Datapath& datapath) {
  const bool integer = is_integer(datapath);
  DatapathProperties all = {structure_text(datapath), block_text(datapath)};
  if (!integer) {
    all[2] = fraction_bits_text(datapath);
    all[3] = of_cuts(datapath, [](const Unit& unit) { return std::string(short_text(unit.align_rounding)); });
    all[4] = of_last_steps(datapath, [](const RoundStep& step) { return std::to_string(step.fraction_bits); });
  }
  all[5] = output_text(datapath);
  if (!integer) {
    all[6] = accumulator_text(datapath);
    all[7] = of_cuts(datapath, zero_exponent_text);
    all[8] = subnormals_text(datapath);
  }
  return all;
}

struct DatapathRow {
  DatapathProperties properties;
  std::string result;
  bool scaled;  ///< whether operands have block scales
  std::vector<const CatalogueEntry*> entries;

  bool is_lowered() const {
    return std::ranges::none_of(entries, [](const CatalogueEntry* each) { return each->lowered_to.empty(); });
  }
};

TableRow cells_of(const Arch& arch, std::string instructions, std::string formats, DatapathProperties properties,
                  std::string evidence) {
  constexpr std::array<std::string_view, std::tuple_size_v<DatapathProperties>> kHeadings = {
      "structure", "block k", "F", "cut", "output bits", "rounding", "accumulator", "zero exponent", "subnormals"};
  TableRow row;
  row.cells = {{"architecture", std::string(arch.name)},
               {"instructions", std::move(instructions)},
               {"formats", std::move(formats)}};
  for (std::size_t i = 0; i < properties.size(); ++i) row.cells.emplace_back(kHeadings[i], std::move(properties[i]));
  row.cells.emplace_back("evidence", std::move(evidence));
  return row;
}

}  // namespace

std::vector<TableRow> datapath_rows(const Arch& arch, const std::vector<KnownInstruction>& instructions) {
  std::vector<DatapathRow> rows;
  for (const KnownInstruction& each : instructions) {
    if (each.accounts.empty()) continue;
    const CatalogueEntry& entry = each.accounts.front();
    DatapathProperties properties = properties_of(entry.datapath);
    std::string result = result_text(*each.instruction);
    const bool scaled = each.instruction->scaled();
    const auto its = std::ranges::find_if(rows, [&](const DatapathRow& row) {
      return row.properties == properties && row.result == result && row.scaled == scaled;
    });
    if (its == rows.end())
      rows.push_back({std::move(properties), std::move(result), scaled, {&entry}});
    else
      its->entries.push_back(&entry);
  }
  std::stable_partition(rows.begin(), rows.end(), [](const DatapathRow& row) { return !row.is_lowered(); });
  std::vector<TableRow> cells;
  for (const DatapathRow& row : rows) {
    cells.push_back(cells_of(arch, instructions_text(row.entries),
                             fmt::format("{} → {}", operands_text(row.entries), row.result), row.properties,
                             evidence_text(row.entries)));
  }
  if (cells.empty() && instructions.empty()) cells.push_back(cells_of(arch, "", "", {}, "no such instruction"));
  if (cells.empty()) {
    cells.push_back(cells_of(arch, fmt::format("({})", instructions.size()), "", {}, "no datapath is known"));
  }
  return cells;
}

}  // namespace tcnum
