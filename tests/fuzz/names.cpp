// Names, patterns and numbers as users write them: lines of an architecture and of anything else.
#include <algorithm>
#include <cmath>

#include "harnesses.hpp"
#include "src/commands/names.hpp"
#include "src/questions/stream.hpp"

namespace tcnum::fuzz {

bool read_names(std::string_view input) {
  Bytes bytes(input);
  const std::string arch_text(bytes.until('\n')), text(bytes.until('\n'));
  if (const Instruction* const found = find_instruction(text); found && found->name() != text && found->ptx() != text)
    wrong("an instruction is found that has another name", text);
  if (const auto id = find_format(text); id && format(*id).name != text && format(*id).ptx != text)
    wrong("a format is found that has another name", text);
  if (const auto found = find_distribution(text); found && name(*found) != text)
    wrong("a distribution is found that has another name", text);
  if (const auto code = parse_code(text); code && !text.starts_with("0x")) wrong("a code without 0x", text);
  constexpr int kGpus = 8;
  bool taken = false;
  taken |= accepted([&] {
    for (const int device : parse_devices(text, kGpus)) {
      if (device < 0 || device >= kGpus) wrong("a GPU that is not there", text);
    }
  });
  taken |= accepted([&] { static_cast<void>(parse_whole("--seed", text)); });
  taken |= accepted([&] { static_cast<void>(parse_count("--count", text)); });
  taken |= accepted([&] { static_cast<void>(parse_positive("--seconds", text, 1000)); });
  taken |= accepted([&] {
    if (!std::isfinite(parse_number("--alpha", text))) wrong("a number that is not finite", text);
  });
  taken |= accepted([&] {
    const auto [part, parts] = parse_shard("--shard", text);
    if (part < 1 || part > parts) wrong("a part that is none", text);
  });
  ArchId arch{};
  if (!accepted([&] { arch = parse_arch(arch_text); }, "--arch: ")) return taken;
  taken |= accepted([&] { static_cast<void>(parse_operands(text, arch)); });
  taken |= accepted([&] {
    for (const Instruction* found : matching_instructions(text, arch)) {
      if (!found->archs.contains(arch)) wrong("an instruction matches that the architecture does not have", text);
    }
  });
  return taken;
}

std::vector<std::string> names() {
  std::vector<std::string> texts;
  for (const Instruction* instruction : instructions_of(ArchId::sm_90)) {
    texts.push_back("sm_90\n" + instruction->name());
    texts.push_back("sm_90a\n" + instruction->ptx());
  }
  for (const char* pattern : {"mma.*", "wgmma.m64n*", "*.sp*.[fs]*", "*m16n?k16*", "[!w]*", "", "1e9", "2/5", "0,3"})
    texts.push_back(std::string("sm_90\n") + pattern);
  return texts;
}

}  // namespace tcnum::fuzz
