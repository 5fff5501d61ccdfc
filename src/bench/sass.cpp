#include "sass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <sstream>
#include <utility>

#include "../sass.hpp"

namespace tcnum::bench {
namespace {

/// What only carries numbers, counters and control about.
bool is_carrier(const std::string& opcode) {
  static constexpr std::string_view kCarriers[] = {
      "MOV",   "LD",        "ST",   "BRA",   "BAR",      "EXIT", "NOP", "CS2R", "S2R", "R2UR",  "ULDC", "UMOV", "ISETP",
      "UIADD", "NANOSLEEP", "BSSY", "BSYNC", "WARPSYNC", "CALL", "RET", "ATOM", "RED", "USETP", "PLOP", "S2UR", "IADD"};
  return std::ranges::any_of(kCarriers, [&](std::string_view each) { return opcode.starts_with(each); });
}

}  // namespace

std::string kernel_type_in(const std::string& symbol) {
  const std::string_view before = "_kernelINS_";
  const std::size_t at = symbol.find(before);
  if (at == std::string::npos) return "";
  std::istringstream rest(symbol.substr(at + before.size()));
  std::size_t length = 0;
  std::string name;
  rest >> length >> name;
  return name.size() > length ? name.substr(0, length) : "";
}

std::string opcode_in(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word.starts_with("/*0x")) return "";    // the rest of an encoding
  if (word.starts_with("/*")) words >> word;  // the address
  if (word.starts_with('@')) words >> word;
  if (word.ends_with(';')) word.pop_back();
  return word.starts_with("/*") ? "" : word;
}

bool is_tensor_opcode(const std::string& opcode) {
  constexpr std::string_view kKinds = "HIBDQO";
  if (opcode.empty() || kKinds.find(opcode[0]) == std::string_view::npos) return false;
  const std::string_view rest = std::string_view(opcode).substr(1);
  return rest.starts_with("MMA") || rest.starts_with("GMMA");
}

std::string kernel_type_of(const Instruction& instruction) {
  return (instruction.kind == InstructionKind::wgmma ? "time_" : "") + probe_type_of(instruction);
}

void SassReader::read(const std::string& line) {
  std::istringstream words(line);
  std::string word, second, third;
  words >> word >> second >> third;
  if (word == "Function") {
    const std::string type = kernel_type_in(third);
    current_ = type.empty() || third.find("time_") == std::string::npos ? nullptr : &counts_[type];
    return;
  }
  constexpr std::size_t kAddress = 8;  // "/*0040*/"; longer programs have longer ones
  if (current_ == nullptr || !word.starts_with("/*") || !word.ends_with("*/") || word.size() < kAddress) return;
  const std::string opcode = opcode_in(line);
  if (!opcode.empty()) ++(*current_)[opcode];
}

std::string work_of(const std::map<std::string, int>& counts) {
  std::vector<std::pair<int, std::string>> work;
  const bool tensor = std::ranges::any_of(counts, [](const auto& each) { return is_tensor_opcode(each.first); });
  int most = 0;
  for (const auto& [opcode, count] : counts) {
    if (!is_tensor_opcode(opcode) && is_carrier(opcode)) continue;
    most = std::max(most, count);
    work.emplace_back(-count, opcode);
  }
  std::ranges::sort(work);
  // All of the tensor cores', and what comes with each of them: conversions of operands, sums behind them.
  constexpr int kRare = 8;
  std::string text;
  int shown = 0;
  for (const auto& [count, opcode] : work) {
    constexpr int kMostShown = 5;
    const bool wanted = is_tensor_opcode(opcode) || -count * kRare >= most;
    if (!wanted || (!is_tensor_opcode(opcode) && ++shown > kMostShown)) continue;
    if (tensor && !is_tensor_opcode(opcode) && -count * 2 < most) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", opcode);
  }
  return text;
}

std::map<std::string, std::string> sass_of(const std::vector<const Instruction*>& instructions) {
  std::map<std::string, std::string> found;
  if (instructions.empty()) return found;
  try {
    std::string functions;
    for (const Instruction* i : instructions) {
      const std::string type = kernel_type_of(*i);
      functions += fmt::format("{}_ZN5tcnum{}INS_{}{}EEEvNS_11TimedLaunchE", functions.empty() ? "" : ",",
                               i->kind == InstructionKind::wgmma ? "17time_wgmma_kernel" : "15time_mma_kernel",
                               type.size(), type);
    }
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    // Those that it does not find it only warns of.
    std::FILE* const pipe =
        popen(fmt::format("cuobjdump -sass -fun '{}' '{}' 2>/dev/null", functions, program).c_str(), "r");
    if (pipe == nullptr) return found;
    SassReader reader;
    char line[1 << 12];
    while (std::fgets(line, sizeof line, pipe) != nullptr) reader.read(line);
    pclose(pipe);
    const SassCounts& counts = reader.counts();
    for (const Instruction* i : instructions) {
      const auto of = counts.find(kernel_type_of(*i));
      if (of != counts.end()) found[i->name()] = work_of(of->second);
    }
  } catch (const std::exception&) {
    found.clear();
  }
  return found;
}

}  // namespace tcnum::bench
