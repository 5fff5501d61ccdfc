// An element of a whole matrix product, for `tcnum explain`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "commands.hpp"
#include "src/report/explain_sides.hpp"
#include "tcnum/format.hpp"

namespace tcnum {

struct ElementOfProduct {
  ExplainedSide side;  ///< the plan's instruction, one after the other along k
  FormatId output = FormatId::fp32;
  std::uint64_t d = 0;                    ///< what the plan makes of the last one's result
  std::optional<std::uint64_t> observed;  ///< the file's D
};

/// That of --in, --plan and --at. Throws InputError, also where the plan is more than one chain of an instruction.
ElementOfProduct element_of_product(const ExplainOptions& options);

}  // namespace tcnum
