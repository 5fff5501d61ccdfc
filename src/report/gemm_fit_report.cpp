#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "gemm_report.hpp"
#include "layout.hpp"
#include "src/gemm/plan.hpp"

namespace tcnum {

// --- Plans in words

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
  static constexpr std::array<std::string_view, 4> kOrders = {"in order", "with the second half folded onto the first",
                                                              "half onto half", "two by two, then half onto half"};
  return text.append(kOrders[static_cast<std::size_t>(plan.slices_order)]);
}

std::string_view order_text(PartOrder order) {
  static constexpr std::array<std::string_view, 4> kOrders = {"in order", "from the last on", "in pairs",
                                                              "in 64 sums, then by halves and fours"};
  return kOrders[static_cast<std::size_t>(order)];
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

// --- Fits

using nlohmann::ordered_json;

namespace {

std::string_view how_sure(Verdict verdict) {
  return verdict == Verdict::unexplained ? "nearest" : verdict == Verdict::ambiguous ? "one" : "the";
}

/// What is open, and the first element that is not as the plan says; `product`: in which.
template <class Fit>
std::string rest_text(const Fit& fit, const GemmSubject& subject, std::string_view product) {
  std::string text =
      fmt::format("  compared with {} elements, {} of them not as it says\n", fit.elements, fit.mismatches);
  for (const OpenProperty& open : fit.open)
    text += fmt::format("  open: {}: {}\n", open.property, fmt::join(open.values, " or "));
  if (fit.mismatch) {
    const Format& f = format(subject.d);
    text += fmt::format("  first: {}, element [{}, {}]: the plan gives {:#0{}x}, observed {:#0{}x}\n", product,
                        fit.mismatch->row, fit.mismatch->column, fit.mismatch->expected, f.storage_bytes() * 2 + 2,
                        fit.mismatch->observed, f.storage_bytes() * 2 + 2);
  }
  return text;
}

std::string searched_text(const GemmFit& fit) {
  const SearchedPlans& searched = fit.searched;
  std::string text = fmt::format("Searched: {} plans made of {}; one chain along k", fit.considered,
                                 fmt::join(searched.instructions, ", "));
  if (searched.most_promoted != 0)
    text +=
        fmt::format(", or the sum of every 2^i instructions promoted, of up to {} products", searched.most_promoted);
  if (searched.most_parts > 1) {
    text += fmt::format(
        "; k in up to {} parts, of one length or as equal as can be, added in order, from the last on "
        "or in pairs",
        searched.most_parts);
  }
  if (searched.most_slices > 1) text += fmt::format("; up to {} accumulators side by side", searched.most_slices);
  return wrapped(text +
                     "; a ragged k last or first; results rounded to nearest even or toward zero; and all of these "
                     "with k divided for the last blocks of D alone.",
                 2);
}

/// What may say why no plan explains the products.
std::string advice_text(const GemmFit& fit, const GemmSubject& subject) {
  std::vector<std::string> advice;
  constexpr std::size_t kOneInMany = 10;
  if (fit.mismatches > fit.elements / kOneInMany) {
    advice.push_back(
        "Many elements are wrong: is it another architecture (--arch), another format of the operands, or do "
        "a scale, an activation, C or a bias come to the product?");
  } else {
    advice.push_back(
        "Few elements are wrong: does the kernel give the same D twice? Atomics add parts in an order that changes.");
  }
  if (fit.asked.empty()) {
    advice.push_back(
        "Let the fit ask the kernel itself (--from exec:COMMAND): it chooses operands that tell plans apart.");
  }
  if (format(subject.d).floating && format(subject.d).storage_bits < 32)
    advice.push_back(fmt::format("Ask for a D of fp32: {} hides most of what sums lose.", format(subject.d).name));
  advice.push_back(
      "Try a smaller K, from that of one instruction on: the first one that is unexplained shows what the kernel does "
      "beyond.");
  std::string text = "  What to try:\n";
  for (const std::string& each : advice) text += wrapped("- " + each, 2);
  return text;
}

std::string_view case_of(const EpilogueFit& fit) { return epilogue_cases()[fit.mismatch->product].name; }

template <class Fit>
void add_rest(const Fit& fit, ordered_json& json) {
  ordered_json& open = json["open"] = ordered_json::array();
  for (const OpenProperty& each : fit.open) open.push_back({{"field", each.property}, {"values", each.values}});
  if (fit.mismatch) {
    json["first_mismatch"] = {{"product", fit.mismatch->product},
                              {"row", fit.mismatch->row},
                              {"column", fit.mismatch->column},
                              {"expected", fmt::format("{:#x}", fit.mismatch->expected)},
                              {"observed", fmt::format("{:#x}", fit.mismatch->observed)}};
  }
}

}  // namespace

std::string gemm_fit_text(const GemmFit& fit, const GemmSubject& subject) {
  std::string text = fmt::format("{} · {} → {}, {} × {} × {}: {}\n", format(subject.a).name, format(subject.b).name,
                                 format(subject.d).name, subject.m, subject.n, subject.k, name(fit.verdict));
  const std::string sentence = plan_sentence(fit.plan);
  if (fit.verdict == Verdict::unexplained) {
    text += wrapped(
        fmt::format("The nearest plan gets {} of {} elements wrong: {}.", fit.mismatches, fit.elements, sentence), 2);
    text += searched_text(fit) + advice_text(fit, subject);
  } else {
    text += wrapped(
        fmt::format("{}: {}.", fit.verdict == Verdict::identified ? "The plan" : "One of the plans left", sentence), 2);
  }
  text += fmt::format("  {} of {} plans explain every element of {} products\n", fit.surviving, fit.considered,
                      fit.products);
  text += rest_text(fit, subject, fit.mismatch ? fmt::format("product {}", fit.mismatch->product) : "");
  return text + fmt::format("  {} plan: {}\n", how_sure(fit.verdict), plan_to_json(fit.plan).dump());
}

std::string epilogue_fit_text(const EpilogueFit& fit, const GemmSubject& subject) {
  std::string text = fmt::format("alpha, C and a bias: {}\n", name(fit.verdict));
  text += fmt::format("  {} of {} epilogues explain every element of {} products\n", fit.surviving, fit.considered,
                      fit.products);
  const ordered_json plan = plan_to_json(fit.plan);
  text += fmt::format("  {} epilogue: {}{}\n", how_sure(fit.verdict), plan.at("epilogue").dump(),
                      fit.plan.split_k && fit.plan.split_k->epilogue == EpilogueOf::parts ? ", of each part of k" : "");
  return text + rest_text(fit, subject, fit.mismatch ? fmt::format("case {}", case_of(fit)) : "");
}

ordered_json gemm_fit_json(const GemmFit& fit, const GemmSubject& subject) {
  ordered_json json = {{"a", format(subject.a).name},
                       {"b", format(subject.b).name},
                       {"d", format(subject.d).name},
                       {"m", subject.m},
                       {"n", subject.n},
                       {"k", subject.k},
                       {"verdict", name(fit.verdict)},
                       {"plan", plan_to_json(fit.plan)},
                       {"hypotheses", {{"considered", fit.considered}, {"surviving", fit.surviving}}},
                       {"products", fit.products},
                       {"elements", fit.elements},
                       {"mismatches", fit.mismatches}};
  ordered_json& asked = json["asked"] = ordered_json::array();
  for (const AskedProduct& product : fit.asked)
    asked.push_back({{"family", name(product.family)}, {"seed", product.seed}});
  add_rest(fit, json);
  return json;
}

ordered_json gemm_fit_document(const GemmFit& fit, const GemmSubject& subject, const EpilogueFit* epilogue) {
  ordered_json json = {{"schema", "tcnum.gemm_fit/1"}, {"version", TCNUM_VERSION}};
  json.update(gemm_fit_json(fit, subject));
  if (epilogue == nullptr) return json;
  ordered_json& of_epilogue =
      json["epilogue"] = {{"verdict", name(epilogue->verdict)},
                          {"plan", plan_to_json(epilogue->plan)},
                          {"hypotheses", {{"considered", epilogue->considered}, {"surviving", epilogue->surviving}}},
                          {"products", epilogue->products},
                          {"elements", epilogue->elements},
                          {"mismatches", epilogue->mismatches}};
  add_rest(*epilogue, of_epilogue);
  if (epilogue->mismatch) of_epilogue["first_mismatch"]["product"] = case_of(*epilogue);
  return json;
}

}  // namespace tcnum
