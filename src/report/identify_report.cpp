#include "identify_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "datapath_text.hpp"
#include "explain.hpp"
#include "problem_text.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

std::string formats_text(const Tiles& of) {
  const std::string_view a = format(of.a_format).name, b = format(of.b_format).name;
  return fmt::format("{}, k = {}, results of {}", a == b ? std::string(a) : fmt::format("{} · {}", a, b), of.k,
                     format(of.d_format).name);
}

/// c and all products, with their scales.
ExactValue exact_sum(const Tiles& of, FormatId scales) {
  Numerics numerics;
  numerics.a.format = of.a_format;
  numerics.b.format = of.b_format;
  if (of.scale_block != 0) numerics.scales = ScaleRule{scales, of.scale_block};
  const Problem problem = problem_at(of, 0);
  ExactValue sum = ExactValue::of(format(of.c_format), problem.c);
  for (std::size_t k = 0; k < problem.a.size(); ++k) sum = sum + exact_product(numerics, problem, k);
  return sum;
}

/// Of one answer: what it should be.
std::string truth_text(const Tiles& answered, FormatId scales) {
  const ExactValue exact = exact_sum(answered, scales);
  const Format& f = format(answered.d_format);
  const std::uint64_t d = answered.d[0];
  std::string text = fmt::format("d = {}; the true value is {}", code_text(f.id, d), exact.text());
  if (const auto ulps = exact.ulps_to(ExactValue::of(f, d), f))
    text += *ulps == 0 ? ", exactly that" : fmt::format(", {} ulps away", ulps_off_text(ulps));
  return wrapped(text, 0);
}

std::string computes_text(const Suspect& suspect, const Tiles& answered) {
  if (suspect.plan) return "plan " + suspect.plan->name;
  std::string text = short_text(suspect.of.front().datapath);
  if (suspect.rounded) text += fmt::format(", then RN to {}", format(answered.d_format).name);
  return text;
}

