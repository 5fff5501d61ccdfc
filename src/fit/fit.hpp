// The fit: removes from the space every datapath that disagrees with any answer, and asks for more answers until one
// class of datapaths is left, or none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence.hpp"
#include "space.hpp"
#include "tcnum/fit.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/oracle.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// An alternative that an answer refutes.
struct Rejection {
  Property property;
  int value = 0;          ///< its number in the space
  std::size_t probe = 0;  ///< number of the answer
  std::uint64_t expected = 0, observed = 0;
};

/// A property of which the answers leave several values.
struct Undetermined {
  Property property;
  std::vector<int> values;  ///< their numbers in the space, ascending
};

struct FitResult {
  Verdict verdict = Verdict::unexplained;
  Choice choice{};  ///< the datapath, or the nearest one if unexplained
  Datapath datapath;
  double considered = 0;  ///< datapaths in the space
  double surviving = 0;   ///< of them, those that explain every answer
  std::size_t classes = 0;
  /// Whether rarer datapaths were looked at too, as nothing else explains the answers; recorded ones must be
  /// kEnoughForRare for that.
  bool looked_among_rare = false;
  std::size_t mismatches = 0;  ///< of `datapath`, among all answers
  std::vector<Rejection> rejected;
  std::vector<Property> unobservable;  ///< if unexplained: those of which every value gets as many answers wrong
  std::vector<Undetermined> undetermined;
  std::optional<Counterexample> counterexample;
  std::size_t separating = 0;     ///< operands that were found and asked because they separate two datapaths
  std::size_t search_effort = 0;  ///< dot problems tried in searches that found none
};

/// Fewer recorded answers than these are not held against rare datapaths.
inline constexpr std::size_t kEnoughForRare = 1000;

class Fit {
 public:
  /// `live` may be null: then only what is added by add_recorded() is known.
  Fit(const Instruction& instruction, Oracle* live, FitOptions options);

  void add_recorded(Tiles tiles) { evidence_.add(std::move(tiles), "recorded"); }
  FitResult run();

  const Evidence& evidence() const { return evidence_; }
  const Space& space() const { return space_; }

  std::size_t mismatches(const Datapath& datapath) const { return evidence_.wrong_answers(datapath).size(); }

 private:
  std::optional<AnswersAlone> live_;
  FitOptions options_;
  Space space_;
  Evidence evidence_;
};

}  // namespace tcnum
