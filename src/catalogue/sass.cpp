#include "sass.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "src/files/json_fields.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;
constexpr std::string_view kSchema = "tcnum.sass/1";

/// Arithmetic that only an instruction which is not one of the tensor cores' alone brings into its probe.
bool is_arithmetic(const std::string& opcode) {
  constexpr std::array kArithmetic = {"F2FP", "HADD2", "HMUL2", "FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA"};
  return std::ranges::any_of(kArithmetic, [&](const char* each) { return opcode.starts_with(each); });
}

void replace(std::string& text, std::string_view from, std::string_view to) {
  if (const std::size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

/// "28mma_m16n8k16_f32_f16_f16_f32EEEv…" → "mma_m16n8k16_f32_f16_f16_f32"; empty if it is none.
std::string name_in(const std::string& mangled) {
  std::istringstream rest(mangled);
  std::size_t length = 0;
  std::string name;
  rest >> length >> name;
  return name.size() > length ? name.substr(0, length) : "";
}

/// "…mma_kernelINS_28mma_m16n8k16_f32_f16_f16_f32EEEv…" → "mma_m16n8k16_f32_f16_f16_f32"; empty if it is none.
std::string kernel_type_in(const std::string& symbol) {
  const std::string_view before = "_kernelINS_";
  const std::size_t at = symbol.find(before);
  if (at == std::string::npos) return "";
  return name_in(symbol.substr(at + before.size()));
}

/// "…time_chains_kernelINS_10ChainedDpxINS_3dpx12viaddmax_s32EEEEEv…" → "__viaddmax_s32"; empty if it is none.
std::string function_in(const std::string& symbol) {
  const std::string_view before = "time_chains_kernelINS_10ChainedDpxINS_3dpx";
  const std::size_t at = symbol.find(before);
  const std::string name = at == std::string::npos ? "" : name_in(symbol.substr(at + before.size()));
  return name.empty() ? "" : "__" + name;
}

/// Of a line with one: the machine instruction, without predicate, operands and encoding.
std::string opcode_in(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word.starts_with("/*0x")) return "";    // the rest of an encoding
  if (word.starts_with("/*")) words >> word;  // the address
  if (word.starts_with('@')) words >> word;
  if (word.ends_with(';')) word.pop_back();
  const bool is_opcode = !word.empty() && word[0] >= 'A' && word[0] <= 'Z';  // not the second half of an encoding
  return is_opcode ? word : "";
}

/// HMMA, IMMA, BMMA, DMMA, QMMA, HGMMA, QGMMA, IGMMA, BGMMA; but not HFMA2.MMA, which moves constants.
bool is_tensor_opcode(const std::string& opcode) {
  constexpr std::string_view kKinds = "HIBDQO";
  if (opcode.empty() || kKinds.find(opcode[0]) == std::string_view::npos) return false;
  const std::string_view rest = std::string_view(opcode).substr(1);
  return rest.starts_with("MMA") || rest.starts_with("GMMA");
}

}  // namespace

std::string SassTable::opcodes(const Instruction& instruction) const {
  Instruction narrow = instruction;
  if (narrow.kind == InstructionKind::wgmma) narrow.n = 8;
  for (const Instruction& each : {instruction, narrow}) {
    const auto found = instructions.find(each.name());
    if (found != instructions.end()) return fmt::format("{}", fmt::join(found->second, ", "));
  }
  return "";
}

std::string SassTable::text(const Instruction& instruction) const {
  const std::string found = opcodes(instruction);
  return found.empty() ? "" : fmt::format("{} (nvcc {})", found, nvcc);
}

std::string SassTable::function_opcodes(const std::string& name) const {
  const auto found = functions.find(name);
  if (found == functions.end()) return "";
  std::string text;
  for (auto at = found->second.begin(); at != found->second.end();) {
    const auto end = std::find_if(at, found->second.end(), [&](const std::string& other) { return other != *at; });
    const std::string times = end - at > 1 ? fmt::format("{} ", end - at) : "";
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", times, *at);
    at = end;
  }
  return text;
}

