#include "tcnum/oracle.hpp"

#include <array>

namespace tcnum {

std::string_view name(OracleKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"gpu", "recorded", "datapath", "program"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace tcnum
