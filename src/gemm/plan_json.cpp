// tcnum.gemm_plan/1, described in docs/plans.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "io/json.hpp"
#include "io/printable.hpp"
#include "src/files/json_fields.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kSchema = "tcnum.gemm_plan/1";

// Names of values, in the order of their enumerations.
constexpr std::array<std::string_view, 2> kOrders = {"ascending", "descending"};
constexpr std::array<std::string_view, 4> kPartOrders = {"ascending", "descending", "pairs", "fours"};
constexpr std::array<std::string_view, 2> kRests = {"last_part", "left_out"};
constexpr std::array<std::string_view, 2> kLines = {"rows", "columns"};
constexpr std::array<std::string_view, 2> kResidues = {"last", "first"};
constexpr std::array<std::string_view, 4> kSliceOrders = {"ascending", "folded", "halves", "neighbours"};
constexpr std::array<std::string_view, 4> kScaleOrders = {"product", "a_first", "b_first", "in_alpha"};
constexpr std::array<std::string_view, 4> kAlphas = {"first", "fused", "on_a", "on_b"};
constexpr std::array<std::string_view, 3> kBetas = {"rounded", "fused", "on_result"};
constexpr std::array<std::string_view, 4> kBiases = {"last", "first", "on_result", "as_c"};
constexpr std::array<std::string_view, 2> kEpiloguesOf = {"total", "parts"};
constexpr std::array<std::string_view, 3> kOverflows = {"ieee", "infinity", "max_finite"};
constexpr std::string_view kNone = "none";

template <class Value, std::size_t count>
std::string_view name_in(const std::array<std::string_view, count>& names, Value value) {
  return names.at(static_cast<std::size_t>(value));
}

/// The members of an object, each optional.
class Members {
 public:
  Members(const ordered_json& json, std::string where, std::initializer_list<std::string_view> known)
      : fields_(json, where), json_(json) {
    for (const auto& [key, value] : json.items()) {
      if (std::ranges::find(known, key) == known.end())
        fields_.fail(shown(key), fmt::format("is unknown; expected one of {}", fmt::join(known, ", ")));
    }
  }

  /// Null where it is not there or is JSON's null.
  const ordered_json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  void text(const char* key, std::string& to) const {
    if (find(key) != nullptr) to = fields_.text(key);
  }
  template <class Number>
  void whole(const char* key, Number& to) const {
    if (find(key) == nullptr) return;
    const std::uint64_t value = fields_.whole(key);
    constexpr std::uint64_t kMost = 1u << 30;
    if (value > kMost) fields_.fail(key, fmt::format("{}; expected at most {}", value, kMost));
    to = static_cast<Number>(value);
  }
  template <class Value, std::size_t count>
  void one_of(const char* key, const std::array<std::string_view, count>& names, Value& to) const {
    if (find(key) == nullptr) return;
    const std::string text = fields_.text(key);
    const auto found = std::ranges::find(names, text);
    if (found == names.end())
      fields_.fail(key, fmt::format("{}; expected one of {}", in_quotes(text), fmt::join(names, ", ")));
    to = static_cast<Value>(found - names.begin());
  }
  void format_of(const char* key, FormatId& to) const {
    if (find(key) == nullptr) return;
    const std::string text = fields_.text(key);
    const auto found = find_format_or_own(text);
    if (!found)
      fields_.fail(key,
                   fmt::format("format {} is unknown; expected one that `tcnum list` shows", in_quotes(text)));
    to = *found;
  }
  /// "none", or a rounding.
  void conversion(const char* key, std::optional<Rounding>& to) const {
    if (find(key) == nullptr) return;
    to.reset();
    if (fields_.text(key) == kNone) return;
    Rounding rounding{};
    one_of(key, kRoundingNames, rounding);
    to = rounding;
  }
  std::string where(const char* key) const { return fmt::format("{}.{}", fields_.where(), key); }
  [[noreturn]] void fail(const char* key, std::string_view what) const { fields_.fail(key, what); }

