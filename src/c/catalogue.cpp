// Describes architectures and instructions, and makes and describes handles of datapaths.

#include "arguments.hpp"
#include "handles.hpp"
#include "io/json.hpp"
#include "src/catalogue/names.hpp"
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
    check_index(index, kArchs.size(), "the architectures");
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
    check_index(index, all.size(), fmt::format("the instructions of {}", arch(id).name));
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

// --- Datapaths

tcnum_status tcnum_datapath_find(const char* arch_name, const char* instruction, const char* account,
                                 tcnum_datapath** datapath) {
  return handed_back(datapath, "datapath", [&] {
    const ArchId id = arch_of(arch_name);
    return new tcnum_datapath(
        account_named("instruction", "account", id, instruction_of(id, instruction), text_or_none(account)));
  });
}

tcnum_status tcnum_datapath_at(const char* arch_name, const char* instruction, size_t index,
                               tcnum_datapath** datapath) {
  return handed_back(datapath, "datapath", [&] {
    const ArchId id = arch_of(arch_name);
    const Instruction& in = instruction_of(id, instruction);
    std::vector<CatalogueEntry> accounts = catalogue(id, in);
    check_index(index, accounts.size(), fmt::format("the accounts of {} on {}", in.name(), arch(id).name));
    return new tcnum_datapath(std::move(accounts[index]));
  });
}

tcnum_status tcnum_datapath_from_json(const char* json, tcnum_datapath** datapath) {
  return handed_back(datapath, "datapath", [&] {
    return new tcnum_datapath(
        datapath_from_json(parse_json(text_of(json, "json", "a datapath in JSON"), "datapath"), "datapath"));
  });
}

tcnum_status tcnum_datapath_read(const char* path, tcnum_datapath** datapath) {
  return guarded([&] {
    tcnum_datapath*& result = result_of(datapath, "datapath");
    const std::string_view text = text_of(path, "path", "the path of a file, or ARCH:INSTRUCTION");
    if (const auto name = catalogue_name_of(text)) {
      result = new tcnum_datapath(account_named("instruction", "account", name->arch,
                                                instruction_of(name->arch, name->instruction.c_str()), name->account));
    } else {
      result = new tcnum_datapath(read_datapath(std::string(text)));
    }
  });
}

tcnum_status tcnum_datapath_to_json(const tcnum_datapath* datapath, char** json) {
  return handed_back(json, "json",
                     [&] { return new_text(to_json(required(datapath, "datapath", "a datapath").datapath).dump(2)); });
}

tcnum_status tcnum_datapath_describe(const tcnum_datapath* datapath, tcnum_datapath_info* to) {
  return guarded([&] {
    const tcnum_datapath& of = required(datapath, "datapath", "a datapath");
    const Numerics& numerics = of.datapath.numerics;
    tcnum_datapath_info info = {};
    info.k = static_cast<std::size_t>(of.datapath.tree.k);
    info.a = c_name(numerics.a.format);
    info.b = c_name(numerics.b.format);
    info.c = c_name(numerics.c.format);
    info.d = c_name(numerics.result);
    if (numerics.scales) {
      info.scale_format = c_name(numerics.scales->format);
      info.scale_block = static_cast<std::size_t>(numerics.scales->block_k);
    }
    info.account = of.account.c_str();
    info.origin = of.origin.c_str();
    info.refuted_by = of.refuted_by.c_str();
    info.is_fitted = of.is_fitted;
    info.standing = of.standing.c_str();
    info.answers = of.answers;
    info.lowered_to = of.lowered_to.c_str();
    hand_back(info, to, "info");
  });
}

void tcnum_datapath_free(tcnum_datapath* datapath) { delete datapath; }
