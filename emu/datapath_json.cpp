// The JSON form of a datapath (docs/datapath.md), and the rules that a description must keep.
#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/json.hpp"
#include "io/printable.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using Json = nlohmann::ordered_json;
using std::string_view_literals::operator""sv;

constexpr std::string_view kSchema = "tcnum.datapath/1";
constexpr int kMaxK = 4096;
/// The widest published datapath keeps 35 bits, the product of two fp64 has 105; more than this is as good as exact,
/// and the limit lets an emulator size its integers.
constexpr int kMaxFractionBits = 200;
/// Far outside any format's exponents and those of its products, and far inside an int.
constexpr int kMaxExponent = 20000;
/// Levels of nested nodes: a chain of kMaxK nodes, and room for some around it.
constexpr int kMaxNesting = kMaxK + 76;
/// In a file there are levels around the tree: instructions, its entry, datapath.
static_assert(JsonLimits{}.levels >= kMaxNesting + 4);

constexpr std::size_t kMaxNameLength = 60;

constexpr std::array kNonFiniteNames = {"ieee"sv, "nan_all_ones"sv, "nan_negative_zero"sv, "none"sv};
constexpr std::array kSubnormalsNames = {"kept"sv, "flushed"sv};
constexpr std::array kSubnormalExponentNames = {"minimum"sv, "normalised"sv};
constexpr std::array kProductOperationNames = {"multiply"sv, "xor"sv};
constexpr std::array kProductExponentNames = {"sum"sv, "normalised"sv};
constexpr std::array kFromNames = {"leading_bit"sv, "alignment"sv};
constexpr std::array kOverflowNames = {"ieee"sv, "infinity"sv, "max_finite"sv, "wrap"sv};
constexpr std::array kZeroSignNames = {"positive"sv, "ieee"sv};
constexpr std::array kUnderflowSignNames = {"kept"sv, "positive"sv};
constexpr std::array kNanOperandNames = {"a"sv, "b"sv, "c"sv};

template <std::size_t N, class Enum>
std::string_view name_of(const std::array<std::string_view, N>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

[[noreturn]] void fail(std::string_view where, std::string_view field, std::string_view message) {
  if (field.empty()) throw InputError(fmt::format("{}: {}", where, message));
  throw InputError(fmt::format("{}: {}: {}", where, field, message));
}

std::string describe(const Json& json) {
  if (json.is_string()) return in_quotes(json.get_ref<const std::string&>());
  if (json.is_structured()) return json.is_array() ? "an array" : "an object";
  return json.dump();
}

/// An integer; one that an int64 cannot hold becomes the largest that it can.
std::optional<std::int64_t> integer_of(const Json& json) {
  if (!json.is_number_integer()) return std::nullopt;
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > kLargest) return kLargest;
  return json.get<std::int64_t>();
}

void check_range(std::string_view where, std::string_view field, std::int64_t value, int low, int high) {
  if (value < low || value > high) fail(where, field, fmt::format("is {}; expected {}..{}", value, low, high));
}

bool limited(int exponent) { return exponent != kUnbounded && exponent != -kUnbounded; }

/// Which products and whether c have been terms so far. Each call returns what is wrong, if anything.
class Ledger {
 public:
  explicit Ledger(int k) : used_(static_cast<std::size_t>(k)) {}

  std::optional<std::string> product(std::int64_t index) {
    if (index < 0 || index >= std::ssize(used_)) {
      return fmt::format("product {} is outside 0..{}", index, used_.size() - 1);
    }
    if (used_[static_cast<std::size_t>(index)]) return fmt::format("product {} is a term twice", index);
    used_[static_cast<std::size_t>(index)] = true;
    return std::nullopt;
  }
  std::optional<std::string> accumulator() {
    if (std::exchange(accumulator_used_, true)) return "c is a term twice";
    return std::nullopt;
  }
  std::optional<std::string> missing() const {
    const auto at = std::find(used_.begin(), used_.end(), false);
    if (at == used_.end()) return std::nullopt;
    return fmt::format("product {} is missing; each of 0..{} must be a term once", at - used_.begin(),
                       used_.size() - 1);
  }

 private:
  std::vector<bool> used_;
  bool accumulator_used_ = false;
};

/// Some of a node's terms as one element of its JSON array: a run of ascending products, or a single term.
struct Element {
  std::size_t first, count;
};

std::vector<Element> elements(const Node& node) {
  std::vector<Element> result;
  for (std::size_t i = 0; i < node.terms.size(); ++i) {
    const Term& term = node.terms[i];
    const bool continues = i > 0 && term.kind == Term::Kind::product && node.terms[i - 1].kind == Term::Kind::product &&
                           term.index - 1 == node.terms[i - 1].index;
    if (continues) {
      ++result.back().count;
    } else {
      result.push_back({i, 1});
    }
  }
  return result;
}

// --- Checking -------------------------------------------------------------------------------------------------------

void check_fraction_bits(std::string_view where, const std::string& field, int bits) {
  if (bits != kExact) check_range(where, field, bits, 0, kMaxFractionBits);
}