 private:
  JsonFields fields_;
  const ordered_json& json_;
};

Tail tail_from(const ordered_json& json, const std::string& where) {
  const Members members(json, where, {"rows", "columns", "lines", "band", "blocks"});
  Tail tail;
  for (const char* key : {"rows", "columns", "blocks"}) {
    if (members.find(key) == nullptr) members.fail(key, "is missing; expected 1 or more");
  }
  members.whole("rows", tail.rows);
  members.whole("columns", tail.columns);
  members.one_of("lines", kLines, tail.lines);
  members.whole("band", tail.band);
  members.whole("blocks", tail.blocks);
  return tail;
}

SplitK split_from(const ordered_json& json, const std::string& where) {
  const Members members(json, where, {"chunk", "count", "rest", "turns", "order", "type", "parts", "epilogue", "tail"});
  SplitK split;
  const bool has_chunk = members.find("chunk") != nullptr, has_count = members.find("count") != nullptr;
  if (!has_chunk && !has_count)
    members.fail("chunk",
                 "is missing; expected how much of k a part takes, or count, which is how many parts there are");
  if (has_chunk && has_count) members.fail("chunk", "stands beside count; expected one of the two");
  members.whole("chunk", split.chunk);
  members.whole("count", split.count);
  if (has_count && split.count == 0) members.fail("count", "0; expected 2 or more");
  members.one_of("rest", kRests, split.rest);
  if (members.find("turns") != nullptr) {
    members.whole("turns", split.turns);
    if (split.turns == 0) members.fail("turns", "0; expected 2 or more");
  }
  members.one_of("order", kPartOrders, split.order);
  members.format_of("type", split.type);
  members.format_of("parts", split.parts);
  members.one_of("epilogue", kEpiloguesOf, split.epilogue);
  if (const ordered_json* const tail = members.find("tail")) split.tail = tail_from(*tail, members.where("tail"));
  return split;
}

ordered_json split_to_json(const SplitK& split) {
  ordered_json json;
  if (split.count == 0)
    json["chunk"] = split.chunk;
  else
    json["count"] = split.count;
  if (split.rest != Rest::last_part) json["rest"] = name_in(kRests, split.rest);
  if (split.turns != 0) json["turns"] = split.turns;
  json["order"] = name_in(kPartOrders, split.order);
  json["type"] = format_text(split.type);
  json["parts"] = format_text(split.parts);
  if (split.epilogue != EpilogueOf::total) json["epilogue"] = name_in(kEpiloguesOf, split.epilogue);
  if (const auto& tail = split.tail) {
    json["tail"] = {{"rows", tail->rows},
                    {"columns", tail->columns},
                    {"lines", name_in(kLines, tail->lines)},
                    {"band", tail->band},
                    {"blocks", tail->blocks}};
  }
  return json;
}

}  // namespace

