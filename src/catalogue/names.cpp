#include "names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "io/nearest.hpp"
#include "io/printable.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

/// The last colon that stands alone: PTX has pairs of them in names (mma.sp::ordered_metadata).
std::size_t last_single_colon(std::string_view text) {
  for (std::size_t at = text.rfind(':'); at != std::string_view::npos && at > 0; at = text.rfind(':', at - 1)) {
    if (text[at - 1] != ':') return at;
    --at;
    if (at == 0) break;
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<CatalogueName> catalogue_name_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<ArchId> id = find_arch(text.substr(0, colon));
  if (!id) return std::nullopt;
  const std::string_view rest = text.substr(colon + 1);
  const std::size_t end = find_instruction(rest) != nullptr ? std::string_view::npos : last_single_colon(rest);
  if (end == std::string_view::npos) return CatalogueName{*id, std::string(rest), ""};
  return CatalogueName{*id, std::string(rest.substr(0, end)), std::string(rest.substr(end + 1))};
}

const Instruction& instruction_named(std::string_view where, std::string_view text, ArchId of) {
  const Instruction* const found = find_instruction(text);
  if (found != nullptr && found->archs.contains(of)) return *found;
  std::vector<std::string> names;
  for (const Instruction& each : instructions()) {
    if (each.archs.contains(of)) names.push_back(each.name());
  }
  const std::string known = names.empty() ? std::string("an instruction that `tcnum list` shows")
                                          : fmt::format("one that `tcnum list --arch {}` shows, such as {}",
                                                        arch(of).name, nearest_names(text, names));
  if (found != nullptr)
    throw InputError(fmt::format("{}: {} does not have {}; expected {}", where, arch(of).name, found->name(), known));
  const bool is_vague = text.starts_with("tcgen05.mma") && text.find("kind::") != std::string_view::npos;
  throw InputError(fmt::format("{}: {} {}; expected {}", where, shown(text),
                               is_vague ? "does not say its shape and formats" : "is unknown", known));
}

CatalogueEntry account_named(std::string_view where, std::string_view where_account, ArchId of,
                             const Instruction& instruction, std::string_view account) {
  std::vector<CatalogueEntry> accounts = catalogue(of, instruction);
  if (accounts.empty()) {
    throw InputError(fmt::format(
        "{}: the catalogue has no datapath of {} on {}; expected a datapath of your own, or one that `tcnum list --arch "
        "{}` shows",
        where, instruction.name(), arch(of).name, arch(of).name));
  }
  std::vector<std::string> known;
  for (CatalogueEntry& each : accounts) {
    if (account.empty() || each.account == account) return std::move(each);
    known.push_back(each.account);
  }
  throw InputError(
      fmt::format("{}: {} is unknown; expected one of: {}", where_account, shown(account), fmt::join(known, ", ")));
}

}  // namespace tcnum