void check_steps(std::string_view where, const std::string& field, const RoundSteps& steps, const Unit* unit) {
  check_range(where, field + ".count", steps.count, 0, static_cast<int>(steps.step.size()));
  for (int i = 0; i < steps.count; ++i) {
    const RoundStep& s = steps.step[static_cast<std::size_t>(i)];
    const std::string at = fmt::format("{}[{}]", field, i);
    check_range(where, at + ".fraction_bits", s.fraction_bits, 0, kMaxFractionBits);
    if (s.min_exponent != -kUnbounded) {
      check_range(where, at + ".min_exponent", s.min_exponent, -kMaxExponent, kMaxExponent);
    }
    if (s.max_exponent != kUnbounded) {
      check_range(where, at + ".max_exponent", s.max_exponent, -kMaxExponent, kMaxExponent);
    }
    if (s.max_exponent < s.min_exponent - 1) {
      fail(where, at + ".max_exponent",
           fmt::format("is {}, less than min_exponent, {}, by more than one", s.max_exponent, s.min_exponent));
    }
    if (s.overflow == Overflow::wrap && (!s.twos_complement || s.from_alignment)) {
      fail(where, at + ".overflow", "wrap needs twos_complement, and a step from the leading_bit");
    }
    if (s.twos_complement && !limited(s.max_exponent)) {
      fail(where, at + ".max_exponent", "is absent; twos_complement needs one");
    }
    if (s.from_alignment && unit == nullptr) {
      fail(where, at + ".from", "a product has no alignment; expected leading_bit");
    }
    if (s.from_alignment && unit->fraction_bits == kExact) {
      fail(where, at + ".from", "alignment needs a unit with limited fraction_bits; this one's are exact");
    }
  }
}

/// What an integer result needs beside a step that leaves only its numbers: sums, cuts and roundings of integers are
/// integers, so only infinities must be kept out.
void check_integer_result(std::string_view where, const Datapath& datapath) {
  const Numerics& n = datapath.numerics;
  const Format& f = format(n.result);
  for (const auto& [name, operand] : {std::pair{'a', n.a}, std::pair{'b', n.b}, std::pair{'c', n.c}}) {
    if (format(operand.format).floating) {
      fail(where, fmt::format("operands.{}.format", name),
           fmt::format("is {}; the result {} needs an integer format", format(operand.format).name, f.name));
    }
  }
  if (n.scales) fail(where, "scales", fmt::format("the integer result {} takes no scales", f.name));
  const std::string no_infinity = fmt::format("the integer result {} has no infinity", f.name);
  if (n.product.infinite_from) fail(where, "product.infinite_from", no_infinity);
  const auto check_overflow = [&](const RoundSteps& steps, const std::string& field) {
    for (const RoundStep& s : steps) {
      if (limited(s.max_exponent) && s.overflow != Overflow::max_finite && s.overflow != Overflow::wrap) {
        fail(where, fmt::format("{}[{}].overflow", field, &s - steps.begin()),
             no_infinity + "; expected max_finite or wrap");
      }
    }
  };
  check_overflow(n.product.round, "product.round");
  for (std::size_t i = 0; i < datapath.unit_names.size(); ++i) {
    check_overflow(n.units[i].result, fmt::format("units.{}.result", datapath.unit_names[i]));
  }
}

void check_floating_result(std::string_view where, const Datapath& datapath) {
  const Format& f = format(datapath.numerics.result);
  if (!f.has_infinity()) {
    fail(where, "result", fmt::format("{} has no infinity; a result needs one, or a signed integer format", f.name));
  }
  const auto check_range_of = [&](const RoundSteps& steps, const std::string& field) {
    for (const RoundStep& s : steps) {
      if (s.twos_complement) {
        fail(where, fmt::format("{}[{}].twos_complement", field, &s - steps.begin()),
             fmt::format("is true; the result {} is no integer", f.name));
      }
    }
  };
  check_range_of(datapath.numerics.product.round, "product.round");
  for (std::size_t i = 0; i < datapath.unit_names.size(); ++i) {
    check_range_of(datapath.numerics.units[i].result, fmt::format("units.{}.result", datapath.unit_names[i]));
  }
}

/// The root's last step must leave only numbers of the result format.
void check_result(std::string_view where, const std::string& field, const Unit& root, const Datapath& datapath) {
  const Format& f = format(datapath.numerics.result);
  if (!f.floating && f.has_sign)
    check_integer_result(where, datapath);
  else
    check_floating_result(where, datapath);
  if (root.result.empty()) {
    fail(where, field, fmt::format("is empty; the unit at the root must round to the result format, {}", f.name));
  }
  const int last = root.result.count - 1;
  const RoundStep& s = root.result.step[static_cast<std::size_t>(last)];
  const std::string at = fmt::format("{}[{}]", field, last);
  if (s.from_alignment) {
    fail(where, at + ".from", "the last step at the root must round from the leading_bit to fit the result format");
  }
  if (s.fraction_bits > f.fraction_bits) {
    fail(where, at + ".fraction_bits",
         fmt::format("is {}; the result format {} holds at most {}", s.fraction_bits, f.name, f.fraction_bits));
  }
  if (s.max_exponent > f.max_exponent()) {
    fail(where, at + ".max_exponent",
         fmt::format("{}; the result format {} holds at most {}",
                     limited(s.max_exponent) ? fmt::format("is {}", s.max_exponent) : "is absent", f.name,
                     f.max_exponent()));
  }
  const int smallest = f.min_exponent() - f.fraction_bits;
  if (!limited(s.min_exponent) || s.min_exponent - s.fraction_bits < smallest) {
    fail(where, at + ".min_exponent",
         fmt::format("{}; with fraction_bits {} the result format {} needs at least {}",
                     limited(s.min_exponent) ? fmt::format("is {}", s.min_exponent) : "is absent", s.fraction_bits,
                     f.name, smallest + s.fraction_bits));
  }
}

