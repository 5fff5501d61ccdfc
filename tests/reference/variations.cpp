#include "variations.hpp"

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tcnum/catalogue.hpp"
#include "tcnum/error.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum::test {
namespace {

/// What is done to a unit, or to a datapath as a whole. Some leave it as it is, or make it one that there cannot be.
template <class T>
struct Change {
  std::string name;
  std::function<void(T&)> make;
};

template <class Make>
void change_last_step(Unit& unit, const Make& make) {
  if (!unit.result.empty()) make(unit.result.step[static_cast<std::size_t>(unit.result.count - 1)]);
}
void set_first_step(const RoundStep& first, RoundSteps& steps) {
  if (steps.count == 1) steps = {first, steps.step[0]};
}

std::vector<Change<Unit>> changes_of_units() {
  std::vector<Change<Unit>> all;
  for (const int more : {-3, -1, 1, 2, 5, 10}) {
    all.push_back({fmt::format("{:+} fraction bits", more), [more](Unit& unit) {
                     if (unit.fraction_bits != kExact) unit.fraction_bits += more;
                   }});
  }
  for (const int bits : {7, 13, 24, 25, 35, 50})
    all.push_back({fmt::format("{} fraction bits", bits), [bits](Unit& unit) { unit.fraction_bits = bits; }});
  all.push_back({"an exact sum", [](Unit& unit) { unit.fraction_bits = kExact; }});
  for (std::size_t i = 0; i < kRoundingNames.size(); ++i) {
    const auto mode = static_cast<Rounding>(i);
    all.push_back({fmt::format("terms cut {}", name(mode)), [mode](Unit& unit) { unit.align_rounding = mode; }});
    all.push_back({fmt::format("results rounded {}", name(mode)),
                   [mode](Unit& unit) { change_last_step(unit, [&](RoundStep& step) { step.rounding = mode; }); }});
  }
  all.push_back({"subnormal results flushed", [](Unit& unit) {
                   change_last_step(unit, [](RoundStep& step) { step.subnormals = Subnormals::flushed; });
                 }});
  all.push_back({"terms far below dropped", [](Unit& unit) { unit.drop_below = 24; }});
  for (const int more : {-3, 1}) {
    all.push_back({fmt::format("{:+} fraction bits of the first term", more), [more](Unit& unit) {
                     if (unit.fraction_bits != kExact) unit.first_fraction_bits = unit.fraction_bits + more;
                   }});
  }
  constexpr int kFloor = -126;
  all.push_back({"zeros align", [](Unit& unit) { unit.zero_exponent = {ZeroExponentKind::natural, 0}; }});
  all.push_back({"zeros align nothing", [](Unit& unit) { unit.zero_exponent = {ZeroExponentKind::none, 0}; }});
  all.push_back({"a floor", [](Unit& unit) { unit.zero_exponent = {ZeroExponentKind::floor, kFloor}; }});
  all.push_back({"zeros of one exponent", [](Unit& unit) { unit.zero_exponent = {ZeroExponentKind::zeros, kFloor}; }});
  all.push_back({"zeros are positive", [](Unit& unit) { unit.zero_sign = ZeroSign::positive; }});
  all.push_back({"zeros as in IEEE 754", [](Unit& unit) { unit.zero_sign = ZeroSign::ieee; }});
  all.push_back({"underflow is positive", [](Unit& unit) { unit.underflow_sign = UnderflowSign::positive; }});
  for (const int bits : {13, 24, 30}) {
    RoundStep step;
    step.fraction_bits = bits;
    all.push_back({fmt::format("results cut to {} bits before", bits),
                   [step](Unit& unit) { set_first_step(step, unit.result); }});
    step.from_alignment = true;
    all.push_back(
        {fmt::format("sums cut to {} bits before", bits), [step](Unit& unit) { set_first_step(step, unit.result); }});
  }
  return all;
}

std::vector<Change<Datapath>> changes_of_datapaths() {
  std::vector<Change<Datapath>> all;
  all.push_back({"products with their own exponents",
                 [](Datapath& d) { d.numerics.product.exponent = ProductExponent::normalised; }});
  all.push_back({"products with their operands' exponents",
                 [](Datapath& d) { d.numerics.product.exponent = ProductExponent::sum; }});
  using enum FormatId;
  for (const FormatId id : {fp32, fp16, bf16, tf32}) {
    all.push_back({fmt::format("products of {}", format(id).name),
                   [id](Datapath& d) { d.numerics.product.round = {round_to(format(id), Rounding::nearest_even)}; }});
  }
  all.push_back({"subnormal operands flushed",
                 [](Datapath& d) { d.numerics.a.subnormals = d.numerics.b.subnormals = Subnormals::flushed; }});
  all.push_back({"subnormal c flushed", [](Datapath& d) { d.numerics.c.subnormals = Subnormals::flushed; }});
  all.push_back({"subnormals with their own exponents", [](Datapath& d) {
                   for (OperandRule* rule : {&d.numerics.a, &d.numerics.b, &d.numerics.c})
                     rule->subnormal_exponent = SubnormalExponent::normalised;
                 }});
  all.push_back({"NaNs come back", [](Datapath& d) { d.numerics.nan.propagate = true; }});
  for (const int block : {4, 8, 16, 32}) {
    all.push_back({fmt::format("scale blocks of {}", block), [block](Datapath& d) {
                     if (d.numerics.scales) d.numerics.scales->block_k = block;
                   }});
  }
  return all;
}

}  // namespace

std::vector<Variation> variations_of_catalogue() {
  std::vector<Variation> all;
  std::set<std::string> texts;
  const std::vector<Change<Unit>> of_units = changes_of_units();
  const std::vector<Change<Datapath>> of_datapaths = changes_of_datapaths();
  for (const Arch& arch : kArchs) {
    for (const CatalogueEntry& entry : catalogue(arch.id)) {
      const Datapath& base = entry.datapath;
      if (!texts.insert(to_json(base).dump()).second) continue;
      const auto put = [&](const std::string& what, const Datapath& datapath) {
        try {
          validate(datapath);
        } catch (const InputError&) {
          return;  // such as a cut below an alignment that a sum has not
        }
        if (texts.insert(to_json(datapath).dump()).second)
          all.push_back({fmt::format("{} {}: {}", arch.name, entry.instruction->name(), what), datapath});
      };
      for (const Change<Datapath>& change : of_datapaths) {
        Datapath datapath = base;
        change.make(datapath);
        put(change.name, datapath);
      }
      for (std::size_t u = 0; u < base.unit_names.size(); ++u) {
        for (const Change<Unit>& change : of_units) {
          Datapath datapath = base;
          change.make(datapath.numerics.units[u]);
          put(fmt::format("{}: {}", base.unit_names[u], change.name), datapath);
        }
      }
    }
  }
  return all;
}

}  // namespace tcnum::test
