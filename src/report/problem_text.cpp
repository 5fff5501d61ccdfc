#include "problem_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "io/printable.hpp"
#include "layout.hpp"

namespace tcnum {

using nlohmann::ordered_json;

std::string code_text(FormatId id, std::uint64_t code) {
  return fmt::format("{} = {}", hex(format(id), code), number_text(format(id), code));
}

std::vector<std::vector<std::string>> term_rows(const Problem& problem, FormatId a, FormatId b, FormatId c,
                                                const std::function<std::string(FormatId, std::uint64_t)>& shown) {
  constexpr std::size_t kMostTerms = 32;
  std::vector<std::vector<std::string>> rows = {{"term", "a", "b"}};
  std::size_t more = 0;
  for (std::size_t k = 0; k < problem.a.size(); ++k) {
    if (problem.a[k] == 0 && problem.b[k] == 0) continue;
    if (rows.size() > kMostTerms)
      ++more;
    else
      rows.push_back({fmt::format("k = {}", k), shown(a, problem.a[k]), shown(b, problem.b[k])});
  }
  if (more > 0) rows.push_back({"...", fmt::format("{} more", more), ""});
  rows.push_back({"c", shown(c, problem.c), ""});
  return rows;
}

std::string problem_text(const Instruction& instruction, const Problem& problem, const NamedResult& one,
                         const NamedResult& other) {
  std::vector<std::vector<std::string>> rows = term_rows(problem, instruction.a, instruction.b, instruction.c);
  for (std::size_t block = 0; block < problem.sa.size(); ++block) {
    const std::size_t first = block * static_cast<std::size_t>(instruction.products_per_scale());
    const FormatId id = instruction.scales.format;
    rows.insert(rows.end() - 1, {fmt::format("scales from k = {}", first), code_text(id, problem.sa[block]),
                                 code_text(id, problem.sb[block])});
  }
  for (const NamedResult& each : {one, other}) rows.push_back({each.who, code_text(instruction.d, each.code), ""});
  std::size_t zeros = 0;
  for (std::size_t k = 0; k < problem.a.size(); ++k) zeros += problem.a[k] == 0 && problem.b[k] == 0 ? 1 : 0;
  std::string text = table_text(rows, 40);
  if (zeros != 0) text += fmt::format("  (the other {}: +0 times +0)\n", plural(zeros, "product"));
  return text;
}

ordered_json codes_json(FormatId id, const std::vector<std::uint64_t>& codes) {
  ordered_json list = ordered_json::array();
  for (const std::uint64_t code : codes) list.push_back(hex(format(id), code));
  return list;
}

ordered_json json_problem(const Instruction& instruction, const Problem& problem, std::uint64_t expected,
                          std::uint64_t observed) {
  ordered_json json = {{"a", codes_json(instruction.a, problem.a)},
                       {"b", codes_json(instruction.b, problem.b)},
                       {"c", hex(format(instruction.c), problem.c)},
                       {"expected", hex(format(instruction.d), expected)},
                       {"observed", hex(format(instruction.d), observed)}};
  if (instruction.scaled()) {
    json["sa"] = codes_json(instruction.scales.format, problem.sa);
    json["sb"] = codes_json(instruction.scales.format, problem.sb);
  }
  return json;
}

// --- Who answers

Source source_of(const Vectors& recorded, const std::string& file) {
  Source source{OracleKind::recorded, recorded.device, file, {}};
  for (const char* key : {"driver", "cuda", "date"}) {
    if (const auto found = recorded.metadata.find(key); found != recorded.metadata.end())
      source.provenance.insert(*found);
  }
  return source;
}

std::string source_text(const Source& source) {
  std::vector<std::string> facts;
  for (const auto& [key, prefix] : {std::pair{"driver", "driver "},
                                    {"cuda", "CUDA "},
                                    {"date", ""},
                                    {"kernel", "a kernel "},
                                    {"nan", "bits of a NaN: "}}) {
    if (const auto found = source.provenance.find(key); found != source.provenance.end() && !found->second.empty()) {
      facts.push_back(prefix + shown(found->second));
    }
  }
  std::string what = "the GPU ";
  if (source.kind == OracleKind::recorded) what = "recorded answers of ";
  if (source.kind == OracleKind::datapath || source.kind == OracleKind::program) what = "";
  const std::string device = source.device.empty() ? "an unnamed device" : shown(source.device, kMostOfName);
  return what + device + (facts.empty() ? "" : fmt::format(" ({})", fmt::join(facts, ", ")));
}

std::string answerer(const Source& source) { return shown(source.device.empty() ? source.file : source.device); }

ordered_json json_source(const Source& source) {
  ordered_json out = {{"kind", name(source.kind)}, {"device", source.device}};
  for (const char* key : {"driver", "cuda", "date", "kernel", "nan"}) {
    if (const auto found = source.provenance.find(key); found != source.provenance.end()) out[key] = found->second;
  }
  if (!source.file.empty()) out["file"] = source.file;
  return out;
}

void attribute_to_emulator(Vectors& vectors, std::string_view datapath) {
  // What the metadata said of the results that were there no longer holds.
  for (const char* key : {"driver", "cuda", "date"}) vectors.metadata.erase(key);
  vectors.device = "tcnum's emulator";
  vectors.metadata["generator"] = "tcnum " TCNUM_VERSION;
  vectors.metadata["datapath"] = printable(datapath);
}

}  // namespace tcnum
