#include "plan_sentence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "src/gemm/plan.hpp"

namespace tcnum {
namespace {

/// What IEEE 754 rounds to unless it is told otherwise is not said.
std::string rounding_text(Rounding rounding) {
  return rounding == Rounding::nearest_even ? "" : fmt::format(" ({})", name(rounding));
}

std::string conversion_text(const GemmPlan& plan) {
  const auto text = [](const std::optional<Rounding>& convert) {
    return convert ? fmt::format("rounded to tf32 ({})", name(*convert)) : std::string("as the instruction reads it");
  };
  if (!plan.convert_a && !plan.convert_b) return "";
  if (plan.convert_a == plan.convert_b) return fmt::format("operands {}", text(plan.convert_a));
  return fmt::format("A {}, B {}", text(plan.convert_a), text(plan.convert_b));
}

std::string slices_text(const GemmPlan& plan) {
  const std::size_t share = plan.k_tile.value_or(0) / static_cast<std::size_t>(plan.slices);
  std::string text = fmt::format("{} accumulators side by side, each of {} of every {} products, added ", plan.slices,
                                 share, plan.k_tile.value_or(0));
  switch (plan.slices_order) {
    case SliceOrder::ascending:
      return text + "in order";
    case SliceOrder::folded:
      return text + "with the second half folded onto the first";
    case SliceOrder::halves:
      return text + "half onto half";
    case SliceOrder::neighbours:
      return text + "two by two, then half onto half";
  }
  return text;
}

std::string order_text(PartOrder order) {
  switch (order) {
    case PartOrder::ascending:
      return "in order";
    case PartOrder::descending:
      return "from the last on";
    case PartOrder::pairs:
      return "in pairs";
    case PartOrder::fours:
      return "in 64 sums, then by halves and fours";
  }
  return "";
}

std::string parts_text(const GemmPlan& plan, FormatId sums) {
  const SplitK& split = *plan.split_k;
  std::string text;
  if (split.count != 0) {
    text = fmt::format("k in {} parts as equal as can be, of whole tiles of {}", split.count, plan.k_tile.value_or(0));
  } else if (split.turns != 0) {
    text = fmt::format("k in {} parts that take {} products each in turn", split.turns, split.chunk);
  } else {
    text = fmt::format("k in parts of {}", split.chunk);
    if (split.rest == Rest::left_out) text += ", without the products that are left over";
  }
  if (split.tail) {
    text += fmt::format(" for the last {} of the blocks of {} × {} of D alone", split.tail->blocks, split.tail->rows,
                        split.tail->columns);
  }
  if (split.parts != sums) text += fmt::format(", each rounded to {}", format(split.parts).name);
  text += fmt::format(", added {}", order_text(split.order));
  if (split.type != sums) text += fmt::format(", each sum rounded to {}", format(split.type).name);
  if (split.epilogue == EpilogueOf::parts) text += ", each by way of the epilogue";
  return text;
}

}  // namespace

std::string output_text(const GemmPlan& plan) {
  std::string text = fmt::format("rounded to {}{}", format(plan.output).name, rounding_text(plan.output_rounding));
  if (!plan.output_overflow) return text;
  const bool is_cut = *plan.output_overflow == Overflow::max_finite;
  return text + fmt::format(", to {} what is too large", is_cut ? "the largest number" : "infinity");
}

std::string plan_sentence(const GemmPlan& plan) {
  const Performer performer = performer_of(plan, "plan");
  const FormatId of_instruction = performer.formats.d,
                 sums = format(of_instruction).storage_bits < 32 ? FormatId::fp32 : of_instruction;
  const bool is_one_chain = plan.slices == 1 && !plan.promote_every && !plan.split_k;
  std::vector<std::string> clauses = {
      fmt::format("{} {}{}", is_one_chain ? "one chain of" : "made of", performer.name,
                  plan.arch.empty() || plan.datapath ? "" : fmt::format(" of {}", plan.arch))};
  const auto add = [&](bool is_so, const auto& text) {
    if (is_so) clauses.push_back(text());
  };
  add(plan.convert_a || plan.convert_b, [&] { return conversion_text(plan); });
  add(plan.k_order == KOrder::descending, [] { return std::string("goes down along k"); });
  add(plan.residue == Residue::first, [&] {
    return fmt::format("takes the products that tiles of {} leave over first", plan.k_tile.value_or(performer.depth()));
  });
  add(plan.promote_every.has_value(), [&] {
    return fmt::format("promotes every {} products to {}{}", *plan.promote_every, format(sums).name,
                       rounding_text(plan.promote_rounding));
  });
  add(plan.slices > 1, [&] { return slices_text(plan); });
  add(plan.split_k.has_value(), [&] { return parts_text(plan, sums); });
  add(plan.output != sums || plan.output_rounding != Rounding::nearest_even || plan.output_overflow.has_value(),
      [&] { return "results " + output_text(plan); });
  return fmt::format("{}", fmt::join(clauses, "; "));
}

}  // namespace tcnum
