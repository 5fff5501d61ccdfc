#include "problem_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "layout.hpp"

namespace tcnum {

using nlohmann::ordered_json;

std::string problem_text(const Instruction& instruction, const Problem& problem, const NamedResult& one,
                         const NamedResult& other) {
  const auto shown = [](FormatId id, std::uint64_t code) {
    return fmt::format("{} = {}", hex(format(id), code), number_text(format(id), code));
  };
  std::vector<std::vector<std::string>> rows = {{"term", "a", "b"}};
  std::size_t left_out = 0;
  for (std::size_t k = 0; k < problem.a.size(); ++k) {
    if (problem.a[k] == 0 && problem.b[k] == 0)
      ++left_out;
    else
      rows.push_back(
          {fmt::format("k = {}", k), shown(instruction.a, problem.a[k]), shown(instruction.b, problem.b[k])});
  }
  for (std::size_t block = 0; block < problem.sa.size(); ++block) {
    const std::size_t first = block * static_cast<std::size_t>(instruction.products_per_scale());
    const FormatId id = instruction.scales.format;
    rows.push_back(
        {fmt::format("scales from k = {}", first), shown(id, problem.sa[block]), shown(id, problem.sb[block])});
  }
  rows.push_back({"c", shown(instruction.c, problem.c), ""});
  for (const NamedResult& each : {one, other}) rows.push_back({each.who, shown(instruction.d, each.code), ""});
  std::string text = table_text(rows, 40);
  if (left_out != 0) text += fmt::format("  (the other {}: +0 times +0)\n", plural(left_out, "product"));
  return text;
}

ordered_json json_problem(const Instruction& instruction, const Problem& problem, std::uint64_t expected,
                          std::uint64_t observed) {
  const auto list = [](FormatId id, const std::vector<std::uint64_t>& codes) {
    ordered_json out = ordered_json::array();
    for (std::uint64_t code : codes) out.push_back(hex(format(id), code));
    return out;
  };
  ordered_json json = {{"a", list(instruction.a, problem.a)},
                       {"b", list(instruction.b, problem.b)},
                       {"c", hex(format(instruction.c), problem.c)},
                       {"expected", hex(format(instruction.d), expected)},
                       {"observed", hex(format(instruction.d), observed)}};
  if (instruction.scaled()) {
    json["sa"] = list(instruction.scales.format, problem.sa);
    json["sb"] = list(instruction.scales.format, problem.sb);
  }
  return json;
}

}  // namespace tcnum
