// tcnum.gemm_plan/1, described in docs/plans.md. Each field stands once in this file: a reader and a writer go through
// the same list.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "io/json.hpp"
#include "io/printable.hpp"
#include "src/files/json_fields.hpp"
#include "tcnum/gemm.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kSchema = "tcnum.gemm_plan/1";

/// Names of values, in the order of their enumerations.
template <std::size_t count>
using Names = std::array<std::string_view, count>;
constexpr Names<2> kOrders = {"ascending", "descending"};
constexpr Names<4> kPartOrders = {"ascending", "descending", "pairs", "fours"};
constexpr Names<2> kRests = {"last_part", "left_out"};
constexpr Names<2> kLines = {"rows", "columns"};
constexpr Names<2> kResidues = {"last", "first"};
constexpr Names<4> kSliceOrders = {"ascending", "folded", "halves", "neighbours"};
constexpr Names<4> kScaleOrders = {"product", "a_first", "b_first", "in_alpha"};
constexpr Names<4> kAlphas = {"first", "fused", "on_a", "on_b"};
constexpr Names<3> kBetas = {"rounded", "fused", "on_result"};
constexpr Names<4> kBiases = {"last", "first", "on_result", "as_c"};
constexpr Names<2> kEpiloguesOf = {"total", "parts"};
constexpr Names<3> kOverflows = {"ieee", "infinity", "max_finite"};
constexpr std::string_view kNone = "none";

template <class Value>
constexpr bool kMayBeThere = false;
template <class Value>
constexpr bool kMayBeThere<std::optional<Value>> = true;

// --- The fields, in the order in which they are written. `json` is a Writer or a Reader; what `but` names is written
// --- only where it is not its last value.

constexpr auto kTailFields = [](auto& json, auto& tail) {
  for (const char* key : {"rows", "columns", "blocks"}) json.needs({key}, "a number, 1 or more");
  json.field("rows", tail.rows);
  json.field("columns", tail.columns);
  json.field("lines", tail.lines, kLines);
  json.field("band", tail.band);
  json.field("blocks", tail.blocks);
};

constexpr auto kSplitFields = [](auto& json, auto& split) {
  json.needs({"chunk", "count"}, "how much of k a part takes, or count, which is how many parts there are");
  json.but(0u, "chunk", split.chunk);
  json.but(0u, "count", split.count);
  json.but(Rest::last_part, "rest", split.rest, kRests);
  json.but(0u, "turns", split.turns);
  json.field("order", split.order, kPartOrders);
  json.field("type", split.type);
  json.field("parts", split.parts);
  json.but(EpilogueOf::total, "epilogue", split.epilogue, kEpiloguesOf);
  json.but(std::nullopt, "tail", split.tail, kTailFields);
};

constexpr auto kConversions = [](auto& json, auto& plan) {
  json.field("a", plan.convert_a);
  json.field("b", plan.convert_b);
};

constexpr auto kEpilogueFields = [](auto& json, auto& epilogue) {
  json.field("alpha", epilogue.alpha, kAlphas);
  json.field("beta", epilogue.beta, kBetas);
  json.field("bias", epilogue.bias, kBiases);
  json.but(std::nullopt, "type", epilogue.type);
};

constexpr auto kPlanFields = [](auto& json, auto& plan) {
  json.remark("schema", kSchema);
  json.needs({"output"}, "the format of the results");
  json.field("name", plan.name);
  json.field("instruction", plan.instruction);
  json.field("arch", plan.arch);
  json.but("", "account", plan.account);
  json.but(std::nullopt, "datapath", plan.datapath);
  json.field("convert", plan, kConversions);
  json.field("k_order", plan.k_order, kOrders);
  json.field("k_tile", plan.k_tile);
  json.field("residue", plan.residue, kResidues);
  json.field("slices", plan.slices);
  json.field("slices_order", plan.slices_order, kSliceOrders);
  json.field("promote_every", plan.promote_every);
  json.field("promote_rounding", plan.promote_rounding, kRoundingNames);
  json.field("scales", plan.scales, kScaleOrders);
  json.field("split_k", plan.split_k, kSplitFields);
  json.field("epilogue", plan.epilogue, kEpilogueFields);
  json.field("output", plan.output);
  json.field("output_rounding", plan.output_rounding, kRoundingNames);
  json.but(std::nullopt, "output_overflow", plan.output_overflow, kOverflows);
  json.remark("note");
  json.remark("source");
};

/// What a field's value is in JSON. `how`: names of an enumeration's values, or an object's fields.
class Writer {
 public:
  ordered_json json = ordered_json::object();

  template <class Value, class... How>
  void field(const char* key, const Value& value, const How&... how) {
    json[key] = written(value, how...);
  }
  template <class Usual, class Value, class... How>
  void but(const Usual& usual, const char* key, const Value& value, const How&... how) {
    if (value != usual) field(key, value, how...);
  }
  void remark(const char* key, std::string_view text = {}) {
    if (!text.empty()) json[key] = text;
  }
  void needs(std::initializer_list<const char*>, std::string_view) {}