void check_unit_name(std::string_view where, std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.empty() || name == "c" || name.size() > kMaxNameLength || !std::all_of(name.begin(), name.end(), fits)) {
    fail(where, "units",
         fmt::format("{} is no name for a unit; expected at most {} letters, digits, _ and -, and not c",
                     in_quotes(name), kMaxNameLength));
  }
}

void check_units(std::string_view where, const Datapath& datapath) {
  const auto& names = datapath.unit_names;
  if (names.empty() || names.size() > kMaxUnits) {
    fail(where, "units", fmt::format("has {} units; expected 1..{}", names.size(), kMaxUnits));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    check_unit_name(where, names[i]);
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      fail(where, "units", fmt::format("two units have the name {}", names[i]));
    }
    const Unit& unit = datapath.numerics.units[i];
    const std::string field = "units." + names[i];
    check_fraction_bits(where, field + ".fraction_bits", unit.fraction_bits);
    if (unit.first_fraction_bits) {
      check_fraction_bits(where, field + ".first_fraction_bits", *unit.first_fraction_bits);
    }
    if (unit.drop_below) check_range(where, field + ".drop_below", *unit.drop_below, 0, kMaxFractionBits);
    check_range(where, field + ".zero_exponent", unit.zero_exponent.value, -kMaxExponent, kMaxExponent);
    check_steps(where, field + ".result", unit.result, &unit);
    if (unit.scaled && !datapath.numerics.scales) fail(where, field + ".scaled", "is true, but there are no scales");
    if (unit.scale_exponents_alone && !(unit.scaled && unit.result.empty())) {
      fail(where, field + ".scale_exponents_alone", "is true, but the unit is not scaled, or rounds its sum");
    }
  }
}

void check_scaled_node(std::string_view where, const Datapath& datapath, const Node& node) {
  const int block_k = datapath.numerics.scales->block_k;
  const std::string& unit = datapath.unit_names[static_cast<std::size_t>(node.unit)];
  for (const Term& term : node.terms) {
    if (term.kind != Term::Kind::product) {
      fail(where, "tree", fmt::format("unit {} is scaled, so its terms must all be products", unit));
    }
    if (term.index / block_k != node.terms[0].index / block_k) {
      fail(where, "tree",
           fmt::format("unit {} is scaled, but products {} and {} lie in different scale blocks of {}", unit,
                       node.terms[0].index, term.index, block_k));
    }
  }
}

void check_tree(std::string_view where, const Datapath& datapath) {
  const Tree& tree = datapath.tree;
  if (tree.nodes.empty()) fail(where, "tree", "has no nodes");
  Ledger ledger(tree.k);
  std::vector<bool> node_used(tree.nodes.size());
  std::vector<bool> unit_used(datapath.unit_names.size());
  const auto has_scaled_unit = std::any_of(
      datapath.numerics.units.begin(), datapath.numerics.units.begin() + static_cast<std::ptrdiff_t>(unit_used.size()),
      [](const Unit& unit) { return unit.scaled; });
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = tree.nodes[i];
    if (node.unit < 0 || static_cast<std::size_t>(node.unit) >= unit_used.size()) {
      fail(where, "tree", fmt::format("unit {} of node {} is outside 0..{}", node.unit, i, unit_used.size() - 1));
    }
    unit_used[static_cast<std::size_t>(node.unit)] = true;
    if (node.terms.empty()) fail(where, "tree", "a node needs at least one term");
    const bool scaled = datapath.numerics.units[static_cast<std::size_t>(node.unit)].scaled;
    for (const Term& term : node.terms) {
      std::optional<std::string> wrong;
      switch (term.kind) {
        case Term::Kind::accumulator:
          wrong = ledger.accumulator();
          break;
        case Term::Kind::product:
          wrong = ledger.product(term.index);
          if (!wrong && has_scaled_unit && !scaled) {
            wrong =
                fmt::format("product {} would lose its scales; some units are scaled, but not this one", term.index);
          }
          break;
        case Term::Kind::node:
          if (term.index < 0 || static_cast<std::size_t>(term.index) >= i) {
            wrong = fmt::format("node {} is a term of node {}, but not an earlier node", term.index, i);
          } else if (node_used[static_cast<std::size_t>(term.index)]) {
            wrong = fmt::format("node {} is a term twice", term.index);
          } else {
            node_used[static_cast<std::size_t>(term.index)] = true;
          }
          break;
      }
      if (wrong) fail(where, "tree", *wrong);
    }
    if (scaled) check_scaled_node(where, datapath, node);
  }
  for (std::size_t i = 0; i + 1 < node_used.size(); ++i) {
    if (!node_used[i]) fail(where, "tree", fmt::format("node {} is a term of no other node", i));
  }
  if (const auto missing = ledger.missing()) fail(where, "tree", *missing);
  for (std::size_t i = 0; i < unit_used.size(); ++i) {
    if (!unit_used[i]) fail(where, "units." + datapath.unit_names[i], "no node of the tree uses this unit");
  }
}

void check_scales(std::string_view where, const Datapath& datapath) {
  const auto& scales = datapath.numerics.scales;
  if (!scales) return;
  const Format& f = format(scales->format);
  if (!f.floating || f.has_sign) {
    fail(where, "scales.format",
         fmt::format("is {}; expected a format for scales: ue8m0, ue4m3, or one of your own without a sign", f.name));
  }
  check_range(where, "scales.block_k", scales->block_k, 1, datapath.tree.k);
  if (datapath.tree.k % scales->block_k != 0) {
    fail(where, "scales.block_k", fmt::format("is {}; it must divide k, {}", scales->block_k, datapath.tree.k));
  }
}

