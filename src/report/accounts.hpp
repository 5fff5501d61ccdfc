// What the catalogue says, held against answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/fit/evidence.hpp"
#include "src/fit/fit.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum {

/// A datapath against the answers.
struct Judgement {
  std::size_t mismatches = 0;
  /// The smallest answer that refutes it: of the fewest terms, of these that whose codes have the fewest bits set, and
  /// of these the first. None: the datapath explains every answer.
  struct Refutation {
    std::size_t probe;
    std::uint64_t expected, observed;
  };
  std::optional<Refutation> refutation;
};
Judgement judge(const Datapath& datapath, const Evidence& evidence);

/// A published account of an instruction against the answers.
struct AccountCheck : Judgement {
  std::string account, origin;
};

/// Checks the published entries among `accounts`; those fitted here are left out.
std::vector<AccountCheck> check_accounts(const Evidence& evidence, const std::vector<CatalogueEntry>& accounts);

/// Another instruction of the architecture with the same formats and number of products, as fitted here, against the
/// answers.
struct Relative {
  std::string instruction;
  std::size_t mismatches = 0;
};
std::vector<Relative> check_relatives(const Fit& fit, ArchId arch);

}  // namespace tcnum
