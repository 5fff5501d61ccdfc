// Describes architectures and instructions.
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "guard.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum {
namespace {

/// Names of an instruction. They live as long as the library.
struct InstructionTexts {
  std::string name, ptx;
};

/// The instruction must be one that find_instruction() returns, whose address stays valid.
const InstructionTexts& texts_of(const Instruction& in) {
  static std::mutex mutex;
  static std::map<const Instruction*, InstructionTexts> made;
  const std::scoped_lock lock(mutex);
  const auto [found, is_new] = made.try_emplace(&in);
  if (is_new) found->second = {in.name(), in.ptx()};
  return found->second;
}

tcnum_arch_info info_of(const Arch& arch) {
  tcnum_arch_info info = {};
  info.name = arch.name.data();
  info.family = arch.family.data();
  info.instructions = instructions_of(arch.id).size();
  return info;
}

tcnum_instruction_info info_of(ArchId arch, const Instruction& in) {
  const InstructionTexts& texts = texts_of(in);
  tcnum_instruction_info info = {};
  info.name = texts.name.c_str();
  info.ptx = texts.ptx.c_str();
  info.m = in.m;
  info.n = in.n;
  info.k = in.k;
  info.is_sparse = in.sparse();
  info.products = in.products();
  info.a = c_name(in.a);
  info.b = c_name(in.b);
  info.c = c_name(in.c);
  info.d = c_name(in.d);
  info.accounts = catalogue(arch, in).size();
  return info;
}

}  // namespace
}  // namespace tcnum

using namespace tcnum;

size_t tcnum_arch_count() { return kArchs.size(); }

tcnum_status tcnum_arch_at(size_t index, tcnum_arch_info* info) {
  return guarded([&] {
    if (index >= kArchs.size())
      throw InputError(fmt::format("index: is {}; expected a number below {}", index, kArchs.size()));
    hand_back(info_of(kArchs[index]), info, "info");
  });
}

tcnum_status tcnum_arch_find(const char* name, tcnum_arch_info* info) {
  return guarded([&] { hand_back(info_of(arch(arch_of(name, "name"))), info, "info"); });
}

tcnum_status tcnum_instruction_at(const char* arch_name, size_t index, tcnum_instruction_info* info) {
  return guarded([&] {
    const ArchId id = arch_of(arch_name);
    const std::vector<const Instruction*> all = instructions_of(id);
    if (index >= all.size()) {
      throw InputError(fmt::format("index: is {}; expected a number below {}, the instructions of {}", index,
                                   all.size(), arch(id).name));
    }
    hand_back(info_of(id, *all[index]), info, "info");
  });
}

tcnum_status tcnum_instruction_find(const char* arch_name, const char* name, tcnum_instruction_info* info) {
  return guarded([&] {
    const ArchId id = arch_of(arch_name);
    hand_back(info_of(id, instruction_of(id, name)), info, "info");
  });
}

tcnum_status tcnum_instruction_for(const char* arch_name, const char* a, const char* b, tcnum_instruction_info* info) {
  return guarded([&] {
    const ArchId id = arch_of(arch_name);
    const FormatId a_id = format_of(a, "a").id, b_id = format_of(b, "b").id;
    hand_back(info_of(id, instruction_for(arch(id).name, a_id, b_id)), info, "info");
  });
}