 private:
  static ordered_json written(const std::string& text) { return text; }
  static ordered_json written(std::size_t number) { return number; }
  static ordered_json written(int number) { return static_cast<unsigned>(number); }
  static ordered_json written(FormatId id) { return format_text(id); }
  static ordered_json written(const Datapath& datapath) { return to_json(datapath); }
  static ordered_json written(const std::optional<Rounding>& convert) { return convert ? name(*convert) : kNone; }
  template <class Value, std::size_t count>
  requires(!kMayBeThere<Value>) static ordered_json written(Value value, const Names<count>& names) {
    return names.at(static_cast<std::size_t>(value));
  }
  template <class Object, class Fields>
  requires(!kMayBeThere<Object>) static ordered_json written(const Object& object, const Fields& fields) {
    Writer writer;
    fields(writer, object);
    return writer.json;
  }
  template <class Value, class... How>
  static ordered_json written(const std::optional<Value>& value, const How&... how) {
    return value ? written(*value, how...) : ordered_json();
  }
};

/// Reads the fields that are there and not null, and refuses those that nobody asked for.
class Reader {
 public:
  Reader(const ordered_json& json, const std::string& where) : fields_(json, where), json_(json) {}

  template <class Value, class... How>
  void field(const char* key, Value& to, const How&... how) {
    known_.push_back(key);
    if (const auto found = json_.find(key); found != json_.end() && !found->is_null()) read(key, *found, to, how...);
  }
  template <class Usual, class Value, class... How>
  void but(const Usual&, const char* key, Value& to, const How&... how) {
    field(key, to, how...);
  }
  void remark(const char* key, std::string_view = {}) { known_.push_back(key); }
  /// One of these fields must be there.
  void needs(std::initializer_list<const char*> keys, std::string_view expected) {
    if (std::ranges::none_of(keys, [&](const char* key) { return json_.contains(key); }))
      fields_.fail(*keys.begin(), fmt::format("is missing; expected {}", expected));
  }
  void refuse_others() const {
    for (const auto& [key, value] : json_.items()) {
      if (std::ranges::find(known_, key) == known_.end())
        fields_.fail(shown(key), fmt::format("is unknown; expected one of {}", fmt::join(known_, ", ")));
    }
  }

 private:
  void read(const char* key, const ordered_json&, std::string& to) { to = fields_.text(key); }
  template <class Number>
  requires std::is_integral_v<Number>
  void read(const char* key, const ordered_json&, Number& to) {
    const std::uint64_t value = fields_.whole(key);
    constexpr std::uint64_t kMost = 1u << 30;
    if (value > kMost) fields_.fail(key, fmt::format("{}; expected at most {}", value, kMost));
    to = static_cast<Number>(value);
  }
  void read(const char* key, const ordered_json&, FormatId& to) {
    const std::string text = fields_.text(key);
    const auto found = find_format_or_own(text);
    if (!found)
      fields_.fail(key, fmt::format("format {} is unknown; expected one that `tcnum list` shows", in_quotes(text)));
    to = *found;
  }
  void read(const char* key, const ordered_json& json, Datapath& to) { to = datapath_from_json(json, where(key)); }
  void read(const char* key, const ordered_json& json, std::optional<Rounding>& to) {
    to.reset();
    if (fields_.text(key) != kNone) read(key, json, to.emplace(), kRoundingNames);
  }
  template <class Value, std::size_t count>
  requires(!kMayBeThere<Value>) void read(const char* key, const ordered_json&, Value& to, const Names<count>& names) {
    const std::string text = fields_.text(key);
    const auto found = std::ranges::find(names, text);
    if (found == names.end())
      fields_.fail(key, fmt::format("{}; expected one of {}", in_quotes(text), fmt::join(names, ", ")));
    to = static_cast<Value>(found - names.begin());
  }
  template <class Object, class Fields>
  requires(!kMayBeThere<Object>) void read(const char* key, const ordered_json& json, Object& to,
                                           const Fields& fields) {
    Reader reader(json, where(key));
    fields(reader, to);
    reader.refuse_others();
  }
  template <class Value, class... How>
  void read(const char* key, const ordered_json& json, std::optional<Value>& to, const How&... how) {
    read(key, json, to.emplace(), how...);
  }
  std::string where(const char* key) const { return fmt::format("{}.{}", fields_.where(), key); }

  JsonFields fields_;
  const ordered_json& json_;
  std::vector<std::string_view> known_;
};

}  // namespace

GemmPlan plan_from_json(const ordered_json& json, std::string_view where) {
  const JsonFields fields(json, std::string(where));
  if (fields.text("schema") != kSchema) throw InputError(fmt::format("{}: schema: expected \"{}\"", where, kSchema));
  GemmPlan plan;
  Reader reader(json, std::string(where));
  kPlanFields(reader, plan);
  reader.refuse_others();
  validate(plan, where);
  return plan;
}

ordered_json plan_to_json(const GemmPlan& plan) {
  Writer writer;
  kPlanFields(writer, plan);
  return writer.json;
}

GemmPlan read_plan(const std::string& path) {
  return plan_from_json(read_json(path, fmt::format("JSON of the schema {}", kSchema)), path);
}

}  // namespace tcnum
