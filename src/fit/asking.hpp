// Asking: problems go to whoever answers, and the answers into the evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence.hpp"
#include "structure.hpp"
#include "tcnum/fit.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

/// Asks a live oracle, or, without one, what the evidence holds already.
class Asker {
 public:
  Asker(Evidence& evidence, Oracle* live) : evidence_(&evidence), live_(live) {}

  bool live() const { return live_ != nullptr; }
  const Instruction& instruction() const { return evidence_->instruction(); }

  /// The answers, as far as there are any. What a live oracle answers joins the evidence, with that origin.
  std::vector<std::optional<std::uint64_t>> ask(const std::vector<Problem>& problems, const std::string& origin);
  /// The crafted problems; and of a live oracle random problems of every distribution.
  /// Crafted problems, by name.
  void ask_crafted(const std::vector<CraftedProblem>& crafted, const std::string& origin);
  void ask_battery(const FitOptions& options);

 private:
  Evidence* evidence_;
  Oracle* live_;
};

/// Which products share a block, and in which order the blocks come, as the answers suggest (block_order.cpp); none, if
/// there is one block or no telling.
Blocks find_blocks(Asker& asker);

}  // namespace tcnum