GemmPlan plan_from_json(const ordered_json& json, std::string_view where) {
  const std::string at(where);
  if (JsonFields(json, at).text("schema") != kSchema) {
    throw InputError(fmt::format("{}: schema: expected \"{}\"", where, kSchema));
  }
  const Members members(json, at, {"schema",           "name",           "note",     "source",       "arch",
                                   "instruction",      "account",        "datapath", "convert",      "k_order",
                                   "k_tile",           "residue",        "slices",   "slices_order", "promote_every",
                                   "promote_rounding", "scales",         "split_k",  "epilogue",     "output",
                                   "output_rounding",  "output_overflow"});
  GemmPlan plan;
  members.text("name", plan.name);
  members.text("arch", plan.arch);
  members.text("instruction", plan.instruction);
  members.text("account", plan.account);
  if (const ordered_json* const datapath = members.find("datapath"))
    plan.datapath = datapath_from_json(*datapath, members.where("datapath"));
  if (const ordered_json* const convert = members.find("convert")) {
    const Members each(*convert, members.where("convert"), {"a", "b"});
    each.conversion("a", plan.convert_a);
    each.conversion("b", plan.convert_b);
  }
  members.one_of("k_order", kOrders, plan.k_order);
  if (members.find("k_tile") != nullptr) members.whole("k_tile", plan.k_tile.emplace());
  members.one_of("residue", kResidues, plan.residue);
  members.whole("slices", plan.slices);
  members.one_of("slices_order", kSliceOrders, plan.slices_order);
  if (members.find("promote_every") != nullptr) members.whole("promote_every", plan.promote_every.emplace());
  members.one_of("promote_rounding", kRoundingNames, plan.promote_rounding);
  members.one_of("scales", kScaleOrders, plan.scales);
  if (const ordered_json* const split = members.find("split_k"))
    plan.split_k = split_from(*split, members.where("split_k"));
  if (const ordered_json* const epilogue = members.find("epilogue")) {
    const Members each(*epilogue, members.where("epilogue"), {"alpha", "beta", "bias", "type"});
    each.one_of("alpha", kAlphas, plan.epilogue.alpha);
    each.one_of("beta", kBetas, plan.epilogue.beta);
    each.one_of("bias", kBiases, plan.epilogue.bias);
    if (each.find("type") != nullptr) each.format_of("type", plan.epilogue.type.emplace());
  }
  if (members.find("output") == nullptr) members.fail("output", "is missing; expected the format of the results");
  members.format_of("output", plan.output);
  members.one_of("output_rounding", kRoundingNames, plan.output_rounding);
  if (members.find("output_overflow") != nullptr)
    members.one_of("output_overflow", kOverflows, plan.output_overflow.emplace());
  validate(plan, where);
  return plan;
}

ordered_json plan_to_json(const GemmPlan& plan) {
  const auto conversion = [](const std::optional<Rounding>& convert) { return convert ? name(*convert) : kNone; };
  ordered_json json = {
      {"schema", kSchema}, {"name", plan.name}, {"instruction", plan.instruction}, {"arch", plan.arch}};
  if (!plan.account.empty()) json["account"] = plan.account;
  if (plan.datapath) json["datapath"] = to_json(*plan.datapath);
  json["convert"] = {{"a", conversion(plan.convert_a)}, {"b", conversion(plan.convert_b)}};
  json["k_order"] = name_in(kOrders, plan.k_order);
  json["k_tile"] = plan.k_tile ? ordered_json(*plan.k_tile) : ordered_json();
  json["residue"] = name_in(kResidues, plan.residue);
  json["slices"] = static_cast<unsigned>(plan.slices);
  json["slices_order"] = name_in(kSliceOrders, plan.slices_order);
  json["promote_every"] = plan.promote_every ? ordered_json(*plan.promote_every) : ordered_json();
  json["promote_rounding"] = name(plan.promote_rounding);
  json["scales"] = name_in(kScaleOrders, plan.scales);
  json["split_k"] = plan.split_k ? split_to_json(*plan.split_k) : ordered_json();
  json["epilogue"] = {{"alpha", name_in(kAlphas, plan.epilogue.alpha)},
                      {"beta", name_in(kBetas, plan.epilogue.beta)},
                      {"bias", name_in(kBiases, plan.epilogue.bias)}};
  if (plan.epilogue.type) json["epilogue"]["type"] = format_text(*plan.epilogue.type);
  json["output"] = format_text(plan.output);
  json["output_rounding"] = name(plan.output_rounding);
  if (plan.output_overflow) json["output_overflow"] = name_in(kOverflows, *plan.output_overflow);
  return json;
}

GemmPlan read_plan(const std::string& path) {
  return plan_from_json(read_json(path, fmt::format("JSON of the schema {}", kSchema)), path);
}

}  // namespace tcnum
