
#include "probe_report.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

/// The members that both have, alike.
ordered_json common(const ordered_json& one, const ordered_json& other) {
  ordered_json out = ordered_json::object();
  for (const auto& [key, value] : one.items()) {
    if (const auto found = other.find(key); found != other.end() && *found == value) out[key] = value;
  }
  return out;
}

/// A count that may be larger than integers are.
ordered_json whole(double count) {
  constexpr double kMostExact = 0x1p53;
  return count < kMostExact ? ordered_json(static_cast<std::uint64_t>(count)) : ordered_json(count);
}

std::string_view structure_kind(const Space& space, const Choice& choice) {
  if (!format(space.instruction().d).floating) return "integer_sum";
  const Structure& s = space.structure(choice);
  const bool single_products = s.block_k() == 1;
  if (s.combination == Combination::chain) {
    return single_products && space.fraction_bits(choice) == kExact ? "fma_chain" : "aligned_sum";
  }
  return single_products && s.combination != Combination::chain_then_c ? "fp_add_tree" : "composite";
}

/// What becomes of a number too large for the result.
std::string_view overflow_word(Overflow overflow) {
  static constexpr std::array<std::string_view, 4> kWords = {"ieee", "inf", "max_finite", "wrap"};
  return kWords[static_cast<std::size_t>(overflow)];
}

/// The value of a property: a number where it is one.
ordered_json json_value(const Space& space, const Choice& choice, Property property) {
  if (property == Property::output_fraction_bits &&
      space.get<Property::output_fraction_bits>(choice) == SumWidth::of_the_format) {
    return space.output_fraction_bits(choice);
  }
  if (property == Property::fraction_bits && space.fraction_bits(choice) != kExact) return space.fraction_bits(choice);
  if (property == Property::group_bits && space.group_bits(choice) != kExact) return space.group_bits(choice);
  if (property == Property::zero_exponent && space.zero_exponent(choice).kind != ZeroExponentKind::none) {
    return space.zero_exponent(choice).value;
  }
  return space.value_text(property, Space::value(choice, property));
}

/// The members of "summary", one after the other.
class Summary {
 public:
  explicit Summary(const ProbeReport& report)
      : report_(report),
        space_(report.fit.space()),
        choice_(report.result.choice),
        structure_(space_.structure(choice_)) {}

  ordered_json json() {
    put("structure", Property::structure, structure_kind(space_, choice_));
    summary_["sentence"] = (sentence_is_settled(space_, report_.result) ? "" : "For example: ") +
                           structure_sentence(space_, choice_, report_.result.unobservable);
    put("block_k", Property::structure, structure_.block_k());
    put("blocks", Property::structure, structure_.blocks.size());
    put("order", Property::structure, text_of(structure_.order));
    if (space_.count(Property::product_operation) > 1) put(Property::product_operation);
    if (format(space_.instruction().d).floating)
      floating_members();
    else
      integer_members();
    return std::move(summary_);
  }

 private:
  bool has_inner_results() const { return structure_.tree.nodes.size() > 1; }
  bool takes_c_first() const { return structure_.combination == Combination::chain; }

  /// The value, unless the answers leave it open or none could show it.
  void put(std::string_view key, Property property, ordered_json value) {
    const Finding finding(report_.fit, report_.result, property);
    if (finding.open() != nullptr)
      value = "undetermined";
    else if (finding.unobservable())
      value = finding.value();  // "unobservable", or "does not apply"
    summary_[std::string(key)] = std::move(value);
  }
  void put(Property property) { put(name(property), property, json_value(space_, choice_, property)); }

  /// Nothing else means anything.
  void integer_members() {
    put("accumulator", Property::structure, takes_c_first() ? "first" : "after");
    if (has_inner_results()) put(Property::inner_result);
    put("overflow", Property::overflow, overflow_word(space_.overflow(choice_)));
  }

  void floating_members() {
    if (space_.count(Property::operand_format) > 1) put(Property::operand_format);
    put(Property::fraction_bits);
    put(Property::align_rounding);
    put("accumulator", Property::structure, takes_c_first() ? "aligned" : "after");
    put(Property::product_exponent);
    if (space_.scales()) {
      const int size = structure_.scaled.size;
      put("scaled", Property::structure, size == 0 ? "each product" : fmt::format("sums of {} products", size));
      if (size > 0) put(Property::group_bits);
      if (size > 0) put(Property::group_exponent);
    }
    put_output_fraction_bits();
    put(Property::output_rounding);
    if (space_.count(Property::inner_result) > 1) put(Property::inner_result);
    if (space_.count(Property::add_rounding) > 1) put(Property::add_rounding);
    for (const Property property : {Property::zero_exponent, Property::zero_terms, Property::subnormal_inputs,
                                    Property::subnormal_exponent, Property::subnormal_outputs}) {
      put(property);
    }
    const NanRule& nan = space_.nan(choice_);
    put("nan", Property::nan, hex(format(space_.instruction().d), nan.code));
    if (nan.propagate) put("nan_operands", Property::nan, "propagated");
    put("overflow", Property::overflow, overflow_word(space_.overflow(choice_)));
    put(Property::underflow_sign);
    put(Property::zero_sign);
  }