void check_nan(std::string_view where, const NanRule& nan, const Format& result) {
  if ((nan.code & ~result.code_mask()) != 0) {
    fail(where, "nan.code",
         fmt::format("{:#x} has more than the {} bits of {}", nan.code, result.storage_bits, result.name));
  }
  if (result.non_finite != NonFinite::none && decode(result, nan.code).number_class != NumberClass::nan) {
    fail(where, "nan.code",
         fmt::format("{:#x} is not a NaN of {}; {:#x} is one", nan.code, result.name, nan_code(result)));
  }
  auto order = nan.order;
  std::sort(order.begin(), order.end());
  if (order != std::array{NanOperand::a, NanOperand::b, NanOperand::c}) {
    fail(where, "nan.propagate", "must name each of a, b and c once");
  }
}

/// The formats in use that are nobody's but the datapath's own.
std::vector<FormatId> own_formats_of(const Numerics& n) {
  std::vector<FormatId> all = {n.a.format, n.b.format, n.c.format, n.result};
  if (n.scales) all.push_back(n.scales->format);
  std::vector<FormatId> own;
  for (const FormatId id : all) {
    if (is_own(id) && std::find(own.begin(), own.end(), id) == own.end()) own.push_back(id);
  }
  return own;
}

void check_own_formats(std::string_view where, const Numerics& n) {
  const std::vector<FormatId> own = own_formats_of(n);
  for (std::size_t i = 0; i < own.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (format(own[i]).name == format(own[j]).name) {
        fail(where, "formats", fmt::format("two formats have the name {}", format(own[i]).name));
      }
    }
  }
}

// --- Writing --------------------------------------------------------------------------------------------------------

/// Whether a step can leave exactly the format's numbers: of its largest exponent all are.
bool is_of_steps(const Format& f) { return f.has_sign && f.non_finite != NonFinite::nan_all_ones; }

/// A format of the table whose numbers are exactly those that the step leaves.
const Format* format_of(const RoundStep& s) {
  for (const Format& f : kFormats) {
    if (is_of_steps(f) && s == round_to(f, s.rounding, s.overflow, s.subnormals)) return &f;
  }
  return nullptr;
}

Json write_own_format(const Format& f) {
  Json json = {{"exponent_bits", f.exponent_bits},
               {"fraction_bits", f.fraction_bits},
               {"bias", f.bias},
               {"non_finite", name_of(kNonFiniteNames, f.non_finite)}};
  if (!f.has_sign) json["sign"] = false;
  return json;
}

Json write_steps(const RoundSteps& steps) {
  Json result = Json::array();
  for (const RoundStep& s : steps) {
    Json step;
    if (const Format* f = format_of(s)) {
      step["format"] = f->name;
    } else {
      step["fraction_bits"] = s.fraction_bits;
      step["from"] = name_of(kFromNames, s.from_alignment);
      if (limited(s.min_exponent)) step["min_exponent"] = s.min_exponent;
      if (limited(s.max_exponent)) step["max_exponent"] = s.max_exponent;
      if (s.twos_complement) step["twos_complement"] = true;
    }
    step["rounding"] = name(s.rounding);
    step["subnormals"] = name_of(kSubnormalsNames, s.subnormals);
    step["overflow"] = name_of(kOverflowNames, s.overflow);
    result.push_back(std::move(step));
  }
  return result;
}

Json write_operand(const OperandRule& operand) {
  return {{"format", format(operand.format).name},
          {"subnormals", name_of(kSubnormalsNames, operand.subnormals)},
          {"subnormal_exponent", name_of(kSubnormalExponentNames, operand.subnormal_exponent)}};
}

Json write_fraction_bits(int bits) { return bits == kExact ? Json("exact") : Json(bits); }

Json write_zero_exponent(const ZeroExponent& zero) {
  switch (zero.kind) {
    case ZeroExponentKind::none:
      return "none";
    case ZeroExponentKind::natural:
      return "natural";
    case ZeroExponentKind::floor:
      return {{"floor", zero.value}};
    case ZeroExponentKind::zeros:
      return {{"zeros", zero.value}};
  }
  return nullptr;
}

Json write_unit(const Unit& unit) {
  Json result;
  result["fraction_bits"] = write_fraction_bits(unit.fraction_bits);
  if (unit.first_fraction_bits) result["first_fraction_bits"] = write_fraction_bits(*unit.first_fraction_bits);
  if (unit.drop_below) result["drop_below"] = *unit.drop_below;
  result["align_rounding"] = name(unit.align_rounding);
  result["zero_exponent"] = write_zero_exponent(unit.zero_exponent);
  result["result"] = write_steps(unit.result);
  result["zero_sign"] = name_of(kZeroSignNames, unit.zero_sign);
  result["underflow_sign"] = name_of(kUnderflowSignNames, unit.underflow_sign);
  if (unit.scaled) result["scaled"] = true;
  if (unit.scale_exponents_alone) result["scale_exponents_alone"] = true;
  return result;
}

Json write_tree(const Datapath& datapath) {
  std::vector<Json> written;
  for (const Node& node : datapath.tree.nodes) {
    Json array = Json::array({datapath.unit_names[static_cast<std::size_t>(node.unit)]});
    for (const Element& element : elements(node)) {
      const Term& term = node.terms[element.first];
      switch (term.kind) {
        case Term::Kind::accumulator:
          array.push_back("c");
          break;
        case Term::Kind::node:
          array.push_back(std::move(written[static_cast<std::size_t>(term.index)]));
          break;
        case Term::Kind::product:
          if (element.count == 1) {
            array.push_back(term.index);
          } else {
            array.push_back(fmt::format("{}..{}", term.index, node.terms[element.first + element.count - 1].index));
          }
          break;
      }
    }
    written.push_back(std::move(array));
  }
  return std::move(written.back());
}

