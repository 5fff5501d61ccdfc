// What the catalogue says, held against answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/fit/fit.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum {

/// A published account of an instruction against the answers.
struct AccountCheck {
  std::string account, origin;
  std::size_t mismatches = 0;
  /// The first answer that refutes it; none: it survives.
  struct Refutation {
    std::size_t probe;
    std::uint64_t expected, observed;
  };
  std::optional<Refutation> refutation;
};

/// Checks the published entries among `accounts`; those fitted here are left out.
std::vector<AccountCheck> check_accounts(const Fit& fit, const std::vector<CatalogueEntry>& accounts);

/// Another instruction of the architecture with the same formats and number of products, as fitted here, against the
/// answers.
struct Relative {
  std::string instruction;
  std::size_t mismatches = 0;
};
std::vector<Relative> check_relatives(const Fit& fit, ArchId arch);

}  // namespace tcnum