/// "wgmma.m64n8k16.f32.f16.f16, 3 more", of one architecture: the one that libraries use first, lowered ones last.
std::string names_text(std::vector<const CatalogueEntry*> entries) {
  std::ranges::stable_sort(entries, {}, [](const CatalogueEntry* each) {
    return std::pair(!each->lowered_to.empty(), library_of(each->arch, *each->instruction).empty());
  });
  std::vector<std::string> names;
  for (const CatalogueEntry* each : entries) {
    const std::string name = marked_name(each->instruction->name(), each->lowered_to);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names.front() + (names.size() > 1 ? fmt::format(", {} more", names.size() - 1) : "");
}

std::string separation_text(const Identification& found, const Tiles& answered) {
  const Separation& s = *found.separation;
  const std::string left = plural(found.agreeing(), "row");
  if (s.inputs == 0) {
    return wrapped(
        fmt::format("{} agree with every answer, and none of {} inputs that were tried tells any two of them "
                    "apart.",
                    left, count_text(s.tried)),
        0);
  }
  std::string text = fmt::format("{} agree with every answer. {} would ", left,
                                 s.inputs == 1 ? "One more input" : plural(s.inputs, "more input"));
  text += s.groups == found.agreeing()
              ? "tell them apart"
              : fmt::format("leave {} groups of them, whose rows none of {} inputs that were tried tells apart",
                            s.groups, count_text(s.tried));
  text += s.inputs == 1 ? ":" : "; the first:";
  Rows results = {{"rows", "result of it"}};
  std::vector<std::pair<std::uint64_t, std::vector<std::size_t>>> by_result;
  for (std::size_t i = 0; i < s.results.size(); ++i) {
    const auto like =
        std::ranges::find(by_result, s.results[i], &std::pair<std::uint64_t, std::vector<std::size_t>>::first);
    if (like == by_result.end())
      by_result.push_back({s.results[i], {i + 1}});
    else
      like->second.push_back(i + 1);
  }
  for (const auto& [code, rows] : by_result)
    results.push_back({fmt::format("{}", fmt::join(rows, ", ")), code_text(answered.d_format, code)});
  return wrapped(text, 0) + "\n" +
         table_text(term_rows(problem_at(s.next, 0), s.next.a_format, s.next.b_format, s.next.c_format), 40) +
         fmt::format("  ({} products in all; the others are +0 times +0)\n\n", s.next.k) + table_text(results, 40);
}

ordered_json problem_json(const Tiles& of, FormatId scales) {
  const Problem problem = problem_at(of, 0);
  ordered_json json = {{"a", codes_json(of.a_format, problem.a)},
                       {"b", codes_json(of.b_format, problem.b)},
                       {"c", hex(format(of.c_format), problem.c)},
                       {"c_format", format(of.c_format).name}};
  if (of.scale_block != 0) {
    json["sa"] = codes_json(scales, problem.sa);
    json["sb"] = codes_json(scales, problem.sb);
  }
  return json;
}

ordered_json holder_json(const CatalogueEntry& entry) {
  return {{"arch", arch(entry.arch).name},
          {"instruction", entry.instruction->name()},
          {"account", entry.account},
          {"lowered_to", entry.lowered_to.empty() ? ordered_json() : ordered_json(entry.lowered_to)}};
}

/// "sm_75: mma.m16n8k8.f32.f16.f16.f32, 3 more; sm_80, sm_86: ...".
std::string holders_text(const Suspect& suspect) {
  if (suspect.plan) return fmt::format("{}: {}", suspect.plan->arch, suspect.plan->instruction);
  std::vector<std::pair<std::string, std::vector<std::string_view>>> groups;  // of the same instructions
  for (const Arch& each : kArchs) {
    std::vector<const CatalogueEntry*> entries;
    for (const CatalogueEntry& entry : suspect.of) {
      if (entry.arch == each.id) entries.push_back(&entry);
    }
    if (entries.empty()) continue;
    std::string names = names_text(entries);
    const auto like = std::ranges::find(groups, names, &decltype(groups)::value_type::first);
    if (like == groups.end())
      groups.push_back({std::move(names), {each.name}});
    else
      like->second.push_back(each.name);
  }
  std::vector<std::string> texts;
  for (const auto& [names, archs] : groups) texts.push_back(fmt::format("{}: {}", fmt::join(archs, ", "), names));
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

std::string matches_text(const Identification& found, const Tiles& answered) {
  Rows rows = {{"computes", "who"}};
  for (const Suspect& each : found.suspects) {
    if (each.agrees()) rows.push_back({computes_text(each, answered), holders_text(each)});
  }
  return table_text(rows, 40);
}

ordered_json matches_json(const Identification& found) {
  ordered_json matches = ordered_json::array();
  for (std::size_t i = 0; i < found.suspects.size(); ++i) {
    const Suspect& each = found.suspects[i];
    if (!each.agrees()) continue;
    for (const CatalogueEntry& entry : each.of) {
      ordered_json match = holder_json(entry);
      match["row"] = i + 1;
      match["rounded"] = each.rounded;
      matches.push_back(std::move(match));
    }
  }
  return matches;
}

std::string identify_text(const Identification& found, const Tiles& answered, FormatId scales,
                          std::size_t most_others) {
  Rows rows = {{"", "agrees", "computes", found.answers == 1 ? "its result" : "first other result", "who"}};
  std::size_t others = 0;
  for (const Suspect& each : found.suspects) {
    if (!each.agrees() && ++others > most_others) continue;
    std::string wrong;
    if (each.first_wrong) {
      wrong = code_text(answered.d_format, each.its_result);
      if (found.answers > 1) wrong = fmt::format("#{}: {}", *each.first_wrong, wrong);
    }
    rows.push_back({std::to_string(rows.size()), fmt::format("{}/{}", each.agreeing, found.answers),
                    computes_text(each, answered), std::move(wrong), holders_text(each)});
  }
  constexpr std::size_t kWidest = 30;
  std::string text = fmt::format("{} ({})\n", plural(found.answers, "answer"), formats_text(answered));
  if (found.answers == 1 && format(answered.d_format).floating) text += truth_text(answered, scales);
  text += "\n" + table_text(rows, kWidest);
  if (others > most_others)
    text += fmt::format("  and {} that agree with as few answers or fewer (--all shows them)\n", others - most_others);
  text += "\n";
  if (found.agreeing() == 0) {
    text += wrapped(
        "Nothing of the catalogue gives all of these answers. Expected the products in the order in which the kernel "
        "takes them, and c with them; `tcnum gemm fit` searches plans of whole products, `tcnum probe --from FILE` "
        "datapaths that nobody has seen.",
        0);
  } else if (found.separation) {
    text += separation_text(found, answered);
  } else {
    text += "Row 1 alone agrees with every answer.\n";
  }
  return text + "\n" + wrapped(kShortTextLegend, 0);
}

ordered_json identify_document(const Identification& found, const Tiles& answered, FormatId scales) {
  ordered_json json = {{"schema", "tcnum.identify/1"},
                       {"version", TCNUM_VERSION},
                       {"answers", found.answers},
                       {"k", answered.k},
                       {"formats",
                        {{"a", format(answered.a_format).name},
                         {"b", format(answered.b_format).name},
                         {"c", format(answered.c_format).name},
                         {"d", format(answered.d_format).name}}},
                       {"matches", matches_json(found)},
                       {"plans", ordered_json::array()},
                       {"others", ordered_json::array()},
                       {"separation", nullptr}};
  std::size_t row = 0;
  for (const Suspect& each : found.suspects) {
    ++row;
    if (each.agrees() && each.plan) {
      json["plans"].push_back({{"row", row},
                               {"name", each.plan->name},
                               {"arch", each.plan->arch},
                               {"instruction", each.plan->instruction}});
    } else if (!each.agrees()) {
      ordered_json other = {{"row", row},
                            {"agreeing", each.agreeing},
                            {"first_wrong", *each.first_wrong},
                            {"result", hex(format(answered.d_format), each.its_result)},
                            {"rounded", each.rounded},
                            {"plan", each.plan ? ordered_json(each.plan->name) : ordered_json()},
                            {"of", ordered_json::array()}};
      for (const CatalogueEntry& entry : each.of) other["of"].push_back(holder_json(entry));
      json["others"].push_back(std::move(other));
    }
  }
  if (found.separation) {
    const Separation& s = *found.separation;
    json["separation"] = {{"inputs", s.inputs},
                          {"groups", s.groups},
                          {"tried", s.tried},
                          {"next", s.inputs == 0 ? ordered_json() : problem_json(s.next, scales)},
                          {"results", codes_json(answered.d_format, s.results)}};
  }
  return json;
}

}  // namespace tcnum