Json write_nan(const NanRule& nan, const Format& result) {
  Json json;
  json["code"] = fmt::format("0x{:0{}x}", nan.code, (result.storage_bits + 3) / 4);
  if (nan.propagate) {
    for (const NanOperand operand : nan.order) json["propagate"].push_back(name_of(kNanOperandNames, operand));
  }
  return json;
}

// --- Reading --------------------------------------------------------------------------------------------------------

/// The formats that the description itself has, by its names for them.
using OwnNames = std::map<std::string, FormatId, std::less<>>;

/// A JSON value and its name in errors.
class Field {
 public:
  Field(const Json& json, std::string_view where, std::string path, const OwnNames* own = nullptr)
      : json_(&json), where_(where), path_(std::move(path)), own_(own) {}

  const Json& json() const { return *json_; }
  [[noreturn]] void fail(std::string_view message) const { tcnum::fail(where_, path_, message); }

  void expect_object() const {
    if (!json_->is_object()) fail(fmt::format("is {}; expected an object", describe(*json_)));
  }
  void expect_object(std::span<const std::string_view> keys) const {
    expect_object();
    for (const auto& item : json_->items()) {
      if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) {
        fail(fmt::format("unknown key {}; expected one of {}", in_quotes(item.key()), fmt::join(keys, ", ")));
      }
    }
  }
  void expect_array() const {
    if (!json_->is_array()) fail(fmt::format("is {}; expected an array", describe(*json_)));
  }

  std::optional<Field> find(std::string_view key) const {
    const auto at = json_->find(key);
    if (at == json_->end()) return std::nullopt;
    return Field(*at, where_, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key), own_);
  }
  Field member(std::string_view key) const {
    if (auto field = find(key)) return *field;
    tcnum::fail(where_, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key), "is missing");
  }
  Field element(std::size_t i) const { return {(*json_)[i], where_, fmt::format("{}[{}]", path_, i), own_}; }

  const std::string& text() const {
    if (!json_->is_string()) fail(fmt::format("is {}; expected a string", describe(*json_)));
    return json_->get_ref<const std::string&>();
  }
  bool boolean() const {
    if (!json_->is_boolean()) fail(fmt::format("is {}; expected true or false", describe(*json_)));
    return json_->get<bool>();
  }
  int integer(int low, int high) const {
    const auto value = integer_of(*json_);
    if (!value) fail(fmt::format("is {}; expected an integer", describe(*json_)));
    if (*value < low || *value > high) fail(fmt::format("is {}; expected {}..{}", describe(*json_), low, high));
    return static_cast<int>(*value);
  }
  /// One of `names`, the enumerators of Enum in order.
  template <class Enum, std::size_t N>
  Enum one_of(const std::array<std::string_view, N>& names, std::string_view what = "value") const {
    const auto at = std::find(names.begin(), names.end(), text());
    if (at == names.end()) {
      fail(fmt::format("unknown {} {}; expected one of {}", what, in_quotes(text()), fmt::join(names, ", ")));
    }
    return static_cast<Enum>(at - names.begin());
  }
  FormatId format_id() const {
    if (const auto id = find_format(text())) return *id;
    std::vector<std::string_view> names;
    for (const Format& f : kFormats) names.push_back(f.name);
    if (own_ != nullptr) {
      if (const auto found = own_->find(text()); found != own_->end()) return found->second;
      for (const auto& [name, id] : *own_) names.push_back(name);
    }
    fail(fmt::format("unknown format {}; expected one of {}", in_quotes(text()), fmt::join(names, ", ")));
  }
  int fraction_bits() const {
    if (json_->is_string()) {
      if (text() != "exact")
        fail(fmt::format("is {}; expected 0..{} or \"exact\"", describe(*json_), kMaxFractionBits));
      return kExact;
    }
    return integer(0, kMaxFractionBits);
  }
  int exponent() const { return integer(-kMaxExponent, kMaxExponent); }

 private:
  const Json* json_;
  std::string_view where_;
  std::string path_;
  const OwnNames* own_;
};

/// Replaces `target` by what `read` makes of the member, if there is one.
template <class T, class Read>
void read_optional(const Field& object, std::string_view key, T& target, Read read) {
  if (const auto field = object.find(key)) target = read(*field);
}

Subnormals read_subnormals(const Field& field) { return field.one_of<Subnormals>(kSubnormalsNames); }
Rounding read_rounding(const Field& field) { return field.one_of<Rounding>(kRoundingNames, "rounding"); }

RoundStep read_step(const Field& field) {
  constexpr std::array kKeys = {"format"sv,       "fraction_bits"sv, "from"sv,
                                "min_exponent"sv, "max_exponent"sv,  "twos_complement"sv,
                                "rounding"sv,     "subnormals"sv,    "overflow"sv};
  field.expect_object(kKeys);
  RoundStep step;
  if (const auto format_field = field.find("format")) {
    const Format& f = format(format_field->format_id());
    if (!f.has_sign) format_field->fail(fmt::format("{} is no format to round a sum to", f.name));
    step = round_to(f, step.rounding);
    if (!is_of_steps(f)) {
      format_field->fail(
          fmt::format("the largest number of a step cannot be that of {}; give fraction_bits, "
                      "min_exponent and max_exponent",
                      f.name));
    }
    for (const std::string_view key : {kKeys[1], kKeys[2], kKeys[3], kKeys[4], kKeys[5]}) {
      if (const auto other = field.find(key)) other->fail("the step's format already says this; leave out one of them");
    }
  } else {
    step.fraction_bits = field.member("fraction_bits").integer(0, kMaxFractionBits);
    read_optional(field, "from", step.from_alignment, [](const Field& x) { return x.one_of<int>(kFromNames) == 1; });
    read_optional(field, "min_exponent", step.min_exponent, [](const Field& x) { return x.exponent(); });
    read_optional(field, "max_exponent", step.max_exponent, [](const Field& x) { return x.exponent(); });
    read_optional(field, "twos_complement", step.twos_complement, [](const Field& x) { return x.boolean(); });
  }
  read_optional(field, "rounding", step.rounding, read_rounding);
  read_optional(field, "subnormals", step.subnormals, read_subnormals);
  read_optional(field, "overflow", step.overflow, [](const Field& x) { return x.one_of<Overflow>(kOverflowNames); });
  return step;
}

