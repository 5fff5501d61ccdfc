// Machine instructions: their records, and what a disassembler writes.
#include "src/catalogue/sass.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "harnesses.hpp"

namespace tcnum::fuzz {

bool read_machine_instructions(std::string_view input) {
  SassTable table;
  const InputPath file(input);
  if (!accepted([&] { table = read_sass(file.path()); }, file.path())) return false;
  for (const Instruction& instruction : instructions()) {
    if (table.opcodes(instruction).empty() != table.text(instruction).empty()) wrong("opcodes without a text");
  }
  return true;
}

/// The first line is the compiler's version.
bool read_a_disassembly(std::string_view input) {
  Bytes bytes(input);
  const std::string nvcc(bytes.until('\n'));
  constexpr int kCalls = 2;
  ProbeSass sass(kCalls);
  while (!bytes.empty()) sass.read(std::string(bytes.until('\n')));
  const SassTable table = sass.table(ArchId::sm_90, nvcc);
  const std::string text = sass_text(table);
  const InputPath file(text);
  if (sass_text(read_sass(file.path())) != text)
    wrong("machine instructions change when they are written and read", text);
  return !table.instructions.empty();
}

std::vector<std::string> sass_files() {
  constexpr std::size_t kInAFile = 8;
  const SassTable all = read_sass(TCNUM_SOURCE_DIR "/vectors/sm_90/sass.json");
  std::vector<std::string> files;
  SassTable some{all.arch, all.nvcc, {}};
  for (const auto& row : all.instructions) {
    some.instructions.insert(row);
    if (some.instructions.size() == kInAFile) files.push_back(sass_text(std::exchange(some, {all.arch, all.nvcc, {}})));
  }
  return files;
}

/// As cuobjdump would write it of a kernel of every instruction.
std::vector<std::string> disassemblies() {
  constexpr std::size_t kInAFile = 4;
  const SassTable all = read_sass(TCNUM_SOURCE_DIR "/vectors/sm_90/sass.json");
  std::vector<std::string> files;
  std::string text;
  std::size_t kernels = 0;
  for (const auto& [name, opcodes] : all.instructions) {
    const std::string type = probe_type_of(*find_instruction(name));
    text += "\t\tFunction : _ZN5tcnum10mma_kernelINS_" + std::to_string(type.size()) + type + "EEEvNS_8OperandsE\n";
    for (const std::string& opcode : opcodes)
      text += "        /*0100*/              @!P0 " + opcode + " R4, R8, R12, R4 ;   /* 0x0000000c08047223 */\n";
    if (++kernels % kInAFile == 0) files.push_back(all.nvcc + "\n" + std::exchange(text, ""));
  }
  return files;
}

}  // namespace tcnum::fuzz
