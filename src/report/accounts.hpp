// What the catalogue says, held against answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/fit/evidence.hpp"
#include "src/fit/fit.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// A datapath against the answers.
struct Judgement {
  struct Refutation {
    std::size_t probe;  ///< number of the answer
    std::string name;   ///< of the problem, if it is a crafted one
    Problem problem;
    std::uint64_t expected, observed;
  };
  std::size_t mismatches = 0;
  /// The smallest answer that refutes it: of the fewest terms, of these that whose codes have the fewest bits set, and
  /// of these the first. None: the datapath explains every answer.
  std::optional<Refutation> refutation;
};
Judgement judge(const Datapath& datapath, const Evidence& evidence);

/// "#393 (width: …): would give 0x40800000, the hardware gave 0x00000000"; of a problem without a name its operands, if
/// they are few. `witness` is who gave the answers.
std::string answer_text(const Instruction& instruction, const Judgement::Refutation& refutation,
                        std::string_view witness);

/// One field of an account that is not as measured: the measured datapath with it, which answers refute.
struct RefutedField {
  std::string field, says, measured;
  Judgement by;
};

/// A published account of an instruction against the answers.
struct AccountFinding {
  std::string account, origin, standing;
  std::string says;  ///< in short
  Judgement by;
  /// Fields that are refuted by themselves, if the account with them as measured explains every answer. None of a
  /// refuted account: it is refuted as a whole.
  std::vector<RefutedField> fields;
};

/// Of the published entries among `accounts`; those fitted here are left out. `measured` may be null: then fields are
/// not looked at.
std::vector<AccountFinding> judge_accounts(const Evidence& evidence, const std::vector<CatalogueEntry>& accounts,
                                           const Datapath* measured);

/// Another instruction of the architecture with the same formats and number of products, as fitted here, against the
/// answers.
struct Relative {
  std::string instruction;
  std::size_t mismatches = 0;
};
std::vector<Relative> check_relatives(const Fit& fit, ArchId arch);

}  // namespace tcnum