RoundSteps read_steps(const Field& field) {
  field.expect_array();
  RoundSteps steps;
  if (field.json().size() > steps.step.size()) {
    field.fail(fmt::format("has {} steps; expected at most {}", field.json().size(), steps.step.size()));
  }
  for (std::size_t i = 0; i < field.json().size(); ++i) steps.step[i] = read_step(field.element(i));
  steps.count = static_cast<int>(field.json().size());
  return steps;
}

FormatId read_own_format(const Field& field, const std::string& name, std::string_view where) {
  constexpr std::array kKeys = {"exponent_bits"sv, "fraction_bits"sv, "bias"sv, "non_finite"sv, "sign"sv};
  constexpr int kMost = 1 << 20;  // own_format() says what is expected
  field.expect_object(kKeys);
  OwnFormat own{name, field.member("exponent_bits").integer(-kMost, kMost),
                field.member("fraction_bits").integer(-kMost, kMost)};
  own.bias = usual_bias(own.exponent_bits);
  read_optional(field, "bias", own.bias, [](const Field& x) { return x.integer(-kMost, kMost); });
  read_optional(field, "non_finite", own.non_finite,
                [](const Field& x) { return x.one_of<NonFinite>(kNonFiniteNames); });
  read_optional(field, "sign", own.has_sign, [](const Field& x) { return x.boolean(); });
  try {
    return own_format(own);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", where, error.what()));
  }
}

OwnNames read_own_formats(const Field& root, std::string_view where) {
  OwnNames own;
  if (const auto formats = root.find("formats")) {
    formats->expect_object();
    for (const auto& item : formats->json().items()) {
      own.emplace(item.key(), read_own_format(formats->member(item.key()), item.key(), where));
    }
  }
  return own;
}

OperandRule read_operand(const Field& field) {
  constexpr std::array kKeys = {"format"sv, "subnormals"sv, "subnormal_exponent"sv};
  field.expect_object(kKeys);
  OperandRule operand;
  operand.format = field.member("format").format_id();
  read_optional(field, "subnormals", operand.subnormals, read_subnormals);
  read_optional(field, "subnormal_exponent", operand.subnormal_exponent,
                [](const Field& x) { return x.one_of<SubnormalExponent>(kSubnormalExponentNames); });
  return operand;
}

ProductRule read_product(const Field& field) {
  constexpr std::array kKeys = {"operation"sv, "exponent"sv, "round"sv, "infinite_from"sv};
  field.expect_object(kKeys);
  ProductRule product;
  read_optional(field, "operation", product.operation,
                [](const Field& x) { return x.one_of<ProductOperation>(kProductOperationNames); });
  read_optional(field, "exponent", product.exponent,
                [](const Field& x) { return x.one_of<ProductExponent>(kProductExponentNames); });
  read_optional(field, "round", product.round, read_steps);
  read_optional(field, "infinite_from", product.infinite_from, [](const Field& x) { return x.exponent(); });
  return product;
}

ScaleRule read_scales(const Field& field, int k) {
  constexpr std::array kKeys = {"format"sv, "block_k"sv};
  field.expect_object(kKeys);
  return {field.member("format").format_id(), field.member("block_k").integer(1, k)};
}

ZeroExponent read_zero_exponent(const Field& field) {
  if (field.json().is_string()) {
    constexpr std::array kNames = {"none"sv, "natural"sv};
    return {field.one_of<ZeroExponentKind>(kNames), 0};
  }
  constexpr std::array kKeys = {"floor"sv, "zeros"sv};
  field.expect_object(kKeys);
  if (field.json().size() != 1) {
    field.fail(R"(expected "none", "natural", {"floor": exponent} or {"zeros": exponent})");
  }
  if (const auto floor = field.find("floor")) return {ZeroExponentKind::floor, floor->exponent()};
  return {ZeroExponentKind::zeros, field.member("zeros").exponent()};
}