void ProbeSass::read(const std::string& line) {
  std::istringstream words(line);
  std::string word, second, third;
  words >> word >> second >> third;
  if (word == "Function") {
    const std::string type = kernel_type_in(third), function = function_in(third);
    every_ = !function.empty();
    current_ = every_                                                     ? &functions_[function]
               : type.empty() || third.find("time_") != std::string::npos ? nullptr
                                                                          : &counts_[type];
    return;
  }
  if (current_ == nullptr) return;
  std::string opcode = opcode_in(line);
  if (!opcode.empty() && (every_ || is_tensor_opcode(opcode) || is_arithmetic(opcode))) ++(*current_)[opcode];
}

SassTable ProbeSass::table(ArchId arch, std::string nvcc) const {
  SassTable table{std::string(tcnum::arch(arch).name), std::move(nvcc), {}};
  for (const Instruction& in : instructions()) {
    if (!in.archs.contains(arch)) continue;
    const auto found = counts_.find(probe_type_of(in));
    if (found == counts_.end() || found->second.empty()) continue;
    std::vector<std::string>& opcodes = table.instructions[in.name()];
    for (const auto& [opcode, count] : found->second) opcodes.push_back(opcode);
    std::stable_partition(opcodes.begin(), opcodes.end(), is_tensor_opcode);
  }
  for (const auto& [name, counts] : functions_) {
    std::vector<std::string>& opcodes = table.functions[name];
    for (const auto& [opcode, count] : counts) {
      // What the kernel does beside the calls it does far less often.
      const auto times = static_cast<std::size_t>(std::lround(static_cast<double>(count) / calls_));
      opcodes.insert(opcodes.end(), times, opcode);
    }
  }
  return table;
}

std::string probe_type_of(const Instruction& instruction) {
  std::string name = instruction.name();
  replace(name, "wgmma.sp.", "wgmma.");
  replace(name, "mma.sp::ordered_metadata", "mma_sp_ordered");
  std::ranges::replace(name, '.', '_');
  if (instruction.a == FormatId::b1 && instruction.kind != InstructionKind::wgmma) {
    replace(name, "s32_b1_b1_s32_and_popc", "b1_and");
    replace(name, "s32_b1_b1_s32_xor_popc", "b1_xor");
  }
  return name;
}

SassTable read_sass(const std::string& path) {
  const ordered_json json = read_json_file(path, kSchema);
  const JsonFields file(json, path);
  SassTable table{file.text("arch"), file.text("nvcc"), {}};
  const auto read_rows = [&](const char* key, std::map<std::string, std::vector<std::string>>& rows) {
    const ordered_json& array = file.array(key);
    for (std::size_t i = 0; i < array.size(); ++i) {
      const JsonFields each(array[i], fmt::format("{}: {}[{}]", path, key, i));
      std::vector<std::string>& opcodes = rows[each.text("name")];
      for (const ordered_json& opcode : each.array("sass")) {
        if (!opcode.is_string()) each.fail("sass", "expected strings");
        opcodes.push_back(opcode.get<std::string>());
      }
    }
  };
  read_rows("instructions", table.instructions);
  if (json.contains("functions")) read_rows("functions", table.functions);
  return table;
}

std::string sass_text(const SassTable& table) {
  // What was disassembled may hold anything.
  const auto text_of = [](const ordered_json& json) {
    return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  };
  const auto array_of = [&](const std::vector<ordered_json>& rows) {
    std::string text;
    for (const ordered_json& row : rows) text += (text.empty() ? "\n    " : ",\n    ") + text_of(row);
    return fmt::format("[{}\n]", text);
  };
  std::vector<ordered_json> instructions, functions;
  for (const auto& [name, opcodes] : table.instructions) {
    instructions.push_back({{"name", name}, {"ptx", find_instruction(name)->ptx()}, {"sass", opcodes}});
  }
  for (const auto& [name, opcodes] : table.functions) functions.push_back({{"name", name}, {"sass", opcodes}});
  std::string text = fmt::format("{{ \"schema\": \"{}\", \"arch\": \"{}\", \"nvcc\": {},\n  \"instructions\": {}",
                                 kSchema, table.arch, text_of(table.nvcc), array_of(instructions));
  if (!functions.empty()) text += fmt::format(",\n  \"functions\": {}", array_of(functions));
  return text + " }\n";
}

}  // namespace tcnum