  /// What the format has is known where nothing else is in the space, too.
  void put_output_fraction_bits() {
    const Property property = Property::output_fraction_bits;
    const int bits = space_.output_fraction_bits(choice_);
    const bool all = bits == format(space_.instruction().d).fraction_bits;
    const bool open = Finding(report_.fit, report_.result, property).open() != nullptr;
    if (all && !open)
      summary_[std::string(name(property))] = bits;
    else
      put(name(property), property, bits);
  }

  const ProbeReport& report_;
  const Space& space_;
  const Choice& choice_;
  const Structure& structure_;
  ordered_json summary_;
};

ordered_json json_rejections(const ProbeReport& report) {
  const Space& space = report.fit.space();
  const Format& d = format(space.instruction().d);
  ordered_json out = ordered_json::array();
  for (const Rejection& each : report.result.rejected) {
    Choice rejected = report.result.choice;
    Space::set(rejected, each.property, each.value);
    out.push_back({{"property", name(each.property)},
                   {"value", json_value(space, rejected, each.property)},
                   {"probe", each.probe},
                   {"probe_name", report.fit.evidence().name_of(each.probe)},
                   {"expected", hex(d, each.expected)},
                   {"observed", hex(d, each.observed)}});
  }
  return out;
}

ordered_json json_equivalents(const ProbeReport& report) {
  ordered_json out = ordered_json::object();
  if (report.result.verdict == Verdict::unexplained) return out;
  for (std::size_t i = 0; i < kProperties; ++i) {
    const auto property = static_cast<Property>(i);
    const std::vector<std::string> values = Finding(report.fit, report.result, property).equivalent();
    if (!values.empty()) out[std::string(name(property))] = values;
  }
  return out;
}

ordered_json json_accounts(const ProbeReport& report) {
  const Format& d = format(report.fit.space().instruction().d);
  ordered_json out = ordered_json::array();
  for (const AccountFinding& each : report.accounts) {
    ordered_json account = {{"account", each.account},
                            {"origin", fmt::format("{}; {}", each.origin, each.standing)},
                            {"survives", !each.by.refutation.has_value()},
                            {"mismatches", each.by.mismatches}};
    if (each.by.refutation) {
      account["probe"] = each.by.refutation->probe;
      account["expected"] = hex(d, each.by.refutation->expected);
      account["observed"] = hex(d, each.by.refutation->observed);
      account["but_for"] = ordered_json::array();
      for (const RefutedField& field : each.fields)
        account["but_for"].push_back({{"field", field.field}, {"says", field.says}, {"measured", field.measured}});
    }
    out.push_back(std::move(account));
  }
  return out;
}

/// Members "same_as" and "unlike".
void put_relatives(const ProbeReport& report, ordered_json& out) {
  out["same_as"] = ordered_json::array();
  out["unlike"] = ordered_json::array();
  for (const Relative& each : report.relatives) {
    if (each.mismatches == 0)
      out["same_as"].push_back(each.instruction);
    else
      out["unlike"].push_back({{"instruction", each.instruction}, {"mismatches", each.mismatches}});
  }
}

}  // namespace

ordered_json json_report(const ProbeReport& report) {
  const FitResult& r = report.result;
  const Instruction& instruction = report.fit.space().instruction();
  ordered_json out;
  out["name"] = instruction.name();
  out["verdict"] = name(r.verdict);
  out["datapath"] = to_json(r.datapath);
  out["summary"] = Summary(report).json();
  out["hypotheses"] = {{"considered", whole(r.considered)}, {"surviving", whole(r.surviving)}};
  if (r.verdict == Verdict::unexplained) out["hypotheses"]["rare"] = r.looked_among_rare;
  out["probes"] = report.fit.evidence().size();
  out["separating"] = r.separating;
  out["mismatches"] = r.mismatches;
  out["rejected"] = json_rejections(report);
  out["equivalent"] = json_equivalents(report);
  if (!r.undetermined.empty()) {
    out["undetermined"] = ordered_json::object();
    for (const Undetermined& each : r.undetermined) {
      out["undetermined"][std::string(name(each.property))] =
          report.fit.space().value_texts(each.property, each.values);
    }
  }
  if (r.counterexample) {
    out["counterexample"] =
        json_problem(instruction, r.counterexample->problem, r.counterexample->expected, r.counterexample->observed);
  }
  out["accounts"] = json_accounts(report);
  if (!report.sass.empty()) out["sass"] = report.sass;
  put_relatives(report, out);
  if (report.compared) {
    out["compared"] = {{"file", report.compared->file},
                       {"count", whole(report.compared->here)},
                       {"other_n_count", whole(report.compared->other_widths)},
                       {"other_n", report.compared->widths}};
  }
  return out;
}

ProbeDocument::ProbeDocument(std::string_view arch, std::string_view format)
    : json_{{"schema", "tcnum.probe/1"}, {"version", TCNUM_VERSION}} {
  json_["arch"] = arch.empty() ? ordered_json(nullptr) : ordered_json(arch);
  json_["format"] = format;
  json_["source"] = nullptr;
  json_["instructions"] = ordered_json::array();
}

void ProbeDocument::add(ordered_json report, const Source& source) {
  sources_.push_back(json_source(source));
  json_["source"] = sources_.size() == 1 ? sources_.back() : common(json_["source"], sources_.back());
  json_["instructions"].push_back(std::move(report));
}

ordered_json ProbeDocument::json() const {
  ordered_json out = json_;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i] != out["source"]) out["instructions"][i]["source"] = sources_[i];
  }
  return out;
}

}  // namespace tcnum