Unit read_unit(const Field& field) {
  constexpr std::array kKeys = {
      "fraction_bits"sv, "first_fraction_bits"sv, "drop_below"sv,     "align_rounding"sv, "zero_exponent"sv,
      "result"sv,        "zero_sign"sv,           "underflow_sign"sv, "scaled"sv,         "scale_exponents_alone"sv};
  field.expect_object(kKeys);
  Unit unit;
  read_optional(field, "fraction_bits", unit.fraction_bits, [](const Field& x) { return x.fraction_bits(); });
  read_optional(field, "first_fraction_bits", unit.first_fraction_bits,
                [](const Field& x) { return x.fraction_bits(); });
  read_optional(field, "drop_below", unit.drop_below, [](const Field& x) { return x.integer(0, kMaxFractionBits); });
  read_optional(field, "align_rounding", unit.align_rounding, read_rounding);
  read_optional(field, "zero_exponent", unit.zero_exponent, read_zero_exponent);
  read_optional(field, "result", unit.result, read_steps);
  read_optional(field, "zero_sign", unit.zero_sign, [](const Field& x) { return x.one_of<ZeroSign>(kZeroSignNames); });
  read_optional(field, "underflow_sign", unit.underflow_sign,
                [](const Field& x) { return x.one_of<UnderflowSign>(kUnderflowSignNames); });
  read_optional(field, "scaled", unit.scaled, [](const Field& x) { return x.boolean(); });
  read_optional(field, "scale_exponents_alone", unit.scale_exponents_alone, [](const Field& x) { return x.boolean(); });
  return unit;
}

NanRule read_nan(const Field& field) {
  constexpr std::array kKeys = {"code"sv, "propagate"sv};
  field.expect_object(kKeys);
  NanRule nan;
  const Field code = field.member("code");
  const std::string& text = code.text();
  const auto parsed = parse_code(text);
  if (!parsed) code.fail(fmt::format("is {}; expected a hexadecimal string such as \"0x7fffffff\"", in_quotes(text)));
  nan.code = *parsed;
  if (const auto order = field.find("propagate")) {
    order->expect_array();
    if (order->json().size() != nan.order.size()) order->fail("must name each of a, b and c once");
    for (std::size_t i = 0; i < nan.order.size(); ++i) {
      nan.order[i] = order->element(i).one_of<NanOperand>(kNanOperandNames, "operand");
    }
    nan.propagate = true;
  }
  return nan;
}

class TreeReader {
 public:
  TreeReader(std::string_view where, const std::vector<std::string>& units, int k)
      : where_(where), units_(units), ledger_(k) {
    tree_.k = k;
  }

  /// Fills tree(). Nodes get their numbers in the order in which they are complete: children before
  /// parents.
  void read(const Json& json) {
    open(json);
    while (!open_.empty()) {
      Open& top = open_.back();
      if (top.next == top.json->size()) {
        close();
        continue;
      }
      const Json& element = (*top.json)[top.next];
      trail_.push_back(static_cast<int>(top.next++));
      if (element.is_array()) {
        open(element);  // whose element of the trail goes when it is closed
      } else {
        read_term(element, top.node);
        trail_.pop_back();
      }
    }
  }
  Tree& tree() { return tree_; }

 private:
  [[noreturn]] void fail(std::string_view message) const {
    std::string path = "tree";
    for (const int element : trail_) path += fmt::format("[{}]", element);
    tcnum::fail(where_, path, message);
  }
  void expect(const std::optional<std::string>& wrong) const {
    if (wrong) fail(*wrong);
  }

  int read_unit_name(const Json& json) {
    trail_.push_back(0);
    if (!json.is_string()) fail(fmt::format("is {}; expected the name of a unit", describe(json)));
    const auto& name = json.get_ref<const std::string&>();
    const auto at = std::find(units_.begin(), units_.end(), name);
    if (at == units_.end()) {
      fail(fmt::format("unknown unit {}; expected one of {}", in_quotes(name), fmt::join(units_, ", ")));
    }
    trail_.pop_back();
    return static_cast<int>(at - units_.begin());
  }

  void open(const Json& json) {
    if (trail_.size() >= static_cast<std::size_t>(kMaxNesting)) {
      throw InputError(fmt::format("{}: tree: is nested deeper than {} levels", where_, kMaxNesting));
    }
    if (!json.is_array()) fail(fmt::format("is {}; expected an array [unit, terms...]", describe(json)));
    if (json.empty()) fail("is empty; expected an array [unit, terms...]");
    const int unit = read_unit_name(json[0]);
    if (json.size() == 1) fail("a node needs at least one term");
    open_.push_back({&json, {unit, {}}, 1});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    const auto number = static_cast<int>(tree_.nodes.size());
    tree_.nodes.push_back(std::move(done.node));
    if (open_.empty()) return;
    open_.back().node.terms.push_back({Term::Kind::node, number});
    trail_.pop_back();
  }

  void read_term(const Json& json, Node& node) {
    if (const auto index = integer_of(json)) {
      read_product(*index, node);
    } else if (json == "c") {
      expect(ledger_.accumulator());
      node.terms.push_back({Term::Kind::accumulator, 0});
    } else if (json.is_string()) {
      read_range(json.get_ref<const std::string&>(), node);
    } else {
      fail(fmt::format("is {}; expected {}", describe(json), kTerm));
    }
  }

  void read_product(std::int64_t index, Node& node) {
    expect(ledger_.product(index));
    node.terms.push_back({Term::Kind::product, static_cast<int>(index)});
  }

  void read_range(const std::string& text, Node& node) {
    const char* const end = text.data() + text.size();
    int first = 0, last = 0;
    const auto head = std::from_chars(text.data(), end, first);
    const bool dots = head.ec == std::errc{} && std::string_view(head.ptr, end).starts_with("..");
    const auto tail = dots ? std::from_chars(head.ptr + 2, end, last) : head;
    if (!dots || tail.ec != std::errc{} || tail.ptr != end) {
      fail(fmt::format("is {}; expected {}", in_quotes(text), kTerm));
    }
    if (first > last) fail(fmt::format("is {}; a range must ascend", in_quotes(text)));
    for (std::int64_t index = first; index <= last; ++index) read_product(index, node);  // stops at the first outside
  }

  static constexpr std::string_view kTerm =
      R"("c", the number of a product, a range of them such as "0..15", or a nested array)";

