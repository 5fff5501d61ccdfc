// An element of a whole matrix product, for `tcnum explain`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "commands.hpp"
#include "src/report/element_report.hpp"
#include "src/report/explain_sides.hpp"

namespace tcnum {

struct ElementOfProduct {
  /// One or two: where one is asked for and the file's D is another, also a named plan that gives it, if there is one.
  std::vector<ExplainedElement> plans;
  ExplainedSide chain;                    ///< the first plan's first accumulator
  std::optional<std::uint64_t> observed;  ///< the file's D, where it is of the plans' format
};

/// That of --in, --plan and --at, with the C, bias and scales that the file has. Throws InputError.
ElementOfProduct element_of_product(const ExplainOptions& options);

}  // namespace tcnum
