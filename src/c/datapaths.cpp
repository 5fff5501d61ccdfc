// Makes and describes handles of datapaths.
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "guard.hpp"
#include "handles.hpp"
#include "io/json.hpp"
#include "src/catalogue/names.hpp"
#include "tcnum/catalogue.hpp"

using namespace tcnum;

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
    if (index >= accounts.size()) {
      throw InputError(fmt::format("index: is {}; expected a number below {}, the accounts of {} on {}", index,
                                   accounts.size(), in.name(), arch(id).name));
    }
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