  std::string_view where_;
  const std::vector<std::string>& units_;
  Ledger ledger_;
  Tree tree_;
  /// Nodes that are not complete, each inside the one before.
  struct Open {
    const Json* json;
    Node node;
    std::size_t next;  ///< of its elements
  };
  std::vector<Open> open_;
  std::vector<int> trail_;
};

}  // namespace

void validate(const Datapath& datapath, std::string_view where) {
  const Numerics& n = datapath.numerics;
  check_own_formats(where, n);
  check_range(where, "k", datapath.tree.k, 1, kMaxK);
  check_steps(where, "product.round", n.product.round, nullptr);
  if (n.product.infinite_from) {
    check_range(where, "product.infinite_from", *n.product.infinite_from, -kMaxExponent, kMaxExponent);
  }
  if (n.product.operation == ProductOperation::exclusive_or &&
      (n.a.format != FormatId::b1 || n.b.format != FormatId::b1)) {
    fail(where, "product.operation", "xor is an operation on single bits: a and b must be b1");
  }
  check_scales(where, datapath);
  check_units(where, datapath);
  check_tree(where, datapath);
  const auto root = static_cast<std::size_t>(datapath.tree.nodes.back().unit);
  check_result(where, fmt::format("units.{}.result", datapath.unit_names[root]), n.units[root], datapath);
  check_nan(where, n.nan, format(n.result));
}

Json to_json(const Datapath& datapath) {
  validate(datapath);
  const Numerics& n = datapath.numerics;
  Json json;
  json["schema"] = kSchema;
  json["k"] = datapath.tree.k;
  for (const FormatId id : own_formats_of(n))
    json["formats"][std::string(format(id).name)] = write_own_format(format(id));
  json["operands"] = {{"a", write_operand(n.a)}, {"b", write_operand(n.b)}, {"c", write_operand(n.c)}};
  json["result"] = format(n.result).name;
  Json& product = json["product"];
  if (n.product.operation != ProductOperation::multiply) {
    product["operation"] = name_of(kProductOperationNames, n.product.operation);
  }
  product["exponent"] = name_of(kProductExponentNames, n.product.exponent);
  if (!n.product.round.empty()) product["round"] = write_steps(n.product.round);
  if (n.product.infinite_from) product["infinite_from"] = *n.product.infinite_from;
  if (n.scales) json["scales"] = {{"format", format(n.scales->format).name}, {"block_k", n.scales->block_k}};
  Json& units = json["units"];
  for (std::size_t i = 0; i < datapath.unit_names.size(); ++i) {
    units[datapath.unit_names[i]] = write_unit(n.units[i]);
  }
  json["tree"] = write_tree(datapath);
  json["nan"] = write_nan(n.nan, format(n.result));
  return json;
}

Datapath datapath_from_json(const Json& json, std::string_view where) {
  constexpr std::array kKeys = {"schema"sv, "note"sv,    "source"sv, "k"sv,     "formats"sv, "operands"sv,
                                "result"sv, "product"sv, "scales"sv, "units"sv, "tree"sv,    "nan"sv};
  constexpr std::array kOperandKeys = {"a"sv, "b"sv, "c"sv};
  const Field described(json, where, "");
  described.expect_object(kKeys);
  const OwnNames own = read_own_formats(described, where);
  const Field root(json, where, "", &own);
  if (const auto schema = root.find("schema"); schema && schema->text() != kSchema) {
    schema->fail(fmt::format("is {}; expected \"{}\"", in_quotes(schema->text()), kSchema));
  }
  for (const std::string_view comment : {"note"sv, "source"sv}) {
    if (const auto field = root.find(comment)) field->text();
  }
  Datapath datapath;
  Numerics& n = datapath.numerics;
  const int k = root.member("k").integer(1, kMaxK);
  const Field operands = root.member("operands");
  operands.expect_object(kOperandKeys);
  n.a = read_operand(operands.member("a"));
  n.b = read_operand(operands.member("b"));
  n.c = read_operand(operands.member("c"));
  n.result = root.member("result").format_id();
  read_optional(root, "product", n.product, read_product);
  read_optional(root, "scales", n.scales, [k](const Field& field) { return read_scales(field, k); });
  const Field units = root.member("units");
  units.expect_object();
  if (units.json().size() > kMaxUnits) {
    units.fail(fmt::format("has {} units; expected 1..{}", units.json().size(), kMaxUnits));
  }
  for (const auto& item : units.json().items()) {
    check_unit_name(where, item.key());
    n.units[datapath.unit_names.size()] = read_unit(units.member(item.key()));
    datapath.unit_names.push_back(item.key());
  }
  TreeReader tree(where, datapath.unit_names, k);
  tree.read(root.member("tree").json());
  datapath.tree = std::move(tree.tree());
  n.nan = read_nan(root.member("nan"));
  validate(datapath, where);
  return datapath;
}

Datapath read_datapath(const std::string& path) {
  const Json json = read_json(path, "a datapath in JSON");
  const Field root(json, path, "");
  if (const auto instructions = root.find("instructions")) {
    instructions->expect_array();
    if (instructions->json().size() != 1) {
      instructions->fail(fmt::format("has {} entries; expected exactly one", instructions->json().size()));
    }
    const Field instruction = instructions->element(0);
    instruction.expect_object();
    return datapath_from_json(instruction.member("datapath").json(), path);
  }
  if (const auto datapath = root.find("datapath")) return datapath_from_json(datapath->json(), path);
  return datapath_from_json(json, path);
}

}  // namespace tcnum
