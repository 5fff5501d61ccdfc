// Elimination: what a fit knows while it runs, and how it gets from all datapaths of a space to those that are left.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "asking.hpp"
#include "edge_rules.hpp"
#include "evidence.hpp"
#include "fit.hpp"
#include "space.hpp"
#include "watch.hpp"

namespace tcnum {

class Elimination {
 public:
  /// The space may gain structures and the evidence answers. `live` may be null.
  Elimination(Space& space, Evidence& evidence, Oracle* live, const FitOptions& options);
  FitResult run();

 private:
  // Cores, then edge rules (elimination.cpp).
  void eliminate(int first_structure = 0);
  void separate_while_undecided();
  void doubt_adds();
  const std::vector<Tiles>& further_answers();
  void doubt_all();
  bool are_enough_for_rare() const;
  void look_among_rare();
  void drop_refuted_cores();
  void expand_cores();
  bool is_decided() const;
  double count_survivors() const;

  // Asking what separates what is left (separation.cpp).
  void thin_out();
  std::optional<Problem> search(const Choice& one, const Choice& other, std::size_t tiles) const;
  void ask_separating(const std::vector<Problem>& problems);
  std::vector<Problem> separating_problems();
  bool separate_survivors();
  bool search_longer();

  Space& space_;
  Evidence& evidence_;
  Oracle* live_;
  Asker asker_;
  FitOptions options_;
  mutable FitWatch watch_;
  FitResult result_;

  std::vector<Choice> cores_;  // what the answers that consult no edge rule leave; if none is left, what came far
  std::size_t judged_ = 0;     // by so many of the answers
  std::vector<Survivor> survivors_;
  std::vector<Choice> unexpanded_;                   // those of cores_ that were too many to look at
  std::vector<Tiles> further_answers_;               // that are no evidence, as far as they have been asked
  std::set<std::pair<Choice, Choice>> inseparable_;  // as far as searches could tell
  std::uint64_t search_round_ = 0;
  std::size_t lengthened_ = 0;  // how often searches have been made longer
};

/// Cores that are looked at one by one; of more, most are separated first.
inline constexpr std::size_t kFewCores = 400;

}  // namespace tcnum
