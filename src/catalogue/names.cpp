#include "names.hpp"

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

}  // namespace tcnum
